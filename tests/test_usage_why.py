"""Why a prompt stands out among the costliest, and when a budget was passed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledgers import ANTHROPIC, forked, paid, settle
from sessions import START, Session, archive, iso, tool_result, tool_use
from test_terminal_story import VIEW, lines

from backstory.cli.usage_top import draw_top, top_json, why_words
from backstory.ledger.budget import Budget, passed_at, save, standings
from backstory.ledger.report import Filter
from backstory.ledger.top import Prompt, short_ids, top
from backstory.ledger.why import Why, is_test_run


def run(session: Session, command: str, *, fails: bool = False, dollars: float = 0.1, **more: object) -> None:
    """A call that runs one command, and its result."""
    number = len(session.messages)
    call_id = f"call_{number}"
    session.reply(
        tool_use(call_id, "run_commands", {"commands": [command]}),
        id=f"m-{session.session_id}-{number}",
        modelInfo=ANTHROPIC,
        metrics=paid(dollars),
        **more,
    )
    result = {"query": command, "result": "out", "success": not fails}
    if fails:
        result["error"] = "Command failed with exit code 1"
    session.add("user", [tool_result(call_id, [result])])


def told(tmp_path: Path) -> list[Prompt]:
    """The costliest prompts of what lies in the folder."""
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        settle(kept)
        return top(kept.connection, Filter(), 10).prompts


def only(tmp_path: Path) -> Why:
    (prompt,) = told(tmp_path)
    return prompt.why


@pytest.mark.parametrize(
    "command",
    [
        "npm test",
        "npm t",
        "npm run test:unit -- --watch=false",
        "cd app && CI=1 npm test -- limiter",
        "docker compose up -d redis && npm run e2e",
        "pytest -q",
        "python3 -m pytest tests/test_a.py",
        "python -m unittest",
        "uv run pytest",
        "./node_modules/.bin/vitest run",
        "npx vitest run",
        "go test ./...",
        "cargo test --workspace",
        "make test",
        "./gradlew test",
    ],
)
def test_a_test_run_is_known_by_what_is_run(command: str) -> None:
    assert is_test_run(command)


@pytest.mark.parametrize(
    "command",
    [
        "npm run typecheck",
        "grep -r test src",
        "cat pytest.ini",
        "ls tests",
        "git commit -m 'npm test'",
        "npm ci",
        "",
    ],
)
def test_a_command_that_only_names_tests_is_none(command: str) -> None:
    assert not is_test_run(command)


def test_failed_test_runs_count_until_the_first_that_passes_with_the_cost_before_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Make it pass")
    run(session, "npm test", fails=True)
    run(session, "npm test -- one", fails=True)
    run(session, "ls", fails=True)
    run(session, "npm test")
    run(session, "npm test", dollars=0.6)
    session.write()
    why = only(tmp_path)
    assert (why.failed_tests, why.failed_commands, why.passed) == (2, 3, True)
    assert why.before_pass == pytest.approx(0.4)
    assert why_words(why, {}) == [
        "2 failed test runs on the way, 40% of the prompt's cost lies before the first pass"
    ]


def test_a_pass_before_every_failure_is_no_pass_after_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Break it")
    run(session, "npm test")
    run(session, "npm test", fails=True)
    session.write()
    why = only(tmp_path)
    assert (why.passed, why.before_pass) == (False, None)
    assert why_words(why, {}) == ["1 failed test run on the way, none passed after"]


def test_failed_commands_are_said_where_no_test_failed_and_a_quiet_prompt_says_nothing(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("First")
    run(session, "npm run lint", fails=True, dollars=0.5)
    session.prompt("Second")
    run(session, "npm test")
    session.write()
    loud, quiet = told(tmp_path)
    assert why_words(loud.why, {}) == ["1 failed command on the way"]
    assert (loud.number, quiet.number) == (1, 2)
    assert why_words(quiet.why, {}) == []


def test_an_interrupted_prompt_says_so_and_names_the_fork_that_went_on(tmp_path: Path) -> None:
    first = Session(tmp_path / "sessions", "1796026000000_first", START)
    first.prompt("Begin", id="p1")
    run(first, "ls")
    first.prompt("Go on", id="p2")
    run(first, "ls", dollars=0.5)
    assert first.manifest is not None
    first.manifest |= {"status": "cancelled", "ended_at": iso(START + 60_000)}
    first.write()
    fork = forked(first, "1796026100000_forky", START + 100_000)
    fork.prompt("In the fork", id="p3")
    run(fork, "ls", dollars=0.01)
    fork.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        settle(kept)
        found = top(kept.connection, Filter(), 10)
        shorts = short_ids(kept.connection)
    words = {prompt.text: why_words(prompt.why, shorts) for prompt in found.prompts}
    assert words == {
        "Go on": ["interrupted", "the fork forky went on from here"],
        "Begin": [],
        "In the fork": [],
    }
    drawn = lines(draw_top(VIEW, found, shorts))
    at = next(number for number, line in enumerate(drawn) if "Go on" in line)
    assert drawn[at + 1].strip() == "interrupted; the fork forky went on from here"
    assert drawn[at + 1].index("interrupted") == drawn[at].index("Go on")
    own = next(one for one in top_json(found)["prompts"] if one["text"] == "Go on")
    assert own["why"]["interrupted"] is True
    assert own["why"]["fork"] == fork.session_id


def test_a_budget_was_passed_by_the_call_that_took_the_sum_over_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Spend")
    times = [session.add("assistant", "x", modelInfo=ANTHROPIC, metrics=paid(0.4))["ts"] for _ in range(3)]
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        settle(kept)
        for scope, name, dollars in (("all", "", 0.5), ("model", "claude", 1.0), ("project", "nowhere", 0.1)):
            save(kept.connection, Budget("month", scope, name, round(dollars * 1e9)))  # type: ignore[arg-type]
        found = standings(kept.connection, START, None)
        assert {one.budget.scope: passed_at(kept.connection, one) for one in found} == {
            "all": times[1],
            "model": times[2],
            "project": None,
        }
        save(kept.connection, Budget("month", "all", "", 1_200_000_000))
        exact = standings(kept.connection, START, None)[0]
        assert (exact.spent, exact.passed, passed_at(kept.connection, exact)) == (1_200_000_000, False, None)
