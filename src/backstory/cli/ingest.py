"""`backstory ingest`: adds sessions that lie somewhere else."""

from __future__ import annotations

from typing import Any

import click

from .options import App, Verb, json_option, pass_app
from .reports import draw_report, left_out, report_json


@click.command("ingest", cls=Verb, short_help="Add sessions that lie somewhere else.")
@click.argument("items", nargs=-1, required=True, type=click.Path(), metavar="ITEM...")
@click.option("--agent", metavar="NAME", default="cline", show_default=True)
@json_option
@pass_app
def command(app: App, /, items: tuple[str, ...], agent: str, json_: bool) -> None:
    """Add sessions that lie somewhere else.

    ITEM is a session's folder, a file in it, a folder of sessions, or the id of a session that Cline has.

    \b
    Examples:
      backstory ingest ~/backup/sessions/1796040242318_k3v9q
      backstory ingest --agent cline k3v9q
    """
    reports: list[dict[str, Any]] = []
    with app.archive({"sync": False}) as archive:
        for item in items:
            report = archive.ingest(item, agent=agent)
            reports.append({"item": item, **report_json(report)})
            if not json_:
                app.term.write(draw_report(report))
                for line in left_out(report):
                    app.term.note(line)
    if json_:
        app.json({"ingested": reports})
