"""Ranking: which texts of a workspace fit a query best, by words alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from . import score, terms, vocabulary
from .score import Text, Tuning
from .terms import Term

POOL = 150
"""Rows that the index gives, to be ranked again together with their neighbours."""
BUDGET = 8_000
"""Matches that the index ranks; what is too common for that counts in the second ranking only."""
LONGEST = 30_000
"""Characters of a text that the second ranking looks at."""


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


class Ranked(Struct, frozen=True):
    """What fits a query, best first, the words that were looked for, and the misspelt ones with what was taken."""

    found: list[Scored]
    words: tuple[str, ...]
    repaired: dict[str, str]


_IN_SCOPE = """
coalesce(conversation.workspace, fact.workspace) = :workspace
AND (:project IS NULL OR coalesce(conversation.project, fact.project) = :project COLLATE NOCASE)
AND (:since IS NULL OR coalesce(exchange.at, fact.at) >= :since)
"""
_POOL = f"""
SELECT memory_fts.rowid FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts MATCH :expression AND {_IN_SCOPE} ORDER BY bm25(memory_fts, 1.0, 0.6, 0.6) LIMIT :limit
"""
_AROUND = """
SELECT DISTINCT near.n FROM exchange AS own JOIN exchange AS near ON near.conversation = own.conversation
AND near.position BETWEEN own.position - {reach} AND own.position + {reach} WHERE own.n IN ({marks})
AND (? IS NULL OR near.at >= ?)
"""
_TEXTS = f"""
SELECT memory_fts.rowid, exchange.conversation, exchange.position, coalesce(conversation.folder, fact.folder),
       coalesce(exchange.at, fact.at), substr(own, 1, {LONGEST}), memory_fts.title, memory_fts.paths FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts.rowid IN ({{marks}})
"""


def ranked(
    connection: sqlite3.Connection, query: str, scope: Scope, limit: int, tuning: Tuning = Tuning()
) -> Ranked:
    """The rows that fit a query best: first by the index alone, then the best of them by all signs."""
    asked = terms.terms(query)
    wanted, counts, repaired = vocabulary.known(connection, asked, scope.workspace)
    words = tuple(term.word for term in asked if term.weight == 1)
    if not wanted:
        return Ranked([], words, repaired)
    texts = _texts(connection, _pool(connection, wanted, counts, scope), scope, len(tuning.near))
    (total,) = connection.execute("SELECT count(*) FROM memory_fts_docsize").fetchone()
    found = score.scores(
        texts,
        wanted,
        score.weights(wanted, counts, total),
        folder=scope.folder,
        now=scope.now,
        tuning=tuning,
    )
    best = sorted(found, key=lambda row: (-found[row], -(texts[row].at or 0), -row))
    return Ranked([Scored(row, found[row]) for row in best[:limit]], words, repaired)


def _pool(
    connection: sqlite3.Connection, wanted: Sequence[Term], counts: Sequence[int], scope: Scope
) -> list[int]:
    """Rows that have the rarest words of a query, in the index's own order."""
    forms: list[str] = []
    total = 0
    for count, term in sorted(zip(counts, wanted, strict=True), key=lambda pair: pair[0]):
        total += count
        if forms and total > BUDGET:
            break
        forms += map(terms.expression, term.forms)
    values = {
        "expression": " OR ".join(dict.fromkeys(forms)),
        "workspace": scope.workspace,
        "project": scope.project,
        "since": scope.since,
        "limit": POOL,
    }
    return [row for (row,) in connection.execute(_POOL, values)]


def _texts(
    connection: sqlite3.Connection, pool: Sequence[int], scope: Scope, reach: int
) -> dict[int, Text]:
    """The texts of a pool and of the exchanges beside them."""
    own = [row // 2 for row in pool if row % 2 == 0]
    around = connection.execute(
        _AROUND.format(reach=reach, marks=_marks(own)), (*own, scope.since, scope.since)
    )
    rows = list(dict.fromkeys([*pool, *(2 * n for (n,) in around)]))
    return {row[0]: Text(*row) for row in connection.execute(_TEXTS.format(marks=_marks(rows)), rows)}


def _marks(values: Sequence[int]) -> str:
    return ",".join("?" * len(values))


def best_mended(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> Sequence[int]:
    return []
