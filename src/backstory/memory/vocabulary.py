"""The words that the memory holds, and the repair of misspelt ones of a query by them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from ..store.spelling import distance as distance
from . import terms
from .terms import Term

SHORTEST, LONGEST = 3, 24
"""Letters of a word that is kept here."""
REPAIRED = 4
"""Letters of the shortest word that is repaired."""
SWAPPED = 4
"""Letters of the longest word of which only a swap is repaired: with a letter changed it is another word as soon."""
MOST = 12
"""Words of the longest query that is repaired: in a pasted text much stands nowhere, and the rest finds it."""
GUESSED = 0.7
"""Weight of a word that was taken for another."""
LIKELY = 12
"""Near words of a workspace of which the nearest and most used is taken."""
OFTEN = 500
"""Uses of a word beyond which it is as likely as any other."""
OF_TEXT = 4_000
"""Words of one text that are kept here, the first ones: a text with more is a machine's, and nobody asks for those."""
FAR = 8
"""Letters from which two slips in a word are repaired."""

_ORDINARY = """
above across actually after again against almost alone along already although always among another anybody anyone
anything anyway anywhere apart around aside away back became become becomes before began begin being below beneath
beside besides best better between beyond bring came come comes coming common could despite different down during
early easily either else enough especially even ever every everybody everyone everything everywhere exactly except
fairly far finally first following former forward four full fully further gave give given gives going gone good great
half hardly hence herself himself however indeed instead itself keep kept knew know known large largely last late
lately later latter least less little long longer made mainly make makes making many maybe mean means meanwhile
merely might mine mostly myself namely near nearly necessary need needed needs neither never nevertheless next nobody
none nonetheless normally nothing nowhere obviously often once onto other others otherwise ought ours ourselves
outside over overall particular perhaps please possible possibly previous previously probably quickly quite
rarely rather really recent recently right round said same seem seemed seems seen several shall should simple simply
since slightly slowly small somebody somehow someone something sometimes somewhat somewhere soon still such suddenly
sure take taken takes taking tell than thank thanks that their theirs them themselves then thence there thereby
therefore these they thing things think third this those though three through throughout thus together told took
toward towards tried tries truly trying twice under unless unlike unlikely until upon used useful using usually
various very want wanted wants well went were what whatever when whence whenever where whereas whereby wherever
whether which whichever while whoever whole whom whose will wish with within without wonder would yesterday yours
yourself yourselves today tomorrow
"""
ORDINARY = frozenset(_ORDINARY.split()) | terms.STOPWORDS
"""Words that everybody writes rightly and that name nothing: one that stands nowhere is no slip."""
_STANDS = """
SELECT 1 FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts MATCH ? AND coalesce(conversation.workspace, fact.workspace) = ? LIMIT ?
"""
_word = re.compile(rf"[^\W\d_]{{{SHORTEST},{LONGEST}}}")
_plain = re.compile(r"[^\W\d_]+")


def words(tokens: Iterable[str]) -> set[str]:
    """The words of a text's tokens that can repair others: letters alone, in lower case, no CJK; at most `OF_TEXT`."""
    found: set[str] = set()
    for token in tokens:
        if len(token) <= terms.LONGEST:
            found.update(_letters(token))
        if len(found) >= OF_TEXT:
            break
    return found


@lru_cache(maxsize=1 << 16)
def _letters(token: str) -> tuple[str, ...]:
    return tuple(word for word in _word.findall(terms.folded(token)) if max(word) < "\u2000")


def put(connection: sqlite3.Connection, found: Iterable[str]) -> None:
    """Keep words."""
    connection.execute(
        "INSERT OR IGNORE INTO memory_word (letter, size, word)"
        " SELECT substr(value, 1, 1), length(value), value FROM json_each(?)",
        (json.dumps(list(found)),),
    )


def prune(connection: sqlite3.Connection) -> None:
    """Take out the words that no text of the index has any more: what is forgotten leaves no word behind."""
    left = {term for (term,) in connection.execute("SELECT term FROM memory_terms")}
    every = connection.execute("SELECT letter, size, word FROM memory_word").fetchall()
    connection.executemany(
        "DELETE FROM memory_word WHERE letter = ? AND size = ? AND word = ?",
        [row for row in every if terms.stemmed(row[2]) not in left],
    )


def known(
    connection: sqlite3.Connection, wanted: Sequence[Term], workspace: int
) -> tuple[list[Term], list[int], dict[str, str]]:
    """The terms that stand somewhere, in how many rows each, and what was taken for misspelt ones.

    Only what stands nowhere is repaired.
    """
    found: list[Term] = []
    counts: list[int] = []
    taken: dict[str, str] = {}
    is_short = sum(term.weight == 1 for term in wanted) <= MOST
    for term in wanted:
        count = _rows(connection, term.forms)
        if not (count and _stands(connection, term.forms, workspace)):
            if failed_with(connection, term.forms, workspace):
                count = max(count, 1)
            elif is_short and _plain.fullmatch(term.word):
                term, count = _instead(connection, term, workspace, taken)
        if count:
            found.append(term)
            counts.append(count)
    return found, counts, taken


def _instead(
    connection: sqlite3.Connection, term: Term, workspace: int, taken: dict[str, str]
) -> tuple[Term, int]:
    """What a word that stands nowhere is taken for, and in how many rows that stands."""
    if term.word in ORDINARY:
        return term, 0
    parts = _apart(connection, term.word, workspace)
    if parts is not None:
        taken[term.word] = " ".join(parts)
        form = terms.stemmed(parts[0]), terms.stemmed(parts[1])
        return replace(term, forms=(form,)), _rows(connection, (form,))
    word = _nearest(connection, term.word, workspace) if len(term.word) >= REPAIRED else None
    if word is None:
        return term, 0
    taken[term.word] = word
    forms = ((terms.stemmed(word),),)
    return Term(word, forms, GUESSED), _rows(connection, forms)


def _rows(connection: sqlite3.Connection, forms: Sequence[tuple[str, ...]]) -> int:
    """In how many rows of the index any of these stands."""
    return rows(connection, " OR ".join(map(terms.expression, forms)))


def _stands(connection: sqlite3.Connection, forms: Sequence[tuple[str, ...]], workspace: int) -> bool:
    """Whether any of these stands in a text of this workspace; a word of another one must not show here."""
    return _uses(connection, forms, workspace, 1) > 0


def _uses(connection: sqlite3.Connection, forms: Sequence[tuple[str, ...]], workspace: int, most: int) -> int:
    """How many texts of this workspace have any of these; beyond `most` it makes no difference."""
    expression = " OR ".join(map(terms.expression, forms))
    return len(connection.execute(_STANDS, (expression, workspace, most)).fetchall())


def failed_with(connection: sqlite3.Connection, forms: Sequence[tuple[str, ...]], workspace: int) -> bool:
    """Whether any of these stands in a failure that was mended in this workspace: it is no slip then."""
    expression = " OR ".join(map(terms.expression, forms))
    found = connection.execute(
        "SELECT 1 FROM mended_fts JOIN mended ON mended.n = mended_fts.rowid"
        " JOIN conversation ON conversation.n = mended.conversation"
        " WHERE mended_fts MATCH ? AND conversation.workspace = ? LIMIT 1",
        (expression, workspace),
    )
    return found.fetchone() is not None


def rows(connection: sqlite3.Connection, expression: str) -> int:
    """In how many rows of the index an expression stands."""
    (count,) = connection.execute(
        "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ?", (expression,)
    ).fetchone()
    return int(count)


def _apart(connection: sqlite3.Connection, word: str, workspace: int) -> tuple[str, str] | None:
    """Two words that stand side by side where the query has them as one."""
    for place in range(SHORTEST, len(word) - SHORTEST + 1):
        pair = word[:place], word[place:]
        if all(_is_known(connection, part) for part in pair):
            form = terms.stemmed(pair[0]), terms.stemmed(pair[1])
            if _stands(connection, (form,), workspace):
                return pair
    return None


def _is_known(connection: sqlite3.Connection, word: str) -> bool:
    return (
        connection.execute(
            "SELECT 1 FROM memory_word WHERE letter = ? AND size = ? AND word = ?", (word[0], len(word), word)
        ).fetchone()
        is not None
    )


def _nearest(connection: sqlite3.Connection, word: str, workspace: int) -> str | None:
    """The kept word that a misspelt one most likely means."""
    slips = 2 if len(word) >= FAR else 1
    near = []
    for candidate in _candidates(connection, word, slips):
        away = distance(word, candidate, slips)
        if away <= slips and (len(word) > SWAPPED or sorted(candidate) == sorted(word)):
            near.append((away, candidate[0] != word[0], candidate))
    found: list[tuple[int, bool, int, str]] = []
    for away, other, one in sorted(near):
        uses = _uses(connection, ((terms.stemmed(one),),), workspace, OFTEN)
        if uses:
            found.append((away, other, -uses, one))
        if len(found) == LIKELY:
            break
    return min(found)[3] if found else None


def _candidates(connection: sqlite3.Connection, word: str, slips: int) -> Iterator[str]:
    """Kept words of about the same length and letters; those with another first letter where only that is wrong."""
    own = set(word)
    for (candidate,) in connection.execute(
        "SELECT word FROM memory_word WHERE letter = ? AND size BETWEEN ? AND ?",
        (word[0], len(word) - slips, len(word) + slips),
    ):
        if len(own.symmetric_difference(candidate)) <= 2 * slips:
            yield candidate
    letters = [letter for (letter,) in connection.execute("SELECT DISTINCT letter FROM memory_word")]
    others = {word[1:], word[1] + word[0] + word[2:], *(letter + word[1:] for letter in letters)}
    others.update(letter + word for letter in letters)
    for other in sorted(others):
        if other[0] != word[0] and _is_known(connection, other):
            yield other
