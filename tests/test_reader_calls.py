"""Calls that were refused, tools of any other kind, and agents that other agents started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import Conversation, Session, item, text, tool_result, tool_use, tools
from toolcalls import command, edit, error, one, other, steps, thrown

from backstory.schema.record import Record
from backstory.schema.step import Other

# --- Denied, blocked, invalid ------------------------------------------------------------------------------

CLI_DENIAL = (
    "This tool call was rejected by the user and not executed. -- NOT a tool or system failure. "
    "Clarify with user before proceeding."
)
REFUSED = {
    "denied, command line": (CLI_DENIAL, "denied"),
    "denied, extension": ("User denied the tool execution", "denied"),
    "an edit denied": (
        "The user denied this edit. The file was NOT modified, and remains as it was.",
        "denied",
    ),
    "no terminal to ask": (
        'Tool "run_commands" requires approval in a TTY session -- run it interactively.',
        "blocked",
    ),
    "policy": ('Tool "run_commands" is disabled by policy', "blocked"),
    "hook": ('Tool "run_commands" was blocked by a runtime hook: not on Fridays', "blocked"),
}


@pytest.mark.parametrize(("message", "kind"), REFUSED.values(), ids=REFUSED)
def test_what_was_not_allowed_is_rejected(tmp_path: Path, message: str, kind: str) -> None:
    step = one(tmp_path, "run_commands", {"commands": ["rm x"]}, thrown(message), is_error=True)
    assert error(step) == (kind, message)
    assert (step.decision, step.decision_source) == ("rejected", "denial")
    assert (command(step).stdout, command(step).exit_code) == (None, None)


def test_a_denied_batch_is_a_denied_step_for_every_item(tmp_path: Path) -> None:
    found = steps(tmp_path, "run_commands", {"commands": ["a", "b"]}, thrown(CLI_DENIAL), is_error=True)
    assert [(command(step).command, step.decision, error(step)[0]) for step in found] == [
        ("a", "rejected", "denied"),
        ("b", "rejected", "denied"),
    ]


def test_one_denied_item_of_a_batch_rejects_only_itself(tmp_path: Path) -> None:
    results = [item("a", "A"), item("b", "", "User denied the tool execution")]
    found = steps(tmp_path, "run_commands", {"commands": ["a", "b"]}, results)
    assert [(step.outcome, step.decision) for step in found] == [("ok", "auto"), ("failed", "rejected")]


@pytest.mark.parametrize(
    "words", ["Use tabs, please.", "First line\n\n  second line", 'With <tags> and "quotes"'], ids=repr
)
def test_what_the_user_wrote_with_the_denial_is_kept(tmp_path: Path, words: str) -> None:
    message = (
        "The user denied this edit. The file was NOT modified, and remains as it was. "
        f"The user provided the following feedback:\n<feedback>\n{words}\n</feedback>"
    )
    value = {"path": "a.py", "old_text": "a", "new_text": "b"}
    step = one(tmp_path, "editor", value, thrown(message), is_error=True)
    assert error(step) == ("denied", message)
    assert step.error is not None
    assert step.error.feedback == words
    assert edit(step).new_string == "b"


def test_a_denied_edit_in_the_form_of_an_item(tmp_path: Path) -> None:
    result = json.dumps(item("edit:a.py", "", "The user denied this edit. The file was NOT modified."))
    value = {"path": "a.py", "old_text": "a", "new_text": "b"}
    step = one(tmp_path, "editor", value, result)
    assert (error(step)[0], step.decision, edit(step).diff) == ("denied", "rejected", None)


INVALID = {
    "schema": "✖ Invalid input: expected string, received undefined\n  → at new_text",
    "unknown tool": 'Tool call run_commands was rejected before execution: AI_NoSuchToolError: Model "x" …',
    "bad JSON": "Tool call run_commands emitted invalid JSON arguments: Tool call arguments could not be parsed.",
}


@pytest.mark.parametrize("message", INVALID.values(), ids=INVALID)
def test_arguments_that_cline_refused(tmp_path: Path, message: str) -> None:
    step = one(tmp_path, "run_commands", {}, thrown(message), is_error=True)
    assert error(step) == ("invalid_input", message)
    assert step.decision == "auto"


def test_arguments_that_were_no_json_are_shown_from_the_metadata(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    raw = {"rawInputText": '{"path": "a.py", "new_te', "parseError": "Unexpected end"}
    entry = {"toolCallId": "call_1", "toolName": "editor", "input": raw, "reason": "invalid_json"}
    session.call("editor", {}, "call_1", metadata={"invalidToolCalls": [entry]})
    session.result("call_1", thrown("Tool call editor emitted invalid JSON arguments: x"), is_error=True)
    (step,) = tools(session.read())
    assert other(step).raw["input"] == raw
    assert error(step)[0] == "invalid_input"


# --- Any other tool ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "content", "kept"),
    [
        ("skills", {"skill": "x"}, "<command-name>x</command-name>", "<command-name>x</command-name>"),
        ("skills", {"skill": "nope"}, 'Unknown skill "nope".', 'Unknown skill "nope".'),
        ("ask_question", {"question": "?", "options": ["a", "b"]}, "neither", "neither"),
        ("submit_and_exit", {"summary": "s", "verified": True}, "ok", "ok"),
        (
            "switch_to_act_mode",
            {},
            "You successfully switched to act mode.",
            "You successfully switched to act mode.",
        ),
        ("team_status", {}, '{"members":[]}', {"members": []}),
        ("team_list_runs", {}, '[{"id":"run_1","status":"done"}]', [{"id": "run_1", "status": "done"}]),
        ("server__tool", {"a": 1}, '{"content":[{"type":"text","text":"x"}]}', {"content": [text("x")]}),
        (
            "server__tool",
            {},
            '{"content":[],"structuredContent":{"a":[1]}}',
            {"content": [], "structuredContent": {"a": [1]}},
        ),
        ("server__number", {}, "42", "42"),
        ("server__text", {}, "{not json", "{not json"),
        ("server__blocks", {}, [text("a"), text("b")], [text("a"), text("b")]),
    ],
)
def test_any_other_tool_keeps_its_input_and_its_result(
    tmp_path: Path, name: str, value: Any, content: Any, kept: Any
) -> None:
    step = one(tmp_path, name, value, content)
    assert (step.type, step.outcome, step.error) == ("other", "ok", None)
    assert step.payload == Other(name, {"input": value, "result": kept})
    assert (step.decision, step.decision_source) == ("auto", "default")


def test_a_custom_tool_that_returns_rows_with_a_query_keeps_every_field(tmp_path: Path) -> None:
    rows = [{"query": "select 1", "rows": [[1]], "elapsed": "3 ms"}, {"query": "select 2", "rows": [[2]]}]
    assert other(one(tmp_path, "sql_console", {}, rows)).raw["result"] == rows


def test_an_mcp_tool_that_failed(tmp_path: Path) -> None:
    result = {"content": [text("no such table"), text("try again")], "isError": True}
    step = one(tmp_path, "db__query", {"sql": "x"}, json.dumps(result))
    assert error(step) == ("mcp", "no such table\ntry again")
    assert other(step).raw["result"] == result


def test_an_mcp_tools_image_is_counted_and_not_kept(tmp_path: Path) -> None:
    result = {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}
    step = one(tmp_path, "lab__image", {}, json.dumps(result))
    image = {"type": "image", "mimeType": "image/png", "bytes": 5}
    assert other(step).raw["result"] == {"content": [image]}


def test_a_thrown_error_of_another_tool(tmp_path: Path) -> None:
    step = one(tmp_path, "lab__x", {"a": 1}, thrown("MCP server lab is not connected"), is_error=True)
    assert error(step) == ("tool", "MCP server lab is not connected")
    assert other(step).raw["result"] == {"error": "MCP server lab is not connected"}


def test_an_error_that_is_plain_text(tmp_path: Path) -> None:
    step = one(tmp_path, "lab__x", {"a": 1}, "it broke", is_error=True)
    assert error(step) == ("tool", "it broke")


def test_a_tool_that_talks_of_errors_and_succeeds_is_ok(tmp_path: Path) -> None:
    step = one(tmp_path, "lab__x", {}, '{"error":null,"isError":false,"content":[]}')
    assert (step.outcome, step.error) == ("ok", None)


def test_a_subagent_that_failed(tmp_path: Path) -> None:
    result = {"text": "401 Unauthorized", "iterations": 0, "finishReason": "error", "usage": {}}
    step = one(tmp_path, "spawn_agent", {"systemPrompt": "s", "task": "t"}, json.dumps(result))
    assert error(step) == ("tool", "401 Unauthorized")


def test_a_subagent_that_talks_of_an_error_is_ok(tmp_path: Path) -> None:
    result = {"text": 'The log says "finishReason":"error".', "finishReason": "completed"}
    assert one(tmp_path, "spawn_agent", {"task": "t"}, json.dumps(result)).outcome == "ok"


def test_tools_that_the_provider_ran_stand_before_the_message_that_owns_them(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Search")
    ran = {"toolName": "web_search", "execution": "provider", "input": {"q": "x"}}
    activities = [
        {"toolCallId": "srv_1", **ran, "output": {"hits": 3}, "isError": False},
        {"toolCallId": "srv_2", **ran, "output": "rate limited", "isError": True},
        {**ran, "output": None},
    ]
    session.reply("Found it.", metadata={"modelToolActivities": activities})
    record = session.read()
    assert [step.type for step in record.steps] == ["message", "other", "other", "other", "message"]
    first, second, third = tools(record)
    assert (first.id, first.flags) == ("srv_1#0", ("provider_run",))
    assert first.payload == Other("web_search", {"input": {"q": "x"}, "result": {"hits": 3}})
    assert error(second) == ("tool", "rate limited")
    assert third.outcome == "ok"


# --- Subagents and teammates -------------------------------------------------------------------------------


def with_children(tmp_path: Path, tasks: list[str], files: list[str]) -> Record:
    """A lead that asks several agents at once; `files` are the tasks in the order of the files' names."""
    session = Session(tmp_path)
    session.prompt("Ask around")
    session.reply(*(tool_use(f"call_{n}", "spawn_agent", {"task": task}) for n, task in enumerate(tasks)))
    for number, task in enumerate(files):
        child: Conversation = session.child(f"agent_179602600{number}000_aaaaa{number}")
        child.user(task)
        child.reply(f"Done: {task}")
    for number, task in enumerate(tasks):
        session.result(f"call_{number}", json.dumps({"text": f"Done: {task}", "finishReason": "completed"}))
    return session.read()


@pytest.mark.parametrize(
    "files", [["Count", "List", "Weigh"], ["Weigh", "List", "Count"]], ids=["in order", "reversed"]
)
def test_children_hang_under_the_call_with_their_task(tmp_path: Path, files: list[str]) -> None:
    record = with_children(tmp_path, ["Count", "List", "Weigh"], files)
    parents = {actor.task: actor.parent_step_id for actor in record.actors if actor.id != "root"}
    assert parents == {"Count": "call_0#0", "List": "call_1#0", "Weigh": "call_2#0"}
    order = [step.id.split("/")[0] for step in record.steps]
    for child in (actor.id for actor in record.actors if actor.id != "root"):
        at = order.index(child)
        parent = next(actor.parent_step_id for actor in record.actors if actor.id == child)
        assert record.steps[at - 1].id == parent


def test_equal_tasks_take_the_calls_in_order_of_time(tmp_path: Path) -> None:
    record = with_children(tmp_path, ["Same", "Same"], ["Same", "Same"])
    assert {actor.parent_step_id for actor in record.actors} == {None, "call_0#0", "call_1#0"}


def test_a_child_that_nobody_asked_for_hangs_under_the_root(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    session.reply("Hi")
    session.child("agent_1796026000000_zzzzzz").user("Who am I?")
    record = session.read()
    assert [(actor.id, actor.parent_step_id) for actor in record.actors] == [
        ("root", None),
        ("agent_1796026000000_zzzzzz", None),
    ]
    assert [step.actor_id for step in record.steps] == ["root", "root", "agent_1796026000000_zzzzzz"]


def test_a_teammate_is_known_by_its_file(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Ask the team")
    session.reply(tool_use("call_1", "team_run_task", {"agentId": "writer", "task": "Write"}))
    session.child("writer__pNdMXr", "teammate").user("Write")
    record = session.read()
    (teammate,) = [actor for actor in record.actors if actor.id != "root"]
    assert (teammate.type, teammate.label, teammate.parent_step_id) == ("teammate", "writer", "call_1#0")


def test_an_odd_query_beside_whole_items_leaves_both_results(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.reply(
        tool_use("call_1", "run_commands", {"commands": ["ls"]}),
        tool_use("call_2", "run_commands", {"commands": ["pwd"]}),
    )
    odd = {"query": 5, "result": "/home", "success": True}
    session.add("user", [tool_result("call_1", [item("ls", "a.py")]), tool_result("call_2", [odd])])
    steps = session.read().steps
    assert [step.id for step in steps[1:]] == ["call_1#0", "call_2#0"]
    assert steps[1].outcome == "ok"
    assert "/home" in str(steps[2].payload)
