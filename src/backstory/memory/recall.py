"""Recall: the passages of past conversations that fit a query, with where they are from and what they cost."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..store import read, turns
from ..store.results import Cost
from . import failures, rank
from .learn import source_key
from .mended import Mended
from .rank import Scope

PER_SESSION = 3
"""Passages of one session among the results."""
DEEPER = 6
"""Ranked texts that are looked at for each passage: copies and further ones of a session are passed over."""
MENDED = 2
"""Mended failures at the head of the results."""
_changes = msgspec.json.Decoder(tuple[tuple[str, int, int], ...])
_ran = msgspec.json.Decoder(tuple[str, ...])


class Passage(Struct, frozen=True):
    """A passage of the memory; its texts are masked.

    `kind` is `exchange`, `fact`, or `mended`: an exchange that is here because the query repeats the error of a
    failure that was mended in it. `source` is `conversation/<session id>` or `fact/<number>`. A fact has its text in
    `answered`, and no session, position or cost. `failure` is set wherever the record knows of one in the exchange.
    `cost` is that of the prompt, `session_cost` that of the whole conversation. `gone` says that the agent's own files
    are no longer there.
    """

    kind: Literal["exchange", "fact", "mended"]
    id: str
    source: str
    at: int | None
    project: str | None
    asked: str | None
    answered: str
    session_id: str | None = None
    short_id: str | None = None
    title: str | None = None
    position: int | None = None
    step_id: str | None = None
    message_id: str | None = None
    paths: tuple[str, ...] = ()
    score: float = 0.0
    cost: Cost | None = None
    session_cost: Cost | None = None
    failure: Mended | None = None
    gone: bool = False


class Recall(Struct, frozen=True):
    """The answer to a query: `conversations` counts those that were searched.

    `words` are those that were looked for; `repaired` has the typed ones that stand nowhere in the workspace, each with
    what was taken instead: a word that is spelt nearly so, or two words.
    """

    query: str
    workspace: str
    conversations: int
    facts: int
    results: tuple[Passage, ...]
    words: tuple[str, ...]
    repaired: dict[str, str] = {}


_EXCHANGE = (
    "SELECT exchange.n, session.id, exchange.position, exchange.message_id, exchange.step_id, exchange.key,"
    " exchange.at, exchange.asked, exchange.answered, exchange.paths, conversation.n AS conversation,"
    " conversation.project,"
    " conversation.title, session.n AS session, session.gone_at FROM exchange"
    " JOIN conversation ON conversation.n = exchange.conversation JOIN session ON session.n = conversation.session"
)
# CROSS JOIN keeps the planner from beginning with the whole workspace.
_COPIES = """
SELECT own.n, session.started_at, session.id, copy.n FROM exchange AS own
CROSS JOIN exchange AS copy ON copy.key = own.key
CROSS JOIN conversation ON conversation.n = copy.conversation AND conversation.workspace = :workspace
CROSS JOIN session ON session.n = conversation.session
WHERE own.n IN (SELECT value FROM json_each(:own))
AND (:project IS NULL OR conversation.project = :project COLLATE NOCASE)
AND (:since IS NULL OR copy.at >= :since)
"""
_MENDED = "position, mended_position, step_id, mended_by, at, after, command, error, changed, ran, diff"


def recall(connection: sqlite3.Connection, query: str, workspace: str, scope: Scope, limit: int) -> Recall:
    """The passages that fit a query best, best first; what mended the very error that was asked for comes first.

    An exchange and its copies show once, for the session that began first, and a session shows `PER_SESSION` times.
    """
    ranked = rank.ranked(connection, query, scope, (limit + 1) * DEEPER)
    top = ranked.found[0].score if ranked.found else 1.0
    found: list[Passage] = []
    seen: set[str] = set()
    sessions = Sessions(connection)
    for place, n in enumerate(failures.repeated(connection, query, scope, min(MENDED, limit))):
        passage = _of_mended(connection, n, sessions)
        if passage is not None and passage.id not in seen:
            seen.add(passage.id)
            found.append(replace(passage, score=top * (1 + 1 / (place + 1))))
    firsts = _firsts(connection, scope, [one.row for one in ranked.found])
    per_session = Counter(passage.session_id for passage in found)
    for one in ranked.found:
        if len(found) >= limit:
            break
        passage = _of_row(connection, firsts[one.row], sessions)
        if passage is None or passage.id in seen:
            continue
        if passage.session_id is not None and per_session[passage.session_id] >= PER_SESSION:
            continue
        seen.add(passage.id)
        per_session[passage.session_id] += 1
        found.append(replace(passage, score=one.score))
    conversations, facts = counts(connection, scope.workspace)
    return Recall(query, workspace, conversations, facts, tuple(found), ranked.words, ranked.repaired)


def _firsts(connection: sqlite3.Connection, scope: Scope, rows: Sequence[int]) -> dict[int, int]:
    """For each index row the one that stands for it: of copies of an exchange in scope that of the session that began
    first.
    """
    firsts = {row: row for row in rows}
    values = {
        "own": json.dumps([row // 2 for row in rows if row % 2 == 0]),
        "workspace": scope.workspace,
        "project": scope.project,
        "since": scope.since,
    }
    copied = defaultdict(list)
    for n, *copy in connection.execute(_COPIES, values):
        copied[n].append(copy)
    for n, copies in copied.items():
        firsts[2 * n] = 2 * min(copies, key=lambda copy: (copy[0] is None, copy[0], copy[1]))[2]
    return firsts


def counts(connection: sqlite3.Connection, workspace: int) -> tuple[int, int]:
    """How many conversations and facts a workspace holds."""
    (conversations,) = connection.execute(
        "SELECT count(*) FROM conversation WHERE workspace = ?", (workspace,)
    ).fetchone()
    (facts,) = connection.execute("SELECT count(*) FROM fact WHERE workspace = ?", (workspace,)).fetchone()
    return int(conversations), int(facts)


def _of_row(connection: sqlite3.Connection, row: int, sessions: Sessions) -> Passage | None:
    """What an index row stands for."""
    n, is_fact = divmod(row, 2)
    if is_fact:
        return fact(connection, n)
    own = exchanges(connection, "exchange.n = ?", n, sessions=sessions)
    return next((passage for passage, _ in own), None)


def fact(connection: sqlite3.Connection, n: int) -> Passage | None:
    """A fact by its number."""
    found = connection.execute("SELECT text, project, at FROM fact WHERE n = ?", (n,)).fetchone()
    if found is None:
        return None
    return Passage("fact", f"f{n}", f"fact/{n}", found[2], found[1], None, found[0])


class Sessions:
    """What passages show of their sessions: read once each, however many exchanges of them there are."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._known: dict[int, tuple[str, Cost, dict[str, Cost]]] = {}

    def of(self, session: int, session_id: str) -> tuple[str, Cost, dict[str, Cost]]:
        """The short id, the cost of the whole, and that of each prompt by its message id."""
        if session not in self._known:
            self._known[session] = (
                read.short_form(self.connection, session_id),
                read.session_cost(self.connection, session),
                turns.costs(self.connection, session),
            )
        return self._known[session]


def exchanges(
    connection: sqlite3.Connection, condition: str, *values: object, sessions: Sessions | None = None
) -> Iterator[tuple[Passage, int]]:
    """Exchanges of the memory as passages, each with the key that its copies share; `condition` is SQL.

    `sessions` is what was read of theirs already.
    """
    sessions = sessions or Sessions(connection)
    for row in connection.execute(f"{_EXCHANGE} WHERE {condition}", values).fetchall():
        n, session_id, position, message_id, step_id, key, at, asked, answered, paths = row[:10]
        conversation, project, title, session, gone_at = row[10:]
        short_id, session_cost, costs = sessions.of(session, session_id)
        yield (
            Passage(
                kind="exchange",
                id=f"e{n}",
                source=source_key(session_id),
                at=at,
                project=project,
                asked=asked,
                answered=answered,
                session_id=session_id,
                short_id=short_id,
                title=title,
                position=position,
                step_id=step_id,
                message_id=message_id,
                paths=tuple(filter(None, paths.split("\n"))),
                cost=costs.get(message_id, Cost()),
                session_cost=session_cost,
                failure=_failure(
                    connection, "conversation = ? AND position = ? ORDER BY n DESC", conversation, position
                ),
                gone=gone_at is not None,
            ),
            key,
        )


def numbered(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[tuple[Passage, int]]:
    """Exchanges by their numbers, in no order."""
    within = "exchange.n IN (SELECT value FROM json_each(?))"
    return exchanges(connection, within, json.dumps(list(numbers)))


def _failure(connection: sqlite3.Connection, condition: str, *values: object) -> Mended | None:
    found = connection.execute(f"SELECT {_MENDED} FROM mended WHERE {condition} LIMIT 1", values).fetchone()
    if found is None:
        return None
    position, mended_position, step_id, mended_by, at, after, command, error, changed, ran, diff = found
    return Mended(
        position,
        mended_position,
        step_id,
        mended_by,
        at,
        after,
        command,
        error,
        _changes.decode(changed),
        _ran.decode(ran),
        diff,
    )


def _of_mended(connection: sqlite3.Connection, n: int, sessions: Sessions) -> Passage | None:
    """The exchange in which a failure was mended, with that failure."""
    failure = _failure(connection, "n = ?", n)
    assert failure is not None
    found = next(
        iter(
            exchanges(
                connection,
                "exchange.n = (SELECT e.n FROM mended JOIN exchange AS e ON e.conversation = mended.conversation"
                " AND e.position <= coalesce(mended.position, 1) WHERE mended.n = ? ORDER BY e.position DESC LIMIT 1)",
                n,
                sessions=sessions,
            )
        ),
        None,
    )
    return replace(found[0], kind="mended", failure=failure) if found is not None else None
