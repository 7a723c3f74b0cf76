"""A command still at work when it is captured: its step is there at once, and its result lands later."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .conftest import Stage
from .model import Reply, Script, ToolCall
from .watching import Record, step

pytestmark = pytest.mark.real_cline

COMMAND = "while [ ! -e go ]; do sleep 0.05; done; echo went"


@dataclass
class Flight:
    """The archive's view while the command worked, and after it."""

    session_id: str
    working: Record
    state: str
    landed: Record


@pytest.fixture(scope="module")
def flight(stage: Stage) -> Flight:
    call = ToolCall("wait", "run_commands", {"commands": ["echo first", COMMAND]})
    stage.model.play(Script([Reply("Waiting.", calls=(call,)), Reply("It went.")]))
    process = stage.cline.start("Wait for me")
    session_id = stage.cline.writing(2)
    working = stage.backstory.settled(session_id)
    state = stage.backstory.listed(session_id)["state"]
    (stage.cline.project / "go").touch()
    assert process.wait(30) == 0
    return Flight(session_id, working, state, stage.backstory.settled(session_id))


def test_a_call_without_result_is_a_step_of_unknown_outcome(flight: Flight) -> None:
    waiting = step(flight.working, "wait#1")
    assert waiting["type"] == "command"
    assert waiting["payload"]["command"] == COMMAND
    assert waiting["payload"]["exit_code"] is None
    assert waiting["payload"]["stdout"] is None
    assert (waiting["outcome"], waiting["error"], waiting["ended_at"]) == ("unknown", None, None)


def test_the_session_counts_as_running(flight: Flight) -> None:
    assert flight.state == "running"
    assert flight.working["session"]["ended_at"] is None


def test_the_result_lands_in_the_step_that_was_there(flight: Flight) -> None:
    waited = step(flight.landed, "wait#1")
    assert waited["payload"]["stdout"] == "went\n"
    assert waited["payload"]["exit_code"] == 0
    assert waited["outcome"] == "ok"
    assert step(flight.landed, "wait#0")["payload"]["stdout"] == "first\n"
    ids = [taken["id"] for taken in flight.landed["steps"]]
    assert len(ids) == len(set(ids)) == 5
    assert not any(taken["superseded"] for taken in flight.landed["steps"])


def test_what_grew_is_what_a_single_reading_gives(stage: Stage, flight: Flight) -> None:
    assert stage.backstory.read_at_once(flight.session_id) == flight.landed
