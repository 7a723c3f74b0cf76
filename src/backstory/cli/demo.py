"""`backstory demo`: sample sessions in a throw-away archive."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from .line import spans
from .options import App, pass_app
from .words import tilde


@click.command("demo", short_help="Load sample sessions into a throw-away archive.")
@click.option(
    "--home", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Load them there."
)
@pass_app
def command(app: App, /, home: Path | None) -> None:
    """Load sample sessions into a throw-away archive and say how to look around in it.

    Your own archive is not touched.

    \b
    Examples:
      backstory demo
      backstory demo --home ~/backstory-demo
    """
    from ..demo import load

    place = home or Path(tempfile.mkdtemp(prefix="backstory-demo-"))
    load(place)
    view = app.term.view
    where = view.glyphs.one_line(tilde(str(place), view.home))
    app.term.write([spans(f"Sample sessions are in {where}. Your own archive is as it was.")])
    app.term.hint(
        f"  export BACKSTORY_HOME={where}",
        "  backstory sessions --no-sync    then look around; the folder may be deleted at any time",
    )
