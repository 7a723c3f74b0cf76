"""Search over steps: what is found, in which order, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from growth import RECORDINGS, GrowingSession

from backstory import Archive
from backstory.store.search import terms

NOW = 1_800_000_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive.db", env={"HOME": str(tmp_path)}, now=lambda: NOW)


def command(number: int, line: str, output: str, *, ok: bool = True) -> list[dict[str, Any]]:
    item: dict[str, Any] = {"query": line, "result": output, "success": True}
    if not ok:
        error = "Command exited with code 1"
        item = {"query": line, "result": f"[{error}]\n{output}", "error": error, "success": False}
    call = {"type": "tool_use", "id": f"c{number}", "name": "run_commands", "input": {"commands": [line]}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "name": "run_commands", "content": [item]}
    return [
        {"id": f"a{number}", "role": "assistant", "ts": NOW + number * 1000, "content": [call]},
        {"id": f"r{number}", "role": "user", "ts": NOW + number * 1000 + 500, "content": [result]},
    ]


def said(number: int, role: str, text: str) -> dict[str, Any]:
    return {
        "id": f"s{number}",
        "role": role,
        "ts": NOW + number * 1000,
        "content": [{"type": "text", "text": text}],
    }


def found(archive: Archive, query: str, **more: Any) -> list[str]:
    return [hit.step.id for one in archive.search(query, **more).sessions for hit in one.hits]


def fill(
    archive: Archive, tmp_path: Path, messages: list[dict[str, Any]], name: str = "1796026921000_grow1"
) -> None:
    GrowingSession(tmp_path / "sessions", name).document(messages)
    archive.sync([tmp_path / "sessions"])


def test_messages_commands_outputs_and_paths_are_found(archive: Archive) -> None:
    archive.sync([RECORDINGS / "basic-act" / "sessions"])
    assert found(archive, "greeting", scope="prompts") == ["1846d67d-2138-4af3-a832-a9bd56982659#0"]
    assert "msg_Hb3dL5i1#0" in found(archive, "renamed")
    assert found(archive, "sys.exit", scope="commands") == ["call_m1_0#1"]
    assert found(archive, "drwxr", scope="outputs") == ["call_m1_0#0"]
    assert set(found(archive, "new.py", scope="files", per_session=9)) == {
        "call_m2_1#0",
        "call_m3_0#0",
        "call_m3_1#0",
    }
    assert found(archive, '"text not found"') == ["call_m3_1#0"]


def test_all_words_must_match_and_phrases_stand_together(archive: Archive, tmp_path: Path) -> None:
    fill(archive, tmp_path, [said(1, "user", "the red fox"), said(2, "assistant", "a fox that is red")])
    assert set(found(archive, "red fox")) == {"s1#0", "s2#0"}
    assert found(archive, '"red fox"') == ["s1#0"]
    assert found(archive, "red wolf") == []


@pytest.mark.parametrize(
    "query", ['"', "''", "AND", "a OR", "NEAR(", "*", "-", "col:x", "(", "\\", "%", "\0", "🎉"]
)
def test_no_query_is_an_error(archive: Archive, tmp_path: Path, query: str) -> None:
    fill(archive, tmp_path, [said(1, "user", "plain words AND a OR col:x")])
    archive.search(query)


def test_beginnings_of_words_are_tried_where_nothing_matches(archive: Archive, tmp_path: Path) -> None:
    fill(archive, tmp_path, [said(1, "user", "reconnecting to the limiter")])
    answer = archive.search("reconn limit")
    assert answer.widened
    assert [hit.step.id for one in answer.sessions for hit in one.hits] == ["s1#0"]
    assert not archive.search("limiter").widened


def test_a_misspelt_word_is_taken_for_the_nearest_one_and_the_answer_says_so(
    archive: Archive, tmp_path: Path
) -> None:
    fill(
        archive, tmp_path, [said(1, "user", "one connection a tenant"), said(2, "assistant", "Café is open")]
    )
    answer = archive.search("conection tenant")
    assert answer.repaired == {"conection": "connection"}
    assert [hit.text for one in answer.sessions for hit in one.hits] == ["one connection a tenant"]
    assert [hit.spans for one in answer.sessions for hit in one.hits] == [((4, 14), (17, 23))]
    assert archive.search("Cafès").repaired == {"Cafès": "cafe"}


@pytest.mark.parametrize("query", ["tena", "tenor", "wolf", "tenant connection zebra", '"conection tenant"'])
def test_what_is_no_slip_is_not_repaired(archive: Archive, tmp_path: Path, query: str) -> None:
    fill(archive, tmp_path, [said(1, "user", "one connection a tenant")])
    assert archive.search(query).repaired == {}


@pytest.mark.parametrize("query", ["重命名", "命名", "重命", "שלום", "café", "CAFE"])
def test_words_of_any_script_are_found(archive: Archive, query: str) -> None:
    archive.sync([RECORDINGS / "unicode-rtl-windows-paths" / "sessions"])
    assert "fc66b978-5fe5-4b8f-9454-ea7e6abd843d#0" in found(archive, query)


def test_terminal_escapes_hide_no_word(archive: Archive, tmp_path: Path) -> None:
    fill(archive, tmp_path, command(1, "npm test", "\x1b[31mFAIL\x1b[0m limiter"))
    (one,) = archive.search("FAIL").sessions
    assert one.hits[0].text == "FAIL limiter"
    assert one.hits[0].spans == ((0, 4),)


def test_a_hit_says_where_it_is(archive: Archive, tmp_path: Path) -> None:
    output = "\n".join(f"line {number}" for number in range(1, 40)) + "\nconnect ECONNREFUSED here\nend\n"
    fill(
        archive,
        tmp_path,
        [said(0, "user", "<user_input>go</user_input>"), *command(1, "run", output, ok=False)],
    )
    (one,) = archive.search("econnrefused").sessions
    (hit,) = one.hits
    assert (hit.part, hit.line, hit.turn_index) == ("out", 40, 1)
    assert hit.text[slice(*hit.spans[0])] == "ECONNREFUSED"
    assert hit.fate is not None
    assert hit.fate.failing


def test_an_error_that_was_mended_names_what_mended_it(archive: Archive, tmp_path: Path) -> None:
    edit = {
        "type": "tool_use",
        "id": "e",
        "name": "editor",
        "input": {"path": "compose.yaml", "new_text": "a\nb\n"},
    }
    done = {
        "query": "edit:compose.yaml",
        "result": "File created successfully at: compose.yaml",
        "success": True,
    }
    result = {
        "type": "tool_result",
        "tool_use_id": "e",
        "name": "editor",
        "content": json.dumps(done),
    }
    messages = [
        *command(1, "npm run e2e", "ECONNREFUSED", ok=False),
        {"id": "a2", "role": "assistant", "ts": NOW + 2000, "content": [edit]},
        {"id": "r2", "role": "user", "ts": NOW + 2500, "content": [result]},
        *command(3, "npm run e2e", "passed"),
    ]
    fill(archive, tmp_path, messages)
    (one,) = archive.search("ECONNREFUSED").sessions
    fate = one.hits[0].fate
    assert fate is not None
    assert (fate.failing, fate.mended_by, fate.edits, fate.changed) == (
        False,
        "c3#0",
        1,
        (("compose.yaml", 2, 0),),
    )
    assert fate.after == 2000


def test_superseded_and_forgotten_steps_are_not_found(archive: Archive, tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    session.document([said(1, "user", "alpha"), said(2, "assistant", "omega")])
    archive.sync([tmp_path / "sessions"])
    session.document([said(1, "user", "alpha")])
    archive.sync([tmp_path / "sessions"])
    assert found(archive, "omega") == []
    assert found(archive, "alpha") == ["s1#0"]


def test_filters_and_limits(archive: Archive, tmp_path: Path) -> None:
    for number in range(4):
        messages = [said(index, "assistant", f"needle {index}") for index in range(5)]
        fill(archive, tmp_path, messages, f"17960269210{number}0_sess{number}")
    answer = archive.search("needle", limit=2, per_session=3)
    assert (answer.total, answer.session_count, answer.searched) == (20, 4, 4)
    assert [(len(one.hits), one.more) for one in answer.sessions] == [(3, 2), (3, 2)]
    assert archive.search("needle", project="other").total == 0
    assert archive.search("needle", since=NOW + 10**9).total == 0
    assert archive.search("needle", since=NOW).total == 20


def test_words_of_a_query() -> None:
    assert terms('limiter.consume "exact phrase" 重命名 x') == [
        "limiter consume",
        "exact phrase",
        "重命 命名",
        "x",
    ]


def test_an_error_that_was_mended_comes_before_better_matches(archive: Archive, tmp_path: Path) -> None:
    fill(
        archive,
        tmp_path,
        [
            *[said(n, "user", "ECONNREFUSED") for n in range(1, 6)],
            *command(6, "npm test", "a long output\nwith connect ECONNREFUSED in it\nand more", ok=False),
            *command(8, "npm test", "all pass"),
        ],
    )
    (one,) = archive.search("ECONNREFUSED", per_session=1).sessions
    assert one.hits[0].text == "with connect ECONNREFUSED in it"
    fate = one.hits[0].fate
    assert fate is not None
    assert fate.mended_by is not None
    assert one.more == 5
