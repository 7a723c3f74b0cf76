"""What a reader leaves in the archive: verdicts and notes, and how far a session was seen."""

from __future__ import annotations

import sqlite3
from typing import get_args

from ..errors import InputError, UnknownSession
from .database import transaction
from .results import Judgement, Verdict

NOTE = 10_000
"""Characters of a note at most."""


def number(connection: sqlite3.Connection, session_id: str) -> int:
    """A session's number in the archive. Raises `UnknownSession`."""
    found = connection.execute("SELECT n FROM session WHERE id = ?", (session_id,)).fetchone()
    if found is None:
        raise UnknownSession(f'There is no session "{session_id}" in the archive.')
    return int(found[0])


def judge(
    connection: sqlite3.Connection,
    session_id: str,
    now: int,
    *,
    verdict: Verdict | None,
    note: str,
    turn: str | None = None,
) -> None:
    """Say of a session, or of one of its turns, what a person thinks of it; neither verdict nor note takes it back.

    Raises `UnknownSession`, and `InputError` for a turn that it does not have, another verdict or a note too long.
    """
    if verdict is not None and verdict not in get_args(Verdict):
        raise InputError(f'"{verdict}" is no verdict. It is one of {", ".join(get_args(Verdict))}.')
    if len(note) > NOTE:
        raise InputError(f"A note has at most {NOTE:,} characters; this one has {len(note):,}.")
    with transaction(connection):
        n = number(connection, session_id)
        if turn is not None and not _has_turn(connection, n, turn):
            raise InputError(f'There is no turn "{turn}" in session "{session_id}".')
        if verdict is None and not note.strip():
            connection.execute("DELETE FROM verdict WHERE session = ? AND turn = ?", (n, turn or ""))
            return
        connection.execute(
            "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?)",
            (n, turn or "", verdict, note.strip(), now),
        )


def _has_turn(connection: sqlite3.Connection, n: int, turn: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM turn JOIN file ON file.n = turn.file WHERE file.session = ? AND turn.id = ?", (n, turn)
    ).fetchone()
    return found is not None


def judgements(connection: sqlite3.Connection, n: int) -> dict[str | None, Judgement]:
    """What was said of a session (key null) and of its turns, by the turn's id."""
    rows = connection.execute("SELECT turn, verdict, note, at FROM verdict WHERE session = ?", (n,))
    return {turn or None: Judgement(verdict, note, at) for turn, verdict, note, at in rows}


def first_new(connection: sqlite3.Connection, n: int) -> int | None:
    """The number of the first step that the reader has not seen; null where there is none, or never was a look."""
    found = connection.execute(
        "SELECT step.n FROM step JOIN file ON file.n = step.file WHERE file.session = ?1 ORDER BY step.n LIMIT 1"
        " OFFSET (SELECT CASE seen_count WHEN 0 THEN row_count ELSE seen_count END FROM session WHERE n = ?1)",
        (n,),
    ).fetchone()
    return int(found[0]) if found else None


def seen_at(connection: sqlite3.Connection, n: int) -> int | None:
    """When the reader last looked at a session; null where that was never."""
    found = connection.execute("SELECT at FROM look WHERE session = ?", (n,)).fetchone()
    return int(found[0]) if found else None


def mark_seen(connection: sqlite3.Connection, session_id: str, now: int) -> None:
    """Remember that the reader was shown all steps of a session at this time."""
    with transaction(connection):
        connection.execute("UPDATE session SET seen_count = row_count WHERE id = ?", (session_id,))
        connection.execute(
            "INSERT OR REPLACE INTO look SELECT n, ? FROM session WHERE id = ?", (now, session_id)
        )


def mark_old(connection: sqlite3.Connection, source: str, before: int) -> None:
    """Take the sessions of a source that were never shown and ended `before` (epoch ms) for seen."""
    with transaction(connection):
        connection.execute(
            "UPDATE session SET seen_count = row_count WHERE source = ? AND seen_count = 0"
            " AND coalesce(last_at, updated_at, started_at, 0) < ?",
            (source, before),
        )
