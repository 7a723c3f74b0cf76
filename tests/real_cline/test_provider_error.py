"""A provider that refuses in the middle of a task: the session ends in an error, which nobody said."""

from __future__ import annotations

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall, Usage
from .watching import steps_of, texts

pytestmark = pytest.mark.real_cline

REFUSAL = "The deployment is gone."


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    first = Reply(
        "Looking.",
        calls=(ToolCall("ls", "run_commands", {"commands": ["ls"]}),),
        usage=Usage(1000, 50),
    )
    return stage.play("Look around", scripts=(Script([first, Reply(refusal=REFUSAL)]),), exits=1)


def test_what_was_done_before_is_there(scene: Scene) -> None:
    (command,) = steps_of(scene.record, "command")
    assert command["outcome"] == "ok"
    assert texts(scene.record, "assistant") == ["Looking."]


def test_the_error_is_a_message_of_the_system(scene: Scene) -> None:
    error = scene.record["steps"][-1]
    assert error["payload"]["role"] == "system"
    assert error["payload"]["text"] == REFUSAL
    assert error["flags"] == ["error"]
    assert error["outcome"] == "failed"
    assert (error["decision"], error["error"]) == ("n/a", None)


def test_the_session_failed(stage: Stage, scene: Scene) -> None:
    session, manifest = scene.record["session"], stage.cline.manifest(scene.session_id)
    assert (session["status"], session["exit_code"]) == ("failed", 1)
    assert session["ended_at"] == manifest["ended_at"]
    listed = stage.backstory.listed(scene.session_id)
    assert (listed["state"], listed["error"]) == ("error", REFUSAL)


def test_a_refused_request_is_no_call(scene: Scene) -> None:
    (call,) = scene.record["calls"]
    assert (call["tokens"]["input"], call["tokens"]["output"]) == (1000, 50)
