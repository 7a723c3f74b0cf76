"""The memory: opening, what is recent, facts, edits, what was mended, and that forgetting is for good."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memories import of_recording, of_sessions, said
from sessions import ID, START, Session, archive, item

from backstory import Archive
from backstory.errors import InputError
from backstory.memory.mended import Mended, of_session

FORK, ORIGIN = "1796027252097_m9lz0", "1796027232863_170vw"


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Archive]:
    """An archive with a fork and its origin, learned."""
    with of_recording(tmp_path, "fork") as opened:
        opened.memory.learn()
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Archive]:
    with archive(tmp_path) as opened:
        yield opened


# --- Opening -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [f"conversation/{FORK}", FORK, "m9lz0", "conversation/m9lz0"])
def test_a_passage_is_opened_with_its_surroundings(fork: Archive, source: str) -> None:
    opened = fork.memory.open(source, 2)
    assert opened.passage.asked == "looks good, go ahead"
    assert [one.position for one in opened.around] == [1, 2, 3]
    assert opened.total == 4
    assert {one.session_id for one in opened.around} == {FORK}


@pytest.mark.parametrize(
    ("position", "around", "positions"), [(1, 1, [1, 2]), (4, 1, [3, 4]), (2, 0, [2]), (2, 9, [1, 2, 3, 4])]
)
def test_the_surroundings_end_with_the_conversation(
    fork: Archive, position: int, around: int, positions: list[int]
) -> None:
    assert [one.position for one in fork.memory.open(FORK, position, around=around).around] == positions


def test_without_a_position_the_first_exchange_is_opened(fork: Archive) -> None:
    assert fork.memory.open(FORK).passage.position == 1


def test_an_id_opens_its_own_exchange(fork: Archive) -> None:
    for one in fork.memory.items():
        opened = fork.memory.open(one.id)
        assert opened.passage == one
        assert one in opened.around


def test_a_fact_is_opened_alone(fork: Archive) -> None:
    fact = fork.memory.remember("Deploys go out from main.")
    for source in ("fact/1", "f1"):
        assert fork.memory.open(source).around == (fact,)


@pytest.mark.parametrize("source", ["nope", "conversation/nope", "e999", "_", "%", "170v", "", "lz0"])
def test_what_is_not_there_cannot_be_opened(fork: Archive, source: str) -> None:
    with pytest.raises(InputError, match="no conversation"):
        fork.memory.open(source)


@pytest.mark.parametrize("source", ["f1", "fact/1", "fact/x", "fact/"])
def test_a_fact_that_is_not_there_cannot_be_opened(fork: Archive, source: str) -> None:
    with pytest.raises(InputError, match="no fact"):
        fork.memory.open(source)


def test_a_position_that_is_not_there_is_named_with_those_that_are(fork: Archive) -> None:
    with pytest.raises(InputError, match="no exchange 9; its positions go from 1 to 4"):
        fork.memory.open(FORK, 9)


def test_the_only_position_is_named_as_the_only_one(empty: Archive, tmp_path: Path) -> None:
    session = Session(tmp_path / "one")
    session.prompt("Hello")
    session.reply("Hello.")
    session.write()
    empty.sync([session.root])
    empty.memory.learn()
    with pytest.raises(InputError, match="no exchange 9; its only position is 1"):
        empty.memory.open(session.session_id, 9)


def test_what_another_workspace_holds_cannot_be_opened(fork: Archive) -> None:
    fork.memory.create_workspace("work")
    fork.memory.remember("A fact.")
    for source in (FORK, "e1", "f1"):
        with pytest.raises(InputError, match="workspace work"):
            fork.memory.open(source, workspace="work")


# --- Recent ------------------------------------------------------------------------------------------------


def sessions_in(root: Path, *folders: str) -> list[Session]:
    built = []
    for n, folder in enumerate(folders):
        session = Session(root, f"{START + n}_abcd{n}", START + n * 60_000)
        assert session.manifest is not None
        session.manifest["cwd"] = session.manifest["workspace_root"] = folder
        session.prompt(f"in {folder}")
        session.reply("Yes.")
        built.append(session)
    return built


def test_recent_is_of_the_folder_and_what_lies_below_it(tmp_path: Path) -> None:
    folders = ("/dev/my_app", "/dev/my_app/api", "/dev/myxapp/api", "/dev/MY_APP", "/dev/my_app2", "/dev")
    with of_sessions(tmp_path / "home", *sessions_in(tmp_path / "sessions", *folders)) as opened:
        opened.memory.learn()
        found = [one.asked for one in opened.memory.recent(folder="/dev/my_app")]
        assert found == ["in /dev/my_app/api", "in /dev/my_app"]
        assert len(opened.memory.recent(folder="/")) == len(folders)
        assert [one.asked for one in opened.memory.recent(project="my_app2")] == ["in /dev/my_app2"]
        assert len(opened.memory.recent(limit=2)) == 2
        since = START + 5 * 60_000
        assert [one.asked for one in opened.memory.recent(since=since)] == ["in /dev"]


def test_the_project_at_hand_is_that_of_the_nearest_folder_that_is_known(tmp_path: Path) -> None:
    folders = ("/dev/shop", "/dev/shop/packages/api")
    with of_sessions(tmp_path / "home", *sessions_in(tmp_path / "sessions", *folders)) as opened:
        memory = opened.memory
        memory.learn()
        assert memory.project_at("/dev/shop/packages/api/src") == "api"
        assert memory.project_at("/dev/shop/packages") == "shop"
        assert memory.project_at("/dev") is None


def forked_into(root: Path, folder: str, other: str) -> tuple[Session, Session]:
    """A session of one project, and its fork in another."""
    first, second = sessions_in(root, folder, other)
    second.messages = [dict(message) for message in first.messages]
    return first, second


def test_copies_are_one_exchange_among_the_recent(tmp_path: Path) -> None:
    first, second = forked_into(tmp_path / "sessions", "/dev/alpha", "/dev/beta")
    second.prompt("more")
    with of_sessions(tmp_path / "home", first, second) as opened:
        memory = opened.memory
        memory.learn()
        assert [(one.asked, one.session_id) for one in memory.recent()] == [
            ("more", second.session_id),
            ("in /dev/alpha", first.session_id),
        ]
        assert [one.asked for one in memory.recent(limit=2)] == ["more", "in /dev/alpha"]
        for scope in ({"project": "beta"}, {"folder": "/dev/beta"}):
            assert [one.project for one in memory.recent(**scope)] == ["beta", "beta"]


def test_a_copy_in_scope_is_recalled_for_one_that_is_not(tmp_path: Path) -> None:
    first, second = forked_into(tmp_path / "sessions", "/dev/alpha", "/dev/beta")
    with of_sessions(tmp_path / "home", first, second) as opened:
        opened.memory.learn()
        for project in ("alpha", "beta"):
            (found,) = opened.memory.recall("alpha", project=project).results
            assert found.project == project
        assert opened.memory.recall("alpha").results[0].session_id == first.session_id


# --- Facts -------------------------------------------------------------------------------------------------


def test_a_fact_is_not_added_twice(empty: Archive) -> None:
    first = empty.memory.remember("Deploys go out from main.")
    again = empty.memory.remember("deploys  go out\nfrom Main. ")
    assert again == first
    assert empty.memory.counts() == (0, 1)


def test_an_agent_does_not_bring_back_what_a_person_had_forgotten(empty: Archive) -> None:
    memory = empty.memory
    fact = memory.remember("The port is 8080.", author="agent")
    memory.forget(memory.forgettable(item_ids=[fact.id]))
    with pytest.raises(InputError, match="had this forgotten"):
        memory.remember("the port is 8080.", author="agent")
    assert memory.remember("The port is 8080.").answered == "The port is 8080."


def test_the_old_text_of_an_edited_fact_does_not_come_back_by_an_agent(empty: Archive) -> None:
    memory = empty.memory
    fact = memory.remember("The port is 8080.")
    memory.edit(fact.id, text="The port is 8081.")
    with pytest.raises(InputError, match="had this forgotten"):
        memory.remember("The port is 8080.", author="agent")


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 20_001])
def test_a_fact_without_a_text_or_with_too_much_of_it_is_refused(empty: Archive, text: str) -> None:
    with pytest.raises(InputError, match=r"no text|takes 20,000 at most"):
        empty.memory.remember(text)
    assert empty.memory.items() == []


@pytest.mark.parametrize("author", ["person", "agent"])
def test_a_text_that_a_fact_has_again_is_no_forgotten_one(empty: Archive, author: Any) -> None:
    memory = empty.memory
    fact = memory.remember("Use tabs.")
    memory.edit(fact.id, text="Use spaces.")
    memory.edit(fact.id, text="Use tabs.")
    assert memory.remember("use tabs.", author=author).id == fact.id
    with pytest.raises(InputError, match="had this forgotten"):
        memory.remember("Use spaces.", author="agent")
    memory.edit(fact.id, text="use TABS.")
    assert memory.remember("Use tabs.", author=author).answered == "use TABS."


def test_no_two_facts_of_a_workspace_say_the_same(empty: Archive) -> None:
    memory = empty.memory
    memory.create_workspace("work")
    first, second = memory.remember("Use tabs."), memory.remember("Use spaces.")
    with pytest.raises(InputError, match=f"{first.id} says that already"):
        memory.edit(second.id, text="use  tabs.")
    assert [one.answered for one in memory.items()] == ["Use spaces.", "Use tabs."]
    assert memory.remember("Use spaces.", author="agent").id == second.id
    elsewhere = memory.remember("The port is 8080.", "work")
    assert memory.edit(elsewhere.id, text="Use tabs.").answered == "Use tabs."


def test_no_secret_is_kept_in_a_project_or_exported_in_a_claim(empty: Archive) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"
    memory = empty.memory
    assert memory.remember("a fact", project=token).project == "[masked:github-token]"
    memory.claim(f"/work/{token}")
    assert token not in repr(list(memory.export()))
    assert empty.connection.execute("SELECT title FROM memory_fts").fetchone() != (token,)
    assert not any(
        token.casefold() in str(row).casefold()
        for row in empty.connection.execute("SELECT * FROM memory_fts")
    )


# --- Copies and forgetting ---------------------------------------------------------------------------------


def test_an_edit_holds_for_every_copy(fork: Archive) -> None:
    (first, *_) = (one for one in fork.memory.items() if one.asked == "Plan the thing")
    fork.memory.edit(first.id, asked="Plan the other thing")
    asked = [question for question, _ in said(fork)]
    assert asked.count("Plan the other thing") == 2
    assert "Plan the thing" not in asked


def test_forgetting_a_session_takes_the_copies_in_its_fork(fork: Archive) -> None:
    memory = fork.memory
    what = memory.forgettable(session_id=ORIGIN)
    assert (len(what.items), what.copies) == (3, 3)
    memory.forget(what)
    assert said(fork) == [("message in the fork", "Seven ETA7.")]


def test_no_word_of_what_was_forgotten_is_left_in_the_file(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Where is the xylophone?")
    session.reply("In the glockenspiel.")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.remember("A zither, too.")
        memory.edit(memory.items()[1].id, answered="In the hurdygurdy.")
        memory.forget(memory.forgettable(session_id=ID))
        memory.forget(memory.forgettable(item_ids=["f1"]))
        opened.forget(ID)
        path = opened.path
        for index in ("memory_fts", "mended_fts"):
            opened.connection.execute(
                f"CREATE VIRTUAL TABLE temp.{index}_words USING fts5vocab ('main', '{index}', 'row')"
            )
            assert opened.connection.execute(f"SELECT term FROM temp.{index}_words").fetchall() == []
    data = (
        path.read_bytes() + Path(f"{path}-wal").read_bytes()
        if Path(f"{path}-wal").exists()
        else path.read_bytes()
    )
    for word in (b"xylophone", b"glockenspiel", b"zither", b"hurdygurdy", b"hurdygurdi"):
        assert word not in data.lower(), word


def test_the_export_ends_its_transaction_when_it_is_left_early(fork: Archive) -> None:
    parts = fork.memory.export()
    assert next(parts).kind == "workspace"
    del parts
    fork.memory.remember("Still writable.")
    assert not fork.connection.in_transaction


def test_the_export_is_of_one_moment(fork: Archive) -> None:
    parts = fork.memory.export()
    assert next(parts).value == {"name": "default", "created_at": None, "claims": []}
    with sqlite3.connect(fork.path) as other:
        other.execute("INSERT INTO fact (workspace, text, at, author) VALUES (1, 'late', 1, 'person')")
    assert {part.kind for part in parts} == {"conversation"}


# --- What was mended ---------------------------------------------------------------------------------------


def failing(session: Session, command: str, output: str) -> str:
    text = f"Command exited with code 1\n{output}"
    return session.ran("run_commands", {"commands": [command]}, [item(command, "", error=text)])


def passing(session: Session, command: str) -> str:
    return session.ran("run_commands", {"commands": [command]}, [item(command, "ok")])


def editing(session: Session, path: str, old: str, new: str) -> str:
    value = {"path": path, "old_text": old, "new_text": new}
    return session.ran(
        "editor", value, {"query": f"edit:{path}", "result": f"Edited {path}", "success": True}
    )


def mended_in(session: Session) -> list[Mended]:
    with of_sessions(session.root.parent / "home", session) as opened:
        (n,) = opened.connection.execute("SELECT n FROM session").fetchone()
        return of_session(opened.connection, n)


def test_a_failure_that_later_passed_is_kept_with_the_edits_between(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failed = failing(session, "pytest -q", "TypeError: quux() takes 1 positional argument")
    editing(session, "/home/dev/work/demo/app.py", "quux(1)", "quux()")
    passed = passing(session, "pytest -q")
    (one,) = mended_in(session)
    assert (one.command, one.position) == ("pytest -q", 1)
    assert one.step_id.startswith(failed)
    assert one.mended_by.startswith(passed)
    assert "TypeError: quux() takes 1 positional argument" in one.error
    assert one.changed == (("/home/dev/work/demo/app.py", 1, 1),)
    assert "- quux(1)\n+ quux()" in one.diff.replace("− ", "- ")


def test_a_failure_without_an_edit_between_keeps_the_commands_that_ran(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failing(session, "npm test", "Error: Cannot find module 'left-pad'")
    passing(session, "npm install")
    passing(session, "npm test")
    (one,) = mended_in(session)
    assert (one.changed, one.ran, one.diff) == ((), ("npm install",), "")


def test_a_failure_that_was_never_mended_is_not_kept(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failing(session, "npm test", "Error: no")
    passing(session, "npm run lint")
    assert mended_in(session) == []


def test_of_equal_failures_the_last_is_kept(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failing(session, "npm test", "Error: no")
    editing(session, "/a", "1", "2")
    last = failing(session, "npm test", "Error: no")
    editing(session, "/b", "1", "2")
    passing(session, "npm test")
    (one,) = mended_in(session)
    assert one.step_id.startswith(last)
    assert [path for path, _, _ in one.changed] == ["/b"]


def test_a_long_error_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Go")
    failing(session, "make", "first line\n" + "noise\n" * 2000 + "last line")
    passing(session, "make")
    (one,) = mended_in(session)
    assert "first line" in one.error
    assert one.error.endswith("last line")
    assert len(one.error) < 2100


def test_an_error_is_recalled_with_what_made_it_pass(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failing(session, "pytest -q", "TypeError: quux() takes 1 positional argument but 2 were given")
    editing(session, "/home/dev/work/demo/app.py", "quux(1)", "quux()")
    passing(session, "pytest -q")
    session.reply("It passes.")
    session.prompt("TypeError: what is that in general, and what does quux do?")
    session.reply("A wrong type.")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        query = "TypeError: quux() takes 1 positional argument but 2 were given"
        first = opened.memory.recall(query).results[0]
        assert (first.kind, first.position) == ("mended", 1)
        assert first.failure is not None
        assert first.failure.changed == (("/home/dev/work/demo/app.py", 1, 1),)
        assert not opened.memory.recall(query, project="other").results
        assert not opened.memory.recall(query, since=START + 10**9).results


def test_what_failed_in_a_forgotten_exchange_is_forgotten_too(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make the tests pass")
    failing(session, "pytest -q", "TypeError: quux()")
    passing(session, "pytest -q")
    session.reply("It passes.")
    session.prompt("Thanks")
    session.reply("Welcome.")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.forget(memory.forgettable(item_ids=[memory.open(ID, 1).passage.id]))
        assert not memory.recall("quux").results
        opened.connection.execute("UPDATE conversation SET generation = -1")
        memory.learn()
        assert not memory.recall("quux").results
        assert [asked for asked, _ in said(opened)] == ["Thanks"]
