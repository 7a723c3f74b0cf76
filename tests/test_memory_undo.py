"""A forgetting can be undone while what it took out is held; what comes of it is all or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memories import said

from backstory import Archive
from backstory.memory.memory import Memory

TABLES = ("conversation", "exchange", "mended", "revision", "fact", "tombstone")


def held(archive: Archive) -> dict[str, list[Any]]:
    """Every row of the memory, a conversation's and a failure's own number left out: nobody names them."""
    found = {}
    for table in TABLES:
        cursor = archive.connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        without = {"conversation": {"n"}, "exchange": {"conversation"}, "mended": {"n", "conversation"}}
        keep = [at for at, name in enumerate(names) if name not in without.get(table, ())]
        found[table] = sorted(repr(tuple(row[at] for at in keep)) for row in cursor)
    return found


def words(archive: Archive) -> list[int]:
    """The index, by what a few queries find in it."""
    counts = []
    for word in ("redis", "fact", "test", "npm", "the"):
        (count,) = archive.connection.execute(
            "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ?", (word,)
        ).fetchone()
        counts.append(count)
    (mended,) = archive.connection.execute("SELECT count(*) FROM mended_fts").fetchone()
    return [*counts, mended]


@pytest.fixture
def archive(tmp_path: Path) -> Any:
    from backstory import demo

    sessions = tmp_path / "cline" / "data" / "sessions"
    demo.load(sessions, 1_796_042_116_000)
    with Archive(tmp_path / "archive.db", env={"HOME": str(tmp_path)}) as opened:
        opened.sync([sessions])
        opened.memory.learn()
        opened.memory.remember("the fact of the test")
        edited = opened.memory.items(limit=3)[-1]
        opened.memory.edit(edited.id, asked="the edited question")
        yield opened


def everything(memory: Memory) -> Any:
    """All that a workspace has: its exchanges, its facts, and its first session as a whole."""
    ids = [one.id for one in memory.items()]
    session = next(one.session_id for one in memory.items() if one.session_id)
    return memory.forgettable(item_ids=ids, session_id=session)


def test_what_was_forgotten_and_put_back_is_as_it_was(archive: Archive) -> None:
    memory = archive.memory
    for what in (
        memory.forgettable(item_ids=["f1"]),
        memory.forgettable(item_ids=[memory.items()[2].id]),
        memory.forgettable(session_id=next(one.session_id for one in memory.items() if one.session_id)),
        everything(memory),
    ):
        rows, index = held(archive), words(archive)
        taken = memory.forget(what)
        assert held(archive) != rows
        memory.put_back(taken)
        assert held(archive) == rows
        assert words(archive) == index


def test_what_was_put_back_is_learned_no_second_time(archive: Archive) -> None:
    memory = archive.memory
    before = said(archive)
    memory.put_back(memory.forget(everything(memory)))
    report = memory.learn()
    assert report.learned == []
    assert sorted(said(archive)) == sorted(before)


def test_a_tombstone_of_an_earlier_forgetting_stays(archive: Archive) -> None:
    memory = archive.memory
    first, second = (one.id for one in memory.items()[2:4])
    memory.forget(memory.forgettable(item_ids=[first]))
    rows = held(archive)
    memory.put_back(memory.forget(memory.forgettable(item_ids=[second])))
    assert held(archive) == rows


def test_what_was_learned_meanwhile_stays_beside_what_is_put_back(archive: Archive) -> None:
    memory = archive.memory
    rows = held(archive)
    one = next(one for one in memory.items() if one.session_id)
    taken = memory.forget(memory.forgettable(item_ids=[one.id]))
    memory.learn()
    memory.put_back(taken)
    assert held(archive) == rows


def test_a_session_that_went_from_the_archive_meanwhile_is_not_brought_back(archive: Archive) -> None:
    memory = archive.memory
    one = next(one for one in memory.items() if one.session_id)
    assert one.session_id is not None
    taken = memory.forget(memory.forgettable(item_ids=[one.id]))
    archive.forget(one.session_id)
    memory.put_back(taken)
    assert one.session_id not in {item.session_id for item in memory.items()}


KILLED = """\
import os, sys
from backstory import Archive
path, what, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Archive(path, env={"HOME": os.path.dirname(path)}) as archive:
    memory = archive.memory
    wanted = memory.forgettable(item_ids=[one.id for one in memory.items()])
    count = 0
    def step(statement):
        global count
        count += 1
        if count == at:
            os._exit(9)
    if what == "forget":
        archive.connection.set_trace_callback(step)
        memory.forget(wanted)
    else:
        taken = memory.forget(wanted)
        archive.connection.set_trace_callback(step)
        memory.put_back(taken)
"""


@pytest.mark.parametrize("at", [3, 40, 300])
def test_an_end_in_the_middle_of_forgetting_leaves_all_of_it(archive: Archive, at: int) -> None:
    before = (held(archive), words(archive))
    assert killed(archive.path, "forget", at) == 9
    assert (held(archive), words(archive)) == before


@pytest.mark.parametrize("at", [3, 40, 300])
def test_an_end_in_the_middle_of_undoing_leaves_none_of_it(archive: Archive, at: int) -> None:
    assert killed(archive.path, "undo", at) == 9
    rows = held(archive)
    assert {table for table in TABLES if rows[table]} == {"tombstone"}
    assert words(archive) == [0] * 6


def killed(path: Path, what: str, at: int) -> int:
    """How a process ends that is ended at a statement of its own."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), what, str(at)], timeout=60, check=False)
    return done.returncode


def test_what_is_held_is_not_in_the_file(archive: Archive, tmp_path: Path) -> None:
    memory = archive.memory
    memory.remember("a sentence of zyzzyva alone")
    (fact,) = [one for one in memory.items(facts_only=True) if "zyzzyva" in one.answered]
    taken = memory.forget(memory.forgettable(item_ids=[fact.id]))
    assert [row["text"] for row in taken.facts] == ["a sentence of zyzzyva alone"]
    files = [path for path in tmp_path.glob("archive.db*") if path.is_file()]
    assert files
    assert not any(b"zyzzyva" in path.read_bytes() for path in files)
