"""The archive keeps: gone sessions, copies, forgotten ones, decisions, permissions."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from growth import RECORDINGS, GrowingSession

from backstory import Archive, read_session
from backstory.capture.sync import SyncReport, sync
from backstory.errors import AmbiguousSession, ArchiveError, UnknownSession
from backstory.schema.document import record_json
from backstory.store.database import MIGRATIONS

NOW = 1_800_000_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "home" / "archive.db", env={"HOME": str(tmp_path)}, now=lambda: NOW)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder


def copy(scenario: str, into: Path) -> list[str]:
    """Copy the sessions of a recording; returns their ids."""
    shutil.copytree(RECORDINGS / scenario / "sessions", into, dirs_exist_ok=True)
    return sorted(folder.name for folder in (RECORDINGS / scenario / "sessions").iterdir())


def test_every_recording_reads_the_same_from_disk_and_archive(archive: Archive, tmp_path: Path) -> None:
    for scenario in sorted(folder.parent.name for folder in RECORDINGS.glob("*/sessions")):
        with Archive(tmp_path / f"{scenario}.db", env={}) as own:
            own.sync([RECORDINGS / scenario / "sessions"])
            for folder in (RECORDINGS / scenario / "sessions").iterdir():
                stored, fresh = (
                    record_json(own.record(folder.name)),
                    record_json(read_session(folder, env={})),
                )
                for call in (*stored["calls"], *fresh["calls"]):
                    call.pop("settled")
                for name in ("segments", "actors", "turns", "steps", "calls"):
                    assert stored[name] == fresh[name], (scenario, name)


def test_ingesting_twice_changes_nothing(archive: Archive, sessions: Path) -> None:
    copy("basic-act", sessions)
    copy("team", sessions)
    first = archive.sync([sessions])
    dump = list(archive.connection.iterdump())
    second = archive.sync([sessions])
    assert (first.changed, second.changed) == (2, 0)
    assert list(archive.connection.iterdump()) == dump


def test_a_deleted_session_stays_and_is_marked_gone(archive: Archive, sessions: Path) -> None:
    (session_id,) = copy("basic-act", sessions)
    archive.sync([sessions])
    before = archive.record(session_id).steps
    shutil.rmtree(sessions / session_id)
    report = archive.sync([sessions])
    assert report.gone == 1
    assert archive.listed(session_id).session.gone
    assert archive.record(session_id).steps == before
    copy("basic-act", sessions)
    archive.sync([sessions])
    assert not archive.listed(session_id).session.gone


def test_a_folder_that_cannot_be_read_marks_nothing_gone(archive: Archive, sessions: Path) -> None:
    (session_id,) = copy("basic-act", sessions)
    archive.sync([sessions])
    shutil.rmtree(sessions)
    assert archive.sync([sessions]).gone == 0
    assert not archive.listed(session_id).session.gone
    other = sessions.parent / "other"
    copy("team", other)
    assert archive.sync([other]).gone == 0
    assert not archive.listed(session_id).session.gone


def test_a_vanished_messages_file_takes_no_step_away(archive: Archive, sessions: Path) -> None:
    (session_id,) = copy("basic-act", sessions)
    archive.sync([sessions])
    before = archive.record(session_id).steps
    (sessions / session_id / f"{session_id}.messages.json").unlink()
    manifest = sessions / session_id / f"{session_id}.json"
    manifest.write_text(manifest.read_text().replace('"completed"', '"failed"'))
    archive.sync([sessions])
    assert archive.record(session_id).steps == before
    assert archive.listed(session_id).session.status == "failed"


@pytest.mark.parametrize("first", ["1796027232863_170vw", "1796027252097_m9lz0"])
def test_a_fork_is_linked_in_whatever_order_it_arrives(archive: Archive, sessions: Path, first: str) -> None:
    ids = copy("fork", sessions)
    others = sessions.parent / "later"
    for session_id in ids:
        if session_id != first:
            shutil.move(sessions / session_id, others / session_id)
    archive.sync([sessions])
    archive.sync([sessions, others])
    origin, fork = "1796027232863_170vw", "1796027252097_m9lz0"
    copied = archive.listed(fork).session.copied_from
    assert copied is not None
    assert (copied.session_id, copied.kind, copied.messages) == (origin, "fork", 11)
    assert archive.listed(origin).session.copied_from is None
    marked = [step.id for step in archive.record(fork).steps if "copied" in step.flags]
    assert marked == [step.id for step in archive.record(origin).steps]


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_rewind_is_known_by_equal_leading_ids(archive: Archive, sessions: Path, newest_first: bool) -> None:
    def message(number: int) -> dict[str, Any]:
        return {
            "id": f"m{number}",
            "role": "user",
            "ts": NOW + number,
            "content": [{"type": "text", "text": "x"}],
        }

    made = []
    for name, ids in (("1796000000000_aaaaa", [0, 1, 2, 3]), ("1796000009000_bbbbb", [0, 1, 8])):
        started = {"aaaaa": "2026-11-30T08:00:00Z", "bbbbb": "2026-11-30T09:00:00Z"}[name[-5:]]
        session = GrowingSession(sessions, name, {"session_id": name, "started_at": started})
        session.document([message(number) for number in ids])
        made.append(session)
    order = reversed(made) if newest_first else made
    for session in order:
        archive.ingest(str(session.folder))
    copied = archive.listed("1796000009000_bbbbb").session.copied_from
    assert copied is not None
    assert (copied.session_id, copied.kind, copied.messages) == ("1796000000000_aaaaa", "rewind", 2)


def test_a_decision_does_not_change_with_later_settings(
    archive: Archive, tmp_path: Path, sessions: Path
) -> None:
    session = GrowingSession(sessions, manifest={"session_id": "1796026921000_grow1", "source": "cli"})
    settings = tmp_path / ".cline" / "data" / "settings"
    settings.mkdir(parents=True)
    call = {"id": "a", "role": "assistant", "ts": NOW, "content": [
        {"type": "tool_use", "id": "c1", "name": "run_commands", "input": {"commands": ["ls"]}}]}  # fmt: skip
    result = {"id": "b", "role": "user", "ts": NOW, "content": [
        {"type": "tool_result", "tool_use_id": "c1", "name": "run_commands",
         "content": [{"query": "ls", "result": "", "success": True}]}]}  # fmt: skip
    session.document([call, result])
    archive.sync([sessions])
    (settings / "global-settings.json").write_text('{"toolAutoApprove": false}')
    later = json.loads(
        json.dumps([call, result]).replace("c1", "c2").replace('"a"', '"a2"').replace('"b"', '"b2"')
    )
    session.document([call, result, *later])
    archive.sync([sessions])
    decisions = {step.id: (step.decision, step.decision_source) for step in archive.record(session.id).steps}
    assert decisions == {"c1#0": ("auto", "default"), "c2#0": ("accepted", "settings")}


def test_forgetting_leaves_no_word_in_the_file(archive: Archive, sessions: Path) -> None:
    session = GrowingSession(sessions)
    session.document(
        [{"id": "m", "role": "user", "ts": NOW, "content": [{"type": "text", "text": "zanzibarine"}]}]
    )
    (kept,) = copy("basic-act", sessions)
    archive.sync([sessions])
    assert archive.search("zanzibarine").total == 1
    what = archive.forget(session.id)
    assert (what.steps, what.calls) == (1, 0)
    assert archive.search("zanzibarine").total == 0
    archive.connection.execute("INSERT INTO doc (doc) VALUES ('integrity-check')")
    with pytest.raises(UnknownSession):
        archive.record(session.id)
    assert archive.record(kept).steps
    archive.sync([sessions])
    assert [one.session.id for one in archive.sessions()] == [kept]
    archive.close()
    assert b"zanzibarine" not in archive.path.read_bytes()


def test_a_forgotten_session_comes_back_only_when_it_is_named(archive: Archive, sessions: Path) -> None:
    (session_id,) = copy("basic-act", sessions)
    archive.sync([sessions])
    archive.forget(session_id)
    assert archive.sync([sessions]).changed == 0
    archive.ingest(session_id, sessions_dirs=[sessions])
    assert len(archive.record(session_id).steps) == 22


def test_forgetting_names_copies_and_takes_them_along_when_asked(archive: Archive, sessions: Path) -> None:
    origin, fork = copy("fork", sessions)
    archive.sync([sessions])
    assert archive.forgettable(origin).copies == (fork,)
    archive.forget(origin)
    assert archive.listed(fork).session.copied_from is None
    archive.ingest(str(sessions / origin))
    archive.forget(origin, with_copies=True)
    assert archive.count() == 0


def test_ids_that_people_type(archive: Archive, sessions: Path) -> None:
    copy("same-millisecond", sessions)
    copy("basic-act", sessions)
    archive.sync([sessions])
    assert archive.resolve("2js90") == "1796026012127_2js90"
    assert archive.resolve("1796026") == "1796026012127_2js90"
    assert archive.resolve("zk4") == "1796027402484_zk4kp"
    assert archive.resolve("last") == archive.sessions()[0].session.id
    with pytest.raises(
        AmbiguousSession, match=r'"1796027402484" fits 3 sessions: \w{5}, \w{5}, \w{5}\. Write one'
    ):
        archive.resolve("1796027402484")
    with pytest.raises(UnknownSession, match=r"backstory ingest --agent cline nope"):
        archive.resolve("nope")


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_folder_and_file_are_closed_to_others_also_where_they_were_wider(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for wider in (False, True):
        if wider:
            home.chmod(0o755)
            (home / "archive.db").chmod(0o644)
        Archive(env={"BACKSTORY_HOME": str(home)}).close()
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / "archive.db").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_folder_that_was_there_before_keeps_its_mode_when_only_the_file_is_named(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    for _ in range(2):
        Archive(shared / "archive.db", env={}).close()
        assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    sticky = tmp_path / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    Archive(env={"BACKSTORY_HOME": str(sticky)}).close()
    assert stat.S_IMODE(sticky.stat().st_mode) == 0o1777


def test_a_file_that_is_no_archive_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"these are my notes, not a database" * 100)
    with pytest.raises(ArchiveError, match=r"notes\.db: the archive cannot be opened"):
        Archive(path, env={})
    assert path.read_bytes() == b"these are my notes, not a database" * 100


def test_an_archive_of_a_newer_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    Archive(path, env={}).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {MIGRATIONS[-1][0] + 1}")
    connection.close()
    with pytest.raises(ArchiveError, match="newer Backstory"):
        Archive(path, env={})


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


_BEFORE_THE_LEDGER = """
DROP VIEW calls;
CREATE VIEW calls AS SELECT key FROM call;
DROP INDEX call_dedup;
DROP INDEX call_open;
DROP TABLE price;
DROP TABLE rollup;
DROP TABLE budget;
ALTER TABLE call DROP COLUMN dedup;
ALTER TABLE call DROP COLUMN counted;
ALTER TABLE call DROP COLUMN name;
ALTER TABLE call DROP COLUMN kind;
ALTER TABLE call DROP COLUMN amount;
ALTER TABLE call DROP COLUMN price;
PRAGMA user_version = 1;
"""


def take_back(connection: sqlite3.Connection, shape: int) -> None:
    """Drop what later migrations have made. It is virtual tables, views and tables of their own."""
    plain = sqlite3.connect(":memory:", isolation_level=None)
    for number, step in MIGRATIONS:
        if number <= shape:
            step(plain)
    names = "SELECT name FROM sqlite_master WHERE sql IS NOT NULL"
    there = {name for (name,) in plain.execute(names)}
    plain.close()
    for kind in ("view", "table"):
        for name, sql in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = ? ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'",
            (kind,),
        ).fetchall():
            left = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone()
            if sql and left and name not in there and not name.startswith("sqlite_"):
                connection.execute(f"DROP {kind} {name}")


@pytest.mark.parametrize("scenario", ["fork", "basic-act", "imported-claude-codex-opencode"])
def test_an_archive_from_before_the_ledger_counts_the_same(
    scenario: str, tmp_path: Path, sessions: Path
) -> None:
    """Also where the sessions are gone from disk, and nothing can be read again."""
    copy(scenario, sessions)
    path = tmp_path / "archive.db"
    with Archive(path, env={}) as archive:
        archive.sync([sessions])
    connection = sqlite3.connect(path)
    shape = "SELECT type, name FROM sqlite_master ORDER BY 1, 2"
    counted = "SELECT key, dedup, counted FROM call ORDER BY n"
    before = connection.execute(shape).fetchall(), connection.execute(counted).fetchall()
    assert before[1]
    take_back(connection, 2)
    connection.executescript(_BEFORE_THE_LEDGER)
    Archive(path, env={}).close()
    assert (connection.execute(shape).fetchall(), connection.execute(counted).fetchall()) == before
    connection.close()


def test_what_a_watcher_read_is_priced_for_the_next_one_who_looks(tmp_path: Path, sessions: Path) -> None:
    """A watcher only reads; whoever opens the archive next sees no call without a kind, with or without a pass."""
    (session_id,) = copy("basic-act", sessions)
    with Archive(tmp_path / "archive.db", env={}) as archive:
        sync(archive.connection, archive.sources[0], SyncReport(), env={}, sessions_dirs=[sessions])
        unsettled = archive.record(session_id).calls
        assert {call.settled.kind for call in unsettled if call.settled} == {None}
    with Archive(tmp_path / "archive.db", env={}) as archive:
        assert {call.settled and call.settled.kind for call in archive.record(session_id).calls} == {
            "unpriced"
        }


def test_unseen_steps_are_new_until_they_were_shown(tmp_path: Path, sessions: Path) -> None:
    (session_id,) = copy("basic-act", sessions)
    # At its time: of a first pass, what is old is not new.
    archive = Archive(tmp_path / "archive.db", env={"HOME": str(tmp_path)}, now=lambda: 0)
    archive.sync([sessions])
    assert archive.listed(session_id).unseen == 22
    archive.mark_seen(session_id)
    assert archive.listed(session_id).unseen == 0


def test_a_new_archive_waits_for_the_process_that_is_making_it(tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.3, other.rollback)
    release.start()
    with Archive(path) as archive:
        assert archive.count() == 0
    release.join()
    other.close()


def test_of_a_first_pass_only_what_is_younger_than_a_day_is_new(tmp_path: Path) -> None:
    day = 24 * 3_600_000
    at = {"1796026921000_old1": NOW - day - 60_000, "1796026921000_new1": NOW - day + 60_000}
    for name, when in at.items():
        text = {"id": "u1", "role": "user", "ts": when, "content": [{"type": "text", "text": "Hello"}]}
        GrowingSession(tmp_path / "sessions", name).document([text])
    with Archive(tmp_path / "archive.db", env={"HOME": str(tmp_path)}, now=lambda: NOW) as archive:
        archive.sync([tmp_path / "sessions"])
        assert [archive.listed(name).unseen for name in at] == [0, 1]
        # Later nothing is taken for seen that was not shown.
        late = {"id": "u1", "role": "user", "ts": NOW - 9 * day, "content": [{"type": "text", "text": "Hi"}]}
        GrowingSession(tmp_path / "sessions", "1796026921000_late1").document([late])
        archive.sync([tmp_path / "sessions"])
        assert archive.listed("1796026921000_late1").unseen == 1
