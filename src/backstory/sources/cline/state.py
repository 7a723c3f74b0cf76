"""What a reader carries from one message to the next, so that it can go on where it stopped.

The state is saved before the last reply of a file; a later reading starts there instead of at the beginning.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from ...schema.session import Refused, TurnRow

MAX_NAMED = 50
"""Refused values that are named one by one; more are only counted under `refused values`."""


class Pending(Struct, gc=False):
    """A tool call that waits for its result: where it stands, and its arguments as Cline wrote them."""

    id: str
    name: str
    input: bytes
    msg: int
    block: int
    at: int | None
    turn_id: str | None
    invalid: Any = None
    flags: tuple[str, ...] = ()


class State(Struct):
    """Everything that the reading of later messages depends on."""

    msg: int = 0
    seen: set[str] = field(default_factory=set)
    repeats: dict[str, int] = field(default_factory=dict)
    pending: dict[str, list[Pending]] = field(default_factory=dict)
    turn: TurnRow | None = None
    last_at: int | None = None
    importing: bool = False
    task: str | None = None
    started_at: int | None = None
    unknown: dict[str, int] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def unique(self, key: str) -> str:
        """The key itself the first time, then `key~2`, `key~3`, ...; no two calls give the same."""
        if key not in self.seen:
            self.seen.add(key)
            return key
        count = self.repeats.get(key, 1)
        while True:
            count += 1
            candidate = f"{key}~{count}"
            if candidate not in self.seen:
                break
        self.repeats[key] = count
        self.seen.add(candidate)
        return candidate

    def wait(self, call_id: str, call: Pending) -> None:
        """Note a call whose result has not come."""
        self.pending.setdefault(call_id, []).append(call)

    def answered(self, call_id: str) -> Pending | None:
        """The call that a result belongs to: of several with this id the nearest message's, and there the first."""
        waiting = self.pending.get(call_id)
        if not waiting:
            return None
        if len(waiting) == 1:
            del self.pending[call_id]
            return waiting[0]
        nearest = waiting[-1].msg
        place = next(index for index, call in enumerate(waiting) if call.msg == nearest)
        return waiting.pop(place)

    def count(self, kind: str) -> None:
        """Count a kind of content that Backstory does not know."""
        self.unknown[kind] = self.unknown.get(kind, 0) + 1

    def refuse(self, file: str, where: str, value: str) -> None:
        """Name a value that could not be used."""
        if len(self.refused) < MAX_NAMED:
            self.refused.append(Refused(file, where, value[:80]))
        else:
            self.count("refused values")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)


def save(state: State) -> bytes:
    """The state as bytes; the same state gives the same meaning, not the same bytes."""
    return _encoder.encode(state)


def load(data: bytes) -> State:
    """A saved state. Raises `msgspec.DecodeError` for bytes of another version of the reader."""
    return _decoder.decode(data)
