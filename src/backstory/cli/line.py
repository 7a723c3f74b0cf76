"""A line to be drawn: spans of text, each with the role that decides its style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import NamedTuple

from .text import UNICODE, Glyphs, cells, cut, wrap

Span = tuple[str, str]
"""Text and its role; the empty role is the terminal's default style."""

Line = tuple[Span, ...]

STYLES = {
    "title": "1",
    "label": "2",
    "failing": "1;37;41",
    "failed": "31",
    "rejected": "33",
    "live": "32",
    "removed": "31",
    "agent": "35",
    "hit": "7",
    "estimated": "2",
    "covered": "2",
}
"""SGR parameters by role, in the terminal's own sixteen colours; `failing` alone has a background."""

PROSE_MARGIN = 4
"""Cells that running text leaves free at the right, so that it is not read as a column."""


class View(NamedTuple):
    """What a drawing depends on: the output's width and symbols, the clock, the zone.

    `cut` is false where the output is no terminal: nothing is left out then, and lines may be longer.
    `tz` null is the zone of this machine. `now` is in ms. `home` is written as `~` in paths.
    """

    width: int = 100
    cut: bool = True
    now: int = 0
    tz: tzinfo | None = None
    glyphs: Glyphs = UNICODE
    home: str = ""


def spans(*parts: str | Span) -> Line:
    """A line of spans; a bare string has no role."""
    return tuple((part, "") if isinstance(part, str) else part for part in parts)


def width(line: Iterable[Span]) -> int:
    """The cells that a line takes."""
    return sum(cells(text) for text, _ in line)


def plain(line: Iterable[Span]) -> str:
    """The line without styles."""
    return "".join(text for text, _ in line).rstrip()


def paint(line: Sequence[Span], *, colour: bool) -> str:
    """The line as it is written; blanks at the end are dropped unless a style shows them."""
    if not colour:
        return plain(line)
    found = []
    for text, role in line:
        style = STYLES.get(role)
        found.append(f"\x1b[{style}m{text}\x1b[0m" if style and text else text)
    return "".join(found).rstrip(" ")


def cut_line(line: Sequence[Span], room: int, glyphs: Glyphs, *, at_word: bool = False) -> Line:
    """The line in at most `room` cells; the sign for a cut has the role of the text that it ends."""
    if width(line) <= room:
        return tuple(line)
    found: list[Span] = []
    for at, (text, role) in enumerate(line):
        taken = cells(text)
        rest = line[at + 1 :]
        if taken > room or (taken + len(glyphs.cut) > room and width(rest)):
            found.append((cut(text + " " * room, room, glyphs, at_word=at_word), role))
            return tuple(found)
        found.append((text, role))
        room -= taken
    return tuple(found)


def joined(groups: Iterable[Line], gap: int = 3) -> Line:
    """Groups side by side with blanks between them; empty ones leave no gap."""
    found: list[Span] = []
    for group in groups:
        if not any(text for text, _ in group):
            continue
        if found:
            found.append((" " * gap, ""))
        found.extend(group)
    return tuple(found)


def beside(view: View, left: Sequence[Span], right: Sequence[Span] = (), *, at_word: bool = False) -> Line:
    """One line with `right` at the edge. It is `left` that is cut, and on a terminal alone."""
    taken = width(right)
    room = view.width - (taken + 2 if taken else 0)
    if view.cut:
        left = cut_line(left, room, view.glyphs, at_word=at_word)
    if not taken:
        return tuple(left)
    return (*left, (" " * max(view.width - width(left) - taken, 2), ""), *right)


def paragraphs(view: View, text: str, indent: int, *, margin: int = PROSE_MARGIN) -> list[str]:
    """Running text in lines that fit behind an indent; its own line ends and blank lines stay."""
    room = view.width - indent - margin
    found: list[str] = []
    for line in view.glyphs.lines(text):
        found.extend(wrap(line, room, break_words=view.cut))
    return found


def flow(view: View, groups: Sequence[Line], indent: int = 0, gap: int = 3) -> list[Line]:
    """Groups in as few lines as hold them, broken between groups only; one that is too long is cut."""
    found: list[Line] = []
    pad: Line = ((" " * indent, ""),) if indent else ()
    current: list[Span] = []
    for group in groups:
        if not width(group):
            continue
        if current and width(pad) + width(current) + gap + width(group) > view.width:
            found.append((*pad, *current))
            current = []
        if current:
            current.append((" " * gap, ""))
        current.extend(group)
    if current:
        found.append((*pad, *current))
    return [cut_line(line, view.width, view.glyphs) if view.cut else line for line in found]
