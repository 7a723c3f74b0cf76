"""Ranking: which texts of a workspace fit a query best, by words alone."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from . import terms, vocabulary
from .terms import Term

POOL = 150
"""Rows that the index gives, to be ranked again with their neighbours."""
BUDGET = 8_000
"""Matches that the index ranks; words that stand in more rows than that allows only count in the second ranking."""
LONGEST = 30_000
"""Characters of a text that the second ranking looks at."""


class Tuning(Struct, frozen=True):
    """How much each sign counts. `k1` and `b` are those of BM25; the others are weights beside a text's own words."""

    k1: float = 0.9
    b: float = 0.3
    near: tuple[float, ...] = (0.4, 0.2)
    title: float = 0.6
    paths: float = 0.6
    coverage: float = 0.0
    pair: float = 0.0
    session: float = 0.0
    folder: float = 0.1
    recent: float = 0.05


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


class _Row(Struct, frozen=True):
    row: int
    conversation: int | None
    position: int | None
    folder: str | None
    at: int | None


_JOINS = """
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
"""
_IN_SCOPE = """
coalesce(conversation.workspace, fact.workspace) = :workspace
AND (:project IS NULL OR coalesce(conversation.project, fact.project) = :project COLLATE NOCASE)
AND (:since IS NULL OR coalesce(exchange.at, fact.at) >= :since)
"""
_POOL = f"""
SELECT memory_fts.rowid, exchange.conversation, exchange.position, coalesce(conversation.folder, fact.folder),
       coalesce(exchange.at, fact.at)
FROM memory_fts {_JOINS} WHERE memory_fts MATCH :expression AND {_IN_SCOPE}
ORDER BY bm25(memory_fts, 1.0, 0.6, 0.6) LIMIT :limit
"""


def ranked(
    connection: sqlite3.Connection, query: str, scope: Scope, limit: int, tuning: Tuning = Tuning()
) -> Ranked:
    """The rows that fit a query best."""
    asked = terms.terms(query)
    wanted, counts, repaired = vocabulary.known(connection, asked, scope.workspace)
    words = tuple(term.word for term in asked if term.weight == 1)
    if not wanted:
        return Ranked([], words, repaired)
    rows = _pool(connection, wanted, counts, scope)
    again = _again(connection, rows, wanted, counts, scope, tuning)
    return Ranked(again[:limit], words, repaired)


def _pool(
    connection: sqlite3.Connection, wanted: Sequence[Term], counts: Sequence[int], scope: Scope
) -> list[_Row]:
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
    return [_Row(*row) for row in connection.execute(_POOL, values)]


_AROUND = """
SELECT 2 * near.n, near.conversation, near.position, conversation.folder, near.at FROM exchange AS own
JOIN exchange AS near ON near.conversation = own.conversation
AND near.position BETWEEN own.position - ? AND own.position + ?
JOIN conversation ON conversation.n = near.conversation WHERE own.n IN ({marks})
"""


def _again(
    connection: sqlite3.Connection,
    pool: Sequence[_Row],
    wanted: Sequence[Term],
    counts: Sequence[int],
    scope: Scope,
    tuning: Tuning,
) -> list[Scored]:
    if not pool:
        return []
    reach = len(tuning.near)
    own = [one.row // 2 for one in pool if one.conversation is not None]
    rows = {one.row: one for one in pool}
    for found in connection.execute(_AROUND.format(marks=",".join("?" * len(own))), (reach, reach, *own)):
        if scope.since is None or (found[4] or 0) >= scope.since:
            rows.setdefault(found[0], _Row(*found))
    marks = ",".join("?" * len(rows))
    texts = {
        row: columns
        for row, *columns in connection.execute(
            f"SELECT rowid, substr(own, 1, {LONGEST}), title, paths FROM memory_fts WHERE rowid IN ({marks})",
            list(rows),
        )
    }
    (total,) = connection.execute("SELECT count(*) FROM memory_fts_docsize").fetchone()
    weights = [
        term.weight * math.log(1 + (total - count + 0.5) / (count + 0.5))
        for term, count in zip(wanted, counts, strict=True)
    ]
    needles = [[_needle(form) for form in term.forms] for term in wanted]
    lengths = {row: text[0].count(" ") for row, text in texts.items()}
    average = sum(lengths.values()) / len(lengths) or 1.0
    said = {}
    for row, (text, title, paths) in texts.items():
        norm = 1 - tuning.b + tuning.b * lengths[row] / average
        said[row] = (
            [sum(map(text.count, some)) / norm for some in needles],
            [
                tuning.title * min(1, sum(map(title.count, some))) + tuning.paths * min(1, sum(map(paths.count, some)))
                for some in needles
            ],
        )
    places = {(one.conversation, one.position): row for row, one in rows.items() if one.conversation is not None}
    scored = []
    for row, one in rows.items():
        hits = [a + b for a, b in zip(*said[row], strict=True)]
        here = list(hits)
        if one.position is not None:
            for away, weight in enumerate(tuning.near, 1):
                for place in (one.position - away, one.position + away):
                    other = places.get((one.conversation, place))
                    if other is not None:
                        for n, f in enumerate(said[other][0]):
                            hits[n] += weight * f
        score = sum(w * f * (tuning.k1 + 1) / (f + tuning.k1) for w, f in zip(weights, hits, strict=True) if f)
        if score <= 0: continue
        if tuning.coverage:
            full = sum(weights)
            score *= 1 + tuning.coverage * sum(w for w, f in zip(weights, here, strict=True) if f) / full
        factor = 1.0
        if scope.folder is not None and one.folder is not None and _is_near(scope.folder, one.folder):
            factor += tuning.folder
        if one.at is not None and scope.now > one.at:
            factor += tuning.recent * 0.5 ** ((scope.now - one.at) / (30 * 86_400_000))
        scored.append((one, score * factor))
    scored.sort(key=lambda pair: (-pair[1], -(pair[0].at or 0), -pair[0].row))
    return [Scored(one.row, score) for one, score in scored]


def _needle(form: tuple[str, ...]) -> str:
    return f" {form[0][:-1]}" if form[0].endswith("*") else f" {' '.join(form)} "


def _is_near(one: str, other: str) -> bool:
    """Whether one folder is the other, or lies above or below it."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def best_mended(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> Sequence[int]:
    return []
