"""The costliest sessions, prompts and calls, and what they were about."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from heapq import nsmallest

from msgspec import Struct

from ..store.derived import short_id
from .report import Figures, Filter, Grouping, Place, Row, Spawning, fold, places, report, spawning_turns
from .why import Why, why


class Prompt(Struct, frozen=True):
    """A prompt and what it cost, children included. `number` is its place in the session, null where it has left it.

    `step` is the id of its first step, `at` when it was asked, `why` what makes it stand out.
    """

    place: Place
    turn: str | None
    number: int | None
    text: str
    figures: Figures
    step: str | None = None
    at: int | None = None
    why: Why = Why()


class Asked(Struct, frozen=True):
    """A step whose result the model was sent: its type, its kind and its first words."""

    type: str
    kind: str | None
    subject: str


class Costly(Struct, frozen=True):
    """One call: whose it is, its counts, its money by kind, and the steps before it."""

    place: Place
    number: int | None
    after: tuple[Asked, ...]
    key: str
    at: int | None
    name: str | None
    kind: str | None
    amount: int | None
    fresh: int
    cache_read: int
    cache_write: int
    output: int


class Top(Struct, frozen=True):
    """The costliest of each."""

    sessions: list[Row]
    prompts: list[Prompt]
    calls: list[Costly]


def top(connection: sqlite3.Connection, which: Filter, limit: int) -> Top:
    """The costliest first: what was reported or estimated, then what was covered, then by tokens."""
    sessions = report(connection, "session", which).rows[:limit]
    return Top(sessions, _prompts(connection, which, limit), _calls(connection, which, limit))


def short_ids(connection: sqlite3.Connection) -> dict[str, str]:
    """The short id of every session; the whole id where two have the same."""
    found: dict[str, list[str]] = {}
    for (own,) in connection.execute("SELECT id FROM session"):
        found.setdefault(short_id(own), []).append(own)
    return {own: short if len(owns) == 1 else own for short, owns in found.items() for own in owns}


def prompt_grouping(spawning: Spawning) -> Grouping:
    """Groups calls by the prompt that they served: its file and its id."""
    return ("call.turn",), lambda file, values, _: spawning.get(file) or (file, values[0])


def _prompts(connection: sqlite3.Connection, which: Filter, limit: int) -> list[Prompt]:
    files, spawning = places(connection), spawning_turns(connection)
    _, (groups,) = fold(connection, which, [prompt_grouping(spawning)], files)
    return costliest_prompts(connection, groups, files, spawning, limit)


def costliest_prompts(
    connection: sqlite3.Connection,
    groups: Mapping[tuple[int, str | None], Figures],
    files: Mapping[int, Place],
    spawning: Spawning,
    limit: int,
) -> list[Prompt]:
    """The costliest of the prompts in sums that were folded by `prompt_grouping`."""
    known = [(file, turn, figures) for (file, turn), figures in groups.items() if turn is not None]
    found = []
    for file, turn, figures in nsmallest(limit, known, key=lambda item: (item[2].rank, item[:2])):
        row = connection.execute(
            "SELECT step.subject, step.id, turn.at FROM turn LEFT JOIN step ON step.file = turn.file"
            " AND step.msg >= turn.msg AND step.turn = turn.n AND step.kind = 'user'"
            " WHERE turn.file = ? AND turn.id = ? ORDER BY step.msg, step.sub LIMIT 1",
            (file, turn),
        ).fetchone()
        text, step, at = row or (None, None, None)
        children = [child for child, place in spawning.items() if place == (file, turn)]
        number = _number(connection, file, turn)
        stands_out = why(connection, file, turn, children)
        found.append(Prompt(files[file], turn, number, text or "", figures, step, at, stands_out))
    return found


def _number(connection: sqlite3.Connection, file: int, turn: str | None) -> int | None:
    """The place of a turn among those of its conversation, from 1."""
    turns = connection.execute("SELECT id FROM turn WHERE file = ? AND NOT superseded ORDER BY msg", (file,))
    return next((number for number, (own,) in enumerate(turns, 1) if own == turn), None)


def _calls(connection: sqlite3.Connection, which: Filter, limit: int) -> list[Costly]:
    files, spawning = places(connection), spawning_turns(connection)
    where, values = which.where()
    sql = (
        "SELECT file, turn, msg, key, at, name, kind, amount, fresh, cache_read, cache_write, output FROM call"
        f" WHERE {where} ORDER BY kind IN ('reported', 'estimated') DESC, coalesce(amount, -1) DESC,"
        " fresh + cache_read + cache_write + output DESC, n"
    )
    found: list[Costly] = []
    for file, turn, msg, *own in connection.execute(sql, values):
        if not which.holds(files[file]):
            continue
        number = _number(connection, *spawning.get(file, (file, turn)))
        found.append(Costly(files[file], number, _before(connection, file, msg), *own))
        if len(found) == limit:
            break
    return found


def _before(connection: sqlite3.Connection, file: int, msg: int) -> tuple[Asked, ...]:
    """What the model was sent last before a call: the results of one message, or what was typed."""
    sql = (
        "SELECT type, kind, subject FROM step WHERE file = ?1 AND NOT superseded"
        " AND (type <> 'message' OR kind = 'user') AND msg = (SELECT max(msg) FROM step WHERE file = ?1"
        " AND msg < ?2 AND NOT superseded AND (type <> 'message' OR kind = 'user')) ORDER BY sub"
    )
    return tuple(
        Asked(kind, own, subject or "") for kind, own, subject in connection.execute(sql, (file, msg))
    )
