"""Which lines of a failed output say why it failed."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAMES_ERROR = re.compile(
    r"^\W*(FAIL(ED|URE)?\b|ERROR\b|E  +\S|(fatal |npm )?error\b[^a-z]|fatal:|panic:|Traceback |\w*(Error|Exception)\b)"
    r"|\S: (fatal )?error\b"
)
_MAY_NAME_ERROR = re.compile(r"\b(errors?|fail(ed|ures?)?|cannot|denied|not found)\b", re.IGNORECASE)


def excerpt(lines: Sequence[str], most: int, start: int) -> list[range]:
    """The parts to show of an output without colours, `most` lines at most: the last ones.

    Where the error is named above these, they are `start` lines from there, and the rest from the end.
    """
    count = len(lines)
    named = _named(lines, start)
    if named is None or named >= count - most:
        return [range(max(count - most, 0), count)]
    return [range(named, named + start), range(count - (most - start), count)]


def _named(lines: Sequence[str], start: int) -> int | None:
    """The first line that names the error; a weaker word counts at the start of the output alone."""
    for at, line in enumerate(lines):
        if _NAMES_ERROR.search(line) or (at < start and _MAY_NAME_ERROR.search(line)):
            return at
    return None
