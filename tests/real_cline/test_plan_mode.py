"""Plan mode: the turn says so, and what the agent tried to change in it was refused."""

from __future__ import annotations

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall
from .watching import step, steps_of, texts

pytestmark = pytest.mark.real_cline

PROMPT = "Plan how to rename the greeting"


def script(stage: Stage) -> Script:
    """A plan, with a look at a file and an edit that plan mode does not offer."""
    hello = str(stage.cline.project / "hello.py")
    edit = {"path": hello, "old_text": "print('hi')", "new_text": "print('changed')"}
    return Script(
        [
            Reply("First I look.", calls=(ToolCall("look", "read_files", {"files": [{"path": hello}]}),)),
            Reply("I try to edit.", calls=(ToolCall("edit", "editor", edit),)),
            Reply("Here is the plan.\n1. Change hi to hello."),
        ]
    )


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    return stage.play(PROMPT, "-p", scripts=(script(stage),))


def test_the_turn_is_a_plan(scene: Scene) -> None:
    (turn,) = scene.record["turns"]
    assert turn["mode"] == "plan"
    assert texts(scene.record, "user") == [PROMPT]
    assert texts(scene.record, "assistant")[-1] == "Here is the plan.\n1. Change hi to hello."


def test_looking_is_allowed(scene: Scene) -> None:
    (read,) = steps_of(scene.record, "read")
    assert read["outcome"] == "ok"


def test_an_edit_in_plan_mode_failed_and_left_the_file_alone(stage: Stage, scene: Scene) -> None:
    edit = step(scene.record, "edit#0")
    assert edit["outcome"] == "failed"
    assert edit["error"]["kind"] == "invalid_input"
    assert "unavailable tool 'editor'" in edit["error"]["message"]
    assert (stage.cline.project / "hello.py").read_text() == "print('hi')\n"
