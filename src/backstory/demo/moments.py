"""The clock of the stories: they are told as of one moment, which becomes the moment of loading."""

from __future__ import annotations

import re
from datetime import UTC, datetime

TOLD_AT = "12:35:16"
"""The time of day at which the stories are told; `12:04:02` is the same day, `-1d 21:44:10` the day before."""

_MOMENT = re.compile(r"^(?:-(?P<days>\d+)d )?(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)$")


class Moments:
    """Turns the times of the stories into epoch milliseconds, relative to `now`."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self, text: str) -> int:
        return self.now + _offset(text) - _offset(TOLD_AT)


def _offset(text: str) -> int:
    found = _MOMENT.match(text)
    assert found is not None, text
    hours = int(found["hours"]) - 24 * int(found["days"] or 0)
    return round((hours * 3600 + int(found["minutes"]) * 60 + float(found["seconds"])) * 1000)


def iso(at: int) -> str:
    """Epoch milliseconds as Cline writes a time: UTC, with milliseconds and a Z."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
