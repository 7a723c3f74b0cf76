"""`backstory workspace`: memories that are kept apart, and the folders that each of them claims."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..memory.folders import is_absolute
from ..memory.workspaces import DEFAULT, Claimed, Owner, Workspace
from ..redact import mask
from ..schema.words import tilde
from .line import Line, View, spans
from .options import App, Verb, json_option, pass_app
from .table import Column, header, layout, row
from .text import wrap
from .words import counted, number

if TYPE_CHECKING:
    from ..memory.memory import Memory

COLUMNS = (
    Column("WORKSPACE"),
    Column("CONVERSATIONS", right=True),
    Column("EXCHANGES", right=True, leaves=1),
    Column("FACTS", right=True, leaves=2),
    Column("CLAIMS"),
)
WHATS = ("list", "create", "delete", "claim", "release", "show")


def draw_workspaces(view: View, found: Sequence[Workspace]) -> Iterator[Line]:
    """A row a workspace; a row more for each further folder that it claims."""
    rows = []
    for one in found:
        claims = [_path(view, path) for path in one.claims] or [""]
        figures = [spans(number(count)) for count in (one.conversations, one.exchanges, one.facts)]
        rows.append([spans(view.glyphs.one_line(one.name)), *figures, spans(claims[0])])
        rows += [[(), (), (), (), spans(path)] for path in claims[1:]]
    fit = layout(COLUMNS, rows, view.width, least=0)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)


def draw_workspace(view: View, one: Workspace, folder: str, owner: Owner | None) -> Iterator[Line]:
    """What a workspace claims and holds, and who owns the folder at hand."""
    yield spans((f"workspace {view.glyphs.one_line(one.name)}", "title"))
    held = (
        f"{counted(one.conversations, 'conversation')}, {counted(one.exchanges, 'exchange')},"
        f" {counted(one.facts, 'fact')}"
    )
    yield spans(("holds   ", "label"), held)
    for at, path in enumerate(one.claims):
        yield spans(("claims  " if at == 0 else " " * 8, "label"), _path(view, path))
    if not one.claims:
        yield spans(("claims  ", "label"), "no folder")
    words = f"{_path(view, folder)} {_owned(view, owner)}"
    for at, line in enumerate(wrap(words, view.width - 8) if view.cut else [words]):
        yield spans(("here    " if at == 0 else " " * 8, "label"), line)


def _owned(view: View, owner: Owner | None) -> str:
    if owner is None:
        return "is claimed by nobody: the workspace that learns its sessions keeps them"
    return f"belongs to {view.glyphs.one_line(owner.workspace)}, which claims {_path(view, owner.claim)}"


def _path(view: View, path: str) -> str:
    return view.glyphs.one_line(tilde(mask(path), view.home))


def workspace_json(one: Workspace) -> dict[str, Any]:
    """A workspace with its claims and what it holds."""
    return {
        "name": one.name,
        "claims": [mask(path) for path in one.claims],
        "conversations": one.conversations,
        "exchanges": one.exchanges,
        "facts": one.facts,
    }


@click.command("workspace", cls=Verb, short_help="Keep the memories of some folders apart.")
@click.argument("what", required=False, default="list", type=click.Choice(WHATS), metavar="[WHAT]")
@click.argument("name", required=False, metavar="[NAME|DIR]")
@click.option(
    "--workspace", metavar="NAME", help=f"With claim: the workspace that gets the folder, else {DEFAULT}."
)
@json_option
@pass_app
def command(app: App, /, what: str, name: str | None, workspace: str | None, json_: bool) -> None:
    """Keep the memories of some folders apart. A folder belongs to the workspace with the longest claim on it.

    \b
    WHAT: list           the workspaces and their folders (default)
          create NAME    a new one
          delete NAME    take out one that holds and claims nothing
          claim DIR      give a folder, and all below it, to a workspace
          release DIR    take the claim back
          show [NAME]    one of them, and who owns the folder at hand

    \b
    Examples:
      backstory workspace create work
      backstory workspace claim ~/work --workspace work
      backstory workspace show
    """
    _refuse(what, name, workspace)
    with app.archive({"sync": False}) as archive:
        memory = archive.memory
        if what == "list":
            _list(app, memory.workspaces(), json_)
        elif what == "show":
            _show(app, memory, name, json_)
        else:
            _change(app, memory, what, str(name), workspace or DEFAULT, json_)


def _refuse(what: str, name: str | None, workspace: str | None) -> None:
    """Say what does not go together."""
    if what not in ("list", "show") and not (name or "").strip():
        wanted = "a name" if what in ("create", "delete") else "a folder"
        raise click.UsageError(f"workspace {what} needs {wanted}.")
    if what == "list" and name is not None:
        raise click.UsageError("workspace list shows all of them; workspace show NAME shows one.")
    if what != "claim" and workspace is not None:
        raise click.UsageError("--workspace goes with workspace claim alone.")


def _list(app: App, found: Sequence[Workspace], json_: bool) -> None:
    if json_:
        app.json({"workspaces": [workspace_json(one) for one in found]})
    else:
        app.term.write(draw_workspaces(app.term.view, found))


def _show(app: App, memory: Memory, name: str | None, json_: bool) -> None:
    """One workspace: the one that is named, else the one that owns the folder at hand."""
    folder = str(Path.cwd())
    owner = memory.claim_on(folder)
    wanted = name or (owner.workspace if owner else DEFAULT)
    memory.counts(wanted)  # refuses a name that is not there
    one = next(one for one in memory.workspaces() if one.name == wanted)
    if json_:
        claim = {"workspace": owner.workspace, "claim": mask(owner.claim)} if owner else None
        app.json({**workspace_json(one), "here": {"folder": mask(folder), "owner": claim}})
    else:
        app.term.write(draw_workspace(app.term.view, one, folder, owner))


def _change(app: App, memory: Memory, what: str, name: str, workspace: str, json_: bool) -> None:
    """Create, claim or release; says what was done."""
    view = app.term.view
    if what == "create":
        memory.create_workspace(name)
        document: dict[str, Any] = {"created": name}
        words = f"Created: {name}. backstory workspace claim DIR --workspace {name} gives it a folder."
    elif what == "delete":
        memory.delete_workspace(name)
        document = {"deleted": name}
        words = f"Deleted: {name}."
    elif what == "claim":
        if name == "~" or name.startswith(("~/", "~\\")):
            app.term.note("The ~ is taken as a folder's name; without quotes the shell puts your home there.")
        claimed = memory.claim(_folder(name), workspace)
        document = {"claimed": mask(claimed.path), "workspace": workspace, "before": claimed.before}
        words = claimed_words(_path(view, claimed.path), claimed)
    else:
        folder = _folder(name)
        before = memory.release(folder)
        document = {"released": mask(folder), "workspace": before}
        words = released_words(_path(view, folder), before)
    if json_:
        app.json(document)
    else:
        app.term.write([spans(view.glyphs.one_line(words))])


def claimed_words(folder: str, claimed: Claimed) -> str:
    """Whose a folder is now, and whose it was; `folder` is the path as it is shown."""
    words = f"{folder} belongs to {claimed.workspace}."
    if claimed.before is not None and claimed.before != claimed.workspace:
        words += f" It was {claimed.before}'s."
    if claimed.held:
        option = "" if claimed.workspace == DEFAULT else f" --workspace {claimed.workspace}"
        words += f" backstory learn{option} moves what was learned there."
    return words


def released_words(folder: str, before: str) -> str:
    """Who has a folder no longer."""
    return f"{folder} is no longer claimed by {before}."


def _folder(name: str) -> str:
    """A folder as it was named; a relative one is one of the folder at hand."""
    return name if is_absolute(name) else os.path.abspath(name)  # noqa: PTH100, links stay as they were named
