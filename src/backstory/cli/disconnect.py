"""`backstory disconnect`: takes an agent's entry and rule back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ..clients.disconnect import Removal, disconnect, plan
from ..clients.elsewhere import elsewhere, how_to_leave
from ..clients.registration import Here
from .connecting import change_json, draw_change, draw_word, here, named, refuse_db, waiting
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app


def draw_removal(view: View, done: Removal, where: Here, *, dry: bool) -> Iterator[Line]:
    """What goes, and what stays and why."""
    if not done.changes:
        yield spans(f"{done.client.title} is not connected; there is nothing to take back.")
    for change in done.changes:
        settings = change.after is not None
        yield from draw_change(view, change, where, is_settings=settings, dry=dry)
    for kept in done.kept:
        yield from draw_word(view, "keep", f"{where.short(kept.path)}: {kept.why}")


@click.command("disconnect", cls=Verb, short_help="Take an agent's entry and rule back.")
@click.argument("client", metavar="[CLIENT]", required=False)
@click.option("--dry-run", "dry", is_flag=True, help="Show what would go, and change nothing.")
@json_option
@pass_app
def command(app: App, /, client: str | None, dry: bool, json_: bool) -> None:
    """Take an agent's entry and rule back.

    Settings that nobody touched since get their bytes of before the setup back; else the entry alone goes. A rule
    that was edited stays. The archive is not touched.

    \b
    Examples:
      backstory disconnect cline --dry-run
      backstory disconnect cline
    """
    refuse_db(app)
    where = here()
    documents = []
    for one in named(client):
        done = plan(one, where) if dry else disconnect(one, where, waiting=waiting(app, where))
        others = list(elsewhere(one, where))
        documents.append(_document(done, others, dry=dry))
        if json_:
            continue
        app.term.write(draw_removal(app.term.view, done, where, dry=dry))
        for other in others:
            text = f"also connected in {where.short(other.settings)}: {how_to_leave(one, other)}"
            app.term.write(draw_word(app.term.view, "note", text))
        if dry:
            app.term.write([(), spans("Nothing was written.")])
        elif done.changes:
            app.term.write([(), spans(f"{one.title} starts without it from its next session on.")])
    if json_:
        app.json({"dry_run": dry, "clients": documents})


def _document(done: Removal, others: list[Any], *, dry: bool) -> dict[str, Any]:
    return {
        "client": done.client.name,
        "settings": str(done.found.path),
        "rule": str(done.found.rule_path),
        "changed": bool(done.changes) and not dry,
        "changes": [change_json(one, is_settings=one.after is not None) for one in done.changes],
        "kept": [{"path": str(one.path), "reason": one.why} for one in done.kept],
        "elsewhere": [str(other.settings) for other in others],
    }
