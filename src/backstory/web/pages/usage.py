"""`/usage`: what was spent, when, on what, and how that stands to budgets and to Cline's own totals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...cli.usage_export import report_csv
from ...cli.usage_tools import uses_csv
from ...ledger.report import report
from ...ledger.tooluse import tool_uses
from ...store import page
from .. import charts, span, usage, usage_panels
from ..desk import Desk
from ..figures import Clock, line

PROMPTS = 3
ALL_PROMPTS = 40
TOOL: Literal["tool"] = "tool"
TABS = ("model", "project", "mode", TOOL, "session", "actor")


def show(desk: Desk, request: Request) -> Response:
    """The page."""
    clock = desk.clock()
    asked = dict(request.query_params)
    made = span.span_of(asked, clock)
    by = asked["by"] if asked.get("by") in TABS else TABS[0]
    every = asked.get("show") == "prompts"
    with desk.archive() as archive:
        db = archive.connection
        found = usage.gathered(db, made, by, clock.tz, ALL_PROMPTS if every else PROMPTS)
        first = made.first or usage.first_day(db, made, clock.tz)
        values: dict[str, Any] = {
            "words": span.words(made, first, clock.tz),
            "ranges": span.choices(asked, made),
            "projects": _projects(archive, made),
            "kept": [(name, asked[name]) for name in span.KEPT if name != "project" and asked.get(name)],
            "project": made.which.project or "",
            "model": line(made.which.model),
            "no_model": span.address(asked, model=""),
            "csv": span.address(asked, "/usage.csv", by=by),
            "by": by,
            "figures": found.totals,
            "nothing": "" if found.totals.calls else span.nothing(made),
        }
        if found.totals.calls:
            values |= _figures(archive, found, made, asked, by)
            values |= _panels(archive, found, made, asked, clock)
        return desk.page(request, archive, "usage.html", title="Usage", section="usage", **values)


def _figures(
    archive: Archive, found: usage.Gathered, made: span.Span, asked: Mapping[str, str], by: str
) -> dict[str, Any]:
    """The four figures, the chart, and where it went."""
    tools, more_tools = usage.tools(archive.connection, made) if by == TOOL else ([], 0)
    return {
        "tiles": usage.tiles(found),
        "unpriced": _unpriced(found),
        "chart": usage.chart(found, made),
        "keys": {kind: charts.key(kind) for kind in ("reported", "estimated", "covered")},
        "square": charts.key,
        "tabs": [(key, span.address(asked, by=key), key.capitalize()) for key in TABS],
        "table": None if by == TOOL else usage.table(found, by, asked),  # type: ignore[arg-type]
        "tools": tools,
        "more_tools": more_tools,
    }


def _panels(
    archive: Archive, found: usage.Gathered, made: span.Span, asked: Mapping[str, str], clock: Clock
) -> dict[str, Any]:
    """What stands beside and below."""
    db, every = archive.connection, asked.get("show") == "prompts"
    return {
        "modes": usage_panels.shares(found.reports["mode"]),
        "actors": usage_panels.shares(found.reports["actor"]),
        "estimated": bool(found.totals.estimated_calls),
        "budgets": usage_panels.budgets(db, clock),
        "bridge": None if made.which.model else usage_panels.bridge(db, made),
        "prompts": usage_panels.prompts(found.prompts, found.shorts, clock),
        "every": every,
        "prompts_href": span.address(asked, show="" if every else "prompts"),
        "sources": usage_panels.price_sources(db, clock.now),
    }


def _projects(archive: Archive, made: span.Span) -> list[tuple[str, str]]:
    """The projects to choose from; the one that the address names is among them."""
    found = [("", "All projects"), *((name, line(name)) for name, _ in page.projects(archive.connection))]
    chosen = made.which.project
    if chosen and all(name != chosen for name, _ in found):
        found.append((chosen, line(chosen)))
    return found


def _unpriced(found: usage.Gathered) -> list[tuple[str, int, int]]:
    """The models without a price, with their calls and tokens."""
    names: dict[str, tuple[int, int]] = {}
    for row in found.reports["model"].rows:
        figures = row.figures
        if figures.unpriced_calls:
            name = line(row.keys["model"]) or "unknown"
            calls, tokens = names.get(name, (0, 0))
            names[name] = (calls + figures.unpriced_calls, tokens + figures.unpriced_tokens)
    return [(name, *own) for name, own in names.items()]


def csv(desk: Desk, request: Request) -> Response:
    """The rows of the table as `backstory usage --csv` prints them, all of them."""
    clock = desk.clock()
    asked = dict(request.query_params)
    made = span.span_of(asked, clock)
    by = asked.get("by", TABS[0])
    with desk.archive() as archive:
        if by == TOOL:
            text = uses_csv(TOOL, tool_uses(archive.connection, TOOL, made.which), line)
        else:
            own = by if by in TABS else TABS[0]
            text = report_csv(report(archive.connection, own, made.which, clock.tz), line)  # type: ignore[arg-type]
    headers = {"content-disposition": f'attachment; filename="usage-by-{by if by in TABS else TABS[0]}.csv"'}
    return Response(text.encode("utf-8", "replace"), media_type="text/csv", headers=headers)
