"""Cline killed in the middle of a model's answer: what came before is there, and no end is made up."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .conftest import Stage
from .model import Reply, Script, ToolCall, Usage
from .watching import Record, step, texts

pytestmark = pytest.mark.real_cline

PROMPT = "Be killed"


def script() -> Script:
    """A whole reply, then one that never ends."""
    return Script(
        [
            Reply(
                "Starting.",
                calls=(ToolCall("one", "run_commands", {"commands": ["echo step one"]}),),
                usage=Usage(1000, 50),
            ),
            Reply("Going on\nand on", stalls=True),
        ]
    )


@dataclass
class Killed:
    """The archive's view at three moments: streaming, dead but unnoticed, and noticed by Cline."""

    session_id: str
    streaming: Record
    dead: Record
    noticed: Record


@pytest.fixture(scope="module")
def killed(stage: Stage) -> Killed:
    stage.model.play(script())
    process = stage.cline.start(PROMPT)
    assert stage.model.stalled.wait(30), "Cline did not ask for the second reply"
    session_id = stage.cline.writing(3)
    streaming = stage.backstory.settled(session_id)
    process.kill()
    process.wait(10)
    dead = stage.backstory.show(session_id, sync=True)
    assert dead is not None
    assert [entry["status"] for entry in stage.cline.history()] == ["failed"]
    return Killed(session_id, streaming, dead, stage.backstory.settled(session_id))


def test_what_came_before_is_there(killed: Killed) -> None:
    assert texts(killed.dead, "user") == [PROMPT]
    assert texts(killed.dead, "assistant") == ["Starting."]
    command = step(killed.dead, "one#0")
    assert command["payload"]["stdout"] == "step one\n"
    assert command["outcome"] == "ok"


def test_it_was_there_while_the_model_still_answered(killed: Killed) -> None:
    assert killed.streaming["steps"] == killed.dead["steps"]


def test_no_end_is_made_up(killed: Killed) -> None:
    assert killed.dead["session"]["status"] == "running"
    assert killed.dead["session"]["ended_at"] is None
    assert killed.dead["session"]["terminal_marker"] is None
    assert killed.dead["segments"][-1]["ended_at"] is None


def test_the_answer_that_never_came_costs_nothing(stage: Stage, killed: Killed) -> None:
    (call,) = killed.dead["calls"]
    assert (call["tokens"]["input"], call["tokens"]["output"]) == (1000, 50)
    assert stage.model.spent() == Usage(1000, 50)


def test_once_cline_notices_the_status_follows(stage: Stage, killed: Killed) -> None:
    session, manifest = killed.noticed["session"], stage.cline.manifest(killed.session_id)
    assert session["status"] == "failed"
    assert session["ended_at"] == manifest["ended_at"]
    assert session["terminal_marker"] == "failed_external_process_exit"
    assert killed.noticed["steps"] == killed.dead["steps"]
    assert stage.backstory.listed(killed.session_id)["state"] == "interrupted"
