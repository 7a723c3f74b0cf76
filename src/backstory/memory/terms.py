"""The words of the memory's index and of a query: identifiers whole and in parts, CJK as pairs, all as stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from ..store.indexing import plain
from . import volatile
from .stem import stem

LONGEST_QUERY = 8_000
"""Characters of a query that are looked at: of a longer one a quarter from its beginning and the rest from its end."""
MOST_TERMS = 40
"""Words of a query that are looked for; of more, those of the last lines that say what went wrong."""
PART = 0.4
"""Weight of a part of an identifier that a query names, beside the whole."""
JOINED = 40
"""Letters of an identifier that is also indexed without its separators."""
LONGEST = 64
"""Letters of a token; of a longer one the beginning stands for it."""
DRAWN = 16
"""Letters from which a word that changes between letters, cases and digits all the time is none."""
WRITTEN = 200
"""Letters of a word or an identifier that a person writes; of a longer one, which a machine made, the beginning stands
for it."""

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Characters that are written without blanks, as a class of a regular expression."""
IS_CJK = re.compile(f"[{CJK}]+")
_token = re.compile(r"[^\W_]+(?:[_-]+[^\W_]+)*")
_row = re.compile(r"([_-])[_-]+")
SEPARATOR = re.compile(r"[_-]+")
RUN = re.compile(f"(?P<cjk>[{CJK}]+)|[^\\W_{CJK}]+(?:[_-]+[^\\W_{CJK}]+)*")
PIECE = re.compile(r"[^\W_]+")
PART_OF = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_STOPWORDS = """
a about all also am an and any are aren as at be because been before being both but by can cannot could couldn d
did didn do does doesn doing don done each either else ever every few for from get gets getting go goes going got
had hadn has hasn have haven having he her here hers him his how i if in into is isn it its just let like likely
ll m made make many may me might more most much must my no nor not now of off on once one only or other our ours
out over own please put re s said same say see shall she should shouldn since so some such t than that the their
theirs them then there these they thing things this those through to too under until up upon us ve very was wasn
way we were weren what whatever when where whether which while who whom whose why will with within without won
would wouldn yes yet you your yours
"""
STOPWORDS = frozenset(_STOPWORDS.split())
"""Words that say nothing about what a person looks for."""


class Term(Struct, frozen=True):
    """One thing that a query asks for: any of its forms will do.

    `word` is as typed, in lower case. A form is a sequence of tokens that stand side by side in the index; one that
    ends with `*` is the beginning of a token. `weight` is 1 for what the query says, less for what that implies.
    """

    word: str
    forms: tuple[tuple[str, ...], ...]
    weight: float = 1.0


def expanded(text: str) -> str:
    """A text as the index takes it: tokens between blanks, in the order of the text.

    Identifiers are there whole and in parts, runs of CJK as overlapping pairs, everything folded and stemmed.
    """
    return indexed(cut(text))


def cut(text: str) -> list[str]:
    """The words and identifiers of a text as it has them, and the pairs of its CJK."""
    return list(map(_short, _token.findall(_apart(text))))


def _short(token: str) -> str:
    """A token up to `WRITTEN`, rows of separators counted once."""
    if len(token) <= WRITTEN:
        return token
    return _row.sub(r"\1", token)[:WRITTEN].rstrip("_-")


def indexed(found: Iterable[str]) -> str:
    """What `cut` found as the index takes it."""
    # A cache is for what comes again, and what no person writes does not.
    return " ".join(
        _of_token(token) if len(token) <= LONGEST else _of_token.__wrapped__(token) for token in found
    )


def _apart(text: str) -> str:
    """A text without terminal escapes in which CJK stands in pairs between blanks."""
    text = plain(text)
    if text.isascii():
        return text
    return IS_CJK.sub(lambda run: f" {' '.join(pairs(run[0]))} ", whole(text))


def whole(text: str) -> str:
    """A text in which equal characters are equal: composed, of normal width, no lone surrogates."""
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode())


def pairs(run: str) -> list[str]:
    """A run of characters without blanks as overlapping pairs, and its last character: each one begins a token."""
    return [run[place : place + 2] for place in range(len(run))]


@lru_cache(maxsize=1 << 16)
def _of_token(token: str) -> str:
    """The tokens by which a word or an identifier is found."""
    if token.isalpha() and (token.islower() or token.istitle()):
        return stemmed(token)
    pieces = PIECE.findall(token)
    found: list[str] = []
    for piece in pieces:
        found.append(piece)
        inner = PART_OF.findall(piece)
        if len(inner) > 1 and not _is_drawn(piece, inner):
            found += inner
    if len(pieces) > 1 and len(token) <= JOINED:
        found.append("".join(pieces))
    return " ".join(map(stemmed, found))


def _is_drawn(piece: str, inner: list[str]) -> bool:
    """Whether a machine drew it, as a hash or base64: its parts say nothing, and are many."""
    return len(piece) >= DRAWN and len(inner) * 3 > len(piece)


@lru_cache(maxsize=1 << 16)
def stemmed(word: str) -> str:
    """A word as the index has it."""
    return stem(folded(word)[:LONGEST])


def folded(word: str) -> str:
    """A word in lower case, Latin, Greek and Cyrillic letters without their diacritics."""
    if word.isascii():
        return word.lower()
    apart = "".join(unicodedata.normalize("NFD", one) if one < "\u2000" else one for one in word)
    return "".join(one for one in apart if not unicodedata.combining(one)).lower()


def ends(query: str) -> str:
    """What of a query is looked at; no word, and no line that is not too long, is cut."""
    if len(query) <= LONGEST_QUERY:
        return query
    head, tail = query[: LONGEST_QUERY // 4], query[LONGEST_QUERY // 4 + 1 - LONGEST_QUERY :]
    for blank in ("\n", " "):
        if blank in head[-WRITTEN:] and blank in tail[:WRITTEN]:
            return head[: head.rindex(blank)] + "\n" + tail[tail.index(blank) + 1 :]
    return f"{head}\n{tail}"


def terms(query: str) -> list[Term]:
    """What a query asks for, each once, at most `MOST_TERMS`: first what it says, then what that implies."""
    text = whole(plain(ends(query)))
    said = _each_once(_said(text, STOPWORDS)) or _each_once(_said(text, frozenset()))
    if len(said) > MOST_TERMS:
        # A traceback says at its end what went wrong, and begins with where.
        last = "\n".join([*reversed(volatile.told(text)), text])
        first = {term.forms[0] for term in _each_once(_said(last, STOPWORDS))[:MOST_TERMS]}
        said = [term for term in said if term.forms[0] in first] or said[:MOST_TERMS]
    known = {form for term in said for form in term.forms}
    implied = _each_once(part for one in said for part in _implied(one))
    return said + [term for term in implied if term.forms[0] not in known][:MOST_TERMS]


def _each_once(found: Iterable[Term]) -> list[Term]:
    first: dict[tuple[str, ...], Term] = {}
    for term in found:
        first.setdefault(term.forms[0], term)
    return list(first.values())


def _said(text: str, stopwords: frozenset[str]) -> Iterator[Term]:
    for run in RUN.finditer(text):
        if run["cjk"]:
            yield from _of_cjk(run["cjk"])
        elif folded(run[0]) not in stopwords:
            yield _asked(run[0])


def _of_cjk(run: str) -> Iterator[Term]:
    if len(run) == 1:
        yield Term(run, ((f"{run}*",),))
    for pair in pairs(run)[:-1]:
        yield Term(pair, ((pair,),))


def _asked(token: str) -> Term:
    """A word of a query, or an identifier by all that the index may have of it."""
    token = _short(token)
    pieces = PIECE.findall(token)
    inner = [part for piece in pieces for part in PART_OF.findall(piece)]
    forms = dict.fromkeys(tuple(map(stemmed, form)) for form in (["".join(pieces)], pieces, inner))
    return Term(folded(token), tuple(form for form in forms if form))


def _implied(term: Term) -> Iterator[Term]:
    """The parts of an identifier that say something by themselves."""
    for form in term.forms[1:]:
        for part in form:
            if len(part) > 1 and part not in STOPWORDS and not part.isdecimal():
                yield Term(part, ((part,),), PART)


def expression(form: tuple[str, ...]) -> str:
    """A form as FTS5 takes it; tokens hold no quotation marks."""
    if form[0].endswith("*"):
        return f'"{form[0][:-1]}" *'
    return '"' + " ".join(form) + '"'
