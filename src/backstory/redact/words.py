"""What the parts of this package share: a secret's place, and the strings without one of which there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

RUN = 20
"""Least length of a run of letters, digits, `_` and `-` that a secret has which is recognised by itself."""
RUNS = bytes(97 if (chr(n).isalnum() and n < 128) or n in b"_-" else 32 for n in range(256))
"""Translates what a run has to `a`, everything else to a blank."""
NEEDLES = (b"pass", b"key", b"token", b"auth", b"secret", b"pwd")
"""In lower case: one of them stands before every other secret, if it is not in a URL, beside one, or in a command."""


class Span(NamedTuple):
    """A secret: text[start:end]."""

    start: int
    end: int
    kind: str


Look = Callable[[str, bytes], list[Span]]
"""From a text, and the same in lower case with one byte a character, to the secrets in it."""
