"""Days, weeks and months of a named zone: which moments they hold, and on which day a moment lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Literal

from ..errors import InputError

DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1)
LOCALTIME = Path("/etc/localtime")

Period = Literal["day", "week", "month"]


def zone(name: str) -> tzinfo:
    """The zone of a name such as `Europe/Berlin`. Raises `InputError`."""
    if name.upper() == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise InputError(f'"{name}" is no time zone here. Write one as Europe/Berlin or UTC.') from error


def zone_name(tz: tzinfo | None, env: Mapping[str, str] = os.environ) -> str:
    """What a zone is called; of this machine's own (null) the name that it was set by, else its abbreviation."""
    if tz is not None:
        return str(tz)
    named = env.get("TZ", "").lstrip(":")
    if named:
        return named
    _, found, own = str(LOCALTIME.resolve()).partition("zoneinfo/")
    return own if found else datetime.now().astimezone().tzname() or "local"


def local_day(ms: int, tz: tzinfo | None) -> date:
    """The day of a zone on which a moment lies; a null zone is this machine's."""
    return _local(ms, tz).date()


def start_of(day: date, tz: tzinfo | None) -> int:
    """The first moment of a day, in ms."""
    midnight = datetime.combine(day, time())
    moment = midnight.replace(tzinfo=tz) if tz is not None else midnight.astimezone()
    return round(moment.timestamp() * 1000)


def first_day(day: date, period: Period) -> date:
    """The day on which the period of a day began; weeks begin on Monday."""
    if period == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if period == "week" else day


def next_first_day(day: date, period: Period) -> date:
    """The day on which the next period begins."""
    begun = first_day(day, period)
    if period == "month":
        return (begun + timedelta(days=32)).replace(day=1)
    return begun + timedelta(days=7 if period == "week" else 1)


def bounds(now: int, period: Period, tz: tzinfo | None) -> tuple[int, int]:
    """The first moment of the period that runs now, and the first after it."""
    today = local_day(now, tz)
    return start_of(first_day(today, period), tz), start_of(next_first_day(today, period), tz)


def offsets(first: int, last: int, tz: tzinfo | None) -> list[tuple[int, int]]:
    """How far a zone's clock is ahead of UTC: (from this moment on, by so many ms), in order, over a span."""
    found = [(first, _offset(first, tz))]
    at = first
    while at < last:
        following = min(at + DAY_MS, last)
        if _offset(following, tz) != found[-1][1]:
            found.append((_changed(at, following, tz), _offset(following, tz)))
        at = following
    return found


def day_sql(column: str, first: int, last: int, tz: tzinfo | None) -> str:
    """SQL for the day on which a moment lies, counted from 1970-01-01; right for moments between the two."""
    steps = offsets(first, last, tz)
    offset = str(steps[0][1])
    if len(steps) > 1:
        # The newest first, because most calls are recent; side by side, because SQLite bears no deep nesting.
        later = "".join(f" WHEN {column} >= {since} THEN {ahead}" for since, ahead in reversed(steps[1:]))
        offset = f"CASE{later} ELSE {offset} END"
    return f"(({column} + {offset}) / {DAY_MS})"


def day_of(number: int) -> date:
    """The day with such a number."""
    return EPOCH + timedelta(days=number)


def _local(ms: int, tz: tzinfo | None) -> datetime:
    try:
        return datetime.fromtimestamp(ms / 1000, tz) if tz else datetime.fromtimestamp(ms / 1000).astimezone()
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _offset(ms: int, tz: tzinfo | None) -> int:
    found = _local(ms, tz).utcoffset()
    return 0 if found is None else round(found.total_seconds() * 1000)


def _changed(before: int, after: int, tz: tzinfo | None) -> int:
    """The moment between two at which the clock was moved."""
    target = _offset(after, tz)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle, tz) == target:
            after = middle
        else:
            before = middle
    return after
