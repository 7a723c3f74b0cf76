"""What one session gives to the memory, written: new, grown, edited and forgotten exchanges, and mended failures."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from ..redact import mask, masked
from ..schema.exchange import Exchange
from . import index, keys
from .mended import Mended

FORGOTTEN = "exchange"
"""The kind of a tombstone for an exchange; its key is that of `keys.py` in decimal."""

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


class Prepared(Struct, frozen=True):
    """An exchange ready to be kept, before what a person made of it; `masked` counts what was taken out, by kind.

    `in_manifest` is the key that the same prompt had while only the manifest knew it.
    """

    row: Row
    in_manifest: int
    masked: dict[str, int]


def prepared(exchanges: Sequence[Exchange], home: str) -> list[Prepared]:
    """The exchanges of a session, masked; `home` is the session as `source/session id`."""
    found = []
    for exchange in exchanges:
        counts: dict[str, int] = {}
        asked, answered = (_counted(masked(text), counts) for text in (exchange.asked, exchange.answered))
        paths = mask("\n".join(path.replace("\n", " ") for path in exchange.paths))
        row = Row(
            exchange.position,
            exchange.message_id,
            exchange.step_id,
            keys.key_of(exchange, home),
            exchange.at,
            asked,
            answered,
            paths,
        )
        found.append(Prepared(row, keys.in_manifest(exchange, home), counts))
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
            dirty.add(place)
        numbers.append(n)
    if anew:
        dirty.update(range(len(kept)))
    put(connection, [numbers[place] for place in sorted(dirty)])
    return bool(dirty or gone)


def put(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Index exchanges as they are stored."""
    for n, asked, answered, paths, title in connection.execute(
        "SELECT exchange.n, asked, answered, paths, title FROM json_each(?) JOIN exchange ON exchange.n = value"
        " JOIN conversation ON conversation.n = exchange.conversation",
        (json.dumps(list(numbers)),),
    ).fetchall():
        index.put(connection, index.row_of_exchange(n), f"{asked}\n{answered}", title, paths.split("\n"))


def differs(connection: sqlite3.Connection, conversation: int, kept: Sequence[Row]) -> bool:
    """Whether `exchanges` would find anything new, changed or gone in a conversation that is kept."""
    before = {row.message_id: row for _, row in _stored(connection, conversation)}
    return {key: _said(row) for key, row in before.items()} != {row.message_id: _said(row) for row in kept}


def _said(row: Row) -> tuple[str, str, str]:
    """What of an exchange the index has."""
    return row.asked, row.answered, row.paths


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
    """Index a conversation's exchanges anew, as they are stored."""
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
            "INSERT INTO mended (conversation, position, mended_position, step_id, mended_by, at, after, command,"
            " error, changed, ran, diff) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                conversation,
                one.position,
                one.mended_position,
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


def drop_failures(connection: sqlite3.Connection, conversation: int, positions: Collection[int]) -> None:
    """Take out the failures that went on in any of these prompts, from the failure to what made it pass."""
    gone = connection.execute(
        "DELETE FROM mended WHERE conversation = ?1 AND EXISTS (SELECT 1 FROM json_each(?2) WHERE value"
        " BETWEEN coalesce(position, 0) AND coalesce(mended_position, 9e9)) RETURNING n",
        (conversation, json.dumps(list(positions))),
    ).fetchall()
    index.take_out_mended(connection, [n for (n,) in gone])


def drop_conversation(connection: sqlite3.Connection, conversation: int) -> None:
    """Take a conversation out of the memory: its exchanges, its mended failures, their words."""
    exchanges(connection, conversation, [], anew=False)
    mended(connection, conversation, [])
    connection.execute("DELETE FROM conversation WHERE n = ?", (conversation,))
