"""`backstory capture`: brings the archive up to date, once or for as long as it runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import BackstoryError
from ..store.derived import short_id
from .bare import show_empty
from .line import spans
from .options import App, Verb, json_option, pass_app, sessions_dir_option
from .reports import draw_places, draw_report, left_out, report_json
from .words import clock, counted

if TYPE_CHECKING:
    from ..archive import Archive
    from ..capture.sync import SyncReport
    from ..memory.learn import Learned
    from ..web.status import Status


def watch(app: App, sessions_dirs: tuple[Path, ...], *, status: Status | None = None) -> None:
    """Keep the archive up to date until a signal comes; the first pass is reported, then what arrives.

    `status` tells the pages that the same process serves what is going on.
    """
    from ..capture.watch import Watcher

    folders = sessions_dirs or app.sessions_dirs
    log = _log(app)
    with app.archive({"sync": False}) as archive:
        report = app.sync(archive, sessions_dirs, noting=False, also=status.progress if status else None)
        if status is not None:
            status.capture = "watching"
        if archive.count():
            app.term.write(draw_report(report))
            app.term.write(draw_places(app.term.view, archive, folders))
        else:
            show_empty(app, archive, folders)
        for line in left_out(report):
            log(line)
        learner = _Learner(app, archive, log)
        learner.learn()
        app.term.note("Watching. Ctrl-C stops.")
        watcher = Watcher(
            archive.connection,
            archive.sources,
            env=archive.env,
            sessions_dirs=folders,
            log=log,
            read=lambda report: log(_arrived(report)) if report.new_steps else None,
            settled=lambda session_id: learner.learn([session_id]),
        )
        watcher.run()


def _log(app: App) -> Callable[[str], None]:
    """Notes with the time before them."""
    import time

    return lambda text: app.term.note(f"{clock(int(time.time() * 1000), app.term.view.tz)}  {text}")


class _Learner:
    """Keeps the memory current beside the capture, and tells what is new."""

    def __init__(self, app: App, archive: Archive, log: Callable[[str], None]) -> None:
        self.app, self.archive, self.log = app, archive, log
        self._told: set[str] = set()

    def learn(self, session_ids: Collection[str] | None = None) -> None:
        """Learn some sessions, or all that changed. That one is learned again after a change goes without saying."""
        try:
            found = keep_current(self.app, self.archive, session_ids)
        except (BackstoryError, sqlite3.Error) as error:
            # The record is what must go on; the memory catches up at the next start.
            self.log(f"not learned: {error}")
            return
        news = [one for one in found if session_ids is None or not self._told.issuperset(ids_of(one))]
        for report in news:
            self._told.update(ids_of(report))
        for line in learned_lines(news):
            self.log(line)


def keep_current(app: App, archive: Archive, session_ids: Collection[str] | None = None) -> list[Learned]:
    """Learn these sessions, else all that the memory is behind with, where the settings say `learn = "auto"`."""
    if archive.settings.learn != "auto":
        return []
    from .progress import Progress

    with Progress(app.term, "Learning conversations") as progress:
        return archive.memory.keep_current(session_ids, progress.update)


def learned_lines(found: Iterable[Learned]) -> Iterator[str]:
    """`k3v9q  learned   workspace default`, or `20 conversations learned   workspace default`."""
    for report in found:
        if report.learned:
            alone = report.learned[0].session_id if len(report.learned) == 1 else None
            what = f"{short_id(alone)} " if alone else counted(len(report.learned), "conversation")
            yield f"{what} learned   workspace {report.workspace}"


def ids_of(report: Learned) -> set[str]:
    """The sessions of which something was learned."""
    return {one.session_id for one in report.learned}


def learned_brief(report: Learned) -> dict[str, object]:
    """What a workspace learned, as the report of a pass has it."""
    return {"workspace": report.workspace, "sessions": [one.session_id for one in report.learned]}


def _arrived(report: SyncReport) -> str:
    """What one reading of a session brought."""
    ids = ", ".join(short_id(session_id) for session_id in report.read)
    new = "a new session, " if report.new_sessions else ""
    return f"{ids}  {new}{counted(report.new_steps, 'new step')}"


@click.command(
    "capture", cls=Verb, short_help="Bring the archive up to date, once or for as long as it runs."
)
@click.option("--once", is_flag=True, help="One pass, then leave with 0.")
@json_option
@sessions_dir_option
@pass_app
def command(app: App, /, once: bool, json_: bool, sessions_dirs: tuple[Path, ...]) -> None:
    """Bring the archive up to date, once or for as long as it runs.

    A file that is being written is left for the next time; nothing that was kept is lost by it.

    \b
    Examples:
      backstory capture --once
      backstory capture --sessions-dir /mnt/box/.cline/data/sessions
    """
    if json_ and not once:
        raise click.UsageError("--json prints one document: use it with --once.")
    if not once:
        watch(app, sessions_dirs)
        return
    with app.archive({"sync": False}) as archive:
        report = app.sync(archive, sessions_dirs, noting=False)
        learned = keep_current(app, archive)
    if json_:
        app.json({**report_json(report), "learned": [learned_brief(one) for one in learned]})
        return
    app.term.write(draw_report(report))
    app.term.write(spans(line) for line in learned_lines(learned))
    for line in left_out(report):
        app.term.note(line)
