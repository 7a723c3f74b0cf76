"""`usage`, `budget` and `prices` as a person or a script runs them, over the sample sessions."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path

import pytest
from running import Run, runner
from test_prices import served  # noqa: F401  the fixture

from backstory.cli.usage import GROUPINGS, TOOLS
from backstory.demo import load, settings

PLAIN = [by for by in GROUPINGS if by not in TOOLS]


@pytest.fixture(scope="module")
def cline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Cline's with the samples, told now."""
    folder = tmp_path_factory.mktemp("cline")
    load(folder / "data" / "sessions", int(time.time() * 1000))
    settings(folder / "data")
    return folder


@pytest.fixture
def backstory(
    cline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    return runner(cline, tmp_path / "home", monkeypatch, capfd)


def test_the_heading_says_what_the_default_is(backstory: Run) -> None:
    done = backstory("usage")
    assert (done.code, done.err) == (0, "")
    heading, columns, *_ = done.out.splitlines()
    assert heading.startswith("The last 30 days, from ")
    assert columns.split()[:3] == ["DAY", "SESSIONS", "CALLS"]
    assert done.out.splitlines()[-1].startswith("30 days  ")
    assert "Reported: " not in done.out
    assert backstory("usage", "--all").out.splitlines()[0].startswith("DAY ")
    assert backstory("usage", "--all").out.splitlines()[-1].startswith("all  ")


@pytest.mark.parametrize("by", PLAIN)
def test_every_grouping_adds_up(backstory: Run, by: str) -> None:
    document = backstory("usage", "--all", "--by", by, "--json").json
    assert list(document) == ["totals", "rows"]
    totals = document["totals"]
    for part, names in (("tokens", totals["tokens"]), ("cost", totals["cost"])):
        for name in names:
            assert sum(row[part][name] for row in document["rows"]) == pytest.approx(totals[part][name])
    assert sum(row["calls"] for row in document["rows"]) == totals["calls"] > 300
    shown = backstory("usage", "--all", "--by", by)
    assert (shown.code, shown.err) == (0, "")
    lines = list(csv.reader(io.StringIO(backstory("usage", "--all", "--by", by, "--csv").out)))
    assert len(lines) == len(document["rows"]) + 1
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("by", TOOLS)
def test_what_was_used(backstory: Run, by: str) -> None:
    document = backstory("usage", "--all", "--by", by, "--json").json
    assert document["totals"] == backstory("usage", "--all", "--json").json["totals"]
    assert document["rows"]
    assert backstory("usage", "--all", "--by", by).out.count("\n") == len(document["rows"]) + 1
    assert backstory("usage", "--all", "--by", by, "--csv").out.count("\n") == len(document["rows"]) + 1
    assert backstory("usage", "--all", "--by", by, "--project", "nowhere").out == (
        "Nothing of that kind was used: all.\n"
    )
    assert backstory("usage", "--by", by, "--model", "glm").code == 2


def test_one_line_a_call(backstory: Run) -> None:
    lines = backstory("usage", "--all", "--jsonl").out.splitlines()
    totals = backstory("usage", "--all", "--json").json["totals"]
    assert len(lines) == totals["calls"]
    assert sum(json.loads(line)["tokens"]["total"] for line in lines) == totals["tokens"]["total"]


def test_spans_and_zones(backstory: Run) -> None:
    today = backstory("usage", "--day", "today", "--tz", "UTC", "--json").json["totals"]
    since = backstory("usage", "--since", "today", "--tz", "UTC", "--json").json["totals"]
    assert today == since
    whole = backstory("usage", "--all", "--json").json["totals"]["calls"]
    assert 0 < today["calls"] < whole
    parts = [
        backstory("usage", option, "2d", "--json").json["totals"]["calls"]
        for option in ("--since", "--until")
    ]
    assert sum(parts) in (whole, whole + 1)
    month = backstory("usage", "--month", "--by", "month", "--json").json
    assert len(month["rows"]) == 1
    east = backstory("usage", "--all", "--tz", "Pacific/Kiritimati", "--json").json
    assert east["totals"] == backstory("usage", "--all", "--tz", "UTC", "--json").json["totals"]


def test_filters(backstory: Run) -> None:
    rows = backstory("usage", "--all", "--by", "model", "--model", "claude", "--json").json["rows"]
    assert {row["model"].partition("-")[0] for row in rows} == {"claude"}
    rows = backstory("usage", "--all", "--by", "project", "--project", "docs-site", "--json").json["rows"]
    assert [row["project"] for row in rows] == ["docs-site"]
    done = backstory("usage", "--all", "--project", "nowhere")
    assert (done.code, done.out) == (0, "No call matches: all, project nowhere.\n")
    assert backstory("usage", "--project", "nowhere").out.endswith(
        "No call matches: 30 days, project nowhere.\n"
    )


def test_without_a_session(backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINE_DIR", str(tmp_path / "nothing"))
    assert backstory("usage", "--all").out == "No calls yet.\n"
    assert backstory("usage", "--json").json["rows"] == []
    assert backstory("usage", "--jsonl").out == ""
    assert backstory("usage", "line").out == "today –\n"
    assert backstory("usage", "top", "--json").json == {"sessions": [], "prompts": [], "calls": []}
    assert backstory("usage", "reconcile").out == "No session here has a cost that Cline recorded.\n"
    assert backstory("usage", "models", "--unpriced").out == "Every call has a price.\n"
    assert backstory("prices").out == "No calls yet.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "someday"), '"someday" is not a date'),
        (("--day", "today", "--all"), "give one of --since/--until, --day, --month and --all"),
        (("--since", "7d", "--month"), "give one of --since/--until, --day, --month and --all"),
        (("--json", "--csv"), "give one of --json, --csv and --jsonl"),
        (("top", "--csv"), "usage top has --json alone"),
        (("top", "k3v9q"), "an ID goes with usage reconcile alone"),
        (("--unpriced",), "--unpriced goes with usage models alone"),
        (("--limit", "3"), "--limit goes with usage top and usage reconcile alone"),
    ],
)
def test_wrong_calls(backstory: Run, words: tuple[str, ...], said: str) -> None:
    done = backstory("usage", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("backstory: ")
    assert said in done.err


def test_no_such_zone(backstory: Run) -> None:
    done = backstory("usage", "--tz", "Mars/Olympus")
    assert (done.code, done.out) == (2, "")
    assert 'backstory: "Mars/Olympus" is no time zone here. Write one as Europe/Berlin or UTC.' in done.err


def test_top(backstory: Run) -> None:
    done = backstory("usage", "top", "--all", "--limit", "2")
    assert (done.code, done.err) == (0, "")
    assert [line for line in done.out.splitlines() if line.startswith("Costliest")] == [
        "Costliest sessions",
        "Costliest prompts",
        "Costliest calls",
    ]
    document = backstory("usage", "top", "--all", "--limit", "2", "--json").json
    assert [len(part) for part in document.values()] == [2, 2, 2]
    amounts = [call["amount_usd"] for call in document["calls"]]
    assert amounts == sorted(amounts, reverse=True)


def test_reconcile(backstory: Run) -> None:
    document = backstory("usage", "reconcile", "--all", "--json").json
    totals = document["totals"]
    assert totals["reported_usd"] == pytest.approx(
        backstory("usage", "--all", "--json").json["totals"]["cost"]["reported_usd"]
    )
    changes = sum(one["usd"] for one in totals["differences"])
    assert totals["cline_usd"] + changes == pytest.approx(totals["reported_usd"])
    assert "unexplained" not in {one["reason"] for one in totals["differences"]}
    assert backstory("usage", "reconcile", "--all").out.endswith("Nothing is unexplained.\n")
    (own,) = backstory("usage", "reconcile", "t5d2k", "--json").json["sessions"]
    assert own["session"].endswith("_t5d2k")
    assert backstory("usage", "reconcile", "nobody").code == 1


def test_models(backstory: Run) -> None:
    unpriced = backstory("usage", "models", "--unpriced", "--all", "--json").json["models"]
    assert [one["model"] for one in unpriced] == ["in-house-coder"]
    every = backstory("usage", "models", "--all", "--json").json["models"]
    assert len(every) == 8
    assert backstory("usage", "models", "--all").out.count("\n") == 9


def test_an_own_price_is_used_at_once(backstory: Run, tmp_path: Path) -> None:
    assert backstory("usage", "--all", "--json").json["totals"]["cost"]["unpriced_calls"] == 7
    (tmp_path / "home" / "config.toml").write_text(
        '[prices."in-house-coder"]\ninput = 1\noutput = 5\n', "utf-8"
    )
    cost = backstory("usage", "--all", "--model", "in-house", "--json").json["totals"]["cost"]
    assert cost["unpriced_calls"] == 0
    assert cost["estimated_usd"] > 0
    assert backstory("--no-sync", "usage", "models", "--unpriced", "--all").out == "Every call has a price.\n"
    rows = {one["name"]: one["price"] for one in backstory("prices", "--json").json["prices"]}
    assert rows["in-house-coder"] == {
        "input": 1.0,
        "output": 5.0,
        "cache_read": None,
        "cache_write": None,
        "source": "config.toml",
    }


def test_line(backstory: Run) -> None:
    assert backstory("usage", "line").out.count("\n") == 1
    backstory("budget", "set", "0.01", "--per", "day")
    assert " · budget passed · " in backstory("usage", "line").out
    document = backstory("usage", "line", "--json").json
    assert document["budget_passed"] is True
    assert document["session"]["calls"] > 0
    assert document["today"] == backstory("usage", "--day", "today", "--json").json["totals"]


def test_budgets(backstory: Run) -> None:
    assert backstory("budget").out == "No budgets yet: backstory budget set 5 --per day\n"
    done = backstory("budget", "set", "1000", "--per", "month", "--project", "api-gateway")
    assert (done.code, done.err) == (0, "Set: $1,000.00 a month, project api-gateway.\n")
    assert backstory("budget", "check").code == 0
    backstory("budget", "set", "0.05", "--per", "day")
    done = backstory("budget", "check", "--json")
    assert done.code == 3
    assert [one["passed"] for one in done.json["budgets"]] == [True, False]
    assert backstory("budget", "list").code == 0
    assert backstory("budget", "set", "off", "--per", "day").err == "No budget a day any more.\n"
    assert backstory("budget", "set", "off", "--per", "day").err == "There was no budget a day.\n"
    assert backstory("budget", "check").code == 0


@pytest.mark.parametrize(
    "words",
    [("set",), ("list", "5"), ("set", "five"), ("set", "-1"), ("set", "5", "--project", "a", "--model", "b")],
)
def test_wrong_budgets(backstory: Run, words: tuple[str, ...]) -> None:
    done = backstory("budget", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("backstory: ")


def test_prices(backstory: Run) -> None:
    done = backstory("prices")
    assert (done.code, done.err) == (0, "")
    assert (
        " ".join(done.out.splitlines()[0].split()) == "MODEL ROUTE INPUT CACHE READ CACHE WRITE OUTPUT FROM"
    )
    document = backstory("prices", "--json").json["prices"]
    assert len(document) == done.out.count("\n") - 1
    assert next(one for one in document if one["name"] == "claude-sonnet-4-5")["price"]["input"] == 3.0


def test_prices_are_fetched_when_asked(
    backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    served_here = request.getfixturevalue("served")
    monkeypatch.setattr("genai_prices.update_prices.DEFAULT_UPDATE_URL", served_here["url"].decode())
    done = backstory("prices", "refresh", "--json")
    assert done.code == 0
    assert done.err.startswith("Prices of 1 models from 1 providers, as of ")
    assert (tmp_path / "home" / "prices.json").exists()
    assert backstory("prices", "--json").json["prices"]
    served_here["body"] = b"<html>"
    done = backstory("prices", "refresh")
    assert (done.code, done.out) == (1, "")
    assert "could not be fetched" in done.err


@pytest.mark.parametrize("said", ["1d", "24h"])
def test_a_moment_names_its_whole_day(backstory: Run, said: str) -> None:
    yesterday = backstory("usage", "--day", "yesterday", "--json").json
    assert yesterday["totals"]["calls"]
    assert backstory("usage", "--day", said, "--json").json == yesterday


@pytest.mark.parametrize(
    "said",
    [
        ("usage", "--project", ""),
        ("usage", "--model", " "),
        ("budget", "set", "1", "--project", ""),
        ("budget", "set", "off", "--model", ""),
        ("budget", "set", "5,50"),
        ("budget", "set", "1,00,000"),
        ("budget", "set", "1e3"),
        ("budget", "check", "--covered"),
        ("budget", "list", "5"),
        ("budget", "set"),
        ("budget", "--tz", "Nowhere/X"),
        ("usage", "--tz", "Nowhere/X"),
        ("usage", "--since", "today", "--until", "yesterday"),
        ("usage", "line", "--day", "yesterday"),
        ("usage", "top", "--by", "model"),
        ("usage", "--by", "model", "--jsonl"),
    ],
)
def test_what_could_be_meant_otherwise_is_refused(backstory: Run, said: tuple[str, ...]) -> None:
    done = backstory(*said)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("backstory: ")
    assert backstory("budget", "--json").json == {"budgets": []}


def test_a_budget_has_one_name_and_is_checked_by_it(backstory: Run) -> None:
    for name in ("api-gateway", "API-Gateway", "api-gateway/"):
        assert backstory("budget", "set", "1,000.50", "--project", name).code == 0
    (only,) = backstory("budget", "--json").json["budgets"]
    assert (only["name"], only["limit_usd"]) == ("api-gateway", 1000.5)
    assert backstory("budget", "set", "0.01", "--per", "day").code == 0
    assert backstory("budget", "check").code == 3
    assert backstory("budget", "check", "--per", "day").code == 3
    for one in (("--per", "month"), ("--project", "API-Gateway"), ("--project", "elsewhere")):
        assert backstory("budget", "check", *one).code == 0
    assert "Calls without a price" in backstory("budget", "check").err
    assert backstory("budget", "set", "off", "--project", "API-GATEWAY/").code == 0
    assert len(backstory("budget", "--json").json["budgets"]) == 1


def test_a_session_without_a_recorded_cost_has_none_to_compare(backstory: Run) -> None:
    assert backstory("usage", "reconcile", "7h2mx").out == "Cline recorded no cost for this session.\n"
    assert backstory("usage", "reconcile", "7h2mx", "--json").json["totals"]["cline_usd"] is None


def test_a_setting_that_is_not_known_is_refused(backstory: Run, tmp_path: Path) -> None:
    backstory("usage")
    (tmp_path / "home" / "config.toml").write_text('coverd = ["x"]\n')
    done = backstory("usage")
    assert (done.code, done.out) == (1, "")
    assert (
        "config.toml: coverd is not known. It can have idle_minutes, prices, aliases, covered, learn, editor."
        in done.err
    )


def test_nothing_found_repeats_what_was_asked(backstory: Run) -> None:
    done = backstory("usage", "--since", "1997-01-01", "--until", "1997-02-01", "--project", "api-gateway")
    assert done.out == "No call matches: since 1997-01-01, until 1997-02-01, project api-gateway.\n"
