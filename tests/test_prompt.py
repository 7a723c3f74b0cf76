"""User-role messages: what a person typed, and what came along with it (FORMAT.md section 6)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompts import DISPLAYED, PIECES
from sessions import Session, first, messages, read_prompt, text, wrapped

from backstory.schema.step import Attachment
from backstory.sources.cline import prompt

# --- Cline's display algorithm -----------------------------------------------------------------------------


@pytest.mark.parametrize(("raw", "shown"), DISPLAYED.values(), ids=DISPLAYED)
def test_shows_what_clines_formatter_shows(raw: str, shown: str) -> None:
    assert prompt.display(raw) == shown


def reference(raw: str) -> str:
    """Cline's algorithm with the regular expressions that only short texts can afford."""
    shown = trimmed(raw)
    command = re.fullmatch(r"<user_command\b([^>]*)>.*</user_command>", shown, re.S | re.I | re.A)
    slash = re.search(r'slash="([^"]+)"', command[1], re.I | re.A) if command else None
    for tag in ("user_input", "user_command"):
        shown, found = re.subn(rf"<{tag}\b[^>]*>(.*?)</{tag}>", r"\1", shown, flags=re.S | re.A)
        shown = trimmed(shown if found else re.sub(rf"<{tag}[^>]*>", "", shown))
    shown = trimmed(re.sub(r"<mode_notice>.*?</mode_notice>", "", shown, flags=re.S))
    name = trimmed(slash[1]) if slash else ""
    if not name:
        return shown
    if name.lower() == "team":
        name = "team"
        shown = trimmed(re.sub(rf"\A{prompt.TEAM_PREFIX}", "", shown, flags=re.I))
    return f"/{name} {shown}" if shown else f"/{name}"


def trimmed(text: str) -> str:
    """The text as JavaScript's `trim` gives it: the blanks of Unicode and the byte order mark, of the controls five."""
    blank = r"[\t-\r\ufeff]|(?![\x00-\x1f\x85])\s"
    return re.sub(rf"\A(?:{blank})+|(?:{blank})+\Z", "", text)


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9))
def test_any_mixture_of_tags_is_shown_as_clines_formatter_shows_it(pieces: list[str]) -> None:
    raw = "".join(pieces)
    assert prompt.display(raw) == reference(raw)


def test_the_text_blocks_of_a_message_are_one_prompt(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.add("user", [text(wrapped("One")), text("Two")])
    session.reply("Done.")
    record = session.read()
    assert messages(record) == [("user", "One\nTwo"), ("assistant", "Done.")]
    assert len(record.turns) == 1


def test_plain_string_content_is_a_prompt_too(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.add("user", "Hello")
    session.add("assistant", "Hi")
    assert messages(session.read()) == [("user", "Hello"), ("assistant", "Hi")]


@pytest.mark.parametrize("mode", ["act", "plan", "yolo"])
def test_the_turns_mode_is_that_of_the_envelope(tmp_path: Path, mode: str) -> None:
    assert read_prompt(tmp_path, wrapped("Fix it", mode)).turns[0].mode == mode


MODES = {
    "the last of several": ('<user_input mode="act" mode="plan" z>x</user_input>', "plan"),
    "the first envelope that names one": ('<user_input>x</user_input><user_input mode="plan">', "plan"),
    "the end of a longer attribute": ('<user_input x-mode="plan">x</user_input>', "plan"),
    "none in another tag": ('<user_inputs mode="act">x<b mode="plan">', None),
    "none in another case": ('<user_input MODE="act">x</user_input>', None),
    "none after the tag": ('<user_input>mode="act"</user_input>', None),
    "an envelope that was torn": ('<user_input mode="act"', "act"),
    "a known word before an unknown one": ('<user_input mode="plan" mode="deep">x</user_input>', "plan"),
    "a known word in a later envelope": ('<user_input mode="deep"><user_input mode="yolo">', "yolo"),
    "else the unknown word": ('<user_input mode="deep">x</user_input>', "deep"),
}


@pytest.mark.parametrize(("raw", "mode"), MODES.values(), ids=MODES)
def test_the_mode_is_found_where_cline_finds_it(raw: str, mode: str | None) -> None:
    assert prompt.read(raw, None).mode == mode


def test_a_turn_without_an_envelope_has_no_mode(tmp_path: Path) -> None:
    assert read_prompt(tmp_path, "Fix it").turns[0].mode is None


# --- Attachments -------------------------------------------------------------------------------------------

EXPANDED = {
    "file": ('<file_content path="src/a.py">\nprint(1)\n</file_content>', "src/a.py"),
    "file in a workspace": (
        '<file_content path="src/a.py" workspace="web">\nprint(1)\n</file_content>',
        "src/a.py",
    ),
    "folder": ('<folder_content path="src/">\n├── a.py\n</folder_content>', "src/"),
    "url": ('<url_content url="https://example.org">\n# Page\n</url_content>', "https://example.org"),
    "diagnostics": ("<workspace_diagnostics>\na.py:1 error\n</workspace_diagnostics>", None),
    "terminal": ("<terminal_output>\n$ ls\n</terminal_output>", None),
    "changes": ("<git_working_state>\n M a.py\n</git_working_state>", None),
    "commit": ('<git_commit hash="abc1234">\nfeat: x\n</git_commit>', "abc1234"),
    "instructions": (
        '<explicit_instructions type="new_task">\nBe brief.\n</explicit_instructions>',
        "new_task",
    ),
}


@pytest.mark.parametrize(("block", "name"), EXPANDED.values(), ids=EXPANDED)
def test_what_the_extension_expands_inside_the_envelope_is_listed_apart(
    tmp_path: Path, block: str, name: str | None
) -> None:
    record = read_prompt(tmp_path, wrapped(f"'src/a.py' (see below for file content) fix\n\n{block}"))
    _, message = first(record)
    assert message.text == "'src/a.py' (see below for file content) fix"
    (attachment,) = message.attachments
    assert attachment.name == name
    assert attachment.text == block.split("\n", 1)[1].rsplit("\n", 1)[0]
    assert attachment.kind == block[1:].split(">")[0].split(" ")[0].removesuffix("_content")


def test_several_attachments_keep_their_order(tmp_path: Path) -> None:
    blocks = "\n\n".join(f'<file_content path="{name}">\n{name}!\n</file_content>' for name in "abc")
    _, message = first(read_prompt(tmp_path, wrapped(f"Look\n\n{blocks}")))
    assert message.text == "Look"
    assert [(one.name, one.text) for one in message.attachments] == [("a", "a!"), ("b", "b!"), ("c", "c!")]


def test_instructions_in_front_of_the_text_are_cut_too(tmp_path: Path) -> None:
    block = '<explicit_instructions type="deep-planning">\nPlan first.\n</explicit_instructions>\n'
    _, message = first(read_prompt(tmp_path, wrapped(f"{block}Port it")))
    assert message.text == "Port it"
    assert [one.kind for one in message.attachments] == ["explicit_instructions"]


def test_the_blanks_around_an_attachment_are_those_of_cline(tmp_path: Path) -> None:
    block = '<file_content path="a">\na\n</file_content>'
    _, message = first(read_prompt(tmp_path, wrapped(f"{block}\ufeff\x1fFix\x85\ufeff\n\n{block}")))
    assert message.text == "\x1fFix\x85"


def test_the_same_tags_without_an_envelope_are_text(tmp_path: Path) -> None:
    """Imports and legacy sessions have no envelope: there nobody expanded anything."""
    raw = 'What does <file_content path="x">y</file_content> mean?'
    _, message = first(read_prompt(tmp_path, raw))
    assert (message.text, message.attachments) == (raw, ())


def test_an_unfinished_attachment_is_text(tmp_path: Path) -> None:
    _, message = first(read_prompt(tmp_path, wrapped('Fix\n\n<file_content path="x">\nno end')))
    assert message.text == 'Fix\n\n<file_content path="x">\nno end'


def test_a_mentioned_file_of_the_command_line_is_a_block_of_its_own(tmp_path: Path) -> None:
    session = Session(tmp_path)
    file = {"type": "file", "path": "/home/dev/work/demo/a.py", "content": "print('ä')"}
    session.add("user", [text(wrapped("Explain @a.py")), file])
    _, message = first(session.read())
    assert message.text == "Explain @a.py"
    assert message.attachments == (Attachment("file", "/home/dev/work/demo/a.py", 11, None, "print('ä')"),)


def test_the_bytes_of_a_pasted_image_are_counted_and_not_kept(tmp_path: Path) -> None:
    session = Session(tmp_path)
    image = {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}
    session.add("user", [text(wrapped("What is this?")), image])
    _, message = first(session.read())
    assert message.attachments == (Attachment("image", None, 5, "image/png"),)


@pytest.mark.parametrize("with_text", [True, False], ids=["empty text block", "no text block"])
def test_attachments_alone_are_a_turn(tmp_path: Path, with_text: bool) -> None:
    session = Session(tmp_path)
    image = {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}
    session.add("user", [text(""), image] if with_text else [image])
    session.reply("A cat.")
    record = session.read()
    _, message = first(record)
    assert (message.role, message.text, len(message.attachments)) == ("user", "", 1)
    assert len(record.turns) == 1


# --- Slash commands ----------------------------------------------------------------------------------------


def test_a_skill_command_stays_as_it_was_typed(tmp_path: Path) -> None:
    _, message = first(read_prompt(tmp_path, wrapped("/greet Alice")))
    assert message.text == "/greet Alice"


def test_the_envelope_of_a_one_shot_team_command_stands_only_in_the_manifest(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["prompt"] = (
        '<user_command slash="team">spawn a team of agents for the following task: port it</user_command>'
    )
    record = session.read()
    assert record.session.prompt == "/team port it"
    assert record.session.title == "/team port it"
    assert messages(record) == [("user", "/team port it")]


# --- The manifest's prompt and title -----------------------------------------------------------------------


def test_a_session_killed_before_the_first_reply_has_its_prompt_from_the_manifest(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["prompt"] = wrapped("<mode_notice>Plan.</mode_notice>\nPlan it", "plan")
    record = session.read()
    step, message = first(record)
    assert (step.id, step.channels, message.role, message.text) == (
        "manifest#prompt",
        ("manifest",),
        "user",
        "Plan it",
    )
    assert (step.origin.file, step.origin.pointer) == (f"{session.session_id}.json", "/prompt")
    assert [(turn.id, turn.mode) for turn in record.turns] == [("manifest", "plan")]


def test_a_title_is_cut_and_freed_of_envelopes(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["prompt"] = wrapped("\n" + "x" * 200 + "\nsecond line")
    assert session.read().session.title == "x" * 120


@pytest.mark.parametrize(
    "raw",
    [
        wrapped("[TASK RESUMPTION] Please continue where you left off."),
        '<hook_context source="RunStart">\nBe kind.\n</hook_context>',
        wrapped(prompt.CONTINUATION),
        wrapped("System-delivered teammate async run updates:\n- run_1 done"),
    ],
    ids=["resumption", "hook context", "continuation", "team update"],
)
def test_what_the_runtime_wrote_is_no_prompt_and_no_title_of_a_session(tmp_path: Path, raw: str) -> None:
    """A session seeded from an older one can have such a text as the first `prompt` of its manifest."""
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["prompt"] = raw
    record = session.read()
    assert record.session.title is None
    assert record.session.prompt is None
    assert record.turns == ()
    assert [message for message in messages(record) if message[0] == "user"] == []
