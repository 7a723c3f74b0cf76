"""Counts and times: what cannot be is refused and named, and the rest of its message is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hostile import document
from sessions import (
    START,
    Conversation,
    Session,
    iso,
    messages,
    metrics,
    tool_use,
)

from backstory.schema.call import Call
from backstory.schema.document import record_json
from backstory.schema.record import Record


def calls(session: Session) -> list[Call]:
    return list(session.read().calls)


def counted(tmp_path: Path, **counts: Any) -> tuple[list[tuple[int, int, int, int, int | None]], Record]:
    """The calls of a session with one reply that has these counts."""
    session = Session(tmp_path)
    session.prompt("Hello")
    session.reply("Hi", metrics=metrics(**counts))
    record = session.read()
    document(record)
    return [(c.fresh, c.cache_read, c.cache_write, c.output, c.nano) for c in record.calls], record


def test_cached_tokens_are_part_of_the_prompt(tmp_path: Path) -> None:
    found, record = counted(tmp_path, tokens=10_000, output=5, read=9_000)
    assert found == [(1_000, 9_000, 0, 5, None)]
    tokens = record_json(record)["calls"][0]["tokens"]
    assert (tokens["input"], tokens["cache_read"]) == (10_000, 9_000)


def test_where_the_cached_part_exceeds_the_prompt_it_is_net(tmp_path: Path) -> None:
    assert counted(tmp_path, tokens=100, output=5, read=9_000, write=50)[0] == [(100, 9_000, 50, 5, None)]


def test_four_zeros_are_no_call_and_no_cost_is_no_zero(tmp_path: Path) -> None:
    assert counted(tmp_path, tokens=0, output=0, cost=0)[0] == []
    assert counted(tmp_path, tokens=1, output=0)[0] == [(1, 0, 0, 0, None)]
    assert counted(tmp_path, tokens=1, output=0, cost=0)[0] == [(1, 0, 0, 0, 0)]
    assert counted(tmp_path, tokens=1, output=0, cost=0.0019875000000000014)[0] == [(1, 0, 0, 0, 1_987_500)]


BAD_COUNTS = [
    float("nan"),
    float("inf"),
    1e300,
    10**30,
    10**400,
    -1,
    -0.5,
    "1000",
    "²",
    True,
    [],
    {},
    "\ud800",
]


@pytest.mark.parametrize("bad", BAD_COUNTS, ids=lambda bad: repr(bad)[:20])
def test_a_count_that_cannot_be_is_refused_and_named(tmp_path: Path, bad: Any) -> None:
    found, record = counted(tmp_path, tokens=bad, output=7, cost=0.5)
    assert found == [(0, 0, 0, 7, 500_000_000)]
    assert len(record.session.fidelity.refused) == 1
    assert messages(record) == [("user", "Hello"), ("assistant", "Hi")]


@pytest.mark.parametrize("bad", [*BAD_COUNTS, 1e6], ids=lambda bad: repr(bad)[:20])
def test_a_cost_that_cannot_be_is_refused_and_named(tmp_path: Path, bad: Any) -> None:
    found, record = counted(tmp_path, tokens=10, output=7, cost=bad)
    assert found == [(10, 0, 0, 7, None)]
    assert len(record.session.fidelity.refused) == 1


def test_absent_counts_are_not_refused(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    session.reply("Hi", metrics={"inputTokens": 5, "outputTokens": None})
    record = session.read()
    assert [(call.fresh, call.output) for call in record.calls] == [(5, 0)]
    assert record.session.fidelity.refused == ()


def test_one_id_on_three_calls_is_three_calls(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    for number in range(3):
        session.reply(f"Answer {number}", id="msg_same", metrics=metrics(tokens=100 + number))
    assert [(call.key.rpartition(":")[2], call.fresh) for call in calls(session)] == [
        ("msg_same", 100),
        ("msg_same~2", 101),
        ("msg_same~3", 102),
    ]


def test_a_childs_calls_count_and_carry_its_file_in_their_key(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Ask")
    session.reply(tool_use("call_1", "spawn_agent", {"task": "Count"}))
    child: Conversation = session.child("agent_1796026002000_abcdef")
    child.user("Count")
    child.reply("Three", id="msg_00000001")
    assert sorted(call.key for call in calls(session)) == [
        "cline-cli:1796026000000_abcde:agent_1796026002000_abcdef:msg_00000001",
        "cline-cli:1796026000000_abcde:msg_00000001",
    ]


GOOD_TIMES = {
    "milliseconds": START,
    "seconds": START // 1000,
    "seconds with a fraction": START / 1000,
    "microseconds": START * 1000,
    "nanoseconds": START * 1_000_000,
    "text": str(START),
    "ISO": iso(START),
    "ISO without a zone": iso(START).removesuffix("Z"),
    "ISO of another zone": "2026-11-30T17:06:40.000+09:00",
    "ISO with blanks around": f" {iso(START)} ",
}


@pytest.mark.parametrize("ts", GOOD_TIMES.values(), ids=GOOD_TIMES)
def test_a_time_in_any_unit_is_read(tmp_path: Path, ts: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Hello", ts=ts)
    record = session.read()
    assert record.steps[0].at == START
    assert record.steps[0].flags == ()


BAD_TIMES: list[Any] = [
    None,
    ...,
    -1,
    0,
    -START,
    1,
    float("nan"),
    float("inf"),
    1e300,
    10**30,
    10**400,
    True,
    "",
    "yesterday",
    "²",
    "9999999999999999999999999",
    "0001-01-01T00:00:00+14:00",
    "2026-13-45T99:00:00Z",
    [],
    {},
    "\ud800",
]


@pytest.mark.parametrize("ts", BAD_TIMES, ids=lambda ts: "absent" if ts is ... else repr(ts)[:24])
def test_a_time_that_is_none_is_the_nearest_one_and_marked(tmp_path: Path, ts: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    session.reply("Hi", ts=ts)
    session.reply("There")
    record = session.read()
    document(record)
    assert [(step.at or 0) - START for step in record.steps] == [1000, 1000, 3000]
    assert [step.flags for step in record.steps] == [(), ("time_inferred",), ()]
    assert [(call.at or 0) - START for call in record.calls] == [1000, 3000]
    named = [
        (entry.where + entry.value).startswith("/messages/1/ts") for entry in record.session.fidelity.refused
    ]
    assert named == ([] if ts in (None, ...) else [True])


@pytest.mark.parametrize("ts", [None, ..., -1], ids=["null", "absent", "negative"])
def test_a_first_message_without_a_time_takes_the_next_plausible_one(tmp_path: Path, ts: Any) -> None:
    session = Session(tmp_path)
    session.manifest = None
    session.prompt("Hello", ts=ts)
    session.reply("Hi", ts=ts)
    session.reply("There")
    record = session.read()
    assert [(step.at or 0) - START for step in record.steps] == [3000, 3000, 3000]
    assert [step.flags for step in record.steps] == [("time_inferred",), ("time_inferred",), ()]


def test_times_that_go_backwards_are_kept_in_the_order_of_the_file(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("One", ts=START + 5000)
    session.reply("Two", ts=START + 1000)
    session.prompt("Three", ts=START + 3000)
    record = session.read()
    assert [text for _, text in messages(record)] == ["One", "Two", "Three"]
    assert [(step.at or 0) - START for step in record.steps] == [5000, 1000, 3000]


def test_of_very_many_bad_values_some_are_named_and_the_others_counted(tmp_path: Path) -> None:
    session = Session(tmp_path)
    for number in range(1000):
        session.prompt(f"Prompt {number}", ts=-1)
    fidelity = session.read().session.fidelity
    assert 1 <= len(fidelity.refused) < 1000
    assert len(fidelity.refused) + fidelity.unknown["refused values"] == 1000
