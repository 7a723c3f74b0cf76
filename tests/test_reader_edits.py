"""Reads, edits, patches, searches and pages: every form that Cline accepts and writes (FORMAT.md section 5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import Object, item, text
from toolcalls import edit, error, one, other, steps, thrown

from backstory.schema.document import step_json
from backstory.schema.step import Edit, Range, Read, Step

# --- read_files --------------------------------------------------------------------------------------------

READS: dict[str, tuple[Any, list[tuple[str, Range | None, str]]]] = {
    "files": ({"files": [{"path": "a"}, {"path": "b"}]}, [("a", None, "a"), ("b", None, "b")]),
    "files as strings": ({"files": ["a", "b"]}, [("a", None, "a"), ("b", None, "b")]),
    "one file": ({"files": {"path": "a"}}, [("a", None, "a")]),
    "file_paths": ({"file_paths": ["a"]}, [("a", None, "a")]),
    "paths": ({"paths": ["a", "b"]}, [("a", None, "a"), ("b", None, "b")]),
    "path": ({"path": "a"}, [("a", None, "a")]),
    "file_path": ({"file_path": "a"}, [("a", None, "a")]),
    "a string": ("a", [("a", None, "a")]),
    "an array": (["a", "b"], [("a", None, "a"), ("b", None, "b")]),
    "an array of objects": ([{"path": "a"}], [("a", None, "a")]),
    "a range": (
        {"files": [{"path": "a", "start_line": 2, "end_line": 3}]},
        [("a", Range(2, 3), "a:2-3")],
    ),
    "a range without an end": ({"files": [{"path": "a", "start_line": 3}]}, [("a", Range(3), "a:3-EOF")]),
    "a range without a start": ({"files": [{"path": "a", "end_line": 3}]}, [("a", Range(1, 3), "a:1-3")]),
    "null means absent": (
        {"files": [{"path": "a", "start_line": None, "end_line": None}]},
        [("a", None, "a")],
    ),
    "numbers as text": (
        {"files": [{"path": "a", "start_line": "2", "end_line": "3"}]},
        [("a", Range(2, 3), "a:2-3")],
    ),
    "a range of its own entry": (
        {"files": [{"path": "a"}, {"start_line": 2, "end_line": 3}, {"path": "b"}]},
        [("a", Range(2, 3), "a:2-3"), ("b", None, "b")],
    ),
    "the same file twice": (
        {"files": [{"path": "a", "start_line": 1, "end_line": 2}, {"path": "a", "start_line": 5}]},
        [("a", Range(1, 2), "a:1-2"), ("a", Range(5), "a:5-EOF")],
    ),
    "a path of Windows": (
        {"files": [{"path": "C:\\a b\\c.txt"}]},
        [("C:\\a b\\c.txt", None, "C:\\a b\\c.txt")],
    ),
}


@pytest.mark.parametrize(("value", "wanted"), READS.values(), ids=READS)
def test_every_form_of_reads(tmp_path: Path, value: Any, wanted: list[tuple[str, Range | None, str]]) -> None:
    results = [item(query, f"1 | {query}") for _, _, query in wanted]
    found = steps(tmp_path, "read_files", value, results[::-1])
    assert [step.payload for step in found] == [
        Read(path, lines, f"1 | {query}") for path, lines, query in wanted
    ]
    assert [step.flags for step in found] == [()] * len(wanted)


@pytest.mark.parametrize(
    "line", ["--5", "²", "٣", "1e3", " 4 ", True, 2.5, [1], "9" * 40, -1, 10**30], ids=repr
)
def test_a_line_number_that_is_none_costs_only_itself(tmp_path: Path, line: Any) -> None:
    value = {"files": [{"path": "a", "start_line": line}, {"path": "b"}]}
    found = steps(tmp_path, "read_files", value, [item("a", "A"), item("b", "B")])
    assert [
        (step.payload.path, step.payload.content) for step in found if isinstance(step.payload, Read)
    ] == [
        ("a", "A"),
        ("b", "B"),
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    message = "Error reading file: ENOENT: no such file or directory, statx '/x'"
    found = steps(
        tmp_path, "read_files", {"files": ["a", "/x"]}, [item("/x", "", message), item("a", "1 | a")]
    )
    assert [step.outcome for step in found] == ["ok", "failed"]
    assert error(found[1]) == ("not_found", message)
    assert found[1].payload == Read("/x")


def test_a_read_that_cline_cut(tmp_path: Path) -> None:
    shown = "1 | a\n2 | b\n[Showing lines 1-2 of 900. Use start_line and end_line to read more.]"
    step = one(tmp_path, "read_files", {"path": "a"}, [item("a", shown)])
    assert step.content_status == "truncated"
    assert isinstance(step.payload, Read)
    assert step.payload.content == shown


def test_a_read_image_is_counted_and_not_kept(tmp_path: Path) -> None:
    parts = [text("An image"), {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}]
    step = one(tmp_path, "read_files", {"path": "a.png"}, [item("a.png", parts)])
    image = {"type": "image", "mediaType": "image/png", "bytes": 5}
    assert step.payload == Read("a.png", None, "An image", [text("An image"), image])


# --- editor ------------------------------------------------------------------------------------------------


def edited(tmp_path: Path, value: Object, result: str) -> Step:
    kind = "insert" if value.get("insert_line") is not None else "edit"
    return one(tmp_path, "editor", value, json.dumps(item(f"{kind}:{value['path']}", result)))


def test_a_creation(tmp_path: Path) -> None:
    step = edited(tmp_path, {"path": "a.py", "new_text": "1\n2\n"}, "File created successfully at: a.py")
    assert step.payload == Edit("a.py", "create", None, "1\n2\n", True, added=2)
    assert step.outcome == "ok"


def test_a_replacement_with_its_diff(tmp_path: Path) -> None:
    result = "Edited a.py\n```diff\n-1: a\n+1: b\n```"
    step = edited(tmp_path, {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert step.payload == Edit("a.py", "replace", "a", "b", diff="-1: a\n+1: b", added=1, removed=1)


@pytest.mark.parametrize("line", [4, "4", 4.0])
def test_an_insertion_is_no_full_write(tmp_path: Path, line: Any) -> None:
    value = {"path": "a.py", "new_text": "x\ny", "insert_line": line}
    step = edited(tmp_path, value, "Inserted content at line 4 in a.py.")
    assert step.payload == Edit("a.py", "insert", None, "x\ny", insert_line=4, added=2)


@pytest.mark.parametrize("absent", [{}, {"old_text": None}, {"old_text": None, "insert_line": None}], ids=str)
def test_null_means_absent(tmp_path: Path, absent: Object) -> None:
    value = {"path": "a.py", "new_text": "", **absent}
    step = edited(tmp_path, value, "File created successfully at: a.py")
    assert step.payload == Edit("a.py", "create", None, "", True)


def test_an_existing_file_without_old_text_is_an_error_and_nothing_was_written(tmp_path: Path) -> None:
    message = "Editor operation failed: a.py already exists, but `old_text` was not given."
    result = json.dumps(item("edit:a.py", "", message))
    step = one(tmp_path, "editor", {"path": "a.py", "new_text": "all new"}, result)
    assert error(step) == ("tool", message)
    assert (edit(step).operation, edit(step).new_string) == ("create", "all new")
    record_totals = (edit(step).added, edit(step).removed)
    assert record_totals == (1, 0)


def test_a_text_that_was_not_found(tmp_path: Path) -> None:
    message = "Editor operation failed: No replacement performed: text not found in a.py"
    result = json.dumps(item("edit:a.py", "", message))
    step = one(tmp_path, "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert error(step) == ("tool", message)


def test_a_result_with_half_an_emoji_is_still_taken_apart(tmp_path: Path) -> None:
    """Cline cuts texts by UTF-16 units, so that half a character can stand at an end of a message."""
    message = "Editor operation failed: No replacement performed: text not found: "
    half = r"\ud83d"
    result = json.dumps(item("edit:a.py", "", message)).replace(message, message + half)
    step = one(tmp_path, "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}, result)
    assert error(step) == ("tool", message + "\ufffd")


def test_an_editor_call_of_the_right_shape_with_wrong_types_is_kept_raw(tmp_path: Path) -> None:
    value = {"path": "a.py", "new_text": ["lines"]}
    step = one(tmp_path, "editor", value, thrown("✖ Invalid input"), is_error=True)
    assert other(step).raw["input"] == value


# --- apply_patch -------------------------------------------------------------------------------------------

PATCH = """*** Begin Patch
*** Add File: new.py
+one
+two
*** Update File: old.py
@@ def f():
-    return 1
+    return 2
*** Update File: from.py
*** Move to: to.py
@@
-a
+b
+c
*** Delete File: gone.py
*** End Patch"""
APPLIED = json.dumps(
    item(
        "apply_patch",
        "Successfully applied patch to the following files:\nnew.py\nold.py\nfrom.py -> to.py\ngone.py: [deleted]",
    )
)
PATCHES = {
    "input": {"input": PATCH},
    "a string": PATCH,
    "with a final newline": {"input": PATCH + "\n"},
    "in a shell's heredoc": {"input": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
    "with carriage returns": {"input": PATCH.replace("\n", "\r\n")},
    "without its end": {"input": PATCH.removesuffix("\n*** End Patch")},
}


@pytest.mark.parametrize("value", PATCHES.values(), ids=PATCHES)
def test_a_patch_is_one_edit_a_file(tmp_path: Path, value: Any) -> None:
    found = steps(tmp_path, "apply_patch", value, APPLIED)
    assert [step.id for step in found] == ["call_1#0", "call_1#1", "call_1#2", "call_1#3"]
    assert [step.payload for step in found] == [
        Edit("new.py", "create", None, "one\ntwo", True, added=2),
        Edit(
            "old.py",
            "patch",
            hunks="@@ def f():\n-    return 1\n+    return 2",
            added=1,
            removed=1,
        ),
        Edit("from.py", "move", hunks="@@\n-a\n+b\n+c", move_to="to.py", added=2, removed=1),
        Edit("gone.py", "delete"),
    ]
    assert {step.outcome for step in found} == {"ok"}


def test_a_patch_that_was_not_applied_failed_for_each_file(tmp_path: Path) -> None:
    message = "apply_patch failed: Patch could not be applied because 1 hunk did not match."
    found = steps(tmp_path, "apply_patch", {"input": PATCH}, json.dumps(item("apply_patch", "", message)))
    assert [error(step) for step in found] == [("tool", message)] * 4


def test_a_patch_of_nothing_is_kept_raw(tmp_path: Path) -> None:
    step = one(tmp_path, "apply_patch", {"input": "please change a.py"}, thrown("x"), is_error=True)
    assert other(step).raw["input"] == {"input": "please change a.py"}


def test_a_note_beside_the_list_of_files_is_not_lost(tmp_path: Path) -> None:
    """Cline says when a hunk only fitted roughly; a reviewer wants to know."""
    note = "Note: 1 hunk was applied with fuzz 2."
    result = json.dumps(
        item("apply_patch", f"Successfully applied patch to the following files:\nold.py\n{note}")
    )
    patch = "*** Begin Patch\n*** Update File: old.py\n@@\n-a\n+b\n*** End Patch"
    (step,) = steps(tmp_path, "apply_patch", {"input": patch}, result)
    assert step.outcome == "ok"
    assert note in json.dumps(step_json(step))


# --- search_codebase, fetch_web_content --------------------------------------------------------------------

SEARCHES: dict[str, tuple[Any, list[str]]] = {
    "queries": ({"queries": ["a", "b"]}, ["a", "b"]),
    "queries as a string": ({"queries": "a"}, ["a"]),
    "an array": (["a", "b"], ["a", "b"]),
    "a string": ("a", ["a"]),
}


@pytest.mark.parametrize(("value", "queries"), SEARCHES.values(), ids=SEARCHES)
def test_every_form_of_searches(tmp_path: Path, value: Any, queries: list[str]) -> None:
    results = [item(query, f"Found 1 result for pattern: {query}") for query in queries]
    found = steps(tmp_path, "search_codebase", value, results[::-1])
    assert [other(step).raw for step in found] == [
        {"input": query, "result": f"Found 1 result for pattern: {query}"} for query in queries
    ]
    assert {other(step).tool_name for step in found} == {"search_codebase"}


def test_a_failed_search(tmp_path: Path) -> None:
    message = "Search failed: Invalid regex pattern: (x"
    found = steps(
        tmp_path, "search_codebase", {"queries": ["(x", "y"]}, [item("(x", "", message), item("y", "1")]
    )
    assert error(found[0]) == ("tool", message)
    assert found[1].outcome == "ok"


def test_fetched_pages(tmp_path: Path) -> None:
    asked = [{"url": "https://a.org", "prompt": "Sum up"}, {"url": "https://b.org", "prompt": "?"}]
    message = "Error fetching web content: HTTP 404: Not Found"
    results = [item("https://b.org", "", message), item("https://a.org", "URL: https://a.org\n\npage")]
    found = steps(tmp_path, "fetch_web_content", {"requests": asked}, results)
    assert [other(step).raw["input"] for step in found] == asked
    assert other(found[0]).raw["result"] == "URL: https://a.org\n\npage"
    assert error(found[1]) == ("tool", message)
