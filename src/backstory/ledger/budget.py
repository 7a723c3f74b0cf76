"""Budgets a day, a week or a month, and how far each is used up."""

from __future__ import annotations

import sqlite3
from datetime import tzinfo
from typing import Literal

from msgspec import Struct

from .ranges import Period, bounds
from .report import Figures, Filter, total

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


def _standing(connection: sqlite3.Connection, budget: Budget, now: int, tz: tzinfo | None) -> Standing:
    since, until = bounds(now, budget.period, tz)
    which = Filter(
        since,
        until,
        project=budget.name if budget.scope == "project" else None,
        model=budget.name if budget.scope == "model" else None,
    )
    figures = total(connection, which)
    spent = figures.reported + figures.estimated + (figures.covered if budget.covered else 0)
    elapsed = max(now - since, 1)
    return Standing(budget, since, until, figures, spent, spent * (until - since) // elapsed)
