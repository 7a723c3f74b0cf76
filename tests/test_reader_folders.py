"""Sessions folders as they are found: linked, foreign files, closed to the reader, and the names that people type."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from roots import SOUND, named, sound, synced
from sessions import ID, Session, archive, messages, read
from timelimit import within

from backstory.errors import InputError, ReadError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A sessions folder with one sound session."""
    return sound(tmp_path / "sessions").root


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
def test_a_name_that_is_no_utf_8_costs_only_itself(tmp_path: Path, root: Path, what: str) -> None:
    """Names as an old archive program unpacks them; the system hands them over with half characters."""
    odd = os.fsdecode(b"1796020000000_caf\xe9")
    folder = root / (odd if what == "folder" else "1796020000000_sound")
    folder.mkdir(exist_ok=True)
    (folder / f"{odd}.messages.json").write_bytes(Session(root).data())
    sound(root, "1796020000001_other")
    _, said = synced(tmp_path, root)
    assert said["1796020000001_other"] == [("user", "Sound"), ("assistant", "Yes")]
    assert said["1796020000000_sound"] == [("user", "Sound"), ("assistant", "Yes")]


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
    assert read(session.folder).session.fidelity.notes
    session.manifest_file.unlink()
    with pytest.raises(ReadError, match=f"{session.file.name}: permission denied"):
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
