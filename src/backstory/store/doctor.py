"""What the archive can tell of its own health and of how well each session could be read."""

from __future__ import annotations

import sqlite3

import msgspec

from .. import redact
from ..schema.session import Fidelity, merge_fidelity

_fidelity = msgspec.json.Decoder(Fidelity)


def fidelities(connection: sqlite3.Connection, source: str) -> dict[str, Fidelity]:
    """The fidelity of every session that was not read perfectly, by id."""
    parts: dict[str, list[Fidelity]] = {}
    for session_id, data in connection.execute(
        "SELECT session.id, fidelity FROM file_state JOIN file ON file.n = file_state.file"
        " JOIN session ON session.n = file.session WHERE session.source = ?",
        (source,),
    ):
        value = _fidelity.decode(data)
        if value != Fidelity():
            parts.setdefault(session_id, []).append(value)
    return {key: merge_fidelity(values) for key, values in parts.items()}


def ids(connection: sqlite3.Connection, source: str) -> set[str]:
    """The ids of all sessions of a source."""
    return {row[0] for row in connection.execute("SELECT id FROM session WHERE source = ?", (source,))}


def integrity(connection: sqlite3.Connection) -> str | None:
    """What SQLite finds wrong with the file and with the index; null when nothing is."""
    try:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        connection.execute("INSERT INTO doc (doc) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if answer == "ok" else str(answer)


def gone(connection: sqlite3.Connection) -> int:
    """Sessions that the agent no longer has."""
    return int(connection.execute("SELECT count(*) FROM session WHERE gone_at IS NOT NULL").fetchone()[0])


def forgotten(connection: sqlite3.Connection) -> int:
    """Sessions that were forgotten."""
    return int(connection.execute("SELECT count(*) FROM tombstone WHERE kind = 'session'").fetchone()[0])


def learned(connection: sqlite3.Connection) -> tuple[int, int, int, int | None]:
    """What the memory holds: conversations, exchanges, facts, and since when it learns in UTC epoch ms."""
    found = connection.execute(
        "SELECT (SELECT count(*) FROM conversation), (SELECT count(*) FROM exchange), (SELECT count(*) FROM fact),"
        " (SELECT min(learned_at) FROM conversation)"
    ).fetchone()
    return int(found[0]), int(found[1]), int(found[2]), found[3]


def not_learned(connection: sqlite3.Connection) -> int:
    """Sessions of which no workspace has learned all that the archive has now; those forgotten are left out."""
    found = connection.execute(
        "SELECT count(*) FROM session WHERE NOT EXISTS (SELECT 1 FROM conversation"
        " WHERE conversation.session = session.n AND conversation.generation = session.generation)"
        " AND NOT EXISTS (SELECT 1 FROM tombstone WHERE kind = 'conversation' AND key = source || '/' || id)"
    )
    return int(found.fetchone()[0])


def masked(connection: sqlite3.Connection) -> tuple[int, dict[str, int]]:
    """Places with secrets that the index has marks for, and how many by kind; superseded steps are among them.

    A place is what went into a step or what came out of it. It is told by the words of the mark, so a text that only
    quotes one counts as well.
    """
    count = "SELECT count(*) FROM doc WHERE doc MATCH ?"
    marks = {kind: f'"masked {kind.replace("-", " ")}"' for kind in redact.kinds()}
    (total,) = connection.execute(count, (" OR ".join(marks.values()),)).fetchone()
    found = (
        {kind: connection.execute(count, (mark,)).fetchone()[0] for kind, mark in marks.items()}
        if total
        else {}
    )
    return total, {kind: n for kind, n in sorted(found.items(), key=lambda entry: (-entry[1], entry[0])) if n}
