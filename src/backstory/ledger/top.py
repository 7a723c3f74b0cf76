"""The costliest sessions, prompts and calls, and what they were about."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..store.derived import short_id
from .report import Figures, Filter, Place, Row, cells, places, report, spawning_turns


class Prompt(Struct, frozen=True):
    """A prompt and what it cost, children included. `number` is its place in the session, null where it has left it."""

    place: Place
    turn: str | None
    number: int | None
    text: str
    figures: Figures


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


def _prompts(connection: sqlite3.Connection, which: Filter, limit: int) -> list[Prompt]:
    files, spawning = places(connection), spawning_turns(connection)
    groups: dict[tuple[int, str | None], Figures] = {}
    for cell in cells(connection, ("call.turn",), which):
        place = files[cell.file]
        if which.holds(place):
            key = spawning.get(cell.file, (cell.file, cell.values[0]))
            groups.setdefault(key, Figures()).add(cell, place.session)
    known = [(key, figures) for key, figures in groups.items() if key[1] is not None]
    known.sort(key=lambda item: (item[1].rank, item[0]))
    found = []
    for (file, turn), figures in known[:limit]:
        words = connection.execute(
            "SELECT step.subject FROM turn JOIN step ON step.file = turn.file AND step.msg >= turn.msg"
            " WHERE turn.file = ? AND turn.id = ? AND step.turn = turn.n AND step.kind = 'user'"
            " ORDER BY step.msg, step.sub LIMIT 1",
            (file, turn),
        ).fetchone()
        text = words[0] if words else ""
        found.append(Prompt(files[file], turn, _number(connection, file, turn), text, figures))
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
