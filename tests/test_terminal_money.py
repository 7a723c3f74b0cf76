"""Money in words: every kind by itself, what is not known never a zero, and what it was made of in documents."""

from __future__ import annotations

import pytest
import test_terminal_story as story
from msgspec.structs import replace

from backstory.cli.head import banners
from backstory.cli.line import joined, plain
from backstory.cli.money import CENT, cached, cost_json, cost_of, day_money, money, price, sums, tokens_json
from backstory.cli.sessions import draw_sessions
from backstory.cli.show import draw_session
from backstory.schema.call import Settled
from backstory.schema.session import Actor
from backstory.schema.step import Message
from backstory.store.results import Cost, Day

cost = story.cost
FREE = Cost(calls={"covered": 3})
"""Calls of a local model, whose list value is not known."""


@pytest.mark.parametrize(
    ("nano", "words"),
    [
        (0, "$0.00"),
        (1, "<$0.01"),
        (CENT - 1, "<$0.01"),
        (CENT, "$0.01"),
        (CENT * 3 // 2, "$0.02"),
        (53 * CENT + 25_645, "$0.53"),
        (120_450 * CENT, "$1,204.50"),
    ],
)
def test_an_amount(nano: int, words: str) -> None:
    assert money(nano) == words


COSTS = [
    (Cost(), "", "", ""),
    (cost(reported=53), "$0.53", "$0.53 reported", "$0.53 reported"),
    (cost(reported=0), "$0.00", "$0.00 reported", "$0.00 reported"),
    (cost(estimated=48), "~$0.48", "~$0.48 estimated", "~$0.48 estimated"),
    (
        cost(reported=461, estimated=48),
        "$4.61 +~$0.48",
        "$4.61 reported  ~$0.48 estimated",
        "$4.61 reported  ~$0.48 estimated",
    ),
    (cost(covered=142), "covered", "$1.42 covered", "2 covered"),
    (FREE, "covered", "3 calls covered", "2 covered"),
    (cost(unpriced=7), "no price", "7 calls without a price", "no price"),
    (cost(reported=53, covered=9), "$0.53", "$0.53 reported  $0.09 covered", "$0.53 reported  2 covered"),
    (
        cost(reported=53, unpriced=1),
        "$0.53 +?",
        "$0.53 reported  1 call without a price",
        "$0.53 reported",
    ),
    (
        cost(covered=9, unpriced=2),
        "no price",
        "$0.09 covered  2 calls without a price",
        "2 covered",
    ),
]


@pytest.mark.parametrize(("spent", "column", "whole", "day"), COSTS)
def test_a_cost(spent: Cost, column: str, whole: str, day: str) -> None:
    assert plain(price(spent)) == column
    assert plain(joined(sums(spent), gap=2)) == whole
    assert plain(day_money(spent, 2 if spent.calls.get("covered") else 0)) == day


def test_kinds_are_told_apart_by_their_role() -> None:
    assert price(cost(reported=5, estimated=6, unpriced=1)) == (
        ("$0.05", ""),
        (" +~$0.06", "estimated"),
        (" +?", "rejected"),
    )
    assert price(FREE) == (("covered", "covered"),)
    assert price(cost(unpriced=1)) == (("no price", "rejected"),)


def test_costs_add_up_kind_by_kind() -> None:
    both = cost(reported=461, covered=9) + cost(reported=39, estimated=48, unpriced=7)
    assert (both.reported, both.estimated, both.covered) == (500 * CENT, 48 * CENT, 9 * CENT)
    assert both.calls == {"reported": 2, "covered": 1, "estimated": 1, "unpriced": 7}
    tokens = Cost(fresh=1, cache_read=2, cache_write=3, output=4)
    assert tokens_json(tokens + tokens)["total"] == 20


def test_the_share_that_came_from_the_cache() -> None:
    assert cached(Cost()) == ""
    assert cached(Cost(output=9)) == ""
    assert cached(Cost(fresh=10)) == "0 % of the input cached"
    assert cached(Cost(fresh=9, cache_read=86, cache_write=5)) == "86 % of the input cached"


def test_only_what_counts_is_summed() -> None:
    told = story.Story()
    told.turn("12:04", "act", "x")
    told.call(5, fresh=10)
    told.call(50, fresh=100, counted=False)
    told.calls.append(replace(told.calls[0], settled=None))
    told.calls.append(replace(told.calls[0], settled=Settled(True)))
    found = cost_of(told.calls)
    assert (found.reported, found.fresh) == (5 * CENT, 20)
    assert found.calls == {"reported": 1, "estimated": 0, "covered": 0, "unpriced": 1}
    assert cost_of(()) == Cost(calls=dict.fromkeys(found.calls, 0))


def test_documents_have_dollars_and_all_tokens() -> None:
    spent = replace(
        cost(reported=53, estimated=48, covered=7, unpriced=2), fresh=1, cache_read=2, cache_write=3, output=4
    )
    assert cost_json(spent) == {
        "reported_usd": 0.53,
        "estimated_usd": 0.48,
        "covered_list_usd": 0.07,
        "unpriced_calls": 2,
    }
    assert tokens_json(spent) == {
        "fresh": 1,
        "cache_read": 2,
        "cache_write": 3,
        "input": 6,
        "output": 4,
        "total": 10,
    }


def test_a_turn_of_copied_calls_names_no_cost() -> None:
    told = story.Story()
    told.turn("12:04", "act", "x")
    told.call(50, counted=False)
    told.turn("12:07", "act", "y")
    told.call(5)
    own = story.session("m9lz0", "api-gateway", "x")
    listed = replace(story.LIST[8], session=own, cost=cost_of(told.calls))
    drawn = story.lines(draw_session(story.VIEW, told.record(own), listed, {}))
    assert [line for line in drawn if line.startswith("   act")] == [
        "   act    12:04",
        "   act    12:07   $0.05",
    ]
    assert "$0.05 reported" in drawn


def test_an_agent_whose_call_is_not_known_has_its_cost() -> None:
    told = story.Story()
    told.turn("12:04", "act", "x")
    told.actors.append(Actor("mate", "teammate", "researcher", "mate.messages.json", "look"))
    told.actor = "mate"
    told.call(6)
    told.add(Message("assistant", "done"))
    own = story.session("edfz0", "api-gateway", "x")
    listed = replace(story.LIST[8], session=own)
    drawn = story.lines(draw_session(story.VIEW, told.record(own), listed, {}))
    row = next(line for line in drawn if line.startswith("   agent"))
    assert row.endswith("$0.06   its call is not known")


def test_where_it_is_tight_the_figures_of_a_day_leave_and_its_money_stays() -> None:
    days = {
        columns: story.lines(draw_sessions(story.VIEW._replace(width=columns), story.LIST, story.DAYS))[2]
        for columns in (100, 80, 60)
    }
    money_of_the_day = "$4.61 reported  ~$0.48 estimated"
    assert days[100].endswith(f"9 sessions  26 files  {money_of_the_day}")
    assert days[80].endswith(f"9 sessions  {money_of_the_day}")
    assert days[60].endswith(money_of_the_day)
    assert days[60].startswith("Today, Monday 30 November")


def test_a_day_without_calls_has_the_figures_alone() -> None:
    bare = [replace(listed, cost=Cost()) for listed in story.LIST[:1]]
    drawn = story.lines(draw_sessions(story.VIEW, bare, {day: Day(9, 26) for day in story.DAYS}))
    assert drawn[2].endswith("9 sessions  26 files")
    assert drawn[3].endswith("2 failing")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("The model is overloaded.", "The model is overloaded."),
        ("The model is overloaded", "The model is overloaded."),
        ("no key:", "no key."),
        ("Really?", "Really?"),
        ("401 no key.", "401 from anthropic."),
    ],
)
def test_an_error_of_the_provider_ends_with_one_full_stop(error: str, words: str) -> None:
    stopped = replace(story.LIST[7], error=error)
    record = story.Story().record(stopped.session)
    first = next(iter(banners(story.VIEW, record, stopped)))
    assert first == f"Stopped by an error of the provider: {words}"
