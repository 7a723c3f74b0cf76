"""What stands in the place of a session's files: folders, pipes, links, and a second copy of the session."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from roots import SOUND, named, sound, synced
from sessions import ID, START, Conversation, Session, environment, iso, messages, pretty, read
from timelimit import within

from backstory import Archive
from backstory.errors import InputError, ReadError
from backstory.sources.base import Root
from backstory.sources.cline.source import ClineSource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A sessions folder with one sound session."""
    return sound(tmp_path / "sessions").root


# --- In place of a messages file ---------------------------------------------------------------------------


def a_folder(path: Path, outside: Path) -> None:
    path.mkdir()


def a_pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def a_link_out(path: Path, outside: Path) -> None:
    secret = Conversation()
    secret.prompt("A secret")
    outside.write_bytes(secret.data())
    path.symlink_to(outside)


def a_link_to_a_device(path: Path, outside: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_a_pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path.parent / "pipe")
    path.symlink_to("pipe")


def a_link_to_itself(path: Path, outside: Path) -> None:
    path.symlink_to(path.name)


def a_dead_link(path: Path, outside: Path) -> None:
    path.symlink_to("nothing")


ODD = [a_folder, a_pipe, a_link_out, a_link_to_a_device, a_link_to_a_pipe, a_link_to_itself, a_dead_link]
NAMES = [odd.__name__ for odd in ODD]


@pytest.mark.parametrize("odd", ODD, ids=NAMES)
@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "no manifest"])
def test_what_is_no_file_is_not_opened_and_is_named(
    tmp_path: Path, root: Path, odd: Any, with_manifest: bool
) -> None:
    session = Session(root)
    if not with_manifest:
        session.manifest = None
    session.write().file.unlink()
    odd(session.file, tmp_path / "outside.json")
    report, said = synced(tmp_path, root)
    assert said.pop(ID, [("user", "Do something")]) == [("user", "Do something")]
    assert said == SOUND
    assert named(report, session.file), "silently missing"


@pytest.mark.parametrize("odd", ODD, ids=NAMES)
@pytest.mark.parametrize("path", ["folder", "file"])
def test_read_session_refuses_it_by_name(tmp_path: Path, odd: Any, path: str) -> None:
    session = Session(tmp_path / "sessions")
    session.manifest = None
    session.write().file.unlink()
    odd(session.file, tmp_path / "outside.json")
    with within(10), pytest.raises((ReadError, InputError), match=ID):
        read(session.folder if path == "folder" else session.file)


@pytest.mark.parametrize("odd", ODD, ids=NAMES)
def test_a_childs_file_that_is_none_costs_only_itself(tmp_path: Path, root: Path, odd: Any) -> None:
    session = sound(root)
    child = session.folder / "agent_1796026000000_abcdef.messages.json"
    odd(child, tmp_path / "outside.json")
    report, said = synced(tmp_path, root)
    assert said == SOUND
    assert named(report, child), "silently missing"


@pytest.mark.parametrize("odd", ODD, ids=NAMES)
@pytest.mark.parametrize("name", [f"{ID}.json", f"{ID}.compaction.json"], ids=["manifest", "compaction"])
def test_a_manifest_that_is_none_leaves_the_conversation(
    tmp_path: Path, root: Path, odd: Any, name: str
) -> None:
    session = Session(root)
    session.prompt("Hello")
    session.write()
    (session.folder / name).unlink(missing_ok=True)
    odd(session.folder / name, tmp_path / "outside.json")
    report, said = synced(tmp_path, root)
    assert said == {**SOUND, ID: [("user", "Hello")]}
    assert named(report, session.folder / name), "silently missing"
    with within(10):
        assert messages(read(session.folder)) == [("user", "Hello")]


def test_a_pipe_in_one_of_two_copies_does_not_block(tmp_path: Path) -> None:
    """Which copy is the newer one is told by the beginning of its messages file."""
    whole, broken = Session(tmp_path / "a"), Session(tmp_path / "b")
    whole.prompt("Hello")
    whole.write()
    broken.write().file.unlink()
    os.mkfifo(broken.file)
    _, said = synced(tmp_path, whole.root, broken.root)
    assert said == {ID: [("user", "Hello")]}


def test_settings_that_are_a_pipe_do_not_block(tmp_path: Path) -> None:
    session = Session(tmp_path / "home" / ".cline" / "data" / "sessions")
    session.prompt("Hello")
    session.write()
    settings = tmp_path / "home" / ".cline" / "data" / "settings"
    settings.mkdir()
    os.mkfifo(settings / "global-settings.json")
    os.mkfifo(settings.parent / "globalState.json")
    with within(10), Archive(tmp_path / "a.db", env=environment(tmp_path / "home")) as kept:
        kept.sync()
        assert messages(kept.record(ID)) == [("user", "Hello")]


# --- What moves while it is read ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["folder", "messages", "manifest"])
def test_what_vanishes_between_looking_and_reading_is_named(tmp_path: Path, what: str) -> None:
    session = sound(tmp_path / "sessions")
    source = ClineSource()
    (ref,) = source.look(Root(session.root, "test")).sessions
    if what == "folder":
        shutil.rmtree(session.folder)
    else:
        (session.file if what == "messages" else session.manifest_file).unlink()
    reading = source.read(ref, {}, env=environment(tmp_path))
    assert {Path(left.path).parent for left in reading.skipped} == {session.folder}
    rows = [row.id for file in reading.files for row in file.rows]
    told = ["1796020000000_sound-0#0", "1796020000000_sound-1#0"]
    assert rows == {"folder": [], "messages": ["manifest#prompt"], "manifest": told}[what]


# --- One id in two places ----------------------------------------------------------------------------------


def two(tmp_path: Path, first: Any, second: Any) -> list[tuple[str, str]]:
    """What is read of one id in two folders whose files say that they were updated then."""
    for name, updated in (("a", first), ("b", second)):
        session = Session(tmp_path / name)
        session.prompt(f"Copy {name}")
        document = {**session.document(), "updated_at": updated}
        session.write().file.write_bytes(
            pretty({key: value for key, value in document.items() if value is not ...})
        )
        os.utime(session.file, ns=(START * 1_000_000, START * 1_000_000))
        os.utime(session.manifest_file, ns=(START * 1_000_000, START * 1_000_000))
    report, said = synced(tmp_path, tmp_path / "a", tmp_path / "b")
    assert report.seen == 1
    return said[ID]


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        (iso(START), iso(START + 1), "b"),
        (iso(START + 1), iso(START), "a"),
        (iso(START), ..., "a"),
        (..., iso(START), "b"),
        (iso(START), "not a time", "a"),
        (None, iso(START), "b"),
        ("\x1b", iso(START), "b"),
    ],
    ids=["second", "first", "none in the second", "none in the first", "no time", "null", "an escape"],
)
def test_of_two_copies_the_newest_updated_at_wins(
    tmp_path: Path, first: Any, second: Any, winner: str
) -> None:
    assert two(tmp_path, first, second) == [("user", f"Copy {winner}")]


def test_the_older_copy_does_not_come_back_with_the_next_pass(tmp_path: Path) -> None:
    two(tmp_path, iso(START), iso(START + 5))
    for _ in range(2):
        report, said = synced(tmp_path, tmp_path / "b", tmp_path / "a")
        assert (report.changed, said[ID]) == (0, [("user", "Copy b")])


def test_messages_elsewhere_are_read_only_where_there_are_none_beside_the_manifest(tmp_path: Path) -> None:
    away = Session(tmp_path / "away")
    away.prompt("Away")
    away.write()
    session = Session(tmp_path / "sessions")
    session.prompt("Here")
    assert session.manifest is not None
    session.manifest["messages_path"] = str(away.file)
    assert messages(session.read()) == [("user", "Here")]
    session.file.unlink()
    record = read(session.folder)
    assert messages(record) == [("user", "Away")]
    assert "messages reached through messages_path" in record.session.fidelity.notes


@pytest.mark.parametrize(
    "where", ["/etc/passwd", "../x.messages.json", "\0", 5, None, [], "x" * 5000, "/dev/zero"]
)
def test_a_messages_path_to_anything_else_is_not_followed(tmp_path: Path, where: Any) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["messages_path"] = where
    session.write().file.unlink()
    with within(10):
        assert [step.id for step in read(session.folder).steps] == ["manifest#prompt"]


def test_a_manifest_of_another_session_says_nothing_of_the_id(tmp_path: Path) -> None:
    """A folder that was renamed together with its files keeps its own name as the id."""
    session = Session(tmp_path, "1796020000000_moved")
    assert session.manifest is not None
    session.manifest["session_id"] = "1796020000000_other"
    session.prompt("Hello")
    record = session.read()
    assert record.session.id == "1796020000000_moved"
    assert {step.session_id for step in record.steps} == {"1796020000000_moved"}


def test_a_messages_file_alone_is_a_session(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.manifest = None
    session.prompt("Hello")
    record = session.read()
    assert messages(record) == [("user", "Hello")]
    assert (record.session.cwd, record.session.project, record.session.fidelity.notes) == (
        None,
        None,
        ("no manifest",),
    )
    assert json.dumps(record.session.started_at) == "null"
