"""A step in a line: the words for every way in which it can end, and what stands below it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from test_terminal_story import NOW, ROOT, VIEW, Story, at, lines, listed, session

from backstory.cli.head import banners
from backstory.cli.line import View, plain
from backstory.cli.listing import brief_line, error_words, mark
from backstory.cli.show import draw_session, hint
from backstory.cli.timeline import Choice
from backstory.schema.session import Actor, Compaction, CopiedFrom, Fidelity, Imported, Salvage, Segment
from backstory.schema.step import Attachment, Command, Edit, Message, Other, Payload, Range, Read
from backstory.store.results import Brief, Fate, Listed

EXIT_1 = ("exit_code", "Command exited with code 1")
NOBODY = 'Tool "editor" requires approval in a TTY session -- NOT a tool or system failure.'
POLICY = 'Tool "editor" is disabled by policy'
IMAGE = "Successfully read image"


def draw(told: Story, choice: Choice | None = None, view: View = VIEW, **more: Any) -> list[str]:
    own = session("x", "x", "x", workspace_root=ROOT, **more)
    record = told.record(own)
    drawn = lines(
        draw_session(view, record, Listed(own, "x", "ended", NOW, None, 0, None), told.fates, choice)
    )
    return drawn[drawn.index("") + 1 :]


def body(payload: Payload, choice: Choice | None = None, view: View = VIEW, **more: Any) -> list[str]:
    """The lines of one step, without the margin."""
    told = Story()
    told.turn("12:04", "act", "x")
    told.add(payload, **more)
    return [line[3:] for line in draw(told, choice, view)[3:]]


def words(payload: Payload, **more: Any) -> tuple[str, str]:
    """The kind word and what the right edge says."""
    row = body(payload, **more)[0]
    return row[:7].strip(), row[7:].strip().rpartition("  ")[2].strip()


def tool(name: str, given: Any = None, result: Any = None, **more: Any) -> Other:
    return Other(name, {"input": given, "result": result, **more})


REJECTED = {"decision": "rejected", "decision_source": "denial"}
MENDED = Fate(False, "y#0", 41_000, 1)


@pytest.mark.parametrize(
    ("payload", "more", "kind", "state"),
    [
        (Command("ls", exit_code=0), {}, "run", "exit 0"),
        (Command("ls"), {}, "run", "done"),
        (Command("ls", exit_code=1), {"error": EXIT_1, "fate": MENDED}, "run", "exit 1"),
        (Command("ls", exit_code=1), {"error": EXIT_1, "fate": Fate(True)}, "run", "exit 1"),
        (Command("ls"), {"error": ("timeout", "Command timed out after 30000ms")}, "run", "timed out"),
        (Command("ls"), {"error": ("aborted", "Command was aborted")}, "run", "aborted"),
        (
            Command("ls"),
            {"error": ("not_found", "Executable not found in $PATH")},
            "run",
            "not run: not found",
        ),
        (Command("ls"), {"error": ("tool", "Command failed: x")}, "run", "not run"),
        (Command("ls"), {"content_status": "reference_only"}, "run", "went on in background"),
        (Command("ls"), {"outcome": "unknown"}, "run", "no result recorded"),
        (Command("ls"), {"error": ("denied", "rejected by the user"), **REJECTED}, "run", "you rejected it"),
        (Edit("a", "replace"), {"error": ("blocked", POLICY), **REJECTED}, "edit", "blocked by policy"),
        (Edit("a", "replace"), {"error": ("blocked", NOBODY), **REJECTED}, "edit", "nobody could approve it"),
        (Edit("a", "replace", added=1), {"decision": "accepted"}, "edit", "you approved"),
        (Edit("a", "create", added=1), {}, "edit", "new file"),
        (Edit("a", "delete"), {}, "edit", "deleted"),
        (Edit("a", "move", move_to="b"), {}, "edit", "moved"),
        (Edit("a", "insert", insert_line=1204), {}, "edit", "inserted at line 1,204"),
        (
            Edit("a", "replace"),
            {"error": ("tool", "text not found in a.")},
            "edit",
            "not applied: text not found",
        ),
        (Edit("a", "replace"), {"error": ("tool", "who knows")}, "edit", "not applied"),
        (Edit("a", "replace"), {"outcome": "unknown"}, "edit", "no result recorded"),
        (Read("a", content="1 | x\n2 | y"), {}, "read", "2 lines"),
        (Read("a", content="1 | x"), {}, "read", "1 line"),
        (Read("a", content=""), {}, "read", "empty"),
        (Read("a", content=IMAGE), {}, "read", "image"),
        (Read("a"), {"error": ("not_found", "ENOENT")}, "read", "not found"),
        (Read("a"), {"error": ("denied", "rejected by the user"), **REJECTED}, "read", "you rejected it"),
        (tool("search_codebase", "x", "No results found for pattern: x"), {}, "find", "no results"),
        (
            tool("search_codebase", "x", "Found 1 result for pattern: x\n\na:1:1\n> 1: x"),
            {},
            "find",
            "1 result in 1 file",
        ),
        (
            tool("fetch_web_content", {"url": "http://x"}, "URL: x\nSize: 113 bytes\n"),
            {},
            "fetch",
            "113 bytes",
        ),
        (
            tool(
                "fetch_web_content",
                {"url": "http://x"},
                "",
                error="Error fetching web content: HTTP 404: Not Found",
            ),
            {"error": ("tool", "HTTP 404: Not Found")},
            "fetch",
            "404",
        ),
        (tool("github__get", {"n": 1}, "x"), {"error": ("mcp", "Not Found")}, "tool", "tool error"),
        (
            tool("read_files", {}),
            {"error": ("invalid_input", "✖ Invalid input")},
            "tool",
            "not run: invalid input",
        ),
        (tool("block:media", {"media": {}}), {}, "tool", "kept as it is"),
        (tool("web_search", {"q": "x"}, "y"), {"flags": ("provider_run",)}, "tool", "run by the provider"),
        (
            Message("system", "503 from the provider"),
            {"flags": ("error",), "error": ("tool", "x")},
            "note",
            "provider error",
        ),
        (
            Message("system", '<hook_context source="PreToolUse">\nx\n'),
            {"flags": ("hook_context",)},
            "note",
            "hook context (PreToolUse), 3 lines",
        ),
        (
            Message("system", "[TASK RESUMPTION] x"),
            {"flags": ("resumption",)},
            "note",
            "asked to go on where it left off",
        ),
        (Message("system", "something\nelse"), {"flags": ("runtime",)}, "note", "something"),
    ],
)
def test_how_a_step_ended(payload: Payload, more: dict[str, Any], kind: str, state: str) -> None:
    assert words(payload, **more) == (kind, state)


def styles(payload: Payload, **more: Any) -> dict[str, str]:
    """The role of each span of a session with this one step, by its text."""
    told = Story()
    told.turn("12:04", "act", "x")
    told.add(payload, **more)
    own = session("x", "x", "x")
    drawn = draw_session(VIEW, told.record(own), Listed(own, "x", "ended", NOW, None, 0, None), told.fates)
    return {text.strip(): role for line in drawn for text, role in line}


def test_only_what_nothing_mended_is_filled() -> None:
    failed = Command("ls", exit_code=1, stdout="x")
    assert styles(failed, error=EXIT_1, fate=Fate(True))["exit 1"] == "failing"
    assert styles(failed, error=EXIT_1, fate=MENDED)["exit 1"] == "failed"
    assert styles(failed, error=EXIT_1)["exit 1"] == "failed"
    assert styles(Command("ls", exit_code=0))["exit 0"] == "label"
    assert styles(Command("ls"), error=("denied", "x"), **REJECTED)["you rejected it"] == "rejected"
    assert styles(Read("a/b.ts", content="1 | x"))["a/"] == "label"


def test_what_became_of_a_failure_stands_below_it() -> None:
    failed = Command("npm test", exit_code=1, stdout="one\ntwo")
    assert body(failed, error=EXIT_1, fate=MENDED)[1:] == [
        "       one",
        "       two",
        "       succeeded 41 s later, after 1 edit",
    ]
    assert body(failed, error=EXIT_1, fate=Fate(True))[-1] == "       has not succeeded since"
    assert body(failed, error=EXIT_1, fate=Fate(False))[1:] == ["       one", "       two"]
    assert (
        body(failed, error=EXIT_1, fate=Fate(False, "y", None, 2))[-1]
        == "       succeeded later, after 2 edits"
    )


def test_a_long_failure_shows_its_end() -> None:
    output = "\n".join(f"line {n}" for n in range(1, 41))
    drawn = body(Command("x", stdout=output, exit_code=1), error=EXIT_1)[1:]
    assert drawn == ["       …  28 lines above", *(f"       line {n}" for n in range(29, 41))]


def test_a_long_failure_shows_the_place_that_names_the_error() -> None:
    many = [f"line {n}" for n in range(1, 41)]
    many[9] = "AssertionError: no"
    drawn = body(Command("x", stdout="\n".join(many), exit_code=1), error=EXIT_1)[1:]
    assert drawn == [
        "       …  9 lines above",
        "       AssertionError: no",
        *(f"       line {n}" for n in range(11, 15)),
        "       …  19 more lines",
        *(f"       line {n}" for n in range(34, 41)),
    ]
    many[9], many[0] = "line 10", "the build failed"
    drawn = body(Command("x", stdout="\n".join(many), exit_code=1), error=EXIT_1)[1:]
    assert drawn[:2] == ["       the build failed", "       line 2"]
    assert drawn[5] == "       …  28 more lines"


def test_the_end_of_an_output_stands_beside_its_command() -> None:
    row = body(Command("npm run lint", stdout="a\n\x1b[32m0 problems\x1b[0m\n\n", exit_code=0), took=6.2)[0]
    assert row == "run    npm run lint        0 problems" + " " * 46 + "exit 0   6.2 s"
    left = "[Command completed with background processes still running; their output is no longer captured]"
    assert "captured" not in body(Command("x &", stdout=f"started\n{left}", exit_code=0))[0]


def test_a_command_of_several_lines_is_one_line() -> None:
    row = body(Command("cat <<EOF\n  one\tx\n\nEOF\n", exit_code=0))[0]
    assert row.startswith("run    cat <<EOF ⏎ one x ⏎ EOF  ")


def test_items_of_one_call_have_no_time_of_their_own() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    first = told.add(Command("a", exit_code=0), took=3)
    second = told.add(Command("b", exit_code=0), took=3)
    assert sum("3.0 s" in line for line in draw(told)[3:]) == 2
    told.steps[-2:] = [replace(first, id="call#0"), replace(second, id="call#1")]
    drawn = draw(told)[3:]
    assert not any("3.0 s" in line for line in drawn)
    assert len({line.index("exit 0") for line in drawn}) == 1


def test_what_the_user_wrote_with_a_denial() -> None:
    message = "The user denied this. Feedback:\n<feedback>\nNot yet,\nplease.\n</feedback>"
    assert (
        body(Command("x"), error=("denied", message), **REJECTED)[1] == '       you wrote: "Not yet, please."'
    )


def test_a_tool_says_what_it_answered() -> None:
    result = {"content": [{"type": "text", "text": "echo: hello"}, {"type": "image", "data": 3}]}
    assert (
        body(tool("lab__echo", {"message": "hello", "n": 2}, result))[0]
        == "tool   lab echo message=hello        echo: hello"
    )
    assert body(tool("team_status", {}, {"members": [1]}))[0] == "tool   team_status"
    assert (
        body(tool("skills", {"skill": "greet", "args": "Bob"}, "<command-name>greet"))[0]
        == "tool   skill greet Bob"
    )
    assert body(tool("odd", "just text", None))[0] == "tool   odd just text"


def test_a_question_and_who_answered_it() -> None:
    asked = tool("ask_question", {"question": "Which style?", "options": ["formal", "casual"]}, "formal")
    assert body(asked)[0] == "ask    Which style? (formal, casual)        formal"
    told = Story()
    told.turn("12:04", "act", "x")
    told.add(asked)
    assert draw(told, interactive=False)[3].endswith("answered by default")


def test_an_answer_is_seen_beside_the_longest_question() -> None:
    asked = tool("ask_question", {"question": "Should it? " * 20}, "Yes, please")
    drawn = body(asked)
    assert drawn[0].endswith("…")
    assert drawn[1] == "       Yes, please"


def test_a_long_answer_begins_and_says_how_much_is_left() -> None:
    sentence = "The quick brown fox jumps over the lazy dog and goes home. "
    drawn = body(Message("assistant", sentence * 5))
    assert " ".join(line[7:] for line in drawn) == (sentence * 5).strip()
    assert len(drawn) == 4
    drawn = body(Message("assistant", sentence * 9 + "\n\nMore.\nAnd more."))
    assert len(drawn) == 3
    assert drawn[-1].endswith("+6 lines")
    assert "…  " in drawn[-1]


def test_a_failing_subagent_and_one_whose_call_is_not_known() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    spawn = told.add(tool("spawn_agent", {"task": "Fail please"}), error=("tool", "sub boom"), took=0.2)
    told.actors.append(Actor("a", "subagent", "subagent", "a.messages.json", "Fail please", None, spawn.id))
    told.actors.append(Actor("b", "teammate", "writer", "b.messages.json", "Write docs", None, None))
    told.actor = "a"
    told.add(Message("user", "Fail please"))
    deeper = told.add(tool("spawn_agent", {"task": "deeper"}))
    told.actors.append(Actor("c", "subagent", "subagent", "c.messages.json", "deeper", None, deeper.id))
    told.actor = "c"
    told.add(Message("assistant", "at the bottom"))
    told.actor = "b"
    told.add(Message("assistant", "Docs written."))
    drawn = draw(told)[3:]
    assert drawn[0].startswith("   agent  Fail please  ")
    assert drawn[0].endswith("2 steps   failed   0.2 s")
    assert drawn[1].startswith("   │ agent  deeper ")
    assert drawn[2] == "   │ │ say    at the bottom"
    assert drawn[3].startswith("   agent  writer: Write docs ")
    assert drawn[3].endswith("its call is not known")
    assert drawn[4] == "   │ say    Docs written."


def test_many_reads_in_a_row_are_one_line_but_with_full() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    for name in "abcde":
        told.add(Read(f"{ROOT}/src/{name}.ts", content="1 | x"))
    assert draw(told)[3:] == ["   read   src/a.ts, src/b.ts, +3 more"]
    assert sum("read" in line for line in draw(told, Choice(full=True))) == 5


def test_a_path_that_is_too_long_loses_folders_first() -> None:
    narrow = VIEW._replace(width=60)
    path = "a/very/long/way/down/to/where/the/file/really/stands.ts"
    row = body(Read(path, Range(1, 9), "1 | x"), view=narrow)[0]
    assert row.startswith("read   …")
    assert "really/stands.ts:1-9" in row


def test_an_edit_that_was_not_applied_is_never_shown_as_one() -> None:
    edit = Edit("a", "replace", "x", "y")
    assert body(edit, error=("tool", "text not found")) == [
        "edit   a" + " " * 62 + "not applied: text not found"
    ]
    full = body(edit, Choice(full=True), error=("tool", "text not found"))
    assert full[1:4] == ["       the change it wanted:", "       − x", "       + y"]


def test_a_prompt_of_attachments_alone_and_one_that_is_long() -> None:
    told = Story()
    told.turn("12:04", "act", "", attachments=(Attachment("image", None, 42_000),))
    assert draw(told)[:2] == ["1  (attachments alone)", "   act    12:04   image, 42 KB"]
    told = Story()
    told.turn("12:04", "act", "one\n\n  two\n" + "word " * 40)
    assert draw(told)[:3] == ["1  one", "", "     two"]


def test_a_sitting_that_begins_again_says_so() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    told.turn("13:16", "act", "y")
    told.turns[1] = replace(told.turns[1], segment_index=2)
    record = told.record(session("x", "x", "x"))
    segments = (
        Segment(1, "start", None, at("12:04"), at("12:04")),
        Segment(2, "resume", "idle_gap", at("13:16")),
    )
    own = listed("x", "13:16", "x", "x")
    drawn = lines(draw_session(VIEW, replace(record, segments=segments), own, {}))
    assert drawn[drawn.index("   Resumed after 1 h 12") + 2].startswith("2  y")


def test_steps_that_left_the_file_say_so() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    told.steps.append(replace(told.add(Command("ls", exit_code=0)), id="old#0", superseded=True))
    assert draw(told)[-1].endswith("superseded")


def test_what_limits_the_record_is_said_first() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    own = session(
        "x",
        "x",
        "x",
        gone=True,
        updated_at=at("12:36"),
        copied_from=CopiedFrom("1_170vw", "fork", 4),
        imported=Imported("codex"),
        compaction=Compaction(10, 7, None),
        fidelity=Fidelity(False, {"block:media": 3}, (), (Salvage("1796040242318_x.messages.json", 212, 9),)),
    )
    stopped = Listed(own, "x", "error", NOW, None, 0, None, "401 no key")
    origin = listed("170vw", "11:00", "x", "Plan the thing")
    assert list(banners(VIEW, told.record(own), stopped, origin)) == [
        "Stopped by an error of the provider: 401 no key.",
        "Cline had received no answer when this session ended. The prompt is all there is.",
        "Cline no longer has this session. This copy was complete on 30 November, 12:36.",
        "Cline's file ends in the middle. Everything up to message 212 is here.",
        'This session begins as a copy of "Plan the thing" (170vw).',
        "It was imported from codex, which keeps it.",
        "Compacted: the model sees a summary and 7 messages of what stands here.",
        "Kept as it was written, because it is not known: block:media (3).",
    ]


def test_a_session_that_ended_well_has_no_banner() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    told.add(Message("assistant", "y"))
    own = listed("x", "12:05", "x", "x")
    assert list(banners(VIEW, told.record(own.session), own)) == []


@pytest.mark.parametrize(
    ("state", "more", "sign"),
    [
        ("running", {"failing": 1}, "●"),
        ("error", {"failing": 1}, "✕"),
        ("ended", {"failing": 1}, "▲"),
        ("interrupted", {"failing": 1}, "▲"),
        ("interrupted", {}, "◌"),
        ("ended", {"failed": 3}, ""),
        ("idle", {}, ""),
        ("no_end", {}, ""),
    ],
)
def test_marks(state: str, more: dict[str, int], sign: str) -> None:
    assert plain(mark(VIEW, listed("x", "12:00", "x", "x", state=state, **more))) == sign


@pytest.mark.parametrize(
    ("brief", "line"),
    [
        (Brief("a", "command", None, "npm test", "unknown", NOW - 14_000), "run  npm test, for 14 s"),
        (Brief("a", "command", None, "npm test", "ok", NOW), "run  npm test"),
        (Brief("a", "other", "github__get_issue", "482", "ok", NOW), "tool github get_issue 482"),
        (Brief("a", "other", "search_codebase", "x", "ok", NOW), "find x"),
        (Brief("a", "message", "thinking", "so\nthen", "ok", NOW), "think so then"),
        (Brief("a", "message", "user", "go", "ok", NOW), "you  go"),
    ],
)
def test_the_step_at_work(brief: Brief, line: str) -> None:
    assert plain(brief_line(VIEW, brief, session("x", "x", "x"))) == line


def test_an_error_in_a_few_words() -> None:
    def own(error: str | None, provider: str | None = "anthropic") -> str:
        return error_words(
            VIEW, listed("x", "12:00", "x", "x", error=error, provider=provider, state="error")
        )

    assert own("401 Unauthorized: no key\nmore") == "401 from anthropic"
    assert own("Unauthorized\nmore") == "Unauthorized"
    assert own("503 away", None) == "503 away"
    assert own(None) == "stopped by an error"


def test_hints_name_what_was_not_asked_for_yet() -> None:
    told = Story()
    told.turn("12:04", "act", "x")
    one = told.record(session("x", "x", "x"))
    assert hint(one, Choice()) == "--full shows every output, --problems only what went wrong."
    assert hint(one, Choice(full=True, problems=True)) == ""
    told.turn("12:05", "act", "y")
    two = told.record(session("x", "x", "x"))
    assert hint(two, Choice(full=True)) == "--turn 2 shows one prompt, --problems only what went wrong."
