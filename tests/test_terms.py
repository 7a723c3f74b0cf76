"""The words of the memory's index and of queries."""

from __future__ import annotations

import random
import sqlite3
import string
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timelimit import within

from backstory.memory import failures, index, rank, terms, vocabulary, volatile
from backstory.memory.stem import stem
from backstory.store.database import _script

SCOPE = rank.Scope(1, 0)
letters = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9).filter(
    lambda word: word not in terms.STOPWORDS
)
ideographs = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=8)


def memory() -> sqlite3.Connection:
    """An empty store with the memory's tables."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for name in ("tables.sql", "ledger.sql", "memory.sql"):
        _script(connection, name)
    return connection


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(memory()) as connection:
        yield connection


def fact(connection: sqlite3.Connection, text: str) -> None:
    values = (text,)
    connection.execute("INSERT INTO fact (workspace, text, at, author) VALUES (1, ?, 0, 'person')", values)
    (n,) = connection.execute("SELECT max(n) FROM fact").fetchone()
    index.put(connection, index.row_of_fact(n), text)


def finds(text: str, query: str) -> bool:
    """Whether a memory of this text alone, and one that has nothing to do with it, finds it by a query."""
    with closing(memory()) as connection:
        fact(connection, "zzyzx quux")
        fact(connection, text)
        return 5 in [one.row for one in rank.ranked(connection, query, SCOPE, 5).found]


def spelt(parts: list[str]) -> list[str]:
    """The ways in which an identifier of these parts is written."""
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    pascal = "".join(part.title() for part in parts)
    return [camel, pascal, "_".join(parts), "-".join(parts), "_".join(parts).upper()]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("class RateLimiter:", "rate limiter"),
        ("class RateLimiter:", "ratelimiter"),
        ("rate_limiter = None", "ratelimiter"),
        ("rate_limiter = None", "RateLimiter"),
        ("the rate-limiter of the gateway", "rateLimiter"),
        ("the rate limiter of the gateway", "ratelimiter"),
        ("import os.path", "path"),
        ("src/store/derivedFacts.py", "derived facts"),
        ("parseHTTPResponse", "http response"),
        ("utf8 only", "utf"),
        ("utf8 only", "utf8"),
        ("MAX_RETRY_COUNT", "retry"),
        ("three limiters", "limiter"),
        ("Ein Café in Zürich", "cafe zurich"),
        ("ein cafe\u0301", "café"),
        ("ＨＩＫＡＲＩ", "hikari"),
        ("\x1b[31mdeadlock\x1b[0m detected", "deadlock"),
    ],
)
def test_a_text_is_found_by(text: str, query: str) -> None:
    assert finds(text, query)


@given(st.lists(letters, min_size=2, max_size=4), st.integers(0, 4), st.integers(0, 4))
def test_an_identifier_is_found_in_whatever_way_it_is_written(
    parts: list[str], written: int, asked: int
) -> None:
    assert finds(f"see {spelt(parts)[written]} there", spelt(parts)[asked])


@given(st.lists(letters, min_size=2, max_size=4), st.integers(0, 4), st.data())
def test_a_part_of_an_identifier_finds_it(parts: list[str], written: int, data: st.DataObject) -> None:
    assert finds(f"see {spelt(parts)[written]} there", data.draw(st.sampled_from(parts)))


@given(ideographs, st.data())
def test_any_stretch_of_a_run_without_blanks_finds_it(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    assert finds(f"before{run}after", run[start:end])


@pytest.mark.parametrize("query", ["限流", "流器", "限", "器", "レート", "제한"])
def test_chinese_japanese_and_korean_are_found_by_pairs_and_by_single_characters(query: str) -> None:
    assert finds("限流器 はレートを 제한합니다", query)


@given(st.text())
def test_expanding_depends_on_nothing_but_the_text(text: str) -> None:
    terms._of_token.cache_clear()
    once = terms.expanded(text)
    assert terms.expanded(text) == once
    twice = set(terms.expanded(f"{text} {text}").split())
    assert twice == set(once.split())


@given(st.text())
def test_a_text_is_found_by_itself_unless_it_has_no_word(text: str) -> None:
    assert finds(text, text[:200]) or not terms.terms(text[:200])


@pytest.mark.parametrize("query", ["the", "what was it", "why is that so"])
def test_a_query_of_stopwords_alone_still_finds(query: str) -> None:
    assert finds("and the reason why that was so is what it is", query)


def test_stopwords_are_not_looked_for_beside_other_words() -> None:
    assert [term.word for term in terms.terms("what is the retry budget")] == ["retry", "budget"]


@pytest.mark.parametrize(
    "query",
    [
        '"', '""', "'", "*", "a*", "NEAR(a b)", "NEAR", "AND", "OR NOT", "(", ")", "a AND (b", "own:x", "^a",
        "-a", "{a}", "\0", "a\0b", "\ud800", "x\udfffy", "", " ", "\n", "+", "a + b", "_",
        "__", "-", "…", "🙂", "e\u0301\u0301",
    ],
)  # fmt: skip
def test_no_query_is_taken_for_syntax(store: sqlite3.Connection, query: str) -> None:
    fact(store, "near and or not a b x y")
    rank.ranked(store, query, SCOPE, 5)


@given(st.text(st.characters(), max_size=60))
def test_no_query_fails(query: str) -> None:
    with closing(memory()) as connection:
        fact(connection, "something")
        rank.ranked(connection, query, SCOPE, 5)


@pytest.mark.parametrize("unit", ["word{} ", "a_b{}_", "限流器", "x", "(a{} ", "../", "1.2."])
def test_of_a_query_of_any_length_a_bounded_part_is_looked_for(store: sqlite3.Connection, unit: str) -> None:
    query = "".join(unit.format(n) for n in range(100_000 // len(unit)))
    assert len(terms.terms(query)) <= 2 * terms.MOST_TERMS
    rank.ranked(store, query, SCOPE, 5)


def test_a_stem_is_that_of_porters_algorithm() -> None:
    words = "caresses ponies cats feed agreed plastered motoring sing conflated troubled sized hopping falling failing"
    stems = "caress poni cat feed agre plaster motor sing conflat troubl size hop fall fail"
    assert [stem(word) for word in words.split()] == stems.split()


@given(
    st.text("aeiouybcdglmnrstz", min_size=1, max_size=12),
    st.sampled_from(["", "ing", "ational", "ement", "ies", "ed"]),
)
def test_a_stem_is_the_one_that_sqlite_has(begin: str, end: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'porter')")
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'row')")
        connection.execute("INSERT INTO t VALUES (?)", (begin + end,))
        assert connection.execute("SELECT term FROM v").fetchall() == [(stem(begin + end),)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("limtier", "limiter"),
        ("limiterr", "limiter"),
        ("limter", "limiter"),
        ("kimiter", "limiter"),
        ("ilmiter", "limiter"),
        ("imiter", "limiter"),
        ("concurently", "concurrently"),
        ("conccurrenty", "concurrently"),
        ("snapshoot", "snapshot"),
    ],
)
def test_a_misspelt_word_is_repaired(store: sqlite3.Connection, typed: str, meant: str) -> None:
    fact(store, "the limiter runs concurrently with a snapshot")
    found = rank.ranked(store, typed, SCOPE, 5)
    assert found.repaired == {typed: meant}
    assert [one.row for one in found.found] == [3]


def test_a_word_that_stands_somewhere_is_not_repaired(store: sqlite3.Connection) -> None:
    fact(store, "a limiter")
    fact(store, "a limited edition")
    assert rank.ranked(store, "limited", SCOPE, 5).repaired == {}
    assert rank.ranked(store, "limiters", SCOPE, 5).repaired == {}


def test_a_short_word_is_not_repaired_and_a_longer_one_by_one_slip_only(store: sqlite3.Connection) -> None:
    fact(store, "cat limiter")
    assert rank.ranked(store, "cet", SCOPE, 5).repaired == {}
    assert rank.ranked(store, "lixmitr", SCOPE, 5).repaired == {}


def test_a_word_of_four_letters_is_repaired_by_a_swap_only(store: sqlite3.Connection) -> None:
    fact(store, "skip the field of the file")
    assert rank.ranked(store, "ship", SCOPE, 5).repaired == {}
    assert rank.ranked(store, "fiel", SCOPE, 5).repaired == {"fiel": "file"}
    assert rank.ranked(store, "skpi", SCOPE, 5).repaired == {"skpi": "skip"}
    assert rank.ranked(store, "fild", SCOPE, 5).repaired == {}


def test_a_word_that_everybody_writes_rightly_is_no_slip(store: sqlite3.Connection) -> None:
    fact(store, "the river is rarer than allways and theirselves")
    for word in ("never", "rather", "always", "themselves"):
        assert rank.ranked(store, word, SCOPE, 5).repaired == {}


def test_of_equal_repairs_the_one_with_the_same_first_letter_then_the_more_frequent_is_taken(
    store: sqlite3.Connection,
) -> None:
    for text in ("rater", "later", "later", "lamer"):
        fact(store, text)
    assert rank.ranked(store, "laber", SCOPE, 5).repaired == {"laber": "later"}
    assert rank.ranked(store, "ratter", SCOPE, 5).repaired == {"ratter": "rater"}


@given(letters, letters)
def test_a_distance_is_symmetric_and_zero_only_for_equal_words(one: str, other: str) -> None:
    away = vocabulary.distance(one, other, 9)
    assert away == vocabulary.distance(other, one, 9)
    assert (away == 0) == (one == other)


def test_a_word_that_nobody_has_any_more_does_not_repair(store: sqlite3.Connection) -> None:
    fact(store, "limiter")
    index.take_out(store, [3])
    assert rank.ranked(store, "limtier", SCOPE, 5).repaired == {}


def test_a_word_that_was_taken_out_with_its_last_text_is_not_kept(store: sqlite3.Connection) -> None:
    fact(store, "the limiter and the launchCodes")
    fact(store, "the limiters")
    index.take_out(store, [3])
    vocabulary.prune(store)
    assert {word for (word,) in store.execute("SELECT word FROM memory_word")} == {
        "the",
        "limiter",
        "limiters",
    }


# --- What a machine made -----------------------------------------------------------------------------------


def drawn(seed: int, alphabet: str, count: int) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=count))


@pytest.mark.parametrize(
    "alphabet", [string.ascii_letters, string.ascii_lowercase, string.ascii_letters + "01-_"]
)
def test_of_an_endless_word_the_index_has_the_beginning(store: sqlite3.Connection, alphabet: str) -> None:
    text = drawn(1, alphabet, 100_000)
    assert sum(map(len, terms.cut(text))) <= terms.WRITTEN
    assert len(terms.expanded(f"before {text} after").split()) <= 2 + terms.WRITTEN
    fact(store, f"the limiter {text} the gateway")
    for query in ("limiter", "gateway", text[:70], text):
        assert [one.row for one in rank.ranked(store, query, SCOPE, 5).found] == [3]


def test_what_joins_words_does_not_count_as_letters_of_one() -> None:
    """Lines of a table or a drawing run from word to word."""
    for line in ("-" * 300, "_" * 300, "-_" * 300):
        assert terms.expanded(f"limiter{line}gateway") == terms.expanded("limiter-gateway")


def test_the_parts_of_what_was_drawn_are_no_words(store: sqlite3.Connection) -> None:
    hashes = [drawn(seed, "0123456789abcdef", 40) for seed in range(20)]
    assert sum(len(terms.expanded(one).split()) == 1 for one in hashes) >= 15
    for name in ("isOldEnoughToBuyIt", "parseHttp2ResponseHeaders", "toUTF8BytesOrNullIfEmpty"):
        assert len(terms.expanded(name).split()) >= 5
    fact(store, "zzyzx quux")
    fact(store, " ".join(hashes))
    assert [one.row for one in rank.ranked(store, hashes[7], SCOPE, 5).found] == [5]


def test_one_text_brings_only_so_many_words_into_the_vocabulary(store: sqlite3.Connection) -> None:
    text = drawn(3, string.ascii_lowercase + "   ", 400_000)
    index.put(store, index.row_of_fact(1), f"limiter {text}", "the gateway", ["src/throttle.py"])
    kept = {word for (word,) in store.execute("SELECT word FROM memory_word")}
    assert {"limiter", "gateway", "throttle"} <= kept
    assert vocabulary.OF_TEXT <= len(kept) < vocabulary.OF_TEXT + 10
    fact(store, "the scheduler")
    assert rank.ranked(store, "schedluer", SCOPE, 5).repaired == {"schedluer": "scheduler"}


ENDLESS = [
    "\\",
    "/",
    "a/",
    "a/~/",
    "~/",
    "a",
    "A",
    "1",
    "1.",
    "a1",
    "Aa",
    "_",
    "C:",
    "a-",
    "0x",
    "中",
    "12345678-1234-",
    "a ",
]


@pytest.mark.parametrize("part", ENDLESS)
@pytest.mark.parametrize("end", ["", " ", "~", "!"])
def test_endless_lines_take_time_in_line_with_their_length(part: str, end: str) -> None:
    """They take a part of a second where the work is linear, and minutes where it is quadratic."""
    text = part * (100_000 // len(part)) + end
    with within(30):
        volatile.lines(text)
        terms.expanded(text)
        failures.names(text)
