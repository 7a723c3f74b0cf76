"""`backstory usage models`: the models that were called, and where their prices came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ledger.models import Used, models
from .line import Line, View, spans
from .options import App
from .table import Column, header, layout, row
from .usage import Selection, nothing_matches
from .usage_words import named
from .words import tokens

COLUMNS = (
    Column("MODEL"),
    Column("AS WRITTEN", leaves=1),
    Column("ROUTE", leaves=2),
    Column("CALLS", right=True),
    Column("TOKENS", right=True),
    Column("PRICE", stretch=True),
)
LEAST_PRICE = 16


def show_models(app: App, chosen: Selection, options: Mapping[str, Any]) -> None:
    """Print the models; with `--unpriced` those that have no price, and how to give them one."""
    with app.archive(options) as archive:
        found = models(archive.connection, chosen.which, unpriced=options["unpriced"])
    if options["json_"]:
        app.json({"models": [model_json(one) for one in found]})
        return
    if not found:
        words = "Every call has a price." if options["unpriced"] else nothing_matches(chosen)
        app.term.write([spans(words)])
        return
    if chosen.heading:
        app.term.write([spans((chosen.heading, "title"))])
    app.term.write(draw_models(app.term.view, found, unpriced=options["unpriced"]))
    lacking = next((one for one in found if one.calls["unpriced"]), None)
    if lacking is not None:
        name = app.term.view.glyphs.one_line(lacking.name)
        app.term.hint(f'[prices."{name}"] in config.toml gives it a price.')


def draw_models(view: View, found: Sequence[Used], *, unpriced: bool = False) -> Iterator[Line]:
    """A row a model and route; with `unpriced` the figures are those of the calls without a price."""
    rows = [_cells(view, one, unpriced=unpriced) for one in found]
    fit = layout(COLUMNS, rows, view.width, least=LEAST_PRICE)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)


def model_json(one: Used) -> dict[str, Any]:
    """A model with its calls by kind."""
    return {
        "name": one.name,
        "model": one.model,
        "route": one.route,
        "calls": dict(one.calls),
        "tokens": one.tokens,
        "unpriced_tokens": one.unpriced_tokens,
        "prices": list(one.prices),
    }


def _cells(view: View, one: Used, *, unpriced: bool) -> list[Line]:
    calls = one.calls["unpriced"] if unpriced else sum(one.calls.values())
    return [
        spans(named(view, one.name)),
        spans((named(view, one.model), "label")),
        spans(named(view, one.route)),
        spans(f"{calls:,}"),
        spans(tokens(one.unpriced_tokens if unpriced else one.tokens)),
        _price(view, one),
    ]


def _price(view: View, one: Used) -> Line:
    """Where the money of a model is from."""
    said = [
        words
        for words, here in (
            ("recorded by Cline", one.calls["reported"]),
            ("covered", one.calls["covered"]),
            *((price, True) for price in one.prices),
        )
        if here
    ]
    text = view.glyphs.one_line(", ".join(said))
    if one.calls["unpriced"]:
        return spans(f"{text}, " if text else "", ("no price", "rejected"))
    return spans(text)
