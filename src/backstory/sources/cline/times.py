"""Cline's times as UTC epoch milliseconds, whatever unit they came in (FORMAT.md section 3)."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

EARLIEST = 946_684_800_000  # 2000-01-01
LATEST = 4_102_444_800_000  # 2100-01-01


def epoch_ms(value: Any) -> int | None:
    """A time in ms, or null where the value is no plausible time.

    Numbers are taken as ms, seconds, microseconds or nanoseconds, whichever falls between 2000 and 2100.
    """
    if type(value) is int and EARLIEST <= value < LATEST:
        return value
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return _text(value.strip())
    return None


def _number(value: float) -> int | None:
    if not -1e21 < value < 1e21 or not math.isfinite(value):
        return None
    for scale in (1, 1000, 0.001, 0.000_001):
        scaled = value * scale
        if EARLIEST <= scaled < LATEST:
            return int(scaled)
    return None


def _text(value: str) -> int | None:
    if value.isascii() and value.isdigit() and len(value) < 20:
        return _number(int(value))
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return _number(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
