"""Source text in a few syntax colours, line by line; the words of a line that changed can be marked in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from ..cli.text import UNICODE

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MOST = 60_000
"""Characters of a text that are coloured; a longer one is plain."""

Piece = tuple[str, str]
"""Text and its class; the empty class is plain."""


def highlighted(path: str, text: str) -> list[list[Piece]]:
    """The lines of a text as pieces; plain where no language is known for the file's name."""
    lexer = _lexer(path) if len(text) <= MOST else None
    if lexer is None:
        return [[(line, "")] for line in text.split("\n")]
    lines: list[list[Piece]] = [[]]
    for kind, value in lexer.get_tokens(text):
        name = class_of(kind)
        for at, part in enumerate(value.split("\n")):
            if at:
                lines.append([])
            if part:
                lines[-1].append((part, name))
    wanted = text.count("\n") + 1
    # Pygments ends every text with a line end of its own.
    return [*lines, *([] for _ in range(wanted))][:wanted]


def _lexer(path: str) -> Lexer | None:
    """The lexer for a file's name, or null."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    name = PurePosixPath(path.replace("\\", "/")).name
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


def named_lexer(language: str) -> Lexer | None:
    """A lexer by the word of a fenced block, or null."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


def class_of(kind: object) -> str:
    """One of five classes for a kind of token: keyword, string, comment, number, or none."""
    name = str(kind)
    if name.startswith("Token.Comment"):
        return "hc"
    if name.startswith(("Token.Keyword", "Token.Name.Tag")):
        return "hk"
    if name.startswith("Token.Literal.String"):
        return "hs"
    if name.startswith("Token.Literal.Number"):
        return "hn"
    return ""


def drawn(pieces: Sequence[Piece], marks: Sequence[tuple[int, int]] = ()) -> Markup:
    """A line as markup; `marks` are the parts of its text, from and to, that stand out."""
    found: list[Markup] = []
    at = 0
    for text, name in pieces:
        cuts = sorted(
            {0, len(text), *(min(max(place - at, 0), len(text)) for mark in marks for place in mark)}
        )
        for low, high in pairwise(cuts):
            inside = any(start <= at + low and at + high <= end for start, end in marks)
            found.append(_span(text[low:high], f"{name} w".strip() if inside else name))
        at += len(text)
    return Markup("").join(found)


def _span(text: str, name: str) -> Markup:
    safe = escape(visible(text))
    return Markup('<span class="{}">{}</span>').format(name, safe) if name else safe


def visible(text: str) -> str:
    """Code whose tabs are blanks, and whose control characters and direction marks can be seen."""
    return UNICODE.safe(text.expandtabs(4))


def plain(text: str) -> list[list[Piece]]:
    """Lines without colours."""
    return [[(line, "")] for line in text.split("\n")]
