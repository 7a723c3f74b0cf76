"""What stands in a sessions folder beside what Cline writes: links, pipes, folders, foreign files, two copies."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sessions import ID, START, Conversation, Session, archive, environment, iso, messages, pretty, read
from timelimit import within

from backstory import Archive
from backstory.capture.sync import SyncReport
from backstory.errors import InputError, ReadError
from backstory.sources.base import Root
from backstory.sources.cline.source import ClineSource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A sessions folder with one sound session."""
    return sound(tmp_path / "sessions").root


def sound(root: Path, session_id: str = "1796020000000_sound") -> Session:
    session = Session(root, session_id, start=START - 1000_000)
    session.prompt("Sound", id=f"{session_id}-0")
    session.reply("Yes", id=f"{session_id}-1")
    return session.write()


def named(report: SyncReport, path: Path) -> str | None:
    """The reason for which a pass left a file out, if it names it."""
    left = [*report.skipped, *report.failed]
    reasons = {Path(entry.path): entry.reason for entry in left}
    return reasons.get(path) or ("torn" if str(path) in {entry.path for entry in report.torn} else None)


def synced(tmp_path: Path, *roots: Path) -> tuple[SyncReport, dict[str, list[tuple[str, str]]]]:
    """What one pass over these folders reports, and what was said in each session afterwards."""
    with within(10), archive(tmp_path) as kept:
        report = kept.sync(roots)
        ids = [listed.session.id for listed in kept.sessions()]
        return report, {session_id: messages(kept.record(session_id)) for session_id in ids}


SOUND = {"1796020000000_sound": [("user", "Sound"), ("assistant", "Yes")]}


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


# --- In place of a session folder --------------------------------------------------------------------------


def test_a_linked_session_folder_is_read_once(tmp_path: Path, root: Path) -> None:
    real = sound(tmp_path / "elsewhere", "1796020000000_other")
    (root / real.session_id).symlink_to(real.folder)
    (root / "again").symlink_to(real.folder)
    report, said = synced(tmp_path, root)
    assert report.seen == 2
    assert list(said) == ["1796020000000_sound", "1796020000000_other"] or len(said) == 2


def test_a_link_beside_the_folder_it_names_is_read_once(tmp_path: Path, root: Path) -> None:
    (root / "0_alias").symlink_to("1796020000000_sound")
    (root / "z_alias").symlink_to(root / "1796020000000_sound")
    report, said = synced(tmp_path, root)
    assert (report.seen, said) == (1, SOUND)


def test_a_root_that_is_named_twice_is_read_once(tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    report, said = synced(tmp_path, root, tmp_path / "link", root)
    assert (report.new_sessions, said) == (1, SOUND)


def test_links_that_lead_nowhere_or_in_a_circle(tmp_path: Path, root: Path) -> None:
    (root / "dead").symlink_to(tmp_path / "nothing")
    (root / "circle").symlink_to("circle")
    (root / "up").symlink_to("..")
    (root / "here").symlink_to(".")
    assert synced(tmp_path, root)[1] == SOUND


def test_files_among_the_folders_are_ignored(tmp_path: Path, root: Path) -> None:
    (root / "sessions.index.json").write_text("{}")
    (root / "subagent-spawn-queue.json").write_text("[]")
    (root / ".DS_Store").write_bytes(b"\0")
    (root / "empty").mkdir()
    (root / "notes").mkdir()
    (root / "notes" / "notes.txt").write_text("x")
    os.mkfifo(root / "pipe")
    report, said = synced(tmp_path, root)
    assert (report.failed, said) == ([], SOUND)
    assert {Path(left.path).name for left in report.skipped} >= {
        "sessions.index.json",
        "subagent-spawn-queue.json",
    }


FOREIGN = {
    "a Mac's shadow file": (f"._{ID}.messages.json", b"\0\x05\x16\x07\0\2\0\0Mac OS X"),
    "an empty stem": (".messages.json", b'{"version":1,"messages":[]}'),
    "a temporary file": (f"{ID}.compaction.json.4711.tmp", b'{"messages":[]}'),
    "an editor's backup": (f"{ID}.messages.json~", b"{"),
    "a child that is empty": ("agent_1796026000000_aaaaaa.messages.json", b""),
    "a child with blanks in its name": ("a b (c).messages.json", b'{"version":1,"messages":[]}'),
}


@pytest.mark.parametrize(("name", "data"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_in_a_session_folder_changes_nothing(tmp_path: Path, name: str, data: bytes) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    before = session.read()
    (session.folder / name).write_bytes(data)
    after = read(session.folder)
    assert after.steps == before.steps
    assert sum(actor.type == "root" for actor in after.actors) == 1
    assert synced(tmp_path, session.root)[1] == {ID: [("user", "Hello")]}


def test_a_file_without_a_stem_is_not_a_second_lead(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.write()
    (session.folder / ".messages.json").write_bytes(session.data())
    record = read(session.folder)
    assert len({step.id for step in record.steps}) == len(record.steps)
    assert sum(actor.type == "root" for actor in record.actors) == 1


@pytest.mark.parametrize("what", ["folder", "child"])
def test_a_name_that_is_no_utf_8_keeps_no_other_session_from_being_read(
    tmp_path: Path, root: Path, what: str
) -> None:
    """Names as an old archive program unpacks them; the system hands them over with half characters."""
    if what == "folder":
        folder = os.fsencode(root) + b"/1796020000000_caf\xe9"
        os.mkdir(folder)
        with open(folder + b"/1796020000000_caf\xe9.messages.json", "wb") as file:
            file.write(Session(root).data())
    else:
        with open(os.fsencode(root) + b"/1796020000000_sound/caf\xe9.messages.json", "wb") as file:
            file.write(Session(root).data())
    sound(root, "1796020000001_other")
    _, said = synced(tmp_path, root)
    assert said["1796020000001_other"] == [("user", "Sound"), ("assistant", "Yes")]


# --- What the system refuses -------------------------------------------------------------------------------


@pytest.fixture
def as_somebody() -> Iterator[Path]:
    """A folder of one's own, as a person whom file modes hold back, which root is not."""
    folder = Path(tempfile.mkdtemp(prefix="backstory-test-"))
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o700)
    if root:
        os.seteuid(0)
    shutil.rmtree(folder)


def closed(path: Path, mode: int = 0) -> Path:
    path.chmod(mode)
    return path


def test_an_unreadable_messages_file_is_named_and_keeps_what_was_read(as_somebody: Path) -> None:
    session = sound(as_somebody / "sessions")
    with archive(as_somebody) as kept:
        kept.sync([session.root])
        session.reply("More")
        session.write()
        closed(session.file)
        report = kept.sync([session.root])
        assert "permission" in (named(report, session.file) or "")
        assert messages(kept.record(session.session_id)) == SOUND[session.session_id]
        closed(session.file, 0o600)
        kept.sync([session.root])
        assert messages(kept.record(session.session_id))[-1] == ("assistant", "More")


def test_an_unreadable_file_is_refused_by_name(as_somebody: Path) -> None:
    session = sound(as_somebody / "sessions")
    closed(session.file)
    with pytest.raises(ReadError, match="permission denied"):
        read(session.folder)


def test_an_unreadable_manifest_takes_nothing_away(as_somebody: Path) -> None:
    session = sound(as_somebody / "sessions")
    with archive(as_somebody) as kept:
        kept.sync([session.root])
        before = kept.record(session.session_id)
        session.reply("More")
        session.write()
        closed(session.manifest_file)
        report = kept.sync([session.root])
        after = kept.record(session.session_id)
    assert "permission" in (named(report, session.manifest_file) or "")
    assert (after.session.cwd, after.session.title) == (before.session.cwd, before.session.title)
    assert len(after.steps) == len(before.steps) + 1


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100], ids=["closed", "names only", "no listing"])
def test_a_session_folder_that_cannot_be_entered_is_named_and_not_gone(as_somebody: Path, mode: int) -> None:
    """Only a pass that could look may say that a session left the disk."""
    session = sound(as_somebody / "sessions")
    with archive(as_somebody) as kept:
        kept.sync([session.root])
        closed(session.folder, mode)
        report = kept.sync([session.root])
        assert report.gone == 0
        assert not kept.listed(session.session_id).session.gone
        assert any(str(session.folder) in left.path for left in (*report.skipped, *report.failed))


def test_a_root_that_cannot_be_listed_is_named_and_marks_nothing_gone(as_somebody: Path) -> None:
    session = sound(as_somebody / "sessions")
    with archive(as_somebody) as kept:
        kept.sync([session.root])
        closed(session.root)
        report = kept.sync([session.root])
        assert (report.gone, kept.listed(session.session_id).session.gone) == (0, False)
        assert any(str(session.root) in left.path for left in report.skipped)


def test_an_item_behind_a_closed_folder_is_refused(as_somebody: Path) -> None:
    session = sound(as_somebody / "sessions")
    closed(session.root)
    with archive(as_somebody) as kept, pytest.raises(InputError):
        kept.ingest(str(session.folder))


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
    assert [Path(left.path).parent for left in reading.skipped][0] == session.folder
    assert len(reading.files) == (1 if what == "manifest" else 0)


# --- Names that people type --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        "../x",
        "../../etc/passwd",
        "..",
        ".",
        "",
        " ",
        "/",
        "/dev/zero",
        "~nobody-here/x",
        "~",
        "a\0b",
        "a/b",
        "x" * 5000,
        "x/" * 3000,
        "-rf",
        "*",
        "a b",
        "\x1b[2J",
        "C:\\x",
        "last",
        "1796026000000_none",
        "\udce9",
    ],
    ids=lambda item: repr(item[:20]),
)
def test_an_item_that_is_no_session_is_refused_in_one_line(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, item: str
) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(root)
    with within(10), archive(tmp_path) as kept:
        with pytest.raises(InputError) as refused:
            kept.ingest(item, sessions_dirs=[root])
        assert kept.count() == 0
    assert "\n" not in str(refused.value)
    with within(10), pytest.raises(InputError):
        read(item)


def test_an_item_cannot_climb_out_of_the_sessions_folder(tmp_path: Path, root: Path) -> None:
    """An id is looked up in the folder; only a path that a person writes as one leads elsewhere."""
    sound(tmp_path, "1796020000000_other")
    with archive(tmp_path) as kept:
        for item in ("../1796020000000_other", "./../1796020000000_other", "..%2f1796020000000_other"):
            with pytest.raises(InputError):
                kept.ingest(item, sessions_dirs=[root])


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
