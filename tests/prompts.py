"""User-role texts for the tests: pieces that prompts are made of, and examples with what Cline shows for them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator

from sessions import wrapped

from backstory.sources.cline.prompt import CONTINUATION, TEAM_PREFIX

DISPLAYED = {
    "the envelope goes": (wrapped("Fix it"), "Fix it"),
    "with any attributes": ('<user_input mode="act" source="x">Fix it</user_input>', "Fix it"),
    "with none": ("<user_input>Fix it</user_input>", "Fix it"),
    "blanks around go": ("\n  " + wrapped("\n Fix it \n") + "\n", "Fix it"),
    "blank lines inside stay": (wrapped("One\n\n  Two"), "One\n\n  Two"),
    "text outside the envelope is kept": ("Before " + wrapped("inside") + " after", "Before inside after"),
    "every complete element is unwrapped": (wrapped("One") + "\n" + wrapped("Two"), "One\nTwo"),
    "a bare opening tag goes where no element is complete": ('<user_input mode="act">Cut off', "Cut off"),
    "beside a complete element a bare one stays": (
        wrapped("One") + "\n<user_input>Two",
        "One\n<user_input>Two",
    ),
    "a bare closing tag stays": ("Fix it</user_input>", "Fix it</user_input>"),
    "tags are case-sensitive": ("<User_Input>Fix it</User_Input>", "<User_Input>Fix it</User_Input>"),
    "a longer name is another tag": (
        "<user_inputs>Fix</user_input> <user_input>it</user_input>",
        "<user_inputs>Fix</user_input> it",
    ),
    "but bare it goes like the shorter one": ("<user_inputs>Fix</user_inputs>", "Fix</user_inputs>"),
    "a name may end at any other sign": (
        "<user_input-x/>Fix<user_input'>it</user_input>",
        "Fix<user_input'>it",
    ),
    "no envelope": ("Fix it", "Fix it"),
    "a command inside an envelope is unwrapped": (
        wrapped('<user_command slash="team">Do</user_command>'),
        "Do",
    ),
    "a mode notice inside goes": (
        wrapped("<mode_notice>Plan mode.\nDo not edit.</mode_notice>\nFix it"),
        "Fix it",
    ),
    "so does one outside": ("<mode_notice>Act mode.</mode_notice>\n" + wrapped("Fix it"), "Fix it"),
    "several go": (wrapped("<mode_notice>A</mode_notice>x<mode_notice>B</mode_notice>y"), "xy"),
    "an unfinished notice stays": (
        wrapped("<mode_notice>Plan mode. Fix it"),
        "<mode_notice>Plan mode. Fix it",
    ),
    "a notice with attributes stays": (
        '<mode_notice to="act">Fix</mode_notice> it',
        '<mode_notice to="act">Fix</mode_notice> it',
    ),
    "a slash command as a whole": ('<user_command slash="greet">Alice</user_command>', "/greet Alice"),
    "without arguments": ('<user_command slash="compact"></user_command>', "/compact"),
    "with several lines": ('<user_command slash="release">a\nb</user_command>\n', "/release a\nb"),
    "with other attributes": ('<user_command x=">\n" slash="y">z</user_command>', '" slash="y">z'),
    "with an attribute that ends in the word": (
        "<user_command data-slash='a' xSLASH=\" greet \">Alice</user_command>",
        "/greet Alice",
    ),
    "with an empty name before the name": (
        '<user_command slash="" slash="greet">Alice</user_command>',
        "/greet Alice",
    ),
    "a blank name is none": ('<user_command slash=" " slash="greet">Alice</user_command>', "Alice"),
    "team without its canned words": (
        f'<user_command slash="team">{TEAM_PREFIX} port it</user_command>',
        "/team port it",
    ),
    "team without anything else": (f'<user_command slash="team">{TEAM_PREFIX}</user_command>', "/team"),
    "team in any case": (
        f'<user_command slash="Team">\n{TEAM_PREFIX.title()}port it</user_command>',
        "/team port it",
    ),
    "team with words of its own": ('<user_command slash="team">port it</user_command>', "/team port it"),
    "an upper-case command has its name in front and stays": (
        '<USER_COMMAND slash="Greet">Alice</USER_COMMAND>',
        '/Greet <USER_COMMAND slash="Greet">Alice</USER_COMMAND>',
    ),
    "a command beside other text is only unwrapped": (
        'Run <user_command slash="greet">Alice</user_command> now',
        "Run Alice now",
    ),
    "two commands at the two ends are one with the first name": (
        '<user_command slash="a">One</user_command> and <user_command slash="b">two</user_command>',
        "/a One and two",
    ),
    "an envelope and a notice inside a command go": (
        f'<user_command slash="a">{wrapped("<mode_notice>Act.</mode_notice> One")}</user_command>',
        "/a One",
    ),
    "a command without a name": ("<user_command>Alice</user_command>", "Alice"),
    "a command without an end": ('<user_command slash="greet">Alice', "Alice"),
    "a command of two tags that share a sign": (
        '<user_command slash="greet"</user_command>',
        "",
    ),
    "angle brackets that are no tags": (
        wrapped("if a < b && c > d: List<int>"),
        "if a < b && c > d: List<int>",
    ),
    "nothing": (wrapped(""), ""),
    "blanks of JavaScript": ("\ufeff" + wrapped("\u00a0\u3000\u2029Fix it\ufeff\v"), "Fix it"),
    "controls are no blanks": (wrapped("\x1c\x1fFix it\x85"), "\x1c\x1fFix it\x85"),
    "nor is a space without width": (wrapped("\u200bFix it\u2060"), "\u200bFix it\u2060"),
    "a letter ends no tag name in another script": ("<user_inputä>Fix it</user_input>", "Fix it"),
}
"""A text and what Cline's `formatDisplayUserInput` shows for it."""

TAGS = [
    *(
        f"<{tag}{more}>"
        for tag in ("user_input", "user_command", "mode_notice")
        for more in ("", ' a="b"', "s", "\n")
    ),
    *(f"</{tag}>" for tag in ("user_input", "user_command", "mode_notice", "user_inputs")),
    '<user_input mode="plan">',
    '<user_command slash="team">',
    '<user_command x="y" slash="greet" z>',
]
OTHERS = [
    '<USER_INPUT mode="act">',
    "</USER_INPUT>",
    '<USER_COMMAND slash="Greet">',
    "</USER_COMMAND>",
    '<user_input mode="act" mode="yolo">',
    '<user_input mode="code" x-mode="plan" mode="deep">',
    '<user_input mode="deep">',
    "<user_input\r\n\tmode='act'>",
    "<user_input/>",
    "<user_input-x>",
    "<user_inputä>",
    "< user_input>",
    "</user_input >",
    "<user_input",
    ' mode="act"',
    "<user_command slash=",
    '<user_command slash="">',
    '<user_command slash=" ">',
    '<user_command data-slash=" team ">',
    '<user_command SLASH="/release now">',
    '<user_command slash="übersetze">',
    TEAM_PREFIX,
    f"{TEAM_PREFIX} port it",
    TEAM_PREFIX.upper(),
    TEAM_PREFIX.replace("k", "\u212a"),
    TEAM_PREFIX.replace("i", "\u0130"),
    "text",
    "/greet Alice",
    "'src/a.py' (see below for file content)",
    ">",
    "<",
    '"',
    "\\1",
    "$1$&$`",
    *" \n\r\t\v\f\x00\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2003\u200b\u2028\u2029\u202f\u2060\u3000\ufeff",
    "\r\n",
    "\u202eשלום\u202c",
    "العربية",
    "e\u0301ß",
    "🙂👩‍👩‍👧",
    "\ud83d",
    "\ude00",
]
ATTACHED = [
    '\n\n<file_content path="src/a.py" workspace="web">\nprint(1)\n</file_content>',
    '<file_content path="c.txt">\r\n\ufeffa\r\n</file_content>',
    '\n\n<file_content path="b.py">',
    "</file_content>",
    "\x1f\n<folder_content path='src/'>\n├── a.py\n</folder_content>",
    '\ufeff<url_content url="https://example.org">\n# <user_input>Page</user_input>\n</url_content>\u3000',
    "\n\n<workspace_diagnostics>\na.py:1 error\n</workspace_diagnostics>",
    "<terminal_output>\n$ ls\n</terminal_output>",
    "<terminal_outputs>\n$ ls\n</terminal_outputs>",
    "<git_working_state>\n M a.py\n</git_working_state>",
    '<git_commit hash="abc1234">\nfeat: <file_content>x</file_content>\n</git_commit>',
    '<explicit_instructions type="new_task">\nBe brief.\n</explicit_instructions>\n',
    "<explicit_instructions\n>",
]
WRITTEN = [
    '<hook_context source="RunStart">\nBe kind.\n</hook_context>',
    '<hook_context source="PreToolUse" tool_name="a_q_b">\n<\\hook_context>\n</hook_context>\n\n',
    "[TASK RESUMPTION] Please continue where you left off.",
    CONTINUATION,
    "System-delivered teammate async run updates:\n- run_1 done",
    "[SYSTEM] This run is not complete until you call submit_and_exit.",
    "Your previous response was cut off because it reached the model's output-token limit",
]
PIECES = [*TAGS, *OTHERS, *ATTACHED, *WRITTEN]


def combinations() -> Iterator[str]:
    """Every text of up to three tags, with a letter on every side of a tag."""
    for count in range(4):
        for tags in itertools.product(TAGS, repeat=count):
            yield "a" + "".join(f"{tag}{letter}" for tag, letter in zip(tags, "bcd", strict=False))
            yield "".join(tags)


def mixtures(count: int, seed: int) -> Iterator[str]:
    """Random texts: pieces in a row, as a person and Cline would nest them, torn, and now and then a huge one."""
    chance = random.Random(seed)
    for number in range(count):
        parts = chance.choices(PIECES, k=chance.randint(0, 9))
        if chance.random() < 0.6:
            opening, close = chance.choice(
                [
                    ('<user_input mode="act">', "</user_input>"),
                    ('<user_command slash="team">', "</user_command>"),
                    ('<USER_COMMAND x slash="greet">', "</user_command>"),
                ]
            )
            parts.insert(chance.randint(0, min(2, len(parts))), opening)
            parts.insert(chance.randint(max(1, len(parts) - 2), len(parts)), close)
        if number % 1000 == 0:
            parts.insert(len(parts) // 2, "großer Text\r\n" * 20_000)
        text = "".join(parts)
        if chance.random() < 0.1:
            begin = chance.randint(0, len(text))
            text = text[begin : chance.randint(begin, len(text))]
        yield text


def joined(text: str) -> str:
    """The text with each pair of surrogates as the one character that it is in JavaScript."""
    return str(json.loads(json.dumps(text)))
