"""Text of a session made fit for a terminal: nothing in it can act, and its width in cells is known."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

# What a terminal would obey or hide: C0 and C1 controls, marks that reorder or join nothing, lone surrogates.
# U+200C and U+200D stay, because scripts and emoji are spelt with them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANKS = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"\r\n|\n")
_WORDS = re.compile(r" *[^ ]+")


class Glyphs(NamedTuple):
    """The symbols of one output, and how text reaches it; `encoding` is null where all of Unicode does."""

    dot: str = "●"
    failing: str = "▲"
    error: str = "✕"
    interrupted: str = "◌"
    bar: str = "│"
    minus: str = "−"
    arrow: str = "→"
    cut: str = "…"
    rule: str = "─"
    line_end: str = "⏎"
    encoding: str | None = None

    def safe(self, text: str) -> str:
        """Text whose control characters, escapes and direction marks are shown and cannot act."""
        if self.encoding is None:
            return _UNSAFE.sub(_shown, text) if not text.isprintable() else text
        text = _UNSAFE.sub(_shown_plainly, text)
        if text.isascii():
            return text
        text = text.translate(_FALLBACK)
        return text.encode(self.encoding, "replace").decode(self.encoding, "replace")

    def one_line(self, text: str) -> str:
        """Safe text with every run of blanks and line ends as one blank."""
        return self.safe(_BLANKS.sub(" ", text).strip())

    def lines(self, text: str) -> list[str]:
        """The lines of a block as safe text: tabs widened, blank lines at both ends left out."""
        return [self.safe(line) for line in block(text)]


def block(text: str) -> list[str]:
    """The lines of a text as they stand in it: tabs widened, blank lines at both ends left out."""
    found = [line.expandtabs(8).rstrip() for line in _LINE_ENDS.split(text)]
    while found and not found[-1]:
        found.pop()
    while found and not found[0]:
        found.pop(0)
    return found


UNICODE = Glyphs()
_PLAIN = ("*", "!", "x", "o", "|", "-", "->", "...", "-", "\\n")
_FALLBACK = {ord(fancy): plain for fancy, plain in zip(UNICODE[:-1], _PLAIN, strict=True) if fancy}


def glyphs_for(encoding: str | None) -> Glyphs:
    """The symbols that an output of this encoding can carry."""
    name = (encoding or "ascii").lower().replace("-", "").replace("_", "")
    if name in ("utf8", "utf8sig", "utf16", "utf32"):
        return UNICODE
    return Glyphs(*_PLAIN, encoding=encoding or "ascii")


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _shown_plainly(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"<U+{code:04X}>"


def cells(text: str) -> int:
    """Columns that safe text takes at most: wide characters count 2, marks that combine count 0.

    Terminals differ on joined emoji; the sum of the parts is the most that any of them takes.
    """
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


@lru_cache(maxsize=4096)
def _cells_of(character: str) -> int:
    code = ord(character)
    if code < 0x300:
        return 1
    if code == 0xFE0F:  # asks for the wide, coloured form of the character before
        return 1
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def head(text: str, room: int) -> str:
    """The longest beginning of the text that fits into `room` cells."""
    if text.isascii():
        return text[: max(room, 0)]
    taken = 0
    for at, character in enumerate(text):
        taken += _cells_of(character)
        if taken > room:
            return text[:at]
    return text


def cut(text: str, room: int, glyphs: Glyphs = UNICODE, *, at_word: bool = False) -> str:
    """The text in at most `room` cells, with the sign for a cut where some of it is missing."""
    if cells(text) <= room:
        return text
    if room <= len(glyphs.cut):
        return glyphs.cut[: max(room, 0)]
    kept = head(text, room - len(glyphs.cut))
    if at_word and text[len(kept)] != " ":
        blank = kept.rfind(" ")
        if blank > len(kept) // 2:
            kept = kept[:blank]
    return kept.rstrip() + glyphs.cut


def wrap(text: str, room: int, *, break_words: bool = True) -> list[str]:
    """Lines of at most `room` cells, broken at blanks; a word that is too long is broken where it must be.

    The indent of the text comes back on every line, unless it takes half of the room.
    """
    if cells(text) <= room:
        return [text]
    indent = text[: len(text) - len(text.lstrip(" "))]
    if cells(indent) > room // 2:
        indent = ""
    room = max(room - cells(indent), 1)
    found: list[str] = []
    line = ""
    for word in _WORDS.findall(text.strip(" ")):
        if line and cells(line + word) > room:
            found.append(line)
            line = ""
        line += word if line else word.lstrip(" ")
        while break_words and cells(line) > room:
            part = head(line, room) or line[0]
            found.append(part)
            line = line[len(part) :]
    return [indent + line for line in (*found, line) if line]


def hard_wrap(text: str, room: int) -> list[str]:
    """The text in pieces of at most `room` cells, blanks and all, as a terminal would fold it."""
    found = []
    while cells(text) > room:
        part = head(text, room) or text[0]
        found.append(part)
        text = text[len(part) :]
    return [*found, text]
