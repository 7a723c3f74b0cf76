"""A session that Cline ended and a person took up again: one session, two turns, two sittings."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .conftest import Stage
from .model import Reply, Script, Usage
from .watching import Record, texts

pytest.importorskip("pty", reason="Cline takes up a session only on a terminal")

from .terminal import Terminal

pytestmark = pytest.mark.real_cline


@dataclass
class Resumed:
    """The archive's view before, during and after the second sitting, and the end that stood between them."""

    session_id: str
    first: Record
    idle: Record
    state: str
    both: Record
    first_end: str


@pytest.fixture(scope="module")
def resumed(stage: Stage) -> Resumed:
    first = stage.play("What is here?", scripts=(Script([Reply("A greeting.", usage=Usage(1000, 10))]),))
    session_id = first.session_id
    end = stage.cline.manifest(session_id)["ended_at"]
    stage.model.play(Script([Reply("A widget.", usage=Usage(1100, 11, 900))]))
    with Terminal(stage.cline, "--id", session_id) as terminal:
        terminal.wait_for("A greeting.")
        terminal.prompt("What else?", lambda: bool(stage.model.requests))
        terminal.wait_until(lambda: len(stage.cline.messages(session_id)) == 4, "the second answer on disk")
        terminal.wait_until(lambda: stage.cline.manifest(session_id)["status"] == "idle", "the idle status")
        idle = stage.backstory.settled(session_id)
        state = stage.backstory.listed(session_id)["state"]
        assert terminal.quit() == 0
    return Resumed(session_id, first.record, idle, state, stage.backstory.settled(session_id), end)


def test_it_stays_one_session(stage: Stage, resumed: Resumed) -> None:
    assert stage.cline.session_ids() == {resumed.session_id}
    assert resumed.both["session"]["id"] == resumed.session_id
    assert texts(resumed.both, "user") == ["What is here?", "What else?"]
    assert texts(resumed.both, "assistant") == ["A greeting.", "A widget."]
    assert len(resumed.both["turns"]) == 2


def test_what_was_captured_before_stays_as_it_was(resumed: Resumed) -> None:
    known = len(resumed.first["steps"])
    assert resumed.both["steps"][:known] == resumed.first["steps"]
    assert resumed.both["calls"][:1] == resumed.first["calls"]


def test_the_second_turn_was_seen_while_the_terminal_was_open(resumed: Resumed) -> None:
    assert resumed.state == "idle"
    assert resumed.idle["steps"] == resumed.both["steps"]
    assert resumed.idle["calls"] == resumed.both["calls"]


def test_the_recorded_end_begins_a_second_sitting(resumed: Resumed) -> None:
    first, second = resumed.both["segments"]
    assert (first["start_reason"], first["inferred_from"]) == ("start", None)
    assert (second["start_reason"], second["inferred_from"]) == ("resume", "recorded_end")
    assert first["ended_at"] == resumed.first_end
    assert [turn["segment_index"] for turn in resumed.both["turns"]] == [1, 2]


def test_the_end_is_the_last_one(stage: Stage, resumed: Resumed) -> None:
    assert resumed.both["session"]["ended_at"] == stage.cline.manifest(resumed.session_id)["ended_at"]
    assert resumed.both["session"]["ended_at"] > resumed.first_end


def test_each_answer_is_one_call(resumed: Resumed) -> None:
    tokens = [call["tokens"] for call in resumed.both["calls"]]
    assert [(count["input"], count["cache_read"], count["output"]) for count in tokens] == [
        (1000, 0, 10),
        (1100, 900, 11),
    ]
