"""What a forgetting takes out, kept whole, so that it can be put back while the person may still change their mind."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from ..store.database import transaction
from . import index, keep
from .mended import Mended

Row = dict[str, Any]


class Taken(Struct, frozen=True):
    """Rows as they were, by table; a conversation also has its `session_id`. `tombstones` are (kind, key).

    It lives in memory alone: what was forgotten is nowhere on disk.
    """

    conversations: tuple[Row, ...]
    exchanges: tuple[Row, ...]
    mended: tuple[Row, ...]
    revisions: tuple[Row, ...]
    facts: tuple[Row, ...]
    tombstones: tuple[tuple[str, str], ...]


def take(
    connection: sqlite3.Connection,
    keys: Collection[int],
    facts: Collection[int],
    sessions: Sequence[tuple[str, str]],
    tombstones: Collection[tuple[str, str]],
) -> Taken:
    """What forgetting is about to take: exchanges by their `keys`, facts by number, whole sessions.

    `tombstones` are those that it will set; those that stand already are none of its own.
    """
    marks = json.dumps([str(key) for key in keys]), json.dumps([f"{one}/{two}" for one, two in sessions])
    conversations = _rows(
        connection,
        "SELECT conversation.*, session.id AS session_id FROM conversation"
        " JOIN session ON session.n = conversation.session"
        " WHERE session.source || '/' || session.id IN (SELECT value FROM json_each(?2)) OR conversation.n IN ("
        "SELECT conversation FROM exchange WHERE key IN (SELECT CAST(value AS INTEGER) FROM json_each(?1)))",
        *marks,
    )
    own = json.dumps([row["n"] for row in conversations])
    within = "conversation IN (SELECT value FROM json_each(?))"
    return Taken(
        conversations=conversations,
        exchanges=_rows(connection, f"SELECT * FROM exchange WHERE {within} ORDER BY n", own),
        mended=_rows(connection, f"SELECT * FROM mended WHERE {within} ORDER BY n", own),
        revisions=_rows(
            connection,
            "SELECT * FROM revision WHERE key IN (SELECT CAST(value AS INTEGER) FROM json_each(?))",
            marks[0],
        ),
        facts=_rows(
            connection,
            "SELECT * FROM fact WHERE n IN (SELECT value FROM json_each(?))",
            json.dumps(list(facts)),
        ),
        tombstones=tuple(one for one in tombstones if not _stands(connection, one)),
    )


def put_back(connection: sqlite3.Connection, taken: Taken) -> None:
    """Put back what was taken, in one write. What came in between, and sessions that went meanwhile, stay so."""
    with transaction(connection):
        connection.executemany("DELETE FROM tombstone WHERE kind = ? AND key = ?", taken.tombstones)
        for row in taken.facts:
            if _insert(connection, "fact", row):
                index.put(connection, index.row_of_fact(row["n"]), row["text"], title=row["project"] or "")
        for row in taken.revisions:
            _insert(connection, "revision", row)
        numbers = {row["n"]: _conversation(connection, row) for row in taken.conversations}
        for row in taken.exchanges:
            _within(connection, "exchange", row, numbers)
        for row in taken.mended:
            n = _within(connection, "mended", {**row, "n": None}, numbers)
            if n is not None:
                index.put_mended(connection, n, _mended(row))
        for number in filter(None, numbers.values()):
            keep.again(connection, number)


def _rows(connection: sqlite3.Connection, query: str, *values: object) -> tuple[Row, ...]:
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    return tuple(dict(zip(names, row, strict=True)) for row in cursor)


def _stands(connection: sqlite3.Connection, tombstone: tuple[str, str]) -> bool:
    found = connection.execute("SELECT 1 FROM tombstone WHERE kind = ? AND key = ?", tombstone)
    return found.fetchone() is not None


def _insert(connection: sqlite3.Connection, table: str, row: Row) -> int | None:
    """The row's number; null where what it stands for is there already."""
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    cursor = connection.execute(
        f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", tuple(row.values())
    )
    return cursor.lastrowid if cursor.rowcount else None


def _conversation(connection: sqlite3.Connection, row: Row) -> int | None:
    """The conversation in which the rows belong now; null where its session is no longer in the archive."""
    still = connection.execute(
        "SELECT 1 FROM session WHERE n = ? AND id = ?", (row["session"], row["session_id"])
    ).fetchone()
    if still is None:
        return None
    made = _insert(connection, "conversation", {k: v for k, v in row.items() if k != "session_id"})
    if made is not None:
        return made
    # It is still there, given to another workspace perhaps, or the session was learned anew.
    (n,) = connection.execute(
        "SELECT n FROM conversation WHERE n = ?1 OR workspace = ?2 AND session = ?3 ORDER BY n = ?1 DESC",
        (row["n"], row["workspace"], row["session"]),
    ).fetchone()
    return int(n)


def _within(
    connection: sqlite3.Connection, table: str, row: Row, numbers: dict[int, int | None]
) -> int | None:
    number = numbers[row["conversation"]]
    return None if number is None else _insert(connection, table, {**row, "conversation": number})


def _mended(row: Row) -> Mended:
    changed = tuple((path, added, removed) for path, added, removed in json.loads(row["changed"]))
    values = {key: value for key, value in row.items() if key not in ("n", "conversation")}
    return Mended(**{**values, "changed": changed, "ran": tuple(json.loads(row["ran"]))})
