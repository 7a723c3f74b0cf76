"""The gold set of `bench/` holds what its README promises: answers that exist, kinds that are what they say."""

from __future__ import annotations

import re
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from gold import FOLDER, KINDS, Conversation, Gold, Kind, Query, load

LEAST_CONVERSATIONS = 110
LEAST_OF_A_KIND = 30
CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
SMALL = """
a about all and are as at be before but by do does don down else for from get has how i if in into is it its not of
off on once one or our out s should so t than that the their them they to too up was we were what when where which
while who why without
"""


@pytest.fixture(scope="module")
def gold() -> Gold:
    return load()


@pytest.fixture(scope="module")
def by_id(gold: Gold) -> dict[str, Conversation]:
    return {one.id: one for one in gold.conversations}


def answer(query: Query, by_id: dict[str, Conversation]) -> str:
    """The text of the exchanges that are right."""
    exchanges = by_id[query.conversation].exchanges
    return "\n".join(f"{exchanges[index].asked}\n{exchanges[index].answered}" for index in query.exchange)


def whole(conversation: Conversation) -> str:
    said = [text for one in conversation.exchanges for text in (one.asked, one.answered)]
    return "\n".join((conversation.title, *conversation.files, *said))


def words(text: str) -> list[str]:
    """Runs of letters and digits as they stand, in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


def pieces(text: str) -> set[str]:
    """The same, with the parts of camelCase names beside the names themselves."""
    return set(words(text)) | {part.lower() for part in re.findall(r"[A-Z]?[a-z]+", text)}


def content(text: str) -> list[str]:
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    return [word for word in parts if word not in SMALL.split()]


def stem(word: str) -> str:
    """A crude one: enough to see `lock` in `locked` and `renew` in `renewal`."""
    return word[:4] if len(word) < 7 else word[:5]


def squeezed(text: str) -> str:
    """Letters and digits alone, so that `rate limiter`, `rate_limiter` and `RateLimiter` are the same."""
    return "".join(words(text))


def distance(one: str, other: str) -> int:
    """Letters to add, drop, change or swap with their neighbour to make one word of the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            best = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                best = min(best, before[column - 2] + 1)
            line.append(best)
        before, last = last, line
    return last[-1]


def test_there_are_enough_conversations_in_many_projects_over_eight_months(gold: Gold) -> None:
    assert len(gold.conversations) >= LEAST_CONVERSATIONS
    assert len({one.project for one in gold.conversations}) >= 15
    months = {(one.at.year, one.at.month) for one in gold.conversations}
    assert months == {(2026, month) for month in range(3, 11)}


def test_no_conversation_is_empty(gold: Gold) -> None:
    for one in gold.conversations:
        assert one.title.strip(), one.id
        assert one.exchanges, one.id
        assert all(part.asked.strip() and part.answered.strip() for part in one.exchanges), one.id


def test_ids_are_unique_and_say_when_the_session_began(gold: Gold) -> None:
    ids = [one.id for one in gold.conversations]
    assert len(set(ids)) == len(ids)
    for one in gold.conversations:
        assert re.fullmatch(r"\d{13}_[0-9a-z]{5}", one.id)
        assert one.at.utcoffset() == timedelta(0), one.id
        assert int(one.id[:13]) == round(one.at.timestamp() * 1000), one.id


def test_no_text_and_no_query_stands_twice(gold: Gold) -> None:
    answers = Counter(part.answered for one in gold.conversations for part in one.exchanges)
    queries = Counter(query.query for query in gold.queries)
    assert [text for text, count in (answers + queries).items() if count > 1] == []


def test_every_query_names_a_conversation_and_exchanges_that_exist(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    for query in gold.queries:
        assert query.query.strip() == query.query != ""
        assert query.exchange, query
        assert len(set(query.exchange)) == len(query.exchange), query
        assert all(0 <= index < len(by_id[query.conversation].exchanges) for index in query.exchange), query


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_enough_queries(gold: Gold, kind: Kind) -> None:
    assert len(gold.of_kind(kind)) >= LEAST_OF_A_KIND


def test_every_conversation_is_asked_for(gold: Gold) -> None:
    assert {query.conversation for query in gold.queries} == {one.id for one in gold.conversations}


def test_keywords_stand_in_the_conversation_and_at_least_half_in_the_exchange(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    for query in gold.of_kind("keyword"):
        wanted = words(query.query)
        around = set(words(whole(by_id[query.conversation])))
        inside = set(words(answer(query, by_id)))
        assert [word for word in wanted if word not in around] == [], query.query
        assert 2 * sum(word in inside for word in wanted) >= len(wanted), query.query


def test_a_paraphrase_uses_other_words_than_its_exchange(gold: Gold, by_id: dict[str, Conversation]) -> None:
    for query in gold.of_kind("paraphrase"):
        wanted, inside = content(query.query), set(content(answer(query, by_id)))
        shared = [word for word in wanted if word in inside]
        assert len(shared) <= 0.4 * len(wanted), (query.query, shared)


def test_nine_paraphrases_in_ten_leave_a_stem_to_find_the_conversation_by(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    queries = gold.of_kind("paraphrase")
    without = []
    for query in queries:
        around = {stem(word) for word in content(whole(by_id[query.conversation]))}
        if not around & {stem(word) for word in content(query.query)}:
            without.append(query.query)
    assert len(without) <= 0.1 * len(queries), without


def test_an_identifier_is_in_its_conversation_when_joints_and_case_are_ignored(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    for query in gold.of_kind("identifier"):
        target = by_id[query.conversation]
        inside = squeezed(answer(query, by_id) + "\n".join(target.files))
        assert squeezed(query.query) in inside, query.query


def test_half_of_the_identifiers_are_written_otherwise_than_in_the_conversation(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    queries = gold.of_kind("identifier")
    otherwise = [query for query in queries if query.query not in whole(by_id[query.conversation])]
    assert 2 * len(otherwise) >= len(queries)


def test_a_pasted_error_shares_words_with_its_exchange_but_is_not_a_copy(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    for query in gold.of_kind("error"):
        shared = set(words(query.query)) & set(words(answer(query, by_id)))
        assert len({word for word in shared if len(word) >= 4}) >= 3, query.query
        assert query.query not in whole(by_id[query.conversation]), query.query


def test_a_misspelt_word_stands_nowhere_but_is_near_a_word_of_the_conversation(
    gold: Gold, by_id: dict[str, Conversation]
) -> None:
    everything = {word for one in gold.conversations for word in pieces(whole(one))}
    for query in gold.of_kind("typo"):
        misspelt = [word for word in words(query.query) if word not in everything]
        assert misspelt, query.query
        around = pieces(whole(by_id[query.conversation]))
        for word in misspelt:
            near = 1 if len(word) < 6 else 2
            assert min(distance(word, other) for other in around) <= near, (query.query, word)


def test_cjk_queries_and_their_answers_are_cjk(gold: Gold, by_id: dict[str, Conversation]) -> None:
    for query in gold.of_kind("cjk"):
        assert CJK.search(query.query), query.query
        assert CJK.search(answer(query, by_id)), query.query
    assert not any(CJK.search(query.query) for query in gold.queries if query.kind != "cjk")


def test_chinese_japanese_and_korean_are_all_there(gold: Gold) -> None:
    queries = [query.query for query in gold.of_kind("cjk")]
    kana = sum(bool(re.search("[\u3040-\u30ff]", query)) for query in queries)
    hangul = sum(bool(re.search("[\uac00-\ud7af]", query)) for query in queries)
    assert kana >= 8
    assert hangul >= 8
    assert len(queries) - kana - hangul >= 12
    assert sum(bool(re.search("[A-Za-z]{3}", query)) for query in queries) >= 5


def test_the_readme_says_how_many_of_each_kind_there_are(gold: Gold) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    told = {kind: int(count) for kind, count in re.findall(r"^\| `(\w+)` \| (\d+) \|", readme, re.MULTILINE)}
    assert told == Counter(query.kind for query in gold.queries)
    exchanges = sum(len(one.exchanges) for one in gold.conversations)
    assert f"{len(gold.conversations)} conversations with {exchanges} exchanges" in readme
