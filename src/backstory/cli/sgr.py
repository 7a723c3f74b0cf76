"""The colours of a command's own output: drawn in our few styles on a terminal, left out elsewhere.

Only `ESC [ … m` is understood, because it carries no words; every other escape is shown. What is written is ours:
no byte of a session reaches the terminal as it is.
"""

from __future__ import annotations

import re

from .line import Line, Span, View, spans

_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_ROLES = {
    "1": "title",
    "2": "label",
    "31": "failed",
    "32": "live",
    "33": "rejected",
    "35": "agent",
    "41": "failed",
    "42": "live",
    "43": "rejected",
    "45": "agent",
    "90": "label",
    "91": "failed",
    "92": "live",
    "93": "rejected",
    "95": "agent",
}
"""Codes by the role that looks like them; every other code, and every background, is the default style."""


def colourless(text: str) -> str:
    """The text without its colours."""
    return _SGR.sub("", text)


def drawn(view: View, text: str) -> Line:
    """One line of an output with its own colours, as far as ours go; without a terminal it has none."""
    if not view.cut or "\x1b" not in text:
        return spans(view.glyphs.safe(colourless(text)))
    found: list[Span] = []
    role = ""
    at = 0
    for match in _SGR.finditer(text):
        found.append((view.glyphs.safe(text[at : match.start()]), role))
        role = _role(match[1], role)
        at = match.end()
    found.append((view.glyphs.safe(text[at:]), role))
    return tuple(span for span in found if span[0])


def _role(codes: str, before: str) -> str:
    """The role after a sequence: its last code that means one, or none after a reset."""
    role = before
    for code in codes.split(";") if codes else ["0"]:
        if code in ("0", "", "22", "39", "49"):
            role = ""
        elif code in _ROLES and not (code in ("1", "2") and role not in ("", "title", "label")):
            role = _ROLES[code]
    return role
