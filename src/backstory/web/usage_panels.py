"""The panels beside the figures of the Usage page: shares, budgets, Cline's own totals, the costliest prompts."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ..cli.line import plain
from ..cli.money import CENT, DOLLAR, money
from ..cli.usage_reconcile import PLURALS, REASONS, counted_reason
from ..cli.usage_top import why_words
from ..cli.usage_words import cost, estimate
from ..cli.words import MONTHS, WEEKDAYS, counted
from ..ledger import ranges
from ..ledger.budget import Standing, passed_at, standings
from ..ledger.priced import listings
from ..ledger.prices import LIBRARY
from ..ledger.reconcile import Compared, by_reason, reconcile
from ..ledger.report import Figures, Report
from ..ledger.top import Prompt
from . import charts
from .figures import UNTITLED, Clock, line
from .span import Span, short
from .usage import actor_name, mode_name

DIFFERING = 20
MEANING = "Reported and estimated count, covered does not."


class Share(NamedTuple):
    """A part of what was spent, with its bar."""

    name: str
    bar: Markup
    amount: str


class BudgetView(NamedTuple):
    """A budget: what it is for, what is used of it, and what that means."""

    name: str
    spent: str
    limit: str
    title: str
    bar: Markup
    words: str


class Step(NamedTuple):
    """A line between Cline's total and ours."""

    words: str
    sub: str
    amount: str
    wrong: bool


class Differing(NamedTuple):
    """A session whose totals do not agree."""

    title: str
    href: str
    cline: str
    here: str
    why: str


class Bridge(NamedTuple):
    """From Cline's sum to ours. `agree` is said where there is no difference, `nothing` where nothing is recorded."""

    steps: list[Step]
    here: str
    agree: str
    nothing: str
    sessions: list[Differing]
    rest: int
    equal: int


class PromptView(NamedTuple):
    """A costly prompt."""

    title: str
    href: str
    asked: str
    meta: str
    why: list[str]
    amount: str


def shares(found: Report) -> list[Share]:
    """Each mode or kind of agent with what it spent; the largest fills its bar."""
    most = max((row.figures.reported + row.figures.estimated for row in found.rows), default=0)
    named = {"mode": mode_name, "actor": actor_name}[found.by]
    return [
        Share(
            named(next(iter(row.keys.values()))),
            charts.share_bar(row.figures.reported, row.figures.estimated, most),
            _cost(row.figures),
        )
        for row in found.rows
    ]


def _cost(figures: Figures) -> str:
    """`$4.61 + ~$0.48`, `covered`, `no price`."""
    return plain(cost(figures)).replace(" +~", " + ~")


def budgets(connection: sqlite3.Connection, clock: Clock) -> list[BudgetView]:
    """The budgets in the periods that run now, the longest first."""
    found = []
    said = False
    for one in sorted(standings(connection, clock.now, clock.tz), key=_order):
        words = _standing(connection, one, clock)
        if one.budget.covered:
            words += " The list value of covered calls counts too."
        elif not said:
            words, said = f"{words} {MEANING}", True
        figures = one.figures
        kinds = [f"{money(figures.reported)} reported", f"{estimate(figures.estimated)} estimated"]
        kinds += [f"{money(figures.covered)} covered"] if one.budget.covered else []
        limit = money(one.budget.nano)
        found.append(
            BudgetView(
                _budget_name(one, clock),
                money(one.spent),
                limit.removesuffix(".00") if one.budget.nano % DOLLAR == 0 else limit,
                ", ".join(kinds),
                charts.budget_bar(one.spent, one.projected, one.budget.nano),
                words,
            )
        )
    return found


def _order(one: Standing) -> tuple[int, int, str]:
    budget = one.budget
    scopes = ("all", "project", "model")
    return ("month", "week", "day").index(budget.period), scopes.index(budget.scope), budget.name


def _budget_name(one: Standing, clock: Clock) -> str:
    """`November, everything`, `This week, project api-gateway`."""
    month = MONTHS[ranges.local_day(one.since, clock.tz).month - 1]
    period = {"day": "Today", "week": "This week", "month": month}[one.budget.period]
    budget = one.budget
    return f"{period}, {'everything' if budget.scope == 'all' else f'{budget.scope} {line(budget.name)}'}"


def _standing(connection: sqlite3.Connection, one: Standing, clock: Clock) -> str:
    """What to know of a budget, in a sentence."""
    today, last = ranges.local_day(clock.now, clock.tz), ranges.local_day(one.until - 1, clock.tz)
    if one.passed:
        at = passed_at(connection, one)
        over = money(one.spent - one.budget.nano)
        if at is None:
            return f"Passed by {over}."
        day = "" if ranges.local_day(at, clock.tz) == today else f"on {clock.day(at)} "
        return f"Passed {day}at {clock.minute(at)} by {over}."
    if not one.spent:
        return "Nothing spent yet."
    if one.budget.period != "day" and today == last:
        return f"{100 * one.spent / one.budget.nano:.0f}% used on the last day."
    ends = {
        "day": "midnight",
        "week": WEEKDAYS[last.weekday()],
        "month": f"{last.day} {MONTHS[last.month - 1]}",
    }
    return f"Projected {money(one.projected)} by {ends[one.budget.period]}, at the pace until now."


def bridge(connection: sqlite3.Connection, made: Span) -> Bridge:
    """Cline's own totals of whole sessions, each reason with its amount, and the sum here."""
    which = made.which
    found = reconcile(connection, since=which.since, until=which.until, project=which.project)
    with_total = [one.cline for one in found if one.cline is not None]
    first = Step(
        "Cline's session totals" if len(found) != 1 else "Cline's total",
        counted(len(with_total), "manifest"),
        money(sum(with_total)) if with_total else "none",
        False,
    )
    steps = [
        Step(
            _capital(REASONS[one.reason][0]),
            counted(one.count, REASONS[one.reason][1], PLURALS.get(REASONS[one.reason][1])),
            _signed(one.nano),
            one.reason == "unexplained",
        )
        for one in by_reason(found)
        if one.reason != "rounding" or abs(one.nano) >= CENT
    ]
    differing = [one for one in found if not one.agrees]
    agree = "" if steps else f"Cline's totals and these agree for {counted(len(found), 'session')}."
    nothing = "" if found else "No session here has a cost that Cline recorded."
    return Bridge(
        [first, *steps],
        money(sum(one.here for one in found)),
        agree,
        nothing,
        [_differing(one) for one in differing[:DIFFERING]],
        max(len(differing) - DIFFERING, 0),
        len(found) - len(differing),
    )


def _differing(one: Compared) -> Differing:
    why = [
        f"{counted_reason(each)} {_signed(each.nano)}"
        for each in one.differences
        if each.reason != "rounding"
    ]
    return Differing(
        line(one.title) or UNTITLED,
        f"/s/{quote(one.session_id, safe='')}/cost",
        "none" if one.cline is None else money(one.cline),
        money(one.here),
        ", ".join(why),
    )


def _signed(nano: int) -> str:
    return f"{'+' if nano >= 0 else '−'}{money(abs(nano))}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def prompts(found: Sequence[Prompt], shorts: Mapping[str, str], clock: Clock) -> list[PromptView]:
    """The costliest prompts: where, how many calls, and why each stands out."""
    today = ranges.local_day(clock.now, clock.tz)
    views = []
    for one in found:
        place = one.place
        day = None if one.at is None else ranges.local_day(one.at, clock.tz)
        when = "" if day is None else "today" if day == today else short(day, today)
        turn = f"prompt {one.number}" if one.number is not None else ""
        meta = filter(None, (line(place.project), when, turn, counted(one.figures.calls, "call")))
        query = f"?{urlencode({'at': one.step})}" if one.step else ""
        anchor = f"#turn-{one.number}" if one.number is not None else ""
        views.append(
            PromptView(
                line(place.title) or UNTITLED,
                f"/s/{quote(place.session_id, safe='')}{query}{anchor}",
                line(one.text),
                " · ".join(meta),
                [line(words) for words in why_words(one.why, shorts)],
                _cost(one.figures),
            )
        )
    return views


def price_sources(connection: sqlite3.Connection, now: int) -> str:
    """Where prices come from: `genai-prices 0.2.3 and config.toml`."""
    names = set()
    for one in listings(connection, now):
        if one.price is not None:
            source = one.price.source
            names.add(" ".join(source.split()[:2]) if source.startswith(LIBRARY) else source)
    return " and ".join(line(name) for name in sorted(names, reverse=True))
