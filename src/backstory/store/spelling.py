"""Which indexed words a query means that stand nowhere: those a slip or two away from what was typed."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence

REPAIRED = 4
"""Letters of the shortest word that is repaired."""
FAR = 8
"""Letters from which two slips in a word are repaired."""


def repaired(connection: sqlite3.Connection, words: Sequence[str]) -> dict[str, str]:
    """What each word of `words` that stands nowhere in the index is taken for, as far as one is near."""
    connection.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.doc_terms USING fts5vocab('main', 'doc', 'row')"
    )
    found = {}
    for word in words:
        folded = _folded(word)
        if len(folded) >= REPAIRED and folded.isalpha() and not _stands(connection, folded):
            near = _nearest(connection, folded)
            if near is not None:
                found[word] = near
    return found


def _folded(word: str) -> str:
    """A word as the index has it: in lower case, without accents."""
    apart = unicodedata.normalize("NFKD", word.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def _stands(connection: sqlite3.Connection, word: str) -> bool:
    return connection.execute("SELECT 1 FROM temp.doc_terms WHERE term = ?", (word,)).fetchone() is not None


def _nearest(connection: sqlite3.Connection, word: str) -> str | None:
    """The word with the fewest slips, of these the most common. The first letter is taken for right."""
    slips = 2 if len(word) >= FAR else 1
    own = set(word)
    near = []
    for term, count in connection.execute(
        "SELECT term, doc FROM temp.doc_terms WHERE term >= ? AND term < ?", (word[0], word[0] + "\U0010ffff")
    ):
        alike = abs(len(term) - len(word)) <= slips and len(own.symmetric_difference(term)) <= 2 * slips
        if alike and term.isalpha() and (away := distance(word, term, slips)) <= slips:
            near.append((away, -count, term))
    return min(near)[2] if near else None


def distance(one: str, other: str, most: int) -> int:
    """Slips between two words: a letter more, less, changed, or two side by side swapped; above `most` is not exact."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        now = [i]
        for j, against in enumerate(other, 1):
            cost = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]
