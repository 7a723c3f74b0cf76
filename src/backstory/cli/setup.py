"""`backstory setup`: lets an agent ask the memory, by an entry in its settings and a rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..clients.health import answer
from ..clients.program import is_kept
from ..clients.registration import Here, installed, look
from ..clients.selftest import Answer
from ..clients.setup import Plan, plan, setup
from .connecting import (
    answer_json,
    answered,
    change_json,
    draw_change,
    draw_word,
    here,
    named,
    refuse_db,
    waiting,
)
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app
from .text import wrap
from .words import counted

AFTER = (
    "{sees} Its hooks carry no transcript, so conversations arrive through "
    "backstory learn, or the Learn button in the app. Undo: backstory disconnect {name}"
)


def draw_setup(view: View, done: Plan, where: Here, *, dry: bool) -> Iterator[Line]:
    """What is written, file by file."""
    title = done.client.title
    places = ", ".join(dict.fromkeys(where.short(place) for place, _ in installed(done.client, where)[:1]))
    yield spans((f"{title} is installed: {view.glyphs.one_line(places)}", ""))
    yield ()
    for change in done.changes:
        yield from draw_change(view, change, where, is_settings=change is done.settings, dry=dry)
    if done.found.rule_state == "edited":
        yield from draw_word(
            view, "keep", f"{where.short(done.found.rule_path)}: it was edited, and is yours"
        )
    yield ()


def written(done: Plan) -> str:
    """`both written; the other 2 servers and their order are as they were`."""
    others = _others(done)
    count = "both written" if len(done.changes) == 2 else "written"
    if done.settings is not None and others:
        what = "server and its" if others == 1 else f"{counted(others, 'server')} and their"
        count += f"; the other {what} order are as they were"
    return count


def tested(title: str, got: Answer) -> str:
    """`started it as Cline will: answered in 0.11 s, 6 tools`."""
    said = answered(got) if got.problem is None else f"it did not answer: {got.problem}"
    return f"started it as {title} will: {said}"


def draw_result(view: View, done: Plan, got: Answer) -> Iterator[Line]:
    """What was done, and whether the server answers."""
    yield from draw_word(view, "done", written(done), "live")
    role = "label" if got.problem is None else "failing"
    yield from draw_word(view, "test", tested(done.client.title, got), role)


def draw_troubles(view: View, done: Plan, where: Here) -> Iterator[Line]:
    """What keeps the agent from using the entry, in spite of a setup that went well."""
    for text in troubles(done, where):
        yield from draw_word(view, "look", text, "rejected")


def troubles(done: Plan, where: Here) -> Iterator[str]:
    """What keeps the agent from using the entry, in words."""
    title = done.client.title
    for name, why in done.found.broken:
        yield f'the entry "{name}" {why}, so {title} loads no server at all. Mend or remove that entry.'
    if not is_kept(where.program):
        where_from = where.program.command
        yield f"{where_from} runs from a cache that is cleaned some day; install Backstory, and set up again"
    named_by = done.client.settings(where.env, where.platform)
    if not Path(named_by.path).is_absolute():
        yield f"{named_by.rule} is relative: {title} finds these files only when it starts in this folder"
    if _is_off(done):
        yield f"the entry is switched off in {title}, and stays so"


def sees(done: Plan) -> str:
    """From when on the agent uses the entry."""
    title = done.client.title
    if done.found.broken:
        return f"{title} sees it once the entries that it cannot read are mended."
    if _is_off(done):
        return f"{title} sees it once the entry is switched on there."
    return f"{title} sees it from its next session on."


def _is_off(done: Plan) -> bool:
    entry = done.found.entry
    return isinstance(entry, dict) and entry.get("disabled") is True


def _others(done: Plan) -> int:
    from ..clients.entry import NAME
    from ..clients.settings import entries

    text = done.found.text
    return len([name for name in entries(text) if name != NAME]) if text is not None else 0


@click.command("setup", cls=Verb, short_help="Let an agent ask the memory: its entry and its rule.")
@click.argument("client", metavar="[CLIENT]", required=False)
@click.option("--dry-run", "dry", is_flag=True, help="Show what would be written, and write nothing.")
@json_option
@pass_app
def command(app: App, /, client: str | None, dry: bool, json_: bool) -> None:
    """Let an agent ask the memory: its entry and its rule.

    Writes an entry into the agent's settings of MCP servers and a rule beside them, and starts the server once to
    see whether it answers. Other entries stay as they are. CLIENT is cline, the only one so far.

    \b
    Examples:
      backstory setup cline --dry-run
      backstory setup cline
    """
    refuse_db(app)
    where = here()
    documents, failed = [], False
    for one in named(client):
        done = plan(one, where) if dry else setup(one, where, waiting=waiting(app, where))
        got = None if dry else answer(one, look(one, where), where)
        failed = failed or (got is not None and (got.problem is not None or bool(done.found.broken)))
        documents.append(_document(done, got, where, dry=dry))
        if not json_:
            _show(app, done, got, where)
    if json_:
        app.json({"dry_run": dry, "clients": documents})
    if failed:
        click.get_current_context().exit(1)
    if not dry and not json_:
        _offer_to_learn(app)


def _show(app: App, done: Plan, got: Answer | None, where: Here) -> None:
    view, write = app.term.view, app.term.write
    if not done.changes:
        said = "Already set up; nothing to change."
        if got is not None and got.problem is None:
            said += f" {answered(got).capitalize()}."
        write([spans(said)])
        if got is not None and got.problem is not None:
            write(draw_word(view, "test", f"its server did not answer: {got.problem}", "failing"))
        write(draw_troubles(view, done, where))
        return
    write(draw_setup(view, done, where, dry=got is None))
    if got is None:
        write(draw_troubles(view, done, where))
        write([spans("Nothing was written.")])
        return
    write(draw_result(view, done, got))
    write(draw_troubles(view, done, where))
    if not app.term.quiet:
        text = AFTER.format(sees=sees(done), name=done.client.name)
        write([(), *(spans(line) for line in wrap(text, view.width - 4))])


def _document(done: Plan, got: Answer | None, where: Here, *, dry: bool) -> dict[str, Any]:
    return {
        "client": done.client.name,
        "installed": [{"path": path, "rule": named_by} for path, named_by in installed(done.client, where)],
        "settings": str(done.found.path),
        "rule": str(done.found.rule_path),
        "rule_edited": done.found.rule_state == "edited",
        "changed": bool(done.changes) and not dry,
        "changes": [change_json(one, is_settings=one is done.settings) for one in done.changes],
        "broken_entries": [{"name": name, "reason": why} for name, why in done.found.broken],
        "answer": answer_json(got),
    }


def _offer_to_learn(app: App) -> None:
    """Ask a person whether past conversations are to be learned at once."""
    from .main import VERBS, cli

    if not app.term.can_ask or app.term.quiet or "learn" not in VERBS:
        return
    if click.confirm("Learn from past sessions now?", default=True, err=True):
        context = click.get_current_context()
        learn = cli.get_command(context, "learn")
        assert learn is not None
        assert context.parent is not None
        with learn.make_context("learn", [], parent=context.parent) as own:
            learn.invoke(own)
