"""Depth and size: what is nested too deep costs itself, and time grows with the length of the input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import by_message, document, faults, put, small
from sessions import Session, archive, item, pretty, read, tools
from timelimit import within

DEPTHS = [100, 200, 300, 400, 450, 480, 490, 500, 600, 800, 900, 950, 980, 1000, 2000, 100_000]
DEEP: dict[str, tuple[Any, ...]] = {
    "a command's arguments": ("messages", 1, "content", 0, "input", "x"),
    "a command's output": ("messages", 2, "content", 0, "content", 0, "result"),
    "what was read": ("messages", 5, "content", 0, "content", 0, "result"),
    "another tool's arguments": ("messages", 3, "content", 4, "input", "x"),
    "another tool's result": ("messages", 6, "content", 0, "content"),
    "a tool's result as a block": ("messages", 6, "content", 0, "content", 0, "x"),
    "arguments that were no JSON": ("messages", 3, "metadata", "invalidToolCalls", 0, "input"),
    "a provider's output": ("messages", 3, "metadata", "modelToolActivities", 0, "output"),
    "a block's text": ("messages", 3, "content", 1, "text"),
    "a whole block": ("messages", 3, "content", 5),
    "a field of an unknown block": ("messages", 3, "content", 5, "quote"),
    "metadata": ("messages", 3, "metadata", "x"),
    "the time": ("messages", 3, "ts"),
    "the tokens": ("messages", 3, "metrics", "inputTokens"),
    "the document's head": ("x",),
}


@pytest.mark.parametrize("place", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("kind", ["[]", "{}"], ids=["arrays", "objects"])
def test_deep_values_cost_their_message_at_most(tmp_path: Path, place: tuple[Any, ...], kind: str) -> None:
    session = small(tmp_path / "sessions")
    before = by_message(session.read())
    template = pretty(put(session.document(), place, "@@"))
    touched = place[1] if place[0] == "messages" else None
    broken = []
    with archive(tmp_path) as kept:
        for depth in DEPTHS:
            nested = "[" * depth + "]" * depth if kind == "[]" else '{"a":' * depth + "1" + "}" * depth
            session.file.write_bytes(template.replace(b'"@@"', nested.encode()))
            try:
                record = read(session.folder)
                found = by_message(record)
                document(record)
                report = kept.ingest(str(session.folder))
            except Exception as error:
                broken.append(f"{depth}: {type(error).__name__}: {str(error)[:80]}")
                continue
            broken += [f"{depth}: {left.reason}" for left in report.failed]
            lost = [
                number
                for number, steps in before.items()
                if number != touched
                and [step.id for step in found.get(number, ())] != [step.id for step in steps]
            ]
            if lost:
                broken.append(f"{depth}: messages {lost} lost")
    assert broken == []


@pytest.mark.parametrize("name", ["metadata", "prompt", "x"])
def test_deep_values_in_a_manifest_leave_the_conversation(tmp_path: Path, name: str) -> None:
    session = small(tmp_path / "sessions").write()
    ids = [step.id for step in read(session.folder).steps]
    assert session.manifest is not None
    template = pretty({**session.manifest, name: "@@"})
    broken = []
    for depth in DEPTHS:
        session.manifest_file.write_bytes(template.replace(b'"@@"', b"[" * depth + b"]" * depth))
        broken += faults(depth, session.folder, ids)
    assert broken == []


LINE = "x" * 10_000_000
HUGE: dict[str, tuple[str, Any, Any]] = {
    "an output": ("run_commands", {"commands": ["a"]}, [item("a", LINE)]),
    "a command": ("run_commands", {"commands": [f"echo {LINE}"]}, [item("?", "x")]),
    "a read": ("read_files", {"path": "a"}, [item("a", LINE)]),
    "an edit": ("editor", {"path": "a", "old_text": LINE, "new_text": LINE + "y"}, "ok"),
    "a patch": ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: a\n+{LINE}\n*** End Patch"}, "ok"),
    "a patch of a million lines": (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Add File: a\n" + "+x\n" * 1_000_000},
        "ok",
    ),
    "an edit of many lines": (
        "editor",
        {"path": "a", "old_text": "a\n" * 300_000, "new_text": "b\n" * 300_000},
        "ok",
    ),
    "any other tool": ("lab__x", {"a": LINE}, LINE),
}


@pytest.mark.parametrize(("name", "value", "content"), HUGE.values(), ids=HUGE)
def test_ten_megabytes_on_one_line(tmp_path: Path, name: str, value: Any, content: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.ran(name, value, content)
    session.write()
    with within(10), archive(tmp_path) as kept:
        record = read(session.folder)
        kept.sync([session.root])
        assert kept.record(session.session_id).steps == record.steps
    assert [step.outcome for step in tools(record)] == ["ok"]


def test_many_unknown_blocks_take_time_in_proportion(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.add(
        "assistant", [{"type": "citation", "quote": f"quote {number} " + "x" * 80} for number in range(8000)]
    )
    session.write()
    with within(5):
        record = read(session.folder)
    assert len(record.steps) == 8001


def test_many_results_in_another_order_take_time_in_proportion(tmp_path: Path) -> None:
    names = [f"echo {number}" for number in range(40_000)]
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("run_commands", {"commands": names}, [item(f"~{name}", name) for name in names[::-1]])
    session.write()
    with within(5):
        record = read(session.folder)
    assert len(record.steps) == 40_001


def test_many_heredocs_without_an_end_take_time_in_proportion(tmp_path: Path) -> None:
    lines = [f"cat <<END{number}" for number in range(40_000)]
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("run_commands", {"commands": lines}, [item(line, "") for line in lines])
    session.write()
    with within(5):
        record = read(session.folder)
    assert len(record.steps) == 40_001


LONG_ERRORS = {
    "openings of a feedback without an end": "User denied the tool execution" + "<feedback>" * 60_000,
    "blanks": "User denied the tool execution" + " \n" * 300_000 + "x",
    "lines of an exit": "[Command exited with code 1]\n" * 60_000,
}


@pytest.mark.parametrize("message", LONG_ERRORS.values(), ids=LONG_ERRORS)
@pytest.mark.parametrize("name", ["run_commands", "editor", "lab__x"])
def test_a_long_error_is_read_in_time_that_grows_with_its_length(
    tmp_path: Path, name: str, message: str
) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    value = {"commands": ["ls"], "path": "a", "new_text": "b"}
    session.ran(name, value, json.dumps({"error": message}), is_error=True)
    session.ran(name, value, [item("ls", message, message)])
    session.write()
    with within(5):
        record = read(session.folder)
    assert {step.outcome for step in tools(record)} == {"failed"}
