"""`backstory sessions`: the sessions of the archive, newest first, by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from ..store.results import Day, Listed
from .dates import day_bounds
from .line import Line, View, beside, joined, spans, width
from .listing import failures, figures, mark, project, title
from .money import day_money, price, tokens_json
from .options import App, Count, Verb, day_option, json_option, pass_app, reading_options
from .table import Column, header, layout, row
from .words import clock, counted, duration, local, long_day, tokens

if TYPE_CHECKING:
    from ..archive import Archive

DEFAULT_LIMIT = 50
LEAST_TITLE = 24
EDGE = 1
STATES = ("running", "idle", "no_end", "interrupted", "error", "ended")

COLUMNS = (
    Column(""),
    Column("ID"),
    Column("LAST", leaves=2),
    Column("PROJECT", leaves=3),
    Column("TITLE", stretch=True),
    Column("STEPS", right=True, leaves=1),
    Column("FAILURES"),
    Column("COST", right=True),
)
WIDE = (
    Column("PROMPTS", right=True, leaves=7),
    Column("FILES", right=True, leaves=6),
    Column("LENGTH", right=True, leaves=5),
    Column("MODEL", leaves=4),
    Column("TOKENS", right=True, leaves=8),
)


def draw_sessions(
    view: View, found: Sequence[Listed], days: Mapping[date, Day], *, wide: bool = False
) -> Iterator[Line]:
    """The list: column heads, then each day with its figures and its sessions."""
    columns = (*COLUMNS[:-1], *(WIDE if wide else ()), COLUMNS[-1])
    rows = {listed.session.id: _cells(view, listed, wide=wide) for listed in found}
    fit = layout(columns, list(rows.values()), view.width - EDGE, least=LEAST_TITLE)
    yield header(fit)
    dates = dict.fromkeys(_day(view, listed) for listed in found)
    shown = [days[day] for day in dates if day is not None and day in days]
    files = max((len(counted(day.files, "file")) for day in shown if day.files), default=0)
    today = local(view.now, view.tz).date()
    for day, group in groupby(found, lambda listed: _day(view, listed)):
        yield ()
        own = days.get(day) if day is not None else None
        left = spans((long_day(day, today) if day else "Without a time", "title"))
        yield beside(view, left, _figures(view, own, files, width(left)) if own else ())
        for listed in group:
            yield row(fit, rows[listed.session.id], view)


def _figures(view: View, day: Day, files: int, taken: int) -> Line:
    """The figures of a day beside its name; where it is tight the files leave, then the sessions, never the money."""
    paid = day_money(day.cost, day.covered)
    choices = [figures(day.sessions, day.files, files), figures(day.sessions, 0), ""]
    for words in choices if paid else choices[:2]:
        found = joined([spans(words), paid], gap=2)
        if not view.cut or taken + 2 + width(found) <= view.width:
            break
    return found


def _day(view: View, listed: Listed) -> date | None:
    return None if listed.last_at is None else local(listed.last_at, view.tz).date()


def _cells(view: View, listed: Listed, *, wide: bool) -> list[Line]:
    session, totals = listed.session, listed.session.totals
    cells: list[Line] = [
        mark(view, listed),
        spans((view.glyphs.one_line(listed.short_id), "label")),
        spans((clock(listed.last_at, view.tz) if listed.last_at is not None else "", "label")),
        spans(project(view, session)),
        spans(title(view, session)),
        spans(f"{totals.steps:,}"),
        failures(listed),
        price(listed.cost),
    ]
    if wide:
        cells[-1:-1] = [
            spans(f"{totals.turns:,}"),
            spans(f"{totals.files:,}" if totals.files else ""),
            spans(duration(listed.length) if listed.length is not None else ""),
            spans(view.glyphs.one_line(session.model or "")),
            spans(tokens(tokens_json(listed.cost)["total"]) if listed.cost.calls else ""),
        ]
    return cells


@click.command("sessions", cls=Verb, short_help="List sessions, newest first, by day.")
@click.option("--project", metavar="NAME", help="Only sessions of this folder: its name or its path.")
@day_option("--since", "Only sessions that were active since then: today, yesterday, 24nov, 7d, 2026-11-24.")
@day_option("--until", "Only sessions that were last active by then.", end=True)
@click.option("--source", metavar="NAME", help="Only sessions of this surface: cli, vscode, ...")
@click.option("--status", type=click.Choice(STATES), help="Only sessions in this state.")
@click.option("--model", metavar="NAME", help="Only sessions of this model.")
@click.option("--failing", is_flag=True, help="Only sessions in which something is still failing.")
@click.option("--limit", type=Count(), default=DEFAULT_LIMIT, show_default=True, metavar="N")
@click.option("--wide", is_flag=True, help="Add prompts, files, length, model and tokens.")
@json_option
@reading_options
@pass_app
def command(app: App, /, json_: bool, wide: bool, since: Any, until: Any, **options: Any) -> None:
    """List sessions, newest first, by day, with what they cost.

    \b
    ● running   ▲ something is still failing   ✕ stopped by an error   ◌ interrupted

    \b
    Examples:
      backstory sessions --since yesterday
      backstory sessions --project api-gateway --failing
      backstory sessions --json | jq -r '.sessions[].id'
    """
    filters: dict[str, Any] = {
        "project": options["project"],
        "since": since and since.at,
        "until": until and until.at,
        "surface": options["source"],
        "state": options["status"],
        "model": options["model"],
        "failing": options["failing"],
    }
    with app.archive(options) as archive:
        found = archive.sessions(limit=options["limit"], **filters)
        if json_:
            from .documents import listed_json

            app.json({"sessions": [listed_json(listed) for listed in found]})
            return
        view = app.term.view
        if found:
            app.term.write(draw_sessions(view, found, _days(archive, view, found, filters), wide=wide))
            return
        app.term.write([spans(view.glyphs.one_line(_nothing(options, since, until)))])


def _days(
    archive: Archive, view: View, found: Sequence[Listed], filters: dict[str, Any]
) -> Mapping[date, Day]:
    """The figures of the days that are listed, and of no day before them."""
    times = [listed.last_at for listed in found if listed.last_at is not None]
    if not times:
        return {}
    begin, _ = day_bounds(local(min(times), view.tz).date(), view.tz)
    return archive.days(tz=view.tz, **{**filters, "since": max(begin, filters["since"] or begin)})


def _nothing(options: Mapping[str, Any], since: Any, until: Any) -> str:
    """`No session matches: project api-gateway, since yesterday.`"""
    said = [
        f"{name} {options[name]}" for name in ("project", "source", "status", "model") if options.get(name)
    ]
    said += [f"{word} {given.said}" for word, given in (("since", since), ("until", until)) if given]
    if options.get("failing"):
        said.append("still failing")
    return f"No session matches: {', '.join(said)}." if said else "No sessions yet."
