"""A reading compared with what is stored: what is new, completed, moved, replaced or gone. Nothing is written."""

from __future__ import annotations

import sqlite3

from msgspec import Struct
from msgspec.structs import replace

from ..schema.reading import FileReading, Reading, TailReading
from ..schema.step import StepRow
from . import blocks, indexing, rows
from .rows import SELECTED, Columns


class StoredStep(Struct, frozen=True):
    """A step as it is in the archive; `columns.turn` is the turn's id."""

    n: int
    columns: Columns
    superseded: bool
    place: tuple[int, int, int]


class Draft(Struct):
    """A step to be written: its columns, where its body is packed, and its words."""

    columns: Columns
    place: tuple[int, int, int]
    given: str
    came: str


class FileDraft(Struct):
    """What is to be written of one file."""

    reading: FileReading
    tail: TailReading
    inserts: list[Draft]
    rewrites: list[tuple[StoredStep, Draft]]
    replaced: list[StoredStep]
    moved: list[tuple[StoredStep, Columns]]
    left: list[StoredStep]
    packed: list[tuple[int, bytes]]


def draft(connection: sqlite3.Connection, reading: Reading) -> list[FileDraft]:
    """Take the rows of a reading, compare them with what is stored, and pack what is new. Nothing is written."""
    drafts = []
    for file in reading.files:
        drafts.append(_draft_file(connection, file, _Stored(connection, reading, file)))
    return drafts


class _Stored:
    """The steps of a file that are stored: those that the reading may touch at once, earlier ones when asked for."""

    def __init__(self, connection: sqlite3.Connection, reading: Reading, file: FileReading) -> None:
        self.connection = connection
        found = connection.execute(
            "SELECT file.n FROM file JOIN session ON session.n = file.session"
            " WHERE session.source = ? AND session.id = ? AND file.name = ?",
            (reading.ref.source, reading.ref.id, file.name),
        ).fetchone()
        self.file = found[0] if found else None
        self.since = file.since
        self.by_id: dict[str, StoredStep] = {}
        if self.file is not None:
            self._load("step.msg >= ?", file.since)

    def _load(self, condition: str, *values: object) -> None:
        for row in self.connection.execute(
            f"SELECT step.n, {SELECTED}, step.superseded, block, offset, step.size"
            f" FROM step LEFT JOIN turn ON turn.n = step.turn WHERE step.file = ? AND {condition}",
            (self.file, *values),
        ):
            columns = Columns(*row[1:21])
            self.by_id[columns.id] = StoredStep(row[0], columns, bool(row[21]), tuple(row[22:25]))

    def get(self, row: StepRow) -> StoredStep | None:
        """The stored step of a row's id; one from before `since`, or one that had left the source, when it is met."""
        if self.file is not None and row.id not in self.by_id:
            if row.msg < self.since:
                self._load("step.msg = ? AND step.id = ?", row.msg, row.id)
            if row.id not in self.by_id:
                self._load("step.superseded AND step.id = ?", row.id)
        return self.by_id.get(row.id)


def _draft_file(connection: sqlite3.Connection, file: FileReading, stored: _Stored) -> FileDraft:
    packer = blocks.Packer()
    reader = blocks.BlockReader(connection)
    inserts: list[Draft] = []
    rewrites: list[tuple[StoredStep, Draft]] = []
    replaced: list[StoredStep] = []
    moved: list[tuple[StoredStep, Columns]] = []
    left: list[StoredStep] = []
    seen: set[str] = set()
    for row in file.rows:
        columns = rows.columns(row)
        old = stored.get(row)
        if old is None:
            inserts.append(_pack(packer, row, columns, rows.body(row)))
            continue
        seen.add(columns.id)
        columns = _settled(old.columns, columns)
        body = rows.body(row)
        if _same(old.columns, columns) and reader.body(*old.place) == body:
            if old.superseded or _place(old.columns) != _place(columns):
                moved.append((old, columns))
        elif _completes(old, columns):
            rewrites.append((old, _pack(packer, row, columns, body)))
        elif not file.add_only:
            replaced.append(old)
            inserts.append(_pack(packer, row, columns, body))
    if not file.add_only:
        left = [
            old
            for step_id, old in stored.by_id.items()
            if step_id not in seen and not old.superseded and old.columns.msg >= file.since
        ]
    packer.flush()
    return FileDraft(file, file.tail(), inserts, rewrites, replaced, moved, left, packer.blocks)


def _pack(packer: blocks.Packer, row: StepRow, columns: Columns, body: bytes) -> Draft:
    given, came = indexing.texts(row.payload, row.error)
    return Draft(columns, packer.add(body), given, came)


def _settled(old: Columns, new: Columns) -> Columns:
    """A decision stays as it was first read; only what is recorded is better knowledge: a denial, or an import."""
    recorded = new.decision_source == "denial" or (new.decision == "n/a" and new.outcome != "unknown")
    if old.decision in ("auto", "accepted") and not recorded:
        return replace(new, decision=old.decision, decision_source=old.decision_source)
    return new


def _completes(old: StoredStep, new: Columns) -> bool:
    """Whether a call that was open has its result now; anything else that changes is a new version."""
    was_open = old.columns.outcome == "unknown" and not old.superseded
    return was_open and new.outcome != "unknown" and old.columns.type == new.type


def _place(columns: Columns) -> tuple[int, int, str | None]:
    return columns.msg, columns.sub, columns.turn


def _same(old: Columns, new: Columns) -> bool:
    return replace(old, msg=new.msg, sub=new.sub, turn=new.turn) == new
