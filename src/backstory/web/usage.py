"""The figures of the Usage page, as the ledger has them, in the words in which they are drawn."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, tzinfo
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from ..cli.money import money
from ..cli.usage_words import cached, estimate
from ..cli.words import MONTHS, counted, number, tokens
from ..ledger import ranges
from ..ledger.names import is_local
from ..ledger.report import (
    By,
    Figures,
    Report,
    fold,
    grouping_of,
    made_report,
    places,
    span,
    spawning_turns,
)
from ..ledger.tooluse import tool_uses
from ..ledger.top import Prompt, costliest_prompts, prompt_grouping, short_ids
from . import charts
from .charts import Day
from .figures import EMPTY, UNTITLED, line
from .span import Span, address, short

GROUPS: dict[By, str] = {
    "model": "Model",
    "project": "Project",
    "mode": "Mode",
    "session": "Session",
    "actor": "Actor",
}
ACTORS = {"root": "Lead agent", "subagent": "Subagents", "teammate": "Teammates"}
ROWS = 30
"""Rows of a table; the CSV has them all."""
SLOTS = 120
"""Bars of the chart, at most."""
LABELS = 6
NOTHING = ("–", "q")


class Gathered(NamedTuple):
    """What the ledger says of the calls of a page, from one pass over them."""

    totals: Figures
    reports: dict[By, Report]
    period: By
    prompts: list[Prompt]
    shorts: dict[str, str]


class Tile(NamedTuple):
    """One of the four figures: its name, its amount, one sentence."""

    kind: str
    name: str
    amount: str
    words: str


class Line(NamedTuple):
    """A row of figures. An amount is its text and its class."""

    name: str
    sub: str
    href: str
    sessions: str
    calls: str
    input: str
    cached: str
    output: str
    bar: Markup
    reported: tuple[str, str]
    estimated: tuple[str, str]
    covered: tuple[str, str]
    unpriced: str


class Table(NamedTuple):
    """Rows and their total; `rest` says how many rows more there are, `mixed` whether a column has unpriced calls."""

    head: str
    lines: list[Line]
    total: Line
    rest: int
    mixed: bool


class ToolLine(NamedTuple):
    """How often a tool was used, and how that ended."""

    name: str
    common: str
    uses: int
    failed: int
    rejected: int
    sessions: int
    bar: Markup


class Chart(NamedTuple):
    """Money by `period`: the drawing, what it shows in a sentence, and the same figures as rows."""

    name: str
    period: str
    drawing: Markup
    label: str
    lines: list[Line]
    note: str


def gathered(
    connection: sqlite3.Connection, made: Span, by: str, tz: tzinfo | None, prompts: int
) -> Gathered:
    """Totals, the reports that the page draws, and the costliest prompts."""
    period = _period(connection, made, tz)
    wanted: list[By] = [period, "model", "mode", "actor"]
    if by in ("project", "session"):
        wanted.append(by)  # type: ignore[arg-type]
    spawning, files = spawning_turns(connection), places(connection)
    groupings = [grouping_of(connection, one, made.which, tz, spawning) for one in wanted]
    totals, found = fold(connection, made.which, [*groupings, prompt_grouping(spawning)], files)
    reports = {one: made_report(one, totals, groups) for one, groups in zip(wanted, found[:-1], strict=True)}
    costliest = costliest_prompts(connection, found[-1], files, spawning, prompts)
    return Gathered(totals, reports, period, costliest, short_ids(connection))


def _period(connection: sqlite3.Connection, made: Span, tz: tzinfo | None) -> By:
    """What a bar stands for: days as long as there are not too many of them."""
    first = made.first or first_day(connection, made, tz) or made.last
    days = (made.last - first).days
    return "day" if days < 100 else "week" if days < 700 else "month"


def first_day(connection: sqlite3.Connection, made: Span, tz: tzinfo | None) -> date | None:
    """The day of the first call; null where there is none."""
    first, _ = span(connection, made.which)
    return ranges.local_day(first, tz) if first else None


def tiles(found: Gathered) -> list[Tile]:
    """Reported, estimated, covered, unpriced: each with what it is."""
    totals, rows = found.totals, found.reports["model"].rows
    routes = [row.keys["route"] or "unknown routes" for row in rows if row.figures.covered_calls]
    names = [row.keys["model"] or "unknown" for row in rows if row.figures.unpriced_calls]
    calls = counted(totals.reported_calls, "call")
    reported = (
        f"Cline recorded this cost itself, on {calls}." if totals.reported_calls else "No call has one."
    )
    estimated = (
        f"{counted(totals.estimated_calls, 'call')} without a recorded cost, at the list price of the day."
        if totals.estimated_calls
        else "No call had to be estimated."
    )
    unpriced = (
        f"{tokens(totals.unpriced_tokens)} tokens on {_list(names)}." if names else "Every call has a price."
    )
    return [
        Tile("reported", "Reported", _amount(totals)[0][0], reported),
        Tile("estimated", "Estimated", _amount(totals)[1][0], estimated),
        Tile("covered", "Covered", _amount(totals)[2][0], _covered(totals, routes)),
        Tile(
            "unpriced", "No price known", counted(totals.unpriced_calls, "call") if names else "–", unpriced
        ),
    ]


def _covered(totals: Figures, routes: Sequence[str]) -> str:
    if not totals.covered_calls:
        return "No call was on a subscription, a free offer or this machine."
    on = _list(["local models" if is_local(route) else route for route in routes])
    if not totals.listed:
        return f"{counted(totals.covered_calls, 'call')} on {on}. Not money you paid."
    if totals.listed == totals.covered_calls:
        return f"List value of {counted(totals.listed, 'call')} on {on}. Not money you paid."
    of = f"{number(totals.listed)} of {counted(totals.covered_calls, 'call')}"
    return f"List value of {of} on {on}; the others have no list price. Not money you paid."


def _list(names: Sequence[str]) -> str:
    """`a, b and c`, `a, b, c and 2 more`."""
    once = list(dict.fromkeys(line(name) for name in names))
    if len(once) > 3:
        once = [*once[:3], f"{len(once) - 3} more"]
    return once[0] if len(once) == 1 else f"{', '.join(once[:-1])} and {once[-1]}"


def _amount(figures: Figures) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
    """The three amounts. What was not met is `–`, which is not $0."""
    nothing = ("no price", "deny") if figures.calls and figures.calls == figures.unpriced_calls else NOTHING
    reported = (money(figures.reported), "") if figures.reported_calls else nothing
    estimated = (estimate(figures.estimated), "") if figures.estimated_calls else NOTHING
    covered = NOTHING
    if figures.covered_calls:
        covered = (money(figures.covered), "") if figures.listed else ("no list price", "q")
    return reported, estimated, covered


def as_line(name: str, figures: Figures, most: int, sub: str = "", href: str = "") -> Line:
    """Sums as a row."""
    return Line(
        name,
        sub,
        href,
        number(len(figures.sessions)),
        number(figures.calls),
        tokens(figures.input),
        cached(figures),
        tokens(figures.output),
        _bar(figures, most),
        *_amount(figures),
        number(figures.unpriced_calls) if figures.unpriced_calls else "",
    )


def _bar(figures: Figures, most: int) -> Markup:
    if not most:
        return EMPTY
    return charts.token_bar(figures.fresh, figures.cache_write, figures.cache_read, figures.output, most)


def table(found: Gathered, by: By, asked: Mapping[str, str]) -> Table:
    """Where it went: the costliest first."""
    rows = found.reports[by].rows
    most = max((row.figures.total for row in rows), default=0)
    lines = []
    for row in rows[:ROWS]:
        name, sub, href = _named(by, row.keys, found.shorts, asked)
        lines.append(as_line(name, row.figures, most, sub, href))
    mixed = any(0 < row.figures.unpriced_calls < row.figures.calls for row in rows)
    return Table(GROUPS[by], lines, as_line("Total", found.totals, 0), max(len(rows) - ROWS, 0), mixed)


def _named(
    by: By, keys: Mapping[str, str | None], shorts: Mapping[str, str], asked: Mapping[str, str]
) -> tuple[str, str, str]:
    """What a row is called, what stands under that, and where it leads."""
    if by == "model":
        name, route = keys["model"] or "unknown", keys["route"]
        place = "unknown route" if route is None else line(route)
        sub = f"{place}, on this machine" if is_local(route) else place
        return line(name), sub, address(asked, model=name, by="project")
    if by == "project":
        project = keys["project"]
        href = address(asked, project=project, by="") if project else ""
        return line(project) or "no project", "", href
    if by == "session":
        own = keys["session"] or ""
        sub = " · ".join(filter(None, (line(keys["project"]), line(shorts.get(own, own)))))
        return line(keys["title"]) or UNTITLED, sub, f"/s/{quote(own, safe='')}/cost"
    if by == "mode":
        return mode_name(keys["mode"]), "", ""
    return actor_name(keys["actor"]), "", ""


def mode_name(mode: str | None) -> str:
    """`Plan`, `Act`."""
    return line(mode).capitalize() if mode else "Mode unknown"


def actor_name(actor: str | None) -> str:
    """`Lead agent`, `Subagents`."""
    return ACTORS.get(actor or "", line(actor) or "Agent unknown")


def tools(connection: sqlite3.Connection, made: Span) -> tuple[list[ToolLine], int]:
    """The tools, the most used first, and how many more there are."""
    found = tool_uses(connection, "tool", made.which)
    most = max((one.uses for one in found), default=0)
    lines = [
        ToolLine(
            line(one.keys["tool"]),
            line(one.keys["canonical"]),
            one.uses,
            one.failed,
            one.rejected,
            len(one.sessions),
            charts.share_bar(one.uses, 0, most),
        )
        for one in found[:ROWS]
    ]
    return lines, max(len(found) - ROWS, 0)


def chart(found: Gathered, made: Span) -> Chart:
    """Money by day, or by week or month where the days are too many; days without a call have their place."""
    period = found.period
    by_name = {next(iter(row.keys.values())): row.figures for row in found.reports[period].rows}
    known = sorted(name for name in by_name if name)
    slots = _slots(period, made, known)
    days = [_day(slot, period, by_name.get(_key(slot, period), Figures()), made) for slot in slots]
    drawing = charts.by_day(_labelled(days, slots, period, made.today))
    figures = found.totals
    parts = [f"{money(figures.reported)} reported"] if figures.reported_calls else []
    parts += [f"{estimate(figures.estimated)} estimated"] if figures.estimated_calls else []
    parts += [f"{money(figures.covered)} covered"] if figures.listed else []
    label = f"Cost by {period}, {counted(len(days), period)}: {', '.join(parts) or 'no amount is known'}"
    lines = [
        as_line(
            _title(date.fromisoformat(name if period != "month" else f"{name}-01"), period, made.today)
            if name
            else "no time",
            by_name[name],
            0,
        )
        for name in sorted(by_name, key=lambda name: name or "")
    ]
    early = sum(name < _key(slots[0], period) for name in known)
    note = f"The first {counted(early, period)} with a call are in the table alone." if early else ""
    return Chart(f"By {period}", period, drawing, label, lines, note)


def _slots(period: By, made: Span, known: Sequence[str]) -> list[date]:
    """The first days of all periods from the first to the last, the newest where there are too many."""
    unit: ranges.Period = "week" if period == "week" else "month" if period == "month" else "day"
    earliest = date.fromisoformat(f"{known[0]}-01" if period == "month" else known[0]) if known else made.last
    day = ranges.first_day(made.first or earliest, unit)
    slots = []
    while day <= made.last:
        slots.append(day)
        day = ranges.next_first_day(day, unit)
    return slots[-SLOTS:] or [made.last]


def _key(day: date, period: By) -> str:
    return f"{day:%Y-%m}" if period == "month" else day.isoformat()


def _title(day: date, period: By, today: date) -> str:
    """`Mon 30 Nov`, `from 23 Nov`, `November 2026`."""
    if period == "month":
        return f"{MONTHS[day.month - 1]} {day.year}"
    return f"from {short(day, today)}" if period == "week" else short(day, today, weekday=True)


def _day(day: date, period: By, figures: Figures, made: Span) -> Day:
    parts = [f"{money(figures.reported)} reported"] if figures.reported_calls else []
    parts += [f"{estimate(figures.estimated)} estimated"] if figures.estimated_calls else []
    if figures.covered_calls:
        parts.append(f"{money(figures.covered)} covered" if figures.listed else "covered, no list price")
    if figures.unpriced_calls:
        parts.append(f"{counted(figures.unpriced_calls, 'call')} without a price")
    return Day(
        f"{_title(day, period, made.today)}: {', '.join(parts)}",
        "",
        period == "day" and day == made.today,
        figures.reported,
        figures.estimated,
        figures.covered,
        figures.unpriced_calls > 0,
    )


def _labelled(days: Sequence[Day], slots: Sequence[date], period: By, today: date) -> list[Day]:
    """Some days with their dates: Mondays, as many as there is room for, and today."""
    if period == "day" and len(days) > LABELS + 1:
        marked = [place for place, day in enumerate(slots) if day.weekday() == 0]
    else:
        marked = list(range(len(days)))
    every = -(-len(marked) // LABELS)
    chosen = set(marked[:: max(every, 1)])
    now = next((place for place, day in enumerate(days) if day.today), None)
    if now is not None:
        apart = len(days) / (LABELS + 3)
        chosen = {place for place in chosen if abs(place - now) >= apart} | {now}
    found = []
    for place, day in enumerate(days):
        name = _title(slots[place], period, today) if period == "month" else short(slots[place], today)
        found.append(day._replace(label=("today" if day.today else name) if place in chosen else ""))
    return found
