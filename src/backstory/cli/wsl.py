"""`backstory wsl`: registers agents that run in distributions of WSL, from Windows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from ..clients.selftest import Answer
from ..clients.table import Client, clients
from ..clients.wsl import exe, records, register
from ..clients.wsl.records import Registration
from ..clients.wsl.register import Host, Steps
from ..errors import ClientError
from .connecting import ROLES as MARKS
from .connecting import answer_json, answered, diff, draw_word, here, outline, refuse_db
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app
from .words import counted

WHATS = ("list", "setup", "remove")


@click.command("wsl", cls=Verb, short_help="Let agents in distributions of WSL ask the memory.")
@click.argument("what", metavar="list|setup|remove", type=click.Choice(WHATS))
@click.option("--target", metavar="CLIENT", help="The agent: cline.")
@click.option("--distribution", metavar="NAME", help="The distribution; else the default one.")
@click.option("--dry-run", "dry", is_flag=True, help="Show what would change, and change nothing.")
@json_option
@pass_app
def command(
    app: App, /, what: str, target: str | None, distribution: str | None, dry: bool, json_: bool
) -> None:
    """Let agents in distributions of WSL ask the memory on Windows.

    \b
    Examples:
      backstory wsl list
      backstory wsl setup --target cline
      backstory wsl remove --target cline --distribution Ubuntu
    """
    refuse_db(app)
    if what == "list":
        _list(app, json_=json_)
        return
    client = register.target(target)
    own = here()
    host = Host(exe.find(os.environ), own.home, sys.executable, own.archive)
    (_setup if what == "setup" else _remove)(app, host, client, distribution, dry=dry, json_=json_)


def _list(app: App, *, json_: bool) -> None:
    """Only what runs or is registered is looked into: looking starts a distribution."""
    own = here()
    host = Host(exe.find(os.environ), own.home, sys.executable, own.archive)
    known = records.registered(own.home)
    names, running = host.wsl.distributions(), host.wsl.distributions(running=True)
    rows = []
    for name in names:
        for client in clients().values():
            mine = records.of(known, name, client.name)
            rows.append(look_into(host, client, name, mine, runs=name in running))
    lost = [one for one in known if not any(one.context.is_named(name) for name in names)]
    if json_:
        app.json({"distributions": rows, "lost": [one.distribution for one in lost]})
        return
    app.term.write(draw_list(app.term.view, rows, lost))


def look_into(
    host: Host, client: Client, name: str, mine: list[Registration], *, runs: bool
) -> dict[str, Any]:
    """A client in one distribution; what neither runs nor is registered is not started to look."""
    found, problem = None, None
    if runs or mine:
        try:
            found = register.probe(host, client, name)
        except ClientError as error:
            problem = str(error)
    return {
        "distribution": name,
        "running": runs,
        "client": client.name,
        "client_home": found.client_home if found is not None else None,
        "looked_at": bool(runs or mine),
        "problem": problem,
        "registered": [one.client_home for one in mine],
        "sessions": [one.sessions for one in mine],
    }


def draw_list(view: View, rows: list[dict[str, Any]], lost: list[Registration]) -> Iterator[Line]:
    """A line a distribution and client."""
    if not rows:
        yield spans("WSL has no distribution yet.")
    width = max([12, *(len(row["distribution"]) for row in rows)])
    if rows:
        yield spans((f"{'DISTRIBUTION'.ljust(width)}  CLIENT  REGISTERED  FOLDER", "label"))
    for row in rows:
        where = row["client_home"] or (
            "not installed" if row["looked_at"] else "not running, not looked into"
        )
        is_registered = "yes" if row["registered"] else "no"
        text = f"{row['distribution'].ljust(width)}  {row['client'].ljust(6)}  {is_registered.ljust(10)}  "
        yield spans(view.glyphs.safe(text + (row["problem"] or where)).rstrip())
    for one in lost:
        text = f"{one.distribution} is registered and not there any more: backstory wsl remove --target {one.client}"
        yield from draw_word(view, "note", f"{text} --distribution {one.distribution}")


def _setup(app: App, host: Host, client: Client, name: str | None, *, dry: bool, json_: bool) -> None:
    where = register.choose(host.wsl, name)
    steps = register.plan_setup(host, client, where) if dry else register.setup(host, client, where)
    got = None if dry else register.answer(host, steps)
    if json_:
        app.json({"dry_run": dry, **_document(steps, got)})
    else:
        app.term.write(draw_steps(app.term.view, steps, dry=dry))
        app.term.write(_outcome(app.term.view, steps, got))
    if got is not None and got.problem is not None:
        click.get_current_context().exit(1)


def _outcome(view: View, steps: Steps, got: Answer | None) -> Iterator[Line]:
    where = steps.registration.distribution
    for entry, why in steps.broken:
        text = (
            f'the entry "{entry}" {why}, so {steps.client.title} loads no server at all. Mend or remove it.'
        )
        yield from draw_word(view, "look", text, "rejected")
    if got is None:
        yield spans("Nothing was written.")
    elif got.problem is not None:
        yield from draw_word(
            view, "test", f"started it in {where}: it did not answer: {got.problem}", "failing"
        )
    elif steps.changes:
        yield from draw_word(view, "test", f"started it in {where}: {answered(got)}")
        yield ()
        yield spans(f"Undo: backstory wsl remove --target {steps.client.name} --distribution {where}")
    else:
        yield spans(f"Already set up; nothing to change. {answered(got).capitalize()}.")


def _remove(app: App, host: Host, client: Client, name: str | None, *, dry: bool, json_: bool) -> None:
    done: list[Steps] = []
    gone: list[str] = []
    known = records.registered(host.home)
    names = host.wsl.distributions()
    where = name if name is not None else (names[0] if names else "")
    mine = records.of(known, where, client.name)
    if mine and not any(mine[0].context.is_named(one) for one in names):
        gone.append(mine[0].distribution)
        for one in mine if not dry else []:
            records.drop(host.home, one)
    else:
        chosen = register.choose(host.wsl, name)
        probed = None if mine else register.probe(host, client, chosen)
        for one in mine or ([probed] if probed is not None else []):
            done.append(
                register.plan_removal(host, client, one) if dry else register.remove(host, client, one)
            )
    if json_:
        app.json({"dry_run": dry, "removed": [_document(one, None) for one in done], "gone": gone})
        return
    app.term.write(_removed(app.term.view, done, gone, where, dry=dry))


def _removed(view: View, done: list[Steps], gone: list[str], where: str, *, dry: bool) -> Iterator[Line]:
    for name in gone:
        yield spans(f"{name} is not there any more; its registration is {'kept' if dry else 'forgotten'}.")
    for steps in done:
        yield from draw_steps(view, steps, dry=dry)
    if not any(steps.changes for steps in done) and not gone:
        yield spans(f"{where} is not registered; there is nothing to take back.")
    elif dry:
        yield spans("Nothing was written.")


def draw_steps(view: View, steps: Steps, *, dry: bool) -> Iterator[Line]:
    """What is changed in a distribution, file by file."""
    if steps.changes:
        yield spans(
            f"{steps.client.title} in {steps.registration.distribution}: {steps.registration.client_home}"
        )
        yield ()
    indent = 15 if dry else 9
    for change in steps.changes:
        verb = "remove" if change.after is None else "write"
        word = f"would {verb}" if dry else verb
        path = change.path.as_posix()
        is_settings = path == steps.layout.settings
        size = counted(change.after.count(b"\n"), "line") if change.after is not None else ""
        note = "" if is_settings or not size else f"   ({size})"
        yield spans("  ", (word.ljust(indent - 2), "label"), view.glyphs.one_line(path), (note, "label"))
        for mark, line in diff(outline(change.before), outline(change.after)) if is_settings else []:
            yield spans(" " * indent, (view.glyphs.safe(f"{mark} {line}").rstrip(), MARKS[mark]))
    if steps.kept is not None:
        yield from draw_word(view, "keep", f"{steps.kept}: it was edited, and is yours")
    if steps.changes:
        yield ()


def _document(steps: Steps, got: Answer | None) -> dict[str, Any]:
    one = steps.registration
    changes = [
        {
            "path": change.path.as_posix(),
            "action": "remove" if change.after is None else "create" if change.before is None else "write",
        }
        for change in steps.changes
    ]
    return {
        "distribution": one.distribution,
        "client": one.client,
        "client_home": one.client_home,
        "sessions": one.sessions,
        "changes": changes,
        "kept": steps.kept,
        "broken_entries": [{"name": name, "reason": why} for name, why in steps.broken],
        "answer": answer_json(got),
    }
