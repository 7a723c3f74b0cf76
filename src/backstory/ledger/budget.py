"""Budgets a day, a week or a month, and how far each is used up."""

from __future__ import annotations

import json
import sqlite3
from datetime import tzinfo
from typing import Literal

from msgspec import Struct

from .ranges import Period, bounds
from .report import AT, Figures, Filter, places, total

Scope = Literal["all", "project", "model"]


class Budget(Struct, frozen=True):
    """An amount that a period may cost, in billionths of a dollar.

    It holds for everything, for a project, or for a model. `covered` says whether the list value of covered calls
    counts too.
    """

    period: Period
    scope: Scope
    name: str
    nano: int
    covered: bool = False


class Standing(Struct, frozen=True):
    """A budget and what the period that runs now has cost: `projected` is its end at the pace until now."""

    budget: Budget
    since: int
    until: int
    figures: Figures
    spent: int
    projected: int

    @property
    def passed(self) -> bool:
        """Whether more was spent than was set."""
        return self.spent > self.budget.nano


def save(connection: sqlite3.Connection, budget: Budget) -> None:
    """Set a budget; it takes the place of one for the same period and scope."""
    connection.execute(
        "INSERT OR REPLACE INTO budget (period, scope, name, nano, covered) VALUES (?, ?, ?, ?, ?)",
        (budget.period, budget.scope, budget.name, budget.nano, int(budget.covered)),
    )


def remove(connection: sqlite3.Connection, period: Period, scope: Scope, name: str) -> bool:
    """Take a budget away; says whether there was one."""
    done = connection.execute(
        "DELETE FROM budget WHERE period = ? AND scope = ? AND name = ?", (period, scope, name)
    )
    return done.rowcount > 0


def budgets(connection: sqlite3.Connection) -> list[Budget]:
    """All that were set: days, then weeks, then months; what holds for everything comes first."""
    found = [
        Budget(period, scope, name, nano, bool(covered))
        for period, scope, name, nano, covered in connection.execute(
            "SELECT period, scope, name, nano, covered FROM budget"
        )
    ]
    order = ("day", "week", "month", "all", "project", "model")
    return sorted(found, key=lambda one: (order.index(one.period), order.index(one.scope), one.name))


def standings(connection: sqlite3.Connection, now: int, tz: tzinfo | None) -> list[Standing]:
    """How far each budget is used up in the period that runs now, in a zone; null is this machine's."""
    return [_standing(connection, one, now, tz) for one in budgets(connection)]


def passed_at(connection: sqlite3.Connection, one: Standing) -> int | None:
    """When the call was made with which a budget was passed; null where it is not, or the time is not known."""
    which = _which(one.budget, one.since, one.until)
    kinds = ("reported", "estimated", "covered") if one.budget.covered else ("reported", "estimated")
    where, values = which.where()
    if which.project is not None:
        held = [n for n, place in places(connection).items() if which.holds(place)]
        where += " AND call.file IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(held))
    sql = (
        f"SELECT at FROM (SELECT {AT} AS at, call.n, sum(amount) OVER (ORDER BY {AT}, call.n) AS spent FROM call"
        f" WHERE {where} AND kind IN ({', '.join('?' * len(kinds))})) WHERE spent > ? ORDER BY at, n LIMIT 1"
    )
    found = connection.execute(sql, (*values, *kinds, one.budget.nano)).fetchone()
    return found[0] if found else None


def _which(budget: Budget, since: int, until: int) -> Filter:
    """The calls that count for a budget."""
    return Filter(
        since,
        until,
        project=budget.name if budget.scope == "project" else None,
        model=budget.name if budget.scope == "model" else None,
    )


def _standing(connection: sqlite3.Connection, budget: Budget, now: int, tz: tzinfo | None) -> Standing:
    since, until = bounds(now, budget.period, tz)
    figures = total(connection, _which(budget, since, until))
    spent = figures.reported + figures.estimated + (figures.covered if budget.covered else 0)
    elapsed = max(now - since, 1)
    return Standing(budget, since, until, figures, spent, spent * (until - since) // elapsed)
