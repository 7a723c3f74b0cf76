"""The one style sheet and the one script: written to be read, served without what only people need."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
PARTS = ("base", "frame", "list", "session", "bodies", "search", "changes", "memory", "usage")
"""In the order in which they hold: a later one goes before an earlier one of equal weight."""

_comment = re.compile(r"/\*.*?\*/", re.DOTALL)
_blanks = re.compile(r"\s+")
_around = re.compile(r" ?([{};,]) ?")
_value = re.compile(r"(?<=[\w-]): ")


@cache
def script() -> str:
    """The one script without indentation and lines of comment; no text of it spans lines and would lose them."""
    lines = (line.strip() for line in (STATIC / "app.js").read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


@cache
def sheet() -> str:
    """The whole of it, without comments, line ends and blanks that mean nothing."""
    return squeezed("".join((STATIC / f"{part}.css").read_text("utf-8") for part in PARTS))


def squeezed(css: str) -> str:
    """Rules without comments and blanks. Blanks inside quotes are kept single; our sheet has none that are longer."""
    text = _blanks.sub(" ", _comment.sub("", css)).strip()
    return _value.sub(":", _around.sub(r"\1", text)).replace(";}", "}")
