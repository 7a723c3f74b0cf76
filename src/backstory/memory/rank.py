"""Ranking: which texts of a workspace fit a query best, by words alone."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from . import terms, vocabulary
from .stem import stem
from .terms import Term

WEIGHTS = (1.0, 0.4, 0.6, 0.6)
"""Of a text's own words, its neighbours', its title and its paths."""
POOL = 200
"""Rows that are ranked again after the index has ranked all."""


class Tuning(Struct, frozen=True):
    """How much each sign counts beside the words themselves."""

    coverage: float = 0.6
    pair: bool = True
    session: float = 0.1
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
    score: float
    conversation: int | None
    folder: str | None
    at: int | None


_ROWS = """
SELECT memory_fts.rowid, -bm25(memory_fts, {weights}) AS score, exchange.conversation,
       coalesce(conversation.folder, fact.folder), coalesce(exchange.at, fact.at)
FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts MATCH ? AND coalesce(conversation.workspace, fact.workspace) = ?
AND (? IS NULL OR coalesce(conversation.project, fact.project) = ? COLLATE NOCASE)
AND (? IS NULL OR coalesce(exchange.at, fact.at) >= ?)
ORDER BY score DESC LIMIT ?
"""


def ranked(connection: sqlite3.Connection, query: str, scope: Scope, limit: int, tuning: Tuning = Tuning()) -> Ranked:
    """The rows that fit a query best."""
    asked = terms.terms(query)
    if not asked:
        return Ranked([], (), {})
    wanted, repaired = vocabulary.repaired(connection, asked, scope.workspace)
    pool = _pool(connection, wanted, scope, tuning, max(limit, POOL))
    again = _again(connection, pool, wanted, scope, tuning)
    words = tuple(term.word for term in wanted if term.weight == 1)
    return Ranked(again[:limit], words, repaired)


def _pool(connection: sqlite3.Connection, wanted: Sequence[Term], scope: Scope, tuning: Tuning, limit: int) -> list[_Row]:
    phrases = dict.fromkeys(terms.expression(form) for term in wanted for form in term.forms)
    if tuning.pair:
        said = [term.forms[0] for term in wanted if term.weight == 1]
        phrases.update(
            dict.fromkeys(
                terms.expression((*one, *two))
                for one, two in zip(said, said[1:], strict=False)
                if not (one[0].endswith("*") or two[0].endswith("*"))
            )
        )
    sql = _ROWS.format(weights=", ".join(map(str, WEIGHTS)))
    values = (" OR ".join(phrases), scope.workspace, scope.project, scope.project, scope.since, scope.since, limit)
    return [_Row(*row) for row in connection.execute(sql, values)]


def _again(
    connection: sqlite3.Connection, pool: Sequence[_Row], wanted: Sequence[Term], scope: Scope, tuning: Tuning
) -> list[Scored]:
    if not pool:
        return []
    marks = ",".join("?" * len(pool))
    texts = {
        row: (terms.folded(f"{own}\n{title}\n{paths}"), terms.folded(near))
        for row, own, near, title, paths in connection.execute(
            f"SELECT rowid, own, near, title, paths FROM memory_fts WHERE rowid IN ({marks})", [one.row for one in pool]
        )
    }
    prefixes = [[_prefix(form) for form in term.forms] for term in wanted]
    has = {row: [_has(own, p) or 0.4*_has(near, p) for p in prefixes] for row, (own, near) in texts.items()}
    weights = []
    for place, term in enumerate(wanted):
        count = sum(1 for hits in has.values() if hits[place])
        weights.append(term.weight * math.log(1 + (len(pool) - count + 0.5) / (count + 0.5)) if count else 0)
    total = sum(weights) or 1.0
    scored = []
    for one in pool:
        covered = sum(w * h for w, h in zip(weights, has[one.row], strict=True)) / total
        factor = 1 + tuning.coverage * covered
        if scope.folder is not None and one.folder is not None and _is_near(scope.folder, one.folder):
            factor += tuning.folder
        if one.at is not None and scope.now > one.at:
            factor += tuning.recent * 0.5 ** ((scope.now - one.at) / (30 * 86_400_000))
        scored.append((one, one.score * factor))
    if tuning.session:
        by: dict[int, list[float]] = {}
        for one, score in scored:
            if one.conversation is not None:
                by.setdefault(one.conversation, []).append(score)
        lifted = []
        for one, score in scored:
            if one.conversation is not None:
                others = sorted(by[one.conversation], reverse=True)
                if others[0] == score:
                    score += tuning.session * sum(others[1:3])
            lifted.append((one, score))
        scored = lifted
    scored.sort(key=lambda pair: (-pair[1], -(pair[0].at or 0), -pair[0].row))
    return [Scored(one.row, score) for one, score in scored]


def _prefix(form: tuple[str, ...]) -> str:
    """The letters with which every form of a word begins that the index takes for this one."""
    if len(form) > 1:
        return " ".join(form)
    return stem(form[0]).rstrip("i") if form[0].isascii() else form[0].rstrip("*")


def _has(text: str, prefixes: Sequence[str]) -> bool:
    for prefix in prefixes:
        place = text.find(prefix)
        while place >= 0:
            if place == 0 or not text[place - 1].isalnum() or not prefix.isascii():
                return True
            place = text.find(prefix, place + 1)
    return False


def _is_near(one: str, other: str) -> bool:
    """Whether one folder is the other, or lies above or below it."""
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def best_mended(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> Sequence[int]:
    return []
