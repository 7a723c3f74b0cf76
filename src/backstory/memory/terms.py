"""The words of the memory's index and of a query: identifiers with their parts, CJK as pairs, no stopwords."""

from __future__ import annotations

import re

from ..store.indexing import prepared

_word = re.compile(r"[^\W_]+(?:[._/:-]*[^\W_]+)*|\w+", re.UNICODE)
_part = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+", re.UNICODE)


def expanded(text: str) -> str:
    """A text as the index takes it: as it is, and the parts of its identifiers behind it."""
    ready = prepared(text)
    parts = [
        part
        for word in re.findall(r"\w+", ready)
        for part in (_part.findall(word) if "_" in word or not (word.islower() or word.istitle()) else ())
        if part != word
    ]
    return f"{ready} {' '.join(parts)}" if parts else ready


def terms(query: str) -> list[str]:
    """The words of a query, each once, in the form in which the index has them."""
    return list(dict.fromkeys(word.lower() for word in re.findall(r"\w+", expanded(query))))
