"""All file tools in one session: the record says what the model asked, Cline answered and the disk has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backstory.schema.document import iso

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall, Usage
from .watching import step, steps_of, texts

pytestmark = pytest.mark.real_cline

PROMPT = "Rename the greeting in hello.py"

FAILING = "echo seen; echo worse >&2; exit 3"

PAGE = "<html><head><title>Prices</title></head><body><p>A widget costs 12 crowns.</p></body></html>"


def script(stage: Stage) -> Script:
    """Every tool that works on files or pages, with a failure of each kind of tool."""
    root, url = stage.cline.project, stage.model.url
    hello, new = str(root / "hello.py"), str(root / "new.py")
    read = {"files": [{"path": hello, "start_line": 1, "end_line": 1}, {"path": str(root / "missing.py")}]}
    pages = [{"url": f"{url}/prices", "prompt": "summarise"}, {"url": f"{url}/gone", "prompt": "summarise"}]
    replace = {"path": hello, "old_text": "print('hi')", "new_text": "print('hello')\nprint('again')"}
    create = {"path": new, "new_text": "x = 1\ny = 2\n"}
    insert = {"path": new, "insert_line": 1, "new_text": "# made by hand"}
    failed = {"path": new, "old_text": "does not exist", "new_text": "z"}
    return Script(
        [
            Reply("Let me look.", "Files first.", (ToolCall("read", "read_files", read),), Usage(1200, 80)),
            Reply(
                "Running.",
                calls=(ToolCall("run", "run_commands", {"commands": ["echo out; echo err >&2", FAILING]}),),
                usage=Usage(2200, 90, 1000),
            ),
            Reply(
                "Editing.",
                calls=(ToolCall("replace", "editor", replace), ToolCall("create", "editor", create)),
                usage=Usage(3200, 120, 2000),
            ),
            Reply(
                "And more.",
                calls=(ToolCall("insert", "editor", insert), ToolCall("failed", "editor", failed)),
                usage=Usage(3250, 30, 2100),
            ),
            Reply(
                "Searching.",
                calls=(ToolCall("search", "search_codebase", {"queries": ["widget", "nothing_like_it"]}),),
                usage=Usage(3300, 20),
            ),
            Reply(
                "Fetching.",
                calls=(ToolCall("fetch", "fetch_web_content", {"requests": pages}),),
                usage=Usage(3350, 21),
            ),
            Reply("All done: renamed the greeting.", usage=Usage(3400, 60, 3300)),
        ]
    )


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    stage.model.pages["/prices"] = PAGE
    return stage.play(PROMPT, scripts=(script(stage),))


def test_what_was_said(scene: Scene) -> None:
    assert texts(scene.record, "user") == [PROMPT]
    assert texts(scene.record, "thinking") == ["Files first."]
    assert texts(scene.record, "assistant") == [
        "Let me look.",
        "Running.",
        "Editing.",
        "And more.",
        "Searching.",
        "Fetching.",
        "All done: renamed the greeting.",
    ]


def test_steps_stand_in_the_order_in_which_they_happened(scene: Scene) -> None:
    tools = [step["id"] for step in scene.record["steps"] if step["type"] != "message"]
    asked = ["read#0", "read#1", "run#0", "run#1", "replace#0", "create#0", "insert#0", "failed#0"]
    assert tools == [*asked, "search#0", "search#1", "fetch#0", "fetch#1"]
    assert [step["seq"] for step in scene.record["steps"]] == list(range(1, len(scene.record["steps"]) + 1))


def test_session_is_described_as_its_manifest_says(stage: Stage, scene: Scene) -> None:
    session, manifest = scene.record["session"], stage.cline.manifest(scene.session_id)
    assert session["id"] == scene.session_id
    assert session["surface"] == "cli"
    assert session["title"] == PROMPT
    assert session["cwd"] == str(stage.cline.project)
    assert session["project"] == stage.cline.project.name
    assert session["branch"] == "main"
    assert session["status"] == manifest["status"] == "completed"
    assert session["started_at"] == manifest["started_at"]
    assert session["ended_at"] == manifest["ended_at"]
    assert session["fidelity"]["whole"]
    assert not session["fidelity"]["unknown"]


def test_the_turn_knows_its_mode_and_its_checkpoint(stage: Stage, scene: Scene) -> None:
    (turn,) = scene.record["turns"]
    latest = stage.cline.manifest(scene.session_id)["metadata"]["checkpoint"]["latest"]
    assert turn["mode"] == "act"
    assert turn["checkpoint"]["ref"] == latest["ref"]
    assert turn["step_ids"] == [step["id"] for step in scene.record["steps"]]


def test_a_read_keeps_what_the_agent_saw(stage: Stage, scene: Scene) -> None:
    read = step(scene.record, "read#0")
    assert read["payload"]["path"] == str(stage.cline.project / "hello.py")
    assert read["payload"]["range"] == {"start": 1, "end": 1}
    assert "print('hi')" in read["payload"]["content"]
    assert read["outcome"] == "ok"
    assert read["error"] is None


def test_reading_a_missing_file_fails(stage: Stage, scene: Scene) -> None:
    missing = step(scene.record, "read#1")
    assert missing["payload"]["path"] == str(stage.cline.project / "missing.py")
    assert missing["outcome"] == "failed"
    assert missing["error"]["type"] == "cline_tool_error"
    assert "ENOENT" in missing["error"]["message"]
    assert missing["error"]["kind"] == "not_found"


def test_a_command_that_went_well(stage: Stage, scene: Scene) -> None:
    command = step(scene.record, "run#0")
    assert command["payload"]["command"] == "echo out; echo err >&2"
    assert command["payload"]["cwd"] == str(stage.cline.project)
    assert command["payload"]["exit_code"] == 0
    assert command["payload"]["stdout"].startswith("out\n")
    assert command["outcome"] == "ok"


def test_a_failing_command_has_its_exit_code_and_its_output(scene: Scene) -> None:
    command = step(scene.record, "run#1")
    assert command["payload"]["command"] == FAILING
    assert command["payload"]["exit_code"] == 3
    assert command["payload"]["stdout"].startswith("seen\n")
    assert "worse" in command["payload"]["stdout"]
    assert "Command exited with code" not in command["payload"]["stdout"]
    assert command["outcome"] == "failed"
    assert command["error"]["kind"] == "exit_code"


def test_edits_say_what_the_disk_has(stage: Stage, scene: Scene) -> None:
    replace, create = step(scene.record, "replace#0"), step(scene.record, "create#0")
    insert, hello, new = step(scene.record, "insert#0"), "hello.py", "new.py"
    assert replace["payload"]["operation"] == "replace"
    assert replace["payload"]["old_string"] == "print('hi')"
    assert (stage.cline.project / hello).read_text() == replace["payload"]["new_string"] + "\n"
    assert (replace["payload"]["added"], replace["payload"]["removed"]) == (2, 1)
    assert create["payload"]["operation"] == "create"
    assert create["payload"]["is_full_write"]
    assert insert["payload"]["operation"] == "insert"
    assert insert["payload"]["insert_line"] == 1
    assert not insert["payload"]["is_full_write"]
    assert (stage.cline.project / new).read_text() == "# made by hand\n" + create["payload"]["new_string"]
    assert insert["payload"]["new_string"] == "# made by hand"
    assert (insert["payload"]["added"], create["payload"]["added"]) == (1, 2)
    assert {edit["outcome"] for edit in (replace, create, insert)} == {"ok"}


def test_an_edit_that_found_nothing_to_replace_fails(scene: Scene) -> None:
    failed = step(scene.record, "failed#0")
    assert failed["type"] == "edit"
    assert failed["outcome"] == "failed"
    assert "text not found" in failed["error"]["message"]
    assert failed["error"]["kind"] == "tool"


def test_searches_and_pages_are_kept_item_by_item(stage: Stage, scene: Scene) -> None:
    found, nothing, page, gone = steps_of(scene.record, "other")
    assert [other["payload"]["tool_name"] for other in (found, nothing)] == ["search_codebase"] * 2
    assert [other["payload"]["tool_name"] for other in (page, gone)] == ["fetch_web_content"] * 2
    assert found["payload"]["raw"]["input"] == "widget"
    assert "src/widget.ts" in found["payload"]["raw"]["result"]
    assert nothing["payload"]["raw"]["result"].startswith("No results found")
    assert nothing["outcome"] == "ok"
    assert page["payload"]["raw"]["input"]["url"] == f"{stage.model.url}/prices"
    assert "12 crowns" in page["payload"]["raw"]["result"]
    assert gone["outcome"] == "failed"
    assert "404" in gone["error"]["message"]


def test_a_step_has_the_times_of_its_call_and_its_result(stage: Stage, scene: Scene) -> None:
    stamps = {}
    for message in stage.cline.messages(scene.session_id):
        for block in message["content"]:
            stamps[block.get("id") or block.get("tool_use_id"), block["type"]] = iso(message["ts"])
    for taken in scene.record["steps"]:
        if taken["type"] != "message":
            call = taken["id"].partition("#")[0]
            assert (taken["at"], taken["ended_at"]) == (stamps[call, "tool_use"], stamps[call, "tool_result"])


def test_failures_and_changes_are_counted(scene: Scene) -> None:
    totals = scene.record["session"]["totals"]
    assert (totals["turns"], totals["failed"], totals["rejected"]) == (1, 4, 0)
    assert (totals["edits"], totals["files"], totals["added"], totals["removed"]) == (3, 2, 5, 1)


def test_nothing_had_to_be_approved(scene: Scene) -> None:
    tools = [step for step in scene.record["steps"] if step["type"] != "message"]
    assert {step["decision"] for step in tools} == {"auto"}


def test_calls_are_what_the_model_served(stage: Stage, scene: Scene) -> None:
    served = [
        (reply.usage.prompt, reply.usage.cached, reply.usage.completion) for reply in stage.model.served
    ]
    tokens = [call["tokens"] for call in scene.record["calls"]]
    assert [(count["input"], count["cache_read"], count["output"]) for count in tokens] == served
    assert all(count["fresh"] == count["input"] - count["cache_read"] for count in tokens)
    assert {call["reported_usd"] for call in scene.record["calls"]} == {None}


def test_sum_of_calls_is_the_sum_of_what_the_model_served(stage: Stage, scene: Scene) -> None:
    spent = stage.model.spent()
    tokens = [call["tokens"] for call in scene.record["calls"]]
    assert sum(count["input"] for count in tokens) == spent.prompt
    assert sum(count["cache_read"] for count in tokens) == spent.cached
    assert sum(count["output"] for count in tokens) == spent.completion


def test_every_step_points_to_its_place_in_clines_file(stage: Stage, scene: Scene) -> None:
    folder = stage.cline.sessions / scene.session_id
    for taken in scene.record["steps"]:
        document: Any = json.loads((folder / taken["origin"]["file"]).read_text())
        for part in taken["origin"]["pointer"].split("/")[1:]:
            document = document[int(part) if isinstance(document, list) else part]
        assert document


def test_watched_while_it_grew_and_read_at_once_are_the_same(stage: Stage, scene: Scene) -> None:
    assert stage.backstory.read_at_once(scene.session_id) == scene.record
    assert stage.backstory.listed(scene.session_id)["state"] == "ended"
