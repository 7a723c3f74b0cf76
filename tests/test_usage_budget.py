"""Budgets: which calls count, in which period of which zone, and where the pace leads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from ledgers import CENT, HOUR, paid
from sessions import START, Session, archive, metrics
from test_terminal_story import VIEW, lines

from backstory import Archive
from backstory.cli.budget import draw_budgets, standing_json
from backstory.ledger.budget import Budget, Standing, budgets, remove, save, standings
from backstory.ledger.report import Figures

BERLIN = ZoneInfo("Europe/Berlin")
DAY = 24 * HOUR
NOW = START + 2 * HOUR
"""30 November 2026, a Monday, 10:06 in UTC."""


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Archive]:
    """$2 today and $3 the day before in one project, a covered and an estimated call today in another."""
    root = tmp_path / "sessions"
    for number, dollars in enumerate((2, 3)):
        start = START - number * DAY
        session = Session(root, f"{start}_paid{number}", start)
        session.prompt("Hello", id=f"p{number}")
        session.reply("Yes", id=f"a{number}", metrics=paid(dollars))
        session.write()
    for number, route in enumerate(("cline-pass", "openai-compatible")):
        session = Session(root, f"{START + 1}_free{number}", START + 1)
        assert session.manifest is not None
        session.manifest["cwd"] = "/home/dev/work/docs-site"
        session.prompt("Hello", id=f"q{number}")
        session.reply(
            "Yes",
            id=f"b{number}",
            modelInfo={"id": "glm-5.2", "provider": route},
            metrics=metrics(1_000_000, 0),
        )
        session.write()
    with archive(tmp_path) as opened:
        opened.sync([root])
        yield opened


def spent(kept: Archive, *own: Budget, now: int = NOW) -> list[Standing]:
    for budget in own:
        save(kept.connection, budget)
    return standings(kept.connection, now, BERLIN)


def test_periods(kept: Archive) -> None:
    found = spent(
        kept, *(Budget(period, "project", "demo", 500 * CENT) for period in ("day", "week", "month"))
    )
    assert [(one.budget.period, one.spent // CENT) for one in found] == [
        ("day", 200),
        ("week", 200),
        ("month", 500),
    ]
    assert [one.passed for one in found] == [False, False, False]
    (day, week, month) = found
    assert day.until - day.since == DAY
    assert (week.since, week.until - week.since) == (day.since, 7 * DAY)
    assert month.until == day.until


def test_estimated_counts_and_covered_when_asked(kept: Archive) -> None:
    (plain,) = spent(kept, Budget("day", "project", "docs-site", CENT))
    assert plain.spent == plain.figures.estimated == plain.figures.covered > CENT
    (both,) = spent(kept, Budget("day", "project", "docs-site", CENT, covered=True))
    assert both.spent == 2 * plain.spent
    assert both.passed


def test_for_everything_and_for_a_model(kept: Archive) -> None:
    found = spent(kept, Budget("month", "all", "", 1), Budget("month", "model", "mock", 1))
    assert [one.spent // CENT for one in found] == [500 + found[0].figures.estimated // CENT, 500]


def test_the_pace_to_the_end(kept: Archive) -> None:
    (one,) = spent(kept, Budget("day", "project", "demo", 300 * CENT))
    assert one.projected == one.spent * DAY // (NOW - one.since)
    (later,) = spent(kept, now=one.until - 1)
    assert later.projected == pytest.approx(later.spent, rel=1e-6)
    (next_day,) = spent(kept, now=one.until)
    assert (next_day.spent, next_day.projected) == (0, 0)


def test_exactly_used_up_is_not_passed(kept: Archive) -> None:
    (one,) = spent(kept, Budget("day", "project", "demo", 200 * CENT))
    assert (one.spent, one.passed) == (200 * CENT, False)


def test_set_again_and_taken_away(kept: Archive) -> None:
    assert budgets(kept.connection) == []
    save(kept.connection, Budget("week", "model", "glm", 5))
    save(kept.connection, Budget("day", "all", "", 5))
    save(kept.connection, Budget("day", "all", "", 7, covered=True))
    assert budgets(kept.connection) == [
        Budget("day", "all", "", 7, covered=True),
        Budget("week", "model", "glm", 5),
    ]
    assert remove(kept.connection, "day", "all", "")
    assert not remove(kept.connection, "day", "all", "")
    assert budgets(kept.connection) == [Budget("week", "model", "glm", 5)]


def test_drawn() -> None:
    figures = Figures(
        reported=461 * CENT, reported_calls=9, estimated=48 * CENT, estimated_calls=1, covered=142 * CENT
    )
    found = [
        Standing(Budget("day", "all", "", 500 * CENT), 0, DAY, figures, 509 * CENT, 1000 * CENT),
        Standing(
            Budget("month", "project", "api-gateway", 4000 * CENT, covered=True),
            0,
            DAY,
            figures,
            651 * CENT,
            700 * CENT,
        ),
        Standing(Budget("week", "model", "glm", CENT), 0, DAY, Figures(), 0, 0),
    ]
    assert lines(draw_budgets(VIEW, found)) == [
        "BUDGET                         LIMIT  REPORTED  ESTIMATED  COVERED  USED  BY THE END",
        "a day                          $5.00     $4.61     ~$0.48        –  102%      $10.00  passed",
        "a month, project api-gateway  $40.00     $4.61     ~$0.48    $1.42   16%       $7.00",
        "a week, model glm              $0.01         –          –        –    0%       $0.00",
    ]


def test_document() -> None:
    figures = Figures(reported=461 * CENT, covered=142 * CENT, unpriced_calls=7)
    one = Standing(Budget("day", "all", "", 500 * CENT), START, START + DAY, figures, 461 * CENT, 900 * CENT)
    assert standing_json(one) == {
        "period": "day",
        "scope": "all",
        "name": None,
        "limit_usd": 5.0,
        "covered_counted": False,
        "since": "2026-11-30T08:06:40.000Z",
        "until": "2026-12-01T08:06:40.000Z",
        "reported_usd": 4.61,
        "estimated_usd": 0.0,
        "covered_list_usd": 1.42,
        "unpriced_calls": 7,
        "spent_usd": 4.61,
        "projected_usd": 9.0,
        "passed": False,
    }
