"""`backstory up`: keeps the archive up to date while you work, and serves the review app."""

from __future__ import annotations

from pathlib import Path

import click

from .capture import watch
from .options import App, Verb, pass_app, sessions_dir_option
from .serve import port_option


@click.command("up", cls=Verb, short_help="Keep the archive up to date, and open the review app.")
@port_option
@sessions_dir_option
@pass_app
def command(app: App, /, port: int, sessions_dirs: tuple[Path, ...]) -> None:
    """Keep the archive up to date while you work, and serve the review app beside it. Ctrl-C stops both.

    Every other verb brings the archive up to date by itself, so nothing is missed while this does not run.

    \b
    Examples:
      backstory up
      backstory up --port 9000
      backstory --quiet up &
    """
    from ..web.server import bind, serving
    from ..web.status import Status

    status = Status(capture="reading")
    folders = sessions_dirs or app.sessions_dirs
    with serving(bind(port), app.db, status=status, sessions_dirs=folders) as address:
        # At once, for a first pass can take a while and its sessions show as they come.
        app.term.note(address)
        watch(app, sessions_dirs, status=status)
