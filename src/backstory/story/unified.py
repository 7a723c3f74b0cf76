"""The difference between the two sides of a file, as a patch that `git apply` takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .replay import Cell, Paper

CONTEXT = 3
_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
NO_END = "\\ No newline at end of file"


class Diff(NamedTuple):
    """A patch of one file, and what has to be said of it.

    A `bare` one has a change without a line around it, which `git apply` takes with `--unidiff-zero` alone.
    """

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    bare: bool = False


class Piece(NamedTuple):
    """A line on its way into a hunk: its sign, whether a line end follows, its numbers on both sides."""

    sign: str
    cell: Cell
    ended: bool
    old: int
    new: int


def diff(paper: Paper) -> Diff | None:
    """The patch of one file; null where nothing differs. A change that cannot be written is a note."""
    old, new = _tokens(paper.before, paper.open), _tokens(paper.now, paper.open)
    moved = paper.was != paper.path and paper.before is not None and paper.now is not None
    if paper.before is None and paper.now is None:
        return None
    pieces = list(_walk(old, new))
    if paper.now is None and (paper.open or any(piece.cell.text is None for piece in pieces)):
        return Diff((), (f"{paper.was} was deleted; its text is not recorded whole, so no diff can say it",))
    both = paper.before is not None and paper.now is not None
    if both and not moved and all(piece.sign == " " for piece in pieces):
        return None
    lines, bare = _hunks(pieces, open_end=paper.open)
    notes = []
    if bare:
        why = "no unchanged line around a change is recorded, so it is a comment in the patch"
        notes.append(f"{paper.path}: {why}; git apply takes it with --unidiff-zero alone")
    if paper.guessed:
        notes.append(f"{paper.path}: line numbers are not recorded; git apply finds the place by the text")
    return Diff((*_header(paper, moved=moved, changed=bool(lines)), *lines), tuple(notes), bare)


def changed_parts(paper: Paper) -> list[list[Piece]]:
    """The changed parts of a file with known lines around them, for a drawing of its two sides."""
    pieces = list(_walk(_tokens(paper.before, paper.open), _tokens(paper.now, paper.open)))
    return [pieces[low:high] for low, high in _ranges(pieces)]


def _tokens(side: list[Cell] | None, goes_on: bool) -> list[tuple[Cell, bool]]:
    """Lines with whether a line end follows; the empty last cell is the end of the line before it."""
    if not side:
        return []
    if goes_on:
        return [(cell, True) for cell in side]
    if side[-1].text == "":
        return [(cell, True) for cell in side[:-1]]
    return [(cell, True) for cell in side[:-1]] + [(side[-1], side[-1].text is None)]


def _walk(old: list[tuple[Cell, bool]], new: list[tuple[Cell, bool]]) -> Iterator[Piece]:
    """Both sides in step: cells that are on both are common, the others were taken away or added."""
    kept = {(id(cell), ended) for cell, ended in old} & {(id(cell), ended) for cell, ended in new}
    at, to = 0, 0
    while at < len(old) or to < len(new):
        if at < len(old) and (id(old[at][0]), old[at][1]) not in kept:
            yield Piece("-", *old[at], at + 1, to + 1)
            at += 1
        elif to < len(new) and (id(new[to][0]), new[to][1]) not in kept:
            yield Piece("+", *new[to], at + 1, to + 1)
            to += 1
        else:
            yield Piece(" ", *old[at], at + 1, to + 1)
            at, to = at + 1, to + 1


def _hunks(pieces: list[Piece], *, open_end: bool) -> tuple[list[str], bool]:
    """The hunks, and whether one of them has no line after its change although the file goes on."""
    found: list[str] = []
    bare = False
    for low, high in _ranges(pieces):
        part = pieces[low:high]
        olds = sum(piece.sign != "+" for piece in part)
        news = sum(piece.sign != "-" for piece in part)
        start_old, start_new = part[0].old - (not olds), part[0].new - (not news)
        found.append(f"@@ -{start_old},{olds} +{start_new},{news} @@")
        for piece in part:
            found.append(piece.sign + (piece.cell.text or ""))
            if not piece.ended:
                found.append(NO_END)
        goes_on = high < len(pieces) or open_end
        bare = bare or (part[-1].sign != " " and goes_on)
    return found, bare


def _ranges(pieces: list[Piece]) -> Iterator[tuple[int, int]]:
    """Changed pieces with up to three known lines around them; what overlaps is one range."""
    low: int | None = None
    high = 0
    for at, piece in enumerate(pieces):
        if piece.sign == " ":
            continue
        start = at
        while start > high and at - start < CONTEXT and _is_context(pieces[start - 1]):
            start -= 1
        if low is not None and (
            start > high or (start == high and at != high and not _touch(pieces, high, at))
        ):
            yield low, high
            low = start
        elif low is None:
            low = start
        high = at + 1
        while high < len(pieces) and high - at <= CONTEXT and _is_context(pieces[high]):
            high += 1
    if low is not None:
        yield low, high


def _touch(pieces: list[Piece], high: int, at: int) -> bool:
    """Whether only known lines lie between the end of a range and the next change."""
    return all(_is_context(piece) for piece in pieces[high:at])


def _is_context(piece: Piece) -> bool:
    return piece.sign == " " and piece.cell.text is not None


def _header(paper: Paper, *, moved: bool, changed: bool) -> Iterator[str]:
    old, new = _name("a/", paper.was), _name("b/", paper.path)
    yield f"diff --git {old} {new}"
    if paper.before is None:
        yield "new file mode 100644"
    elif paper.now is None:
        yield "deleted file mode 100644"
    elif moved:
        yield f"rename from {_name('', paper.was)}"
        yield f"rename to {_name('', paper.path)}"
    if changed:
        yield f"--- {'/dev/null' if paper.before is None else old}"
        yield f"+++ {'/dev/null' if paper.now is None else new}"


def _name(side: str, path: str) -> str:
    """A path as git writes it: quoted where it holds what would end or hide it."""
    if not _QUOTED.search(path):
        return side + path
    escaped = _QUOTED.sub(lambda match: _ESCAPES.get(match[0], f"\\{ord(match[0]):03o}"), path)
    return f'"{side}{escaped}"'
