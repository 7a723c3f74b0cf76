"""The export: everything that the memory holds, part by part, so that a large one needs little room."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from ..redact import mask
from .learn import source_key

Kind = Literal["workspace", "conversation", "fact", "revision", "forgotten"]


class Part(NamedTuple):
    """One thing of the memory as a document has it; times are UTC epoch ms.

    A `conversation` holds its `exchanges` and `mended` failures, a `workspace` its `claims`; a `revision` is an
    exchange that a person edited, and `forgotten` what must not come back.
    """

    kind: Kind
    value: dict[str, Any]


def parts(connection: sqlite3.Connection) -> Iterator[Part]:
    """The parts, kind after kind, all of one moment."""
    connection.execute("BEGIN")
    try:
        yield from _workspaces(connection)
        yield from _conversations(connection)
        for row in _rows(
            connection,
            "SELECT workspace.name AS workspace, 'f' || fact.n AS id, 'fact/' || fact.n AS source, text, project,"
            " at, author, edited_at FROM fact JOIN workspace ON workspace.n = fact.workspace ORDER BY fact.n",
        ):
            yield Part("fact", row)
        for row in _rows(connection, "SELECT key, asked, answered, at FROM revision ORDER BY at, key"):
            key = row.pop("key")
            found = connection.execute("SELECT n FROM exchange WHERE key = ? ORDER BY n", (key,))
            yield Part("revision", {"exchanges": [f"e{n}" for (n,) in found], **row})
        for row in _rows(connection, "SELECT kind, key, at FROM tombstone ORDER BY at, kind, key"):
            yield Part("forgotten", row)
    finally:
        connection.execute("COMMIT")


def _workspaces(connection: sqlite3.Connection) -> Iterator[Part]:
    for row in _rows(connection, "SELECT n, name, created_at FROM workspace ORDER BY n"):
        claims = connection.execute(
            "SELECT path FROM claim WHERE workspace = ? ORDER BY key", (row.pop("n"),)
        )
        yield Part("workspace", {**row, "claims": [mask(path) for (path,) in claims]})


def _conversations(connection: sqlite3.Connection) -> Iterator[Part]:
    for row in _rows(
        connection,
        "SELECT conversation.n, workspace.name AS workspace, session.id AS session_id, conversation.title,"
        " conversation.project, learned_at FROM conversation JOIN session ON session.n = conversation.session"
        " JOIN workspace ON workspace.n = conversation.workspace ORDER BY session.started_at, session.id",
    ):
        n = row.pop("n")
        exchanges = list(
            _rows(
                connection,
                "SELECT 'e' || n AS id, position, message_id, step_id, at, asked, answered, paths FROM exchange"
                " WHERE conversation = ? ORDER BY position",
                n,
            )
        )
        for one in exchanges:
            one["paths"] = [path for path in one["paths"].split("\n") if path]
        mended = list(
            _rows(
                connection,
                "SELECT position, mended_position, step_id, mended_by, at, after AS after_ms, command, error, changed,"
                " ran, diff"
                " FROM mended WHERE conversation = ? ORDER BY n",
                n,
            )
        )
        for failure in mended:
            failure.update({name: msgspec.json.decode(failure[name]) for name in ("changed", "ran")})
        source = source_key(row["session_id"])
        yield Part("conversation", {"source": source, **row, "exchanges": exchanges, "mended": mended})


def _rows(connection: sqlite3.Connection, query: str, *values: object) -> Iterator[dict[str, Any]]:
    """The rows of a query with the names of their columns, one at a time."""
    cursor = connection.execute(query, values)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))
