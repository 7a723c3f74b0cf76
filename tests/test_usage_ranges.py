"""Days of a zone: where they begin, which clock they follow, and that SQL finds the same ones."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.errors import InputError
from backstory.ledger.ranges import (
    bounds,
    day_of,
    day_sql,
    first_day,
    local_day,
    next_first_day,
    start_of,
    zone,
    zone_name,
)

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3_600_000


def ms(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


def days_in_sql(moments: list[int], name: str) -> list[date]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE one (n INTEGER PRIMARY KEY, at INTEGER)")
    connection.executemany("INSERT INTO one (at) VALUES (?)", [(at,) for at in moments])
    sql = day_sql("at", min(moments), max(moments), ZoneInfo(name))
    found = [day_of(day) for (day,) in connection.execute(f"SELECT {sql} FROM one ORDER BY n")]
    connection.close()
    return found


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 11, 30), 24)]
)
def test_a_day_is_as_long_as_its_clock_says(day: date, hours: int) -> None:
    assert start_of(day + timedelta(days=1), BERLIN) - start_of(day, BERLIN) == hours * HOUR


def test_sql_follows_the_clock_over_a_change() -> None:
    before, after = ms(2026, 10, 24, 22), ms(2026, 10, 25, 22, 59, 59)
    moments = [before - 1, before, after, after + 1000]
    assert days_in_sql(moments, "Europe/Berlin") == [date(2026, 10, day) for day in (24, 25, 25, 26)]


@given(
    st.lists(st.integers(ms(1990, 1, 1), ms(2037, 1, 1)), min_size=1, max_size=20),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "UTC"]),
)
def test_sql_and_calendar_agree(moments: list[int], name: str) -> None:
    assert days_in_sql(moments, name) == [local_day(at, ZoneInfo(name)) for at in moments]


def test_periods_begin_where_people_say() -> None:
    day = date(2026, 11, 29)
    assert first_day(day, "week") == date(2026, 11, 23)
    assert next_first_day(day, "week") == date(2026, 11, 30)
    assert (first_day(day, "month"), next_first_day(day, "month")) == (date(2026, 11, 1), date(2026, 12, 1))
    assert next_first_day(date(2026, 12, 31), "month") == date(2027, 1, 1)
    assert bounds(ms(2026, 11, 30, 12), "day", BERLIN) == (ms(2026, 11, 29, 23), ms(2026, 11, 30, 23))


def test_zones_by_name() -> None:
    assert zone("utc") is UTC
    assert zone_name(zone("Europe/Berlin")) == "Europe/Berlin"
    assert zone_name(None, {"TZ": ":Asia/Tokyo"}) == "Asia/Tokyo"
    assert zone_name(None, {})
    for wrong in ("Mars/Olympus", "", "../etc/passwd", "/etc/localtime"):
        with pytest.raises(InputError, match="is no time zone here"):
            zone(wrong)
