"""Which passages a query brings up, and in which order; sessions go through the whole real path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from remembered import HOUR, Memories, answers, first, mended
from sessions import START

from backstory.memory.own import Own
from backstory.memory.recall import PER_SESSION


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    made = Memories(tmp_path)
    yield made
    made.archive.close()


def test_the_exchange_that_has_the_words_comes_first_with_its_place(memories: Memories) -> None:
    memories.said(("How is the cache warmed?", "By a job at night."))
    session = memories.said(("Add a retry budget", "Done."), ("Where is it read?", "In gateway.py."))
    memories.learn()
    passage = first(memories.recall("retry budget"))
    assert (passage.session_id, passage.position, passage.asked) == (session, 1, "Add a retry budget")
    assert passage.source == f"conversation/{session}"


def test_a_text_that_has_more_of_the_query_comes_first(memories: Memories) -> None:
    memories.said(("Deadlock deadlock deadlock in the orders", "Fixed."))
    memories.said(("Deadlock of the nightly stock job", "Fixed by order."))
    memories.learn()
    assert first(memories.recall("deadlock nightly stock")).asked == "Deadlock of the nightly stock job"


def test_a_rare_word_counts_more_than_a_common_one(memories: Memories) -> None:
    for n in range(6):
        memories.said((f"Question {n} about the parser", "An answer about the parser."))
    memories.said(("The tokenizer loops", "It was a lookahead."))
    memories.learn()
    assert first(memories.recall("parser tokenizer")).asked == "The tokenizer loops"


def test_words_of_the_exchanges_beside_it_count_too(memories: Memories) -> None:
    memories.said(("Shall we cache the tariffs?", "Yes."), ("And how long?", "Ten minutes, by wall time."))
    memories.said(("And how long is the night?", "Ten hours."))
    memories.learn()
    found = memories.recall("how long are tariffs cached, ten minutes?")
    assert first(found).answered in ("Yes.", "Ten minutes, by wall time.")
    assert answers(found)[-1] == "Ten hours."


def test_an_exchange_without_any_word_of_the_query_is_found_by_its_neighbours(memories: Memories) -> None:
    memories.said(("Rotate the signing keys", "Planned."), ("go", "Finished."))
    memories.learn()
    assert answers(memories.recall("signing keys")) == ["Planned.", "Finished."]


def test_the_title_and_the_paths_are_searched(memories: Memories) -> None:
    titled = memories.said(("Go on", "All right."), title="Quarantine of flaky suites")
    made = memories.session()
    made.prompt("Have a look")
    made.ran("read_files", {"paths": ["src/billing/proration.py"]}, "[]")
    made.reply("Seen.")
    made.write()
    memories.learn()
    assert first(memories.recall("quarantine")).session_id == titled
    assert first(memories.recall("proration")).session_id == made.session_id


def test_what_a_misspelt_word_was_taken_for_is_said(memories: Memories) -> None:
    memories.said(("Which isolation level?", "Serializable."))
    memories.learn()
    found = memories.recall("isolaton levle")
    assert found.repaired == {"isolaton": "isolation", "levle": "level"}
    assert found.words == ("isolation", "level")
    assert answers(found) == ["Serializable."]


def test_two_words_that_were_typed_as_one_are_found(memories: Memories) -> None:
    memories.said(("Which connection pool?", "The one of the driver."))
    memories.learn()
    found = memories.recall("connectionpool")
    assert found.repaired == {"connectionpool": "connection pool"}
    assert answers(found) == ["The one of the driver."]


def test_nothing_is_brought_up_where_no_word_stands(memories: Memories) -> None:
    memories.said(("Which isolation level?", "Serializable."))
    memories.learn()
    assert memories.recall("zzyzx quuxly").results == ()
    assert memories.recall("").results == ()
    assert memories.recall("?!").results == ()


def test_a_session_shows_only_its_best_passages(memories: Memories) -> None:
    memories.said(*((f"Pagination question {n}", "Cursor.") for n in range(PER_SESSION + 4)))
    other = memories.said(("Pagination elsewhere", "Offset."))
    memories.learn()
    found = memories.recall("pagination", limit=10)
    by_session = [passage.session_id for passage in found.results]
    assert by_session.count(other) == 1
    assert len(by_session) == PER_SESSION + 1


def test_no_more_than_the_limit_come_best_first_and_each_once(memories: Memories) -> None:
    for n in range(12):
        memories.said((f"Webhook {n} " + "webhook " * n, f"Signature {n}"))
    memories.learn()
    for limit in (1, 3, 10):
        found = memories.recall("webhook signature", limit=limit)
        scores = [passage.score for passage in found.results]
        assert len(scores) == limit
        assert scores == sorted(scores, reverse=True)
        assert all(math.isfinite(score) and score > 0 for score in scores)
        assert len({passage.id for passage in found.results}) == limit


def test_a_forks_copied_exchange_shows_once_for_the_session_that_began_first(memories: Memories) -> None:
    origin = memories.session(at=START)
    origin.prompt("Introduce idempotency keys")
    origin.reply("On every write.")
    fork = memories.session(at=START + HOUR)
    fork.messages = list(origin.messages)
    assert fork.manifest is not None
    fork.manifest["metadata"]["fork"] = {"forkedFromSessionId": origin.session_id}
    fork.prompt("Now for refunds too: idempotency")
    fork.reply("Refunds have them.")
    fork.write()
    origin.write()
    memories.learn()
    found = memories.recall("idempotency keys", limit=10)
    assert [(passage.session_id, passage.answered) for passage in found.results] == [
        (origin.session_id, "On every write."),
        (fork.session_id, "Refunds have them."),
    ]


def test_the_project_at_hand_comes_first_among_equals(memories: Memories) -> None:
    memories.said(("Set up linting", "With a hook here."), cwd="/home/dev/one")
    memories.said(("Set up linting please", "With a hook there."), cwd="/home/dev/two")
    memories.learn()
    for folder, answer in (
        ("/home/dev/one/src", "With a hook here."),
        ("/home/dev/two", "With a hook there."),
    ):
        assert first(memories.recall("set up linting hook", folder=folder)).answered == answer


def test_another_project_still_comes_first_where_it_fits_clearly_better(memories: Memories) -> None:
    memories.said(("Set up linting of imports in the monorepo", "Done."), cwd="/home/dev/one")
    memories.said(("Set up a database", "Done too."), cwd="/home/dev/two")
    memories.learn()
    found = memories.recall("linting imports monorepo set up", folder="/home/dev/two")
    assert first(found).project == "one"


def test_among_equals_the_newer_comes_first(memories: Memories) -> None:
    memories.said(("Upgrade the compiler", "To 5.4."))
    memories.said(("Upgrade the compilers", "To 5.6."))
    memories.learn()
    assert answers(memories.recall("upgrade compiler")) == ["To 5.6.", "To 5.4."]


def test_a_project_or_a_time_limits_what_is_searched(memories: Memories) -> None:
    memories.said(("Old tracing", "Zipkin."), cwd="/home/dev/one")
    memories.said(("New tracing", "Jaeger."), cwd="/home/dev/two")
    memories.learn()
    assert answers(memories.recall("tracing", project="ONE")) == ["Zipkin."]
    assert answers(memories.recall("tracing", since=START + HOUR)) == ["Jaeger."]
    assert memories.recall("tracing", project="three").results == ()


def test_another_workspace_is_not_searched(memories: Memories) -> None:
    memories.said(("Secret tracing", "Zipkin."), cwd="/home/dev/one")
    memory = memories.archive.memory
    memory.create_workspace("work")
    memory.claim("/home/dev/one", "work")
    memories.learn()
    memory.learn("work")
    assert memories.recall("tracing").results == ()
    assert memories.recall("tracnig").repaired == {}
    assert answers(memories.recall("tracing", workspace="work")) == ["Zipkin."]


ASKED = (
    "why did the relay lose the tokens",
    "tokens of the relay",
    "tokesn",
    "brwon",
    "Error: relay refused the handshake of node quokka",
)


def seen(memories: Memories) -> list[tuple[object, ...]]:
    """All that recall answers in the default workspace."""
    found = [memories.recall(query, limit=20) for query in ASKED]
    return [
        (one.words, one.repaired, [(passage.id, passage.kind, passage.score) for passage in one.results])
        for one in found
    ]


def test_what_other_workspaces_hold_changes_nothing(memories: Memories) -> None:
    memories.archive.now = lambda: START + 99 * HOUR
    memories.said(("Why did the relay stop?", "It lost its tokens."), ("And then?", "Brown tokens came."))
    memories.said(("Paint the relay brown", "Brown it is."), cwd="/home/dev/two")
    for n in range(6):
        memories.said((f"Which parser is number {n}?", "The one with tokens."), cwd="/home/dev/three")
    mended(memories, "Error: relay refused the handshake of node quokka")
    memories.learn()
    memory = memories.archive.memory
    memory.remember("The relay is painted brown")
    before = seen(memories)
    assert before[-1][2][0][1] == "mended"  # type: ignore[index]
    for name in ("work", "play"):
        memory.create_workspace(name)
        memory.learn(name)
        memory.remember("Relay tokens tokes brawn brow brwons", name)
    memory.claim("/home/dev/four", "work")
    for n in range(9):
        memories.said((f"The relay {n} why?", "Relay relay tokes, brows."), cwd="/home/dev/four")
    mended(memories, "Error: relay refused the handshake of node wombat", cwd="/home/dev/four")
    memories.learn()
    memory.learn("work")
    assert seen(memories) == before


def test_of_very_common_words_the_newest_of_the_own_workspace_are_ranked(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.memory.rank.BUDGET", 3)
    monkeypatch.setattr("backstory.memory.rank.POOL", 2)
    for n in range(6):
        memories.said((f"Alpha question {n}", "Own."))
    memory = memories.archive.memory
    memory.create_workspace("work")
    memory.claim("/home/dev/four", "work")
    for n in range(9):
        memories.said((f"Alpha question {n}", "Theirs."), cwd="/home/dev/four")
    memories.learn()
    memory.learn("work")
    memories.said(("Alpha question 7", "Own."))
    memories.learn()
    assert answers(memories.recall("alpha", limit=2)) == ["Own.", "Own."]


def test_a_copy_makes_a_word_no_less_rare(memories: Memories) -> None:
    memories.archive.now = lambda: START + 99 * HOUR
    origin = memories.session(at=START)
    origin.prompt("Ostrich or gazelle")
    origin.reply("Both.")
    origin.write()
    memories.said(("A gazelle", "Fine."))
    memories.learn()
    scores = {query: first(memories.recall(query)).score for query in ("ostrich", "gazelle")}
    for n in range(2, 5):
        fork = memories.session(at=START + n * HOUR)
        fork.messages = list(origin.messages)
        fork.write()
    memories.learn()
    assert {query: first(memories.recall(query)).score for query in scores} == pytest.approx(scores, rel=0.02)


def test_facts_and_exchanges_compete_by_the_same_measure(memories: Memories) -> None:
    memories.said(("Where do fixtures live?", "In tests/data."), ("And the seeds?", "Beside the fixtures."))
    memories.learn()
    memories.archive.memory.remember("Fixtures are built by make fixtures, never by hand")
    memories.archive.memory.remember("The office is closed on Fridays")
    assert first(memories.recall("built fixtures make")).kind == "fact"
    assert first(memories.recall("where do fixtures live")).kind == "exchange"
    assert [passage.kind for passage in memories.recall("fixtures").results].count("fact") == 1


def test_a_grown_answer_is_found_and_what_was_replaced_is_not(memories: Memories) -> None:
    made = memories.session()
    made.prompt("Measure the allocator")
    made.reply("Measuring.")
    made.write()
    memories.learn()
    made.reply("It is jemalloc.")
    made.write()
    memories.learn()
    assert len(memories.recall("jemalloc").results) == 1
    passage = first(memories.recall("jemalloc"))
    memories.archive.memory.edit(passage.id, answered="It is mimalloc.")
    assert memories.recall("jemalloc").repaired == {}
    assert memories.recall("jemalloc").results == ()
    assert len(memories.recall("mimalloc").results) == 1


def test_of_very_common_words_those_that_stand_together_count(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.memory.rank.BUDGET", 4)
    monkeypatch.setattr("backstory.memory.rank.POOL", 2)
    for n in range(8):
        memories.said((f"Alpha question {n}", "Plain."))
        memories.said((f"Beta question {n}", "Plain."))
    memories.said(("Alpha and beta together", "Both."), ("Beta with alpha", "Both again."))
    memories.learn()
    assert sorted(answers(memories.recall("alpha beta", limit=2))) == ["Both again.", "Both."]


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.sampled_from(("red", "green", "blue", "cyan", "teal")), min_size=1, max_size=5),
        max_size=6,
    ),
    st.lists(st.sampled_from(("red", "green", "blue", "cyan", "black")), min_size=1, max_size=4),
)
def test_whoever_shares_a_word_with_the_query_is_found(
    tmp_path_factory: pytest.TempPathFactory, said: list[list[str]], asked: list[str]
) -> None:
    memories = Memories(tmp_path_factory.mktemp("recall"))
    for n, words in enumerate(said):
        memories.said((f"{' '.join(words)} n{n}n", f"Answer {n}."))
    memories.learn()
    expected = {f"Answer {n}." for n, words in enumerate(said) if set(words) & set(asked)}
    assert set(answers(memories.recall(" ".join(asked), limit=10))) == expected
    memories.archive.close()


def test_of_a_very_common_word_a_sample_tells_the_own_share(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.memory.own.MANY", 8)
    memory = memories.archive.memory
    memory.create_workspace("work")
    for n in range(40):
        memory.remember(f"alpha {n}", "work" if n % 2 else "default")
    for n in range(8):
        memory.remember(f"beta {n}", "work" if n in (0, 1, 2, 3) else "default")
    own = Own(memories.archive.connection, 1)
    assert (own.total, own.count('"alpha"'), own.about('"alpha"', 40)) == (24, 20, 20)
    assert own.about('"beta"', 8) == 4
