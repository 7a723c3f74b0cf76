"""Which mended failures a query repeats: the same error, in other folders, at other lines, at another time."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Sequence

from msgspec import Struct

from . import terms, volatile
from .folders import is_near
from .rank import Scope

SHARE = 0.6
"""Of what a query says, weighed by how rare it is, this much must stand in the error."""
WORDS = 3
"""Words that a query and an error must share besides the common ones; two will do where one of them is a name."""
WHOLE = 6
"""Words of a query that is enough where it stands in an error as it is, though but one of them tells anything."""
LINE = 3
"""Words of a line that is enough by itself where a query and an error share it."""
CANDIDATES = 60
ASKED = 60
"""Words of a query that are looked at: those of its last lines, where it has more."""

_COMMON = """
abort aborted above args argument arguments assert assertion assertionerror build bundle call called cannot check
cmd code command compile compiled complete connect connection could crash debug details devdependencies err
errno error errors exception exec execute exit exited expected fail failed failing failure fatal file files
finished found function http https info install invalid issue job js json last line lines log logs main make
message missing mod module name near node none npm null number object ok output package pass passed path
pip pnpm problem process project pytest python raise read recent received request response result return
returned run running script src stack start started status step stderr stdout stop string summary task test
tests throw total traceback true false ts type undefined unexpected unknown usage use used value version
warn warning write wrong yarn py
"""
COMMON = frozenset(map(terms.stemmed, (*_COMMON.split(), *terms.STOPWORDS)))
"""Words that stand in errors of every kind or anywhere, as the index has them."""

_name = re.compile(r"\b\w*(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|_\w|[A-Z]{4})\w*")

_CANDIDATES = """
SELECT mended.n, mended_fts.error, mended.step_id, mended.command, mended.error, conversation.folder,
       session.started_at, session.id, mended.at
FROM mended_fts JOIN mended ON mended.n = mended_fts.rowid
JOIN conversation ON conversation.n = mended.conversation JOIN session ON session.n = conversation.session
WHERE mended_fts MATCH :expression AND conversation.workspace = :workspace
AND (:project IS NULL OR conversation.project = :project COLLATE NOCASE)
AND (:since IS NULL OR mended.at >= :since)
ORDER BY bm25(mended_fts, 1.0, 0, 0, 0) LIMIT :limit
"""
# CROSS JOIN keeps the planner from beginning with all conversations of the workspace.
_OWN = "CROSS JOIN conversation ON conversation.n = mended.conversation WHERE conversation.workspace = ?"


class _Asked(Struct, frozen=True):
    """What a query says of an error: its words with what each weighs, names among them, and its lines as tokens.

    `common` says that its words stand in errors of every kind, so that only the whole of it can tell one: `whole`,
    which is empty where it says only at which place in the code it went wrong.
    """

    common: bool
    whole: str
    weights: dict[str, float]
    names: frozenset[str]
    lines: list[str]


class _Candidate(Struct, frozen=True):
    n: int
    tokens: str
    step_id: str
    command: str
    error: str
    folder: str | None
    started_at: int | None
    session_id: str
    at: int | None


def repeated(connection: sqlite3.Connection, query: str, scope: Scope, limit: int) -> list[int]:
    """Numbers of mended failures whose error a query repeats: those of the project at hand first, then the best.

    Copies in forks count once, for the session that began first.
    """
    query = terms.ends(query)
    asked = _asked(connection, query, scope.workspace)
    if not asked.weights:
        return []
    values = {
        "expression": " OR ".join(f'error: "{word}"' for word in asked.weights),
        "workspace": scope.workspace,
        "project": scope.project,
        "since": scope.since,
        "limit": CANDIDATES,
    }
    fitting: dict[tuple[str, str, str], tuple[float, _Candidate]] = {}
    for row in connection.execute(_CANDIDATES, values):
        one = _Candidate(*row)
        fit = _fit(asked, one)
        key = (one.step_id, one.command, one.error)
        if fit > 0 and (key not in fitting or _began(one) < _began(fitting[key][1])):
            fitting[key] = fit, one

    told = [" ".join(line.split()) for line in volatile.told(query)]

    def order(pair: tuple[float, _Candidate]) -> tuple[bool, float, int, int, int]:
        fit, one = pair
        elsewhere = not (scope.folder and one.folder and is_near(scope.folder, one.folder))
        return elsewhere, -fit, -_literally(told, one.error), -(one.at or 0), one.n

    return [one.n for _, one in sorted(fitting.values(), key=order)[:limit]]


def _literally(told: Sequence[str], error: str) -> int:
    """How many lines of a query stand in an error as they are, their numbers and folders too."""
    whole = " ".join(error.split())
    return sum(line in whole for line in told)


def names(line: str) -> list[str]:
    """What looks like a name in code: of several cases, with digits or underscores, or in capitals."""
    found: list[str] = _name.findall(line)
    return found


def _began(one: _Candidate) -> tuple[float, str]:
    return (math.inf if one.started_at is None else one.started_at, one.session_id)


def _asked(connection: sqlite3.Connection, query: str, workspace: int) -> _Asked:
    wrong = volatile.lines(query)
    said = wrong or [volatile.steady(query)]
    lines = [terms.expanded(line) for line in said]
    named = {token for line in said for name in names(line) for token in terms.expanded(name).split()[:1]}
    telling = [word for line in lines for word in _telling(line)]
    every = [word for line in lines for word in line.split()]
    last = [word for line in reversed(lines) for word in _telling(line)]
    common = len(set(telling)) < WORDS - 1 and not named
    words = list(dict.fromkeys(every if telling and common else last))[:ASKED]
    (total,) = connection.execute(f"SELECT count(*) FROM mended {_OWN}", (workspace,)).fetchone()
    weights = {}
    for word in words:
        (count,) = connection.execute(
            "SELECT count(*) FROM mended_fts CROSS JOIN mended ON mended.n = mended_fts.rowid"
            f" {_OWN} AND mended_fts MATCH ?",
            (workspace, f'error: "{word}"'),
        ).fetchone()
        weights[word] = math.log(1 + (total + 1) / (count + 0.5))
    known = any(count for count in weights.values())
    whole = " ".join(lines) if wrong else ""
    return _Asked(common, whole, weights if known else {}, frozenset(named), lines)


def _telling(line: str) -> Iterable[str]:
    """The words of a line that do not stand in errors of every kind."""
    for word in line.split():
        if len(word) > 1 and not word.isdecimal() and word not in COMMON:
            yield word


def _fit(asked: _Asked, one: _Candidate) -> float:
    """How well an error is what the query repeats, from 0 (it is not) to 2."""
    if len(asked.whole.split()) >= WHOLE and f" {asked.whole} " in f" {one.tokens} ":
        return 2.0
    if asked.common:
        return 0.0
    has = set(one.tokens.split())
    shared = {word for word in asked.weights if word in has}
    share = sum(asked.weights[word] for word in shared) / sum(asked.weights.values())
    whole = _has_line(asked, one)
    enough = len(shared) >= WORDS or (
        len(shared) >= min(WORDS - 1, len(asked.weights)) and shared & asked.names
    )
    if not whole and not (enough and share >= SHARE):
        return 0.0
    return share + whole


def _has_line(asked: _Asked, one: _Candidate) -> bool:
    """Whether a line that tells something stands in both."""
    query = f" {' '.join(asked.lines)} "
    theirs = [terms.expanded(line) for line in volatile.lines(one.error)]
    error = f" {' '.join(theirs)} "
    return any(_is_telling(line) and f" {line} " in query for line in theirs) or any(
        _is_telling(line) and f" {line} " in error for line in asked.lines
    )


def _is_telling(line: str) -> bool:
    return len(set(_telling(line))) >= LINE
