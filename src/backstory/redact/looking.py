"""The secrets of a text by all the ways in which they are recognised, put in order."""

from __future__ import annotations

from . import assigned, formats, placed
from .words import RUNS, Span

KINDS: tuple[str, ...] = tuple(dict.fromkeys(("private-key", *formats.KINDS, *placed.KINDS, *assigned.KINDS)))
"""Every kind; of two secrets that lie over one another the earlier kind is named."""
_LOOK = (*placed.LOOK, *assigned.LOOK)
_rank = {kind: n for n, kind in enumerate(KINDS)}


def find(text: str) -> list[Span]:
    """The secrets of a text, in order, none of them over another."""
    # One byte a character, so that places in the bytes are places in the text.
    raw = text.encode("latin-1", "replace")
    found = formats.find(text, raw.translate(RUNS))
    low = raw.lower()
    for needle, look in _LOOK:
        if needle in low:
            found += look(text, low)
    return _apart(found) if found else found


def _apart(found: list[Span]) -> list[Span]:
    """Sorted; where two lie over one another they become one."""
    apart: list[Span] = []
    for span in sorted(found):
        if apart and span.start < apart[-1].end:
            last = apart[-1]
            kind = min(span.kind, last.kind, key=_rank.__getitem__)
            apart[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            apart.append(span)
    return apart
