"""`backstory show`: one session, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, UnknownSession
from ..schema.record import Record
from ..store.results import Fate, Listed
from ..story.states import batches, has_problem, running_step
from .head import head
from .line import Line, View, spans
from .options import App, Count, Verb, json_option, pass_app, reading_options
from .rows import Scene
from .timeline import Choice, Drawing, timeline

if TYPE_CHECKING:
    from ..archive import Archive


def draw_session(
    view: View,
    record: Record,
    listed: Listed,
    fates: dict[str, Fate],
    choice: Choice | None = None,
    origin: Listed | None = None,
) -> Iterator[Line]:
    """The head of the session, then its turns."""
    choice = choice or Choice()
    scene = Scene(
        view, record.session, fates, running_step(record.steps, listed.state), batches(record.steps)
    )
    yield from head(view, record, listed, origin)
    if choice.problems and not any(map(has_problem, record.steps)):
        yield ()
        yield spans("Nothing went wrong in this session.")
        return
    yield from timeline(Drawing.of(scene, record, choice))


def hint(record: Record, choice: Choice) -> str:
    """The next thing to type."""
    said = []
    if choice.turn is None and len(record.turns) > 1:
        said.append(f"--turn {record.turns[-1].index} shows one prompt")
    if not choice.full:
        said.append("--full every output" if said else "--full shows every output")
    if not choice.problems:
        said.append("--problems only what went wrong")
    return ", ".join(said) + "." if said else ""


@click.command("show", cls=Verb, short_help="Show what happened in a session, step by step.")
@click.argument("session_id", metavar="ID")
@click.option("--turn", type=Count(), metavar="N", help="One prompt and what followed it.")
@click.option("--full", is_flag=True, help="Every output, edit and answer whole.")
@click.option("--problems", is_flag=True, help="Only what failed, was rejected, or has no result.")
@click.option("--changes", is_flag=True, help="The applied edits as one diff a file, as git apply takes it.")
@click.option("--no-think", is_flag=True, help="Leave the agent's thinking out.")
@click.option("--all", "superseded", is_flag=True, help="Also steps that left Cline's file since.")
@json_option
@reading_options
@pass_app
def command(
    app: App, /, session_id: str, json_: bool, changes: bool, superseded: bool, **options: Any
) -> None:
    """Show what happened in a session, step by step.

    ID is the short id of a list, a unique beginning of the long one, or `last`.

    \b
    Examples:
      backstory show last
      backstory show k3v9q --turn 4 --full
      backstory show k3v9q --problems
      backstory show k3v9q --changes > session.patch
    """
    from ..store.derived import fates

    with app.archive(options) as archive:
        full_id = archive.resolve(session_id)
        record = archive.record(full_id, superseded=superseded)
        choice = Choice(options["turn"], options["full"], options["problems"], not options["no_think"])
        _check_turn(record, choice.turn, session_id)
        if json_:
            from .documents import shown_json

            said = archive.judgements(full_id)
            app.json(shown_json(record, archive.listed(full_id), fates(record.steps), choice.turn, said))
            return
        if changes:
            from .changes import write_changes

            write_changes(app, record, choice.turn)
            return
        listed = archive.listed(full_id)
        origin = _origin(archive, record)
        lines = draw_session(app.term.view, record, listed, fates(record.steps), choice, origin)
        app.term.page(lines, hint(record, choice))
        archive.mark_seen(full_id)


def _origin(archive: Archive, record: Record) -> Listed | None:
    """The session that this one begins as a copy of, where the archive has it."""
    copied = record.session.copied_from
    try:
        return archive.listed(copied.session_id) if copied is not None else None
    except UnknownSession:
        return None


def _check_turn(record: Record, turn: int | None, said: str) -> None:
    if turn is None or any(own.index == turn for own in record.turns):
        return
    count = len(record.turns)
    has = f"prompts 1 to {count}" if count > 1 else ("one prompt" if count else "no prompt")
    raise InputError(f"{said} has no prompt {turn}; it has {has}.")
