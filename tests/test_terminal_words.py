"""Numbers, times and dates as they are written and as a person may write them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from backstory.cli import dates, words
from backstory.schema.words import relative

BERLIN = ZoneInfo("Europe/Berlin")
NOW = int(datetime(2026, 11, 30, 12, 36, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("ms", "written"),
    [
        (0, "<0.1 s"),
        (49, "<0.1 s"),
        (800, "0.8 s"),
        (3_100, "3.1 s"),
        (4_000, "4.0 s"),
        (9_960, "10 s"),
        (48_000, "48 s"),
        (59_600, "1 min"),
        (90_000, "2 min"),
        (31 * 60_000, "31 min"),
        (3_600_000, "1 h"),
        (72 * 60_000, "1 h 12"),
        (47 * 3_600_000, "47 h"),
        (75 * 3_600_000, "3 d 3 h"),
    ],
)
def test_duration(ms: int, written: str) -> None:
    assert words.duration(ms) == written


@pytest.mark.parametrize(
    ("count", "written"),
    [
        (0, "0"),
        (940, "940"),
        (37_100, "37.1k"),
        (999_949, "999.9k"),
        (999_960, "1.0M"),
        (46_700_000, "46.7M"),
    ],
)
def test_tokens(count: int, written: str) -> None:
    assert words.tokens(count) == written


@pytest.mark.parametrize(
    ("count", "written"),
    [(1, "1 byte"), (940, "940 bytes"), (42_000, "42 KB"), (4_100_000, "4.1 MB"), (751_000_000, "751 MB")],
)
def test_size(count: int, written: str) -> None:
    assert words.size(count) == written


def test_counted() -> None:
    assert words.counted(1, "session") == "1 session"
    assert words.counted(1284, "session") == "1,284 sessions"


def test_clocks_are_of_the_zone() -> None:
    assert words.clock(NOW, UTC) == "12:36"
    assert words.clock(NOW, BERLIN) == "13:36"
    assert words.clock(NOW - 120 * 86_400_000, BERLIN) == "14:36"


def test_days() -> None:
    today = date(2026, 11, 30)
    assert words.long_day(today, today) == "Today, Monday 30 November"
    assert words.long_day(date(2026, 11, 29), today) == "Yesterday, Sunday 29 November"
    assert words.long_day(date(2026, 11, 27), today) == "Friday 27 November"
    assert words.long_day(date(2025, 11, 28), today) == "Friday 28 November 2025"
    assert words.moment(NOW, NOW, UTC) == "12:36"
    assert words.moment(NOW - 86_400_000, NOW, UTC) == "29 Nov"
    assert words.moment(NOW - 366 * 86_400_000, NOW, UTC) == "29 Nov 2025"


def test_a_time_that_no_calendar_holds_is_no_fault() -> None:
    assert words.clock(10**18, UTC) == "00:00"


@pytest.mark.parametrize(
    ("path", "root", "seen"),
    [
        ("/home/dev/work/x/src/a.ts", "/home/dev/work/x", "src/a.ts"),
        ("src/a.ts", "/home/dev/work/x", "src/a.ts"),
        ("/home/dev/other/a.ts", "/home/dev/work/x", "~/other/a.ts"),
        ("/etc/hosts", "/home/dev/work/x", "/etc/hosts"),
        ("/home/developer/a", "/x", "/home/developer/a"),
        ("C:\\work\\x\\src\\a.ts", "C:\\work\\x", "src\\a.ts"),
        ("/home/dev/work/x", "/home/dev/work/x", "~/work/x"),
    ],
)
def test_paths_are_seen_from_the_session(path: str, root: str, seen: str) -> None:
    assert relative(path, (root,), "/home/dev") == seen


def moment(*parts: int, zone: ZoneInfo | None = None) -> int:
    return int(datetime(*parts, tzinfo=zone or UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("said", "start"),
    [
        ("today", moment(2026, 11, 30)),
        ("Yesterday", moment(2026, 11, 29)),
        ("2026-11-24", moment(2026, 11, 24)),
        ("24nov", moment(2026, 11, 24)),
        ("24 November", moment(2026, 11, 24)),
        ("24-nov-2025", moment(2025, 11, 24)),
        ("1dec", moment(2025, 12, 1)),
        ("29feb", moment(2024, 2, 29)),
        ("friday", moment(2026, 11, 27)),
        ("7d", NOW - 7 * 86_400_000),
        ("12h", NOW - 12 * 3_600_000),
        ("2w", NOW - 14 * 86_400_000),
        ("2026-11-24T10:30", moment(2026, 11, 24, 10, 30)),
        ("2026-11-24T10:30:00+01:00", moment(2026, 11, 24, 9, 30)),
        ("2026-11-24T10:30:00Z", moment(2026, 11, 24, 10, 30)),
    ],
)
def test_dates_that_a_person_writes(said: str, start: int) -> None:
    assert dates.parse(said, NOW, UTC) == start


def test_a_day_ends_where_the_next_begins() -> None:
    assert dates.parse("yesterday", NOW, UTC, end=True) == dates.parse("today", NOW, UTC)
    assert dates.parse("24nov", NOW, UTC, end=True) == moment(2026, 11, 25)


def test_days_are_of_the_zone_and_of_its_own_length() -> None:
    assert dates.parse("today", NOW, BERLIN) == moment(2026, 11, 30, zone=BERLIN)
    low, high = dates.day_bounds(date(2026, 10, 25), BERLIN)
    assert high - low == 25 * 3_600_000


@pytest.mark.parametrize(
    "said", ["", "soon", "30feb", "32nov", "24foo", "2026-13-01", "7x", "2026-11-24 25:00"]
)
def test_what_is_no_date(said: str) -> None:
    with pytest.raises(dates.NotADate):
        dates.parse(said, NOW, UTC)
