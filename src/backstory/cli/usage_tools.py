"""`backstory usage --by tool|command|mcp|skill`: what was used, how often, and how that ended."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click

from ..archive import Archive
from ..ledger.report import total
from ..ledger.tooluse import Uses, tool_uses
from .line import Line, View, spans
from .options import App
from .table import Column, header, layout, row
from .usage import Selection
from .usage_export import figures_json
from .usage_words import named

NAMES = {"tool": ("tool", "canonical"), "command": ("command",), "mcp": ("server",), "skill": ("skill",)}
HEADS = {"tool": ("TOOL", "IN COMMON"), "command": ("COMMAND",), "mcp": ("SERVER",), "skill": ("SKILL",)}
FIGURES = (
    Column("USES", right=True),
    Column("FAILED", right=True),
    Column("REJECTED", right=True, leaves=1),
    Column("SESSIONS", right=True, leaves=2),
)
SHOWN = 40


def show_tools(app: App, archive: Archive, chosen: Selection, options: Mapping[str, Any]) -> None:
    """Print the uses in the form that was asked for."""
    if options["model"]:
        raise click.UsageError(
            f"--model does not go with --by {options['by']}: steps have no model of their own."
        )
    by = options["by"]
    found = tool_uses(archive.connection, by, chosen.which)
    if options["json_"]:
        totals = figures_json(total(archive.connection, chosen.which))
        app.json({"totals": totals, "rows": [uses_json(one) for one in found]})
    elif options["csv_"]:
        app.term.text(uses_csv(by, found, app.term.view.glyphs.safe))
    elif not found:
        app.term.write([spans(f"Nothing of that kind was used: {chosen.label}.")])
    else:
        if chosen.heading:
            app.term.write([spans((chosen.heading, "title"))])
        app.term.write(draw_tools(app.term.view, by, found))


def draw_tools(view: View, by: str, found: Sequence[Uses]) -> Iterator[Line]:
    """A row a name, the most used first; on a terminal the first 40."""
    shown = found[:SHOWN] if view.cut else found
    columns = [*(Column(name, leaves=3 if at else None) for at, name in enumerate(HEADS[by])), *FIGURES]
    rows = [_cells(view, one) for one in shown]
    fit = layout(columns, rows, view.width, least=0)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)
    if len(shown) < len(found):
        yield spans((f"{len(found) - len(shown):,} more: --csv", "label"))


def uses_json(one: Uses) -> dict[str, Any]:
    """The uses of one name."""
    return {
        **one.keys,
        "uses": one.uses,
        "failed": one.failed,
        "rejected": one.rejected,
        "sessions": len(one.sessions),
    }


def uses_csv(by: str, found: Sequence[Uses], safe: Callable[[str], str]) -> str:
    """The rows as CSV, with a line of names; `safe` makes text of sessions fit for the output."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*NAMES[by], "uses", "failed", "rejected", "sessions"])
    for one in found:
        keys = [safe(name) for name in one.keys.values()]
        writer.writerow([*keys, *list(uses_json(one).values())[len(keys) :]])
    return out.getvalue()


def _cells(view: View, one: Uses) -> list[Line]:
    first, *others = (named(view, name) for name in one.keys.values())
    return [
        spans(first),
        *(spans((name, "label")) for name in others),
        spans(f"{one.uses:,}"),
        spans((f"{one.failed:,}", "failed")) if one.failed else (),
        spans((f"{one.rejected:,}", "rejected")) if one.rejected else (),
        spans(f"{len(one.sessions):,}"),
    ]
