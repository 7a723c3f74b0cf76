"""What a workspace has learned, to look through: its projects, and their conversations."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..store import read
from ..store.results import Cost


class Project(Struct, frozen=True):
    """A project that a workspace knows; `name` is null where none was recorded. `last_at` is UTC epoch ms."""

    name: str | None
    conversations: int
    exchanges: int
    last_at: int | None


class Conversation(Struct, frozen=True):
    """A conversation that was learned. `title` and `project` are masked; `mended` counts failures it put right."""

    session_id: str
    title: str | None
    project: str | None
    exchanges: int
    mended: int
    last_at: int | None
    cost: Cost
    gone: bool


_LAST = "(SELECT max(at) FROM exchange WHERE exchange.conversation = conversation.n)"


def projects(connection: sqlite3.Connection, workspace: int) -> list[Project]:
    """The projects of a workspace, the one that was worked in last first."""
    rows = connection.execute(
        "SELECT project, count(DISTINCT conversation.n), count(exchange.n), max(exchange.at) AS last"
        " FROM conversation LEFT JOIN exchange ON exchange.conversation = conversation.n"
        " WHERE workspace = ? GROUP BY project ORDER BY last DESC, project",
        (workspace,),
    )
    return [Project(*row) for row in rows]


def conversations(
    connection: sqlite3.Connection,
    workspace: int,
    project: str | None,
    *,
    limit: int,
    offset: int = 0,
) -> list[Conversation]:
    """Conversations of one project, null being those without one, newest first."""
    rows = connection.execute(
        "SELECT session.n, session.id, conversation.title, conversation.project,"
        " (SELECT count(*) FROM exchange WHERE exchange.conversation = conversation.n),"
        " (SELECT count(*) FROM mended WHERE mended.conversation = conversation.n),"
        f" {_LAST} AS last, session.gone_at FROM conversation JOIN session ON session.n = conversation.session"
        " WHERE workspace = ? AND conversation.project IS ? ORDER BY last DESC, session.n DESC LIMIT ? OFFSET ?",
        (workspace, project, limit, offset),
    ).fetchall()
    return [
        Conversation(
            session_id,
            title,
            name,
            exchanges,
            mended,
            last,
            read.session_cost(connection, session),
            gone is not None,
        )
        for session, session_id, title, name, exchanges, mended, last, gone in rows
    ]
