"""`backstory memory`: what was learned and added, to list, add to, edit, forget and export."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..errors import BackstoryError, InputError
from ..memory.workspaces import DEFAULT
from .line import spans
from .memory_rows import draw_items, draw_removal, draw_told, edited, editing
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
    "dry_run": ("forget",),
    "yes": ("forget",),
    "all_": ("list",),
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
@click.option("--all", "all_", is_flag=True, help="With list: all of it.")
@click.option("--text", metavar="TEXT", help="With edit: the new text of a fact.")
@click.option("--asked", metavar="TEXT", help="With edit: the new question of an exchange.")
@click.option("--answered", metavar="TEXT", help="With edit: the new answer of an exchange.")
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="With forget: this exchange or fact; may be repeated."
)
@click.option(
    "--session", metavar="ID", help="With forget: all of this session, also what is typed in it later."
)
@click.option("--query", metavar="QUERY", help="With forget: what itself holds all these words.")
@click.option("--dry-run", is_flag=True, help="With forget: list all that would go; remove nothing.")
@click.option("--yes", is_flag=True, help="With forget: do not ask.")
@json_option
@pass_app
def command(app: App, /, what: str, words: tuple[str, ...], json_: bool, **options: Any) -> None:
    """List, add, edit, forget and export what was learned.

    \b
    WHAT: list           exchanges and facts, newest first (default)
          add TEXT       a fact of your own; - reads it from standard input
          edit ID        other words for an exchange (e12) or a fact (f3);
                         without any, in $EDITOR
          forget ID      take it out, with its copies, for good
          export         everything, as Markdown or as one JSON document

    \b
    Examples:
      backstory memory add "Deploys go out from main" --project api-gateway
      backstory memory edit f1 --text "Deploys go out from release branches"
      backstory memory forget --session k3v9q
    """
    _refuse(what, words, options)
    with app.archive({"sync": False}) as archive:
        if what == "list":
            _list(app, archive, options, json_)
        elif what == "add":
            _add(app, archive, words, options, json_)
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
            shown = {"ids": "id", "all_": "all"}.get(name, name.replace("_", "-"))
            goes = " and ".join(filter(None, (", ".join(verbs[:-1]), verbs[-1])))
            raise click.UsageError(f"--{shown} goes with memory {goes}, not with {what}.")
    if what == "add" and not " ".join(words).strip():
        raise click.UsageError("memory add needs a text.")
    if what == "edit" and len(words) != 1:
        raise click.UsageError("memory edit needs the ID of one exchange or fact; memory list shows them.")
    if what in ("list", "export") and words:
        raise click.UsageError(f'memory {what} takes no "{words[0]}".')
    if what == "forget":
        ids, kinds = bool(words or options["ids"]), ("session", "query", "project")
        named = {name for name in kinds if options[name]}
        if not ids and not named:
            raise click.UsageError(f"memory forget needs IDs, or one of {OF_FORGET}.")
        if (ids or named != {"query", "project"}) and ids + len(named) > 1:
            raise click.UsageError(f"memory forget takes IDs, or one of {OF_FORGET}.")


OF_FORGET = "--session, --project and --query; a query may name its project"


def _list(app: App, archive: Archive, options: Mapping[str, Any], json_: bool) -> None:
    workspace, project, facts = _workspace(options), options["project"], options["facts"]
    limit = None if options["all_"] else options["limit"] or DEFAULT_LIMIT
    found = archive.memory.items(workspace, project=project, facts_only=facts, limit=limit)
    if json_:
        from .memory_documents import passage_json

        app.json({"workspace": workspace, "items": [passage_json(one) for one in found]})
        return
    if not found:
        kind = "No facts" if facts else "Nothing"
        where = f" of project {project}" if project else ""
        text = f"{kind}{where} in the memory of the workspace {workspace}."
        if not project:
            learn = (
                ""
                if facts
                else f"backstory learn{'' if workspace == DEFAULT else f' --workspace {workspace}'} fills it; "
            )
            text += f" {learn}backstory memory add TEXT adds a fact."
        app.term.write(draw_told(app.term.view, text))
        return
    app.term.write(draw_items(app.term.view, found))
    count = archive.memory.count_items(workspace, project=project, facts_only=facts)
    if count > len(found):
        app.term.note(f"{count - len(found):,} more; --limit {count} or --all shows them.")


def _add(app: App, archive: Archive, words: tuple[str, ...], options: Mapping[str, Any], json_: bool) -> None:
    """Add a fact, and say what was masked in it."""
    from ..redact import masked

    text = sys.stdin.read().strip() if words == ("-",) else " ".join(words)
    if not text:
        raise InputError("there is no text on standard input. Nothing was added.")
    _one(app, archive.memory.remember(text, _workspace(options), project=options["project"]), json_)
    kinds = masked(text)[1]
    if kinds:
        named = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        app.term.note(f"Masked before it was kept: {named}.")


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
    for text in options["ids"]:
        _refuse_session(archive, text)
    what = archive.memory.forgettable(
        _workspace(options),
        item_ids=options["ids"],
        session_id=archive.resolve(options["session"]) if options["session"] else None,
        project=options["project"],
        query=options["query"],
    )
    dry = options["dry_run"]
    if not what.items and not what.sessions:
        if json_:
            app.json(_forgotten(what, dry))
        else:
            quoted = ", ".join(f'"{word}"' for word in what.missing)
            stands = f" {quoted} {'stands' if len(what.missing) == 1 else 'stand'} nowhere." if quoted else ""
            text = f"The memory holds nothing of that.{stands} Nothing was removed."
            app.term.write(draw_told(app.term.view, text))
        return
    if not json_:
        app.term.write(draw_removal(app.term.view, what, all_of_it=dry))
    if not dry:
        if not options["yes"]:
            _ask(app)
        archive.memory.forget(what)
    if json_:
        app.json(_forgotten(what, dry))
    elif dry:
        app.term.write([spans("Nothing was removed.")])
    else:
        sessions = counted(len(what.sessions), "session")
        app.term.write([spans(f"Forgotten: {counted(len(what.items), 'item') if what.items else sessions}.")])


def _refuse_session(archive: Archive, text: str) -> None:
    """Name the option for a session where a person gives its id as that of an item."""
    if re.fullmatch(r"[ef]\d+", text.strip()):
        return
    try:
        archive.resolve(text)
    except BackstoryError:
        return  # the memory says what is wrong with it
    raise InputError(f'"{text}" is a session. backstory memory forget --session {text} forgets all of it.')


def _forgotten(what: Forgettable, dry: bool) -> dict[str, Any]:
    """What was taken out, or would be, as a document."""
    return {
        "dry_run": dry,
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
