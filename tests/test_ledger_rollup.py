"""A session whose messages tell no tokens has Cline's own sum as its call, until a message of the lead tells some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ledgers import (
    ANTHROPIC,
    CENT,
    HOUR,
    Total,
    counted,
    forked,
    imported,
    paid,
    rewritten,
    rows,
    spoken,
    stored,
    total,
)
from sessions import START, Session, archive, iso

USAGE = {"inputTokens": 5100, "outputTokens": 400, "cacheReadTokens": 3000, "cacheWriteTokens": 2000}
MORE = {
    "inputTokens": 90_000,
    "outputTokens": 900,
    "cacheReadTokens": 0,
    "cacheWriteTokens": 0,
    "totalCost": 9.0,
}
ZERO = dict.fromkeys(USAGE, 0)


def untold(root: Path, usage: Any = USAGE, **more: Any) -> Session:
    """A session whose answer has no counts, with a manifest that has these sums; an ellipsis leaves them out."""
    session = Session(root)
    session.prompt("Hello")
    session.reply("Hi", metrics=..., modelInfo=ANTHROPIC)
    assert session.manifest is not None
    sums = {"usage": usage, "aggregateUsage": MORE, "totalCost": 1.0, "aggregatedAgentsCost": 9.0, **more}
    session.manifest["metadata"] |= {key: value for key, value in sums.items() if value is not ...}
    session.manifest |= {"provider": "anthropic", "model": "claude-sonnet-4-5"}
    return session


def test_the_sum_stands_for_the_session(tmp_path: Path) -> None:
    session = untold(tmp_path / "sessions", {**USAGE, "totalCost": 0.0147})
    assert session.manifest is not None
    session.manifest |= {"ended_at": iso(START + 9000), "status": "completed"}
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = rows(kept)
    assert call.key == f"cline-cli:{session.session_id}:usage"
    assert (call.message_id, call.actor_id, call.counts) == ("usage", "root", (100, 3000, 2000, 400))
    assert (call.counted, call.kind, call.amount) == (1, "reported", 14_700_000)
    assert (call.route, call.name, call.at) == ("anthropic", "claude-sonnet-4-5", START + 9000)


@pytest.mark.parametrize("cost", [..., 0, None, float("nan"), -1, "0.5"], ids=repr)
def test_a_sum_without_a_cost_is_estimated_as_any_call(tmp_path: Path, cost: Any) -> None:
    """A total of 0 is what Cline writes for what it could not price."""
    usage = {key: value for key, value in {**USAGE, "totalCost": cost}.items() if value is not ...}
    session = untold(tmp_path / "sessions", usage).write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(1, 100, 3000, 2000, 400, estimated=14_700_000)


NONE = {"absent": ..., "null": None, "zeros": ZERO, "a list": [1], "text": "5100", "empty": {}}


@pytest.mark.parametrize("usage", NONE.values(), ids=NONE)
def test_the_aggregates_are_never_taken(tmp_path: Path, usage: Any) -> None:
    session = untold(tmp_path / "sessions", usage).write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert rows(kept) == []


def test_it_goes_when_a_message_of_the_lead_has_tokens(tmp_path: Path) -> None:
    session = untold(tmp_path / "sessions", {**USAGE, "totalCost": 0.0147})
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [call.message_id for call in counted(kept)] == ["usage"]
        session.reply("More", id="more", metrics=paid(0.01))
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert [call.message_id for call in rows(kept)] == ["more"]
        assert total(kept) == Total(1, 1000, 0, 0, 50, reported=CENT)


def test_it_grows_with_the_manifest_alone(tmp_path: Path) -> None:
    session = untold(tmp_path / "sessions", ...)
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert rows(kept) == []
        assert session.manifest is not None
        for turn in (1, 2):
            session.manifest["metadata"]["usage"] = {
                **USAGE,
                "outputTokens": 400 * turn,
                "totalCost": 0.01 * turn,
            }
            rewritten(session, START // 1000 + 60 * turn)
            kept.sync([session.root])
            assert total(kept) == Total(1, 100, 3000, 2000, 400 * turn, reported=CENT * turn)


def test_it_does_not_come_when_messages_told_tokens_and_left(tmp_path: Path) -> None:
    """The call of a message that is gone was made and counts; the sum would count it again."""
    session = untold(tmp_path / "sessions")
    session.reply("More", id="more", metrics=paid(0.01))
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        session.messages.pop()
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert [(call.message_id, call.counted, call.superseded) for call in rows(kept)] == [("more", 1, 1)]


def test_four_zeros_in_the_messages_do_not_take_its_place(tmp_path: Path) -> None:
    session = untold(tmp_path / "sessions")
    session.reply("Cut", metrics={**ZERO, "cost": 0})
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [call.message_id for call in rows(kept)] == ["usage"]


def test_a_child_tells_its_own_and_the_lead_has_its_sum(tmp_path: Path) -> None:
    session = untold(tmp_path / "sessions", {**USAGE, "totalCost": 0.0147})
    child = session.child("agent_1796026002000_abcdef")
    child.user("Count")
    child.reply("Three", metrics=paid(0.2))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).reported == 14_700_000 + 20 * CENT
        assert {call.actor_id for call in counted(kept)} == {"root", "agent_1796026002000_abcdef"}


def test_the_sum_of_an_import_does_not_count(tmp_path: Path) -> None:
    session = imported(tmp_path / "sessions", "1796026000000_V-xYz", START)
    spoken(session, 0, metrics=...)
    assert session.manifest is not None
    session.manifest["metadata"]["usage"] = {**USAGE, "totalCost": 0.0147}
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [call.counted for call in rows(kept)] == [0]


def test_sums_of_sessions_are_no_copies_of_each_other(tmp_path: Path) -> None:
    for number in range(2):
        session = untold(tmp_path / "sessions")
        session.session_id = f"179602600000{number}_abcde"
        session.folder = session.root / session.session_id
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        assert total(kept).calls == 2


@pytest.mark.parametrize("count", [float("nan"), 1e300, -1, "5100", 10**30], ids=repr)
def test_a_sum_that_cannot_be_is_refused_alone(tmp_path: Path, count: Any) -> None:
    session = untold(tmp_path / "sessions", {**USAGE, "inputTokens": count}).write()
    with archive(tmp_path) as kept:
        assert kept.sync([session.root]).failed == []
        (call,) = rows(kept)
    assert call.counts[1:] == (3000, 2000, 400)
    assert call.fresh == 0


@pytest.mark.parametrize("told", [True, False], ids=["beside others", "alone"])
def test_a_message_that_is_called_usage_is_a_message(tmp_path: Path, told: bool) -> None:
    """Its key is that of a sum, and it is none: not replaced, not taken away, and once where it was copied."""
    session = untold(tmp_path / "sessions", {**USAGE, "totalCost": 0.0147})
    session.reply("Hi", id="usage", metrics=paid(0.01))
    if told:
        session.reply("More", id="more", metrics=paid(0.02))
    fork = forked(session, "1796029600000_forkd", START + HOUR)
    for own in (session, fork):
        own.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        expected = [("usage", CENT), ("more", 2 * CENT)] if told else [("usage", CENT)]
        found = [(call.message_id, call.amount) for call in counted(kept)]
        assert sorted(found) == sorted(expected)


def test_before_and_after_are_the_same_as_at_once(tmp_path: Path) -> None:
    """However the sum came and went, what stands is as if all were read now."""
    session = untold(tmp_path / "sessions")
    with archive(tmp_path) as kept:
        rewritten(session, START // 1000)
        kept.sync([session.root])
        session.prompt("And now?")
        session.reply("This", metrics=paid(0.02))
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        followed = stored(kept)
    with archive(tmp_path / "fresh") as kept:
        kept.sync([session.root])
        assert followed == stored(kept)
    assert len(followed) == 1


def test_a_fork_that_repeats_the_sum_of_its_origin_adds_nothing(tmp_path: Path) -> None:
    """Cline seeds a fork's sum from the copied messages; here they told nothing, so it is what came afterwards."""
    origin = untold(tmp_path / "sessions", {**USAGE, "totalCost": 0.0147}).write()
    fork = Session(origin.root, "1796029600000_forkd", START + HOUR)
    fork.messages = list(origin.messages)
    assert fork.manifest is not None
    fork.manifest["metadata"]["usage"] = ZERO | {"totalCost": 0}
    fork.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert total(kept) == Total(1, 100, 3000, 2000, 400, reported=14_700_000)
