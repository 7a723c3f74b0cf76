"""Much of everything: what is listed, edited or claimed costs what it is, and no query has too many values."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memories import of_sessions
from sessions import ID, START, Session, item
from work import steps_of

from backstory import Archive
from backstory.memory.workspaces import Owners

PLAIN_LIMIT = 999
"""Values of one statement in the builds of SQLite with the fewest."""


def long_session(root: Path, prompts: int) -> Session:
    session = Session(root)
    for n in range(prompts):
        session.prompt(f"question {n}")
        session.reply(f"the answer {n}")
    return session


Use = Callable[[Archive], Any]
USES: dict[str, Use] = {
    "list": lambda opened: opened.memory.items(limit=10_000),
    "forget": lambda opened: opened.memory.forgettable(session_id=ID),
    "session": lambda opened: opened.memory.conversation(ID),
    "open": lambda opened: opened.memory.open(ID, around=10_000),
    "recent": lambda opened: opened.memory.recent(limit=10_000),
}


def test_a_session_is_read_once_for_all_of_its_passages(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", long_session(tmp_path / "sessions", 40)) as opened:
        opened.memory.learn()
        for use in (*USES.values(), lambda one: one.memory.recall("answer question", limit=20)):
            read: list[str] = []
            opened.connection.set_trace_callback(read.append)
            assert use(opened)
            opened.connection.set_trace_callback(None)
            assert len([one for one in read if one.startswith("SELECT turn.id FROM turn")]) == 1


@pytest.mark.parametrize("use", USES)
def test_what_is_listed_costs_as_much_as_it_is_long(tmp_path: Path, use: str) -> None:
    work = []
    for count in (150, 300):
        root = tmp_path / str(count)
        with of_sessions(root / "home", long_session(root / "sessions", count)) as opened:
            opened.memory.learn()
            with steps_of(opened.connection) as taken:
                assert USES[use](opened)
            work.append(taken())
    assert work[1] < 3 * work[0]


def test_an_exchange_has_the_cost_of_its_prompt_in_every_list(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", long_session(tmp_path / "sessions", 3)) as opened:
        opened.memory.learn()
        for found in (opened.memory.items(), opened.memory.conversation(ID), opened.memory.recent()):
            assert [one.cost and one.cost.fresh for one in found] == [1000] * 3
            assert [one.session_cost and one.session_cost.fresh for one in found] == [3000] * 3


def test_no_query_has_more_values_than_every_sqlite_takes(tmp_path: Path) -> None:
    with of_sessions(tmp_path / "home", long_session(tmp_path / "sessions", PLAIN_LIMIT + 50)) as opened:
        opened.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32)
        memory = opened.memory
        memory.learn()
        for use in USES.values():
            assert use(opened)
        assert memory.recall("answer question", limit=50).results
        what = memory.forgettable(session_id=ID)
        assert (len(what.items), what.copies) == (PLAIN_LIMIT + 50, 0)
        taken = memory.forget(what)
        memory.put_back(taken)
        assert len(memory.items()) == PLAIN_LIMIT + 50


def test_an_edit_indexes_what_it_changed_and_nothing_else(tmp_path: Path) -> None:
    session = long_session(tmp_path / "sessions", 20)
    fork = Session(session.root, f"{START + 1}_forkk", START + 10**6)
    fork.messages = [dict(message) for message in session.messages]
    with of_sessions(tmp_path / "home", session, fork) as opened:
        opened.memory.learn()
        written: list[str] = []
        opened.connection.set_trace_callback(written.append)
        opened.memory.edit("e7", answered="a platypus")
        opened.connection.set_trace_callback(None)
        assert len([one for one in written if one.startswith("INSERT INTO memory_fts (rowid")]) == 2
        assert opened.memory.recall("platypus").results[0].answered == "a platypus"


def test_claims_in_one_folder_cost_one_look_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with of_sessions(tmp_path / "home", long_session(tmp_path / "sessions", 1)) as opened:
        folder = tmp_path / "a" / "b" / "c"
        folder.mkdir(parents=True)
        for n in range(50):
            opened.memory.claim(str(folder / f"project{n}"))
        looks = 0
        for name in ("stat", "lstat", "readlink"):
            own = getattr(os, name)

            def counted(*values: Any, own: Any = own, **more: Any) -> Any:
                nonlocal looks
                looks += 1
                return own(*values, **more)

            monkeypatch.setattr(os, name, counted)
        owners = Owners(opened.connection)
        monkeypatch.undo()
        assert len(owners.claims) == 50
        assert looks <= 50 + len(folder.parts)


@pytest.mark.skipif(os.name != "posix", reason="links want rights elsewhere")
def test_a_claim_by_way_of_links_holds_for_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "one").symlink_to("real")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    (tmp_path / "loop").symlink_to("loop")
    with of_sessions(tmp_path / "home", long_session(tmp_path / "sessions", 1)) as opened:
        memory = opened.memory
        for name in ("w", "x", "y"):
            memory.create_workspace(name)
        memory.claim(str(tmp_path / "two" / "inner"), "w")
        memory.claim(f"{tmp_path}/two/inner/../later", "x")
        memory.claim(str(tmp_path / "loop" / "on"), "y")
        assert memory.owner(str(tmp_path / "real" / "inner" / "deep")) == "w"
        assert memory.owner(str(tmp_path / "real" / "later")) == "x"
        assert memory.owner(str(tmp_path / "loop" / "on")) == "y"
        assert memory.owner(str(tmp_path / "real")) is None


def test_a_long_path_is_kept_whole(tmp_path: Path) -> None:
    path = "/dev/" + "d/" * 110 + "file.py"
    session = Session(tmp_path / "sessions")
    session.prompt("q")
    session.ran(
        "read_files",
        {"files": [{"path": path, "start_line": 1, "end_line": 9}]},
        [item(f"{path}:1-9", "1 | x")],
    )
    given = {"path": f"{path}.js", "old_text": "a", "new_text": "b"}
    session.ran("editor", given, {"query": f"edit:{path}.js", "result": "Edited", "success": True})
    session.reply("a")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        (one,) = opened.memory.items()
        assert one.paths == (path, f"{path}.js")
        assert opened.memory.recall("file.py").results
