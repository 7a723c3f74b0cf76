"""The patches of `apply_patch`: one section a file, hunks as they stand (FORMAT.md section 5)."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

_HEADS: tuple[tuple[str, Literal["create", "patch", "delete"]], ...] = (
    ("*** Add File: ", "create"),
    ("*** Update File: ", "patch"),
    ("*** Delete File: ", "delete"),
)
_MOVE = "*** Move to: "
DIFF_CELLS = 40_000
"""Line pairs up to which a change is compared line by line; a larger one counts whole blocks."""


class Section(Struct):
    """One file of a patch; `lines` is its body without the header."""

    path: str
    operation: Literal["create", "patch", "delete", "move"]
    move_to: str | None
    lines: list[str]

    @property
    def body(self) -> str:
        return "\n".join(self.lines)

    @property
    def content(self) -> str:
        """The text of a file that the patch adds."""
        return "\n".join(line[1:] for line in self.lines if line.startswith("+"))

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for line in self.lines)


def sections(text: str) -> list[Section]:
    """The files of a patch, in order; empty when there is none."""
    found: list[Section] = []
    for line in _between_marks(text):
        head = next(
            ((line[len(mark) :].strip(), kind) for mark, kind in _HEADS if line.startswith(mark)), None
        )
        if head is not None:
            found.append(Section(head[0], head[1], None, []))
        elif line.startswith(_MOVE) and found and found[-1].operation == "patch":
            found[-1].operation = "move"
            found[-1].move_to = line[len(_MOVE) :].strip()
        elif found:
            found[-1].lines.append(line)
    return found


def _between_marks(text: str) -> list[str]:
    """The lines of the patch proper; what a model wraps around it is no part of it."""
    lines = lines_of(text)
    begin = next((i for i, line in enumerate(lines) if line.strip() == "*** Begin Patch"), -1)
    end = next((i for i in range(begin + 1, len(lines)) if lines[i].strip() == "*** End Patch"), len(lines))
    return lines[begin + 1 : end]


def lines_of(text: str) -> list[str]:
    """Lines as editors count them: only a line feed ends one, with or without a carriage return before it."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """How many lines a replacement adds and removes: (added, removed)."""
    before, after = lines_of(old), lines_of(new)
    low = 0
    while low < len(before) and low < len(after) and before[low] == after[low]:
        low += 1
    high = 0
    while high < min(len(before), len(after)) - low and before[-1 - high] == after[-1 - high]:
        high += 1
    left, right = before[low : len(before) - high], after[low : len(after) - high]
    if not left or not right or len(left) * len(right) > DIFF_CELLS:
        return len(right), len(left)
    same = sum(
        block.size for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    )
    return len(right) - same, len(left) - same
