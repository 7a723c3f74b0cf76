"""The part of a text that a query is about, with the places of its words in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from . import terms

CUT = "…"


class Snippet(Struct, frozen=True):
    """A part of a text, `…` where something was left out. Each span is (start, end) of a match in `text`, in order."""

    text: str
    spans: tuple[tuple[int, int], ...]


class _Match(Struct, frozen=True):
    start: int
    end: int
    word: str


def around(text: str, words: Sequence[str], room: int) -> Snippet:
    """At most `room` characters of a text, around the place where most of the words stand together.

    `words` are as a person types them, such as `Recall.words`; a word is found in all its forms, in identifiers and,
    for Chinese, Japanese and Korean, as pairs. Where none of them stands, it is the beginning of the text.
    """
    matches = list(_matches(text, _wanted(words)))
    if len(text) <= room:
        return Snippet(text, _spans(matches, 0, len(text), 0))
    inner = max(room - 2 * len(CUT), 1)
    first, last = _cluster(matches, inner)
    start, end = _window(text, first, last, inner)
    before = CUT if start > 0 else ""
    after = CUT if end < len(text) else ""
    spans = _spans(matches, start, end, len(before) - start)
    return Snippet(f"{before}{text[start:end]}{after}", spans)


def _spans(matches: Sequence[_Match], start: int, end: int, shift: int) -> tuple[tuple[int, int], ...]:
    """Where the matches of a stretch stand after a shift; those that touch are one."""
    found: list[tuple[int, int]] = []
    for match in matches:
        first, last = max(match.start, start) + shift, min(match.end, end) + shift
        if first >= last:
            continue
        if found and found[-1][1] == first:
            first = found.pop()[0]
        found.append((first, last))
    return tuple(found)


def _wanted(words: Iterable[str]) -> frozenset[str]:
    """Single tokens of the index by which any of the words is found."""
    forms = [form for word in words for term in terms.terms(word) for form in term.forms]
    found = {token for form in forms for token in form}
    return frozenset(token for token in found if len(token) > 1 or not token.isascii() or len(found) == 1)


def _matches(text: str, wanted: frozenset[str]) -> Iterator[_Match]:
    """The places of a text that have one of these tokens, in order, none over another."""
    if not wanted:
        return
    for run in terms.RUN.finditer(text):
        found = _in_cjk(run["cjk"], wanted) if run["cjk"] else _in_token(run[0], wanted)
        for start, end, word in found:
            yield _Match(run.start() + start, run.start() + end, word)


def _in_cjk(run: str, wanted: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    done = 0
    for place in range(len(run)):
        pair = run[place : place + 2]
        if pair in wanted:
            yield max(place, done), place + len(pair), pair
            done = place + len(pair)
        elif f"{pair[0]}*" in wanted and place >= done:
            yield place, place + 1, pair[0]
            done = place + 1


def _in_token(token: str, wanted: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """The whole of a word or an identifier, or those parts of it that are wanted."""
    joined = _stem(terms.SEPARATOR.sub("", token))
    if joined in wanted:
        yield 0, len(token), joined
        return
    for piece in terms.PIECE.finditer(token):
        own = _stem(piece[0])
        if own in wanted:
            yield piece.start(), piece.end(), own
            continue
        for part in terms.PART_OF.finditer(piece[0]):
            if (inner := _stem(part[0])) in wanted:
                yield piece.start() + part.start(), piece.start() + part.end(), inner


def _stem(word: str) -> str:
    return terms.stemmed(word if word.isascii() else terms.whole(word))


def _cluster(matches: Sequence[_Match], inner: int) -> tuple[int, int]:
    """Where the first stretch of this length begins and ends that has the most different words, then the most."""
    best, where = (0, 0), (0, 0)
    inside: Counter[str] = Counter()
    last = 0
    for first, match in enumerate(matches):
        while last < len(matches) and (last == first or matches[last].end - match.start <= inner):
            inside[matches[last].word] += 1
            last += 1
        worth = len(inside), last - first
        if worth > best:
            best, where = worth, (match.start, matches[last - 1].end)
        inside[match.word] -= 1
        if not inside[match.word]:
            del inside[match.word]
    return where


def _window(text: str, first: int, last: int, inner: int) -> tuple[int, int]:
    """The stretch of a text to show: the cluster in its middle, no word cut where that can be."""
    last = min(last, first + inner)
    end = min(max(first - (inner - (last - first)) // 2, 0) + inner, len(text))
    start = end - inner
    place = start
    while 0 < place < first and _is_inside(text, place):
        place += 1
    if place < first or not _is_inside(text, place):
        start = place
    place = end
    while last < place < len(text) and _is_inside(text, place):
        place -= 1
    if place > max(last, start):
        end = place
    while start < first and text[start].isspace():
        start += 1
    while end > max(last, start + 1) and text[end - 1].isspace():
        end -= 1
    return start, end


def _is_inside(text: str, place: int) -> bool:
    """Whether a place lies within a word that is written without blanks."""
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and not terms.IS_CJK.match(before + after)
