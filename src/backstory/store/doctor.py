"""What the archive can tell of its own health and of how well each session could be read."""

from __future__ import annotations

import sqlite3

import msgspec

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
