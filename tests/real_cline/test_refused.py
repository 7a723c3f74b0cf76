"""Tools that nobody approved: without a terminal to ask on, Cline refuses each call, and nothing was run."""

from __future__ import annotations

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall
from .watching import step

pytestmark = pytest.mark.real_cline


def script(stage: Stage) -> Script:
    """One call of each kind of step, two commands in one of them."""
    root = stage.cline.project
    commands = {"commands": ["touch one", "touch two"]}
    create = {"path": str(root / "new.py"), "new_text": "x = 1\n"}
    hello = {"files": [{"path": str(root / "hello.py")}]}
    calls = (
        ToolCall("run", "run_commands", commands),
        ToolCall("create", "editor", create),
        ToolCall("look", "read_files", hello),
    )
    return Script([Reply("Working.", calls=calls), Reply("I may not.")])


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    return stage.play("Do not touch anything", "--auto-approve", "false", scripts=(script(stage),))


@pytest.mark.parametrize(
    ("step_id", "kind"),
    [("run#0", "command"), ("run#1", "command"), ("create#0", "edit"), ("look#0", "read")],
)
def test_each_call_was_refused(scene: Scene, step_id: str, kind: str) -> None:
    refused = step(scene.record, step_id)
    assert refused["type"] == kind
    assert refused["outcome"] == "failed"
    assert (refused["decision"], refused["decision_source"]) == ("rejected", "denial")
    assert refused["error"]["kind"] == "blocked"
    assert "requires approval in a TTY session" in refused["error"]["message"]


def test_a_refused_command_has_no_exit_code(scene: Scene) -> None:
    payload = step(scene.record, "run#1")["payload"]
    assert payload["command"] == "touch two"
    assert payload["exit_code"] is None
    assert payload["stdout"] is None


def test_nothing_was_done(stage: Stage, scene: Scene) -> None:
    names = {path.name for path in stage.cline.project.iterdir()}
    assert names == {".git", "hello.py", "src"}
    assert scene.record["session"]["totals"]["rejected"] == 4
