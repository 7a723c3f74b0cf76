"""`backstory budget`: what a day, a week or a month may cost, and how far that is used up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..ledger import ranges
from ..ledger.budget import Budget, Scope, Standing, remove, save, standings
from ..schema.document import iso
from .line import Line, View, spans
from .money import money
from .options import App, json_option, pass_app, reading_options
from .table import Column, header, layout, row
from .usage_words import NOTHING, dollars, estimate, named, nano_of

PASSED = 3
"""Exit code of a check that finds a budget passed."""
OFF = "off"
COLUMNS = (
    Column("BUDGET"),
    Column("LIMIT", right=True),
    Column("REPORTED", right=True, leaves=2),
    Column("ESTIMATED", right=True, leaves=3),
    Column("COVERED", right=True, leaves=1),
    Column("USED", right=True),
    Column("BY THE END", right=True),
    Column(""),
)


def draw_budgets(view: View, found: Sequence[Standing]) -> Iterator[Line]:
    """A row a budget. `COVERED` has a figure where it counts."""
    rows = [_cells(view, one) for one in found]
    fit = layout(COLUMNS, rows, view.width, least=0)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)


def words_of(budget: Budget) -> str:
    """`a day`, `a month, project api-gateway`."""
    return (
        f"a {budget.period}" if budget.scope == "all" else f"a {budget.period}, {budget.scope} {budget.name}"
    )


def _cells(view: View, one: Standing) -> list[Line]:
    figures, budget = one.figures, one.budget
    share = f"{100 * one.spent / budget.nano:.0f}%"
    projected = money(one.projected)
    return [
        spans(named(view, words_of(budget))),
        spans(money(budget.nano)),
        spans(money(figures.reported)) if figures.reported_calls else (NOTHING,),
        spans((estimate(figures.estimated), "estimated")) if figures.estimated_calls else (NOTHING,),
        spans((money(figures.covered), "covered")) if budget.covered else (NOTHING,),
        spans((share, "rejected" if one.passed else "")),
        spans((projected, "rejected" if one.projected > budget.nano else "")),
        spans(("passed", "rejected")) if one.passed else (),
    ]


def standing_json(one: Standing) -> dict[str, Any]:
    """A budget with what it was used for; money in dollars."""
    return {
        "period": one.budget.period,
        "scope": one.budget.scope,
        "name": one.budget.name or None,
        "limit_usd": dollars(one.budget.nano),
        "covered_counted": one.budget.covered,
        "since": iso(one.since),
        "until": iso(one.until),
        "reported_usd": dollars(one.figures.reported),
        "estimated_usd": dollars(one.figures.estimated),
        "covered_list_usd": dollars(one.figures.covered),
        "unpriced_calls": one.figures.unpriced_calls,
        "spent_usd": dollars(one.spent),
        "projected_usd": dollars(one.projected),
        "passed": one.passed,
    }


@click.command("budget", short_help="What a day, a week or a month may cost.")
@click.argument(
    "what", required=False, default="list", type=click.Choice(("list", "set", "check")), metavar="[WHAT]"
)
@click.argument("amount", required=False, metavar="[AMOUNT]")
@click.option(
    "--per",
    type=click.Choice(("day", "week", "month")),
    default="month",
    show_default=True,
    help="With set: the period; weeks begin on Monday.",
)
@click.option("--project", metavar="NAME", help="With set: only this folder, its name or its path.")
@click.option("--model", metavar="NAME", help="With set: only models whose name has this in it.")
@click.option("--covered", is_flag=True, help="With set: count the list value of covered calls too.")
@click.option("--tz", metavar="ZONE", help="The zone whose days are meant; else this machine's.")
@json_option
@reading_options
@pass_app
def command(app: App, /, what: str, amount: str | None, json_: bool, **options: Any) -> None:
    """What a day, a week or a month may cost, and how far that is used up.

    \b
    WHAT: list    the budgets (default)
          set     a budget of AMOUNT dollars; AMOUNT off takes it away
          check   as list, and leaves with 3 when a budget is passed

    \b
    Examples:
      backstory budget set 5 --per day
      backstory budget set 40 --per month --project api-gateway
      backstory budget check && echo go on
    """
    if (amount is None) == (what == "set"):
        raise click.UsageError("an amount goes with budget set, and with nothing else.")
    tz = ranges.zone(options["tz"]) if options["tz"] else None
    with app.archive(options) as archive:
        if what == "set":
            note = _set(archive.connection, str(amount), options)
            app.term.note(app.term.view.glyphs.one_line(note))
        found = standings(archive.connection, int(time.time() * 1000), tz)
    if json_:
        app.json({"budgets": [standing_json(one) for one in found]})
    elif found:
        app.term.write(draw_budgets(app.term.view, found))
    else:
        app.term.write([spans("No budgets yet: backstory budget set 5 --per day")])
    if what == "check" and any(one.passed for one in found):
        click.get_current_context().exit(PASSED)


def _set(connection: Any, amount: str, options: Mapping[str, Any]) -> str:
    """Set or take away a budget; says what was done."""
    if options["project"] and options["model"]:
        raise click.UsageError("a budget is for a project or for a model.")
    scope: Scope = "project" if options["project"] else "model" if options["model"] else "all"
    name = options["project"] or options["model"] or ""
    if amount.lower() == OFF:
        gone = remove(connection, options["per"], scope, name)
        words = words_of(Budget(options["per"], scope, name, 0))
        return f"No budget {words} any more." if gone else f"There was no budget {words}."
    try:
        nano = nano_of(amount)
    except ValueError:
        raise click.BadParameter(
            f'"{amount}" is not an amount. Write dollars as 5 or 12.50, or off.'
        ) from None
    budget = Budget(options["per"], scope, name, nano, options["covered"])
    save(connection, budget)
    return f"Set: {money(nano)} {words_of(budget)}."
