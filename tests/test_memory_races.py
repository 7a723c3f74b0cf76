"""Two processes at one archive: what one forgets or edits while the other learns or captures holds."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memories import of_sessions, reasons, said
from sessions import ID, START, Session, archive
from test_watch import Following

from backstory import Archive
from backstory.capture.watch import PAUSE
from backstory.errors import InputError
from backstory.store import draft, known, write

Act = Callable[[Archive], object]
EARLY, LATE = f"{START - 10**6}_early", f"{START + 10**6}_later"


@contextlib.contextmanager
def meanwhile(opened: Archive, act: Act, at: int = 1) -> Iterator[list[Archive]]:
    """Have another process act just before the write number `at` begins; gives it once it has acted."""
    acted: list[Archive] = []
    failed: list[BaseException] = []
    begun = 0

    def look(statement: str) -> None:
        nonlocal begun
        begun += statement == "BEGIN IMMEDIATE"
        if begun == at and statement == "BEGIN IMMEDIATE":
            with Archive(opened.path, env=opened.env) as other:
                try:
                    act(other)
                except BaseException as error:
                    failed.append(error)
                acted.append(other)

    opened.connection.set_trace_callback(look)
    try:
        yield acted
    finally:
        opened.connection.set_trace_callback(None)
    assert not failed


def forget(*ids: str) -> Act:
    return lambda other: other.memory.forget(other.memory.forgettable(item_ids=ids))


def forget_session(other: Archive) -> None:
    other.memory.forget(other.memory.forgettable(session_id=ID))


def edit(other: Archive) -> None:
    other.memory.edit("e1", answered="EDITED")


def forget_record(other: Archive) -> None:
    other.forget(ID)


def forget_record_for_another(other: Archive) -> None:
    """The number of the session and of its conversation are free for the next."""
    other.forget(ID)
    newer = Session(other.path.parent / "new", f"{START + 9}_newer", START + 9_000_000)
    newer.prompt("the newer one")
    newer.reply("n")
    other.sync([newer.write().root])
    other.memory.learn(only={newer.session_id})


def put_back(other: Archive) -> None:
    other.memory.put_back(other.memory.forget(other.memory.forgettable(item_ids=["e1"])))


def learn(other: Archive) -> None:
    other.memory.learn("work")
    other.memory.learn()


def grown(tmp_path: Path, *, cwd: str = "/home/dev/work/demo") -> tuple[Archive, Session]:
    """Three sessions that are learned; the one in the middle, whose number is the last, has a prompt more since."""
    session = Session(tmp_path / "sessions")
    others = Session(session.root, EARLY, START - 10**6), Session(session.root, LATE, START + 10**6)
    for one in (session, *others):
        one.prompt(f"question of {one.session_id}")
        one.reply("old answer")
    assert session.manifest is not None
    session.manifest |= {"cwd": cwd, "workspace_root": cwd}
    opened = of_sessions(tmp_path / "home", *others)
    session.write()
    opened.sync([session.root])
    opened.memory.create_workspace("work")
    opened.memory.learn(only={ID})
    opened.memory.learn()
    session.prompt("second")
    session.reply("two")
    session.write()
    opened.sync([session.root])
    return opened, session


def is_sound(opened: Archive) -> None:
    """Nothing that is forgotten is there, every edit shows, and the index has exactly what is kept."""
    rows = opened.connection.execute
    buried = "SELECT 1 FROM tombstone WHERE kind = 'exchange' AND key = CAST(exchange.key AS TEXT)"
    assert not rows(f"SELECT asked FROM exchange WHERE EXISTS ({buried})").fetchall()
    assert not rows(
        "SELECT 1 FROM exchange JOIN conversation ON conversation.n = exchange.conversation"
        " JOIN session ON session.n = conversation.session JOIN tombstone"
        " ON tombstone.key = session.source || '/' || session.id"
    ).fetchall()
    assert not rows(
        "SELECT 1 FROM exchange JOIN revision USING (key)"
        " WHERE exchange.answered != revision.answered OR exchange.asked != revision.asked"
    ).fetchall()
    assert not rows("SELECT 1 FROM conversation WHERE session NOT IN (SELECT n FROM session)").fetchall()
    indexed = {n for (n,) in rows("SELECT rowid FROM memory_fts")}
    assert indexed == {2 * n for (n,) in rows("SELECT n FROM exchange")}
    for index in ("memory_fts", "mended_fts"):
        rows(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")


ACTS = [forget("e1"), forget_session, edit, forget_record, forget_record_for_another, put_back, learn]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("claimed", ["", "now", "already"])
def test_whatever_happens_between_two_writes_of_learn_holds(
    tmp_path: Path, act: Act, at: int, claimed: str
) -> None:
    opened, _ = grown(tmp_path, cwd="/dev/w")
    if claimed:
        opened.memory.claim("/dev/w", "work")
    if claimed == "already":
        opened.memory.learn("work", only={ID})
        opened.memory.release("/dev/w")
        opened.memory.claim("/dev/w")
    with meanwhile(opened, act, at):
        for workspace in ("work", "default"):
            opened.memory.learn(workspace)
    is_sound(opened)
    texts = said(opened)
    for workspace in ("work", "default"):
        opened.memory.learn(workspace)
    is_sound(opened)
    assert [one for one in texts if one in said(opened)] == texts
    opened.close()


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (forget("e1"), [("second", "two")]),
        (forget_session, []),
        (forget_record, []),
        (edit, [(f"question of {ID}", "EDITED"), ("second", "two")]),
    ],
)
def test_what_another_process_does_before_the_write_of_learn_is_done(
    tmp_path: Path, act: Act, left: list[tuple[str, str]]
) -> None:
    opened, _ = grown(tmp_path)
    with meanwhile(opened, act) as acted:
        opened.memory.learn()
    assert acted
    assert said(opened, ID) == left
    opened.close()


def test_a_conversation_that_went_with_its_last_exchange_is_refused(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("q")
    session.reply("a")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        session.reply("more")
        session.write()
        opened.sync([session.root])
        with meanwhile(opened, forget("e1")) as acted:
            report = opened.memory.learn()
        assert acted
        assert reasons(report) == {ID: "forgotten"}


def test_the_number_of_a_conversation_is_not_given_again(tmp_path: Path) -> None:
    opened, _ = grown(tmp_path)
    before = {n for (n,) in opened.connection.execute("SELECT n FROM conversation")}
    opened.memory.forget(opened.memory.forgettable(session_id=LATE))
    forget_record_for_another(opened)
    new = {n for (n,) in opened.connection.execute("SELECT n FROM conversation")} - before
    assert new
    assert min(new) > max(before)
    opened.close()


def test_an_item_that_another_process_forgot_cannot_be_edited(tmp_path: Path) -> None:
    opened, _ = grown(tmp_path)
    fact = opened.memory.remember("the port is 8080")
    for one in ("e1", fact.id):
        with meanwhile(opened, forget(one)), pytest.raises(InputError, match="forgotten meanwhile"):
            opened.memory.edit(one, **{"answered" if one == "e1" else "text": "new"})
    assert opened.connection.execute("SELECT count(*) FROM revision").fetchone() == (0,)
    opened.close()


READS: list[Callable[[Archive], object]] = [
    lambda opened: opened.memory.items(),
    lambda opened: opened.memory.recent(),
    lambda opened: opened.memory.open(ID, around=9),
    lambda opened: opened.memory.conversation(ID),
    lambda opened: [one.id for one in opened.memory.recall("answer question").results],
    lambda opened: opened.memory.forgettable(session_id=ID, item_ids=["e1"]),
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("at", range(1, 12))
def test_a_reading_is_of_one_moment(tmp_path: Path, read: Callable[[Archive], object], at: int) -> None:
    """Whatever another process takes out between two of its queries, it shows what was there when it began."""
    opened, _ = grown(tmp_path)
    opened.memory.remember("an answer to every question")
    before = read(opened)
    asked = 0

    def look(statement: str) -> None:
        nonlocal asked
        asked += statement.startswith("SELECT")
        if asked == at:
            asked += 1
            with sqlite3.connect(opened.path, isolation_level=None) as other:
                for table in ("exchange", "fact", "conversation", "memory_fts"):
                    other.execute(f"DELETE FROM {table}")

    opened.connection.set_trace_callback(look)
    found = None
    try:
        found = read(opened)
    except InputError:
        assert at == 1, "only before the first query it may all be gone"
    opened.connection.set_trace_callback(None)
    assert at == 1 or found == before
    opened.close()


# --- Capture -----------------------------------------------------------------------------------------------


def test_a_session_that_is_forgotten_while_it_is_followed_does_not_come_back(tmp_path: Path) -> None:
    following = Following(tmp_path)
    watcher, opened = following.watcher, following.archive
    learned: list[str] = []
    watcher.settled = lambda session_id: (
        learned.append(session_id),
        opened.memory.keep_current([session_id]),
    )[0]
    session = Session(following.sessions)
    session.prompt("my secret question")
    session.reply("a")
    session.write()
    watcher.look()
    following.pass_time(2 * PAUSE + 1)
    assert said(opened)
    forget_record(opened)
    for _ in range(2):
        session.prompt("more")
        session.reply("b")
        session.write()
        watcher.events([str(session.file)])
        following.pass_time(2 * PAUSE + 1)
        watcher.look()
    assert (opened.count(), said(opened)) == (0, [])
    opened.ingest(str(session.folder))
    session.prompt("once more")
    session.write()
    watcher.look()
    following.pass_time(2 * PAUSE + 1)
    assert [asked for asked, _ in said(opened)] == ["my secret question", "more", "more", "once more"]


def test_a_session_that_is_forgotten_while_a_pass_goes_on_is_not_written(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("q")
    with of_sessions(tmp_path / "home", session) as opened:
        session.prompt("more")
        session.write()
        with meanwhile(opened, forget_record) as acted:
            report = opened.sync([session.root])
        assert acted
        assert opened.count() == 0
        assert (report.forgotten, report.read, report.failed) == ([ID], [], [])


def test_no_write_brings_a_forgotten_session_back(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("q")
    with of_sessions(tmp_path / "home", session) as opened:
        source = opened.sources[0]
        reading = source.read(source.locate(str(session.folder), []), {}, env=opened.env)
        opened.forget(ID)
        generation, _ = known.files(opened.connection, source.name, ID)
        with pytest.raises(write.Forgotten):
            write.write(opened.connection, reading, draft.draft(opened.connection, reading), generation)
        assert opened.count() == 0


def test_a_dry_run_beside_a_writer_ends_its_transaction(tmp_path: Path) -> None:
    opened, _ = grown(tmp_path)
    opened.memory.learn(write=False)
    with archive(tmp_path / "home") as other:
        other.memory.remember("Still writable.")
    assert not opened.connection.in_transaction
    opened.close()
