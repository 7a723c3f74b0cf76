"""What people and agents change in the memory: facts added, texts edited, passages forgotten for good."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Sequence
from typing import Literal

from msgspec import Struct

from ..errors import InputError
from ..redact import mask
from ..store.database import overwriting, transaction
from ..store.rows import number
from . import exchanges, index, keep, marked, undo, vocabulary
from .keys import key_of
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
    clean, project = _checked(text), mask(project) if project else project
    key = _fact_key(clean)
    with transaction(connection):
        known = _equal_fact(connection, workspace, key)
        if author == "person":
            _unbury(connection, FACT, key)
        if known is not None:
            return Item("fact", known)
        if marked.is_buried(connection, FACT, key):
            raise InputError("the user had this forgotten; it is not kept again.")
        cursor = connection.execute(
            "INSERT INTO fact (workspace, text, project, folder, at, author) VALUES (?, ?, ?, ?, ?, ?)",
            (workspace, clean, project, folder, now, author),
        )
        n = int(cursor.lastrowid or 0)
        index.put(connection, index.row_of_fact(n), clean, title=project or "")
    return Item("fact", n)


def _equal_fact(connection: sqlite3.Connection, workspace: int, key: str) -> int | None:
    """The fact of a workspace that says what a key stands for."""
    for n, known in connection.execute("SELECT n, text FROM fact WHERE workspace = ?", (workspace,)):
        if _fact_key(known) == key:
            return int(n)
    return None


def edit_fact(connection: sqlite3.Connection, n: int, text: str, now: int) -> None:
    """Give a fact another text; the old one does not come back by an agent, and its place is overwritten.

    Raises `InputError` for no text, for what another fact says already, and for a fact that is not there.
    """
    clean = _checked(text)
    with overwriting(connection, "memory_fts"):
        found = connection.execute("SELECT text, project, workspace FROM fact WHERE n = ?", (n,)).fetchone()
        if found is None:
            raise InputError(f"f{n} was forgotten meanwhile.")
        old, project, workspace = found
        key = _fact_key(clean)
        if key != _fact_key(old):
            equal = _equal_fact(connection, workspace, key)
            if equal is not None:
                raise InputError(
                    f"f{equal} says that already. Nothing was changed; forget f{n} if it is not needed."
                )
            _bury(connection, FACT, _fact_key(old), now)
            _unbury(connection, FACT, key)
        connection.execute("UPDATE fact SET text = ?, edited_at = ? WHERE n = ?", (clean, now, n))
        index.put(connection, index.row_of_fact(n), clean, title=project or "")
        vocabulary.prune(connection)


def edit_exchange(
    connection: sqlite3.Connection, n: int, asked: str | None, answered: str | None, now: int
) -> None:
    """Give an exchange another question or answer, wherever it is kept; learning again keeps the new text.

    A half that is not given, or has this text already, stays as recorded and grows with the record. The place of the
    old text is overwritten. Raises `InputError` for no text, and for an exchange that is not there.
    """
    with overwriting(connection, "memory_fts"):
        found = connection.execute("SELECT key, asked, answered FROM exchange WHERE n = ?", (n,)).fetchone()
        if found is None:
            raise InputError(f"e{n} was forgotten meanwhile.")
        key, old_asked, old_answered = found
        new = _new(asked, old_asked), _new(answered, old_answered)
        if new == (None, None):
            return
        connection.execute(
            "INSERT INTO revision VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at,"
            " asked = coalesce(excluded.asked, asked), answered = coalesce(excluded.answered, answered)",
            (key, *new, now),
        )
        copies = connection.execute(
            "UPDATE exchange SET asked = coalesce(?, asked), answered = coalesce(?, answered) WHERE key = ?"
            " RETURNING n",
            (*new, key),
        ).fetchall()
        keep.put(connection, [copy for (copy,) in copies])
        vocabulary.prune(connection)


def _new(text: str | None, old: str) -> str | None:
    """The text that a half of an exchange is given; null where it keeps what it has, and goes on growing."""
    clean = None if text is None else _checked(text)
    return None if clean == old.strip() else clean


def forget(
    connection: sqlite3.Connection, items: Sequence[Item], sessions: Sequence[tuple[str, str]], now: int
) -> Taken:
    """Forget items and whole sessions (`source`, `session id`), copies of their exchanges included.

    They do not come back when the sessions are learned again. The space is overwritten (`secure_delete`).
    Returns what was taken out, for `undo.put_back`.
    """
    with overwriting(connection, "memory_fts", "mended_fts"):
        keys = _keys(connection, items, sessions)
        facts = [one.n for one in items if one.kind == "fact"]
        taken = _taken(connection, keys, facts, sessions)
        for n in facts:
            _forget_fact(connection, n, now)
        _forget_exchanges(connection, keys, now)
        for source, session_id in sessions:
            _forget_session(connection, source, session_id, now)
        vocabulary.prune(connection)
    return taken


def unlearned(connection: sqlite3.Connection) -> None:
    """What else goes in a write that takes sessions out of the archive: their edits, and words that nothing has now."""
    marked.drop_unrecorded(connection)
    vocabulary.prune(connection)


def _keys(
    connection: sqlite3.Connection, items: Sequence[Item], sessions: Sequence[tuple[str, str]]
) -> set[int]:
    """The keys of what is about to be forgotten: of a session also of what was not learned, or not yet."""
    numbers = json.dumps([one.n for one in items if one.kind == "exchange"])
    found = connection.execute(
        "SELECT key FROM exchange WHERE n IN (SELECT value FROM json_each(?))", (numbers,)
    )
    keys = {key for (key,) in found}
    for source, session_id in sessions:
        home = f"{source}/{session_id}"
        for (session,) in connection.execute(
            "SELECT n FROM session WHERE source = ? AND id = ?", (source, session_id)
        ).fetchall():
            keys.update(key_of(one, home) for one in exchanges.of_session(connection, session))
            learned = connection.execute(
                "SELECT key FROM exchange JOIN conversation ON conversation.n = exchange.conversation"
                " WHERE conversation.session = ?",
                (session,),
            )
            keys.update(key for (key,) in learned)
    return keys


def _taken(
    connection: sqlite3.Connection,
    keys: Collection[int],
    facts: Sequence[int],
    sessions: Sequence[tuple[str, str]],
) -> Taken:
    """What is about to be forgotten, as it stands."""
    texts = [row[0] for n in facts for row in connection.execute("SELECT text FROM fact WHERE n = ?", (n,))]
    tombstones = [
        *((keep.FORGOTTEN, str(key)) for key in sorted(keys)),
        *((FACT, _fact_key(text)) for text in texts),
        *((CONVERSATION, f"{source}/{session_id}") for source, session_id in sessions),
    ]
    return undo.take(connection, keys, facts, sessions, tombstones)


def _bury(connection: sqlite3.Connection, kind: str, key: str, now: int) -> None:
    connection.execute("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)", (kind, key, now))


def _unbury(connection: sqlite3.Connection, kind: str, key: str) -> None:
    connection.execute("DELETE FROM tombstone WHERE kind = ? AND key = ?", (kind, key))


def _forget_fact(connection: sqlite3.Connection, n: int, now: int) -> None:
    found = connection.execute("DELETE FROM fact WHERE n = ? RETURNING text", (n,)).fetchone()
    if found is not None:
        index.take_out(connection, [index.row_of_fact(n)])
        _bury(connection, FACT, _fact_key(found[0]), now)


def _forget_exchanges(connection: sqlite3.Connection, keys: Collection[int], now: int) -> None:
    """Forget exchanges by their keys, wherever they are kept, with the failures that went on in them."""
    for key in keys:
        _bury(connection, keep.FORGOTTEN, str(key), now)
    marked.drop_revisions(connection, keys)
    copies = connection.execute(
        "SELECT n, conversation, position FROM exchange WHERE key IN"
        " (SELECT CAST(value AS INTEGER) FROM json_each(?))",
        (json.dumps([str(key) for key in keys]),),
    ).fetchall()
    keep.drop(connection, [n for n, _, _ in copies])
    places: dict[int, list[int]] = {}
    for _, conversation, position in copies:
        places.setdefault(conversation, []).append(position)
    for conversation, positions in places.items():
        keep.drop_failures(connection, conversation, positions)
        if not connection.execute(
            "SELECT 1 FROM exchange WHERE conversation = ?", (conversation,)
        ).fetchone():
            keep.drop_conversation(connection, conversation)


def _forget_session(connection: sqlite3.Connection, source: str, session_id: str, now: int) -> None:
    """Forget a session as a whole: also what is typed in it later is not learned."""
    _bury(connection, CONVERSATION, f"{source}/{session_id}", now)
    for (conversation,) in connection.execute(
        "SELECT conversation.n FROM conversation JOIN session ON session.n = conversation.session"
        " WHERE session.source = ? AND session.id = ?",
        (source, session_id),
    ).fetchall():
        keep.drop_conversation(connection, conversation)
