"""`backstory forget`: removes a session from the archive, after saying what goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..errors import InputError
from ..store.forget import Forgettable
from ..store.results import Listed
from .line import Line, View, beside, spans
from .listing import project, title
from .options import App, Verb, json_option, pass_app, reading_options
from .text import wrap
from .words import counted, moment

TEXT = 11


def draw_removal(
    view: View,
    what: Forgettable,
    listed: Listed,
    copies: Sequence[Listed],
    *,
    with_copies: bool,
    exchanges: int = 0,
) -> Iterator[Line]:
    """What goes, and what stays: steps, calls, copies in other sessions; `exchanges` counts what the memory loses."""
    yield _session(view, listed)
    prompts, steps = counted(listed.session.totals.turns, "prompt"), counted(what.steps, "step")
    calls = counted(what.calls, "call")
    yield spans(f"  removes  {prompts}, {steps}, {calls} and their spend")
    if exchanges:
        yield spans(" " * TEXT + f"and {counted(exchanges, 'exchange')} of the memory")
    if copies:
        verb = "removes" if with_copies else "keeps  "
        where = f"copies of this conversation in {counted(len(copies), 'session')}"
        yield spans(f"  {verb}  {where}" + ("" if with_copies else "; --with-copies takes them along"))
        for copy in copies:
            yield (*spans(" " * 11), *_session(view._replace(width=view.width - 11), copy))
    if not listed.session.gone:
        words = "Cline's own files; Backstory never writes them, and does not read these again"
        for at, line in enumerate(wrap(words, view.width - TEXT) if view.cut else [words]):
            yield spans(("  keeps    " if at == 0 else " " * TEXT) + line)


def _session(view: View, listed: Listed) -> Line:
    when = moment(listed.last_at, view.now, view.tz) if listed.last_at is not None else ""
    name = project(view, listed.session)
    left = spans(
        (view.glyphs.one_line(listed.short_id), "label"), "  ", (title(view, listed.session), "title")
    )
    return beside(view, left, spans(name, "  " if name else "", (when, "label")))


@click.command("forget", cls=Verb, short_help="Remove a session from the archive for good.")
@click.argument("session_id", metavar="ID")
@click.option("--with-copies", is_flag=True, help="Also sessions that hold copies of this conversation.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@reading_options
@pass_app
def command(app: App, /, session_id: str, with_copies: bool, yes: bool, json_: bool, **options: Any) -> None:
    """Remove a session from the archive for good.

    Says what goes before it asks: steps, calls and their spend. It does not come back with the next pass.

    \b
    Examples:
      backstory forget k3v9q
      backstory forget k3v9q --with-copies --yes
    """
    with app.archive(options) as archive:
        full_id = archive.resolve(session_id)
        what, listed = archive.forgettable(full_id), archive.listed(full_id)
        copies = archive.copies(full_id)
        if not json_:
            gone_too = [archive.forgettable(copy.session.id) for copy in copies if with_copies]
            exchanges = sum(one.exchanges for one in (what, *gone_too))
            view = app.term.view
            app.term.write(
                draw_removal(view, what, listed, copies, with_copies=with_copies, exchanges=exchanges)
            )
        if not yes:
            _ask(app, session_id)
        archive.forget(full_id, with_copies=with_copies)
    gone = [full_id, *(copy.session.id for copy in copies if with_copies)]
    if json_:
        app.json({"forgotten": gone})
    else:
        app.term.write([spans(f"Forgotten: {counted(len(gone), 'session')}.")])


def _ask(app: App, session_id: str) -> None:
    """Ask a person; where nobody can answer, nothing is removed."""
    if not app.term.can_ask:
        raise InputError(
            f"nobody is here to ask. Nothing was removed; backstory forget {session_id} --yes does it."
        )
    if not click.confirm("Forget it?", default=False, err=True):
        raise InputError("nothing was removed.")
