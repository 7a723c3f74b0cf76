"""What readers of Cline sessions get wrong: one test a case, each with the right result."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from sessions import (
    START,
    Session,
    archive,
    item,
    messages,
    text,
    tool_result,
    tool_use,
    tools,
    wrapped,
)

from backstory.schema.step import Command, Edit, Read


def test_heredocs_in_a_batch_are_paired_by_query(tmp_path: Path) -> None:
    """Four inputs, two results: paired by index, the failing command would be shown as ok."""
    session = Session(tmp_path)
    session.prompt("Do it")
    heredoc = ["cat > a.txt <<EOF", "one", "EOF"]
    failed = item("make", "[Command exited with code 2]\nno rule", "Command exited with code 2")
    session.ran("run_commands", {"commands": [*heredoc, "make"]}, [item("\n".join(heredoc), ""), failed])
    found = tools(session.read())
    assert [(step.payload.command, step.outcome) for step in found if isinstance(step.payload, Command)] == [
        ("cat > a.txt <<EOF\none\nEOF", "ok"),
        ("make", "failed"),
    ]


def test_split_line_ranges_in_a_batch_are_paired_by_query(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    asked = [{"path": "a"}, {"start_line": 3, "end_line": 4}, {"path": "b"}, {"end_line": 9}]
    session.ran(
        "read_files", {"files": asked}, [item("a:3-4", "A"), item("b:1-9", "", "Error reading file: x")]
    )
    found = tools(session.read())
    assert [(step.payload.path, step.outcome) for step in found if isinstance(step.payload, Read)] == [
        ("a", "ok"),
        ("b", "failed"),
    ]


def test_an_echo_of_clines_words_is_no_exit_code(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    line = "echo 'Command exited with code 7'"
    session.ran("run_commands", {"commands": [line]}, [item(line, "Command exited with code 7\n")])
    (step,) = tools(session.read())
    assert step.payload == Command(line, "/home/dev/work/demo", "Command exited with code 7\n", 0)
    assert step.error is None


@pytest.mark.parametrize(
    "value",
    [
        {"commands": '["ls -a"]'},
        {"command": "ls -a"},
        {"cmd": "ls -a"},
        {"command": "ls", "args": ["-a"]},
        "ls -a",
        ["ls -a"],
    ],
    ids=str,
)
def test_no_form_of_a_command_loses_it(tmp_path: Path, value: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("run_commands", value, [item("ls -a", ".")])
    assert [step.payload for step in tools(session.read())] == [
        Command("ls -a", "/home/dev/work/demo", ".", 0)
    ]


@pytest.mark.parametrize(
    "value", [{"file_paths": ["a"]}, {"paths": ["a"]}, {"file_path": "a"}, "a", ["a"]], ids=str
)
def test_no_form_of_a_path_loses_it(tmp_path: Path, value: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("read_files", value, [item("a", "1 | x")])
    assert [step.payload for step in tools(session.read())] == [Read("a", None, "1 | x")]


def test_a_query_over_200_characters_finds_its_command(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    lines = [f"echo {letter * 300}" for letter in "ab"]
    left_out = "... [command truncated: 105 more chars; full command is in the tool call input]"
    results = [item(f"{line[:200]} {left_out}", line[5]) for line in reversed(lines)]
    session.ran("run_commands", {"commands": lines}, results)
    found = tools(session.read())
    assert [step.payload.stdout for step in found if isinstance(step.payload, Command)] == ["a", "b"]
    assert [step.flags for step in found] == [(), ()]


def test_a_denied_call_is_rejected_and_keeps_the_users_words(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    words = "The user provided the following feedback:\n<feedback>\nNot now\n</feedback>"
    denial = f"User denied the tool execution {words}"
    session.ran("run_commands", {"commands": ["rm x"]}, json.dumps({"error": denial}), is_error=True)
    (step,) = tools(session.read())
    assert (step.decision, step.decision_source, step.outcome) == ("rejected", "denial", "failed")
    assert step.error is not None
    assert (step.error.kind, step.error.feedback) == ("denied", "Not now")


def test_a_decision_stays_what_it_was_when_settings_change(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.ran("run_commands", {"commands": ["ls"]}, [item("ls", "x")])
    session.write()
    settings = tmp_path / ".cline" / "data" / "settings" / "global-settings.json"
    settings.parent.mkdir(parents=True)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        settings.write_text('{"toolAutoApprove": false}')
        session.ran("run_commands", {"commands": ["pwd"]}, [item("pwd", "x")])
        session.write()
        kept.sync([session.root])
        found = tools(kept.record(session.session_id))
    assert [(step.decision, step.decision_source) for step in found] == [
        ("auto", "default"),
        ("accepted", "settings"),
    ]


def test_an_insertion_is_no_full_write(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    value = {"path": "a.py", "new_text": "x\n", "insert_line": 1}
    session.ran("editor", value, json.dumps(item("insert:a.py", "Inserted content at line 1 in a.py.")))
    (step,) = tools(session.read())
    assert isinstance(step.payload, Edit)
    assert (step.payload.operation, step.payload.is_full_write, step.payload.insert_line) == (
        "insert",
        False,
        1,
    )


def test_apply_patch_is_one_edit_a_file(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Update File: b\n@@\n-1\n+2\n*** End Patch"
    session.ran(
        "apply_patch", {"input": patch}, json.dumps(item("apply_patch", "Successfully applied patch"))
    )
    found = tools(session.read())
    assert [
        (step.payload.path, step.payload.operation) for step in found if isinstance(step.payload, Edit)
    ] == [
        ("a", "create"),
        ("b", "patch"),
    ]


def test_messages_of_the_runtime_are_no_prompts(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.user(
        '<hook_context source="RunStart">\nUse uv.\n</hook_context>', metadata={"displayRole": "system"}
    )
    session.prompt("Port it")
    session.reply("Working")
    session.prompt("System-delivered teammate async run updates:\n- run_1 done")
    session.prompt("[TASK RESUMPTION] Please continue where you left off.")
    session.user("[SYSTEM] You still have team obligations.", metadata={"userRunSpan": 0})
    record = session.read()
    assert [message for message in messages(record) if message[0] == "user"] == [("user", "Port it")]
    assert len(record.turns) == 1


def test_the_run_count_of_checkpoints_counts_prompts_not_resumes(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    points = []
    for number in range(3):
        prompt = session.prompt(f"Prompt {number}")
        session.reply("Done")
        points.append(
            {"ref": f"r{number}", "createdAt": prompt["ts"] + 10, "runCount": number + 1, "kind": "commit"}
        )
    session.manifest["metadata"]["checkpoint"] = {"latest": points[-1], "history": points}
    record = session.read()
    assert [segment.start_reason for segment in record.segments] == ["start"]
    assert [turn.checkpoint.ref for turn in record.turns if turn.checkpoint] == ["r0", "r1", "r2"]


def test_strange_messages_are_all_kept_and_counted(tmp_path: Path) -> None:
    """String content, no time, ids that repeat, a result with no call, a call with no result."""
    session = Session(tmp_path)
    session.add("user", "Plain", ts=...)
    session.add("assistant", "Answer", ts=..., id=...)
    session.reply(tool_use("call_1", "run_commands", {"commands": ["a"]}), id="msg_x")
    session.reply(tool_use("call_1", "run_commands", {"commands": ["b"]}), id="msg_x")
    session.add("user", [tool_result("call_7", "orphan")])
    record = session.read()
    assert messages(record) == [("user", "Plain"), ("assistant", "Answer")]
    assert [step.id for step in record.steps] == [
        "msg_00000000#0",
        "@1#0",
        "call_1#0",
        "call_1~2#0",
        "call_7#0",
    ]
    assert [step.outcome for step in tools(record)] == ["unknown", "unknown", "ok"]
    assert [step.flags for step in record.steps[:2]] == [("time_inferred",), ("time_inferred",)]
    assert record.session.fidelity.unknown == {"tool result without a call": 1}


def test_a_running_call_stands_at_its_place_and_does_not_jump(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["sleep 9"]}, "call_1")
    session.reply("Meanwhile")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        before = [(step.id, step.seq, step.outcome) for step in kept.record(session.session_id).steps]
        session.result("call_1", [item("sleep 9", "slept")])
        session.write()
        kept.sync([session.root])
        after = [(step.id, step.seq, step.outcome) for step in kept.record(session.session_id).steps]
    assert before == [("msg_00000000#0", 1, "ok"), ("call_1#0", 2, "unknown"), ("msg_00000002#0", 3, "ok")]
    assert after == [("msg_00000000#0", 1, "ok"), ("call_1#0", 2, "ok"), ("msg_00000002#0", 3, "ok")]


def test_subagents_and_teams_are_actors_of_one_session(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Ask")
    spawned = [
        tool_use("call_1", "spawn_agent", {"task": "Count"}),
        tool_use("call_2", "team_run_task", {"task": "Write"}),
    ]
    session.reply(*spawned)
    session.child("agent_1796026002000_abcdef").user("Count")
    session.child("writer__pNdMXr", "teammate").user("Write")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert kept.count() == 1
        record = kept.record(session.session_id)
    assert [(actor.id, actor.type, actor.parent_step_id) for actor in record.actors] == [
        ("root", "root", None),
        ("agent_1796026002000_abcdef", "subagent", "call_1#0"),
        ("writer__pNdMXr", "teammate", "call_2#0"),
    ]
    assert [step.id.split("/")[0] for step in record.steps] == [
        "msg_00000000#0",
        "call_1#0",
        "agent_1796026002000_abcdef",
        "call_2#0",
        "writer__pNdMXr",
    ]


def test_an_edit_of_an_existing_file_without_old_text_overwrote_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    message = "Editor operation failed: a.py already exists, but `old_text` was not given."
    session.ran("editor", {"path": "a.py", "new_text": "all"}, json.dumps(item("edit:a.py", "", message)))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (step,) = tools(kept.record(session.session_id))
        totals = kept.listed(session.session_id).session.totals
    assert step.outcome == "failed"
    assert (totals.edits, totals.files, totals.added, totals.failed) == (0, 0, 0, 1)


def test_failures_without_is_error_are_failures(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("lab__x", {}, json.dumps({"content": [text("no")], "isError": True}))
    session.ran("search_codebase", {"queries": ["("]}, [item("(", "", "Search failed: x")])
    session.ran(
        "editor", {"path": "a", "old_text": "1", "new_text": "2"}, json.dumps(item("edit:a", "", "x"))
    )
    assert [step.outcome for step in tools(session.read())] == ["failed"] * 3


def test_a_rejected_edit_is_no_applied_change(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    denial = json.dumps({"error": "The user denied this edit. The file was NOT modified."})
    session.ran("editor", {"path": "a", "old_text": "1", "new_text": "2"}, denial, is_error=True)
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        (step,) = tools(kept.record(session.session_id))
        totals = kept.listed(session.session_id).session.totals
    assert (step.outcome, step.decision) == ("failed", "rejected")
    assert isinstance(step.payload, Edit)
    assert step.payload.diff is None
    assert (totals.edits, totals.failed, totals.rejected) == (0, 0, 1)


@pytest.mark.parametrize("prompt", ["Port it", wrapped("Port it", "plan")], ids=["typed", "wrapped"])
def test_a_session_killed_before_the_first_reply_has_its_prompt(tmp_path: Path, prompt: str) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["prompt"] = prompt
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert messages(kept.record(session.session_id)) == [("user", "Port it")]
        session.prompt("Port it", "plan")
        session.reply("Done")
        session.write()
        kept.sync([session.root])
        assert messages(kept.record(session.session_id)) == [("user", "Port it"), ("assistant", "Done")]
        everything = kept.record(session.session_id, superseded=True).steps
        assert [step.id for step in everything if step.superseded] == ["manifest#prompt"]


@pytest.mark.parametrize("lost", ["folder", "messages", "truncated"])
def test_what_vanishes_from_the_disk_stays_in_the_archive(tmp_path: Path, lost: str) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Keep me")
    session.reply("Kept")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        if lost == "folder":
            shutil.rmtree(session.folder)
        elif lost == "messages":
            session.file.unlink()
        else:
            session.file.write_bytes(b"")
        for _ in range(2):
            kept.sync([session.root])
            assert messages(kept.record(session.session_id)) == [("user", "Keep me"), ("assistant", "Kept")]
        assert kept.listed(session.session_id).session.gone == (lost == "folder")


def test_a_missing_root_marks_nothing_gone(tmp_path: Path) -> None:
    """A disk that is not there at the moment."""
    session = Session(tmp_path / "sessions")
    session.prompt("Keep me")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        session.root.rename(tmp_path / "away")
        report = kept.sync([session.root])
        assert (report.gone, kept.listed(session.session_id).session.gone) == (0, False)


def test_a_long_session_is_read_from_its_tail_only(tmp_path: Path) -> None:
    """What was read before is not decoded again: a broken value in it would be named a second time."""
    session = Session(tmp_path / "sessions")
    for number in range(300):
        session.prompt(f"Prompt {number}", ts=-1 if number == 3 else START + number * 1000)
        session.reply("Answer")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        session.reply("More")
        session.write()
        report = kept.sync([session.root])
        refused = kept.listed(session.session_id).session.fidelity.refused
    assert report.new_steps == 1
    assert [(entry.where, entry.value) for entry in refused] == [("/messages/6/ts", "-1")]


def test_an_idle_pass_reads_and_writes_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        dump = list(kept.connection.iterdump())
        # Bytes that would not parse, under marks that did not change: only an open file would notice.
        stat = session.file.stat()
        session.file.write_bytes(b"x" * stat.st_size)
        os.utime(session.file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        report = kept.sync([session.root])
        assert (report.changed, report.torn, report.new_steps) == (0, [], 0)
        assert list(kept.connection.iterdump()) == dump
