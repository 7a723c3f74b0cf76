"""`show --changes`: what it writes, git applies, and what no diff can say is named."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from test_terminal_story import VIEW, Story, session

from backstory.cli.changes import diffs, draw_patch, patch_text
from backstory.cli.line import plain
from backstory.schema.changed import Changed, changed_lines
from backstory.schema.record import Record
from backstory.schema.step import Edit, Range, Read
from backstory.story.unified import Diff

ROOT = "/home/dev/work/x"
WORDS = ["alpha", "beta", "gamma", "delta", "", "  indented", "}", "return x"]


class Folder:
    """A project in which edits are made as Cline's editor makes them, and told to the record."""

    def __init__(self, files: dict[str, str]) -> None:
        self.before = dict(files)
        self.files = dict(files)
        self.told = Story()
        self.told.turn("12:04", "act", "go")

    def read(self, path: str, first: int = 1, last: int | None = None) -> None:
        lines = self.files[path].removesuffix("\n").split("\n")
        shown = range(first, (last or len(lines)) + 1)
        width = len(str(shown[-1]))
        content = "\n".join(f"{number:>{width}} | {lines[number - 1]}" for number in shown)
        wanted = None if first == 1 and last is None else Range(first, last)
        self.told.add(Read(f"{ROOT}/{path}", wanted, content))

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.files[path]
        assert text.count(old) == 1
        self.files[path] = text.replace(old, new)
        diff = snippet(text, self.files[path])
        self.told.add(Edit(f"{ROOT}/{path}", "replace", old, new, diff=diff, added=1, removed=1))

    def insert(self, path: str, line: int, new: str) -> None:
        lines = self.files[path].split("\n")
        lines[line - 1 : line - 1] = new.split("\n")
        self.files[path] = "\n".join(lines)
        self.told.add(Edit(f"{ROOT}/{path}", "insert", new_string=new, insert_line=line))

    def create(self, path: str, new: str) -> None:
        self.files[path] = new
        self.told.add(Edit(f"{ROOT}/{path}", "create", new_string=new, is_full_write=True))

    def record(self) -> Record:
        return self.told.record(session("x", "x", "x", workspace_root=ROOT))


def snippet(old: str, new: str) -> str:
    """Cline's answer: the changed region with line numbers, common beginning and end left out."""
    before, after = old.split("\n"), new.split("\n")
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    gone = [f"-{start + n + 1}: {line}" for n, line in enumerate(before[start : len(before) - end])]
    come = [f"+{start + n + 1}: {line}" for n, line in enumerate(after[start : len(after) - end])]
    return "\n".join(gone + come)


def apply(tmp_path: Path, folder: Folder, found: list[Diff], *flags: str) -> dict[str, str]:
    """What `git apply` makes of the files before the session."""
    for path, text in folder.before.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8", newline="")
    patch = tmp_path.parent / f"{tmp_path.name}.patch"
    patch.write_text("".join(f"{line}\n" for one in found for line in one.lines), "utf-8", newline="")
    command = ["git", "apply", "--whitespace=nowarn", *flags, str(patch)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + patch.read_text("utf-8")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    return {str(path.relative_to(tmp_path)): path.read_text("utf-8") for path in files}


def check(tmp_path: Path, folder: Folder, *flags: str) -> list[Diff]:
    found = list(diffs(folder.record()))
    assert apply(tmp_path, folder, found, *flags) == folder.files
    return found


TEXT = "".join(f"line {n}\n" for n in range(1, 31))


def test_a_file_that_was_read(tmp_path: Path) -> None:
    folder = Folder({"src/a.ts": TEXT})
    folder.read("src/a.ts")
    folder.replace("src/a.ts", "line 7\n", "seven\nand more\n")
    folder.replace("src/a.ts", "line 20", "twenty")
    (found,) = check(tmp_path, folder)
    assert found.lines[:4] == (
        "diff --git a/src/a.ts b/src/a.ts",
        "--- a/src/a.ts",
        "+++ b/src/a.ts",
        "@@ -4,7 +4,8 @@",
    )
    assert not found.notes


def test_a_file_that_was_not_read_has_the_context_of_the_edit(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT})
    folder.replace("a.ts", "line 6\nline 7\nline 8\n", "line 6\nseven\nline 8\n")
    (found,) = check(tmp_path, folder)
    assert found.lines[3:] == ("@@ -6,3 +6,3 @@", " line 6", "-line 7", "+seven", " line 8")
    assert not found.notes


def test_a_change_without_a_line_around_it_says_what_git_needs(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT})
    folder.replace("a.ts", "ne 7\n", "ne seven\n")
    (found,) = check(tmp_path, folder, "--unidiff-zero")
    assert found.lines[3:] == ("@@ -7,1 +7,1 @@", "-line 7", "+line seven")
    assert found.notes == (
        "a.ts: no unchanged line around a change is recorded, so it is a comment in the patch; "
        "git apply takes it with --unidiff-zero alone",
    )


def test_what_git_would_refuse_does_not_keep_it_from_the_rest(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT, "b.ts": TEXT})
    folder.replace("a.ts", "line 7\n", "seven\n")
    folder.read("b.ts")
    folder.replace("b.ts", "line 7\n", "seven\n")
    found = list(diffs(folder.record()))
    patch = patch_text(found)
    assert patch.startswith("# diff --git a/a.ts b/a.ts\n")
    assert "\ndiff --git a/b.ts b/b.ts\n" in patch
    for name in ("a.ts", "b.ts"):
        (tmp_path / name).write_text(TEXT, "utf-8")
    done = subprocess.run(["git", "apply", "-"], input=patch, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "b.ts").read_text("utf-8") == folder.files["b.ts"]
    assert (tmp_path / "a.ts").read_text("utf-8") == TEXT


def test_edits_of_one_place_become_one_change(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT})
    folder.read("a.ts", 3, 12)
    folder.replace("a.ts", "line 7", "seven")
    folder.replace("a.ts", "seven", "7 again")
    folder.insert("a.ts", 8, "between")
    (found,) = check(tmp_path, folder)
    assert [line for line in found.lines if line[0] in "+-"][2:] == ["-line 7", "+7 again", "+between"]


def test_new_files_and_a_missing_line_end(tmp_path: Path) -> None:
    folder = Folder({"old.txt": "a\nb"})
    folder.create("docs/new file.md", "# New\n\ntext")
    folder.replace("docs/new file.md", "text", "words\n")
    folder.insert("docs/new file.md", 2, "second\n")
    folder.create("empty.txt", "")
    check(tmp_path, folder)
    assert folder.files["docs/new file.md"] == "# New\nsecond\n\n\nwords\n"


def test_a_path_that_git_quotes(tmp_path: Path) -> None:
    folder = Folder({})
    folder.create('od"d\tname.txt', "x\n")
    found = check(tmp_path, folder)
    assert found[0].lines[0] == 'diff --git "a/od\\"d\\tname.txt" "b/od\\"d\\tname.txt"'


def test_patches_move_and_delete(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT, "gone.txt": "x\ny\n", "kept.txt": "k\n"})
    folder.read("gone.txt")
    path = f"{ROOT}/a.ts"
    hunks = "@@\n line 9\n-line 10\n+ten\n line 11\n@@\n line 20\n+twenty and a half\n line 21"
    folder.told.add(Edit(path, "move", hunks=hunks, move_to=f"{ROOT}/b/c.ts"))
    folder.told.add(Edit(f"{ROOT}/gone.txt", "delete"))
    folder.files["b/c.ts"] = TEXT.replace("line 10\n", "ten\n").replace(
        "line 20\n", "line 20\ntwenty and a half\n"
    )
    del folder.files["a.ts"], folder.files["gone.txt"]
    found = check(tmp_path, folder)
    notes = [note for one in found for note in one.notes]
    assert notes == ["b/c.ts: line numbers are not recorded; git apply finds the place by the text"]


def test_what_no_diff_can_say_is_named() -> None:
    folder = Folder({"a.ts": TEXT})
    folder.told.add(Edit(f"{ROOT}/a.ts", "delete"))
    folder.told.add(Edit(f"{ROOT}/b.ts", "replace", "old", "new"))
    folder.told.add(Edit("/etc/hosts", "create", new_string="x\n"))
    folder.told.add(Edit(f"{ROOT}/c.ts", "replace", "old", "new"), error=("tool", "text not found"))
    found = list(diffs(folder.record()))
    assert patch_text(found) == ""
    assert [note for one in found for note in one.notes] == [
        "a.ts was deleted; its text is not recorded whole, so no diff can say it",
        "b.ts: an edit (call_2#0) is not in the diff: the lines around it are not recorded",
        "/etc/hosts lies outside of the session's folder, where git apply does not write",
    ]


def test_one_prompt_has_its_own_changes(tmp_path: Path) -> None:
    folder = Folder({"a.ts": TEXT})
    folder.read("a.ts")
    folder.replace("a.ts", "line 7\n", "seven\n")
    folder.before = dict(folder.files)
    folder.told.turn("12:07", "act", "more")
    folder.replace("a.ts", "line 8\n", "eight\n")
    after = dict(folder.files)
    folder.told.turn("12:09", "act", "and more")
    folder.replace("a.ts", "line 9\n", "nine\n")
    found = list(diffs(folder.record(), 2))
    assert apply(tmp_path, folder, found) == after
    assert "-line 8" in found[0].lines
    assert "-line 9" not in found[0].lines


def test_a_patch_on_a_terminal_cannot_act() -> None:
    folder = Folder({})
    folder.create("a.txt", "\x1b]0;owned\x07\n")
    drawn = [plain(line) for line in draw_patch(VIEW, list(diffs(folder.record())))]
    assert drawn[-1] == "+␛]0;owned␇"


@pytest.mark.parametrize("seed", range(60))
def test_any_run_of_edits(tmp_path: Path, seed: int) -> None:
    """Random edits of one file that was read, in part or whole, before or between them."""
    rand = random.Random(seed)
    lines = [f"{rand.choice(WORDS)} {n}" for n in range(rand.randint(1, 25))]
    folder = Folder({"a.txt": "\n".join(lines) + "\n"})
    whole = rand.random() < 0.6
    for step in range(rand.randint(1, 6)):
        if (whole and step == 0) or rand.random() < 0.2:
            folder.read("a.txt")
        own = folder.files["a.txt"]
        if rand.random() < 0.3:
            folder.insert("a.txt", rand.randint(1, own.count("\n") + 1), rand.choice(WORDS) + f" new{step}")
            continue
        # Cline's answer does not tell an empty last line from the end of the file, so the last line end stays.
        inner = own.removesuffix("\n")
        start = rand.randrange(len(inner) + 1)
        old = inner[start : start + rand.randint(1, 40)]
        if old and own.count(old) == 1:
            folder.replace("a.txt", old, f"{rand.choice(WORDS)}{step}" + rand.choice(["", "\n", "\nx\n"]))
    found = list(diffs(folder.record()))
    if found and not any("is not in the diff" in note for one in found for note in one.notes):
        flags = ["--unidiff-zero"] if any(one.bare for one in found) else []
        assert apply(tmp_path, folder, found, *flags) == folder.files


def test_changed_lines_take_their_place_from_the_snippet_and_their_text_from_the_edit() -> None:
    edit = Edit("a", "replace", "one\ntwo\nthree", "one\n2\n2b\nthree", diff="-11: two\n+11: 2")
    assert changed_lines(edit) == [
        Changed(10, " ", "one"),
        Changed(11, "-", "two"),
        Changed(11, "+", "2"),
        Changed(12, "+", "2b"),
        Changed(13, " ", "three"),
    ]


def test_part_of_a_line_is_shown_as_the_whole_line_where_it_is_recorded() -> None:
    edit = Edit("a", "replace", "foo", "bar", diff="-4:   x = foo(1)\n+4:   x = bar(1)")
    assert changed_lines(edit) == [Changed(4, "-", "  x = foo(1)"), Changed(4, "+", "  x = bar(1)")]


def test_without_a_snippet_no_number_is_made_up() -> None:
    assert changed_lines(Edit("a", "replace", "x", "y")) == [Changed(None, "-", "x"), Changed(None, "+", "y")]
    patch = Edit("a", "patch", hunks="@@ def f\n ctx\n-x\n+y")
    assert changed_lines(patch) == [Changed(None, "-", "x"), Changed(None, "+", "y")]
