"""What one session gives to the memory, written: new, grown, edited and forgotten exchanges, and mended failures."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ..redact import mask, masked
from ..schema.exchange import Exchange
from ..store.rows import number
from . import index
from .mended import Mended

FORGOTTEN = "exchange"
"""The kind of a tombstone for an exchange; its key is `key_of` in decimal."""

_json = msgspec.json.Encoder()


class Conversation(Struct, frozen=True):
    """A session as the memory is given it. `title` is as recorded; `folder` in compared form."""

    session: int
    generation: int
    title: str | None
    project: str | None
    folder: str | None


class Row(Struct, frozen=True):
    """An exchange as it is kept: masked, and as a person edited it."""

    position: int
    message_id: str
    step_id: str
    key: int
    at: int | None
    asked: str
    answered: str
    paths: str


def key_of(exchange: Exchange) -> int:
    """A number that copies of a prompt share: its message's id and what was typed; an answer may grow."""
    return number("exchange", exchange.message_id, exchange.asked)


def is_forgotten(connection: sqlite3.Connection, key: int) -> bool:
    """Whether a person had the memory forget this exchange, here or in a copy."""
    found = connection.execute("SELECT 1 FROM tombstone WHERE kind = ? AND key = ?", (FORGOTTEN, str(key)))
    return found.fetchone() is not None


def rows(connection: sqlite3.Connection, exchanges: Sequence[Exchange], counts: dict[str, int]) -> list[Row]:
    """The exchanges as they are to be kept; what was masked in them is added to `counts`."""
    found = []
    for exchange in exchanges:
        key = key_of(exchange)
        edited = connection.execute("SELECT asked, answered FROM revision WHERE key = ?", (key,)).fetchone()
        asked, answered = edited or (
            _counted(masked(exchange.asked), counts),
            _counted(masked(exchange.answered), counts),
        )
        paths = mask("\n".join(path.replace("\n", " ") for path in exchange.paths))
        found.append(
            Row(
                exchange.position,
                exchange.message_id,
                exchange.step_id,
                key,
                exchange.at,
                asked,
                answered,
                paths,
            )
        )
    return found


def _counted(found: tuple[str, dict[str, int]], counts: dict[str, int]) -> str:
    text, kinds = found
    for kind, count in kinds.items():
        counts[kind] = counts.get(kind, 0) + count
    return text


def conversation(
    connection: sqlite3.Connection, workspace: int, one: Conversation, now: int, prep: int
) -> tuple[int, bool]:
    """Write a conversation's own row; returns its number, and whether its title is new to the index."""
    title = mask(one.title or "")
    before = connection.execute(
        "SELECT title FROM conversation WHERE workspace = ? AND session = ?", (workspace, one.session)
    ).fetchone()
    (n,) = connection.execute(
        "INSERT INTO conversation (workspace, session, generation, prep, project, folder, title, learned_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, session) DO UPDATE SET"
        " generation = excluded.generation, prep = excluded.prep, project = excluded.project,"
        " folder = excluded.folder, title = excluded.title RETURNING n",
        (workspace, one.session, one.generation, prep, one.project, one.folder, title, now),
    ).fetchone()
    return int(n), before is None or before[0] != title


def exchanges(connection: sqlite3.Connection, conversation: int, kept: Sequence[Row], *, anew: bool) -> bool:
    """Make a conversation's exchanges what `kept` says; `anew` indexes all of them. Says whether anything changed."""
    before = {row.message_id: (n, row) for n, row in _stored(connection, conversation)}
    wanted = {row.message_id for row in kept}
    gone = [n for message_id, (n, _) in before.items() if message_id not in wanted]
    drop(connection, gone)
    numbers: list[int] = []
    dirty: set[int] = set()
    for place, row in enumerate(kept):
        n, old = before.get(row.message_id, (None, None))
        if n is None:
            n = _insert(connection, conversation, row)
        elif old != row:
            _update(connection, n, row)
        if old is None or _said(old) != _said(row):
            dirty.update((place - 1, place, place + 1))
        numbers.append(n)
    if gone or anew:
        dirty.update(range(len(kept)))
    (title,) = connection.execute("SELECT title FROM conversation WHERE n = ?", (conversation,)).fetchone()
    for place in sorted(dirty & set(range(len(kept)))):
        row = kept[place]
        near = "\n".join(
            _own(other) for other in (*kept[max(place - 1, 0) : place], *kept[place + 1 : place + 2])
        )
        index.put(
            connection, index.row_of_exchange(numbers[place]), _own(row), near, title, row.paths.split("\n")
        )
    return bool(dirty or gone)


def differs(connection: sqlite3.Connection, conversation: int, kept: Sequence[Row]) -> bool:
    """Whether `exchanges` would find anything new, changed or gone in a conversation that is kept."""
    before = {row.message_id: row for _, row in _stored(connection, conversation)}
    return {key: _said(row) for key, row in before.items()} != {row.message_id: _said(row) for row in kept}


def _said(row: Row) -> tuple[str, str, str]:
    """What of an exchange the index has."""
    return row.asked, row.answered, row.paths


def _own(row: Row) -> str:
    return f"{row.asked}\n{row.answered}"


_COLUMNS = "position, message_id, step_id, key, at, asked, answered, paths"


def _stored(connection: sqlite3.Connection, conversation: int) -> list[tuple[int, Row]]:
    """The exchanges of a conversation with their numbers, in order."""
    return [
        (n, Row(*values))
        for n, *values in connection.execute(
            f"SELECT n, {_COLUMNS} FROM exchange WHERE conversation = ? ORDER BY position", (conversation,)
        )
    ]


def _insert(connection: sqlite3.Connection, conversation: int, row: Row) -> int:
    cursor = connection.execute(
        f"INSERT INTO exchange (conversation, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (conversation, *msgspec.structs.astuple(row)),
    )
    return int(cursor.lastrowid or 0)


def _update(connection: sqlite3.Connection, n: int, row: Row) -> None:
    names = ", ".join(f"{name} = ?" for name in _COLUMNS.split(", "))
    connection.execute(f"UPDATE exchange SET {names} WHERE n = ?", (*msgspec.structs.astuple(row), n))


def drop(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Take exchanges out, words and all."""
    index.take_out(connection, [index.row_of_exchange(n) for n in numbers])
    connection.executemany("DELETE FROM exchange WHERE n = ?", [(n,) for n in numbers])


def again(connection: sqlite3.Connection, conversation: int) -> None:
    """Index a conversation's exchanges anew, as they are stored: one of them was edited or forgotten."""
    exchanges(connection, conversation, [row for _, row in _stored(connection, conversation)], anew=True)


def mended(connection: sqlite3.Connection, conversation: int, found: Sequence[Mended]) -> None:
    """Make a conversation's mended failures what was found."""
    old = [
        n
        for (n,) in connection.execute(
            "SELECT n FROM mended WHERE conversation = ?", (conversation,)
        ).fetchall()
    ]
    index.take_out_mended(connection, old)
    connection.execute("DELETE FROM mended WHERE conversation = ?", (conversation,))
    for one in found:
        cursor = connection.execute(
            "INSERT INTO mended (conversation, position, step_id, mended_by, at, after, command, error, changed,"
            " ran, diff) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                conversation,
                one.position,
                one.step_id,
                one.mended_by,
                one.at,
                one.after,
                one.command,
                one.error,
                _json.encode(one.changed).decode(),
                _json.encode(one.ran).decode(),
                one.diff,
            ),
        )
        index.put_mended(connection, int(cursor.lastrowid or 0), one)


def drop_conversation(connection: sqlite3.Connection, conversation: int) -> None:
    """Take a conversation out of the memory: its exchanges, its mended failures, their words."""
    exchanges(connection, conversation, [], anew=False)
    mended(connection, conversation, [])
    connection.execute("DELETE FROM conversation WHERE n = ?", (conversation,))
