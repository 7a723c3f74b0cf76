"""The archive and a file that is cut, broken or half there: what was read stays, and a mended file mends all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hostile import document, small
from sessions import (
    START,
    Session,
    environment,
    iso,
    item,
    messages,
    pretty,
    read,
    text,
    tool_result,
    tool_use,
    wrapped,
)

from backstory import Archive
from backstory.schema.record import Record

NOW = START + 3_600_000
RECENT, OLD = NOW - 1000, NOW - 1_800_000
"""A file that Cline may be writing at this moment, and one that is what it is."""


def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "home" / "archive.db", env=environment(tmp_path), now=lambda: NOW)


def put(path: Path, data: bytes, at: int) -> None:
    path.write_bytes(data)
    os.utime(path, ns=(at * 1_000_000 + len(data), at * 1_000_000 + len(data)))


def comparable(record: Record) -> Any:
    """A record without what only an archive knows."""
    printed = document(record)
    for call in printed["calls"]:
        call.pop("settled")
    for name in ("gone", "totals", "copied_from"):
        printed["session"].pop(name)
    return printed


def assert_as_fresh(kept: Archive, session: Session) -> None:
    stored, fresh = comparable(kept.record(session.session_id)), comparable(read(session.folder))
    for name in ("session", "actors", "segments", "turns", "steps", "calls"):
        assert stored[name] == fresh[name], name


def talkative(root: Path) -> Session:
    """Two turns, batches, a subagent, checkpoints, tokens."""
    session = small(root)
    assert session.manifest is not None
    call = session.call("spawn_agent", {"systemPrompt": "s", "task": "Count the files"}, "call_9")
    child = session.child("agent_1796026009000_abc123")
    child.user("Count the files")
    child.ran("run_commands", {"commands": ["ls"]}, [item("ls", "a.py")])
    child.reply("One.")
    session.result(call, json.dumps({"text": "One.", "finishReason": "completed"}))
    session.prompt("Weiter", mode="plan")
    session.reply("Ende.")
    point = {"ref": "abc", "createdAt": START + 1500, "runCount": 1, "kind": "commit"}
    session.manifest["metadata"]["checkpoint"] = {"latest": point, "history": [point]}
    return session


def quiet(session: Session) -> Session:
    """Write a session whose files were left alone for a while."""
    for path in session.write().folder.iterdir():
        os.utime(path, ns=(OLD * 1_000_000, OLD * 1_000_000))
    return session


# --- Cut at a hundred places -------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["lead", "child", "manifest", "compaction"])
@pytest.mark.parametrize("at", [RECENT, OLD], ids=["at this moment", "for good"])
@pytest.mark.parametrize("tail", [b"", b"\0\0\0\0"], ids=["cut", "NUL tail"])
def test_a_cut_takes_nothing_from_what_was_read_before(
    tmp_path: Path, file: str, at: int, tail: bytes
) -> None:
    session = talkative(tmp_path / "sessions").write()
    compaction = session.folder / f"{session.session_id}.compaction.json"
    meta = {"kind": "compaction_summary", "summary": "We tested."}
    compaction.write_bytes(
        pretty({"version": 1, "messages": [{"role": "user", "content": "x", "metadata": meta}]})
    )
    path = {
        "compaction": compaction,
        "lead": session.file,
        "child": session.folder / "agent_1796026009000_abc123.messages.json",
        "manifest": session.manifest_file,
    }[file]
    whole = path.read_bytes()
    broken = []
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        before = comparable(kept.record(session.session_id))
        for cut in range(0, len(whole) - 1, len(whole) // 34 + 1):
            put(path, whole[:cut] + tail, at)
            report = kept.sync([session.root])
            during = comparable(kept.record(session.session_id))
            everything = kept.record(session.session_id, superseded=True)
            changed = [
                name
                for name in ("actors", "segments", "turns", "steps", "calls")
                if during[name] != before[name]
            ]
            if changed or report.failed or any(step.superseded for step in everything.steps):
                broken.append((cut, changed, report.failed))
            put(path, whole, at + 1)
            kept.sync([session.root])
            if comparable(kept.record(session.session_id)) != comparable(read(session.folder)):
                broken.append((cut, ["not mended"], []))
        assert_as_fresh(kept, session)
    assert broken == []


@pytest.mark.parametrize("at", [RECENT, OLD], ids=["at this moment", "for good"])
def test_a_session_that_is_cut_when_it_is_first_seen(tmp_path: Path, at: int) -> None:
    """What can be saved is there at once, or as soon as the file is quiet; the whole comes with the whole file."""
    session = quiet(talkative(tmp_path / "sessions"))
    whole = session.file.read_bytes()
    for number, cut in enumerate(range(0, len(whole) - 1, len(whole) // 25 + 1)):
        with archive(tmp_path / str(number)) as kept:
            put(session.file, whole[:cut], at)
            report = kept.sync([session.root])
            assert [torn.name for torn in report.torn] == [session.file.name]
            if at == OLD and whole[:cut].count(b"\n    }"):
                fresh = [step.id for step in read(session.folder).steps]
                assert [step.id for step in kept.record(session.session_id).steps] == fresh
            put(session.file, whole, at + 1)
            kept.sync([session.root])
            assert_as_fresh(kept, session)


def test_a_file_that_stays_cut_is_salvaged_once_it_is_quiet(tmp_path: Path) -> None:
    session = quiet(talkative(tmp_path / "sessions"))
    whole = session.file.read_bytes()
    now = NOW
    with Archive(tmp_path / "a.db", env=environment(tmp_path), now=lambda: now) as kept:
        put(session.file, whole[:-200], RECENT)
        kept.sync([session.root])
        told = {step.id for step in kept.record(session.session_id).steps if step.actor_id == "root"}
        assert told <= {"manifest#prompt"}
        now += 60_000
        report = kept.sync([session.root])
        assert [torn.salvaged for torn in report.torn] == [len(session.messages) - 1]
        again = kept.sync([session.root])
        assert again.new_steps == 0


def test_a_childs_file_that_stays_cut_is_salvaged_while_the_lead_goes_on(tmp_path: Path) -> None:
    session = quiet(talkative(tmp_path / "sessions"))
    child = session.folder / "agent_1796026009000_abc123.messages.json"
    put(child, child.read_bytes()[:-20], OLD)
    put(session.file, session.data(), RECENT)
    with archive(tmp_path) as kept:
        report = kept.sync([session.root])
        assert [(torn.name, torn.salvaged) for torn in report.torn] == [(child.name, 3)]
        assert any(step.actor_id != "root" for step in kept.record(session.session_id).steps)


NOTHING = {
    "empty": b"",
    "NUL bytes": b"\0" * 900,
    "null": b"null",
    "an array": b"[]",
    "an object": b"{}",
    "no messages": b'{"version":1,"updated_at":"2026-11-30T08:10:52.462Z"}',
    "messages null": b'{"version":1,"messages":null}',
    "messages an object": b'{"version":1,"messages":{}}',
    "messages text": b'{"version":1,"messages":"x"}',
    "another document": b'{"mcpServers":{}}',
}


@pytest.mark.parametrize("at", [RECENT, OLD], ids=["at this moment", "for good"])
@pytest.mark.parametrize("data", NOTHING.values(), ids=NOTHING)
def test_what_is_no_conversation_supersedes_nothing(tmp_path: Path, data: bytes, at: int) -> None:
    session = talkative(tmp_path / "sessions").write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        before = comparable(kept.record(session.session_id))
        put(session.file, data, at)
        report = kept.sync([session.root])
        assert comparable(kept.record(session.session_id))["steps"] == before["steps"]
        assert [torn.name for torn in report.torn] == [session.file.name]
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)


def test_a_conversation_that_was_emptied_is_kept_and_marked(tmp_path: Path) -> None:
    session = talkative(tmp_path / "sessions").write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        ids = {step.id for step in kept.record(session.session_id).steps if step.actor_id == "root"}
        put(session.file, pretty({**session.document(), "messages": []}), OLD)
        kept.sync([session.root])
        everything = kept.record(session.session_id, superseded=True).steps
        assert {step.id for step in everything if step.superseded} == ids
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)


# --- The manifest comes late, or broken --------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [None, b"", b'{"version": 1, "session_id": "17'], ids=["none", "empty", "cut"]
)
@pytest.mark.parametrize("imported", [False, True], ids=["own", "imported"])
def test_a_manifest_that_comes_after_the_messages_is_heeded(
    tmp_path: Path, data: bytes | None, imported: bool
) -> None:
    """Cline writes the manifest in place too: at a bad moment a first pass meets messages without it."""
    session = talkative(tmp_path / "sessions")
    assert session.manifest is not None
    if imported:
        session.manifest["metadata"]["importedFrom"] = {"tool": "claude-code", "importedAt": START}
        session.messages[0]["content"] = "Without an envelope, as an importer writes it"
    session.write()
    whole = session.manifest_file.read_bytes()
    with archive(tmp_path) as kept:
        if data is None:
            session.manifest_file.unlink()
        else:
            put(session.manifest_file, data, OLD)
        kept.sync([session.root])
        put(session.manifest_file, whole, OLD + 1)
        kept.sync([session.root])
        assert_as_fresh(kept, session)


def test_a_manifest_that_breaks_later_takes_nothing_away(tmp_path: Path) -> None:
    session = talkative(tmp_path / "sessions").write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        put(session.manifest_file, b"{", OLD)
        session.reply("More")
        put(session.file, session.data(), OLD)
        kept.sync([session.root])
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)


def test_an_import_in_progress_whose_manifest_breaks_once(tmp_path: Path) -> None:
    """Messages that were read while nobody knew of the import still count as imported."""
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["metadata"]["sessionHistoryOrigin"] = {"mode": "import", "trigger": "claude-code"}
    session.add("user", "From elsewhere")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        put(session.manifest_file, b"", OLD)
        session.reply("Answered elsewhere")
        put(session.file, session.data(), OLD)
        kept.sync([session.root])
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)
        assert {flag for call in kept.record(session.session_id).calls for flag in call.flags} >= {"imported"}


# --- Results that come late, or twice ----------------------------------------------------------------------


def grown(tmp_path: Path, session: Session) -> Archive:
    """An archive that saw the session after each of its messages."""
    kept = archive(tmp_path)
    everything = session.messages
    for count in range(len(everything) + 1):
        session.messages = everything[:count]
        session.write()
        kept.sync([session.root])
        stored = kept.record(session.session_id, superseded=True).steps
        assert len({step.id for step in stored}) == len(stored), count
        assert_as_fresh(kept, session)
    return kept


def test_a_result_that_comes_after_a_later_reply(tmp_path: Path) -> None:
    """The last reply is where a next reading begins; the call that waits stands before it."""
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["sleep 9"]}, "call_slow")
    session.call("run_commands", {"commands": ["ls"]}, "call_fast")
    session.result("call_fast", [item("ls", "files")])
    session.reply("Waiting.")
    session.result("call_slow", [item("sleep 9", "slept")])
    session.result("call_none", [item("x", "nobody asked")])
    session.prompt("And now?")
    session.reply("Done.")
    grown(tmp_path, session).close()


def test_equal_ids_and_second_results_while_a_session_grows(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.reply(*(tool_use("call_1", "run_commands", {"commands": [f"echo {n}"]}) for n in range(2)))
    session.add("user", [tool_result("call_1", [item("echo 1", "1")])])
    session.reply("One", id="msg_same")
    session.add("user", [tool_result("call_1", [item("echo 0", "0")])])
    session.reply("Two", id="msg_same")
    session.add("user", [tool_result("call_1", [item("echo 0", "again")]), text(wrapped("Stop"))])
    session.reply(tool_use("call_1", "lab__x", {}))
    grown(tmp_path, session).close()


def test_a_call_that_stays_open_over_many_replies_and_a_restart(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["serve", "watch"]}, "call_open")
    for number in range(4):
        session.prompt(f"Prompt {number}")
        session.ran("run_commands", {"commands": ["ls"]}, [item("ls", str(number))])
        session.reply("Done")
    kept = grown(tmp_path, session)
    kept.close()
    session.result("call_open", [item("watch", "watched"), item("serve", "served")])
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert_as_fresh(kept, session)


def test_a_child_file_that_appears_before_the_call_that_spawned_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Ask around")
    child = session.child("agent_1796026001500_abc123")
    child.user("Count")
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        call = session.call("spawn_agent", {"task": "Count"})
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)
        child.reply("Three.")
        session.result(call, json.dumps({"text": "Three.", "finishReason": "completed"}))
        session.write()
        kept.sync([session.root])
        assert_as_fresh(kept, session)


# --- One session's fault is no other's ---------------------------------------------------------------------


def test_one_broken_session_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    for number in range(6):
        session = Session(tmp_path / "sessions", f"179602600000{number}_abcde")
        session.prompt(f"Session {number}", id=f"msg_{number}")
        session.write()
        if number == 3:
            put(session.file, b"\xff\xfe" + session.file.read_bytes(), OLD)
        if number == 4:
            put(session.manifest_file, b"[1, 2", OLD)
    with archive(tmp_path) as kept:
        report = kept.sync([tmp_path / "sessions"])
        said = [messages(kept.record(listed.session.id)) for listed in kept.sessions()]
    for number in (0, 1, 2, 4, 5):
        assert [("user", f"Session {number}")] in said
    assert {torn.name for torn in report.torn} == {
        "1796026000003_abcde.messages.json",
        "1796026000004_abcde.json",
    }


def test_of_two_copies_the_newer_wins_whatever_was_read_before(tmp_path: Path) -> None:
    for order in ("ab", "ba"):
        home = tmp_path / order
        with archive(home) as kept:
            for name in order:
                session = Session(home / name)
                session.prompt(f"Copy {name}")
                updated = START if name == "a" else START + 5000
                session.write()
                put(session.file, pretty({**session.document(), "updated_at": iso(updated)}), OLD)
                kept.sync([home / "a", home / "b"])
            assert messages(kept.record(session.session_id)) == [("user", "Copy b")], order
