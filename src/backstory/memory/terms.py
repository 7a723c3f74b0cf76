"""The words of the memory's index and of a query: identifiers whole and in parts, CJK as pairs, no stopwords."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..store.indexing import plain

LONGEST_QUERY = 4_000
"""Characters of a query that are looked at."""
MOST_WORDS = 48
"""Words of a query that are looked for."""
PART = 0.5
"""Weight of a part of an identifier that a query names."""
JOINED = 40
"""Letters of an identifier that is also indexed without its separators."""

_token = re.compile(r"\w+(?:-\w+)*")
_part = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_cut = re.compile(r"[\W_]+")
_runs = re.compile(
    r"(?P<cjk>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+)"
    r"|(?P<token>(?:(?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])[\w-])+)"
)
_separator = re.compile(r"[_-]+")
_cjk = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

STOPWORDS = frozenset(
    """
    a about all also am an and any are aren't as at be because been before being both but by can can't cannot could
    couldn't did didn't do does doesn't doing don't done each either else ever every few for from get gets getting go
    goes going got had hadn't has hasn't have haven't having he her here hers him his how i if in into is isn't it its
    just let like likely made make many may me might more most much must my no nor not now of off on once one only
    or other our ours out over own please put said same say see shall she should shouldn't since so some such than that
    the their theirs them then there these they thing things this those through to too under until up upon us very
    was wasn't way we were weren't what whatever when where whether which while who whom whose why will with within
    without won't would wouldn't yes yet you your yours d ll m re s t ve
    """.split()
)
"""Words that say nothing about what a person looks for."""


class Term(Struct, frozen=True):
    """One thing that a query asks for: any of its forms will do.

    `word` is as typed, in lower case. A form is a sequence of tokens that stand side by side in the index; one that
    ends with `*` is the beginning of a token. `weight` is below 1 for what the query implies only.
    """

    word: str
    forms: tuple[tuple[str, ...], ...]
    weight: float = 1.0


def expanded(text: str) -> str:
    """A text as the index takes it: as it is, then what its identifiers and its CJK runs are also found by."""
    text = plain(text)
    return " ".join((text if text.isascii() else _cjk.sub(_spaced, text), *_additions(text)))


def _spaced(run: re.Match[str]) -> str:
    return f" {' '.join(pairs(run[0]))} "


def pairs(run: str) -> list[str]:
    """A run of characters without blanks as overlapping pairs, and its last character, so that each begins one."""
    return [run[place : place + 2] for place in range(len(run))]


def _additions(text: str) -> Iterator[str]:
    known: dict[str, str] = {}
    for token in _token.findall(text):
        if token.isalpha() and (token.islower() or token.istitle()):
            continue
        if token not in known:
            known[token] = " ".join(_of_identifier(token))
        if known[token]:
            yield known[token]


def _of_identifier(token: str) -> Iterator[str]:
    """What an identifier is also found by: its parts, and itself without separators."""
    pieces = [piece for piece in _separator.split(token) if piece]
    for piece in pieces:
        found = parts(piece)
        if len(found) > 1:
            yield from found
    if len(pieces) > 1 and len(token) <= JOINED and not token.replace("-", "").isdecimal():
        yield "".join(pieces)


def parts(word: str) -> list[str]:
    """The parts of a camelCase word or of one with digits."""
    return _part.findall(word)


def tokens(text: str) -> list[str]:
    """The words of a text as the index's tokenizer cuts and folds them, not yet stemmed."""
    return [word for word in _cut.split(folded(text)) if word]


def folded(text: str) -> str:
    """A text in lower case, Latin, Greek and Cyrillic letters without their diacritics."""
    if text.isascii():
        return text.lower()
    apart = "".join(unicodedata.normalize("NFD", one) if one < "\u2000" else one for one in text)
    return "".join(one for one in apart if not unicodedata.combining(one)).lower()


def terms(query: str) -> list[Term]:
    """What a query asks for, each once, at most `MOST_WORDS`: first what it says, then what that implies."""
    text = plain(query[:LONGEST_QUERY]).encode("utf-8", "replace").decode()
    said = list(_said(text, STOPWORDS)) or list(_said(text, frozenset()))
    found = {term.forms[0]: term for term in reversed(said)}
    said = [term for term in dict.fromkeys(term.forms[0] for term in said) if term in found][:MOST_WORDS]
    kept = [found[form] for form in said]
    implied = [Term(part, ((part,),), PART) for term in kept for part in _implied(term)]
    more = {term.forms[0]: term for term in implied if term.forms[0] not in found}
    return [*kept, *more.values()][: 2 * MOST_WORDS]


def _said(text: str, stopwords: frozenset[str]) -> Iterator[Term]:
    for run in _runs.finditer(text):
        if run["cjk"]:
            yield from _of_cjk(run["cjk"])
        else:
            found = _of_token(run["token"], stopwords)
            if found is not None:
                yield found


def _of_cjk(run: str) -> Iterator[Term]:
    if len(run) == 1:
        yield Term(run, ((f"{run}*",),))
    for pair in pairs(run)[:-1]:
        yield Term(pair, ((pair,),))


def _of_token(token: str, stopwords: frozenset[str]) -> Term | None:
    """A word or an identifier of a query; null for a stopword."""
    cut = tokens(token)
    if not cut or " ".join(cut) in stopwords or folded(token) in stopwords:
        return None
    apart = [part for piece in _separator.split(token) for part in tokens(" ".join(parts(piece)))]
    forms = dict.fromkeys((("".join(cut),), tuple(cut), tuple(apart)))
    return Term(folded(token), tuple(form for form in forms if form))


def _implied(term: Term) -> Iterator[str]:
    """The parts of an identifier that say something by themselves."""
    for form in term.forms[1:]:
        for part in form:
            if len(part) > 1 and part not in STOPWORDS and not part.isdecimal():
                yield part


def expression(form: Sequence[str]) -> str:
    """A form as FTS5 takes it; tokens hold no quotation marks."""
    if len(form) == 1 and form[0].endswith("*"):
        return f'"{form[0][:-1]}" *'
    return '"' + " ".join(form) + '"'
