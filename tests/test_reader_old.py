"""Files as they are found: marked, damaged, huge, imported, copied, from Windows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import document
from sessions import (
    START,
    Session,
    archive,
    environment,
    item,
    messages,
    metrics,
    pretty,
    read,
    tools,
)

from backstory import Archive
from backstory.errors import ReadError
from backstory.schema.step import Other
from backstory.sources.cline import files

# --- Files -------------------------------------------------------------------------------------------------


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    session.write()
    for path in (session.file, session.manifest_file):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    record = read(session.folder)
    assert messages(record) == [("user", "Hello")]
    assert record.session.cwd == "/home/dev/work/demo"
    assert record.session.fidelity.whole


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98"], ids=repr)
def test_a_bad_byte_costs_a_character(tmp_path: Path, bad: bytes) -> None:
    session = Session(tmp_path)
    session.prompt("One")
    session.reply("Two @@ two")
    session.prompt("Three")
    session.write()
    session.file.write_bytes(session.file.read_bytes().replace(b"@@", bad))
    record = read(session.folder)
    document(record)
    said = [text for _, text in messages(record)]
    assert (said[0], said[2]) == ("One", "Three")
    assert said[1].startswith("Two ")
    assert said[1].endswith(" two")


@pytest.mark.parametrize("where", ["prompt", "command", "output", "path", "other", "id", "title", "json"])
def test_half_an_emoji_costs_a_character(tmp_path: Path, where: str) -> None:
    half = "x \ud83d y"
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.prompt(half if where == "prompt" else "Hello")
    command = f"echo {half}" if where == "command" else "ls"
    session.ran("run_commands", {"commands": [command]}, [item(command, half if where == "output" else "x")])
    encoded = json.dumps([f"echo {half}"]) if where == "json" else "ls"
    session.ran("run_commands", {"commands": encoded}, [item("?", "x")])
    session.ran("read_files", {"path": half if where == "path" else "a"}, [item("a", "x")])
    session.ran("lab__x", {"a": half if where == "other" else "a"}, "x")
    session.reply("Bye", id=half if where == "id" else "msg_last")
    if where == "title":
        session.manifest["metadata"]["title"] = half
    record = session.read()
    printed = json.dumps(document(record), ensure_ascii=False)
    assert "x \ufffd y" in printed
    assert [step.type for step in record.steps] == [
        "message",
        "command",
        "command",
        "read",
        "other",
        "message",
    ]
    with archive(tmp_path) as kept:
        report = kept.sync([session.root])
        assert report.failed == []
        assert kept.record(session.session_id).steps == record.steps


def test_140_megabytes_are_read(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Print much")
    for number in range(7):
        session.ran("run_commands", {"commands": ["seq"]}, [item("seq", f"{number}" + "x" * 20_000_000)])
    session.reply("Done")
    session.write()
    assert session.file.stat().st_size > 140_000_000
    record = read(session.folder)
    assert [step.type for step in record.steps] == ["message", *["command"] * 7, "message"]


def test_a_file_that_is_too_large_is_named(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.write()
    with session.file.open("r+b") as file:
        file.truncate(files.MAX_BYTES + 1)
    with archive(tmp_path) as kept:
        report = kept.sync([session.root])
    assert [Path(left.path).name for left in report.skipped] == [session.file.name]
    assert "more than Backstory reads" in report.skipped[0].reason
    session.manifest_file.unlink()
    with pytest.raises(ReadError, match=session.file.name):
        read(session.folder)


# --- Copies ------------------------------------------------------------------------------------------------


def test_sessions_whose_messages_have_no_ids_are_no_copies_of_each_other(tmp_path: Path) -> None:
    """A rewind is known by equal leading message ids; a place in a file is no id."""
    for number in range(2):
        session = Session(tmp_path / "sessions", f"179602600000{number}_abcde", START + number * 1000_000)
        session.add("user", f"Something else {number}", id=...)
        session.add("assistant", f"Another answer {number}", id=...)
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        for listed in kept.sessions():
            assert listed.session.copied_from is None
            assert kept.copies(listed.session.id) == []
        assert kept.forget(session.session_id, with_copies=True).copies == ()
        assert kept.count() == 1


def test_a_rewind_is_a_copy_by_its_leading_ids(tmp_path: Path) -> None:
    first = Session(tmp_path / "sessions", "1796026000000_first")
    first.prompt("Port it")
    first.reply("Done")
    first.prompt("And this")
    first.write()
    second = Session(tmp_path / "sessions", "1796026900000_other", START)
    second.messages = first.messages[:2]
    second.prompt("No, that", id="msg_other")
    second.write()
    with archive(tmp_path) as kept:
        kept.sync([first.root])
        copied = kept.listed(second.session_id).session.copied_from
        assert copied is not None
        assert (copied.session_id, copied.kind, copied.messages) == (first.session_id, "rewind", 2)
        assert [step.flags for step in kept.record(second.session_id).steps] == [("copied",), ("copied",), ()]


def test_imports_are_marked_and_what_was_typed_afterwards_is_not(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["metadata"]["importedFrom"] = {
        "tool": "claude-code",
        "sourceSessionId": "x",
        "importedAt": START,
    }
    session.add("user", "Elsewhere", ts=...)
    session.reply("There", metrics=metrics(tokens=100, read=50, cost=0))
    session.prompt("Here")
    session.reply("In Cline")
    record = session.read()
    assert ["imported" in step.flags for step in record.steps] == [True, True, False, False]
    assert [("imported" in call.flags, call.fresh) for call in record.calls] == [(True, 100), (False, 1000)]


# --- Old and foreign data ----------------------------------------------------------------------------------


def test_windows_line_ends_and_key_order_do_not_matter(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Hello")
    session.write()
    backwards = dict(reversed(list(session.document().items())))
    session.file.write_bytes(pretty(backwards).replace(b"\n", b"\r\n"))
    assert messages(read(session.folder)) == [("user", "Hello")]


def test_a_windows_session_keeps_its_folder_as_recorded(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest |= {"cwd": "C:\\Users\\Dev\\My App", "workspace_root": "C:\\Users\\Dev\\My App"}
    found = session.read().session
    assert (found.cwd, found.project) == ("C:\\Users\\Dev\\My App", "My App")


@pytest.mark.parametrize(
    "cwd", [None, "", " ", 5, [], "/", "sub", "//server/share/x", "C:\\", "\x1b[2J", "a\0b"]
)
def test_any_folder_is_recorded_without_a_fault(tmp_path: Path, cwd: Any) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["cwd"] = cwd
    session.prompt("Hello")
    document(session.read())
    with archive(tmp_path) as kept:
        assert kept.sync([session.root]).failed == []


def test_an_archive_of_a_foreign_home_reads_no_settings_of_this_one(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.ran("lab__x", {}, "x")
    session.write()
    with Archive(tmp_path / "a.db", env=environment(tmp_path)) as kept:
        kept.sync([session.root])
        (step,) = tools(kept.record(session.session_id))
    assert (step.decision, step.decision_source) == ("auto", "default")
    assert step.payload == Other("lab__x", {"input": {}, "result": "x"})
