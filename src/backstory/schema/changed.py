"""The changed lines of one edit, with the line numbers that Cline's answer allows."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from .step import Edit

Sign = Literal["+", "-", " "]

_NUMBERED = re.compile(r"^([-+ ])\s*(\d{1,9}): ?(.*)$")
_CONTEXT = 1


class Changed(NamedTuple):
    """One line of a change; `number` counts in the file before it for `-`, after it otherwise."""

    number: int | None
    sign: Sign
    text: str


def changed_lines(edit: Edit, *, whole: bool = False) -> list[Changed]:
    """The lines that an edit changed. What it created or inserted is listed with `whole` alone.

    Cline's own snippet compares line by line, so everything below a line that was added looks changed in it.
    Its first number is right all the same, and places the change that the texts themselves show.
    """
    if edit.hunks is not None:
        return _of_hunks(edit.hunks)
    if edit.operation == "create":
        return _added(edit.new_string, 1) if whole else []
    if edit.operation == "insert":
        return _added(edit.new_string, edit.insert_line) if whole else []
    if edit.old_string is None or edit.new_string is None:
        return parse(edit.diff or "")
    return _compared(edit.old_string, edit.new_string, parse(edit.diff or ""))


def parse(diff: str) -> list[Changed]:
    """The numbered lines of Cline's snippet: `-1: old`, `+1: new`."""
    found = []
    for line in diff.split("\n"):
        match = _NUMBERED.match(line)
        if match:
            found.append(Changed(int(match[2]), match[1], match[3]))  # type: ignore[arg-type]
    return found


def start_line(old: list[str], new: list[str], snippet: list[Changed]) -> int | None:
    """The line of the file at which the old text begins; null where the snippet does not tell.

    The snippet begins at the first line that differs in the file. That is the first one that differs in the
    texts, or a later one where the new text begins with lines that stand there in the old file, too.
    """
    first = next((line.number for line in snippet if line.sign != " " and line.number is not None), None)
    if first is None:
        return None
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    starts = range(first - same, max(first - len(new), 0), -1) or range(first - same, first - same - 1, -1)
    return max(max(starts, key=lambda start: (_agreeing(start, old, new, snippet), start)), 1)


def _agreeing(start: int, old: list[str], new: list[str], snippet: list[Changed]) -> int:
    """How many lines of the snippet agree with the texts, less those that do not, if these begin at `start`."""
    found = 0
    for line in snippet:
        text = old if line.sign == "-" else new
        place = (line.number or 0) - start
        if 0 <= place < len(text):
            inside = place in (0, len(text) - 1) and text[place] in line.text
            found += 1 if inside or text[place] == line.text else -1
    return found


def split(text: str | None) -> list[str]:
    """The lines of a text, without the empty one that a final line end leaves."""
    if not text:
        return []
    return (text[:-1] if text.endswith("\n") else text).split("\n")


def _compared(before: str, after: str, snippet: list[Changed]) -> list[Changed]:
    old, new = before.split("\n"), after.split("\n")
    base = start_line(old, new, snippet)
    whole = {(line.sign, line.number): line.text for line in snippet}

    def line(sign: Sign, at: int, text: str) -> Changed:
        if base is None:
            return Changed(None, sign, text)
        # The texts may begin and end inside a line; what lies between is whole.
        ends = (0, (len(new) if sign == "+" else len(old)) - 1)
        full = whole.get((sign, base + at), "") if at in ends else ""
        return Changed(base + at, sign, full if text in full else text)

    found: list[Changed] = []
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (tag, low, high, start, end) in enumerate(blocks):
        if tag == "equal":
            lead = list(range(low, high))[: _CONTEXT if place else 0]
            trail = list(range(low, high))[-_CONTEXT if place < len(blocks) - 1 else high :]
            for at in sorted({*lead, *trail}):
                found.append(line(" ", start + at - low, old[at]))
            continue
        found.extend(line("-", at, old[at]) for at in range(low, high))
        found.extend(line("+", at, new[at]) for at in range(start, end))
    return [changed for changed in found if changed.text or changed.sign != " "]


def _added(text: str | None, first: int | None) -> list[Changed]:
    return [Changed(None if first is None else first + at, "+", line) for at, line in enumerate(split(text))]


def _of_hunks(hunks: str) -> list[Changed]:
    """The changed lines of a patch section; it carries no line numbers."""
    found: list[Changed] = []
    for line in hunks.split("\n"):
        if line[:1] == "+":
            found.append(Changed(None, "+", line[1:]))
        elif line[:1] == "-":
            found.append(Changed(None, "-", line[1:]))
    return found
