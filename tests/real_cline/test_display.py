"""What Backstory takes as typed, held against the functions with which Cline itself shows a prompt."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prompts import DISPLAYED, combinations, joined, mixtures
from recordings import RECORDINGS

from backstory.sources.cline import prompt

from .install import REPOSITORY

pytestmark = pytest.mark.real_cline

Metadata = dict[str, Any]
METADATA: tuple[Metadata | None, ...] = (
    *[None] * 8,
    {},
    {"userRunSpan": 0},
    {"userRunSpan": 0, "displayRole": "system"},
    {"displayRole": "status"},
    {"displayOnly": True, "displayRole": "error"},
    {"kind": "recovery_notice", "displayRole": "status"},
    {"kind": "compaction_summary", "displayRole": "system", "userRunSpan": 2},
)


class Case(NamedTuple):
    """A user-role text with its metadata, and what Cline makes of it."""

    raw: str
    metadata: Metadata | None
    shown: str
    mode: str | None


def recorded() -> Iterator[tuple[str, Metadata | None]]:
    """Every user-role text of the recordings, and the prompts and titles of their manifests."""
    for path in sorted(RECORDINGS.rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for message in document.get("messages", ()):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            if message["role"] == "user" and texts:
                yield from ((text, message.get("metadata")) for text in {*texts, "\n".join(texts)})
        for text in (document.get("prompt"), (document.get("metadata") or {}).get("title")):
            if isinstance(text, str):
                yield text, None


def ask(shared: tuple[Path, Path], texts: list[str]) -> list[tuple[str, str | None]]:
    """What Cline shows for each text, and the mode that it finds there. One run of node answers for all."""
    node, place = shared
    script = Path(__file__).with_name("display.mjs")
    # JSON escapes what is not ASCII, so that torn surrogates and every line end reach the other side as they are.
    asked = "".join(json.dumps(text) + "\n" for text in texts).encode("ascii")
    done = subprocess.run([node, script, place], input=asked, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    answers = [json.loads(line) for line in done.stdout.decode("utf-8").split("\n") if line]
    assert len(answers) == len(texts)
    return [(shown, mode) for shown, mode in answers]


@pytest.fixture(scope="module")
def cases(shared: tuple[Path, Path]) -> list[Case]:
    made = itertools.chain(combinations(), mixtures(8000, seed=3065))
    unique = dict.fromkeys(joined(text) for text in made)
    asked = [*recorded(), *zip(unique, itertools.cycle(METADATA), strict=False)]
    answers = ask(shared, [raw for raw, _ in asked])
    return [Case(*one, *answer) for one, answer in zip(asked, answers, strict=True)]


def test_thousands_of_texts_are_compared_and_every_recorded_one(cases: list[Case]) -> None:
    assert len(cases) > 15_000
    assert len({case.raw for case in cases} & {raw for raw, _ in recorded()}) > 50
    assert sum(case.shown != case.raw for case in cases) > 10_000
    assert {case.mode for case in cases} == {None, "act", "plan", "yolo"}


def test_the_examples_of_the_other_tests_are_clines(shared: tuple[Path, Path]) -> None:
    answers = ask(shared, [raw for raw, _ in DISPLAYED.values()])
    shown = dict(zip(DISPLAYED, (answer[0] for answer in answers), strict=True))
    assert shown == {name: example for name, (_, example) in DISPLAYED.items()}


def test_every_text_is_displayed_as_cline_displays_it(cases: list[Case]) -> None:
    wrong = [case for case in cases if joined(prompt.display(case.raw)) != case.shown]
    assert not wrong, briefly(wrong)


def test_the_mode_is_clines_and_otherwise_a_word_that_cline_does_not_know(cases: list[Case]) -> None:
    wrong = []
    for case in cases:
        mode = prompt.read(case.raw, case.metadata).mode
        unknown = mode is not None and mode not in ("act", "plan", "yolo") and f'mode="{mode}"' in case.raw
        if mode != case.mode and not (unknown and case.mode is None):
            wrong.append(case)
    assert not wrong, briefly(wrong)


# --- The differences that FORMAT.md documents --------------------------------------------------------------

SECTION = (
    (REPOSITORY / "src/backstory/sources/cline/FORMAT.md")
    .read_text(encoding="utf-8")
    .split("\n## 6. ")[1]
    .split("\n## 7. ")[0]
)
ATTACHED = re.findall(r"`<(\w+)>`", SECTION.split("\n| 6.9 |")[1].split("\n")[0])
ELEMENT = re.compile(
    rf"[{prompt.BLANKS}]*<({'|'.join(ATTACHED)})(?=[\s>])[^>]*>.*?</\1>",
    re.DOTALL,
)

RUNTIME: dict[str, Callable[[Case, Metadata], bool]] = {
    "hook_context": lambda case, meta: case.shown.startswith("<hook_context"),
    "continuation": lambda case, meta: (
        case.shown == "The user approved switching to act mode. Continue with the approved plan now."
    ),
    "resumption": lambda case, meta: case.shown.startswith("[TASK RESUMPTION]"),
    "team_update": lambda case, meta: case.shown.startswith("System-delivered teammate async run updates:"),
    "output_limit": lambda case, meta: (
        unasked(case, meta) and case.shown.startswith("Your previous response was cut off")
    ),
    "reminder": lambda case, meta: (
        meta.get("kind") == "recovery_notice"
        or ("<user_input" not in case.raw and case.raw.lstrip(prompt.BLANKS).startswith("[SYSTEM] "))
    ),
    "compaction_summary": lambda case, meta: meta.get("kind") == "compaction_summary",
    "status": lambda case, meta: meta.get("displayRole") == "status",
    "runtime": lambda case, meta: (
        unasked(case, meta) or "displayOnly" in meta or meta.get("displayRole") in ("system", "error")
    ),
}
"""For each flag of the table in FORMAT.md: whether a text is one of these."""


def unasked(case: Case, meta: Metadata) -> bool:
    return meta.get("userRunSpan") == 0 and "<user_input" not in case.raw


def test_the_rules_here_are_those_of_the_documented_table() -> None:
    table = SECTION.split("| flag | what |")[1]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(RUNTIME)
    assert len(ATTACHED) == 8


def test_what_the_runtime_wrote_is_told_from_what_a_person_typed(cases: list[Case]) -> None:
    wrong = []
    seen = set()
    for case in cases:
        flag = prompt.read(case.raw, case.metadata).runtime
        claims = {name for name, holds in RUNTIME.items() if holds(case, case.metadata or {})}
        seen.add(flag)
        if flag not in (claims or {None}):
            wrong.append(case)
    assert not wrong, briefly(wrong)
    assert seen == {None, *RUNTIME}


def test_the_text_is_clines_but_for_the_documented_attachments(cases: list[Case]) -> None:
    wrong = []
    cut = 0
    for case in cases:
        typed = prompt.read(case.raw, case.metadata)
        expected, kinds = case.shown, []
        if typed.runtime is None and "<user_input" in case.raw:
            kinds = [found[1].removesuffix("_content") for found in ELEMENT.finditer(case.shown)]
        if kinds:
            cut += 1
            expected = ELEMENT.sub("", case.shown).strip(prompt.BLANKS)
        if (joined(typed.text), [one.kind for one in typed.attachments]) != (expected, kinds):
            wrong.append(case)
    assert not wrong, briefly(wrong)
    assert cut > 500


def briefly(wrong: list[Case]) -> str:
    """How many cases are wrong, and the shortest of them with our reading."""
    shortest = sorted(wrong, key=lambda case: len(case.raw))[:5]
    lines = [f"{case}\n  ours: {prompt.read(case.raw, case.metadata)}"[:2000] for case in shortest]
    return "\n".join([f"{len(wrong)} differ, the shortest:", *lines])
