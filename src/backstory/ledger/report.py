"""Totals of calls, grouped: every grouping folds the same cells, so its rows add up to the total."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal

from msgspec import Struct, field

from . import ranges
from .names import NAMELESS, canonical

By = Literal["day", "week", "month", "model", "provider", "project", "session", "source", "mode", "actor"]
Key = tuple[str | None, ...]

NAMES: dict[By, tuple[str, ...]] = {
    "day": ("day",),
    "week": ("week",),
    "month": ("month",),
    "model": ("model", "route"),
    "provider": ("route",),
    "project": ("project",),
    "session": ("session", "project", "title"),
    "source": ("source",),
    "mode": ("mode",),
    "actor": ("actor",),
}
"""What the keys of a row are called, by the grouping. A `week` is named by its Monday."""
PERIODS = ("day", "week", "month")

AT = (
    "coalesce(call.at, (SELECT session.started_at FROM file JOIN session ON session.n = file.session"
    " WHERE file.n = call.file))"
)
"""When a call was made; one without a time counts at the start of its session."""


class Filter(Struct, frozen=True):
    """Which calls are counted. Times are UTC epoch ms, `until` is the first that is no longer in it.

    `project` is a folder's name or its whole path; `model` a part of a name as written, or any form of the whole;
    `session` is a session's number in the archive.
    """

    since: int | None = None
    until: int | None = None
    project: str | None = None
    model: str | None = None
    session: int | None = None

    def where(self) -> tuple[str, list[object]]:
        """The condition on `call` in SQL, and its values; the project is not in it."""
        parts, values = ["call.counted"], list[object]()
        for condition, value in ((f"{AT} >= ?", self.since), (f"{AT} < ?", self.until)):
            if value is not None:
                parts.append(condition)
                values.append(value)
        if self.session is not None:
            parts.append("call.file IN (SELECT n FROM file WHERE session = ?)")
            values.append(self.session)
        if self.model is not None:
            parts.append("(call.name = ? OR instr(lower(call.model), ?) OR instr(call.name, ?))")
            values += [canonical(self.model), self.model.lower(), self.model.lower()]
        return " AND ".join(parts), values

    def holds(self, place: Place) -> bool:
        """Whether the calls of a file belong to the project."""
        if self.project is None:
            return True
        named = self.project.rstrip("/\\")
        return (place.project or "").lower() == named.lower() or (place.cwd or "").rstrip("/\\") == named


class Figures(Struct):
    """Sums over calls: disjoint tokens, and money in billionths of a dollar by the kind of the call.

    `covered` is list value, of those covered calls that have one: `listed` of `covered_calls`.
    """

    calls: int = 0
    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reported: int = 0
    estimated: int = 0
    covered: int = 0
    reported_calls: int = 0
    estimated_calls: int = 0
    covered_calls: int = 0
    listed: int = 0
    unpriced_calls: int = 0
    unpriced_tokens: int = 0
    sessions: set[int] = field(default_factory=set)

    @property
    def input(self) -> int:
        """The whole prompts, cached or not."""
        return self.fresh + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input + self.output

    @property
    def rank(self) -> tuple[int, int, int]:
        """What is costlier comes first: by money, then by list value, then by tokens."""
        return -(self.reported + self.estimated), -self.covered, -self.total

    def add(self, cell: Cell, session: int) -> None:
        """Count the calls of a cell in."""
        self.sessions.add(session)
        self.calls += cell.calls
        self.fresh += cell.fresh
        self.cache_read += cell.cache_read
        self.cache_write += cell.cache_write
        self.output += cell.output
        if cell.kind == "reported":
            self.reported += cell.amount
            self.reported_calls += cell.calls
        elif cell.kind == "estimated":
            self.estimated += cell.amount
            self.estimated_calls += cell.calls
        elif cell.kind == "covered":
            self.covered += cell.amount
            self.covered_calls += cell.calls
            self.listed += cell.listed
        else:
            self.unpriced_calls += cell.calls
            self.unpriced_tokens += cell.fresh + cell.cache_read + cell.cache_write + cell.output


class Cell(Struct, frozen=True):
    """Calls of one file and one kind that share what the query grouped them by."""

    file: int
    kind: str | None
    values: tuple[Any, ...]
    calls: int
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    amount: int
    listed: int


class Place(Struct, frozen=True):
    """Whose calls a file holds."""

    session: int
    session_id: str
    project: str | None
    cwd: str | None
    title: str | None
    surface: str | None
    actor: str
    actor_type: str | None


class Row(Struct, frozen=True):
    """One group: its keys under their names, and its sums."""

    keys: dict[str, str | None]
    figures: Figures


Spawning = dict[int, tuple[int, str | None]]
KeyOf = Callable[[int, tuple[Any, ...], Place], Any]
Grouping = tuple[tuple[str, ...], KeyOf]
"""The columns of `call` that the key of a group is made of, and the function that makes it."""


class Report(Struct, frozen=True):
    """The answer: sums over all calls, and the same by group."""

    by: By
    totals: Figures
    rows: list[Row]


def report(connection: sqlite3.Connection, by: By, which: Filter, tz: tzinfo | None = None) -> Report:
    """Sums by group: days, weeks and months in order, all else the costliest first."""
    grouping = grouping_of(connection, by, which, tz)
    totals, (groups,) = fold(connection, which, [grouping], places(connection))
    return made_report(by, totals, groups)


def fold(
    connection: sqlite3.Connection, which: Filter, groupings: Sequence[Grouping], files: Mapping[int, Place]
) -> tuple[Figures, list[dict[Any, Figures]]]:
    """Sums over all calls, and for each grouping its sums by key; the calls are gone through once."""
    totals, found = Figures(), list[dict[Any, Figures]]()
    columns, folds = list[str](), list[tuple[slice, KeyOf, dict[Any, Figures]]]()
    for own, key_of in groupings:
        found.append({})
        folds.append((slice(len(columns), len(columns) + len(own)), key_of, found[-1]))
        columns += own
    for cell in cells(connection, columns, which):
        place = files[cell.file]
        if not which.holds(place):
            continue
        totals.add(cell, place.session)
        for part, key_of, groups in folds:
            key = key_of(cell.file, cell.values[part], place)
            figures = groups.get(key)
            if figures is None:
                figures = groups[key] = Figures()
            figures.add(cell, place.session)
    return totals, found


def made_report(by: By, totals: Figures, groups: Mapping[Key, Figures]) -> Report:
    """Folded sums as a report, its rows in order."""
    found = list(groups.items())
    if by in PERIODS:
        found.sort(key=lambda item: item[0][0] or "")
    else:
        found.sort(key=lambda item: (item[1].rank, tuple(part or "" for part in item[0])))
    rows = [Row(dict(zip(NAMES[by], key, strict=True)), figures) for key, figures in found]
    return Report(by, totals, rows)


def total(connection: sqlite3.Connection, which: Filter) -> Figures:
    """Sums over all calls that are let through."""
    found, files = Figures(), places(connection)
    for cell in cells(connection, (), which):
        if which.holds(files[cell.file]):
            found.add(cell, files[cell.file].session)
    return found


def cells(connection: sqlite3.Connection, columns: Iterable[str], which: Filter) -> Iterator[Cell]:
    """Calls summed by file, kind and what else is asked for, in SQL; few rows are left for Python."""
    where, values = which.where()
    names = ["call.file", "call.kind", *columns]
    groups = ", ".join(str(at) for at in range(1, len(names) + 1))
    sql = (
        f"SELECT {', '.join(names)}, count(*), sum(fresh), sum(cache_read), sum(cache_write), sum(output),"
        f" coalesce(sum(amount), 0), count(amount) FROM call WHERE {where} GROUP BY {groups}"
    )
    for row in connection.execute(sql, values):
        yield Cell(row[0], row[1], row[2:-7], *row[-7:])


def places(connection: sqlite3.Connection) -> dict[int, Place]:
    """Every file with whose calls it holds."""
    sql = (
        "SELECT file.n, session.n, session.id, session.project, session.cwd, session.title, session.surface,"
        " coalesce(file.actor, 'root'), file.actor_type FROM file JOIN session ON session.n = file.session"
    )
    return {n: Place(*values) for n, *values in connection.execute(sql)}


def turn_modes(
    connection: sqlite3.Connection, spawning: Spawning | None = None
) -> Callable[[int, str | None], str | None]:
    """A function from a call's file and turn to the mode; a child works in the mode of the turn that spawned it."""
    modes: dict[tuple[int, str], str | None] = {
        (file, own): mode for file, own, mode in connection.execute("SELECT file, id, mode FROM turn")
    }
    spawning = spawning_turns(connection) if spawning is None else spawning

    def mode_of(file: int, turn: str | None) -> str | None:
        place = spawning.get(file, (file, turn))
        return modes.get((place[0], place[1])) if place[1] is not None else None

    return mode_of


def spawning_turns(connection: sqlite3.Connection) -> Spawning:
    """For every file of a child, the root's file and the turn in which it was spawned; also for a child's child."""
    sql = (
        "SELECT child.n, step.file, turn.id FROM file AS child"
        " CROSS JOIN file AS parent ON parent.session = child.session AND parent.n <> child.n"
        " CROSS JOIN step ON step.file = parent.n AND step.id = child.parent_step AND step.spawns IS NOT NULL"
        " LEFT JOIN turn ON turn.n = step.turn WHERE child.parent_step IS NOT NULL"
    )
    found = {child: (file, turn) for child, file, turn in connection.execute(sql)}
    for child in found:
        seen = {child}
        while found[child][1] is None and found[child][0] in found and found[child][0] not in seen:
            seen.add(found[child][0])
            found[child] = found[found[child][0]]
    return found


def grouping_of(
    connection: sqlite3.Connection, by: By, which: Filter, tz: tzinfo | None, spawning: Spawning | None = None
) -> Grouping:
    """The columns to group by in SQL, and the function from a file, their values and its place to a row's key.

    `spawning` is what `spawning_turns` gave, where it is at hand.
    """
    if by in ("day", "week", "month"):
        first, last = span(connection, which)
        return (ranges.day_sql(AT, first, last, tz),), lambda _, values, __: (_period(by, values[0]),)
    if by == "mode":
        mode_of = turn_modes(connection, spawning)
        return ("call.turn",), lambda file, values, _: (mode_of(file, values[0]),)
    if by == "model":
        return ("call.name", "call.route"), lambda _, values, __: (values[0] or NAMELESS, values[1])
    if by == "provider":
        return ("call.route",), lambda _, values, __: (values[0],)
    if by == "project":
        return (), lambda _, __, place: (place.project,)
    if by == "session":
        return (), lambda _, __, place: (place.session_id, place.project, place.title)
    if by == "source":
        return (), lambda _, __, place: (place.surface,)
    return (), lambda _, __, place: ("root" if place.actor == "root" else place.actor_type,)


def span(connection: sqlite3.Connection, which: Filter) -> tuple[int, int]:
    """The first and the last moment of the calls that are let through, of all projects; 0 where there is none."""
    where, values = which.where()
    first, last = connection.execute(
        f"SELECT min({AT}), max({AT}) FROM call WHERE {where}", values
    ).fetchone()
    return (first or 0, last or 0)


def _period(by: By, day: int | None) -> str | None:
    """The name of the period in which a day lies."""
    if day is None:
        return None
    found = ranges.day_of(day)
    if by == "month":
        return f"{found:%Y-%m}"
    return ranges.first_day(found, "week" if by == "week" else "day").isoformat()
