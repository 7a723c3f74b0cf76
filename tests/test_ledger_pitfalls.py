"""What other tools get wrong about tokens and money, case by case, with the right figure."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ledgers import (
    ANTHROPIC,
    CENT,
    HOUR,
    UNKNOWN,
    Total,
    copied,
    counted,
    forked,
    imported,
    paid,
    rewritten,
    rows,
    spoken,
    talk,
    total,
)
from sessions import START, Session, archive, metrics, pretty, tool_use

HOME = "backstory"


def one(tmp_path: Path, counts: dict[str, Any], model: dict[str, str]) -> Session:
    """A session with one call, on disk."""
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Hi", metrics=counts, modelInfo=model)
    return session.write()


def test_ten_thousand_in_of_which_nine_thousand_cached(tmp_path: Path) -> None:
    session = one(tmp_path, metrics(10_000, 50, read=9_000), ANTHROPIC)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        found = total(kept)
    assert (found.input, found.fresh, found.cache_read) == (10_000, 1_000, 9_000)
    assert found.cache_read / found.input == 0.9


@pytest.mark.parametrize(
    "model",
    [
        ANTHROPIC,
        {"id": "anthropic/claude-sonnet-4.5", "provider": "openrouter"},
        {"id": "claude-sonnet-4-5@20250929", "provider": "vertex"},
    ],
    ids=lambda model: model["provider"],
)
def test_a_hundred_thousand_in_without_a_cost_are_five_cents(tmp_path: Path, model: dict[str, str]) -> None:
    session = one(tmp_path, metrics(100_000, 500, read=95_000), model)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = counted(kept)
    assert (call.kind, call.amount, call.nano) == ("estimated", 51_000_000, None)
    assert (call.name, call.model) == ("claude-sonnet-4-5", model["id"])
    assert "genai-prices" in (call.price or "")


COVERED = [
    ({"id": "cline-pass/glm-5.2", "provider": "cline-pass"}, "glm-5.2"),
    ({"id": "cline-free/glm-5.2", "provider": "cline"}, "glm-5.2"),
    ({"id": "z-ai/glm-5.2:free", "provider": "openrouter"}, "glm-5.2"),
    ({"id": "claude-sonnet-4-5", "provider": "claude-code"}, "claude-sonnet-4-5"),
    ({"id": "gpt-5.2-codex", "provider": "openai-codex"}, "gpt-5.2-codex"),
    ({"id": "qwen3-coder:30b", "provider": "ollama"}, "qwen3-coder-30b"),
]


@pytest.mark.parametrize(("model", "name"), COVERED, ids=lambda value: str(value)[:40])
def test_what_a_subscription_or_a_free_route_pays_is_no_spend(
    tmp_path: Path, model: dict[str, str], name: str
) -> None:
    session = one(tmp_path, metrics(100_000, 500, read=95_000), model)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = counted(kept)
        found = total(kept)
    assert (call.kind, call.name) == ("covered", name)
    assert (found.reported, found.estimated, found.unpriced) == (0, 0, 0)
    assert (found.calls, found.input, found.output) == (1, 100_000, 500)


def test_the_list_value_of_a_covered_call_is_kept_apart(tmp_path: Path) -> None:
    model = {"id": "claude-sonnet-4-5", "provider": "claude-code"}
    session = one(tmp_path, metrics(100_000, 500, read=95_000), model)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(1, 5_000, 95_000, 0, 500, covered=51_000_000)


def test_a_covered_call_without_a_list_price_has_no_value_and_not_zero(tmp_path: Path) -> None:
    session = one(tmp_path, metrics(), {"id": "my-own-model", "provider": "ollama"})
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = counted(kept)
    assert (call.kind, call.amount, call.price) == ("covered", None, None)


@pytest.mark.parametrize("model", [ANTHROPIC, COVERED[0][0], UNKNOWN], ids=lambda model: model["provider"])
@pytest.mark.parametrize(("cost", "nano"), [(0.01, CENT), (0, 0)])
def test_a_recorded_cost_is_never_estimated_as_well(
    tmp_path: Path, model: dict[str, str], cost: float, nano: int
) -> None:
    """Nor is it reckoned anew when the user has a price for that model; a recorded 0 is a cost too."""
    session = one(tmp_path, paid(cost, 100_000, 500), model)
    settings = tmp_path / HOME / "config.toml"
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (before,) = counted(kept)
        settings.write_text(f'[prices."{model["id"]}"]\ninput = 1\noutput = 5\n')
        (after,) = counted(kept)
        found = total(kept)
    for call in (before, after):
        assert (call.kind, call.amount, call.price) == ("reported", nano, None)
    assert (found.reported, found.estimated, found.covered, found.unpriced) == (nano, 0, 0, 0)


def test_an_unknown_model_has_no_price_and_shows_its_tokens(tmp_path: Path) -> None:
    session = one(tmp_path, metrics(10_000, 50, read=9_000), UNKNOWN)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (call,) = counted(kept)
        found = total(kept)
    assert (call.kind, call.amount, call.price, call.name) == ("unpriced", None, None, "in-house-coder")
    assert found == Total(1, 1_000, 9_000, 0, 50, unpriced=1)


def test_a_price_of_the_users_own_is_taken_at_once_and_given_back(tmp_path: Path) -> None:
    session = one(tmp_path, metrics(1_000_000, 100_000), UNKNOWN)
    settings = tmp_path / HOME / "config.toml"
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept).unpriced == 1
        settings.write_text('[prices."in-house-coder"]\ninput = 1.0\noutput = 5.0\n')
        (call,) = counted(kept)
        assert (call.kind, call.amount, call.price) == ("estimated", 1_500_000_000, "config.toml")
        settings.write_text('covered = ["in-house-coder"]\n')
        (call,) = counted(kept)
        assert (call.kind, call.amount) == ("covered", None)
        settings.unlink()
        assert [call.kind for call in counted(kept)] == ["unpriced"]


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_fork_of_five_calls_and_one_more_is_six(tmp_path: Path, newest_first: bool) -> None:
    origin = talk(tmp_path / "sessions", "1796026000000_origi", START, 5)
    fork = forked(origin, "1796029600000_forkd", START + HOUR)
    fork.reply("One more", id="fork-0", metrics=paid(0.01))
    with archive(tmp_path) as kept:
        for session in (fork, origin) if newest_first else (origin, fork):
            session.write()
            kept.sync([session.root])
        found = counted(kept)
        listed = rows(kept)
        assert total(kept) == Total(6, 6_000, 0, 0, 300, reported=6 * CENT)
    assert [(call.session_id, call.message_id) for call in found] == [
        *((origin.session_id, f"{origin.session_id}-{number}") for number in range(5)),
        (fork.session_id, "fork-0"),
    ]
    assert len(listed) == 11


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_rewind_is_counted_once_though_nothing_marks_it(tmp_path: Path, newest_first: bool) -> None:
    origin = talk(tmp_path / "sessions", "1796026000000_origi", START, 5)
    rewind = copied(origin, "1796029600000_rewin", START + HOUR, messages=4)
    rewind.reply("Another way", id="rewind-0", metrics=paid(0.02))
    with archive(tmp_path) as kept:
        for session in (rewind, origin) if newest_first else (origin, rewind):
            session.write()
            kept.sync([session.root])
        assert total(kept) == Total(6, 6_000, 0, 0, 300, reported=7 * CENT)


def test_an_import_is_left_to_its_owner_and_what_was_typed_afterwards_counts(tmp_path: Path) -> None:
    session = imported(tmp_path / "sessions", "1796026000000_V-xYz", START)
    for number in range(3):
        spoken(session, number)
    session.prompt("Go on here", id="typed")
    session.reply("Going on", id="typed-0", metrics=paid(0.01))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        found = rows(kept)
        assert total(kept) == Total(1, 1_000, 0, 0, 50, reported=CENT)
    assert [(call.counts, call.counted) for call in found] == [
        *[((400, 9000, 0, 20), 0)] * 3,
        ((1_000, 0, 0, 50), 1),
    ]
    assert [call.flags for call in found] == [*["net_input imported"] * 3, None]


def family(root: Path) -> Session:
    """A lead that spends a cent, its subagent that spends twenty and its teammate that spends ten."""
    session = Session(root)
    session.prompt("Ask")
    spawned = tool_use("call_1", "spawn_agent", {"task": "Count"})
    session.reply(spawned, tool_use("call_2", "team_run_task", {"task": "Write"}), metrics=paid(0.01))
    child = session.child("agent_1796026002000_abcdef")
    child.user("Count")
    child.reply("Three", metrics=paid(0.2))
    mate = session.child("writer__pNdMXr", "teammate")
    mate.user("Write")
    mate.reply("Written", id="msg_mate", metrics=paid(0.1))
    # What Cline's own totals hold: the subagent of a live run is in neither, the teammate in the aggregate.
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    assert session.manifest is not None
    session.manifest["metadata"] |= {
        "usage": {**usage, "totalCost": 0.01},
        "aggregateUsage": {**usage, "inputTokens": 2000, "totalCost": 0.11},
        "totalCost": 0.01,
        "aggregatedAgentsCost": 0.11,
    }
    return session


def test_lead_subagent_and_teammate_together(tmp_path: Path) -> None:
    """The subagent's message has an id of the lead's, and is another call."""
    session = family(tmp_path / "sessions").write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert total(kept) == Total(3, 3_000, 0, 0, 150, reported=310_000_000)
        assert [(call.actor_id, call.amount) for call in counted(kept)] == [
            ("agent_1796026002000_abcdef", 200_000_000),
            ("root", 10_000_000),
            ("writer__pNdMXr", 100_000_000),
        ]


def test_a_running_session_is_right_to_the_last_call(tmp_path: Path) -> None:
    """The manifest does not move while a turn runs; the files of lead and child do, each at its own time."""
    session = talk(tmp_path / "sessions", "1796026000000_runng", START, 1)
    session.write()
    manifest = session.manifest_file.stat()
    child = session.child("agent_1796026002000_abcdef")
    child.user("Count")
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        for number in range(1, 4):
            session.reply("Working", id=f"late-{number}", metrics=paid(0.01))
            session.file.write_bytes(session.data())
            kept.sync([session.root])
            assert total(kept).reported == (number + number) * CENT
            child.reply("Counting", id=f"child-{number}", metrics=paid(0.01))
            (session.folder / "agent_1796026002000_abcdef.messages.json").write_bytes(child.data())
            kept.sync([session.root])
            assert total(kept).reported == (1 + number + number) * CENT
        assert session.manifest_file.stat() == manifest
        assert session.manifest is not None
        session.manifest |= {"status": "completed"}
        session.manifest_file.write_bytes(pretty(session.manifest))
        kept.sync([session.root])
        assert total(kept).reported == 7 * CENT


def test_an_old_session_that_comes_back_is_in_its_own_days(tmp_path: Path) -> None:
    """A session of last year arrives when all days since were already added up."""
    year = 365 * 24 * HOUR
    new = talk(tmp_path / "sessions", "1796026000000_newer", START, 2).write()
    with archive(tmp_path) as kept:
        kept.sync([new.root])
        assert total(kept).reported == 2 * CENT
        rewritten(talk(tmp_path / "sessions", "1764490000000_older", START - year, 3), (START - year) // 1000)
        kept.sync([new.root])
        assert total(kept).reported == 5 * CENT
        assert sum((call.at or 0) < START for call in counted(kept)) == 3


def test_a_copied_folder_is_counted_once(tmp_path: Path) -> None:
    """As it is, in another root; and under another id, as a copy of a copy."""
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 3).write()
    other = tmp_path / "backup"
    shutil.copytree(session.folder, other / session.session_id)
    again = copied(session, "1796026000000_again", START)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        kept.sync([session.root, other])
        again.write()
        kept.sync([session.root, other])
        assert total(kept) == Total(3, 3_000, 0, 0, 150, reported=3 * CENT)


def test_a_restored_earlier_state_takes_no_call_away(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 2)
    early = rewritten(session, START // 1000).data()
    with archive(tmp_path) as kept:
        session.reply("Later", id="later", metrics=paid(0.05))
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        session.file.write_bytes(early)
        kept.sync([session.root])
        found = counted(kept)
        assert sum(call.amount or 0 for call in found) == 7 * CENT
        assert [call.superseded for call in found if call.message_id == "later"] == [1]
        rewritten(session, START // 1000 + 120)
        kept.sync([session.root])
        assert sum(call.amount or 0 for call in counted(kept)) == 7 * CENT
        assert not any(call.superseded for call in counted(kept))


@pytest.mark.parametrize("lost", ["folder", "messages", "empty", "cut"])
def test_what_cline_deletes_stays_spent(tmp_path: Path, lost: str) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 3).write()
    stays = talk(tmp_path / "sessions", "1796026000001_other", START + HOUR, 1).write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        if lost == "folder":
            shutil.rmtree(session.folder)
        elif lost == "messages":
            session.file.unlink()
        else:
            session.file.write_bytes(session.data()[: 900 if lost == "cut" else 0])
        for _ in range(2):
            kept.sync([stays.root])
            assert total(kept) == Total(4, 4_000, 0, 0, 200, reported=4 * CENT)
        assert kept.listed(session.session_id).session.gone == (lost == "folder")
