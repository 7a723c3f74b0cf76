"""What stays of an error message from one run to the next: no folders, numbers, times, addresses and ids."""

from __future__ import annotations

import re

_volatile = re.compile(
    r"""
    \d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?     # dates
    | \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b                       # UUIDs
    | \b0x[0-9a-fA-F]+\b
    | \b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b                                    # hashes
    # The folders of a path. None begins within a run of slashes, and none is endless: a long run would cost its square.
    | (?<![\w.@~+-])(?:(?<![\\/])|(?![\\/]))(?:[A-Za-z]:)?
      (?:[\w.@~+-]*+[\\/]++(?=[\w.@~+-])){1,200}(?=[\w.@+-])
    | (?<!\w)[-+]?\d+(?:[.,:]\d+)*\s?(?:%|[A-Za-z]{1,3})?(?!\w)                      # numbers with their units
    """,
    re.VERBOSE,
)
_frame = re.compile(r"""\s*(?:File\ "|at\ |\#\d+\s|-+>|\d+\s*[|:]|\|)""", re.VERBOSE)


def steady(text: str) -> str:
    """A text without what changes from one run to the next; its lines stay lines."""
    return _volatile.sub(" ", text)


def lines(text: str) -> list[str]:
    """The lines that say what went wrong, steady; where in the code it did, is left out."""
    return [steady(line) for line in told(text)]


def told(text: str) -> list[str]:
    """The lines that say what went wrong, as they are: no frames, nor the code that Python shows below one."""
    found: list[str] = []
    code: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if _frame.match(line):
            code = indent if line.lstrip().startswith('File "') else None
        elif line.strip() and (code is None or indent <= code):
            found.append(line)
            code = None
    return found
