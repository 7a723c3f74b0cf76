"""The text of one file through a session, as far as the record knows it: seen, changed, or unknown lines.

Lines are cells that both sides share while nothing changes them, so what is learned of a line later is known
of it before, too. The difference between the two sides is then a matter of which cells are still there.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from ..schema.changed import Changed, parse, split, start_line
from ..schema.step import Edit, Read

_READ_LINE = re.compile(r"^ *(\d{1,9}) \| (.*)$")
_SHOWING = "\n[Showing lines "
MOST_LINES = 200_000
"""A file with more lines than this is not followed: a number that is wrong must not fill the memory."""
_CUT_LINE = " [line truncated]"


class Cell:
    """One line; `text` is null while nobody has seen it."""

    __slots__ = ("text",)

    def __init__(self, text: str | None = None) -> None:
        self.text = text


class Unplaced(Exception):
    """An edit that cannot be set into what is known of the file; its text says why."""


class Paper:
    """A file before the session and now. A side is null where the file did not exist.

    A text with a final line end has an empty last cell. `open` says that the end of the file is not known,
    `guessed` that line numbers are, `edited` is the place of the first edit, `notes` what no diff can say.
    """

    def __init__(self, path: str, *, exists: bool) -> None:
        self.path = path
        self.was = path
        self.open = exists
        self.before: list[Cell] | None = [] if exists else None
        self.now: list[Cell] | None = [] if exists else None
        self.guessed = False
        self.edited: int | None = None
        self.notes: list[str] = []

    def learn(self, read: Read) -> None:
        """Take in what the agent saw of the file; a line that differs was changed by something else."""
        if self.now is None or read.content is None:
            return
        body, _, rest = read.content.partition(_SHOWING)
        numbered = [match for match in map(_READ_LINE.match, body.rstrip("\n").split("\n")) if match]
        numbered = [match for match in numbered if int(match[1]) <= MOST_LINES]
        for match in numbered:
            if not match[2].endswith(_CUT_LINE):
                self._see(int(match[1]), match[2])
        last = int(numbered[-1][1]) if numbered else 0
        whole = read.range is None or (read.range.start == 1 and read.range.end is None)
        if self.open and whole and not rest and numbered:
            self._reach(last)
            if len(self.now) == last:
                self._append(Cell(""))
                self.open = False

    def apply(self, edit: Edit) -> None:
        """Set an applied edit into the text. Raises Unplaced."""
        if edit.operation == "create":
            self._create(edit.new_string or "")
        elif edit.operation == "delete":
            self.now = None
        elif edit.operation == "insert":
            self._insert(edit)
        elif edit.hunks is not None:
            for old_new in hunks(edit.hunks):
                self._patch(*old_new)
        else:
            self._replace(edit)
        if edit.move_to:
            self.path = edit.move_to

    def settle(self) -> None:
        """Take the text as it is now for the one before: the changes so far are not asked for."""
        self.before = None if self.now is None else list(self.now)
        self.was = self.path

    def _create(self, text: str) -> None:
        self.now = [Cell(line) for line in text.split("\n")]
        self.open = False

    def _insert(self, edit: Edit) -> None:
        if self.now is None or edit.insert_line is None or edit.new_string is None:
            raise Unplaced("it is not recorded where the text was inserted")
        self._reach(edit.insert_line - 1)
        at = edit.insert_line - 1
        self.now[at:at] = [Cell(line) for line in edit.new_string.split("\n")]

    def _replace(self, edit: Edit) -> None:
        if self.now is None or edit.old_string is None or edit.new_string is None:
            raise Unplaced("its texts are not recorded")
        old, new = edit.old_string.split("\n"), edit.new_string.split("\n")
        snippet = parse(edit.diff or "")
        at = self._place(old, start_line(old, new, snippet))
        self._reach(at + len(old))
        for line in snippet:
            if line.sign == "-" and line.number is not None:
                self._see_changed(line)
        self._set(at, *self._whole_lines(at, old, new))

    def _place(self, old: list[str], start: int | None) -> int:
        """Where the old text begins, from 0: by Cline's number, else where the known lines hold it."""
        if start is not None and self._fits(start - 1, old):
            return start - 1
        assert self.now is not None
        found = [at for at in range(len(self.now) - len(old) + 1) if self._fits(at, old, known=True)]
        if len(found) != 1:
            raise Unplaced(
                "the lines around it are not recorded" if start is None else "something else changed it"
            )
        return found[0]

    def _fits(self, at: int, old: list[str], *, known: bool = False) -> bool:
        """Whether the old text can stand there: nothing speaks against it, or all speaks for it."""
        assert self.now is not None
        last = len(old) - 1
        for place, line in enumerate(old):
            text = self.now[at + place].text if at + place < len(self.now) else None
            if text is None:
                if known or (at + place >= len(self.now) and not self.open):
                    return False
                continue
            if last == 0:
                right = line in text
            elif place == 0:
                right = text.endswith(line)
            elif place == last:
                right = text.startswith(line)
            else:
                right = text == line
            if not right:
                return False
        return True

    def _whole_lines(
        self, at: int, old: list[str], new: list[str]
    ) -> tuple[list[str | None], list[str | None]]:
        """Old and new text as whole lines, which their ends may lie in. Null is a line that stays unknown."""
        assert self.now is not None
        first, last = self.now[at].text, self.now[at + len(old) - 1].text
        if len(old) == 1:
            start = first.find(old[0]) if first is not None else 0
            head = first[:start] if first is not None else ""
            tail = first[start + len(old[0]) :] if first is not None else ""
        else:
            head = first[: len(first) - len(old[0])] if first is not None else ""
            tail = last[len(old[-1]) :] if last is not None else ""
        before: list[str | None] = [*old]
        after: list[str | None] = [*new]
        before[0], after[0] = head + old[0], head + new[0]
        before[-1], after[-1] = f"{before[-1]}{tail}", f"{after[-1]}{tail}"
        # A text that ends with a line end touches the line after it without saying what stands there.
        if last is None and len(old) > 1 and len(new) > 1 and old[-1] == "" and new[-1] == "":
            before[-1] = after[-1] = None
        if first is None and len(old) > 1 and len(new) > 1 and old[0] == "" and new[0] == "":
            before[0] = after[0] = None
        return before, after

    def _set(self, at: int, old: list[str | None], new: list[str | None]) -> None:
        """Put the new lines in place of the old ones; equal lines keep their cells."""
        assert self.now is not None
        cells = self.now[at : at + len(old)]
        for cell, text in zip(cells, old, strict=True):
            if text is not None:
                cell.text = text
        result: list[Cell] = []
        matcher = SequenceMatcher(
            None, [str(line) for line in old], [str(line) for line in new], autojunk=False
        )
        for tag, low, high, start, end in matcher.get_opcodes():
            result += cells[low:high] if tag == "equal" else [Cell(line) for line in new[start:end]]
        self.now[at : at + len(old)] = result

    def _patch(self, old: list[str], new: list[str]) -> None:
        """One section of a patch: it has text around it and no line number."""
        if self.now is None:
            raise Unplaced("the file does not exist at that point")
        found = [at for at in range(len(self.now) - len(old) + 1) if self._known(at, old)] if old else []
        if found:
            at = found[0]
        elif self.open:
            # Git finds the place by the text around it; the number only says where it looks first.
            self.guessed = True
            self._reach(len(self.now) + 1)
            at = len(self.now)
            self._reach(at + len(old))
        else:
            raise Unplaced("something else changed it")
        self._set(at, [*old], [*new])

    def _known(self, at: int, old: list[str]) -> bool:
        assert self.now is not None
        return all(self.now[at + place].text == line for place, line in enumerate(old))

    def _see(self, number: int, text: str) -> None:
        self._reach(number)
        assert self.now is not None
        if number > len(self.now):
            return
        cell = self.now[number - 1]
        if cell.text is None:
            cell.text = text
        elif cell.text != text:
            self.now[number - 1] = Cell(text)
            if self.before is not None and cell in self.before:
                self.before[self.before.index(cell)] = self.now[number - 1]

    def _see_changed(self, line: Changed) -> None:
        assert self.now is not None
        assert line.number is not None
        self._reach(line.number)
        if line.number <= len(self.now) and self.now[line.number - 1].text is None:
            self.now[line.number - 1].text = line.text

    def _reach(self, lines: int) -> None:
        """Have at least so many lines; those that nobody saw are on both sides."""
        assert self.now is not None
        if self.open and lines > MOST_LINES:
            raise Unplaced("it lies too far down in its file")
        while self.open and len(self.now) < lines:
            self._append(Cell())

    def _append(self, cell: Cell) -> None:
        assert self.now is not None
        self.now.append(cell)
        if self.before is not None:
            self.before.append(cell)


def hunks(text: str) -> list[tuple[list[str], list[str]]]:
    """The sections of a patch as (lines before, lines after)."""
    found: list[tuple[list[str], list[str]]] = []
    old: list[str] = []
    new: list[str] = []
    for line in [*split(text), "@@"]:
        if line.startswith(("@@", "***")):
            if old or new:
                found.append((old, new))
            old, new = [], []
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])
        else:
            old.append(line[1:])
            new.append(line[1:])
    return found
