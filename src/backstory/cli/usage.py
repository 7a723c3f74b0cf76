"""`backstory usage`: tokens and money by day, model, project and more."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta, tzinfo
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from ..errors import InputError
from ..ledger import ranges
from ..ledger.report import By, Filter
from . import dates
from .line import View, spans
from .options import App, Count, Verb, json_option, pass_app, reading_options
from .words import MONTHS, local, number

if TYPE_CHECKING:
    from ..archive import Archive

DAYS = 30
TOOLS = ("tool", "command", "mcp", "skill")
GROUPINGS = (*get_args(By), *TOOLS)
WHATS = ("top", "reconcile", "models", "line")


class Selection:
    """Which calls a person asked for, in which zone, and how that is said."""

    def __init__(self, options: Mapping[str, Any], now: int) -> None:
        self.now = now
        self.tz = zone_of(options)
        self.heading = ""
        self.asked = ", ".join(f"{name} {options[name]}" for name in ("since", "until") if options.get(name))
        since, until = self._bounds(options)
        if since is not None and until is not None and since >= until:
            raise click.UsageError("--since is not before --until.")
        self.which = Filter(since, until, options.get("project"), options.get("model"))

    @property
    def zone(self) -> str:
        """The zone's name."""
        return ranges.zone_name(self.tz)

    def _bounds(self, options: Mapping[str, Any]) -> tuple[int | None, int | None]:
        since: int | None
        until: int | None
        given = [name for name in ("day", "month", "every") if options.get(name)]
        if (options.get("since") or options.get("until")) and given:
            given.insert(0, "since")
        if len(given) > 1:
            raise click.UsageError("give one of --since/--until, --day, --month and --all.")
        if options.get("day"):
            day = ranges.local_day(self._at("day", options["day"]), self.tz)
            since, until = (ranges.start_of(day + timedelta(days=after), self.tz) for after in (0, 1))
            self.label = options["day"]
        elif options.get("month"):
            since, until = ranges.bounds(self.now, "month", self.tz)
            self.label = MONTHS[local(self.now, self.tz).month - 1]
        elif options.get("every"):
            self.label = "all"
            return None, None
        elif options.get("since") or options.get("until"):
            since = self._at("since", options["since"]) if options.get("since") else None
            until = self._at("until", options["until"], end=True) if options.get("until") else None
            self.label = self._days(since, until) if since is not None else f"until {options['until']}"
            return since, until
        else:
            first = ranges.local_day(self.now, self.tz) - timedelta(days=DAYS - 1)
            since, until = ranges.start_of(first, self.tz), None
            self.label = self._days(since, None)
            self.heading = f"The last {DAYS} days, from {first.day} {MONTHS[first.month - 1]} on"
        return since, until

    def _days(self, since: int, until: int | None) -> str:
        """`7 days`: how many days of the zone the span touches."""
        last = min(self.now, until - 1) if until is not None else self.now
        days = (ranges.local_day(last, self.tz) - ranges.local_day(since, self.tz)).days + 1
        return "1 day" if days == 1 else f"{number(max(days, 0))} days"

    def _at(self, name: str, text: str, *, end: bool = False) -> int:
        try:
            return dates.parse(text, self.now, self.tz, end=end)
        except dates.NotADate:
            forms = "today, yesterday, 24nov, 7d or 2026-11-24"
            raise click.BadParameter(
                f'"{text}" is not a date. Write one as {forms}.', param_hint=name
            ) from None


def zone_of(options: Mapping[str, Any]) -> tzinfo | None:
    """The zone that was named; null is this machine's."""
    try:
        return ranges.zone(options["tz"]) if options.get("tz") else None
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def refuse_nameless(options: Mapping[str, Any]) -> None:
    """An empty name is a script's mistake, and would mean everything."""
    for name in ("project", "model"):
        if options[name] is not None and not options[name].strip():
            raise click.UsageError(f"--{name} has no name.")


def span_options(face: Any) -> Any:
    """The options that say which calls are meant."""
    words = {
        "--since": "From then on: today, yesterday, 24nov, 7d, 2026-11-24. Default: the last 30 days.",
        "--until": "Until then; the day that it names is in it.",
        "--day": "One day.",
    }
    options = [
        *(click.option(name, metavar="WHEN", help=text) for name, text in words.items()),
        click.option("--month", is_flag=True, help="The month that runs now."),
        click.option("--all", "every", is_flag=True, help="Everything that was ever read."),
        click.option("--tz", metavar="ZONE", help="The zone whose days are meant; else this machine's."),
        click.option("--project", metavar="NAME", help="Only this folder: its name or its path."),
        click.option("--model", metavar="NAME", help="Only models whose name has this in it."),
    ]
    for option in reversed(options):
        face = option(face)
    return face


@click.command("usage", cls=Verb, short_help="Tokens and money by day, model, project and more.")
@click.argument("what", required=False, type=click.Choice(WHATS), metavar="[WHAT]")
@click.argument("session_id", required=False, metavar="[ID]")
@click.option("--by", type=click.Choice(GROUPINGS), default="day", show_default=True, help="What a row is.")
@span_options
@click.option("--unpriced", is_flag=True, help="With models: only those without a price.")
@click.option("--limit", type=Count(), metavar="N", help="With top and reconcile: rows a list.")
@click.option("--csv", "csv_", is_flag=True, help="Print the rows as CSV.")
@click.option("--jsonl", is_flag=True, help="Print one JSON line a call.")
@json_option
@reading_options
@pass_app
def command(app: App, /, what: str | None, **options: Any) -> None:
    """Tokens and money by day, model, project and more.

    \b
    What is reported, what is estimated and what a subscription covers stay apart.
    WHAT: top         the costliest sessions, prompts and calls
          reconcile   Cline's own totals against the calls, of all sessions or of one
          models      the models and where their prices come from
          line        one short line for a prompt or a status bar

    \b
    Examples:
      backstory usage --since 24nov
      backstory usage --by model --month
      backstory usage top --project api-gateway
      backstory usage --all --json | jq .totals
    """
    _refuse(what, options)
    chosen = Selection(options, int(time.time() * 1000))
    if what is None:
        _usage(app, chosen, options)
    elif what == "top":
        from .usage_top import show_top

        show_top(app, chosen, options)
    elif what == "reconcile":
        from .usage_reconcile import show_reconcile

        show_reconcile(app, chosen, options)
    elif what == "models":
        from .usage_models import show_models

        show_models(app, chosen, options)
    else:
        from .usage_line import show_line

        show_line(app, chosen, options)


def _refuse(what: str | None, options: Mapping[str, Any]) -> None:
    """Say what does not go together."""
    refuse_nameless(options)
    grouped = click.get_current_context().get_parameter_source("by") is ParameterSource.COMMANDLINE
    if grouped and (what is not None or options["jsonl"]):
        raise click.UsageError("--by goes with the table, --json and --csv alone.")
    if what == "line" and any(options[name] for name in ("since", "until", "day", "month", "every")):
        raise click.UsageError("usage line is about today; it takes no dates.")
    formats = [name for name in ("json_", "csv_", "jsonl") if options[name]]
    if len(formats) > 1:
        raise click.UsageError("give one of --json, --csv and --jsonl.")
    if what is not None and formats and formats != ["json_"]:
        raise click.UsageError(f"usage {what} has --json alone.")
    if options["model"] and what == "reconcile":
        raise click.UsageError(
            "--model does not go with usage reconcile: Cline's totals are of whole sessions."
        )
    if options["session_id"] and what != "reconcile":
        raise click.UsageError("an ID goes with usage reconcile alone.")
    if options["unpriced"] and what != "models":
        raise click.UsageError("--unpriced goes with usage models alone.")
    if options["limit"] and what not in ("top", "reconcile"):
        raise click.UsageError("--limit goes with usage top and usage reconcile alone.")


def _usage(app: App, chosen: Selection, options: Mapping[str, Any]) -> None:
    """The totals by what was asked for, in the form that was asked for."""
    from ..ledger.report import report
    from . import usage_export

    with app.archive(options) as archive:
        if options["jsonl"]:
            ascii_ = app.term.view.glyphs.encoding is not None
            for line in usage_export.calls_jsonl(archive.connection, chosen.which, ascii_=ascii_):
                app.term.out.write(line)
            app.term.out.flush()
            return
        if options["by"] in TOOLS:
            from .usage_tools import show_tools

            show_tools(app, archive, chosen, options)
            return
        found = report(archive.connection, options["by"], chosen.which, chosen.tz)
        if options["json_"]:
            app.json(usage_export.report_json(found))
        elif options["csv_"]:
            app.term.text(usage_export.report_csv(found, app.term.view.glyphs.safe))
        else:
            _draw(app, archive, chosen, found)


def _draw(app: App, archive: Archive, chosen: Selection, found: Any) -> None:
    from ..ledger.models import unpriced_names
    from ..ledger.top import short_ids
    from .usage_table import draw_meaning, draw_usage

    view = view_of(app, chosen)
    if chosen.heading:
        app.term.write([spans((chosen.heading, "title"))])
    if not found.rows:
        app.term.write([spans(nothing_matches(chosen))])
        return
    shorts = short_ids(archive.connection) if found.by == "session" else {}
    app.term.write(draw_usage(view, found, chosen.label, shorts))
    if app.term.interactive and not app.term.quiet:
        names = unpriced_names(archive.connection, chosen.which) if found.totals.unpriced_calls else []
        app.term.write([(), *draw_meaning(view, found, chosen.zone, names)])


def view_of(app: App, chosen: Selection) -> View:
    """The terminal's view, in the zone that was asked for."""
    return app.term.view._replace(tz=chosen.tz)


def nothing_matches(chosen: Selection) -> str:
    """What is said where no call is let through."""
    said = [f"{name} {value}" for name in ("project", "model") if (value := getattr(chosen.which, name))]
    return (
        f"No call matches: {', '.join([chosen.asked or chosen.label, *said])}."
        if chosen.label != "all" or said
        else "No calls yet."
    )
