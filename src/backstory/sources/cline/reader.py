"""One messages file as rows: only what is new or changed is decoded (FORMAT.md section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw

from ...schema.reading import KnownFile, TailReading
from ...schema.session import Actor, ActorType, Fidelity, Salvage
from ...schema.step import ROOT, Message, StepRow
from . import state as states
from . import wire
from .files import Split
from .state import State
from .steps import Context, Translator
from .times import epoch_ms
from .toolsteps import BLOCK

DIGEST = 16
UNKNOWN = 0
"""The context of a session whose manifest cannot be read now: what was read before stays as it is."""
PEEKED = 100


class _Time(msgspec.Struct):
    ts: Any = None


class _Role(msgspec.Struct):
    role: str


_time = msgspec.json.Decoder(_Time)
_role = msgspec.json.Decoder(_Role)


def digests(raws: list[Raw]) -> bytes:
    """One digest a message, of Cline's own bytes, one after the other."""
    return b"".join([blake2b(raw, digest_size=DIGEST).digest() for raw in raws])


class FileReader:
    """Reads a messages file from the first message that is not as it was; see `FileReading` for the contract."""

    def __init__(
        self,
        context: Context,
        split: Split,
        size: int,
        known: KnownFile | None,
        *,
        version: int,
        outside: int,
        importing: bool,
        manifest_prompt: tuple[str, str | None] | None = None,
    ) -> None:
        self.context = context
        self.split = split
        self.size = size
        self.version = version
        self.outside = outside
        usable = known is not None and known.reader == version and outside in (known.context, UNKNOWN)
        self.known = known if usable else None
        self.manifest_prompt = manifest_prompt
        self.digests = digests(split.raws)
        self.state = State(importing=importing)
        self.since = 0
        self._resume()
        self.add_only = not split.whole
        self.saved = states.save(self.state)
        self.saved_at = self.since
        first_at = self._first_time() if self.since == 0 else None
        self.translator = Translator(context, self.state, first_at or context.started_at)

    def _resume(self) -> None:
        """Go on at the saved state when everything before it is unchanged."""
        if self.known is None or not self.known.state:
            return
        unchanged = self.known.state_at * DIGEST
        if self.digests[:unchanged] != self.known.digests[:unchanged] or len(self.digests) < unchanged:
            return
        try:
            self.state = states.load(self.known.state)
        except msgspec.DecodeError:
            return
        self.since = self.known.state_at

    def rows(self) -> Iterator[StepRow]:
        """Every step from `since` on, and earlier calls that have their result now."""
        raws = self.split.raws
        save_at = self._last_reply()
        for index in range(self.since, len(raws)):
            if index == save_at:
                self.saved, self.saved_at = states.save(self.state), index
            yield from self.translator.message(raws[index])
        yield from self.translator.unfinished(self.since)
        if self.manifest_prompt is not None and self.state.turn is None and self.since == 0:
            yield self._prompt_of_manifest(*self.manifest_prompt)

    def tail(self) -> TailReading:
        """What the file's reading ends with; to be called when all rows were taken."""
        kept = self.known
        longer = kept is None or not self.add_only or len(self.digests) >= len(kept.digests)
        return TailReading(
            actor=self._actor(),
            turns=list(self.translator.turns.values()),
            calls=self.translator.calls,
            digests=self.digests if longer or kept is None else kept.digests,
            state=self.saved if longer or kept is None else kept.state,
            state_at=self.saved_at if longer or kept is None else kept.state_at,
            fidelity=self._fidelity(),
            reader=self.version,
            context=self.outside,
        )

    def _last_reply(self) -> int:
        """Where the last assistant message stands: what Cline may still change begins there."""
        for index in range(len(self.split.raws) - 1, self.since, -1):
            try:
                if _role.decode(self.split.raws[index]).role == "assistant":
                    return index
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
        return self.since

    def _first_time(self) -> int | None:
        """The first plausible time of the file, for messages before it that have none."""
        for raw in self.split.raws[:PEEKED]:
            try:
                at = epoch_ms(_time.decode(raw).ts)
            except wire.JSON_ERRORS:
                continue
            if at is not None:
                return at
        return None

    def _prompt_of_manifest(self, text: str, mode: str | None) -> StepRow:
        self.translator.begin_turn("manifest", mode, self.context.started_at)
        return StepRow(
            id="manifest#prompt",
            msg=0,
            sub=-BLOCK,
            type="message",
            payload=Message("user", text),
            pointer="/prompt",
            at=self.context.started_at,
            turn_id="manifest",
            channels=("manifest",),
        )

    def _actor(self) -> Actor:
        stem = self.context.stem
        if not stem:
            return Actor(ROOT, "root", "Cline", self.context.file, started_at=self.state.started_at)
        name, _, task_id = stem.partition("__")
        kind: ActorType = "teammate" if self.split.head.get("agent") == "teammate" or task_id else "subagent"
        task = self.state.task
        label = name if kind == "teammate" else (task or stem).strip().partition("\n")[0][:120]
        return Actor(stem, kind, label, self.context.file, task, self.state.started_at)

    def _fidelity(self) -> Fidelity:
        notes = [note for note in self.split.notes if note not in self.state.notes]
        cut = (Salvage(self.context.file, len(self.split.raws), self.size),) if self.add_only else ()
        return Fidelity(
            whole=not self.add_only,
            unknown=dict(self.state.unknown),
            refused=tuple(self.state.refused),
            salvaged=cut,
            notes=(*self.state.notes, *notes),
        )
