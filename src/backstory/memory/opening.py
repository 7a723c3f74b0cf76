"""Opening a passage: the exchange or fact that a source names, with the exchanges around it."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..errors import InputError
from .recall import Passage, fact, numbered

_BY_ITEM = "conversation.n = (SELECT conversation FROM exchange WHERE n = ?2)"
_BY_ID = "(session.id = ?2 OR substr(session.id, -length(?2) - 1) = '_' || ?2)"


class Opened(Struct, frozen=True):
    """A passage with its surroundings: the passages of its conversation around it, itself among them, in order.

    `total` counts the exchanges that are kept of the conversation.
    """

    passage: Passage
    around: tuple[Passage, ...]
    total: int


def open(
    connection: sqlite3.Connection,
    number: int,
    workspace: str,
    source: str,
    position: int | None,
    around: int,
) -> Opened:
    """What `Memory.open` says; `number` is that of the workspace."""
    if source.startswith("fact/") or (source[:1] == "f" and source[1:].isdecimal()):
        return _fact(connection, number, workspace, source)
    by_item = source[:1] == "e" and source[1:].isdecimal()
    own = int(source[1:]) if by_item else None
    rows = connection.execute(
        "SELECT exchange.n, exchange.position, conversation.n FROM exchange"
        " JOIN conversation ON conversation.n = exchange.conversation"
        " JOIN session ON session.n = conversation.session"
        f" WHERE conversation.workspace = ?1 AND {_BY_ITEM if by_item else _BY_ID} ORDER BY exchange.position",
        (number, own if by_item else source.removeprefix("conversation/")),
    ).fetchall()
    if not rows:
        raise InputError(
            f'the workspace {workspace} has no conversation "{source}". Its source is conversation/<session id>.'
        )
    if len({conversation for _, _, conversation in rows}) > 1:
        raise InputError(f'"{source}" fits several conversations. Give the whole session id.')
    numbers, positions = [row[0] for row in rows], [row[1] for row in rows]
    if by_item:
        place = numbers.index(own)
    elif position is None:
        place = 0
    elif position in positions:
        place = positions.index(position)
    else:
        known = f"its positions go from {positions[0]} to {positions[-1]}"
        if len(positions) == 1:
            known = f"its only position is {positions[0]}"
        raise InputError(f"{source} has no exchange {position}; {known}.")
    wanted = numbers[max(place - around, 0) : place + around + 1]
    passages = {found.id: found for found, _ in numbered(connection, wanted)}
    return Opened(passages[f"e{numbers[place]}"], tuple(passages[f"e{n}"] for n in wanted), len(rows))


def _fact(connection: sqlite3.Connection, number: int, workspace: str, source: str) -> Opened:
    n = source.removeprefix("fact/").removeprefix("f")
    known = connection.execute(
        "SELECT n FROM fact WHERE n = ? AND workspace = ?", (int(n) if n.isdecimal() else 0, number)
    ).fetchone()
    found = fact(connection, known[0]) if known else None
    if found is None:
        raise InputError(f'there is no fact "{source}" in the workspace {workspace}.')
    return Opened(found, (found,), 1)
