"""Patches, which Cline offers to GPT models in place of the editor: one edit a file of the patch."""

from __future__ import annotations

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall
from .watching import step, steps_of

pytestmark = pytest.mark.real_cline

MODEL = "gpt-5-mock"

FIRST = """*** Begin Patch
*** Update File: hello.py
@@
-print('hi')
+print('patched')
*** Add File: added.txt
+one
+two
*** End Patch"""

SECOND = """*** Begin Patch
*** Delete File: added.txt
*** Update File: src/widget.ts
*** Move to: src/gadget.ts
@@
-export const widget = 1;
+export const widget = 2;
*** End Patch"""

FAILED = """*** Begin Patch
*** Update File: hello.py
@@
-nothing like this stands there
+x
*** End Patch"""


def script() -> Script:
    return Script(
        [
            Reply("Patching.", calls=(ToolCall("first", "apply_patch", {"input": FIRST}),)),
            Reply(
                "Moving on.",
                calls=(
                    ToolCall("second", "apply_patch", {"input": SECOND}),
                    ToolCall("failed", "apply_patch", {"input": FAILED}),
                    ToolCall("broken", "apply_patch", "*** Begin Patch\n*** End Patch"),
                ),
            ),
            Reply("Patched."),
        ]
    )


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    return stage.play("Use apply_patch", scripts=(script(),), model=MODEL)


def test_one_edit_a_file(scene: Scene) -> None:
    edits = [
        (edit["id"], edit["payload"]["operation"], edit["payload"]["path"], edit["outcome"])
        for edit in steps_of(scene.record, "edit")
    ]
    assert edits == [
        ("first#0", "patch", "hello.py", "ok"),
        ("first#1", "create", "added.txt", "ok"),
        ("second#0", "delete", "added.txt", "ok"),
        ("second#1", "move", "src/widget.ts", "ok"),
        ("failed#0", "patch", "hello.py", "failed"),
    ]


def test_what_an_edit_says_is_on_disk(stage: Stage, scene: Scene) -> None:
    project = stage.cline.project
    move, add = step(scene.record, "second#1")["payload"], step(scene.record, "first#1")["payload"]
    assert (project / "hello.py").read_text() == "print('patched')\n"
    assert move["move_to"] == "src/gadget.ts"
    assert (project / move["move_to"]).read_text() == "export const widget = 2;\n"
    assert not (project / move["path"]).exists()
    assert not (project / add["path"]).exists()
    assert add["new_string"].rstrip("\n") == "one\ntwo"
    assert add["is_full_write"]


def test_lines_of_a_patch_are_counted(scene: Scene) -> None:
    update, add = step(scene.record, "first#0")["payload"], step(scene.record, "first#1")["payload"]
    assert (update["added"], update["removed"]) == (1, 1)
    assert (add["added"], add["removed"]) == (2, 0)


def test_a_patch_that_does_not_fit_fails(scene: Scene) -> None:
    failed = step(scene.record, "failed#0")
    assert "Could not find matching context" in failed["error"]["message"]
    assert "+x" in failed["payload"]["hunks"]


def test_arguments_that_are_no_json_are_kept_as_a_failure(scene: Scene) -> None:
    broken = step(scene.record, "broken#0")
    assert broken["type"] == "other"
    assert broken["payload"]["tool_name"] == "apply_patch"
    assert broken["outcome"] == "failed"
    assert broken["error"]["kind"] == "invalid_input"


def test_the_model_is_named(scene: Scene) -> None:
    assert scene.record["session"]["model"] == MODEL
    assert {call["model"] for call in scene.record["calls"]} == {MODEL}
