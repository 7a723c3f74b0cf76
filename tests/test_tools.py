"""Tool calls and their results: every form that Cline accepts and writes (FORMAT.md section 5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import Conversation, Object, Session, item, text, tool_result, tool_use, tools

from backstory import read_session
from backstory.schema.record import Record, step_json
from backstory.schema.step import Command, Edit, Other, Range, Read, Step


def steps(tmp_path: Path, name: str, value: Any, content: Any, *, is_error: bool = False) -> list[Step]:
    """The steps of one call with its result; `...` as content leaves the call without one."""
    session = Session(tmp_path)
    session.prompt("Do it")
    if content is ...:
        session.call(name, value)
    else:
        session.ran(name, value, content, is_error=is_error)
    return tools(session.read())


def one(tmp_path: Path, name: str, value: Any, content: Any, *, is_error: bool = False) -> Step:
    (step,) = steps(tmp_path, name, value, content, is_error=is_error)
    return step


def command(step: Step) -> Command:
    assert isinstance(step.payload, Command)
    return step.payload


def edit(step: Step) -> Edit:
    assert isinstance(step.payload, Edit)
    return step.payload


def other(step: Step) -> Other:
    assert isinstance(step.payload, Other)
    return step.payload


def error(step: Step) -> tuple[str, str]:
    assert step.error is not None
    assert step.outcome == "failed"
    assert step.error.type == "cline_tool_error"
    return step.error.kind, step.error.message


def thrown(message: str) -> str:
    """What Cline writes when a tool throws; the block has `is_error` beside it."""
    return json.dumps({"error": message})


# --- run_commands: what goes in ----------------------------------------------------------------------------

COMMANDS: dict[str, tuple[Any, list[str]]] = {
    "commands": ({"commands": ["ls", "pwd"]}, ["ls", "pwd"]),
    "commands as one string": ({"commands": "ls"}, ["ls"]),
    "commands as a JSON-encoded array": ({"commands": '["ls", "pwd"]'}, ["ls", "pwd"]),
    "a string that only looks like an array": ({"commands": "[ -f x ] && cat x"}, ["[ -f x ] && cat x"]),
    "command": ({"command": "ls"}, ["ls"]),
    "cmd": ({"cmd": "ls"}, ["ls"]),
    "command and args": ({"command": "git", "args": ["log", "-1"]}, ["git log -1"]),
    "args with blanks and quotes": (
        {"command": "printf", "args": ["%s\\n", "a b", 'q"x']},
        ['printf %s\\n "a b" "q\\"x"'],
    ),
    "args with other scripts": ({"command": "echo", "args": ["é ñ"]}, ['echo "é ñ"']),
    "no args": ({"command": "ls", "args": []}, ["ls"]),
    "structured and plain, mixed": (
        {"commands": [{"command": "git", "args": ["status"]}, "ls", {"command": "pwd"}]},
        ["git status", "ls", "pwd"],
    ),
    "an array": (["ls", "pwd"], ["ls", "pwd"]),
    "an array of structured ones": ([{"command": "ls", "args": ["-a"]}], ["ls -a"]),
    "a string": ("ls", ["ls"]),
    "a JSON-encoded array alone": ('["ls", "pwd"]', ["ls", "pwd"]),
    "a heredoc in pieces": ({"commands": ["cat <<EOF", "one", "EOF"]}, ["cat <<EOF\none\nEOF"]),
    "quoted, dashed, indented": (
        {"commands": ["cat <<-'END' > f", "\tone", "  END", "ls"]},
        ["cat <<-'END' > f\n\tone\n  END", "ls"],
    ),
    "two heredocs": (
        {"commands": ["cat <<A", "1", "A", "cat <<B", "2", "B"]},
        ["cat <<A\n1\nA", "cat <<B\n2\nB"],
    ),
    "a heredoc without an end": ({"commands": ["cat <<EOF", "ls"]}, ["cat <<EOF", "ls"]),
    "a here string is no heredoc": ({"commands": ["cat <<<EOF", "ls", "EOF"]}, ["cat <<<EOF", "ls", "EOF"]),
    "a heredoc that is whole": ({"commands": ["cat <<EOF\n1\nEOF", "ls"]}, ["cat <<EOF\n1\nEOF", "ls"]),
}


@pytest.mark.parametrize(("value", "ran"), COMMANDS.values(), ids=COMMANDS)
def test_every_form_of_commands_is_read_as_cline_runs_it(tmp_path: Path, value: Any, ran: list[str]) -> None:
    """Each result is found by what Cline echoes, whatever their order; so a failing one stays a failing one."""
    results = [item(query, f"output of {query}") for query in ran]
    results[-1] = item(ran[-1], "[Command exited with code 3]\nno", "Command exited with code 3")
    found = steps(tmp_path, "run_commands", value, results[::-1])
    assert [command(step).command for step in found] == ran
    assert [command(step).stdout for step in found] == [*(f"output of {query}" for query in ran[:-1]), "no"]
    assert [command(step).exit_code for step in found] == [*([0] * (len(ran) - 1)), 3]
    assert [step.flags for step in found] == [()] * len(ran)
    assert [step.id for step in found] == [f"call_1#{number}" for number in range(len(ran))]
    assert {command(step).cwd for step in found} == {"/home/dev/work/demo"}


UNREADABLE: list[Any] = [
    {},
    {"not json": None},
    {"commands": None},
    {"commands": 5},
    None,
    7,
    [],
    {"command": {}},
]


@pytest.mark.parametrize("name", ["run_commands", "read_files", "editor", "apply_patch"])
@pytest.mark.parametrize("value", UNREADABLE, ids=str)
def test_arguments_without_any_item_are_kept_raw(tmp_path: Path, name: str, value: Any) -> None:
    found = one(tmp_path, name, value, thrown("✖ Invalid input"), is_error=True)
    assert other(found).tool_name == name
    assert other(found).raw == {"input": value, "result": {"error": "✖ Invalid input"}}
    assert error(found) == ("invalid_input", "✖ Invalid input")


# --- run_commands: what Cline echoes -----------------------------------------------------------------------


def echoed(units: int, left_out: int) -> str:
    """A query as Cline cuts it."""
    more = f" ... [command truncated: {left_out} more chars; full command is in the tool call input]"
    return "echo " + "x" * (units - 5) + more


def test_a_long_command_is_found_by_its_first_200_characters(tmp_path: Path) -> None:
    long, longer = "echo " + "x" * 195, "echo " + "x" * 200
    results = [item(echoed(200, 5), "longer"), item(long, "long")]
    found = steps(tmp_path, "run_commands", {"commands": [long, longer]}, results)
    assert [(command(step).command, command(step).stdout) for step in found] == [
        (long, "long"),
        (longer, "longer"),
    ]
    assert [step.flags for step in found] == [(), ()]


@pytest.mark.parametrize("before", [0, 1], ids=["between two", "through one"])
def test_the_cut_counts_utf_16_units_as_javascript_does(tmp_path: Path, before: int) -> None:
    """An emoji is two of them; a cut through its middle leaves half of it, which Cline writes as an escape."""
    line = "e" * before + "😀" * 150
    units = line.encode("utf-16-le")
    head = units[:400].decode("utf-16-le", "surrogatepass")
    left_out = len(units) // 2 - 200
    query = f"{head} ... [command truncated: {left_out} more chars; full command is in the tool call input]"
    results = [item("echo other", "other"), item(query, "emoji")]
    found = steps(tmp_path, "run_commands", {"commands": [line, "echo other"]}, results)
    assert [(command(step).command, command(step).stdout) for step in found] == [
        (line, "emoji"),
        ("echo other", "other"),
    ]
    assert [step.flags for step in found] == [(), ()]


# --- Pairing -----------------------------------------------------------------------------------------------


def outputs(found: list[Step]) -> list[tuple[str, str | None, str]]:
    return [(command(step).command, command(step).stdout, step.outcome) for step in found]


def test_equal_commands_take_their_results_in_order(tmp_path: Path) -> None:
    results = [item("ls", "1"), item("pwd", "2"), item("ls", "3")]
    found = steps(tmp_path, "run_commands", {"commands": ["ls", "ls", "pwd"]}, results)
    assert outputs(found) == [("ls", "1", "ok"), ("ls", "3", "ok"), ("pwd", "2", "ok")]


def test_a_missing_result_leaves_its_command_unknown_and_the_others_right(tmp_path: Path) -> None:
    results = [item("a", "A"), item("c", "C")]
    found = steps(tmp_path, "run_commands", {"commands": ["a", "b", "c"]}, results)
    assert outputs(found) == [("a", "A", "ok"), ("b", None, "unknown"), ("c", "C", "ok")]
    assert found[1].error is None


def test_an_extra_result_is_a_command_that_nobody_asked_for(tmp_path: Path) -> None:
    results = [item("a", "A"), item("z", "Z"), item("b", "B")]
    found = steps(tmp_path, "run_commands", {"commands": ["a", "b"]}, results)
    assert outputs(found) == [("a", "A", "ok"), ("b", "B", "ok"), ("z", "Z", "ok")]
    assert found[2].flags == ("paired_by_position",)


def test_what_no_query_tells_is_paired_by_position_and_says_so(tmp_path: Path) -> None:
    results = [item("rewritten a", "A"), item("b", "B"), item("rewritten c", "C")]
    found = steps(tmp_path, "run_commands", {"commands": ["a", "b", "c"]}, results)
    assert outputs(found) == [("a", "A", "ok"), ("b", "B", "ok"), ("c", "C", "ok")]
    assert [step.flags for step in found] == [("paired_by_position",), (), ("paired_by_position",)]


def test_a_call_without_a_result_stands_at_its_place(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["sleep 9", "ls"]})
    session.prompt("And then?")
    found = tools(session.read())
    assert outputs(found) == [("sleep 9", None, "unknown"), ("ls", None, "unknown")]
    assert [(step.seq, step.ended_at, command(step).exit_code) for step in found] == [
        (2, None, None),
        (3, None, None),
    ]
    assert {step.decision for step in found} == {"auto"}


def test_parallel_calls_keep_their_places_and_their_own_times(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    calls = [tool_use(name, "run_commands", {"commands": [f"echo {name}"]}) for name in "abc"]
    session.reply("Three at once", *calls)
    for name, late in (("c", 9000), ("a", 5000), ("b", 7000)):
        result = tool_result(name, [item(f"echo {name}", name)])
        session.add("user", [result], ts=session.start + late)
    found = tools(session.read())
    assert [step.id for step in found] == ["a#0", "b#0", "c#0"]
    assert [command(step).stdout for step in found] == ["a", "b", "c"]
    assert [(step.ended_at or 0) - session.start for step in found] == [5000, 7000, 9000]


def test_several_results_in_one_message_as_older_files_have_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.reply(*(tool_use(name, "run_commands", {"commands": [f"echo {name}"]}) for name in "ab"))
    session.add("user", [tool_result(name, [item(f"echo {name}", name)]) for name in "ba"])
    assert [command(step).stdout for step in tools(session.read())] == ["a", "b"]


def test_an_id_that_comes_again_belongs_to_the_nearest_call_before(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    for number in range(3):
        session.call("run_commands", {"commands": [f"echo {number}"]}, "call_1")
        session.result("call_1", [item(f"echo {number}", str(number))])
    found = tools(session.read())
    assert [step.id for step in found] == ["call_1#0", "call_1~2#0", "call_1~3#0"]
    assert [command(step).stdout for step in found] == ["0", "1", "2"]


def test_an_id_that_comes_again_while_the_first_call_never_ended(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["sleep 9"]}, "call_1")
    session.call("run_commands", {"commands": ["ls"]}, "call_1")
    session.result("call_1", [item("ls", "files")])
    assert outputs(tools(session.read())) == [("sleep 9", None, "unknown"), ("ls", "files", "ok")]


def test_one_id_on_two_calls_of_one_message(tmp_path: Path) -> None:
    """A weak provider names every call alike: the results then come in the order of the calls."""
    session = Session(tmp_path)
    session.prompt("Do it")
    session.reply(*(tool_use("call_0", "run_commands", {"commands": [f"echo {name}"]}) for name in "ab"))
    for name in "ab":
        session.result("call_0", [item(f"echo {name}", name)])
    found = tools(session.read())
    assert outputs(found) == [("echo a", "a", "ok"), ("echo b", "b", "ok")]


def test_calls_without_any_id_are_kept_apart(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    calls = [{"type": "tool_use", "name": "run_commands", "input": {"commands": [name]}} for name in "ab"]
    session.reply(*calls)
    found = tools(session.read())
    assert [command(step).command for step in found] == ["a", "b"]
    assert len({step.id for step in found}) == 2


def test_a_result_without_a_call_is_kept_and_counted(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.add("user", [{**tool_result("call_9", [item("ls", "files")]), "name": "run_commands"}])
    record = session.read()
    (step,) = tools(record)
    assert (step.id, step.flags) == ("call_9#0", ("result_without_call",))
    assert other(step).tool_name == "run_commands"
    assert "files" in json.dumps(other(step).raw["result"])
    assert record.session.fidelity.unknown == {"tool result without a call": 1}


def test_a_second_result_of_a_call_is_kept_beside_the_first(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    call = session.ran("run_commands", {"commands": ["ls"]}, [item("ls", "first")])
    session.result(call, [item("ls", "second")])
    found = tools(session.read())
    assert command(found[0]).stdout == "first"
    assert "second" in json.dumps(other(found[1]).raw)
    assert len({step.id for step in found}) == 2


def test_a_result_before_its_call_is_no_result_of_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.result("call_2", [item("ls", "files")])
    session.call("run_commands", {"commands": ["ls"]}, "call_2")
    found = tools(session.read())
    assert [step.type for step in found] == ["other", "command"]
    assert (found[1].outcome, "files" in json.dumps(other(found[0]).raw)) == ("unknown", True)


# --- run_commands: exit codes ------------------------------------------------------------------------------


def run(tmp_path: Path, result: Any, failure: str | None = None) -> Step:
    """One command with this result, failed when there is an error."""
    return one(tmp_path, "run_commands", {"commands": ["make"]}, [item("make", result, failure)])


def test_a_failed_command_has_its_code_and_its_output_without_clines_line(tmp_path: Path) -> None:
    step = run(tmp_path, "[Command exited with code 2]\nout\n\n[stderr]\nerr\n", "Command exited with code 2")
    assert (command(step).exit_code, command(step).stdout) == (2, "out\n\n[stderr]\nerr\n")
    assert error(step) == ("exit_code", "Command exited with code 2")


def test_a_failed_command_without_output(tmp_path: Path) -> None:
    step = run(tmp_path, "[Command exited with code 1]", "Command exited with code 1")
    assert (command(step).exit_code, command(step).stdout) == (1, None)


@pytest.mark.parametrize("code", [-1, 0, 1, 127, 255, 3221225786])
def test_any_code(tmp_path: Path, code: int) -> None:
    step = run(tmp_path, f"[Command exited with code {code}]\nx", f"Command exited with code {code}")
    assert (command(step).exit_code, command(step).stdout) == (code, "x")


def test_the_code_of_the_error_alone(tmp_path: Path) -> None:
    assert command(run(tmp_path, "plain output", "Command exited with code 9")).exit_code == 9


def test_the_code_of_the_first_line_alone(tmp_path: Path) -> None:
    """A failed item without an `error`: its first line says what happened."""
    entry = {"query": "make", "result": "[Command exited with code 3]\nx", "success": False}
    step = one(tmp_path, "run_commands", {"commands": ["make"]}, [entry])
    assert (command(step).exit_code, command(step).stdout, step.outcome) == (3, "x", "failed")
    assert step.error is not None
    assert step.error.kind == "exit_code"


@pytest.mark.parametrize(
    "printed",
    [
        "Command exited with code 7\n",
        "[Command exited with code 7]\n",
        "ok\n[Command exited with code 7]\n",
        '{"error":"Command exited with code 7"}',
    ],
)
def test_a_command_that_prints_such_a_line_and_succeeds_has_0(tmp_path: Path, printed: str) -> None:
    step = run(tmp_path, printed)
    assert (step.outcome, command(step).exit_code, command(step).stdout) == ("ok", 0, printed)


def test_only_the_leading_line_of_a_failed_command_counts(tmp_path: Path) -> None:
    printed = "[Command exited with code 7]\n"
    step = run(tmp_path, f"[Command exited with code 2]\n{printed}", "Command exited with code 2")
    assert (command(step).exit_code, command(step).stdout) == (2, printed)


def test_a_timed_out_command_that_prints_such_a_line_has_no_code(tmp_path: Path) -> None:
    step = run(tmp_path, "", "Command failed: Command timed out after 30000ms")
    assert (command(step).exit_code, command(step).stdout) == (None, None)
    assert error(step) == ("timeout", "Command failed: Command timed out after 30000ms")


KINDS = {
    "timeout": ("Command failed: Command timed out after 30000ms", "timeout"),
    "abort": ("Command failed: Command was aborted", "aborted"),
    "spawn": (
        'Command failed: Failed to execute command: Executable not found in $PATH: "nope"',
        "not_found",
    ),
    "other": ("Command failed: something else", "tool"),
}


@pytest.mark.parametrize(("message", "kind"), KINDS.values(), ids=KINDS)
def test_a_command_that_never_ended_has_no_code(tmp_path: Path, message: str, kind: str) -> None:
    step = run(tmp_path, "", message)
    assert (command(step).exit_code, command(step).stdout, step.content_status) == (None, None, "complete")
    assert error(step) == (kind, message)


def test_an_output_that_cline_cut_in_the_middle(tmp_path: Path) -> None:
    marker = "[... output truncated: 90000 chars total. Refine the command (grep, head, tail) ...]"
    step = run(tmp_path, f"head\n{marker}\ntail")
    assert (step.content_status, command(step).stdout) == ("truncated", f"head\n{marker}\ntail")


# --- run_commands: what went on running --------------------------------------------------------------------


def test_a_command_that_went_on_in_the_background(tmp_path: Path) -> None:
    log = "/tmp/cline-command-20rtyE/output.log"
    step = run(tmp_path, f"[Command is still running. Output will continue in {log}]\npartial\n")
    assert (command(step).stdout, command(step).exit_code) == ("partial\n", None)
    assert (command(step).output_ref, step.content_status, step.outcome) == (log, "reference_only", "ok")


FOREGROUND = {
    "proceeded": "The user chose to proceed while the command is starting or still running in their terminal.",
    "waited": "The command was still starting or running after 300 seconds, so it goes on in the background.",
}


@pytest.mark.parametrize("head", FOREGROUND.values(), ids=FOREGROUND)
def test_the_extensions_own_words_for_it(tmp_path: Path, head: str) -> None:
    log = "/tmp/cline/background-1.log"
    printed = (
        f"{head} Its output is redirected to this file, which you can read to check progress: {log}\n"
        "Output so far:\npartial\n"
    )
    step = run(tmp_path, printed)
    assert (command(step).stdout, command(step).exit_code) == ("partial\n", None)
    assert (command(step).output_ref, step.content_status, step.outcome) == (log, "reference_only", "ok")


@pytest.mark.parametrize("head", FOREGROUND.values(), ids=FOREGROUND)
def test_a_command_that_prints_those_words_later_has_ended(tmp_path: Path, head: str) -> None:
    step = run(tmp_path, f"quoting: {head}\n")
    assert (command(step).exit_code, step.content_status) == (0, "complete")


def test_processes_that_were_left_running_are_noted(tmp_path: Path) -> None:
    note = "[Command completed with background processes still running; their output is no longer captured]"
    step = run(tmp_path, f"started\n{note}")
    assert command(step) == Command("make", "/home/dev/work/demo", f"started\n{note}", 0)
    assert (step.flags, step.outcome) == (("background_left",), "ok")


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


# --- read_files --------------------------------------------------------------------------------------------

READS: dict[str, tuple[Any, list[tuple[str, Range | None, str]]]] = {
    "files": ({"files": [{"path": "a"}, {"path": "b"}]}, [("a", None, "a"), ("b", None, "b")]),
    "files as strings": ({"files": ["a", "b"]}, [("a", None, "a"), ("b", None, "b")]),
    "one file": ({"files": {"path": "a"}}, [("a", None, "a")]),
    "file_paths": ({"file_paths": ["a"]}, [("a", None, "a")]),
    "paths": ({"paths": ["a", "b"]}, [("a", None, "a"), ("b", None, "b")]),
    "path": ({"path": "a"}, [("a", None, "a")]),
    "file_path": ({"file_path": "a"}, [("a", None, "a")]),
    "a string": ("a", [("a", None, "a")]),
    "an array": (["a", "b"], [("a", None, "a"), ("b", None, "b")]),
    "an array of objects": ([{"path": "a"}], [("a", None, "a")]),
    "a range": (
        {"files": [{"path": "a", "start_line": 2, "end_line": 3}]},
        [("a", Range(2, 3), "a:2-3")],
    ),
    "a range without an end": ({"files": [{"path": "a", "start_line": 3}]}, [("a", Range(3), "a:3-EOF")]),
    "a range without a start": ({"files": [{"path": "a", "end_line": 3}]}, [("a", Range(1, 3), "a:1-3")]),
    "null means absent": (
        {"files": [{"path": "a", "start_line": None, "end_line": None}]},
        [("a", None, "a")],
    ),
    "numbers as text": (
        {"files": [{"path": "a", "start_line": "2", "end_line": "3"}]},
        [("a", Range(2, 3), "a:2-3")],
    ),
    "a range of its own entry": (
        {"files": [{"path": "a"}, {"start_line": 2, "end_line": 3}, {"path": "b"}]},
        [("a", Range(2, 3), "a:2-3"), ("b", None, "b")],
    ),
    "the same file twice": (
        {"files": [{"path": "a", "start_line": 1, "end_line": 2}, {"path": "a", "start_line": 5}]},
        [("a", Range(1, 2), "a:1-2"), ("a", Range(5), "a:5-EOF")],
    ),
    "a path of Windows": (
        {"files": [{"path": "C:\\a b\\c.txt"}]},
        [("C:\\a b\\c.txt", None, "C:\\a b\\c.txt")],
    ),
}


@pytest.mark.parametrize(("value", "wanted"), READS.values(), ids=READS)
def test_every_form_of_reads(tmp_path: Path, value: Any, wanted: list[tuple[str, Range | None, str]]) -> None:
    results = [item(query, f"1 | {query}") for _, _, query in wanted]
    found = steps(tmp_path, "read_files", value, results[::-1])
    assert [step.payload for step in found] == [
        Read(path, lines, f"1 | {query}") for path, lines, query in wanted
    ]
    assert [step.flags for step in found] == [()] * len(wanted)


@pytest.mark.parametrize(
    "line", ["--5", "²", "٣", "1e3", " 4 ", True, 2.5, [1], "9" * 40, -1, 10**30], ids=repr
)
def test_a_line_number_that_is_none_costs_only_itself(tmp_path: Path, line: Any) -> None:
    value = {"files": [{"path": "a", "start_line": line}, {"path": "b"}]}
    found = steps(tmp_path, "read_files", value, [item("a", "A"), item("b", "B")])
    assert [
        (step.payload.path, step.payload.content) for step in found if isinstance(step.payload, Read)
    ] == [
        ("a", "A"),
        ("b", "B"),
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    message = "Error reading file: ENOENT: no such file or directory, statx '/x'"
    found = steps(
        tmp_path, "read_files", {"files": ["a", "/x"]}, [item("/x", "", message), item("a", "1 | a")]
    )
    assert [step.outcome for step in found] == ["ok", "failed"]
    assert error(found[1]) == ("not_found", message)
    assert found[1].payload == Read("/x")


def test_a_read_that_cline_cut(tmp_path: Path) -> None:
    shown = "1 | a\n2 | b\n[Showing lines 1-2 of 900. Use start_line and end_line to read more.]"
    step = one(tmp_path, "read_files", {"path": "a"}, [item("a", shown)])
    assert step.content_status == "truncated"
    assert isinstance(step.payload, Read)
    assert step.payload.content == shown


def test_a_read_image_is_counted_and_not_kept(tmp_path: Path) -> None:
    parts = [text("An image"), {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}]
    step = one(tmp_path, "read_files", {"path": "a.png"}, [item("a.png", parts)])
    image = {"type": "image", "mediaType": "image/png", "bytes": 5}
    assert step.payload == Read("a.png", None, "An image", [text("An image"), image])


# --- editor ------------------------------------------------------------------------------------------------


def edited(tmp_path: Path, value: Object, result: str) -> Step:
    kind = "insert" if value.get("insert_line") is not None else "edit"
    return one(tmp_path, "editor", value, json.dumps(item(f"{kind}:{value['path']}", result)))


def test_a_creation(tmp_path: Path) -> None:
    step = edited(tmp_path, {"path": "a.py", "new_text": "1\n2\n"}, "File created successfully at: a.py")
    assert step.payload == Edit("a.py", "create", None, "1\n2\n", True, added=2)
    assert step.outcome == "ok"


def test_a_replacement_with_its_diff(tmp_path: Path) -> None:
    result = "Edited a.py\n```diff\n-1: a\n+1: b\n```"
    step = edited(tmp_path, {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert step.payload == Edit("a.py", "replace", "a", "b", diff="-1: a\n+1: b", added=1, removed=1)


@pytest.mark.parametrize("line", [4, "4", 4.0])
def test_an_insertion_is_no_full_write(tmp_path: Path, line: Any) -> None:
    value = {"path": "a.py", "new_text": "x\ny\n", "insert_line": line}
    step = edited(tmp_path, value, "Inserted content at line 4 in a.py.")
    assert step.payload == Edit("a.py", "insert", None, "x\ny\n", insert_line=4, added=2)


@pytest.mark.parametrize("absent", [{}, {"old_text": None}, {"old_text": None, "insert_line": None}], ids=str)
def test_null_means_absent(tmp_path: Path, absent: Object) -> None:
    value = {"path": "a.py", "new_text": "", **absent}
    step = edited(tmp_path, value, "File created successfully at: a.py")
    assert step.payload == Edit("a.py", "create", None, "", True)


def test_an_existing_file_without_old_text_is_an_error_and_nothing_was_written(tmp_path: Path) -> None:
    message = "Editor operation failed: a.py already exists, but `old_text` was not given."
    result = json.dumps(item("edit:a.py", "", message))
    step = one(tmp_path, "editor", {"path": "a.py", "new_text": "all new"}, result)
    assert error(step) == ("tool", message)
    assert (edit(step).operation, edit(step).new_string) == ("create", "all new")
    record_totals = (edit(step).added, edit(step).removed)
    assert record_totals == (1, 0)


def test_a_text_that_was_not_found(tmp_path: Path) -> None:
    message = "Editor operation failed: No replacement performed: text not found in a.py"
    result = json.dumps(item("edit:a.py", "", message))
    step = one(tmp_path, "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert error(step) == ("tool", message)


def test_a_result_with_half_an_emoji_is_still_taken_apart(tmp_path: Path) -> None:
    """Cline cuts texts by UTF-16 units, so that half a character can stand at an end of a message."""
    message = "Editor operation failed: No replacement performed: text not found: "
    half = r"\ud83d"
    result = json.dumps(item("edit:a.py", "", message)).replace(message, message + half)
    step = one(tmp_path, "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert error(step) == ("tool", message + "\ufffd")


def test_an_editor_call_of_the_right_shape_with_wrong_types_is_kept_raw(tmp_path: Path) -> None:
    value = {"path": "a.py", "new_text": ["lines"]}
    step = one(tmp_path, "editor", value, thrown("✖ Invalid input"), is_error=True)
    assert other(step).raw["input"] == value


# --- apply_patch -------------------------------------------------------------------------------------------

PATCH = """*** Begin Patch
*** Add File: new.py
+one
+two
*** Update File: old.py
@@ def f():
-    return 1
+    return 2
*** Update File: from.py
*** Move to: to.py
@@
-a
+b
+c
*** Delete File: gone.py
*** End Patch"""
APPLIED = json.dumps(
    item(
        "apply_patch",
        "Successfully applied patch to the following files:\nnew.py\nold.py\nfrom.py -> to.py\ngone.py: [deleted]",
    )
)
PATCHES = {
    "input": {"input": PATCH},
    "a string": PATCH,
    "with a final newline": {"input": PATCH + "\n"},
    "in a shell's heredoc": {"input": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
    "with carriage returns": {"input": PATCH.replace("\n", "\r\n")},
    "without its end": {"input": PATCH.removesuffix("\n*** End Patch")},
}


@pytest.mark.parametrize("value", PATCHES.values(), ids=PATCHES)
def test_a_patch_is_one_edit_a_file(tmp_path: Path, value: Any) -> None:
    found = steps(tmp_path, "apply_patch", value, APPLIED)
    assert [step.id for step in found] == ["call_1#0", "call_1#1", "call_1#2", "call_1#3"]
    assert [step.payload for step in found] == [
        Edit("new.py", "create", None, "one\ntwo", True, added=2),
        Edit(
            "old.py",
            "patch",
            hunks="@@ def f():\n-    return 1\n+    return 2",
            added=1,
            removed=1,
        ),
        Edit("from.py", "move", hunks="@@\n-a\n+b\n+c", move_to="to.py", added=2, removed=1),
        Edit("gone.py", "delete"),
    ]
    assert {step.outcome for step in found} == {"ok"}


def test_a_patch_that_was_not_applied_failed_for_each_file(tmp_path: Path) -> None:
    message = "apply_patch failed: Patch could not be applied because 1 hunk did not match."
    found = steps(tmp_path, "apply_patch", {"input": PATCH}, json.dumps(item("apply_patch", "", message)))
    assert [error(step) for step in found] == [("tool", message)] * 4


def test_a_patch_of_nothing_is_kept_raw(tmp_path: Path) -> None:
    step = one(tmp_path, "apply_patch", {"input": "please change a.py"}, thrown("x"), is_error=True)
    assert other(step).raw["input"] == {"input": "please change a.py"}


def test_a_note_beside_the_list_of_files_is_not_lost(tmp_path: Path) -> None:
    """Cline says when a hunk only fitted roughly; a reviewer wants to know."""
    note = "Note: 1 hunk was applied with fuzz 2."
    result = json.dumps(
        item("apply_patch", f"Successfully applied patch to the following files:\nold.py\n{note}")
    )
    patch = "*** Begin Patch\n*** Update File: old.py\n@@\n-a\n+b\n*** End Patch"
    (step,) = steps(tmp_path, "apply_patch", {"input": patch}, result)
    assert step.outcome == "ok"
    assert note in json.dumps(step_json(step))


# --- search_codebase, fetch_web_content --------------------------------------------------------------------

SEARCHES: dict[str, tuple[Any, list[str]]] = {
    "queries": ({"queries": ["a", "b"]}, ["a", "b"]),
    "queries as a string": ({"queries": "a"}, ["a"]),
    "an array": (["a", "b"], ["a", "b"]),
    "a string": ("a", ["a"]),
}


@pytest.mark.parametrize(("value", "queries"), SEARCHES.values(), ids=SEARCHES)
def test_every_form_of_searches(tmp_path: Path, value: Any, queries: list[str]) -> None:
    results = [item(query, f"Found 1 result for pattern: {query}") for query in queries]
    found = steps(tmp_path, "search_codebase", value, results[::-1])
    assert [other(step).raw for step in found] == [
        {"input": query, "result": f"Found 1 result for pattern: {query}"} for query in queries
    ]
    assert {other(step).tool_name for step in found} == {"search_codebase"}


def test_a_failed_search(tmp_path: Path) -> None:
    message = "Search failed: Invalid regex pattern: (x"
    found = steps(
        tmp_path, "search_codebase", {"queries": ["(x", "y"]}, [item("(x", "", message), item("y", "1")]
    )
    assert error(found[0]) == ("tool", message)
    assert found[1].outcome == "ok"


def test_fetched_pages(tmp_path: Path) -> None:
    asked = [{"url": "https://a.org", "prompt": "Sum up"}, {"url": "https://b.org", "prompt": "?"}]
    message = "Error fetching web content: HTTP 404: Not Found"
    results = [item("https://b.org", "", message), item("https://a.org", "URL: https://a.org\n\npage")]
    found = steps(tmp_path, "fetch_web_content", {"requests": asked}, results)
    assert [other(step).raw["input"] for step in found] == asked
    assert other(found[0]).raw["result"] == "URL: https://a.org\n\npage"
    assert error(found[1]) == ("tool", message)


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


# --- Who approved ------------------------------------------------------------------------------------------


def decided(
    tmp_path: Path, surface: str, metadata: Object, name: str = "run_commands"
) -> tuple[str, str | None]:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["source"] = surface
    session.manifest["metadata"] = {**session.manifest["metadata"], **metadata}
    session.prompt("Do it")
    session.ran(name, {"commands": ["ls"]}, [item("ls", "x")])
    (step,) = tools(session.read())
    return step.decision, step.decision_source


def test_with_nothing_recorded_everything_is_approved_by_default(tmp_path: Path) -> None:
    for number, surface in enumerate(
        ["cli", "cline-cli-zen", "vscode", "jetbrains", "desktop", "something new"]
    ):
        assert decided(tmp_path / str(number), surface, {}) == ("auto", "default")


@pytest.mark.parametrize(
    ("recorded", "decision"),
    [
        (True, ("auto", "session")),
        (False, ("accepted", "session")),
        (["run_commands"], ("auto", "session")),
        (["read_files"], ("accepted", "session")),
        ({"run_commands": False}, ("accepted", "session")),
        ({"read_files": False}, ("auto", "default")),
        ("yes", ("auto", "default")),
        (None, ("auto", "default")),
    ],
    ids=repr,
)
def test_what_the_session_recorded_comes_first(
    tmp_path: Path, recorded: Any, decision: tuple[str, str]
) -> None:
    assert decided(tmp_path, "cli", {"autoApproveTools": recorded}) == decision


SETTINGS: dict[str, tuple[str, str, Object, str, tuple[str, str]]] = {
    "command line, on": (
        "cli",
        "settings/global-settings.json",
        {"toolAutoApprove": True},
        "run_commands",
        ("auto", "settings"),
    ),
    "command line, off": (
        "cli",
        "settings/global-settings.json",
        {"toolAutoApprove": False},
        "run_commands",
        ("accepted", "settings"),
    ),
    "command line, no switch": (
        "cli",
        "settings/global-settings.json",
        {"planActMode": "act"},
        "run_commands",
        ("auto", "default"),
    ),
    "extension, a category that is on": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": True, "actions": {"readFiles": True}}},
        "read_files",
        ("auto", "settings"),
    ),
    "extension, a category that is off": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": True, "actions": {"executeAllCommands": False}}},
        "run_commands",
        ("accepted", "settings"),
    ),
    "extension, all off": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": False, "actions": {"readFiles": True}}},
        "read_files",
        ("accepted", "settings"),
    ),
    "extension, MCP": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"actions": {"useMcp": False}}},
        "lab__x",
        ("accepted", "settings"),
    ),
    "extension, a tool that needs no approval": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"actions": {"useMcp": False}}},
        "ask_question",
        ("auto", "settings"),
    ),
    "extension, broken settings": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": [1]},
        "read_files",
        ("auto", "default"),
    ),
}


@pytest.mark.parametrize(("surface", "file", "settings", "name", "decision"), SETTINGS.values(), ids=SETTINGS)
def test_then_the_settings_of_the_surface_count(
    tmp_path: Path, surface: str, file: str, settings: Object, name: str, decision: tuple[str, str]
) -> None:
    place = tmp_path / "data" / file
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(settings))
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["source"] = surface
    session.prompt("Do it")
    session.ran(name, {"path": "a"}, [item("a", "x")])
    session.write()
    record = read_session(
        session.folder, env={"HOME": str(tmp_path), "CLINE_DATA_DIR": str(tmp_path / "data")}
    )
    (step,) = tools(record)
    assert (step.decision, step.decision_source) == decision


def test_an_open_call_is_not_taken_for_accepted(tmp_path: Path) -> None:
    """Whether the user will allow it is not known while it waits."""
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["metadata"]["autoApproveTools"] = False
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["ls"]})
    (step,) = tools(session.read())
    assert (step.decision, step.decision_source, step.outcome) == ("n/a", None, "unknown")
