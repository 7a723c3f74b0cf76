"""The table of `backstory usage`: a row a group, a rule, the total, and what the columns mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from ..ledger.report import Figures, Report, Row
from .line import Line, View, spans
from .money import money
from .sessions import LEAST_TITLE
from .table import GAP, Column, Layout, header, layout, row
from .text import wrap
from .usage_words import NOTHING, cached, estimate, named
from .words import MONTHS, WEEKDAYS, counted, surface, tokens

HEADS = {"model": ("MODEL", "ROUTE"), "session": ("ID", "PROJECT", "TITLE"), "provider": ("ROUTE",)}
FIGURES = (
    Column("SESSIONS", right=True, leaves=4),
    Column("CALLS", right=True, leaves=3),
    Column("INPUT", right=True, leaves=6),
    Column("CACHED", right=True, leaves=2),
    Column("OUTPUT", right=True, leaves=1),
    Column("REPORTED", right=True),
    Column("ESTIMATED", right=True),
    Column("COVERED", right=True),
)
UNPRICED = Column("UNPRICED", right=True)
WITHOUT_SESSIONS = ("model", "session", "provider")
"""Groupings whose rows do not say how many sessions: it is one, or the place is needed."""


def draw_usage(view: View, found: Report, label: str, shorts: dict[str, str]) -> Iterator[Line]:
    """The groups and their total; `label` says what the total is of, `shorts` has the short ids of sessions."""
    heads = HEADS.get(found.by, (found.by.upper(),))
    keys = [_key_column(name, at) for at, name in enumerate(heads)]
    skip = 1 if found.by in WITHOUT_SESSIONS else 0
    columns = [*keys, *FIGURES[skip:], *((UNPRICED,) if found.totals.unpriced_calls else ())]
    rows = [[*_keys(view, found.by, one, shorts), *_figures(one.figures)[skip:]] for one in found.rows]
    last: list[Line] = [spans((label, "title")), *[()] * (len(keys) - 1), *_figures(found.totals)[skip:]]
    least = LEAST_TITLE if found.by == "session" else 0
    fit = layout(columns, [*rows, last], view.width, least=least)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)
    yield spans((view.glyphs.rule * _width(fit), "label"))
    yield row(fit, last, view)


def draw_meaning(view: View, found: Report, zone: str, unpriced: Sequence[str]) -> Iterator[Line]:
    """What the columns mean, for a person who sees them for the first time."""
    totals = found.totals
    text = (
        "Reported: Cline recorded it. Estimated: list price of the day, no cost was recorded. Covered: list value of"
        " calls on subscriptions, free routes and local models, not money you paid."
    )
    if totals.unpriced_calls:
        names = ", ".join(view.glyphs.one_line(name) for name in unpriced[:3])
        more = f" and {len(unpriced) - 3} more" if len(unpriced) > 3 else ""
        text += (
            f" Unpriced: {counted(totals.unpriced_calls, 'call')} on {names}{more},"
            f" {tokens(totals.unpriced_tokens)} tokens; see backstory usage models --unpriced."
        )
    for line in wrap(f"{text} Zone: {zone}.", view.width):
        yield spans((line, "label"))


def _key_column(name: str, at: int) -> Column:
    leaves = {"PROJECT": 5, "ROUTE": 5}.get(name) if at else None
    return Column(name, leaves=leaves, stretch=name == "TITLE")


def _width(fit: Layout) -> int:
    return sum(fit.widths) + GAP * (len(fit.widths) - 1)


def _keys(view: View, by: str, found: Row, shorts: dict[str, str]) -> list[Line]:
    """The cells that name a group."""
    values = list(found.keys.values())
    first = values[0]
    if by == "session":
        return [
            spans((view.glyphs.one_line(shorts.get(first or "", first or "")), "label")),
            spans(named(view, values[1], "")),
            spans(view.glyphs.one_line(values[2] or "") or "(no prompt)"),
        ]
    if by in ("day", "week", "month"):
        return [spans(_period(by, first, view))]
    if by == "source":
        return [spans(named(view, surface(first), "unknown"))]
    nothing = "no project" if by == "project" else "unknown"
    return [spans(named(view, value, nothing)) for value in values]


def _period(by: str, name: str | None, view: View) -> str:
    """`Tue 24 Nov`, `from 23 Nov`, `November`; the year stands where it is another than now."""
    if name is None:
        return "no time"
    day = date.fromisoformat(name if by != "month" else f"{name}-01")
    this = date.fromtimestamp(view.now / 1000).year if view.now else day.year
    year = "" if day.year == this else f" {day.year}"
    if by == "month":
        return f"{MONTHS[day.month - 1]}{year}"
    short = f"{day.day:2} {MONTHS[day.month - 1][:3]}{year}"
    return f"{WEEKDAYS[day.weekday()][:3]} {short}"


def _figures(figures: Figures) -> list[Line]:
    """The cells of a group's sums. What was not met is `–`, which is not $0."""
    known = figures.calls > figures.unpriced_calls or not figures.calls
    blank: Line = (NOTHING,) if known else (("no price", "rejected"),)
    covered: Line = blank
    if figures.covered_calls:
        covered = spans((money(figures.covered) if figures.listed else "no list", "covered"))
    return [
        spans(f"{len(figures.sessions):,}"),
        spans(f"{figures.calls:,}"),
        spans(tokens(figures.input)),
        spans(cached(figures)),
        spans(tokens(figures.output)),
        spans(money(figures.reported)) if figures.reported_calls else blank,
        spans((estimate(figures.estimated), "estimated")) if figures.estimated_calls else blank,
        covered,
        spans((f"{figures.unpriced_calls:,}", "rejected")) if figures.unpriced_calls else (),
    ]
