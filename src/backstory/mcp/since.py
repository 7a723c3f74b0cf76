"""The moments that an agent may name: a date, an ISO time, `today`, `yesterday`, or so long ago."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from ..ledger.ranges import local_day, start_of
from .arguments import BadArgument

_ago = re.compile(r"(\d{1,4})\s*([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
FORMS = "a date such as 2026-11-24, an ISO time, today, yesterday, 12h, 7d or 2w"


def moment_of(text: str, now: int) -> int:
    """The moment in UTC epoch ms that a text names; a day is its start here. Raises `BadArgument`."""
    said = text.strip().lower()
    today = local_day(now, None)
    try:
        if found := _ago.fullmatch(said):
            return now - int(found[1]) * _HOURS[found[2]] * 3_600_000
        if said in ("today", "yesterday"):
            return start_of(today - timedelta(days=said == "yesterday"), None)
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", said):
            return start_of(date.fromisoformat(said), None)
        return round(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise BadArgument("since", f"has to be {FORMS}.") from None
