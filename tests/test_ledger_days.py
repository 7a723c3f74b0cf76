"""Days, weeks and months of any zone hold the calls that were made in them, and every grouping adds up to the total."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from hostile import SLOW
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import (
    ANTHROPIC,
    CENT,
    HOUR,
    UNKNOWN,
    copied,
    forest,
    imported,
    paid,
    rows,
    settle,
    spoken,
    summed,
    talk,
)
from sessions import START, Session, archive, metrics, tool_use

from backstory import Archive
from backstory.ledger.report import By, Figures, Filter, report

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "America/Santiago", "Asia/Kathmandu"),
    *(
        "Asia/Tokyo",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "Africa/Casablanca",
        "Asia/Tehran",
    ),
)
SUMS = (
    "calls",
    "fresh",
    "cache_read",
    "cache_write",
    "output",
    "reported",
    "estimated",
    "covered",
    "unpriced_calls",
)


def at(words: str) -> int:
    """A moment in ms, UTC where no offset is written."""
    moment = datetime.fromisoformat(words)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def timed(root: Path, *moments: int) -> Session:
    """A session with a call of a cent at each of these times."""
    session = Session(root)
    session.prompt("Hello", ts=moments[0])
    for number, moment in enumerate(moments):
        session.reply("Hi", id=f"call-{number}", ts=moment, metrics=paid(0.01))
    return session.write()


def by(kept: Archive, grouping: By, tz: tzinfo | None, **which: Any) -> dict[str | None, int]:
    """How many calls each row has."""
    settle(kept)
    found = report(kept.connection, grouping, Filter(**which), tz).rows
    return {next(iter(row.keys.values())): row.figures.calls for row in found}


# --- Zones and clocks -------------------------------------------------------------------------------------


def test_a_call_is_stored_in_utc_and_lies_on_the_day_of_the_zone(tmp_path: Path) -> None:
    session = timed(tmp_path / "sessions", at("2026-11-29T23:30:00"))
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [call.at for call in rows(kept)] == [at("2026-11-29T23:30:00+00:00")]
        assert by(kept, "day", UTC) == {"2026-11-29": 1}
        assert by(kept, "day", BERLIN) == {"2026-11-30": 1}
        assert by(kept, "day", ZoneInfo("America/New_York")) == {"2026-11-29": 1}
        assert by(kept, "month", ZoneInfo("Pacific/Kiritimati")) == {"2026-11": 1}
        assert by(kept, "week", UTC) == {"2026-11-23": 1}
        assert by(kept, "week", BERLIN) == {"2026-11-30": 1}


@pytest.mark.parametrize(
    ("day", "hours"),
    [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)],
    ids=["short", "long", "plain"],
)
def test_the_days_on_which_the_clock_is_moved_hold_all_their_hours(
    tmp_path: Path, day: str, hours: int
) -> None:
    """A call a minute after every full hour from the day before to the day after."""
    first = at(f"{day}T00:00:00+00:00") - 36 * HOUR
    session = timed(tmp_path / "sessions", *(first + number * HOUR + 60_000 for number in range(96)))
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        found = by(kept, "day", BERLIN)
    assert found[day] == hours
    assert sum(found.values()) == 96


def test_midnight_belongs_to_the_day_that_begins(tmp_path: Path) -> None:
    midnight = at("2026-10-25T00:00:00+02:00")
    session = timed(
        tmp_path / "sessions", midnight - 1, midnight, midnight + 25 * HOUR - 1, midnight + 25 * HOUR
    )
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert by(kept, "day", BERLIN) == {"2026-10-24": 1, "2026-10-25": 2, "2026-10-26": 1}


def test_the_same_hour_of_the_clock_twice_is_two_calls(tmp_path: Path) -> None:
    """02:30 comes twice in the night in which the clock goes back."""
    first, second = at("2026-10-25T02:30:00+02:00"), at("2026-10-25T02:30:00+01:00")
    session = Session(tmp_path / "sessions")
    session.prompt("Hello", ts=first - 1000)
    for moment in (first, second):
        session.reply("Hi", id="same", ts=moment, metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert by(kept, "day", BERLIN) == {"2026-10-25": 2}


MOMENTS = st.lists(st.integers(at("2009-01-01"), at("2038-01-01")), min_size=1, max_size=12, unique=True)


@settings(SLOW, max_examples=60)
@given(moments=MOMENTS, zone=st.sampled_from(ZONES))
def test_every_call_lies_on_the_day_that_the_calendar_says(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int], zone: str
) -> None:
    tmp_path = tmp_path_factory.mktemp("days")
    tz = ZoneInfo(zone)
    session = timed(tmp_path / "sessions", *moments)
    days = [datetime.fromtimestamp(moment / 1000, tz).date() for moment in moments]
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert by(kept, "day", tz) == Counter(day.isoformat() for day in days)
        assert by(kept, "month", tz) == Counter(f"{day:%Y-%m}" for day in days)
        assert by(kept, "week", tz) == Counter(_monday(day) for day in days)


def _monday(day: date) -> str:
    return (day - timedelta(days=day.weekday())).isoformat()


@settings(SLOW, max_examples=20)
@given(moments=MOMENTS, zone=st.sampled_from(ZONES), cut=st.integers(at("2009-01-01"), at("2038-01-01")))
def test_two_spans_that_meet_hold_what_the_whole_holds(
    tmp_path_factory: pytest.TempPathFactory, moments: list[int], zone: str, cut: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("spans")
    session = timed(tmp_path / "sessions", *moments, cut)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        before, after = (by(kept, "day", ZoneInfo(zone), **span) for span in ({"until": cut}, {"since": cut}))
        assert Counter(before) + Counter(after) == by(kept, "day", ZoneInfo(zone))


@pytest.mark.parametrize("zone", ZONES)
def test_all_means_all(tmp_path: Path, zone: str) -> None:
    """From the first to the last year that a time may lie in: no call is left out, and every clock is known."""
    moments = (at("2000-01-02"), at("2001-02-15"), START, at("2027-12-15"), at("2099-12-15"))
    session = timed(tmp_path / "sessions", *moments)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        months = dict.fromkeys(("2000-01", "2001-02", "2026-11", "2027-12", "2099-12"), 1)
        assert by(kept, "month", ZoneInfo(zone)) == months


def test_a_call_without_a_time_is_in_the_total(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.manifest = None
    session.prompt("Hello", ts=...)
    session.reply("Hi", ts=..., metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        settle(kept)
        found = report(kept.connection, "day", Filter(), BERLIN)
    assert found.totals.calls == sum(row.figures.calls for row in found.rows) == 1
    assert found.totals.reported == CENT


# --- Groupings --------------------------------------------------------------------------------------------


def mixed(root: Path) -> None:
    """Sessions of every kind: priced and not, covered, imported, copied, with children, in two folders and modes."""
    lead = talk(root, "1796026000000_leads", START, 2)
    lead.prompt("Plan it", "plan", id="plan")
    lead.reply(tool_use("call_1", "spawn_agent", {"task": "Count"}), id="spawn", metrics=paid(0.02))
    child = lead.child("agent_1796026002000_abcdef")
    child.user("Count")
    child.reply("Three", id="child", modelInfo=ANTHROPIC, metrics=metrics(100_000, 500, read=95_000))
    mate = lead.child("writer__pNdMXr", "teammate")
    mate.user("Write")
    mate.reply("Written", id="mate", modelInfo=UNKNOWN)
    rewind = copied(lead, "1796029600000_rewin", START + HOUR, messages=3)
    rewind.reply("Else", id="else", modelInfo={"id": "cline-pass/glm-5.2", "provider": "cline-pass"})
    other = imported(root, "1796026000000_V-xYz", START - 900 * HOUR)
    spoken(other, 0)
    other.prompt("Here", id="here")
    other.reply("Yes", id="yes", metrics=paid(0.03))
    assert rewind.manifest is not None
    rewind.manifest |= {"cwd": "/home/dev/other", "source": "vscode"}
    for session in (lead, rewind, other):
        session.write()


def sums(figures: Figures) -> dict[str, int]:
    return {name: getattr(figures, name) for name in SUMS}


def assert_adds_up(kept: Archive) -> None:
    """Rows of every grouping against the total, and the total against the calls themselves."""
    own = summed(rows(kept))
    for grouping in get_args(By):
        found = report(kept.connection, grouping, Filter(), BERLIN)
        added = Counter[str]()
        for row in found.rows:
            added.update(sums(row.figures))
        assert {name: added[name] for name in SUMS} == sums(found.totals), grouping
        assert tuple(sums(found.totals).values()) == (
            *(own.calls, own.fresh, own.cache_read, own.cache_write, own.output),
            *(own.reported, own.estimated, own.covered, own.unpriced),
        )


def test_the_sum_over_any_grouping_is_the_total(tmp_path: Path) -> None:
    mixed(tmp_path / "sessions")
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        assert_adds_up(kept)
        assert by(kept, "actor", UTC) == {"root": 5, "subagent": 1, "teammate": 1}
        assert by(kept, "mode", UTC) == {"act": 4, "plan": 2, None: 1}
        assert by(kept, "project", UTC) == {"demo": 6, "other": 1}


@settings(SLOW, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_the_sum_over_any_grouping_is_the_total_of_any_tree(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("tree")
    for session in forest(tmp_path / "sessions", seed):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        assert_adds_up(kept)
