"""How numbers, sizes, times and names are written in the terminal. Times are UTC epoch milliseconds."""

from __future__ import annotations

from datetime import date, datetime, timedelta, tzinfo

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
SURFACES = {
    "cli": "CLI",
    "vscode": "VS Code",
    "jetbrains": "JetBrains",
    "neovim": "Neovim",
    "desktop": "Cline desktop",
    "kanban": "Kanban",
}

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def number(value: int) -> str:
    """`1,284`."""
    return f"{value:,}"


def counted(value: int, noun: str, plural: str | None = None) -> str:
    """`1 session`, `1,284 sessions`."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def tokens(value: int) -> str:
    """`940`, `37.1k`, `46.7M`."""
    if value < 1000:
        return str(value)
    for size, letter in ((1000, "k"), (1_000_000, "M"), (1_000_000_000, "G")):
        if value < size * 999.95 or letter == "G":
            return f"{value / size:.1f}{letter}"
    raise AssertionError


def size(value: int) -> str:
    """Bytes: `940 bytes`, `42 KB`, `4.1 MB`."""
    if value < 1000:
        return counted(value, "byte")
    amount = float(value)
    for unit in ("KB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            return f"{amount:.1f} {unit}" if amount < 9.95 and unit != "KB" else f"{amount:.0f} {unit}"
    raise AssertionError


def duration(ms: int | float) -> str:
    """`0.8 s`, `48 s`, `31 min`, `1 h 12`, `2 d 3 h`."""
    ms = max(ms, 0)
    if ms < 9950:
        return "<0.1 s" if ms < 50 else f"{ms / _SECOND:.1f} s"
    if ms < 59.5 * _SECOND:
        return f"{ms / _SECOND:.0f} s"
    if ms < 59.5 * _MINUTE:
        return f"{max(round(ms / _MINUTE), 1)} min"
    minutes = round(ms / _MINUTE)
    if ms < 2 * _DAY:
        return f"{minutes // 60} h {minutes % 60:02}" if minutes % 60 else f"{minutes // 60} h"
    hours = round(ms / _HOUR)
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def local(ms: int, tz: tzinfo | None) -> datetime:
    """The moment in a zone; no zone is this machine's, with its changes between summer and winter."""
    try:
        return datetime.fromtimestamp(ms / 1000, tz)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, tz)


def clock(ms: int, tz: tzinfo | None) -> str:
    """`12:07`."""
    return local(ms, tz).strftime("%H:%M")


def short_day(ms: int, now: int, tz: tzinfo | None) -> str:
    """`30 Nov`, and `30 Nov 2025` where the year is another."""
    day = local(ms, tz).date()
    text = f"{day.day} {MONTHS[day.month - 1][:3]}"
    return text if day.year == local(now, tz).year else f"{text} {day.year}"


def moment(ms: int, now: int, tz: tzinfo | None) -> str:
    """The clock for what happened today, else the day: `12:07`, `30 Nov`."""
    if local(ms, tz).date() == local(now, tz).date():
        return clock(ms, tz)
    return short_day(ms, now, tz)


def long_day(day: date, today: date) -> str:
    """`Today, Monday 30 November`, `Friday 27 November`, `Friday 28 November 2025`."""
    text = f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"
    if day == today:
        return f"Today, {text}"
    if day == today - timedelta(days=1):
        return f"Yesterday, {text}"
    return text if day.year == today.year else f"{text} {day.year}"


def surface(name: str | None) -> str | None:
    """Where the agent ran, as people call it."""
    return SURFACES.get(name, name) if name else None
