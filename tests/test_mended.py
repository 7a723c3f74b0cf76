"""What is kept of a mended failure: nothing of a forgotten prompt, no part of a secret, and each edit read once."""

from __future__ import annotations

from pathlib import Path

import pytest
from memories import of_sessions
from remembered import edits, fails, works
from sessions import ID, Session, item
from work import steps_of

from backstory import Archive
from backstory.memory.mended import (
    COMMAND,
    DIFF_LINE,
    DIFF_LINES,
    ERROR_HEAD,
    ERROR_TAIL,
    Mended,
    of_session,
)
from backstory.store.rows import SUBJECT

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2"
PASSWORD = "https://deploy:Sup3rS3cretPassw0rd@internal.example.org/x"
COMMAND_RUN = "npm test"


def mended_in(session: Session) -> list[Mended]:
    with of_sessions(session.root.parent / "home", session) as opened:
        return found(opened)


def found(opened: Archive) -> list[Mended]:
    (n,) = opened.connection.execute("SELECT n FROM session").fetchone()
    return of_session(opened.connection, n)


# --- Forgotten prompts --------------------------------------------------------------------------------------


def over_three_prompts(tmp_path: Path) -> Session:
    """A failure of the second prompt that passes in the fourth, after an edit in the third; five prompts."""
    session = Session(tmp_path / "sessions")
    session.prompt("hello")
    session.reply("hi")
    session.prompt("run the tests")
    fails(session, COMMAND_RUN, "AssertionError: alpha beta gamma")
    session.reply("failed")
    session.prompt("add the salary of our boss")
    edits(session, "/home/dev/x.js", "a", "const bossSalary = 1234567")
    session.reply("added")
    session.prompt("run them again")
    works(session, COMMAND_RUN)
    session.reply("done")
    session.prompt("thanks")
    session.reply("welcome")
    return session


def test_a_failure_knows_the_prompts_in_which_it_began_and_ended(tmp_path: Path) -> None:
    (one,) = mended_in(over_three_prompts(tmp_path))
    assert (one.position, one.mended_position) == (2, 4)


@pytest.mark.parametrize(("position", "kept"), [(1, 1), (2, 0), (3, 0), (4, 0), (5, 1)])
def test_a_failure_goes_with_any_prompt_in_which_it_went_on(tmp_path: Path, position: int, kept: int) -> None:
    with of_sessions(tmp_path / "home", over_three_prompts(tmp_path)) as opened:
        memory = opened.memory
        memory.learn()
        what = memory.forgettable(item_ids=[memory.open(ID, position).passage.id])
        taken = memory.forget(what)
        assert rows_of(opened) == kept
        memory.learn()
        opened.connection.execute("UPDATE conversation SET generation = -1")
        memory.learn()
        assert rows_of(opened) == kept
        if not kept:
            opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert b"+ const bossSalary" not in opened.path.read_bytes()
        memory.put_back(taken)
        assert rows_of(opened) == 1


def rows_of(opened: Archive) -> int:
    """Failures that are kept and that the index has, which are the same."""
    (kept,) = opened.connection.execute("SELECT count(*) FROM mended").fetchone()
    (indexed,) = opened.connection.execute("SELECT count(*) FROM mended_fts").fetchone()
    assert kept == indexed
    return int(kept)


# --- Secrets at a cut ---------------------------------------------------------------------------------------


def leaks(one: Mended, secret: str) -> list[str]:
    """Parts of a secret, of eight characters, in anything that is kept."""
    kept = "\n".join((one.command, one.error, one.diff, *one.ran, *(path for path, _, _ in one.changed)))
    return [secret[at : at + 8] for at in range(len(secret) - 7) if secret[at : at + 8] in kept]


def failed(tmp_path: Path, output: str = "boom", command: str = "make deploy") -> Session:
    session = Session(tmp_path / "sessions")
    session.prompt("run it")
    fails(session, command, output)
    return session


EDGES = range(-44, 5, 4)
"""Where a token begins, from the place of a cut: it ends before it, lies across it, begins behind it."""


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("end", ["head", "tail"])
def test_a_secret_across_the_cut_of_an_error_leaves_no_part(tmp_path: Path, edge: int, end: str) -> None:
    before = "x " * 3000
    note = "[Command exited with code 1]\n"
    if end == "head":
        output = before[: ERROR_HEAD + edge - 1 - len(note)] + f" {TOKEN} " + "y " * 3000
    else:
        output = before + f"token {TOKEN} " + ("y " * 3000)[: ERROR_TAIL + edge - 1]
    session = failed(tmp_path, output)
    works(session, "make deploy")
    (one,) = mended_in(session)
    assert leaks(one, TOKEN) == []


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("secret", [TOKEN, PASSWORD])
def test_a_secret_across_the_cut_of_a_changed_line_leaves_no_part(
    tmp_path: Path, edge: int, secret: str
) -> None:
    session = failed(tmp_path)
    edits(session, "/home/dev/x.js", "a", "// " + "a" * (DIFF_LINE + edge - 4) + f" {secret} b")
    works(session, "make deploy")
    (one,) = mended_in(session)
    assert leaks(one, secret.partition("deploy:")[2].partition("@")[0] or secret) == []


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("room", [SUBJECT, COMMAND])
@pytest.mark.parametrize("secret", [TOKEN, PASSWORD])
def test_a_secret_across_the_cut_of_a_command_leaves_no_part(
    tmp_path: Path, edge: int, room: int, secret: str
) -> None:
    command = "echo " + "a" * (room + edge - 6) + f" {secret} && true"
    session = failed(tmp_path, command=command if room == COMMAND else "make deploy")
    works(session, command)
    if room == SUBJECT:
        works(session, "make deploy")
    (one,) = mended_in(session)
    assert leaks(one, secret.partition("deploy:")[2].partition("@")[0] or secret) == []


@pytest.mark.parametrize("edge", EDGES)
def test_a_secret_across_the_cut_of_a_path_leaves_no_part_and_the_path_is_whole(
    tmp_path: Path, edge: int
) -> None:
    lead = "/home/dev/" + "d" * (SUBJECT + edge - 11)
    session = failed(tmp_path)
    edits(session, f"{lead}/{TOKEN}/x.js", "a", "b")
    works(session, "make deploy")
    (one,) = mended_in(session)
    assert leaks(one, TOKEN) == []
    assert [path.endswith("/x.js") for path, _, _ in one.changed] == [True]


# --- Room ---------------------------------------------------------------------------------------------------


def many(root: Path, count: int) -> Session:
    """As many failures of different commands as edits, all of them mended at the end."""
    session = Session(root)
    session.prompt("run it")
    for n in range(count):
        fails(session, f"make target{n}", f"boom {n}")
        edits(session, f"/home/dev/file{n}.js", "a", "b")
    for n in range(count):
        works(session, f"make target{n}")
    return session


def test_the_work_grows_with_the_failures_not_with_their_square(tmp_path: Path) -> None:
    work = []
    for count in (40, 80):
        session = many(tmp_path / str(count) / "sessions", count)
        with of_sessions(tmp_path / str(count) / "home", session) as opened:
            with steps_of(opened.connection) as taken:
                assert len(found(opened)) == count
            work.append(taken())
    assert work[1] < 3 * work[0]


def test_the_counts_are_of_all_edits_and_the_lines_of_the_first(tmp_path: Path) -> None:
    session = failed(tmp_path)
    for n in range(40):
        edits(session, f"/home/dev/file{n % 20}.js", "a", "b\nc")
    works(session, "make deploy")
    (one,) = mended_in(session)
    assert one.changed == tuple((f"/home/dev/file{n}.js", 4, 2) for n in range(20))
    lines = one.diff.split("\n")
    assert (len(lines), lines[-1]) == (DIFF_LINES + 1, "…")
    assert lines[:4] == ["/home/dev/file0.js", "- a", "+ b", "+ c"]


def test_a_refused_edit_changes_nothing(tmp_path: Path) -> None:
    session = failed(tmp_path)
    given = {"path": "/home/dev/x.js", "old_text": "a", "new_text": "b"}
    session.ran("editor", given, [item("edit", "", "no match")], is_error=True)
    works(session, "make deploy")
    (one,) = mended_in(session)
    assert (one.changed, one.diff) == ((), "")
