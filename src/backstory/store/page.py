"""One page of the list of sessions, newest first, from one query however many sessions there are."""

from __future__ import annotations

import json
import sqlite3
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from ..schema.session import Totals
from . import costs, glance
from .derived import short_id, state
from .glance import Glance
from .read import Filter, short_ids
from .results import Brief, Cost, Judgement, State

Outcome = Literal["failing", "failed", "rejected", "error", "interrupted", "idle", "running", "no_end", "ok"]
"""What a list can be narrowed to; `ok` ended well: nothing is failing, and no error ended it."""

_OUTCOMES: dict[Outcome, str] = {
    "failing": "session.failing > 0",
    "failed": "session.failed > 0",
    "rejected": "session.rejected > 0",
    "ok": "session.failing = 0 AND state_of IN ('ended', 'idle')",
    **{name: f"state_of = '{name}'" for name in ("error", "interrupted", "idle", "running", "no_end")},
}
_STATE = (
    "session_state(session.status, session.ended_at, session.terminal_marker, session.error, session.changed_at,"
    " session.open_call, session.gone_at)"
)


class Wanted(Struct, frozen=True):
    """Which sessions a page shows: the filter, the outcome, and the place after which it begins."""

    filter: Filter = Filter()
    outcome: Outcome | None = None
    before: tuple[int, str] | None = None


class Entry(Struct, frozen=True):
    """A session in the list, with what is drawn of it."""

    n: int
    id: str
    short_id: str
    title: str | None
    project: str | None
    cwd: str | None
    model: str | None
    surface: str | None
    state: State
    started_at: int | None
    last_at: int | None
    length: int | None
    unseen: int
    seen: bool
    gone: bool
    copied_kind: str | None
    error: str | None
    totals: Totals
    last_step: Brief | None
    cost: Cost
    judgement: Judgement | None
    glance: Glance


class Page(NamedTuple):
    """Entries, how many sessions fit the filter in all, how many of these are newer, and whether older ones follow."""

    entries: list[Entry]
    total: int
    newer: int
    older: bool


def is_outcome(word: str | None) -> bool:
    """Whether a word names an outcome."""
    return word in get_args(Outcome)


def page(connection: sqlite3.Connection, now: int, wanted: Wanted, limit: int = 50) -> Page:
    """A page of sessions; a session without any time stands last."""
    _prepare(connection, now)
    where, values = _where(wanted)
    total, newer = _counts(connection, where, values, wanted.before)
    paged, more = where, list(values)
    if wanted.before is not None:
        paged += " AND (coalesce(session.last_at, 0), session.id) < (?, ?)"
        more += wanted.before
    shorts = short_ids(connection)
    rows = list(_rows(connection, paged, more, limit + 1))
    entries = [_entry(connection, row, shorts) for row in rows[:limit]]
    return Page(entries, total, newer, len(rows) > limit)


def entry(connection: sqlite3.Connection, now: int, session_id: str) -> Entry | None:
    """One session as the list shows it."""
    _prepare(connection, now)
    rows = list(_rows(connection, "session.id = ?", [session_id], 1))
    return _entry(connection, rows[0], short_ids(connection)) if rows else None


def running(connection: sqlite3.Connection, now: int) -> list[Entry]:
    """The sessions that run now."""
    # A session that was last written before a day ago cannot run: see `derived.OPEN_CALL_MS`.
    since = now - 2 * 24 * 3600 * 1000
    _prepare(connection, now)
    where = f"session.changed_at >= ? AND {_STATE} = 'running'"
    shorts = short_ids(connection)
    return [_entry(connection, row, shorts) for row in _rows(connection, where, [since], 1000)]


def projects(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Names of projects with how many sessions they have, the one that was used last first."""
    return connection.execute(
        "SELECT project, count(*) FROM session WHERE project IS NOT NULL GROUP BY project COLLATE NOCASE"
        " ORDER BY max(last_at) DESC LIMIT 200"
    ).fetchall()


def models(connection: sqlite3.Connection) -> list[str]:
    """Models as sessions name them, the one that was used last first."""
    rows = connection.execute(
        "SELECT model FROM session WHERE model IS NOT NULL GROUP BY model ORDER BY max(last_at) DESC LIMIT 100"
    )
    return [name for (name,) in rows]


def _prepare(connection: sqlite3.Connection, now: int) -> None:
    """Let SQL ask the one rule that says where a session stands."""

    def of(
        status: str | None,
        ended_at: int | None,
        marker: str | None,
        error: str | None,
        changed_at: int | None,
        open_call: int,
        gone_at: int | None,
    ) -> str:
        return state(
            status=status,
            ended_at=ended_at,
            terminal_marker=marker,
            error=error,
            changed_at=changed_at,
            open_call=bool(open_call),
            gone=gone_at is not None,
            now=now,
        )

    connection.create_function("session_state", 7, of)


def _where(wanted: Wanted) -> tuple[str, list[object]]:
    where, values = wanted.filter.where()
    if wanted.outcome is not None:
        where += " AND " + _OUTCOMES[wanted.outcome].replace("state_of", _STATE)
    return where, values


def _counts(
    connection: sqlite3.Connection, where: str, values: list[object], before: tuple[int, str] | None
) -> tuple[int, int]:
    """How many sessions fit, and how many of them stand on the pages before."""
    at, session_id = before if before is not None else (None, None)
    total, newer = connection.execute(
        "SELECT count(*), coalesce(sum(?1 IS NOT NULL AND (coalesce(session.last_at, 0), session.id) >= (?1, ?2)), 0)"
        f" FROM session WHERE {_numbered(where)}",
        [at, session_id, *values],
    ).fetchone()
    return total, newer


def _numbered(where: str) -> str:
    """The condition with its marks numbered after the two that stand before it."""
    for number in range(where.count("?")):
        where = where.replace("?", f"\0{number + 3}", 1)
    return where.replace("\0", "?")


def _rows(connection: sqlite3.Connection, where: str, values: list[object], limit: int) -> sqlite3.Cursor:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(
        f"WITH chosen AS (SELECT session.*, {_STATE} AS state FROM session WHERE {where}"
        " ORDER BY coalesce(session.last_at, 0) DESC, session.id DESC LIMIT ?)"
        " SELECT chosen.*, step.id AS step_id, step.type, step.kind, step.subject, step.outcome, step.at AS step_at,"
        " verdict.session AS judged, verdict.verdict, verdict.note, verdict.at AS judged_at,"
        " glance.data AS glance, glance.generation AS glanced, glance.version AS glance_version,"
        " (SELECT json_group_array(json_array(kind, calls, amount, fresh, cached, written, output)) FROM ("
        "   SELECT kind, count(*) AS calls, coalesce(sum(amount), 0) AS amount, sum(fresh) AS fresh,"
        "   sum(cache_read) AS cached, sum(cache_write) AS written, sum(output) AS output FROM file"
        "   JOIN call ON call.file = file.n WHERE file.session = chosen.n AND counted GROUP BY kind)) AS costs"
        " FROM chosen LEFT JOIN step ON step.n = chosen.last_step"
        " LEFT JOIN verdict ON verdict.session = chosen.n AND verdict.turn = ''"
        " LEFT JOIN glance ON glance.session = chosen.n"
        " ORDER BY coalesce(chosen.last_at, 0) DESC, chosen.id DESC",
        [*values, limit],
    )


def _entry(connection: sqlite3.Connection, row: sqlite3.Row, shorts: dict[str, int]) -> Entry:
    short = short_id(row["id"])
    last = None
    if row["step_id"] is not None:
        last = Brief(row["step_id"], row["type"], row["kind"], row["subject"], row["outcome"], row["step_at"])
    current = row["glanced"] == row["generation"] and row["glance_version"] == glance.VERSION
    return Entry(
        n=row["n"],
        id=row["id"],
        short_id=short if shorts.get(short, 0) < 2 else row["id"],
        title=row["title"],
        project=row["project"],
        cwd=row["cwd"],
        model=row["model"],
        surface=row["surface"],
        state=row["state"],
        started_at=row["started_at"],
        last_at=row["last_at"],
        length=row["length"],
        unseen=row["row_count"] - row["seen_count"],
        seen=row["seen_count"] > 0,
        gone=row["gone_at"] is not None,
        copied_kind=row["copied_kind"],
        error=row["error"],
        totals=Totals(**{name: row[name] for name in Totals.__struct_fields__}),
        last_step=last,
        cost=sum(map(costs.cost_of_kind, json.loads(row["costs"])), Cost()),
        judgement=Judgement(row["verdict"], row["note"], row["judged_at"]) if row["judged"] else None,
        glance=glance.stored(row["glance"])
        if current
        else glance.make(connection, row["n"], row["generation"]),
    )
