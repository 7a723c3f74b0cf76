"""Commands and their results: every form that Cline accepts and writes (FORMAT.md section 5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import Session, item, tool_result, tool_use, tools
from toolcalls import command, error, one, other, steps, thrown

from backstory.schema.step import Command, Step

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
