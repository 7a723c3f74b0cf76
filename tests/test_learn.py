"""What is learned of a session and what is not: typed text and answers alone, of sessions whose manifest says where."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import recordings
from growth import GrowingSession, growing_states
from memories import learn_recording, learn_session, of_recording, of_sessions, outcomes, reasons, said
from sessions import ID, START, Session, archive, iso, item, text, tool_result, wrapped
from test_reader_runtime import RUNTIME

from backstory.errors import InputError
from backstory.schema.step import Message

# --- What a person typed -----------------------------------------------------------------------------------


def test_only_the_typed_text_and_the_text_of_answers_are_learned(tmp_path: Path) -> None:
    ((asked, answered),) = learn_recording(tmp_path, "basic-act")
    assert asked == "Rename the greeting in hello.py"
    assert answered.split("\n\n")[:3] == ["Let me look at the project.", "Running commands.", "Editing."]
    for tool in ("replaced", "does not exist", "print(", "No such file", "ENOENT"):
        assert tool not in answered


def test_thinking_and_redacted_thinking_are_left_out(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "anthropic-cost-cache-redacted-thinking") == [
        ("Anthropic usage", "anth\n\ndone")
    ]
    session = Session(tmp_path / "sessions")
    session.prompt("How?")
    session.reply(
        {"type": "thinking", "thinking": "secret plan", "signature": "s"},
        {"type": "redacted_thinking", "data": "abc"},
        "Like this.",
    )
    assert learn_session(session) == [("How?", "Like this.")]


def test_mode_notices_are_left_out(tmp_path: Path) -> None:
    found = learn_recording(tmp_path, "plan-switch-to-act-tool")
    assert [asked for asked, _ in found] == ["Plan the thing", "looks good, go ahead", "one more"]


def test_the_plan_to_act_continuation_asks_nothing_and_its_answer_stays_with_the_question(
    tmp_path: Path,
) -> None:
    found = dict(learn_recording(tmp_path, "plan-switch-to-act-tool"))
    assert found["looks good, go ahead"] == "switching\n\nNow executing DELTA4.\n\nAll executed EPS5."


def test_attachments_inside_the_wrapper_are_left_out(tmp_path: Path) -> None:
    found = learn_recording(tmp_path, "vscode-mentions-inside-wrapper")
    assert [asked for asked, _ in found][:2] == [
        "Explain 'hello.py' (see below for file content)",
        "plan the refactor",
    ]


def test_attachments_outside_the_wrapper_are_left_out(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "file-mention") == [
        ("Explain @hello.py and @src/widget.ts please", "Hello there.")
    ]


def test_flagged_hook_context_asks_nothing(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "hooks-context-injected") == [("Run with hooks", "h\n\nhook done")]


@pytest.mark.parametrize("name", RUNTIME)
def test_what_the_runtime_wrote_asks_nothing_and_the_answer_stays_with_the_question(
    tmp_path: Path, name: str
) -> None:
    raw, metadata, _ = RUNTIME[name]
    session = Session(tmp_path / "sessions")
    session.prompt("Begin")
    session.reply("First part.")
    session.user(raw, **({"metadata": metadata} if metadata is not None else {}))
    session.reply("Second part.")
    assert learn_session(session) == [("Begin", "First part.\n\nSecond part.")]


def test_a_wrapped_task_resumption_asks_nothing(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "task-resumption-prompt") == [
        ("Do something", "Hello there.\n\nHello there.")
    ]


def test_team_updates_ask_nothing(tmp_path: Path) -> None:
    ((asked, answered),) = learn_recording(tmp_path, "team")
    assert asked == "Use a team"
    assert answered.endswith("Team finished.\n\nTeam finished.")


def test_the_output_limit_notice_asks_nothing(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "max-tokens-recovery") == [
        ("Long answer", "partial answer\n\nshorter now")
    ]


@pytest.mark.parametrize("scenario", ["api-error-400-after-tool", "api-error-401-after-tool"])
def test_display_only_errors_are_left_out(tmp_path: Path, scenario: str) -> None:
    ((_, answered),) = learn_recording(tmp_path, scenario)
    assert answered == "first"


@pytest.mark.parametrize("role", ["system", "status", "error"])
def test_an_assistant_message_with_a_display_role_is_left_out(tmp_path: Path, role: str) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Begin")
    session.reply("Shown.")
    session.reply("Not an answer.", metadata={"displayRole": role, "displayOnly": True}, metrics=...)
    assert learn_session(session) == [("Begin", "Shown.")]


def test_a_steered_prompt_is_a_question_of_its_own(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Begin")
    session.ran("run_commands", {"commands": ["ls"]}, [item("ls", "a")])
    session.prompt("Only the tests, please", metadata={"userRunSpan": 0})
    session.reply("The tests, then.")
    assert learn_session(session) == [("Begin", ""), ("Only the tests, please", "The tests, then.")]


def test_unwrapped_text_is_what_was_typed(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.user("Written before there were wrappers")
    session.reply("Yes.")
    assert learn_session(session) == [("Written before there were wrappers", "Yes.")]


@pytest.mark.parametrize(
    ("raw", "asked"),
    [
        ('<user_command slash="release">now please</user_command>', "/release now please"),
        ('<user_command slash="greet"></user_command>', "/greet"),
        ('<user_command slash="greet">  </user_command>', "/greet"),
        (
            '<user_command slash="team">spawn a team of agents for the following task: write docs</user_command>',
            "/team write docs",
        ),
        (wrapped("/greet Alice"), "/greet Alice"),
    ],
)
def test_a_slash_command_is_learned_as_it_was_typed(tmp_path: Path, raw: str, asked: str) -> None:
    session = Session(tmp_path / "sessions")
    session.user(raw)
    session.reply("Done.")
    assert learn_session(session) == [(asked, "Done.")]


def test_a_slash_command_of_a_skill_is_learned_as_it_was_typed(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "skill-slash-command") == [("/greet Alice", "Hello there.")]


def test_tools_and_their_results_are_left_out(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Look")
    session.ran("run_commands", {"commands": ["cat token"]}, [item("cat token", "OUTPUT-OF-TOOL")])
    session.reply("Seen.")
    ((_, answered),) = learn_session(session)
    assert answered == "Seen."


def test_text_beside_a_tool_result_is_no_answer_of_the_assistant(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Look")
    call = session.call("ask_question", {"question": "Which?"})
    session.add("user", [tool_result(call, "the second"), text(wrapped("and be quick"))])
    session.reply("The second.")
    assert learn_session(session) == [("Look", ""), ("and be quick", "The second.")]


def test_an_aborted_turn_is_a_question_without_an_answer(tmp_path: Path) -> None:
    assert learn_recording(tmp_path, "killed-before-first-reply-then-reconciled") == [("Be killed", "")]


def test_a_prompt_of_attachments_alone_asks_nothing_and_its_answer_stays_with_the_question(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("What is in the picture?")
    session.reply("Which one?")
    picture = {"type": "image", "data": "aGk=", "mediaType": "image/png"}
    session.add("user", [text(""), picture])
    session.reply("A cat.")
    assert learn_session(session) == [("What is in the picture?", "Which one?\n\nA cat.")]


def test_a_prompt_that_says_nothing_is_empty(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("  ")
    with of_sessions(tmp_path / "home", session) as opened:
        assert reasons(opened.memory.learn()) == {ID: "empty"}


def test_children_are_skipped(tmp_path: Path) -> None:
    for scenario in ("subagent-one", "subagent-two", "subagent-failing", "team"):
        asked = [asked for asked, _ in learn_recording(tmp_path / scenario, scenario)]
        assert len(asked) == 1, scenario
        assert asked[0] in (
            "Spawn one subagent",
            "Spawn two subagents",
            "Spawn failing subagent",
            "Use a team",
        )


def test_a_position_is_the_number_of_the_prompt_as_show_takes_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    session.add("user", [text(""), {"type": "image", "data": "aGk=", "mediaType": "image/png"}])
    session.reply("2")
    session.prompt("three")
    session.reply("3")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        found = opened.memory.recall("three").results[0]
        record = opened.record(ID)
    assert found.position == 3
    assert record.turns[found.position - 1].id == found.message_id
    assert found.step_id in {step.id for step in record.steps}


# --- Evidence ----------------------------------------------------------------------------------------------


def test_a_session_without_a_manifest_has_no_evidence(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.manifest = None
    session.prompt("Begin")
    with of_sessions(tmp_path / "home", session) as opened:
        report = opened.memory.learn()
        assert said(opened) == []
    assert reasons(report) == {ID: "no_evidence"}


@pytest.mark.parametrize("broken", ['{"version": 1, "cwd": "/home', "[]", "", "null"])
def test_a_manifest_that_cannot_be_read_is_no_evidence(tmp_path: Path, broken: str) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Begin")
    session.write()
    session.manifest_file.write_text(broken, "utf-8")
    with archive(tmp_path / "home") as opened:
        opened.sync([session.root])
        assert reasons(opened.memory.learn()) == {ID: "no_evidence"}


@pytest.mark.parametrize("value", [..., "", "  ", None, 7])
def test_a_manifest_that_names_no_folder_is_no_evidence(tmp_path: Path, value: object) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    for name in ("cwd", "workspace_root"):
        if value is ...:
            del session.manifest[name]
        else:
            session.manifest[name] = value
    session.prompt("Begin")
    with of_sessions(tmp_path / "home", session) as opened:
        assert reasons(opened.memory.learn()) == {ID: "no_evidence"}


def test_messages_reached_through_messages_path_are_no_evidence(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Begin")
    session.reply("Yes.")
    elsewhere = tmp_path / "elsewhere" / session.file.name
    assert session.manifest is not None
    session.manifest["messages_path"] = str(elsewhere)
    session.write()
    elsewhere.parent.mkdir()
    session.file.rename(elsewhere)
    with archive(tmp_path / "home") as opened:
        opened.sync([session.root])
        assert opened.record(ID).steps
        assert reasons(opened.memory.learn()) == {ID: "no_evidence"}


def test_folders_in_the_text_of_messages_are_no_evidence(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.manifest = None
    session.prompt(
        "<environment_details>\n# Current Workspace Directory (/home/dev/work/demo)\n</environment_details>"
    )
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.claim("/home/dev/work/demo")
        assert reasons(opened.memory.learn()) == {ID: "no_evidence"}


# --- Projects ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "project"),
    [
        ("/home/dev/work/demo", "demo"),
        ("C:\\Users\\dev\\work\\Shop Front", "Shop Front"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\dev\\api", "api"),
        ("/home/dev/.cline/data/workspaces/chat", None),
        ("C:\\Users\\dev\\.cline\\data\\workspaces\\chat", None),
    ],
)
def test_the_recorded_folder_names_the_project(tmp_path: Path, cwd: str, project: str | None) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["cwd"] = session.manifest["workspace_root"] = cwd
    session.prompt("Begin")
    session.reply("Yes.")
    with of_sessions(tmp_path / "home", session) as opened:
        (one,) = opened.memory.learn().learned
        assert one.project == project
        assert opened.memory.items()[0].project == project


def test_the_chat_workspace_is_learned_without_a_project(tmp_path: Path) -> None:
    with of_recording(tmp_path, "chat-workspace") as opened:
        (one,) = opened.memory.learn().learned
        assert (one.project, one.exchanges) == (None, 1)


def test_a_multi_root_workspace_is_its_first_folder(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["cwd"] = session.manifest["workspace_root"] = "/home/dev/work/first"
    session.manifest["metadata"]["workspace"] = {"roots": ["/home/dev/work/first", "/home/dev/work/second"]}
    session.prompt("Begin")
    session.reply("Yes.")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.create_workspace("other")
        opened.memory.claim("/home/dev/work/second", "other")
        (one,) = opened.memory.learn().learned
        assert one.project == "first"


# --- Imports, forks, copies --------------------------------------------------------------------------------


def test_finished_imports_are_left_to_their_owner(tmp_path: Path) -> None:
    with of_recording(tmp_path, "imported-claude-codex-opencode") as opened:
        report = opened.memory.learn()
        assert set(reasons(report).values()) == {"imported"}
        assert len(report.refused) == 3
        assert said(opened) == []


def imported(root: Path, meta: object) -> Session:
    session = Session(root)
    assert session.manifest is not None
    session.manifest["metadata"] = meta
    session.add("user", [text("Asked elsewhere")], id="import_1")
    session.reply("Answered elsewhere.", id="import_2", metrics=...)
    return session


PROGRESS = {"sessionHistoryOrigin": {"mode": "import", "trigger": "claude-code"}}
FINISHED = {
    **PROGRESS,
    "importedFrom": {"tool": "claude-code", "sourceSessionId": "x", "importedAt": iso(START + 5000)},
}


@pytest.mark.parametrize("meta", [PROGRESS, FINISHED], ids=["in progress", "finished"])
def test_what_was_imported_is_not_learned(tmp_path: Path, meta: object) -> None:
    session = imported(tmp_path / "sessions", meta)
    with of_sessions(tmp_path / "home", session) as opened:
        assert reasons(opened.memory.learn()) == {ID: "imported"}


def test_what_was_typed_in_cline_after_an_import_is_learned(tmp_path: Path) -> None:
    found = recordings.session_path("imported-claude-codex-opencode", "1782900000000_0dXOZ")
    folder = tmp_path / "sessions" / found.name
    shutil.copytree(found, folder)
    path = folder / f"{found.name}.messages.json"
    document = json.loads(path.read_text("utf-8"))
    at = document["messages"][-1]["ts"] + 400 * 24 * 3600 * 1000
    document["messages"] += [
        {"id": "msg_a", "role": "user", "content": [text(wrapped("Go on here"))], "ts": at},
        {
            "id": "msg_b",
            "role": "assistant",
            "content": [text("Gone on.")],
            "ts": at + 1000,
            "metrics": {"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0},
        },
    ]
    path.write_text(json.dumps(document, indent=2), "utf-8")
    with archive(tmp_path / "home") as opened:
        opened.sync([tmp_path / "sessions"])
        opened.memory.learn()
        assert said(opened) == [("Go on here", "Gone on.")]


def test_forks_are_learned_each_under_its_own_id(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        report = opened.memory.learn()
        assert [(one.source, one.exchanges) for one in report.learned] == [
            ("conversation/1796027232863_170vw", 3),
            ("conversation/1796027252097_m9lz0", 4),
        ]
        assert said(opened, "1796027252097_m9lz0")[:3] == said(opened, "1796027232863_170vw")


def test_sessions_of_the_same_millisecond_keep_keys_of_their_own(tmp_path: Path) -> None:
    with of_recording(tmp_path, "same-millisecond") as opened:
        report = opened.memory.learn()
        sources = {one.source for one in report.learned}
        assert len(sources) == 3
        assert len({source.rpartition("_")[0] for source in sources}) == 1
        assert {asked for asked, _ in said(opened)} == {"Same ms 1", "Same ms 2", "Same ms 3"}


# --- Learning again ----------------------------------------------------------------------------------------


def test_a_second_run_knows_everything(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        first = opened.memory.learn()
        before = opened.memory.items()
        second = opened.memory.learn()
        assert (len(second.learned), len(second.known)) == (0, len(first.learned))
        assert opened.memory.items() == before


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        dry = opened.memory.learn(write=False)
        assert opened.memory.items() == []
        wet = opened.memory.learn()
        assert (dry.learned, dry.known, dry.refused) == (wet.learned, wet.known, wet.refused)
        assert (dry.written, wet.written) == (False, True)
        assert opened.memory.learn(write=False).learned == []


def test_a_growing_session_is_brought_up_to_date_in_place(tmp_path: Path) -> None:
    manifest = {"cwd": "/home/dev/work/grow", "workspace_root": "/home/dev/work/grow"}
    growing = GrowingSession(tmp_path / "sessions", manifest=manifest)
    numbers = set()
    with archive(tmp_path / "home") as opened:
        for state in growing_states()[::8]:
            growing.put(state)
            opened.sync([tmp_path / "sessions"])
            opened.memory.learn()
            items = opened.memory.items()
            numbers |= {one.id for one in items}
            record = opened.record(growing.id)
            answers = [
                step.payload.text.strip()
                for step in record.steps
                if isinstance(step.payload, Message) and step.payload.role == "assistant"
            ]
            whole = "\n\n".join(filter(None, answers))
            assert [one.answered for one in items] == ([whole] if record.turns else [])
    assert len(numbers) == 1
    assert whole


def test_a_resumed_session_gets_its_new_exchanges_and_keeps_the_old_ones(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        (before,) = opened.memory.items()
        session.user(wrapped("[TASK RESUMPTION] This task was interrupted."))
        session.reply("and on")
        session.prompt("two")
        session.reply("2")
        session.write()
        opened.sync([session.root])
        (one,) = opened.memory.learn().learned
        assert one.exchanges == 2
        assert said(opened) == [("one", "1\n\nand on"), ("two", "2")]
        assert before.id in {item.id for item in opened.memory.items()}


def test_what_was_recalled_by_a_word_is_gone_when_the_word_is(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("aardvark")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        assert opened.memory.recall("aardvark").results
        session.messages[-1]["content"] = [text("zebra")]
        session.write()
        opened.sync([session.root])
        opened.memory.learn()
        assert not opened.memory.recall("aardvark").results
        assert opened.memory.recall("zebra").results


def test_a_session_that_is_gone_from_disk_can_still_be_learned(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        shutil.rmtree(session.folder)
        assert opened.sync([session.root]).gone == 1
        assert len(opened.memory.learn().learned) == 1
        assert opened.memory.recall("one").results[0].gone


def test_a_manifest_that_is_torn_later_takes_no_evidence_away(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        session.manifest_file.write_text("{", "utf-8")
        opened.sync([session.root])
        assert len(opened.memory.learn().learned) == 1


def test_what_another_process_learned_of_a_newer_state_stays(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        opened.memory.learn()
        # As if the other had been faster with what came after our reading.
        opened.connection.execute("UPDATE conversation SET generation = generation + 1")
        opened.connection.execute("UPDATE exchange SET answered = '1 and more'")
        assert len(opened.memory.learn().known) == 1
        assert said(opened) == [("one", "1 and more")]


def test_only_the_sessions_that_are_named_are_learned(tmp_path: Path) -> None:
    with of_recording(tmp_path, "same-millisecond") as opened:
        wanted = opened.sessions()[0].session.id
        report = opened.memory.learn(only=[wanted])
        assert [one.session_id for one in outcomes(report)] == [wanted]


def test_what_is_behind_is_learned_by_the_workspace_that_owns_it(tmp_path: Path) -> None:
    sessions = [Session(tmp_path / "sessions", f"{START + n}_abcd{n}", START + n) for n in range(2)]
    for n, session in enumerate(sessions):
        assert session.manifest is not None
        session.manifest["cwd"] = session.manifest["workspace_root"] = f"/home/dev/{n}"
        session.prompt(f"prompt {n}")
    with of_sessions(tmp_path / "home", *sessions) as opened:
        memory = opened.memory
        memory.create_workspace("work")
        memory.claim("/home/dev/1", "work")
        assert {report.workspace: len(report.learned) for report in memory.keep_current()} == {
            "default": 1,
            "work": 1,
        }
        assert said(opened, workspace="work") == [("prompt 1", "")]
        assert memory.keep_current() == []


def test_an_unknown_workspace_is_named_with_those_that_exist(tmp_path: Path) -> None:
    with (
        archive(tmp_path) as opened,
        pytest.raises(InputError, match=r'no workspace "work"; there is default'),
    ):
        opened.memory.learn("work")


# --- Forgetting and editing --------------------------------------------------------------------------------


def test_a_session_that_was_forgotten_with_its_record_is_refused(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        opened.memory.learn()
        opened.forget("1796027232863_170vw")
        report = opened.memory.learn()
        assert reasons(report) == {"1796027252097_m9lz0": None, "1796027232863_170vw": "forgotten"}
        assert said(opened, "1796027232863_170vw") == []


def test_an_exchange_that_was_forgotten_does_not_come_back_in_any_copy(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        memory = opened.memory
        memory.learn()
        found = next(one for one in memory.items() if one.asked == "one more")
        what = memory.forgettable(item_ids=[found.id])
        assert what.copies == 1
        memory.forget(what)
        opened.connection.execute("UPDATE conversation SET generation = -1")
        memory.learn()
        assert "one more" not in [asked for asked, _ in said(opened)]
        assert len(said(opened)) == 5


def test_a_conversation_of_which_everything_was_forgotten_is_refused(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.forget(memory.forgettable(item_ids=[memory.items()[0].id]))
        assert reasons(memory.learn()) == {ID: "forgotten"}
        assert memory.counts() == (0, 0)


def test_a_session_forgotten_in_the_memory_is_not_learned_when_it_grows(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.forget(memory.forgettable(session_id=ID))
        session.prompt("two")
        session.write()
        opened.sync([session.root])
        assert reasons(memory.learn()) == {ID: "forgotten"}
        assert opened.record(ID).steps


def test_a_growing_answer_of_a_forgotten_question_does_not_come_back(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("one")
    session.reply("1")
    with of_sessions(tmp_path / "home", session) as opened:
        memory = opened.memory
        memory.learn()
        memory.forget(memory.forgettable(item_ids=[memory.items()[0].id]))
        session.reply("more of it")
        session.write()
        opened.sync([session.root])
        memory.learn()
        assert said(opened) == []


def test_an_edited_exchange_keeps_its_text_when_it_is_learned_again(tmp_path: Path) -> None:
    with of_recording(tmp_path, "fork") as opened:
        memory = opened.memory
        memory.learn()
        found = next(one for one in memory.items() if one.asked == "one more")
        memory.edit(found.id, answered="Nothing of note.")
        opened.connection.execute("UPDATE conversation SET generation = -1")
        memory.learn()
        assert [answered for asked, answered in said(opened) if asked == "one more"] == [
            "Nothing of note."
        ] * 2
        assert memory.recall("note").results[0].answered == "Nothing of note."
