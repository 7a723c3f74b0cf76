"""Odd times, impossible counts and broken bytes: they cost the value they stand in, never a call beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledgers import ANTHROPIC, CENT, HOUR, Total, counted, paid, rewritten, rows, talk, total
from sessions import START, Session, archive, iso, metrics, pretty

# --- Times ------------------------------------------------------------------------------------------------

PLAUSIBLE = {
    "seconds": (START + 5000) // 1000,
    "microseconds": (START + 5000) * 1000,
    "ISO": iso(START + 5000),
    "ISO of another zone": "2026-11-30T17:06:45.000+09:00",
    "text": str(START + 5000),
}
NONE = {
    "null": None,
    "absent": ...,
    "negative": -1,
    "zero": 0,
    "NaN": float("nan"),
    "far": 1e300,
    "words": "today",
}


@pytest.mark.parametrize("ts", PLAUSIBLE.values(), ids=PLAUSIBLE)
def test_a_call_with_its_time_in_another_unit_is_at_that_time(tmp_path: Path, ts: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", ts=ts, metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = counted(kept)
    assert (call.at, call.amount) == (START + 5000, CENT)


@pytest.mark.parametrize("ts", NONE.values(), ids=NONE)
def test_a_call_without_a_plausible_time_has_its_neighbours(tmp_path: Path, ts: Any) -> None:
    """Two of them, in one session, are still two."""
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("One", ts=ts, metrics=paid(0.01))
    session.reply("Two", ts=ts, metrics=paid(0.01))
    session.reply("Three", metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [call.at for call in counted(kept)] == [START + 1000, START + 1000, START + 4000]
        assert total(kept) == Total(3, 3000, 0, 0, 150, reported=3 * CENT)


def test_a_session_without_any_time_is_counted_and_priced(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.manifest = None
    session.prompt("Hello", ts=...)
    session.reply("Hi", ts=..., modelInfo=ANTHROPIC, metrics=metrics(100_000, 500, read=95_000))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(1, 5_000, 95_000, 0, 500, estimated=51_000_000)


# --- Counts -----------------------------------------------------------------------------------------------

IMPOSSIBLE = {
    "NaN": float("nan"),
    "infinite": float("inf"),
    "1e300": 1e300,
    "10**30": 10**30,
    "negative": -5,
    "text": "7",
}
FIELDS = {"inputTokens": 0, "outputTokens": 3, "cacheReadTokens": 1, "cacheWriteTokens": 2}


@pytest.mark.parametrize("value", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
@pytest.mark.parametrize("field", FIELDS)
def test_an_impossible_count_is_refused_alone_and_named(tmp_path: Path, field: str, value: Any) -> None:
    """The other counts stand, so does the cost, and so does the call after it."""
    counts = {
        "inputTokens": 9000,
        "outputTokens": 70,
        "cacheReadTokens": 500,
        "cacheWriteTokens": 40,
        "cost": 0.01,
    }
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", metrics={**counts, field: value})
    session.reply("Next", metrics=paid(0.02))
    session.write()
    with archive(tmp_path) as kept:
        assert kept.sync([session.root]).failed == []
        first, second = counted(kept)
        refused = kept.listed(session.session_id).session.fidelity.refused
    stands = {
        "inputTokens": 9000,
        "outputTokens": 70,
        "cacheReadTokens": 500,
        "cacheWriteTokens": 40,
        field: 0,
    }
    whole, out, read, write = stands.values()
    fresh = whole - read - write if whole else 0
    assert (first.counts, first.amount) == ((fresh, read, write, out), CENT)
    assert (second.counts, second.amount) == ((1000, 0, 0, 50), 2 * CENT)
    (named,) = refused
    assert f"{named.where}{named.value}".startswith(f"/messages/1/metrics/{field}")


@pytest.mark.parametrize("value", [*IMPOSSIBLE.values(), 1e9], ids=[*IMPOSSIBLE, "a billion"])
def test_an_impossible_cost_is_refused_and_the_call_estimated(tmp_path: Path, value: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", modelInfo=ANTHROPIC, metrics=paid(value, 100_000, 500, read=95_000))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        refused = kept.listed(session.session_id).session.fidelity.refused
        assert total(kept) == Total(1, 5_000, 95_000, 0, 500, estimated=51_000_000)
    (named,) = refused
    assert f"{named.where}{named.value}".startswith("/messages/1/metrics/cost")


def test_refused_values_are_named_by_doctor(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", metrics=paid(0.01, tokens=-5))
    session.write()
    with archive(tmp_path) as kept:
        report = kept.sync([session.root])
        told = repr(kept.doctor([session.root], report))
    assert "inputTokens" in told
    assert session.session_id in told


def test_the_float_noise_of_a_difference_is_rounded_away(tmp_path: Path) -> None:
    """Cline's cost of a message is the difference of two running totals."""
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    for number, cost in enumerate((0.0147, 0.0019875000000000014)):
        session.reply("Hi", id=f"msg_{number}", metrics=paid(cost))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).reported == 16_687_500


def test_ten_thousand_cents_are_a_hundred_dollars(tmp_path: Path) -> None:
    """No float is added up."""
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    for number in range(10_000):
        session.reply("Hi", id=f"msg_{number}", metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).reported == 100_000_000_000


ODD_MODELS: dict[str, Any] = {
    "absent": ...,
    "null": None,
    "text": "claude",
    "empty": {},
    "numbers": {"id": 7, "provider": 8},
    "blank": {"id": "", "provider": ""},
    "long": {"id": "x" * 100_000, "provider": "y" * 100_000},
    "half a character": {"id": "\ud800", "provider": "\udfff"},
    "control": {"id": "a\x00b\x1b[31m", "provider": "\n"},
    "slashes": {"id": "////", "provider": "/"},
}


@pytest.mark.parametrize("info", ODD_MODELS.values(), ids=ODD_MODELS)
def test_a_call_of_a_nameless_model_shows_its_tokens(tmp_path: Path, info: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", modelInfo=info, metrics=metrics(1000, 50))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(1, 1000, 0, 0, 50, unpriced=1)


@pytest.mark.parametrize("counts", [None, "none", [], [1], 7, {}, {"inputTokens": {}}], ids=repr)
def test_metrics_that_are_none_are_no_call(tmp_path: Path, counts: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", metrics=counts)
    session.reply("Next", metrics=paid(0.02))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(1, 1000, 0, 0, 50, reported=2 * CENT)


# --- Bytes ------------------------------------------------------------------------------------------------

BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
    "one bad byte": lambda data: data.replace(b"Answer 1", b"Answer \xff"),
    "half of a character": lambda data: data.replace(b"Answer 1", b"Answer \\ud800"),
    "NUL bytes at the end": lambda data: data + b"\0" * 9,
    "no final newline": lambda data: data.rstrip(),
    "all on one line": lambda data: json.dumps(json.loads(data)).encode(),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("part", ["messages", "manifest", "both"])
def test_broken_bytes_lose_no_call(tmp_path: Path, part: str, broken: Callable[[bytes], bytes]) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_broke", START, 3).write()
    if part != "manifest":
        session.file.write_bytes(broken(session.data()))
    if part != "messages":
        session.manifest_file.write_bytes(broken(pretty(session.manifest)))
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        kept.ingest(str(session.folder))
        assert total(kept) == Total(3, 3_000, 0, 0, 150, reported=3 * CENT)


def test_a_file_that_stays_cut_keeps_the_calls_before_the_cut(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_broke", START, 5).write()
    data = session.data()
    session.file.write_bytes(data[: data.index(b"Answer 3")])
    with archive(tmp_path) as kept:
        kept.ingest(str(session.folder))
        assert total(kept).reported == 3 * CENT
        session.write()
        kept.sync([session.root])
        assert total(kept).reported == 5 * CENT
        assert len(rows(kept)) == 5


def test_a_child_that_cannot_be_read_takes_nobody_along(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_broke", START, 2)
    session.child("agent_1796026002000_abcdef").user("Count")
    session.write()
    (session.folder / "agent_1796026002000_abcdef.messages.json").write_bytes(b"\x00\x01 nothing")
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).reported == 2 * CENT


# --- Folders ----------------------------------------------------------------------------------------------


def test_a_root_with_two_names_is_counted_once(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 3).write()
    link = tmp_path / "link"
    link.symlink_to(session.root, target_is_directory=True)
    with archive(tmp_path) as kept:
        for roots in ([link], [session.root, link], [session.root]):
            kept.sync(roots)
            assert total(kept) == Total(3, 3_000, 0, 0, 150, reported=3 * CENT)


def test_what_is_no_file_is_named_and_takes_nobody_along(tmp_path: Path) -> None:
    sound = talk(tmp_path / "sessions", "1796026000000_sound", START, 3).write()
    odd = talk(tmp_path / "sessions", "1796026000001_folde", START + HOUR, 1)
    odd.file.mkdir(parents=True)
    with archive(tmp_path) as kept:
        report = kept.sync([sound.root])
        assert total(kept).reported == 3 * CENT
    assert any(odd.session_id in entry.path for entry in [*report.skipped, *report.failed])


def test_a_message_that_says_nothing_makes_the_call_that_it_tells(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.add("assistant", [], metrics=paid(0.01))
    session.add("assistant", "", metrics=paid(0.02), ts=START + 9000)
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).reported == 3 * CENT


@pytest.mark.parametrize(
    "missing", [{"ts": ...}, {"id": ..., "ts": ...}], ids=["no time", "neither time nor id"]
)
def test_a_time_that_is_known_better_later_makes_no_second_call(tmp_path: Path, missing: Any) -> None:
    """First there is no manifest and no time at all, then a manifest, then a message with a time before it."""
    session = Session(tmp_path / "sessions")
    manifest, session.manifest = session.manifest, None
    session.prompt("Hello", ts=...)
    session.reply("Hi", metrics=paid(0.01), **missing)
    with archive(tmp_path) as kept:
        rewritten(session, START // 1000)
        kept.sync([session.root])
        session.manifest = manifest
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert total(kept).reported == CENT
        session.messages[0]["ts"] = START + 500
        rewritten(session, START // 1000 + 120)
        kept.sync([session.root])
        assert total(kept).reported == CENT
        assert [(call.at, call.counted, call.superseded) for call in rows(kept)] == [(START + 500, 1, 0)]
