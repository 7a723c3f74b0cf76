"""`backstory memory`: what was learned and added, to list, add to, edit, forget and export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..memory.workspaces import DEFAULT
from .line import spans
from .memory_rows import draw_items, draw_removal, edited, editing
from .options import App, Count, Verb, json_option, pass_app
from .words import counted

if TYPE_CHECKING:
    from ..archive import Archive
    from ..memory.memory import Forgettable
    from ..memory.recall import Passage

DEFAULT_LIMIT = 20
WHATS = ("list", "add", "edit", "forget", "export")
GOES_WITH = {
    "workspace": ("list", "add", "forget"),
    "project": ("list", "add", "forget"),
    "facts": ("list",),
    "limit": ("list",),
    "text": ("edit",),
    "asked": ("edit",),
    "answered": ("edit",),
    "ids": ("forget",),
    "session": ("forget",),
    "query": ("forget",),
    "yes": ("forget",),
}
"""What each option means something for."""


@click.command("memory", cls=Verb, short_help="List, add, edit, forget and export what was learned.")
@click.argument("what", required=False, default="list", type=click.Choice(WHATS), metavar="[WHAT]")
@click.argument("words", nargs=-1, metavar="[TEXT|ID]...")
@click.option("--workspace", metavar="NAME", help=f"The memory that is meant, else {DEFAULT}.")
@click.option(
    "--project", metavar="NAME", help="Only this project, by its name; with add, the fact's project."
)
@click.option("--facts", is_flag=True, help="With list: only what was added, not what was learned.")
@click.option(
    "--limit",
    type=Count(),
    metavar="N",
    help=f"With list: at most so many, else {DEFAULT_LIMIT}.",
)
@click.option("--text", metavar="TEXT", help="With edit: the new text of a fact.")
@click.option("--asked", metavar="TEXT", help="With edit: the new question of an exchange.")
@click.option("--answered", metavar="TEXT", help="With edit: the new answer of an exchange.")
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="With forget: this exchange or fact; may be repeated."
)
@click.option(
    "--session", metavar="ID", help="With forget: all of this session, also what is typed in it later."
)
@click.option("--query", metavar="QUERY", help="With forget: what recall finds for it.")
@click.option("--yes", is_flag=True, help="With forget: do not ask.")
@json_option
@pass_app
def command(app: App, /, what: str, words: tuple[str, ...], json_: bool, **options: Any) -> None:
    """List, add, edit, forget and export what was learned.

    \b
    WHAT: list           exchanges and facts, newest first (default)
          add TEXT       a fact of your own
          edit ID        another text for an exchange (e12) or a fact (f3); without one, in $EDITOR
          forget ID      take it out, with its copies, for good
          export         everything, as Markdown or as one JSON document

    \b
    Examples:
      backstory memory add "Deploys go out from main only" --project api-gateway
      backstory memory edit f1 --text "Deploys go out from release branches"
      backstory memory forget --session k3v9q
    """
    _refuse(what, words, options)
    with app.archive({"sync": False}) as archive:
        if what == "list":
            _list(app, archive, options, json_)
        elif what == "add":
            _one(
                app,
                archive.memory.remember(" ".join(words), _workspace(options), project=options["project"]),
                json_,
            )
        elif what == "edit":
            _edit(app, archive, words[0], options, json_)
        elif what == "forget":
            _forget(app, archive, {**options, "ids": (*options["ids"], *words)}, json_)
        else:
            from .memory_export import write_json, write_markdown

            (write_json if json_ else write_markdown)(app, archive.memory.export())


def _workspace(options: Mapping[str, Any]) -> str:
    return options["workspace"] or DEFAULT


def _refuse(what: str, words: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """Say what does not go together."""
    for name, verbs in GOES_WITH.items():
        if options[name] not in (None, False, ()) and what not in verbs:
            shown = "id" if name == "ids" else name
            raise click.UsageError(f"--{shown} goes with memory {' and '.join(verbs)}, not with {what}.")
    if what == "add" and not " ".join(words).strip():
        raise click.UsageError("memory add needs a text.")
    if what == "edit" and len(words) != 1:
        raise click.UsageError("memory edit needs the ID of one exchange or fact; memory list shows them.")
    if what in ("list", "export") and words:
        raise click.UsageError(f'memory {what} takes no "{words[0]}".')
    if what == "forget":
        named = (bool(words or options["ids"]), options["session"], options["project"], options["query"])
        if sum(bool(one) for one in named) != 1:
            raise click.UsageError("memory forget needs IDs, or one of --session, --project and --query.")


def _list(app: App, archive: Archive, options: Mapping[str, Any], json_: bool) -> None:
    workspace = _workspace(options)
    found = archive.memory.items(
        workspace,
        project=options["project"],
        facts_only=options["facts"],
        limit=options["limit"] or DEFAULT_LIMIT,
    )
    if json_:
        from .memory_documents import passage_json

        app.json({"workspace": workspace, "items": [passage_json(one) for one in found]})
    elif found:
        app.term.write(draw_items(app.term.view, found))
    else:
        kind = "No facts" if options["facts"] else "Nothing"
        where = f" of project {options['project']}" if options["project"] else ""
        text = f"{kind}{where} in the memory of the workspace {workspace}."
        app.term.write([spans(app.term.view.glyphs.one_line(text))])


def _one(app: App, passage: Passage, json_: bool) -> None:
    """What was added or edited, as it stands now."""
    if json_:
        from .memory_documents import passage_json

        app.json(passage_json(passage))
    else:
        app.term.write(draw_items(app.term.view, [passage]))


def _edit(app: App, archive: Archive, item_id: str, options: Mapping[str, Any], json_: bool) -> None:
    """Give an item the texts that were said, else those that come out of the editor."""
    new = {name: options[name] for name in ("text", "asked", "answered")}
    if all(text is None for text in new.values()):
        passage = archive.memory.item(item_id)
        if not app.term.can_ask:
            names = "--text" if passage.kind == "fact" else "--asked or --answered"
            raise InputError(f"nobody is here to edit it. Nothing was changed; {names} says the new text.")
        try:
            written = click.edit(editing(passage), extension=".md")
        except UnicodeDecodeError:
            raise InputError("what the editor left is no UTF-8. Nothing was changed.") from None
        if written is None:
            raise InputError("nothing was changed.")
        new = edited(passage, written)
    _one(app, archive.memory.edit(item_id, **new), json_)


def _forget(app: App, archive: Archive, options: Mapping[str, Any], json_: bool) -> None:
    """Say what goes, ask, and take it out."""
    what = archive.memory.forgettable(
        _workspace(options),
        item_ids=options["ids"],
        session_id=archive.resolve(options["session"]) if options["session"] else None,
        project=options["project"],
        query=options["query"],
    )
    if not what.items and not what.sessions:
        if json_:
            app.json(_forgotten(what))
        else:
            app.term.write([spans("The memory holds nothing of that. Nothing was removed.")])
        return
    if not json_:
        app.term.write(draw_removal(app.term.view, what))
    if not options["yes"]:
        _ask(app)
    archive.memory.forget(what)
    if json_:
        app.json(_forgotten(what))
    else:
        app.term.write([spans(f"Forgotten: {counted(len(what.items), 'item')}.")])


def _forgotten(what: Forgettable) -> dict[str, Any]:
    """What was taken out, as a document."""
    return {
        "forgotten": [one.id for one in what.items],
        "sessions": [session_id for _, session_id in what.sessions],
        "copies": what.copies,
    }


def _ask(app: App) -> None:
    """Ask a person; where nobody can answer, nothing is removed."""
    if not app.term.can_ask:
        raise InputError("nobody is here to ask. Nothing was removed; --yes does it.")
    if not click.confirm("Forget it?", default=False, err=True):
        raise InputError("nothing was removed.")
