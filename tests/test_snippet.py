"""The part of a text that a query is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.memory.snippet import Snippet, around

FILL = "lorem ipsum dolor sit amet " * 40


def marked(found: Snippet) -> list[str]:
    return [found.text[start:end] for start, end in found.spans]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Three limiters, one Limit", ["limiter"], ["limiters", "Limit"]),
        ("use RateLimiter here", ["limiter"], ["Limiter"]),
        ("use RateLimiter here", ["ratelimiter"], ["RateLimiter"]),
        ("use rate_limiter here", ["RateLimiter"], ["rate_limiter"]),
        ("the rate limiter", ["rate_limiter"], ["rate", "limiter"]),
        ("新しい限流器の話", ["限流器"], ["限流器"]),
        ("猫と犬と猫", ["猫"], ["猫", "猫"]),
        ("Zürich and zurich", ["zurich"], ["Zürich", "zurich"]),
        ("src/store/derived.py", ["derived"], ["derived"]),
        ("nothing of it", ["else"], []),
        ("", ["x"], []),
    ],
)
def test_words_are_marked_as_the_index_finds_them(text: str, words: list[str], expected: list[str]) -> None:
    assert marked(around(text, words, 1000)) == expected


def test_a_short_text_is_shown_whole() -> None:
    assert around("all of it", ["it"], 100) == Snippet("all of it", ((7, 9),))


def test_a_long_text_is_shown_where_most_of_the_words_stand_together() -> None:
    text = f"the limiter {FILL} the retry budget of the limiter {FILL} a budget"
    found = around(text, ["retry", "budget", "limiter"], 80)
    assert marked(found) == ["retry", "budget", "limiter"]
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert len(found.text) <= 80


def test_no_word_is_cut() -> None:
    found = around(f"{FILL} target {FILL}", ["target"], 60)
    assert set(found.text.strip("…").split()) <= set(FILL.split()) | {"target"}


def test_without_a_match_the_beginning_is_shown() -> None:
    found = around(FILL, ["zzyzx"], 40)
    assert found.text.startswith("lorem ipsum")
    assert found.text.endswith("…")
    assert found.spans == ()


@given(st.text(max_size=300), st.lists(st.text(max_size=8), max_size=4), st.integers(3, 80))
def test_any_text_is_cut_to_the_room_and_its_spans_lie_in_order_within(
    text: str, words: list[str], room: int
) -> None:
    found = around(text, words, room)
    assert len(found.text) <= room
    assert found.text.strip("…") in text
    last = 0
    for start, end in found.spans:
        assert last <= start < end <= len(found.text)
        last = end


@given(st.text(st.sampled_from("ab限流 _-A1\n"), max_size=200), st.integers(3, 50))
def test_a_word_of_the_text_is_marked_in_its_snippet(text: str, room: int) -> None:
    for word in text.split()[:1]:
        found = around(text, [word], room)
        assert found.spans or not any(letter.isalnum() for letter in word)


def test_a_long_text_without_blanks_is_shown_in_part() -> None:
    found = around("x" * 200_000, ["x" * 200_000], 50)
    assert len(found.text) <= 50
    assert found.spans
