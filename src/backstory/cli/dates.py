"""The dates that a person may write: `yesterday`, `24nov`, `7d`, `2026-11-24`, an ISO time."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, tzinfo

from .words import MONTHS, WEEKDAYS

_AGO = re.compile(r"(\d{1,5})\s*([hdw])")
_DAY_MONTH = re.compile(r"(\d{1,2})[\s.-]*([a-z]{3,9})[\s.-]*(\d{4})?")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


class NotADate(ValueError):
    """The text is none of the forms that are understood."""


def parse(text: str, now: int, tz: tzinfo | None = None, *, end: bool = False) -> int:
    """The moment in ms that the text names; a day is its start, or with `end` its end, which is
    the start of the next.

    Raises NotADate. A day without a year is the last one that is not in the future.
    """
    said = text.strip().lower()
    here = datetime.fromtimestamp(now / 1000, tz)
    ago = _AGO.fullmatch(said)
    if ago:
        return now - int(ago[1]) * _HOURS[ago[2]] * 3_600_000
    if said == "now":
        return now
    day = _named_day(said, here.date())
    if day is not None:
        try:
            return day_bounds(day, tz)[1 if end else 0]
        except (ValueError, OverflowError, OSError) as error:
            raise NotADate(text) from error
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=tz) if tz else moment.astimezone()
        return _ms(moment)
    except (ValueError, OverflowError, OSError) as error:
        raise NotADate(text) from error


def _named_day(said: str, today: date) -> date | None:
    if said == "today":
        return today
    if said == "yesterday":
        return today - timedelta(days=1)
    for number, name in enumerate(WEEKDAYS):
        if said in (name.lower(), name[:3].lower()):
            return today - timedelta(days=(today.weekday() - number) % 7)
    match = _DAY_MONTH.fullmatch(said)
    if match:
        return _day_of_month(int(match[1]), match[2], match[3], today)
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", said):
        try:
            return date.fromisoformat(said)
        except ValueError:
            return None
    return None


def _day_of_month(day: int, month: str, year: str | None, today: date) -> date | None:
    names = [name.lower() for name in MONTHS]
    number = next((n for n, name in enumerate(names, 1) if month in (name, name[:3])), None)
    if number is None:
        return None
    # 29 February names the last leap year, up to eight years back.
    for back in (int(year),) if year else range(today.year, today.year - 9, -1):
        try:
            found = date(back, number, day)
        except ValueError:
            continue
        if year or found <= today:
            return found
    return None


def day_bounds(day: date, tz: tzinfo | None = None) -> tuple[int, int]:
    """The begin and the end of a day in ms, in the zone's own hours."""
    return _start(day, tz), _start(day + timedelta(days=1), tz)


def _start(day: date, tz: tzinfo | None) -> int:
    midnight = datetime.combine(day, time())
    return _ms(midnight.replace(tzinfo=tz) if tz else midnight.astimezone())


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
