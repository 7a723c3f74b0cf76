"""The part of a text around the words that were looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct


class Snippet(Struct, frozen=True):
    """A part of a text in one line; `spans` are the places of the words in it, as character offsets."""

    text: str
    spans: tuple[tuple[int, int], ...]


def around(text: str, words: Sequence[str], room: int) -> Snippet:
    """At most `room` characters of a text around the first of the words."""
    whole = " ".join(text.split())
    pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in words) or r"(?!)", re.IGNORECASE)
    first = pattern.search(whole)
    begin = 0
    if len(whole) > room and first is not None and first.end() > room - 1:
        begin = whole.rfind(" ", 0, max(first.start() - room // 3, 0) + 1) + 1
    shown = ("…" if begin else "") + whole[begin:]
    if len(shown) > room:
        shown = shown[: room - 1].rstrip() + "…"
    return Snippet(shown, tuple(found.span() for found in pattern.finditer(shown)))
