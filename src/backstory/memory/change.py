"""What people and agents change in the memory: facts added, texts edited, passages forgotten for good."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..errors import InputError
from ..redact import mask
from ..store.database import transaction
from ..store.rows import number
from . import index, keep, undo, vocabulary
from .learn import CONVERSATION
from .undo import Taken

Author = Literal["person", "agent"]
FACT = "fact"
"""The kind of a tombstone for a fact; its key is that of the text, in decimal."""
LONGEST = 20_000
"""Characters of a fact or an edited text."""

_id = re.compile(r"([ef])([1-9]\d{0,17})")


class Item(Struct, frozen=True):
    """One thing that the memory holds: an exchange (`e12`) or a fact (`f3`)."""

    kind: Literal["exchange", "fact"]
    n: int

    @property
    def id(self) -> str:
        return f"{self.kind[0]}{self.n}"


def item(connection: sqlite3.Connection, text: str) -> Item:
    """The item that an id names. Raises `InputError` for one that is not there."""
    found = _id.fullmatch(text.strip())
    if found is not None:
        kind: Literal["exchange", "fact"] = "exchange" if found[1] == "e" else "fact"
        if connection.execute(f"SELECT 1 FROM {kind} WHERE n = ?", (int(found[2]),)).fetchone():
            return Item(kind, int(found[2]))
    raise InputError(f'"{text}" is nothing in the memory. backstory memory list shows the IDs.')


def _fact_key(text: str) -> str:
    """Equal for facts that say the same but for blanks and case."""
    return str(number("fact", " ".join(text.split()).casefold()))


def _checked(text: str) -> str:
    clean = mask(text.strip())
    if not clean:
        raise InputError("there is no text to remember.")
    if len(clean) > LONGEST:
        raise InputError(f"that is {len(clean):,} characters; the memory takes {LONGEST:,} at most.")
    return clean


def add_fact(
    connection: sqlite3.Connection,
    text: str,
    *,
    workspace: int,
    project: str | None,
    folder: str | None,
    author: Author,
    now: int,
) -> Item:
    """Add a fact; one that is there already is not added twice.

    Raises `InputError` for no text, and for an agent's fact that a person had the memory forget.
    """
    clean = _checked(text)
    key = _fact_key(clean)
    with transaction(connection):
        if author == "person":
            connection.execute("DELETE FROM tombstone WHERE kind = ? AND key = ?", (FACT, key))
        elif connection.execute("SELECT 1 FROM tombstone WHERE kind = ? AND key = ?", (FACT, key)).fetchone():
            raise InputError("the user had this forgotten; it is not kept again.")
        for n, known in connection.execute("SELECT n, text FROM fact WHERE workspace = ?", (workspace,)):
            if _fact_key(known) == key:
                return Item("fact", n)
        cursor = connection.execute(
            "INSERT INTO fact (workspace, text, project, folder, at, author) VALUES (?, ?, ?, ?, ?, ?)",
            (workspace, clean, project, folder, now, author),
        )
        n = int(cursor.lastrowid or 0)
        index.put(connection, index.row_of_fact(n), clean, title=project or "")
    return Item("fact", n)


def edit_fact(connection: sqlite3.Connection, n: int, text: str, now: int) -> None:
    """Give a fact another text; the old one does not come back by an agent."""
    clean = _checked(text)
    with transaction(connection):
        old, project = connection.execute("SELECT text, project FROM fact WHERE n = ?", (n,)).fetchone()
        if _fact_key(old) != _fact_key(clean):
            _bury(connection, FACT, _fact_key(old), now)
        connection.execute("UPDATE fact SET text = ?, edited_at = ? WHERE n = ?", (clean, now, n))
        index.put(connection, index.row_of_fact(n), clean, title=project or "")
        vocabulary.prune(connection)


def edit_exchange(
    connection: sqlite3.Connection, n: int, asked: str | None, answered: str | None, now: int
) -> None:
    """Give an exchange another question or answer, wherever it is kept; learning again keeps the new text."""
    with transaction(connection):
        key, old_asked, old_answered = connection.execute(
            "SELECT key, asked, answered FROM exchange WHERE n = ?", (n,)
        ).fetchone()
        new = (
            old_asked if asked is None else _checked(asked),
            old_answered if answered is None else _checked(answered),
        )
        connection.execute("INSERT OR REPLACE INTO revision VALUES (?, ?, ?, ?)", (key, *new, now))
        connection.execute("UPDATE exchange SET asked = ?, answered = ? WHERE key = ?", (*new, key))
        copies = connection.execute(
            "SELECT DISTINCT conversation FROM exchange WHERE key = ?", (key,)
        ).fetchall()
        for (conversation,) in copies:
            keep.again(connection, conversation)
        vocabulary.prune(connection)


def forget(
    connection: sqlite3.Connection, items: Sequence[Item], sessions: Sequence[tuple[str, str]], now: int
) -> Taken:
    """Forget items and whole sessions (`source`, `session id`), copies of their exchanges included.

    They do not come back when the sessions are learned again. The space is overwritten (`secure_delete`).
    Returns what was taken out, for `undo.put_back`.
    """
    connection.execute("PRAGMA secure_delete = ON")
    try:
        with transaction(connection):
            taken = _taken(connection, items, sessions)
            for one in items:
                if one.kind == "fact":
                    _forget_fact(connection, one.n, now)
                else:
                    _forget_exchange(connection, one.n, now)
            for source, session_id in sessions:
                _forget_session(connection, source, session_id, now)
            vocabulary.prune(connection)
            for table in ("memory_fts", "mended_fts"):
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.execute("PRAGMA secure_delete = OFF")
    return taken


def _taken(
    connection: sqlite3.Connection, items: Sequence[Item], sessions: Sequence[tuple[str, str]]
) -> Taken:
    """What is about to be forgotten, as it stands."""
    numbers = [one.n for one in items if one.kind == "exchange"]
    facts = [one.n for one in items if one.kind == "fact"]
    keys = {
        row[0] for n in numbers for row in connection.execute("SELECT key FROM exchange WHERE n = ?", (n,))
    }
    for source, session_id in sessions:
        found = connection.execute(
            "SELECT key FROM exchange JOIN conversation ON conversation.n = exchange.conversation"
            " JOIN session ON session.n = conversation.session WHERE session.source = ? AND session.id = ?",
            (source, session_id),
        )
        keys.update(row[0] for row in found)
    texts = [row[0] for n in facts for row in connection.execute("SELECT text FROM fact WHERE n = ?", (n,))]
    tombstones = [
        *((keep.FORGOTTEN, str(key)) for key in sorted(keys)),
        *((FACT, _fact_key(text)) for text in texts),
        *((CONVERSATION, f"{source}/{session_id}") for source, session_id in sessions),
    ]
    return undo.take(connection, keys, facts, sessions, tombstones)


def _bury(connection: sqlite3.Connection, kind: str, key: str, now: int) -> None:
    connection.execute("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)", (kind, key, now))


def _forget_fact(connection: sqlite3.Connection, n: int, now: int) -> None:
    found = connection.execute("DELETE FROM fact WHERE n = ? RETURNING text", (n,)).fetchone()
    if found is not None:
        index.take_out(connection, [index.row_of_fact(n)])
        _bury(connection, FACT, _fact_key(found[0]), now)


def _forget_exchange(connection: sqlite3.Connection, n: int, now: int) -> None:
    found = connection.execute("SELECT key FROM exchange WHERE n = ?", (n,)).fetchone()
    if found is None:
        return  # a copy of it went before
    _bury(connection, keep.FORGOTTEN, str(found[0]), now)
    connection.execute("DELETE FROM revision WHERE key = ?", found)
    for copy, conversation, position in connection.execute(
        "SELECT n, conversation, position FROM exchange WHERE key = ?", found
    ).fetchall():
        keep.drop(connection, [copy])
        mended = connection.execute(
            "DELETE FROM mended WHERE conversation = ? AND position = ? RETURNING n", (conversation, position)
        ).fetchall()
        index.take_out_mended(connection, [row[0] for row in mended])
        if not connection.execute(
            "SELECT 1 FROM exchange WHERE conversation = ?", (conversation,)
        ).fetchone():
            keep.drop_conversation(connection, conversation)


def _forget_session(connection: sqlite3.Connection, source: str, session_id: str, now: int) -> None:
    """Forget a session as a whole: also what is typed in it later is not learned."""
    _bury(connection, CONVERSATION, f"{source}/{session_id}", now)
    own = connection.execute(
        "SELECT conversation.n FROM conversation JOIN session ON session.n = conversation.session"
        " WHERE session.source = ? AND session.id = ?",
        (source, session_id),
    ).fetchall()
    for (conversation,) in own:
        numbers = connection.execute(
            "SELECT n FROM exchange WHERE conversation = ?", (conversation,)
        ).fetchall()
        for (n,) in numbers:
            _forget_exchange(connection, n, now)
        keep.drop_conversation(connection, conversation)
