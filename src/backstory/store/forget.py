"""Forgetting a session: everything that it left in the archive goes, and it stays forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from msgspec import Struct

from ..errors import UnknownSession
from . import counting, indexing, rows
from .blocks import BlockReader
from .database import overwriting


class Forgettable(Struct, frozen=True):
    """What forgetting a session would remove, and which other sessions hold copies of its conversation.

    `exchanges` counts what the memory has learned of it, in every workspace.
    """

    id: str
    title: str | None
    steps: int
    calls: int
    nano: int | None
    copies: tuple[str, ...]
    exchanges: int = 0


def examine(connection: sqlite3.Connection, session_id: str) -> Forgettable:
    """What would go. Raises `UnknownSession`."""
    found = connection.execute(
        "SELECT n, title, first_id FROM session WHERE id = ?", (session_id,)
    ).fetchone()
    if found is None:
        raise UnknownSession(f'There is no session "{session_id}" in the archive.')
    n, title, first_id = found
    (steps,) = connection.execute(
        "SELECT count(*) FROM step JOIN file ON file.n = step.file WHERE file.session = ?", (n,)
    ).fetchone()
    calls, nano = connection.execute(
        "SELECT count(*), sum(nano) FROM call JOIN file ON file.n = call.file WHERE file.session = ?", (n,)
    ).fetchone()
    others = connection.execute(
        "SELECT id FROM session WHERE first_id = ? AND n != ? ORDER BY started_at, id", (first_id, n)
    ).fetchall()
    (exchanges,) = connection.execute(
        "SELECT count(*) FROM exchange JOIN conversation ON conversation.n = exchange.conversation"
        " WHERE conversation.session = ?",
        (n,),
    ).fetchone()
    return Forgettable(session_id, title, steps, calls, nano, tuple(row[0] for row in others), exchanges)


def forget(
    connection: sqlite3.Connection,
    session_ids: list[str],
    now: int,
    also: Callable[[sqlite3.Connection], None] = lambda _: None,
) -> None:
    """Remove sessions, their words in the index included, and remember not to read them again.

    `also` is done in the same transaction: what others derived from the sessions goes with them.

    The space is overwritten (`secure_delete`) and the index merged, so that nothing can be read from the file.
    """
    with overwriting(connection, "doc", "memory_fts", "mended_fts"):
        for session_id in session_ids:
            _forget_one(connection, session_id, now)
        also(connection)


def _forget_one(connection: sqlite3.Connection, session_id: str, now: int) -> None:
    found = connection.execute("SELECT n, source FROM session WHERE id = ?", (session_id,)).fetchone()
    if found is None:
        return
    n, source = found
    _unindex(connection, n)
    _unlearn(connection, n)
    requests = counting.of_session(connection, n)
    of_session = "(SELECT n FROM file WHERE session = ?)"
    for table in ("step", "turn", "call", "block", "file_state"):
        connection.execute(f"DELETE FROM {table} WHERE file IN {of_session}", (n,))
    for table in ("file", "session_facts", "seen_end", "rollup", "verdict", "glance", "look"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (n,))
    connection.execute("DELETE FROM session WHERE n = ?", (n,))
    counting.recount(connection, requests)
    connection.execute(
        "UPDATE session SET copied_from = NULL, copied_kind = NULL, copied_messages = NULL WHERE copied_from = ?",
        (session_id,),
    )
    connection.execute(
        "INSERT OR REPLACE INTO tombstone VALUES ('session', ?, ?)", (f"{source}/{session_id}", now)
    )


def _unindex(connection: sqlite3.Connection, session: int) -> None:
    """Take a session's words out: a contentless index wants exactly the words that it was given."""
    reader = BlockReader(connection)
    documents: list[tuple[int, str]] = []
    for n, kind, block, offset, size in connection.execute(
        "SELECT step.n, step.type, block, offset, step.size FROM step JOIN file ON file.n = step.file"
        " WHERE file.session = ? ORDER BY block, offset",
        (session,),
    ):
        payload, error = rows.payload_of(kind, reader.body(block, offset, size))
        given, came = indexing.texts(payload, error)
        documents += [(2 * n + part, text) for part, text in enumerate((given, came)) if text]
    connection.executemany("INSERT INTO doc (doc, rowid, text) VALUES ('delete', ?, ?)", documents)


def _unlearn(connection: sqlite3.Connection, session: int) -> None:
    """Take what the memory keeps of a session out of it."""
    own = "(SELECT n FROM conversation WHERE session = ?)"
    for index, table, row in (("memory_fts", "exchange", "2 * n"), ("mended_fts", "mended", "n")):
        connection.execute(
            f"DELETE FROM {index} WHERE rowid IN (SELECT {row} FROM {table} WHERE conversation IN {own})",
            (session,),
        )
        connection.execute(f"DELETE FROM {table} WHERE conversation IN {own}", (session,))
    connection.execute("DELETE FROM conversation WHERE session = ?", (session,))


def remember_again(connection: sqlite3.Connection, source: str, session_id: str) -> bool:
    """Take a tombstone away, so that the session may be read again; true where there was one."""
    cursor = connection.execute(
        "DELETE FROM tombstone WHERE kind = 'session' AND key = ?", (f"{source}/{session_id}",)
    )
    return cursor.rowcount > 0
