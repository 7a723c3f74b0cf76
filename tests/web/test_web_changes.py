"""Diffs: each changed line once with the numbers that are recorded, changed words marked, what did not survive."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Home
from hypothesis import given
from hypothesis import strategies as st
from sessions import Session, item
from starlette.testclient import TestClient

from backstory.schema.step import Edit
from backstory.story.changes import Survival, edited_papers
from backstory.web import diffs


def edit(session: Session, path: str, old: str | None, new: str, call: str, error: str | None = None) -> None:
    """One edit as Cline records it."""
    session.call(
        "editor", {"path": path, **({"old_text": old} if old is not None else {}), "new_text": new}, call
    )
    session.result(call, [item(f"edit:{path}", "" if error else f"Edited {path}", error)])


def survived(session: Session) -> dict[str, tuple[str, bool]]:
    """By the ids of edits that did not survive: the one that took the last of each, and whether it was undone."""
    record, survival = session.read(), Survival()
    edited_papers(record, None, survival)
    return {lost.step.id: (lost.by.id, lost.undone) for lost in survival.lost}


def test_an_edit_that_is_taken_back_is_undone_and_one_that_is_written_over_is_rewritten(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path)
    session.prompt("Go")
    session.call("read_files", {"files": [{"path": "a.py"}]}, "seen")
    session.result("seen", [item("a.py", "1 | one\n2 | two\n3 | three")])
    edit(session, "a.py", "one", "uno", "first")
    edit(session, "a.py", "two", "dos", "second")
    edit(session, "a.py", "uno", "one", "back")
    edit(session, "a.py", "dos", "zwei", "over")
    assert survived(session) == {"first#0": ("back#0", True), "second#0": ("over#0", False)}


def test_an_edit_of_which_a_line_is_left_has_survived(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Go")
    edit(session, "b.py", None, "a\nb\nc\n", "new")
    edit(session, "b.py", "b", "B", "some")
    assert survived(session) == {}


def test_a_new_file_that_is_deleted_again_is_undone(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Go")
    edit(session, "b.py", None, "a\nb\n", "new")
    session.call("apply_patch", {"input": "*** Begin Patch\n*** Delete File: b.py\n*** End Patch"}, "gone")
    session.result("gone", "Applied")
    assert survived(session) == {"new#0": ("gone#0", True)}


def test_the_page_lists_files_edits_and_what_did_not_survive(samples: Home, client: TestClient) -> None:
    text = client.get(f"/s/{samples.id('k3v9q')}/changes").text
    for words in (
        "These are the edits that Cline recorded, put together from first to last.",
        "<code>git diff 6d25840 a81c02e</code> compares the checkpoints of prompts 1 and 2.",
        "1 not applied",
        "not applied: text not found, prompt 2",
        "new file",
    ):
        assert words in text, words
    assert re.findall(r'<h2 class="mono">(.*?)</h2>', text) == [
        '<span class="dir">src/limiter/</span>redis-limiter.ts',
        '<span class="dir">src/limiter/</span>log-once.ts',
        '<span class="dir">src/middleware/</span>rate-limit.ts',
        "CHANGELOG.md",
    ]
    one = client.get(f"/s/{samples.id('k3v9q')}/changes?by=prompt&turn=4").text
    assert "CHANGELOG.md</h3>" in one
    assert "log-once.ts</h3>" not in one
    column = client.get(f"/s/{samples.id('k3v9q')}/changes?diff=unified").text
    assert 'class="w2"' not in column
    assert text.count('class="w2"') == 3


@pytest.mark.parametrize(
    ("settings", "words", "begins"),
    [
        ("", "Open in VS Code", "vscode://file/"),
        ('editor = "cursor"', "Open in Cursor", "cursor://file/"),
        ('editor = "none"', "", ""),
    ],
)
def test_a_file_that_is_here_opens_in_the_editor_of_the_settings(
    home: Home, settings: str, words: str, begins: str
) -> None:
    folder = home.path / "work"
    session = Session(home.sessions)
    assert session.manifest is not None
    session.manifest |= {"cwd": str(folder), "workspace_root": str(folder)}
    session.prompt("Go")
    edit(session, "a b.ts", None, "one\ntwo\n", "new")
    session.write()
    with home.archive() as archive:
        archive.sync()
    (home.path / "backstory" / "config.toml").write_text(settings)
    address = f"/s/{session.session_id}/changes"
    assert "Open in" not in home.client().get(address).text
    folder.mkdir()
    (folder / "a b.ts").write_text("one\ntwo\n")
    found = re.findall(r'<a href="([^"]+)">(Open in [^<]+)', home.client().get(address).text)
    place = str(folder).lstrip("/")
    assert found == ([(f"{begins}{place}/a%20b.ts:1", words)] if begins else [])


TEXT = st.lists(st.text(alphabet="ab {}=\n\t", max_size=12), max_size=8).map("\n".join)


@given(TEXT, TEXT)
def test_both_columns_hold_each_changed_line_once(old: str, new: str) -> None:
    table = diffs.of_edit(Edit("a.py", "replace", old, new), whole=True)
    pairs = diffs.side_by_side(table.rows)
    left = [side.text for side, _ in pairs if side is not None and side.sign == "-"]
    right = [side.text for _, side in pairs if side is not None and side.sign == "+"]
    assert left == [row.text for row in table.rows if row.sign == "-"]
    assert right == [row.text for row in table.rows if row.sign == "+"]


@given(
    st.text(alphabet="abc (),;", min_size=1, max_size=30),
    st.text(alphabet="abc (),;", min_size=1, max_size=30),
)
def test_marks_in_a_pair_of_lines_leave_what_is_equal(one: str, other: str) -> None:
    found = diffs._marks([(1, None, "-", one), (None, 1, "+", other)])

    def rest(text: str, spans: list[tuple[int, int]]) -> str:
        return "".join(
            letter for at, letter in enumerate(text) if not any(low <= at < high for low, high in spans)
        )

    if found:
        assert rest(one, found.get(0, [])) == rest(other, found.get(1, []))
        assert 2 * len(rest(one, found.get(0, []))) >= (len(one) + len(other)) / 2


def test_a_long_change_shows_its_beginning_and_says_how_much_there_is() -> None:
    long = Edit("a.py", "create", None, "\n".join(f"line {n}" for n in range(1_204)), is_full_write=True)
    table = diffs.of_edit(long)
    assert (len(table.rows), table.left_out) == (60, 1_144)
    assert diffs.of_edit(long, whole=True).left_out == 0


def test_numbers_are_those_that_cline_recorded_and_none_are_made_up() -> None:
    patch = Edit("a.py", "patch", hunks="@@\n a\n-b\n+c\n d")
    rows = diffs.of_edit(patch).rows
    assert [(row.old, row.new, row.sign) for row in rows] == [
        (None, None, " "),
        (None, None, "-"),
        (None, None, "+"),
        (None, None, " "),
    ]
    numbered = Edit("a.py", "replace", "one\ntwo\nthree", "one\n2\nthree", diff="-8: two\n+8: 2")
    found = [(row.old, row.new, row.sign) for row in diffs.of_edit(numbered).rows]
    assert (8, None, "-") in found
    assert (None, 8, "+") in found
