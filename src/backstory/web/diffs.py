"""Changed lines as rows of a table: unified with two columns of numbers, or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from markupsafe import Markup

from ..schema.changed import Changed, changed_lines, split
from ..schema.step import Edit
from ..story.unified import Piece
from . import code

MOST = 400
FIRST = 60
"""Lines that are shown of a change with more than `MOST`."""
_LINE = 400
"""Characters of a line in which changed words are looked for."""


class Side(NamedTuple):
    """One line as it stands on one side: its number where that is known, its sign, its text as markup."""

    number: int | None
    sign: str
    text: Markup


class Row(NamedTuple):
    """A line of a unified diff: both numbers, the sign (`gap` between two parts), the text."""

    old: int | None
    new: int | None
    sign: str
    text: Markup


class Table(NamedTuple):
    """Rows of a diff, and how many lines were left out at its end."""

    rows: list[Row]
    left_out: int = 0


Raw = tuple[int | None, int | None, str, str]
"""Old number, new number, sign, text."""


def of_edit(edit: Edit, *, whole: bool = False) -> Table:
    """The change that one edit made, or wanted to make."""
    return unified(edit.path, raw_of(edit), whole=whole)


def raw_of(edit: Edit) -> list[Raw]:
    """The lines that one edit changed, with the numbers that are recorded."""
    raw = _of_hunks(edit.hunks) if edit.hunks is not None else _numbered(changed_lines(edit, whole=True))
    if edit.operation == "delete" and not raw and edit.old_string:
        raw = [(at, None, "-", text) for at, text in enumerate(split(edit.old_string), 1)]
    return raw


def first_line(edit: Edit) -> int | None:
    """Where an edit begins in its file."""
    return next((line.number for line in changed_lines(edit, whole=True) if line.number is not None), None)


def unified(path: str, raw: Sequence[Raw], *, whole: bool = False) -> Table:
    """Lines with colours, and the words that changed in pairs of them."""
    shown = list(raw) if whole or len(raw) <= MOST else list(raw[:FIRST])
    texts = _coloured(path, shown)
    marks = _marks(shown)
    rows = [
        Row(old, new, sign, code.drawn(pieces, marks.get(at, ())))
        for at, ((old, new, sign, _), pieces) in enumerate(zip(shown, texts, strict=True))
    ]
    return Table(rows, len(raw) - len(shown))


def of_parts(parts: Sequence[Sequence[Piece]]) -> list[Raw]:
    """The changed parts of a file as lines with both numbers; a gap stands between two parts."""
    found: list[Raw] = []
    for at, part in enumerate(parts):
        if at:
            found.append((None, None, "gap", ""))
        for piece in part:
            old = piece.old if piece.sign != "+" else None
            new = piece.new if piece.sign != "-" else None
            found.append((old, new, piece.sign, piece.cell.text or ""))
    return found


def side_by_side(rows: Sequence[Row]) -> list[tuple[Side | None, Side | None]]:
    """Rows of a unified diff in two columns: lines taken away beside those that came in their place."""
    found: list[tuple[Side | None, Side | None]] = []
    gone: list[Side] = []
    came: list[Side] = []

    def flush() -> None:
        for at in range(max(len(gone), len(came))):
            found.append((gone[at] if at < len(gone) else None, came[at] if at < len(came) else None))
        gone.clear()
        came.clear()

    for row in rows:
        if row.sign == "-":
            if came:
                flush()
            gone.append(Side(row.old, row.sign, row.text))
        elif row.sign == "+":
            came.append(Side(row.new, row.sign, row.text))
        else:
            flush()
            found.append((Side(row.old, row.sign, row.text), Side(row.new, row.sign, row.text)))
    flush()
    return found


def _numbered(lines: Sequence[Changed]) -> list[Raw]:
    """Both numbers of each line, where one is known."""
    found: list[Raw] = []
    shift = 0
    for line in lines:
        if line.sign == "+":
            found.append((None, line.number, "+", line.text))
            shift += 1
        elif line.sign == "-":
            found.append((line.number, None, "-", line.text))
            shift -= 1
        else:
            old = None if line.number is None else line.number - shift
            found.append((old, line.number, " ", line.text))
    return found


def _of_hunks(hunks: str) -> list[Raw]:
    """A patch as the model wrote it: text around the change, and no numbers."""
    found: list[Raw] = []
    for line in split(hunks):
        if line.startswith(("@@", "***")):
            if found:
                found.append((None, None, "gap", line[2:].strip()))
        elif line[:1] in ("+", "-"):
            found.append((None, None, line[0], line[1:]))
        else:
            found.append((None, None, " ", line[1:]))
    return found


def _coloured(path: str, lines: Sequence[Raw]) -> list[list[code.Piece]]:
    """The pieces of each line, coloured as a part of its own side."""
    old = code.highlighted(path, "\n".join(text for *_, sign, text in lines if sign != "+"))
    new = code.highlighted(path, "\n".join(text for *_, sign, text in lines if sign != "-"))
    before, after = iter(old), iter(new)
    found = []
    for *_, sign, _text in lines:
        if sign == "-":
            found.append(next(before, []))
        elif sign == "+":
            found.append(next(after, []))
        else:
            next(before, None)
            found.append(next(after, []))
    return found


def _marks(lines: Sequence[Raw]) -> dict[int, list[tuple[int, int]]]:
    """The changed words of pairs of lines that are equal for at least a half, by the lines' places."""
    found: dict[int, list[tuple[int, int]]] = {}
    at = 0
    while at < len(lines):
        gone = at
        while at < len(lines) and lines[at][2] == "-":
            at += 1
        came = at
        while at < len(lines) and lines[at][2] == "+":
            at += 1
        if at == gone:
            at += 1
            continue
        if came - gone == at - came:
            for pair in range(came - gone):
                _mark(lines, gone + pair, came + pair, found)
    return found


def _mark(lines: Sequence[Raw], low: int, high: int, found: dict[int, list[tuple[int, int]]]) -> None:
    one, other = lines[low][3], lines[high][3]
    if len(one) > _LINE or len(other) > _LINE:
        return
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < 0.5 or one.strip() == "" or other.strip() == "":
        return
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            found.setdefault(low, []).append((a, b))
            found.setdefault(high, []).append((c, d))
