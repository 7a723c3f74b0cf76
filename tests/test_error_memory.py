"""The error memory: a query that repeats an error finds first what made it pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from remembered import HOUR, Memories, edits, fails, first, mended, works
from sessions import START

from backstory.memory import terms, volatile

NODE = """\
> shop@1.4.2 test
> vitest run

 FAIL  src/cart/cart.test.ts > cart > keeps the discount
TypeError: Cannot read properties of undefined (reading 'retryBudget')
    at resolveCart (/home/dev/work/shop/src/cart/cart.ts:41:17)
    at /home/dev/work/shop/src/cart/cart.test.ts:12:3
npm ERR! Test failed.  See above for more details."""

PYTHON = """\
2026-11-03 10:14:07,221 ERROR worker 4711 at 0x7f3a9c1d2e10
Traceback (most recent call last):
  File "/srv/billing/app/payments.py", line 210, in settle
    session.commit()
sqlalchemy.exc.IntegrityError: duplicate key value violates unique constraint "uq_invoice_no"
DETAIL:  Key (invoice_no)=(20261103-17) already exists."""

RUST = "error[E0502]: cannot borrow `self.queue` as mutable because it is also borrowed as immutable"


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    made = Memories(tmp_path)
    mended(made, NODE, asked="The cart tests fail", path="src/cart/cart.ts")
    mended(made, PYTHON, command="pytest -q", asked="Settle twice", path="app/payments.py")
    mended(made, RUST, command="cargo build", asked="Borrow trouble", path="src/queue.rs")
    made.said(("How do our test runs fail with npm?", "Every npm test error is printed at the end."))
    made.learn()
    yield made
    made.archive.close()


@pytest.mark.parametrize(
    ("query", "command"),
    [
        (NODE, "npm test"),
        (PYTHON, "pytest -q"),
        (RUST, "cargo build"),
        (NODE.replace("/home/dev/work/shop", "/builds/ci/a81f/shop").replace(":41:17", ":58:9"), "npm test"),
        ("TypeError: Cannot read properties of undefined (reading 'retryBudget')", "npm test"),
        ("src/cart/cart.test.ts > cart > keeps the discount", "npm test"),
        (
            PYTHON.replace("2026-11-03 10:14:07,221", "2027-01-09T04:00:00Z")
            .replace("0x7f3a9c1d2e10", "0x55d0c0ffee")
            .replace("4711", "9")
            .replace("/srv/billing", "C:\\code\\billing")
            .replace("line 210", "line 8")
            .replace("20261103-17", "20270109-3"),
            "pytest -q",
        ),
        ('duplicate key value violates unique constraint "uq_invoice_no"', "pytest -q"),
        (
            "why do I get cannot borrow `self.queue` as mutable because it is also borrowed as immutable again?",
            "cargo build",
        ),
        ("error[E0502]: cannot borrow `self.queue` as mutable", "cargo build"),
    ],
)
def test_a_repeated_error_finds_first_what_mended_it(memories: Memories, query: str, command: str) -> None:
    passage = first(memories.recall(query))
    assert passage.kind == "mended"
    assert passage.failure is not None
    assert passage.failure.command == command
    assert passage.failure.changed != ()


@pytest.mark.parametrize(
    "query",
    [
        "error",
        "test failed",
        "npm test error",
        "npm ERR! Test failed.  See above for more details.",
        "Traceback (most recent call last):",
        "TypeError: Cannot read properties of undefined (reading 'length')",
        "the tests fail with an error in npm, how do we run them?",
        "how is the cart tested",
        "Command exited with code 1",
        'File "/srv/billing/app/payments.py", line 210, in settle',
        "which unique index does the invoice table have",
        "immutable queue or mutable queue for the events of the shop",
    ],
)
def test_common_words_alone_bring_up_no_mended_failure(memories: Memories, query: str) -> None:
    assert all(passage.kind != "mended" for passage in memories.recall(query).results)


def test_a_mended_exchange_is_not_shown_a_second_time(memories: Memories) -> None:
    found = memories.recall(PYTHON, limit=10)
    ids = [passage.id for passage in found.results]
    assert len(ids) == len(set(ids))
    scores = [passage.score for passage in found.results]
    assert scores == sorted(scores, reverse=True)


def test_the_limit_holds_for_mended_failures_too(memories: Memories) -> None:
    mended(memories, RUST, command="cargo build --release", asked="Borrow again", path="src/queue.rs")
    memories.learn()
    assert len(memories.recall(RUST, limit=1).results) == 1


def test_the_failure_of_the_project_at_hand_comes_first(memories: Memories) -> None:
    for name in ("one", "two"):
        mended(memories, RUST, command=f"cargo build -p {name}", asked=f"In {name}", cwd=f"/home/dev/{name}")
    memories.learn()
    for name in ("one", "two"):
        passage = first(memories.recall(RUST, folder=f"/home/dev/{name}"))
        assert passage.project == name


def test_workspace_project_and_time_limit_mended_failures(memories: Memories) -> None:
    def kinds(**more: object) -> set[str]:
        return {passage.kind for passage in memories.recall(RUST, **more).results}

    memories.archive.memory.create_workspace("other")
    assert "mended" not in kinds(workspace="other")
    assert "mended" not in kinds(project="elsewhere")
    assert "mended" in kinds(project="demo")
    assert "mended" not in kinds(since=START + 50 * HOUR)
    assert "mended" in kinds(since=START)


def test_the_same_failure_in_a_fork_comes_once_for_the_session_that_began_first(memories: Memories) -> None:
    panic = "thread 'main' panicked at ledger overflow while posting entry batch"
    origin = mended(memories, panic, command="cargo run", asked="The ledger panics")
    fork = memories.session()
    fork.messages = list(origin.messages)
    assert fork.manifest is not None
    fork.manifest["metadata"]["fork"] = {"forkedFromSessionId": origin.session_id}
    fork.prompt("Go on")
    fork.reply("Going on.")
    fork.write()
    memories.learn()
    found = [passage for passage in memories.recall(panic, limit=10).results if passage.kind == "mended"]
    assert [passage.session_id for passage in found] == [origin.session_id]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-11-03T10:14:07.221Z failed", "at 2027-01-01T00:00:00Z failed"),
        ("0x7f3a9c1d2e10 freed", "0xdeadbeef freed"),
        ("/home/a/x/foo.py:12: bad", "C:\\work\\foo.py:99: bad"),
        ("took 12 ms", "took 3.5s"),
        ("id 123e4567-e89b-12d3-a456-426614174000 gone", "id 00000000-0000-4000-8000-00000000000a gone"),
        ("commit 9f8e7d6c5b4a gone", "commit 1a2b3c4 gone"),
        ("line 4, column 2", "line 40, column 21"),
    ],
)
def test_what_changes_from_run_to_run_does_not_count(one: str, other: str) -> None:
    assert terms.expanded(volatile.steady(one)) == terms.expanded(volatile.steady(other))


@pytest.mark.parametrize("code", ["TS2345", "E0502", "ENOSPC", "40P01", "cafe"])
def test_codes_of_errors_count(code: str) -> None:
    assert code in volatile.steady(f"error {code}: no")


COMMON = """\
npm ERR! Test failed.  See above for more details.
AssertionError: expected log.warn to be called 1 time, but got 2 times"""


def test_an_error_of_common_words_is_known_by_the_whole_of_it(tmp_path: Path) -> None:
    made = Memories(tmp_path)
    mended(made, COMMON, command="npm test -- limiter", asked="Log it once", path="src/limiter.ts")
    made.learn()
    general, error = COMMON.split("\n")
    for query in (general, "expected log.warn to be called with an error", "npm test failed"):
        assert all(passage.kind != "mended" for passage in made.recall(query).results)
    found = made.recall(error)
    assert first(found).kind == "mended"
    assert not found.repaired, "a word of an error is no slip"
    made.archive.close()


LOCKED = """\
Traceback (most recent call last):
  File "/home/dev/work/demo/app/store.py", line 31, in save
    connection.execute(statement, values)
sqlite3.OperationalError: database is locked"""


@pytest.mark.parametrize("frames", [30, 120])
def test_a_long_traceback_is_known_by_its_end(memories: Memories, frames: int) -> None:
    mended(memories, LOCKED, command="python -m app", asked="The store stops", path="app/store.py")
    memories.said(
        *((f"What does apply_{n} do", f"func_{n} calls apply_{n} of the request") for n in range(30))
    )
    memories.learn()
    through = "\n".join(
        f'  File "/opt/other/lib{n}.py", line {7 * n + 1}, in func_{n}\n    out = apply_{n}(request, "y{n}")'
        for n in range(frames)
    )
    query = f"Traceback (most recent call last):\n{through}\nsqlite3.OperationalError: database is locked"
    found = memories.recall(query)
    passage = first(found)
    assert passage.kind == "mended"
    assert passage.failure is not None
    assert passage.failure.command == "python -m app"
    assert {"sqlite3", "operationalerror", "database", "locked"} <= set(found.words)


def test_of_a_query_that_is_too_long_beginning_and_end_are_looked_at() -> None:
    query = f"firstword {'filler ' * 3_000}lastword"
    ends = terms.ends(query)
    assert len(ends) <= terms.LONGEST_QUERY
    assert ends.startswith("firstword")
    assert ends.endswith("lastword")
    assert {term.word for term in terms.terms(query)} == {"firstword", "filler", "lastword"}


def test_frames_and_the_code_below_them_do_not_say_what_went_wrong() -> None:
    assert volatile.told(LOCKED) == [LOCKED.split("\n")[0], LOCKED.split("\n")[3]]


def test_of_errors_that_differ_in_a_number_the_very_one_comes_first(tmp_path: Path) -> None:
    made = Memories(tmp_path)
    for port in (6379, 5432, 8080):
        mended(made, f"Error: connect ECONNREFUSED 127.0.0.1:{port}", asked=f"Port {port}")
    made.learn()
    for port in (6379, 5432, 8080):
        assert first(made.recall(f"connect ECONNREFUSED 127.0.0.1:{port}")).asked == f"Port {port}"
    made.archive.close()


MOVED = (
    "error[E0382]: borrow of moved value: `config`\nfatal: could not read Username for 'https://git.example'"
)


@pytest.mark.parametrize(
    "query",
    [
        "borrow of moved value",
        "could not read Username",
        "Username",
        "pip install requests",
        "requests",
        "make wheelhouse",
        "layout_probe",
    ],
)
@pytest.mark.parametrize("others", [0, 1])
def test_a_mended_failure_is_found_by_its_words_as_an_ordinary_result(
    tmp_path: Path, query: str, others: int
) -> None:
    made = Memories(tmp_path)
    for _ in range(others):
        made.archive.memory.create_workspace("work")
        made.said(("What is in the other one", "Another thing"))
        made.archive.sync([made.root])
        made.archive.memory.learn("work")
    session = made.session()
    session.prompt("Please go on")
    fails(session, "make wheelhouse", MOVED)
    edits(session, "src/layout_probe.rs", "old", "new")
    works(session, "pip install requests")
    works(session, "make wheelhouse")
    session.reply("It passes.")
    session.write()
    made.said(("How do we name the branches", "After the ticket; install a hook, read the value in make"))
    made.learn()
    found = [one for one in made.recall(query).results if one.asked == "Please go on"]
    assert len(found) == 1
    assert found[0].failure is not None
    assert found[0].failure.command == "make wheelhouse"
    assert not made.recall(query).repaired
    made.archive.close()
