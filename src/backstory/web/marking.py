"""The matches of a query marked in markup that is already drawn."""

from __future__ import annotations

import re

from markupsafe import Markup

_PIECES = re.compile(r"(<button\b.*?</button>|<[^>]*>|&[#\w]+;)", re.DOTALL)
"""What no mark may go into: tags, character references, and what a button says."""


class Marker:
    """Marks what a pattern finds. Without a pattern nothing is marked."""

    def __init__(self, pattern: re.Pattern[str] | None) -> None:
        self._pattern = pattern

    def __call__(self, html: Markup) -> Markup:
        """The same markup with `<mark>` around each match that lies between two tags."""
        if self._pattern is None:
            return html
        pieces = _PIECES.split(html)
        # Every second piece is one of those that stay as they are.
        pieces[::2] = [self._pattern.sub(_marked, piece) for piece in pieces[::2]]
        return Markup("".join(pieces))


def _marked(found: re.Match[str]) -> str:
    return f"<mark>{found[0]}</mark>" if found[0] else ""
