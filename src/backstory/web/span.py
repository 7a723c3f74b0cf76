"""Which calls the address of the Usage page names, and how that is said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta, tzinfo
from typing import NamedTuple
from urllib.parse import urlencode

from ..cli import dates
from ..cli.words import MONTHS, WEEKDAYS
from ..ledger import ranges
from ..ledger.report import Filter
from .figures import Clock, line

KEPT = ("since", "until", "project", "model", "by", "show")
"""What of an address is kept when one part of it changes."""
MONTH = "month"
ALL = "all"


class Span(NamedTuple):
    """A choice of calls: the filter, its name, its first and last day; a null day is not known."""

    which: Filter
    name: str
    key: str
    first: date | None
    last: date
    today: date


class Choice(NamedTuple):
    """A range that a reader can choose, as a link."""

    name: str
    href: str
    chosen: bool


def span_of(asked: Mapping[str, str], clock: Clock) -> Span:
    """The calls that an address asks for; dates are written as on the command line.

    Without any it is the month that runs now, and so it is where a date cannot be read.
    """
    tz = clock.tz
    today = ranges.local_day(clock.now, tz)
    project, model = (asked.get(name, "").strip() or None for name in ("project", "model"))
    begin, end = asked.get("since", "").strip(), asked.get("until", "").strip()
    since, until = _moment(begin, clock, end=False), _moment(end, clock, end=True)
    if begin == ALL and not end:
        return Span(Filter(None, None, project, model), "Everything", ALL, None, today, today)
    if since is None and until is None:
        since, until = ranges.bounds(clock.now, "month", tz)
        name = f"{MONTHS[today.month - 1]} {today.year}"
        last = ranges.next_first_day(today, "month") - timedelta(days=1)
        return Span(Filter(since, until, project, model), name, MONTH, today.replace(day=1), last, today)
    first = None if since is None else ranges.local_day(since, tz)
    last = today if until is None else ranges.local_day(until - 1, tz)
    key = _key(begin, end, today)
    names = {"1": "Today", "7": "7 days", "90": "90 days"}
    return Span(Filter(since, until, project, model), names.get(key, ""), key, first, last, today)


def _key(begin: str, end: str, today: date) -> str:
    """Which of the ranges on offer the dates are."""
    if end:
        return ""
    if begin.lower() == "today":
        return "1"
    for days in (7, 90):
        if begin == _since(today, days):
            return str(days)
    return ""


def _since(today: date, days: int) -> str:
    return (today - timedelta(days=days - 1)).isoformat()


def choices(asked: Mapping[str, str], span: Span) -> list[Choice]:
    """The ranges on offer. They are named by dates, so that a link that is passed on gives the same page."""
    offered = (
        ("Today", "today", "1"),
        ("7 days", _since(span.today, 7), "7"),
        ("Month", "", MONTH),
        ("90 days", _since(span.today, 90), "90"),
        ("All", ALL, ALL),
    )
    return [
        Choice(name, address(asked, since=since, until=""), key == span.key) for name, since, key in offered
    ]


def address(asked: Mapping[str, str], path: str = "/usage", **changed: str) -> str:
    """The address with some parts of it changed; an empty one is left out."""
    kept = {name: asked[name] for name in KEPT if asked.get(name)}
    kept.update(changed)
    kept = {name: value for name, value in kept.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def short(day: date, today: date, *, weekday: bool = False) -> str:
    """`24 Nov`, `24 Nov 2025` where the year is another."""
    name = f"{WEEKDAYS[day.weekday()][:3]} " if weekday else ""
    year = "" if day.year == today.year else f" {day.year}"
    return f"{name}{day.day} {MONTHS[day.month - 1][:3]}{year}"


def words(span: Span, first: date | None, tz: tzinfo | None) -> str:
    """`November 2026 · 1 to 30 Nov, Europe/Berlin`; `first` is the day of the first call, where no day begins it."""
    begin = span.first or first
    if begin is None:
        days = f"until {short(span.last, span.today)}"
    elif begin == span.last:
        days = short(begin, span.today, weekday=True)
    elif (begin.year, begin.month) == (span.last.year, span.last.month):
        days = f"{begin.day} to {short(span.last, span.today)}"
    else:
        days = f"{short(begin, span.today)} to {short(span.last, span.today)}"
    return " · ".join(filter(None, (span.name, f"{days}, {ranges.zone_name(tz)}")))


def nothing(span: Span) -> str:
    """`No calls between 1 and 7 November.`"""
    which = span.which
    names = "".join(
        f" {joint} {line(name)}" for joint, name in (("of", which.project), ("on", which.model)) if name
    )
    if span.key == ALL:
        return f"No calls{names} yet."
    if span.key == "1":
        return f"No calls{names} today."
    first, last = span.first, span.last
    if first is None:
        return f"No calls{names} until {_day(last, span.today)}."
    if first > last:
        return f"No calls{names}: {_day(first, span.today)} is after {_day(last, span.today)}."
    if first == last:
        return f"No calls{names} on {_day(first, span.today)}."
    begin = _day(first, span.today)
    if (first.year, first.month) == (last.year, last.month):
        begin = str(first.day)
    return f"No calls{names} between {begin} and {_day(last, span.today)}."


def _day(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1]}{year}"


def _moment(text: str, clock: Clock, *, end: bool) -> int | None:
    if not text:
        return None
    try:
        return dates.parse(text, clock.now, clock.tz, end=end)
    except dates.NotADate:
        return None
