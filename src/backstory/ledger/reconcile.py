"""Cline's own total of a session against the calls in its messages, and what makes the difference."""

from __future__ import annotations

import sqlite3
from typing import Literal

from msgspec import Struct

Reason = Literal[
    "subagents", "copies", "retries", "superseded", "pending", "no_total", "rounding", "unexplained"
]

REASONS: tuple[Reason, ...] = (
    "subagents",
    "copies",
    "retries",
    "superseded",
    "pending",
    "no_total",
    "rounding",
    "unexplained",
)
DUST = 50_000
"""Billionths of a dollar that the sums of Cline's floats may be off: a two-hundredth of a cent."""


class Difference(Struct, frozen=True):
    """One reason, what it adds to Cline's total in billionths of a dollar, and how many things it stands for.

    `subagents`: calls of children, which Cline's total leaves out. `copies`: calls that count in another session.
    `retries`: requests that left no message. `superseded`: calls whose messages have left the conversation.
    `pending`: calls of a run that has not ended, in which Cline writes no total. `no_total`: Cline wrote none.
    """

    reason: Reason
    nano: int
    count: int


class Compared(Struct, frozen=True):
    """One session: Cline's total, null where it wrote none, the sum here, and the differences, which add up."""

    session_id: str
    title: str | None
    project: str | None
    cline: int | None
    here: int
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether both are the same to the cent's two-hundredth."""
        return abs(self.here - (self.cline or 0)) < DUST and not any(
            one.reason == "unexplained" for one in self.differences
        )


class _Sums(Struct):
    """What the calls of a session come to, in billionths of a dollar; `tokens` are those of its lead's calls."""

    lead: int = 0
    children: int = 0
    copies: int = 0
    superseded: int = 0
    children_files: set[int] | None = None
    copied: int = 0
    replaced: int = 0
    tokens: int = 0


def reconcile(
    connection: sqlite3.Connection,
    *,
    session_id: str | None = None,
    since: int | None = None,
    until: int | None = None,
    project: str | None = None,
) -> list[Compared]:
    """Every session on which Cline or the calls put money; the largest difference first. Whole sessions only."""
    where, values = _where(session_id, since, until, project)
    sums = _sums(connection)
    found = []
    sql = (
        "SELECT session.n, session.id, title, project, status, ended_at, rollup.nano,"
        " rollup.fresh + rollup.cache_read + rollup.cache_write + rollup.output"
        f" FROM session LEFT JOIN rollup ON rollup.session = session.n WHERE {where} ORDER BY session.id"
    )
    for n, own, title, its_project, status, ended_at, cline, tokens in connection.execute(sql, values):
        summed = sums.get(n, _Sums())
        here = summed.lead + summed.children
        if cline is None and not here and session_id is None:
            continue
        open_ = ended_at is None or status in ("running", "idle")
        differences = _differences(summed, cline, tokens, open_=open_)
        found.append(Compared(own, title, its_project, cline, here, differences))
    return sorted(found, key=lambda one: (-abs(one.here - (one.cline or 0)), one.session_id))


def by_reason(found: list[Compared]) -> list[Difference]:
    """The differences of many sessions by reason; `count` adds up what each counts."""
    totals: dict[Reason, tuple[int, int]] = {}
    for one in found:
        for difference in one.differences:
            nano, count = totals.get(difference.reason, (0, 0))
            totals[difference.reason] = (nano + difference.nano, count + difference.count)
    return [Difference(reason, *totals[reason]) for reason in REASONS if reason in totals]


def _where(
    session_id: str | None, since: int | None, until: int | None, project: str | None
) -> tuple[str, list[object]]:
    parts, values = ["1"], list[object]()
    for condition, value in (
        ("session.id = ?", session_id),
        ("session.last_at >= ?", since),
        ("session.last_at < ?", until),
        (
            "(session.project = ? COLLATE NOCASE OR rtrim(session.cwd, '/\\') = ?)",
            project.rstrip("/\\") if project else None,
        ),
    ):
        if value is not None:
            parts.append(condition)
            values += [value] * condition.count("?")
    return " AND ".join(parts), values


def _sums(connection: sqlite3.Connection) -> dict[int, _Sums]:
    """What the calls with a recorded cost come to, by session; imported calls are nobody's here."""
    found: dict[int, _Sums] = {}
    sql = (
        "SELECT file.session, file.n, coalesce(file.actor, 'root') = 'root', counted, call.superseded, count(*),"
        " coalesce(sum(nano), 0), sum(fresh + cache_read + cache_write + output) FROM call"
        " JOIN file ON file.n = call.file WHERE instr(coalesce(call.flags, ''), 'imported') = 0"
        " GROUP BY 2, 4, 5"
    )
    for session, file, lead, counted, superseded, calls, nano, tokens in connection.execute(sql):
        own = found.setdefault(session, _Sums(children_files=set()))
        if not lead:
            if counted and nano:
                own.children += nano
                assert own.children_files is not None
                own.children_files.add(file)
            continue
        if counted:
            own.lead += nano
        else:
            own.copies += nano
            own.copied += calls if nano else 0
        own.tokens += tokens
        if superseded:
            own.superseded += nano
            own.replaced += calls
    return found


def _differences(
    summed: _Sums, cline: int | None, tokens: int | None, *, open_: bool
) -> tuple[Difference, ...]:
    """From Cline's total to the sum here, step by step; what is left has to have a reason, or is unexplained."""
    found: list[Difference] = []
    if summed.children:
        found.append(Difference("subagents", summed.children, len(summed.children_files or ())))
    if cline is None:
        if summed.lead:
            found.append(Difference("no_total", summed.lead, 1))
        return tuple(found)
    if summed.copies:
        found.append(Difference("copies", -summed.copies, summed.copied))
    rest = summed.lead + summed.copies - cline
    if rest:
        found.append(_rest(rest, summed, tokens, open_=open_))
    return tuple(found)


def _rest(rest: int, summed: _Sums, tokens: int | None, *, open_: bool) -> Difference:
    """Why the lead's calls, copies included, come to `rest` more than Cline's total."""
    if abs(rest) < DUST:
        return Difference("rounding", rest, 1)
    more_here = summed.tokens - (tokens or 0)
    if rest < 0 and more_here < 0:
        return Difference("retries", rest, 1)
    if rest > 0 and more_here > 0:
        if summed.superseded and abs(rest - summed.superseded) < DUST:
            return Difference("superseded", rest, summed.replaced)
        if open_:
            return Difference("pending", rest, 1)
    return Difference("unexplained", rest, 1)
