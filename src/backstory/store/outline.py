"""A session without its bodies: every step as its row tells it, and the bodies of the few that are looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..schema.record import Placed, Record
from ..schema.step import (
    Command,
    Edit,
    Message,
    Other,
    Payload,
    Read,
    Step,
    StepError,
    StepRow,
)
from . import read, rows
from .blocks import BlockReader
from .rows import SELECTED, Columns


class Outline(Struct, frozen=True):
    """A session whose steps carry what lists need: a subject cut at `rows.SUBJECT` characters, and no body.

    `numbers` are the steps' numbers in the archive by their ids, `generation` counts the writes of the session.
    """

    record: Record
    n: int
    generation: int
    numbers: Mapping[str, int]


def outline(connection: sqlite3.Connection, session_id: str, *, superseded: bool = False) -> Outline:
    """One session without bodies; it takes a hundredth of the time of the whole. Raises `UnknownSession`."""
    row = read.row_of(connection, session_id)
    placed = []
    numbers: dict[str, int] = {}
    for values in connection.execute(
        f"SELECT file.actor, step.n, step.superseded, {SELECTED} FROM step JOIN file ON file.n = step.file"
        " LEFT JOIN turn ON turn.n = step.turn WHERE file.session = ? AND (NOT step.superseded OR ?)",
        (row["n"], superseded),
    ):
        columns = Columns(*values[3:])
        placed.append(Placed(values[0], _light(columns), bool(values[2])))
        numbers[columns.id] = values[1]
    record = read.put_together(connection, row, placed)
    return Outline(record, row["n"], row["generation"], numbers)


def _light(columns: Columns) -> StepRow:
    error = None
    if columns.error_kind is not None:
        error = StepError("", columns.error_kind)  # type: ignore[arg-type]
    return StepRow(
        id=columns.id,
        msg=columns.msg,
        sub=columns.sub,
        type=columns.type,  # type: ignore[arg-type]
        payload=_brief(columns),
        pointer="",
        at=columns.at,
        ended_at=columns.ended_at,
        turn_id=columns.turn,
        decision=columns.decision,  # type: ignore[arg-type]
        decision_source=columns.decision_source,  # type: ignore[arg-type]
        outcome=columns.outcome,  # type: ignore[arg-type]
        content_status=columns.content_status,  # type: ignore[arg-type]
        error=error,
        flags=tuple(columns.flags.split(" ")) if columns.flags else (),
    )


def _brief(columns: Columns) -> Payload:
    """The payload as far as the row has it."""
    subject = columns.subject
    if columns.type == "message":
        return Message(columns.kind, subject)  # type: ignore[arg-type]
    if columns.type == "command":
        return Command(subject, exit_code=columns.exit_code)
    if columns.type == "read":
        return Read(subject)
    if columns.type == "edit":
        operation = columns.kind
        return Edit(subject, operation, added=columns.added or 0, removed=columns.removed or 0)  # type: ignore[arg-type]
    return Other(columns.kind or "")


def whole(connection: sqlite3.Connection, found: Outline, steps: Iterable[Step]) -> list[Step]:
    """The same steps with what they say; only their bodies are opened."""
    wanted = {found.numbers[step.id]: step for step in steps}
    reader = BlockReader(connection)
    done: dict[int, Step] = {}
    numbers = sorted(wanted)
    for low in range(0, len(numbers), 500):
        part = numbers[low : low + 500]
        marks = ",".join("?" * len(part))
        for n, block, offset, size, *values in connection.execute(
            f"SELECT step.n, block, offset, step.size, {SELECTED} FROM step LEFT JOIN turn ON turn.n = step.turn"
            f" WHERE step.n IN ({marks}) ORDER BY block, offset",
            part,
        ):
            row = rows.row(Columns(*values), reader.body(block, offset, size), None)
            step = wanted[n]
            done[n] = replace(
                step,
                payload=row.payload,
                error=row.error,
                channels=row.channels,
                origin=replace(step.origin, pointer=row.pointer),
            )
    return [done[n] for n in wanted]
