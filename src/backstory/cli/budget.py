"""`backstory budget`: what a day, a week or a month may cost, and how far that is used up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ..ledger.budget import Budget, Scope, Standing, remove, save, standings
from ..ledger.ranges import Period
from ..schema.document import iso
from .line import Line, View, spans
from .money import money
from .options import App, Verb, json_option, pass_app, reading_options
from .table import Column, header, layout, row
from .usage import refuse_nameless, zone_of
from .usage_words import NOTHING, dollars, estimate, named, nano_of

PASSED = 3
"""Exit code of a check that finds a budget passed."""
NONE_YET = "No budgets yet: backstory budget set 5 --per day"
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


@click.command("budget", cls=Verb, short_help="What a day, a week or a month may cost.")
@click.argument(
    "what", required=False, default="list", type=click.Choice(("list", "set", "check")), metavar="[WHAT]"
)
@click.argument("amount", required=False, metavar="[AMOUNT]")
@click.option(
    "--per",
    type=click.Choice(("day", "week", "month")),
    help="The period, with set a month if none is named; weeks begin on Monday.",
)
@click.option("--project", metavar="NAME", help="Only this folder, its name or its path.")
@click.option("--model", metavar="NAME", help="Only models whose name has this in it.")
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
    _refuse(what, amount, options)
    tz = zone_of(options)
    with app.archive(options) as archive:
        if what == "set":
            note = _set(archive.connection, str(amount), options)
            app.term.note(app.term.view.glyphs.one_line(note))
            options = {"per": None, "project": None, "model": None}
        found = [
            one for one in standings(archive.connection, int(time.time() * 1000), tz) if _asked(one, options)
        ]
    if json_:
        app.json({"budgets": [standing_json(one) for one in found]})
    elif found:
        app.term.write(draw_budgets(app.term.view, found))
    else:
        app.term.write([spans("No such budget." if any(_named(options)) else NONE_YET)])
    if any(one.figures.unpriced_calls for one in found):
        app.term.note("Calls without a price are in none of the sums; see backstory usage models --unpriced.")
    if what == "check" and any(one.passed for one in found):
        click.get_current_context().exit(PASSED)


def _refuse(what: str, amount: str | None, options: Mapping[str, Any]) -> None:
    """Say what does not go together."""
    if what == "set" and amount is None:
        raise click.UsageError("budget set needs an amount of dollars, or off.")
    if what != "set" and (amount is not None or options["covered"]):
        raise click.UsageError("an amount and --covered go with budget set alone.")
    refuse_nameless(options)
    if options["project"] and options["model"]:
        raise click.UsageError("a budget is for a project or for a model.")


def _scope(options: Mapping[str, Any]) -> tuple[Scope, str]:
    """What a budget is for. A folder has one name: without a slash at its end, and small letters if it is no path."""
    scope: Scope = "project" if options["project"] else "model" if options["model"] else "all"
    name = (options["project"] or options["model"] or "").strip()
    if scope == "project":
        name = name.rstrip("/\\") or name
    return scope, name if "/" in name or "\\" in name else name.lower()


def _named(options: Mapping[str, Any]) -> tuple[Any, ...]:
    return options["per"], options["project"], options["model"]


def _asked(one: Standing, options: Mapping[str, Any]) -> bool:
    """Whether it is one of the budgets that were named; all are where none was."""
    scope, name = _scope(options)
    return options["per"] in (None, one.budget.period) and (
        scope == "all" or (one.budget.scope, one.budget.name) == (scope, name)
    )


def _set(connection: Any, amount: str, options: Mapping[str, Any]) -> str:
    """Set or take away a budget; says what was done."""
    scope, name = _scope(options)
    per: Period = options["per"] or "month"
    if amount.lower() == OFF:
        gone = remove(connection, per, scope, name)
        words = words_of(Budget(per, scope, name, 0))
        return f"No budget {words} any more." if gone else f"There was no budget {words}."
    try:
        nano = nano_of(amount)
    except ValueError:
        raise click.BadParameter(
            f'"{amount}" is not an amount. Write dollars as 5 or 12.50, from 0.01 up, or off.'
        ) from None
    budget = Budget(per, scope, name, nano, options["covered"])
    save(connection, budget)
    return f"Set: {money(nano)} {words_of(budget)}."
