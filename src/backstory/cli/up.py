"""`backstory up`: keeps the archive up to date while you work."""

from __future__ import annotations

from pathlib import Path

import click

from .capture import watch
from .options import App, pass_app, sessions_dir_option


@click.command("up", short_help="Keep the archive up to date while you work.")
@sessions_dir_option
@pass_app
def command(app: App, /, sessions_dirs: tuple[Path, ...]) -> None:
    """Keep the archive up to date while you work. Ctrl-C stops it.

    Every other verb brings the archive up to date by itself, so nothing is missed while this does not run.

    \b
    Examples:
      backstory up
      backstory --quiet up &
    """
    watch(app, sessions_dirs)
