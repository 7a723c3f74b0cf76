"""Reading what changed gives the same as reading all: however a session grew, the archive equals a fresh reading."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from growth import GrowingSession, conversation, growing_states
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory import Archive, read_session
from backstory.schema.document import record_json

NOW = 1_800_000_000_000


def archive_at(path: Path) -> Archive:
    return Archive(path / "home" / "archive.db", env={"HOME": str(path)}, now=lambda: NOW)


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """A record without what only an archive knows: calls that were made stay, whatever became of their message."""
    kept: dict[str, Any] = json.loads(json.dumps(document))
    kept["calls"] = [call for call in kept["calls"] if "superseded" not in call["flags"]]
    for call in kept["calls"]:
        call.pop("settled")
    for name in ("totals", "copied_from", "gone"):
        kept["session"].pop(name)
    return kept


def assert_equal_to_fresh(archive: Archive, session: GrowingSession) -> None:
    stored = comparable(record_json(archive.record(session.id)))
    fresh = comparable(record_json(read_session(session.folder, env={})))
    assert stored == fresh


def test_every_state_of_the_growing_recording(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    for state in growing_states():
        session.put(state)
        archive.sync([tmp_path / "sessions"])
        if state.strip():
            assert_equal_to_fresh(archive, session)


@pytest.mark.parametrize("stride", [2, 7, 23])
def test_some_states_of_the_growing_recording(tmp_path: Path, stride: int) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    for state in [*growing_states()[::stride], growing_states()[-1]]:
        session.put(state)
        archive.sync([tmp_path / "sessions"])
    assert_equal_to_fresh(archive, session)


def test_a_finished_call_is_completed_in_place(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    asked = {"id": "msg_1", "role": "assistant", "ts": NOW - 5000, "content": [
        {"type": "tool_use", "id": "c", "name": "run_commands", "input": {"commands": ["make"]}},
    ]}  # fmt: skip
    came = {"id": "msg_2", "role": "user", "ts": NOW - 4000, "content": [
        {"type": "tool_result", "tool_use_id": "c", "name": "run_commands",
         "content": [{"query": "make", "result": "built", "success": True}]},
    ]}  # fmt: skip
    session.document([asked])
    archive.sync([tmp_path / "sessions"])
    (open_call,) = archive.record(session.id).steps
    assert open_call.outcome == "unknown"
    session.document([asked, came])
    archive.sync([tmp_path / "sessions"])
    (done,) = archive.record(session.id, superseded=True).steps
    assert (done.id, done.outcome, done.ended_at) == (open_call.id, "ok", NOW - 4000)
    assert [hit.step.id for found in archive.search("built").sessions for hit in found.hits] == ["c#0"]


def test_late_metrics_of_the_last_reply_make_a_call_and_no_new_step(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    reply: dict[str, Any] = {
        "id": "m",
        "role": "assistant",
        "ts": NOW,
        "content": [{"type": "text", "text": "done"}],
    }
    session.document([reply])
    archive.sync([tmp_path / "sessions"])
    assert archive.record(session.id).calls == ()
    session.document([{**reply, "metrics": {"inputTokens": 7, "outputTokens": 1}}])
    report = archive.sync([tmp_path / "sessions"])
    record = archive.record(session.id, superseded=True)
    assert report.new_steps == 0
    assert [(call.fresh, call.output) for call in record.calls] == [(7, 1)]
    assert len(record.steps) == 1


def test_hook_context_spliced_before_the_last_message(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    messages = conversation(random.Random(4), 3)
    while messages[-1]["role"] != "assistant":
        messages.pop()
    session.document(messages)
    archive.sync([tmp_path / "sessions"])
    hook = {"id": "msg_hook", "role": "user", "ts": NOW, "metadata": {"userRunSpan": 0, "displayRole": "system"},
            "content": [{"type": "text", "text": '<hook_context source="x">\nx\n</hook_context>'}]}  # fmt: skip
    session.document([*messages[:-1], hook, messages[-1]])
    archive.sync([tmp_path / "sessions"])
    assert_equal_to_fresh(archive, session)
    flags = [step.flags for step in archive.record(session.id).steps]
    assert sum("hook_context" in own for own in flags) == 1


def test_a_message_that_leaves_is_superseded_and_kept(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    messages = conversation(random.Random(5), 2)
    session.document(messages)
    archive.sync([tmp_path / "sessions"])
    before = {step.id for step in archive.record(session.id).steps}
    session.document(messages[:1])
    archive.sync([tmp_path / "sessions"])
    assert_equal_to_fresh(archive, session)
    everything = archive.record(session.id, superseded=True).steps
    assert {step.id for step in everything} == before
    assert {step.id for step in everything if step.superseded} == before - {
        step.id for step in archive.record(session.id).steps
    }
    session.document(messages)
    archive.sync([tmp_path / "sessions"])
    assert not [step for step in archive.record(session.id, superseded=True).steps if step.superseded]


def test_a_changed_text_keeps_both_versions(tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    for text in ("first words", "second words", "third words"):
        session.document(
            [{"id": "m", "role": "assistant", "ts": NOW, "content": [{"type": "text", "text": text}]}]
        )
        archive.sync([tmp_path / "sessions"])
    versions = {
        step.id: (step.payload.text, step.superseded)
        for step in archive.record(session.id, superseded=True).steps
    }
    assert versions == {
        "m#0": ("third words", False),
        "m#0^1": ("first words", True),
        "m#0^2": ("second words", True),
    }


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.floats(0, 1), max_size=6), late=st.booleans())
def test_any_split_of_a_generated_session(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[float], late: bool
) -> None:
    tmp_path = tmp_path_factory.mktemp("split")
    session = GrowingSession(tmp_path / "sessions")
    archive = archive_at(tmp_path)
    messages = conversation(random.Random(seed), 1 + seed % 4)
    for share in sorted(cuts):
        shown = [dict(message) for message in messages[: int(share * len(messages))]]
        if late and shown:
            shown[-1].pop("metrics", None)
        session.document(shown)
        archive.sync([tmp_path / "sessions"])
        assert_equal_to_fresh(archive, session)
    session.document(messages)
    archive.sync([tmp_path / "sessions"])
    assert_equal_to_fresh(archive, session)
    again = archive.sync([tmp_path / "sessions"])
    assert (again.changed, again.new_steps) == (0, 0)
    ids = [step.id for step in archive.record(session.id, superseded=True).steps]
    assert len(ids) == len(set(ids))
    archive.close()
