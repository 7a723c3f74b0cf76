"""`backstory prices`: what the models of the archive cost, and newer prices when they are asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import click
from msgspec import to_builtins

from ..ledger.priced import Listing, listings
from ..store import database
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app, reading_options
from .table import Column, header, layout, row
from .usage_words import named

COLUMNS = (
    Column("MODEL"),
    Column("ROUTE", leaves=1),
    Column("INPUT", right=True),
    Column("CACHE READ", right=True, leaves=3),
    Column("CACHE WRITE", right=True, leaves=2),
    Column("OUTPUT", right=True),
    Column("FROM", stretch=True),
)
LEAST_FROM = 20
PER_DOLLAR = 1_000_000_000


def draw_prices(view: View, found: Sequence[Listing]) -> Iterator[Line]:
    """A row a model and route: dollars a million tokens, and where they are from."""
    rows = [_cells(view, one) for one in found]
    fit = layout(COLUMNS, rows, view.width, least=LEAST_FROM)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)


def _cells(view: View, one: Listing) -> list[Line]:
    name, route = named(view, one.name), named(view, one.route)
    if one.price is None:
        return [spans(name), spans(route), (), (), (), (), spans(("no price", "rejected"))]
    rates = one.price.rates
    cells = [_rate(rate) for rate in (rates.input, rates.cache_read, rates.cache_write, rates.output)]
    return [spans(name), spans(route), *cells, spans((view.glyphs.one_line(one.price.source), "label"))]


def _rate(rate: int | None) -> Line:
    """Dollars a million tokens: `3.00`, `0.30`, `0.0028`."""
    if rate is None:
        return spans(("–", "label"))
    whole, _, part = f"{rate / PER_DOLLAR:.4f}".partition(".")
    return spans(f"{whole}.{part.rstrip('0').ljust(2, '0')}")


def price_json(one: Listing) -> dict[str, Any]:
    """A model with its rates in dollars a million tokens; `price` is null where none is known."""
    if one.price is None:
        return {"name": one.name, "route": one.route, "price": None}
    rates = {
        name: None if rate is None else rate / PER_DOLLAR
        for name, rate in to_builtins(one.price.rates).items()
    }
    return {"name": one.name, "route": one.route, "price": {**rates, "source": one.price.source}}


@click.command("prices", cls=Verb, short_help="What the models cost, and where the prices are from.")
@click.argument("what", required=False, type=click.Choice(("refresh",)), metavar="[WHAT]")
@json_option
@reading_options
@pass_app
def command(app: App, /, what: str | None, json_: bool, **options: Any) -> None:
    """What the models of your sessions cost now, in dollars a million tokens.

    \b
    WHAT: refresh   fetch the newest prices; the only thing here that uses the network

    \b
    Examples:
      backstory prices
      backstory prices --json | jq '.prices[] | select(.price == null)'
    """
    if what == "refresh":
        from ..ledger.prices import refresh

        with app.archive({"sync": False}) as archive:
            words = refresh(database.home(archive.env))
        app.term.note(words)
    with app.archive({**options, "sync": options["sync"] and what is None}) as archive:
        found = listings(archive.connection, int(time.time() * 1000))
    if json_:
        app.json({"prices": [price_json(one) for one in found]})
    elif found:
        app.term.write(draw_prices(app.term.view, found))
    else:
        app.term.write([spans("No calls yet.")])
