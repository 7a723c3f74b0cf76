"""Ranking: which texts of a workspace fit a query best, by words alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from . import terms

WEIGHTS = (1.0, 0.4, 0.6, 0.6)
"""Of a text's own words, its neighbours', its title and its paths."""


class Scope(Struct, frozen=True):
    """What is searched. `folder` is the project at hand in compared form; `project` limits to one by name.

    Times are UTC epoch ms.
    """

    workspace: int
    now: int
    folder: str | None = None
    project: str | None = None
    since: int | None = None


class Scored(Struct, frozen=True):
    """An index row, an exchange's (even) or a fact's (odd), and how well it fits; more is better."""

    row: int
    score: float


_ROWS = """
SELECT memory_fts.rowid, bm25(memory_fts, {weights}) AS rank FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts MATCH ? AND coalesce(conversation.workspace, fact.workspace) = ?
AND (? IS NULL OR coalesce(conversation.project, fact.project) = ? COLLATE NOCASE)
AND (? IS NULL OR coalesce(exchange.at, fact.at) >= ?)
ORDER BY rank LIMIT ?
"""


def best(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> list[Scored]:
    """The rows that fit a query best, best first."""
    words = terms.terms(query)
    if not words:
        return []
    expression = " OR ".join(f'"{word}"' for word in words)
    sql = _ROWS.format(weights=", ".join(map(str, WEIGHTS)))
    values = (
        expression,
        scope.workspace,
        scope.project,
        scope.project,
        scope.since,
        scope.since,
        limit,
    )
    return [Scored(row, -rank) for row, rank in connection.execute(sql, values)]


def best_mended(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> Sequence[int]:
    """Numbers of mended failures whose error the query repeats, best first."""
    words = terms.terms(query)
    if not words:
        return []
    expression = " OR ".join(f'error: "{word}"' for word in words)
    return [
        n
        for (n,) in connection.execute(
            "SELECT mended.n FROM mended_fts JOIN mended ON mended.n = mended_fts.rowid"
            " JOIN conversation ON conversation.n = mended.conversation"
            " WHERE mended_fts MATCH ?1 AND conversation.workspace = ?2"
            " AND (?3 IS NULL OR conversation.project = ?3 COLLATE NOCASE) AND (?4 IS NULL OR mended.at >= ?4)"
            " ORDER BY bm25(mended_fts) LIMIT ?5",
            (expression, scope.workspace, scope.project, scope.since, limit),
        )
    ]
