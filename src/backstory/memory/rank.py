"""Ranking: which texts of a workspace fit a query best, by words alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from msgspec import Struct

from . import score, terms, vocabulary
from .own import NOT, Own
from .score import Text, Tuning
from .terms import Term

POOL = 80
"""Rows that the index gives, to be ranked again together with their neighbours.

Where more fit, the index chooses, whose own measure knows nothing of workspaces.
"""
FIRST = 1_000
"""Of these the ones in scope are taken first; only where they do not fill the pool all matches are looked at."""
FAILED = 20
"""Exchanges that come to them because a failure that was mended there has words of the query."""
BUDGET = 4_000
"""Matches that the index ranks; what is too common for that counts in the second ranking only."""
MOST = 32
"""Words of a long query that are scored: the rarest."""
LONGEST = 30_000
"""Characters of a text that the second ranking looks at."""


TUNING = Tuning()


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


_JOINS = """
LEFT JOIN exchange ON found.row % 2 = 0 AND exchange.n = found.row / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON found.row % 2 = 1 AND fact.n = found.row / 2
"""
_POOL = f"""
SELECT found.row FROM (
    SELECT rowid AS row, bm25(memory_fts, 1.0, 0.6, 0.6) AS fit FROM memory_fts
    WHERE memory_fts MATCH :expression AND rowid > :after
    AND (:marks IS NULL OR substr(:marks, rowid + 1, 1) <> :not) ORDER BY fit LIMIT :ranked
) AS found {_JOINS}
WHERE coalesce(conversation.workspace, fact.workspace) = :workspace
AND (:project IS NULL OR coalesce(conversation.project, fact.project) = :project COLLATE NOCASE)
AND (:since IS NULL OR coalesce(exchange.at, fact.at) >= :since)
ORDER BY found.fit LIMIT :limit
"""
_FAILED = """
SELECT 2 * exchange.n FROM (
    SELECT rowid AS n, rank FROM mended_fts WHERE mended_fts MATCH :expression
) AS found JOIN mended ON mended.n = found.n
JOIN conversation ON conversation.n = mended.conversation
JOIN exchange ON exchange.conversation = mended.conversation AND exchange.position = mended.position
WHERE conversation.workspace = :workspace
AND (:project IS NULL OR conversation.project = :project COLLATE NOCASE)
AND (:since IS NULL OR exchange.at >= :since)
ORDER BY found.rank LIMIT :limit
"""
_AROUND = """
SELECT DISTINCT near.n FROM exchange AS own JOIN exchange AS near ON near.conversation = own.conversation
AND near.position BETWEEN own.position - {reach} AND own.position + {reach}
WHERE own.n IN (SELECT value FROM json_each(?)) AND (? IS NULL OR near.at >= ?)
"""
_TEXTS = f"""
SELECT found.row, exchange.conversation, exchange.position, coalesce(conversation.folder, fact.folder),
       coalesce(exchange.at, fact.at), found.own, found.title, found.paths, coalesce((
           SELECT ' ' || group_concat(error || ' ' || command || ' ' || paths || ' ' || ran, ' ') || ' '
           FROM mended_fts WHERE rowid IN (
               SELECT n FROM mended WHERE mended.conversation = exchange.conversation
               AND mended.position = exchange.position)), '')
FROM (
    SELECT rowid AS row, substr(own, 1, {LONGEST}) AS own, title, paths FROM memory_fts
    WHERE rowid IN (SELECT value FROM json_each(?))
) AS found {_JOINS}
"""


def ranked(
    connection: sqlite3.Connection, query: str, scope: Scope, limit: int, tuning: Tuning = TUNING
) -> Ranked:
    """The rows that fit a query best: first by the index alone, then the best of them by all signs."""
    asked = terms.terms(query)
    wanted, counts, repaired = vocabulary.known(connection, asked, scope.workspace)
    own = Own(connection, scope.workspace)
    if own.marks is not None:
        counted = [
            (
                term,
                own.about(_any([term]), count)
                or vocabulary.failed_with(connection, term.forms, scope.workspace),
            )
            for term, count in zip(wanted, counts, strict=True)
        ]
        wanted, counts = [term for term, count in counted if count], [count for _, count in counted if count]
    words = tuple(repaired.get(term.word, term.word) for term in asked if term.weight == 1)
    if not wanted:
        return Ranked([], words, repaired)
    if len(wanted) > MOST:
        rarest = sorted(range(len(wanted)), key=lambda n: counts[n])[:MOST]
        wanted, counts = [wanted[n] for n in rarest], [counts[n] for n in rarest]
    pool = dict.fromkeys([*_pool(own, wanted, counts, scope), *_failed(connection, wanted, scope)])
    texts = _texts(connection, list(pool), scope, len(tuning.near))
    found = score.scores(
        texts,
        wanted,
        score.weights(wanted, counts, own.total),
        folder=scope.folder,
        now=scope.now,
        tuning=tuning,
    )
    best = sorted(found, key=lambda row: (-found[row], -(texts[row].at or 0), -row))
    return Ranked([Scored(row, found[row]) for row in best[:limit]], words, repaired)


def _pool(own: Own, wanted: Sequence[Term], counts: Sequence[int], scope: Scope) -> list[int]:
    """Rows of a scope that have the rarest words of a query, in the index's own order."""
    rest = sorted(zip(counts, wanted, strict=True), key=lambda pair: pair[0])
    found: dict[int, None] = {}
    while rest and len(found) < POOL:
        expression, after, used = _narrow(own, rest)
        matches = sum(count for count, _ in rest[:used])
        some = _fitting(own, expression, after, FIRST, scope)
        if len(some) < POOL and matches > FIRST:
            some = _fitting(own, expression, after, -1, scope)
        found.update(dict.fromkeys(some))
        rest = rest[used:]
    if not found:
        # All words are common, and the scope has none of the newest rows that have them.
        found.update(dict.fromkeys(_fitting(own, _any(wanted), 0, -1, scope)))
    return list(found)[:POOL]


def _failed(connection: sqlite3.Connection, wanted: Sequence[Term], scope: Scope) -> list[int]:
    """Rows of exchanges in which a failure with words of a query was mended, those that fit best first."""
    values = {
        "expression": _any(wanted),
        "workspace": scope.workspace,
        "project": scope.project,
        "since": scope.since,
        "limit": FAILED,
    }
    return [row for (row,) in connection.execute(_FAILED, values)]


def _fitting(own: Own, expression: str, after: int, ranked: int, scope: Scope) -> list[int]:
    values = {
        "expression": expression,
        "after": after,
        "marks": own.marks,
        "not": NOT,
        "ranked": ranked,
        "workspace": scope.workspace,
        "project": scope.project,
        "since": scope.since,
        "limit": POOL,
    }
    return [row for (row,) in own.connection.execute(_POOL, values)]


def _narrow(own: Own, rest: Sequence[tuple[int, Term]]) -> tuple[str, int, int]:
    """What finds no more rows than are quickly ranked, the row after which it does, and how many terms it has used.

    Any of the rarest terms, as many as there is room for; of common ones as many as possible together.
    """
    total = used = 0
    for count, _ in rest:
        total += count
        if total > BUDGET:
            break
        used += 1
    if used:
        return _any(term for _, term in rest[:used]), 0, used
    together = f"({_any([rest[0][1]])})"
    for _, term in rest[1:]:
        narrower = f"{together} AND ({_any([term])})"
        count = own.count(narrower)
        if count >= POOL:
            together = narrower
        if POOL <= count <= BUDGET:
            return together, 0, len(rest)
    after = own.connection.execute(
        "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?1 AND (?2 IS NULL OR substr(?2, rowid + 1, 1) <> ?3)"
        " ORDER BY rowid DESC LIMIT 1 OFFSET ?4",
        (together, own.marks, NOT, BUDGET),
    ).fetchone()
    return together, after[0] if after else 0, len(rest)


def _any(some: Iterable[Term]) -> str:
    """What finds any of some terms."""
    return " OR ".join(dict.fromkeys(terms.expression(form) for term in some for form in term.forms))


def _texts(connection: sqlite3.Connection, pool: Sequence[int], scope: Scope, reach: int) -> dict[int, Text]:
    """The texts of a pool and of the exchanges beside them."""
    own = [row // 2 for row in pool if row % 2 == 0]
    around = connection.execute(_AROUND.format(reach=reach), (json.dumps(own), scope.since, scope.since))
    rows = list(dict.fromkeys([*pool, *(2 * n for (n,) in around)]))
    return {row[0]: Text(*row) for row in connection.execute(_TEXTS, (json.dumps(rows),))}
