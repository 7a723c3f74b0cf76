"""What was worked on last: the newest exchanges of a scope, copies once."""

from __future__ import annotations

import sqlite3

from .rank import Scope
from .recall import Passage, numbered


def recent(connection: sqlite3.Connection, scope: Scope, limit: int) -> list[Passage]:
    """The newest exchanges, newest first; of copies in the scope the one of the session that began first.

    A scope with a project goes by its name, else by its folder and what lies below that.
    """
    condition, values = "conversation.workspace = ?", [scope.workspace]
    wheres: list[object] = list(values)
    if scope.project is not None:
        condition += " AND conversation.project = ? COLLATE NOCASE"
        wheres.append(scope.project)
    elif scope.folder is not None:
        condition += " AND substr(conversation.folder || '/', 1, length(?) + 1) = ? || '/'"
        wheres += [scope.folder, scope.folder]
    if scope.since is not None:
        condition += " AND exchange.at >= ?"
        wheres.append(scope.since)
    found = connection.execute(
        "SELECT first FROM (SELECT exchange.n, exchange.at, first_value(exchange.n) OVER copies AS first,"
        " row_number() OVER copies AS place FROM exchange"
        " JOIN conversation ON conversation.n = exchange.conversation"
        f" JOIN session ON session.n = conversation.session WHERE {condition}"
        " WINDOW copies AS (PARTITION BY exchange.key"
        " ORDER BY session.started_at IS NULL, session.started_at, session.id, exchange.n))"
        " WHERE place = 1 ORDER BY at DESC, n DESC LIMIT ?",
        (*wheres, limit),
    )
    numbers = [n for (n,) in found]
    passages = {passage.id: passage for passage, _ in numbered(connection, numbers)}
    return [passages[f"e{n}"] for n in numbers]
