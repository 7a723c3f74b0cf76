"""Between schema rows and the columns and bodies of the archive."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from ..schema.step import (
    PAYLOADS,
    Command,
    Edit,
    Message,
    Other,
    Payload,
    Read,
    StepError,
    StepRow,
)

SUBJECT = 200
"""Characters of a step's subject that a list can show."""

P = TypeVar("P")


class Body(Struct, Generic[P], omit_defaults=True, frozen=True):
    """What a step says, as it lies in a block."""

    payload: P
    pointer: str
    error: StepError | None = None
    channels: tuple[str, ...] = ("messages",)
    spawns: str | None = None


class Columns(Struct, frozen=True, gc=False):
    """The columns of a step that come from its row; `turn` is the turn's id until it is written."""

    id: str
    msg: int
    sub: int
    turn: Any
    type: str
    kind: str | None
    subject: str
    same: int | None
    at: int | None
    ended_at: int | None
    outcome: str
    decision: str
    decision_source: str | None
    content_status: str
    error_kind: str | None
    exit_code: int | None
    added: int | None
    removed: int | None
    spawns: int | None
    flags: str | None


COLUMNS = ", ".join(Columns.__struct_fields__)
SELECTED = ", ".join("turn.id" if name == "turn" else f"step.{name}" for name in Columns.__struct_fields__)
"""The columns as a select of `step LEFT JOIN turn` gives them, with the turn's id."""

_encoder = msgspec.json.Encoder()
_decoders = {name: msgspec.json.Decoder(Body[kind]) for name, kind in PAYLOADS.items()}  # type: ignore[valid-type]


def columns(row: StepRow) -> Columns:
    """The columns of a row."""
    payload = row.payload
    kind: str | None = None
    same = exit_code = added = removed = None
    if isinstance(payload, Message):
        kind, subject = payload.role, payload.text
    elif isinstance(payload, Command):
        subject, exit_code = payload.command, payload.exit_code
        same = number("command", payload.command, payload.cwd or "")
    elif isinstance(payload, Edit):
        kind, subject, added, removed = payload.operation, payload.path, payload.added, payload.removed
        same = number("edit", payload.path)
    elif isinstance(payload, Read):
        subject = payload.path
        if payload.range is not None:
            subject += f":{payload.range.start}-{payload.range.end or ''}"
    else:
        kind, subject = payload.tool_name, _about(payload)
    if len(subject) > SUBJECT:
        subject = subject[:SUBJECT]
    return Columns(
        row.id,
        row.msg,
        row.sub,
        row.turn_id,
        row.type,
        kind,
        subject,
        same,
        row.at,
        row.ended_at,
        row.outcome,
        row.decision,
        row.decision_source,
        row.content_status,
        row.error.kind if row.error is not None else None,
        exit_code,
        added,
        removed,
        None if row.spawns is None else number("task", row.spawns),
        " ".join(row.flags) or None,
    )


def body(row: StepRow) -> bytes:
    """The body of a row as bytes; equal also for a row whose message only moved, so its number is left out."""
    pointer = row.pointer.replace(f"/{row.msg}/", "/*/", 1)
    return _encoder.encode(Body(row.payload, pointer, row.error, row.channels, row.spawns))


def row(values: Columns, data: bytes, turn_id: str | None) -> StepRow:
    """The row that columns and body came from."""
    stored: Body[Payload] = _decoders[values.type].decode(data)
    return StepRow(
        id=values.id,
        msg=values.msg,
        sub=values.sub,
        type=values.type,  # type: ignore[arg-type]
        payload=stored.payload,
        pointer=stored.pointer.replace("/*/", f"/{values.msg}/", 1),
        at=values.at,
        ended_at=values.ended_at,
        turn_id=turn_id,
        decision=values.decision,  # type: ignore[arg-type]
        decision_source=values.decision_source,  # type: ignore[arg-type]
        outcome=values.outcome,  # type: ignore[arg-type]
        content_status=values.content_status,  # type: ignore[arg-type]
        error=stored.error,
        channels=stored.channels,
        flags=tuple(values.flags.split(" ")) if values.flags else (),
        spawns=stored.spawns,
    )


def payload_of(kind: str, data: bytes) -> tuple[Payload, StepError | None]:
    """The payload and the error in a body."""
    stored: Body[Payload] = _decoders[kind].decode(data)
    return stored.payload, stored.error


class _Spawned(Struct):
    spawns: str = ""


_spawned = msgspec.json.Decoder(_Spawned)


def spawned(data: bytes) -> str:
    """The task that a step gave to another agent, out of its body."""
    return _spawned.decode(data).spawns


def number(*parts: str) -> int:
    """A 63-bit number that is equal for equal parts, on every machine."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest()) >> 1


def _about(payload: Other) -> str:
    """What an other tool was asked, in a few words: its pattern, address, question, task or first argument."""
    raw = payload.raw
    given = raw.get("input") if isinstance(raw, dict) else None
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        for name in ("url", "query", "question", "task", "skill", "title", "summary"):
            if isinstance(given.get(name), str):
                return str(given[name])
        for value in given.values():
            if isinstance(value, str | int | float):
                return str(value)
    return ""
