"""How well texts fit the terms of a query: BM25 over a text's own words, its neighbours' and what is beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from .folders import is_near
from .terms import Term

_DAY = 86_400_000


class Tuning(Struct, frozen=True):
    """How much each sign counts; `bench/recall.py` measures what a change does."""

    saturation: float = 0.6
    """BM25's k1: how soon a word that is said often counts no more."""
    length: float = 0.3
    """BM25's b: how much a long text must say a word more often."""
    near: tuple[float, ...] = (0.4, 0.2)
    """Words of the exchanges beside this one, and of those behind them, as a share of its own."""
    title: float = 1.0
    paths: float = 0.6
    failure: float = 0.3
    """Words of a failure that was mended in the exchange: of its command, its error and what made it pass."""
    coverage: float = 0.5
    """What a text gains that has all words of the query."""
    session: float = 0.15
    """What the best of the whole session adds to each exchange of it."""
    folder: float = 0.1
    """What the project at hand gains."""
    recent: float = 0.05
    """What a text of today gains; that halves with every month."""


class Text(Struct, frozen=True):
    """A text that may fit, as the index has it. `conversation` and `position` are null for a fact."""

    row: int
    conversation: int | None
    position: int | None
    folder: str | None
    at: int | None
    own: str
    title: str
    paths: str
    failure: str


class _Counted(Struct, frozen=True):
    """How often each term stands in a text, longer texts counted down; and aside of it, in each part at most once."""

    own: list[float]
    aside: list[float]


def weights(wanted: Sequence[Term], counts: Sequence[int], total: int) -> list[float]:
    """What each term says: the rarer, the more."""
    return [
        term.weight * math.log(1 + (total - count + 0.5) / (count + 0.5))
        for term, count in zip(wanted, counts, strict=True)
    ]


def scores(
    texts: Mapping[int, Text],
    wanted: Sequence[Term],
    weighed: Sequence[float],
    *,
    folder: str | None,
    now: int,
    tuning: Tuning,
) -> dict[int, float]:
    """The score of each text by its row, above 0; a text that has nothing of the query has none."""
    counted = _counted(texts, wanted, tuning)
    places = {
        (text.conversation, text.position): row for row, text in texts.items() if text.position is not None
    }
    found: dict[int, float] = {}
    best: dict[int, list[float]] = {}
    everything = sum(weighed)
    for row, text in texts.items():
        own = [a + b for a, b in zip(counted[row].own, counted[row].aside, strict=True)]
        all_of_it = _with_neighbours(own, text, places, counted, tuning)
        parts = [
            weight * count * (tuning.saturation + 1) / (count + tuning.saturation)
            for weight, count in zip(weighed, all_of_it, strict=True)
        ]
        covered = sum(weight for weight, count in zip(weighed, own, strict=True) if count) / everything
        found[row] = sum(parts) * (1 + tuning.coverage * covered)
        if text.conversation is not None:
            known = best.get(text.conversation)
            best[text.conversation] = parts if known is None else list(map(max, known, parts))
    lifts = {conversation: tuning.session * sum(parts) for conversation, parts in best.items()}
    return {
        row: (score + lifts.get(texts[row].conversation or 0, 0.0)) * _boost(texts[row], folder, now, tuning)
        for row, score in found.items()
        if score > 0
    }


def _counted(texts: Mapping[int, Text], wanted: Sequence[Term], tuning: Tuning) -> dict[int, _Counted]:
    needles = [[_needle(form) for form in term.forms] for term in wanted]
    lengths = {row: text.own.count(" ") for row, text in texts.items()}
    average = sum(lengths.values()) / max(len(lengths), 1) or 1.0
    aside: dict[tuple[str, str, str], list[float]] = {}
    found = {}
    for row, text in texts.items():
        norm = 1 - tuning.length + tuning.length * lengths[row] / average
        own = [sum(map(text.own.count, forms)) / norm for forms in needles]
        key = (text.title, text.paths, text.failure)
        if key not in aside:
            aside[key] = [
                tuning.title * _is_in(text.title, forms)
                + tuning.paths * _is_in(text.paths, forms)
                + tuning.failure * _is_in(text.failure, forms)
                for forms in needles
            ]
        found[row] = _Counted(own, aside[key])
    return found


def _needle(form: tuple[str, ...]) -> str:
    """A form as it stands in the index's text: between blanks, or after one where it is a beginning."""
    return f" {form[0][:-1]}" if form[0].endswith("*") else f" {' '.join(form)} "


def _is_in(text: str, forms: Sequence[str]) -> bool:
    return any(form in text for form in forms)


def _with_neighbours(
    own: list[float],
    text: Text,
    places: Mapping[tuple[int | None, int], int],
    counted: Mapping[int, _Counted],
    tuning: Tuning,
) -> list[float]:
    if text.position is None:
        return own
    found = list(own)
    for away, weight in enumerate(tuning.near, 1):
        for place in (text.position - away, text.position + away):
            row = places.get((text.conversation, place))
            if row is not None:
                for n, count in enumerate(counted[row].own):
                    if count:
                        found[n] += weight * count
    return found


def _boost(text: Text, folder: str | None, now: int, tuning: Tuning) -> float:
    boost = 1.0
    if folder is not None and text.folder is not None and is_near(folder, text.folder):
        boost += tuning.folder
    if text.at is not None:
        boost += tuning.recent * 0.5 ** (max(now - text.at, 0) / (30 * _DAY))
    return boost
