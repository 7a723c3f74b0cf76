"""`backstory clients`: the agents that can ask the memory, and where each keeps what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ..clients.entry import started
from ..clients.registration import Found, Here, installed, look_anyway
from ..clients.setup import Plan, plan
from ..clients.table import Client
from ..errors import ClientError
from .connecting import change_json, draw_change, here, named, refuse_db
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app

CONNECTED = {
    "nobody": "no",
    "ours": "yes",
    "dead": "no: the program of its entry is not there any more",
    "other": "to another Backstory",
    "foreign": "no: another program has the entry",
}


def draw_client(view: View, client: Client, found: Found, where: Here) -> Iterator[Line]:
    """One client: whether it is here and connected, what setup writes, where its sessions are."""
    safe = view.glyphs.one_line
    places = [f"{where.short(place)} ({named_by})" for place, named_by in installed(client, where)]
    store = client.store(where.env, where.platform)
    rows = [
        ("installed", ", ".join(places) or "no"),
        ("connected", connected(client, found)),
        ("entry", f"{where.short(found.path)} ({found.named_by})"),
        ("rule", f"{where.short(found.rule_path)} ({RULES[found.rule_state]})"),
        ("sessions", f"{where.short(store.path)} ({store.rule})"),
    ]
    if where.platform == "win32":
        rows.append(("in WSL", f"~/{client.inside.folder}/{client.inside.store}"))
    yield spans((client.title, "title"))
    for label, text in rows:
        yield spans("  ", (label.ljust(11), "label"), safe(text))


RULES = {
    "absent": "not there",
    "current": "in place",
    "older": "of an earlier version",
    "edited": "edited",
    "unread": "cannot be read",
}


def connected(client: Client, found: Found) -> str:
    """Whether the client starts our server, in words."""
    if found.unreadable:
        return f"no: its settings file {found.unreadable}"
    if found.owner == "ours":
        if why := client.problem(found.entry):
            return f"no: the entry {why}"
        if found.broken:
            return f'no: it cannot read the entry "{found.broken[0][0]}", and loads no server'
        if isinstance(found.entry, dict) and found.entry.get("disabled") is True:
            return "yes, but the entry is switched off"
    return CONNECTED[found.owner]


@click.command("clients", cls=Verb, short_help="List the agents that can ask the memory.")
@click.option("--dry-run", "dry", is_flag=True, help="Also show what setup would write.")
@json_option
@pass_app
def command(app: App, /, dry: bool, json_: bool) -> None:
    """List the agents that can ask the memory: installed, connected, and where each keeps what.

    \b
    Examples:
      backstory clients
      backstory clients --dry-run
    """
    refuse_db(app)
    where = here()
    documents = []
    for one in named(None):
        found = look_anyway(one, where)
        wanted, refused = _wanted(one, where) if dry else (None, None)
        documents.append(_document(one, found, wanted, refused, where))
        if json_:
            continue
        app.term.write(draw_client(app.term.view, one, found, where))
        if dry:
            app.term.write(_would(app.term.view, wanted, refused, where))
    if json_:
        app.json({"clients": documents})


def _wanted(client: Client, where: Here) -> tuple[Plan | None, str | None]:
    try:
        return plan(client, where), None
    except ClientError as error:
        return None, str(error)


def _would(view: View, wanted: Plan | None, refused: str | None, where: Here) -> Iterator[Line]:
    yield ()
    if refused is not None:
        yield spans(view.glyphs.one_line(refused))
    elif wanted is not None and not wanted.changes:
        yield spans("Already set up; nothing to change.")
    elif wanted is not None:
        for change in wanted.changes:
            yield from draw_change(view, change, where, is_settings=change is wanted.settings, dry=True)
        yield spans("Nothing was written.")


def _document(
    client: Client, found: Found, wanted: Plan | None, refused: str | None, where: Here
) -> dict[str, Any]:
    store = client.store(where.env, where.platform)
    command = started(found.entry)
    changes = wanted.changes if wanted is not None else []
    return {
        "client": client.name,
        "title": client.title,
        "installed": [{"path": path, "rule": named_by} for path, named_by in installed(client, where)],
        "connected": connected(client, found) == "yes",
        "state": connected(client, found),
        "settings": {"path": str(found.path), "rule": found.named_by, "exists": found.text is not None},
        "command": list(command.words) if command is not None else None,
        "rule": {"path": str(found.rule_path), "state": found.rule_state},
        "store": {"path": store.path, "rule": store.rule},
        "wsl": client.inside._asdict(),
        "broken_entries": [{"name": name, "reason": why} for name, why in found.broken],
        "would_change": [change_json(one, is_settings=one is wanted.settings) for one in changes if wanted],
        "refused": refused,
    }
