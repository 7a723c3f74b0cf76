"""`backstory demo`: sample sessions in a throw-away archive."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from ..schema.words import tilde
from .line import spans
from .options import App, Verb, pass_app
from .words import counted


@click.command("demo", cls=Verb, short_help="Load sample sessions into a throw-away archive.")
@click.option(
    "--home", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Load them there."
)
@pass_app
def command(app: App, /, home: Path | None) -> None:
    """Load sample sessions into a throw-away archive and say how to look around in it.

    Your own archive and Cline's own folder are not touched.

    \b
    Examples:
      backstory demo
      backstory demo --home ~/backstory-demo
    """
    from .. import Archive
    from ..demo import load, settings

    view = app.term.view
    place = (home or Path(tempfile.mkdtemp(prefix="backstory-demo-"))).absolute()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = place / "cline" / "data"
    settings(data)
    count = load(data / "sessions", view.now)
    # Cline's other variables would point out of the samples.
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLINE_")}
    env.pop("BACKSTORY_CLINE_DIR", None)
    with Archive(place / "archive.db", env={**env, "CLINE_DIR": str(place / "cline")}) as archive:
        app.sync(archive, ())
        archive.memory.learn()
    where = view.glyphs.one_line(tilde(str(place), view.home))
    words = f"{counted(count, 'sample session')} in {where}. Your own archive is as it was."
    app.term.write([spans(words)])
    app.term.hint(
        f"  export BACKSTORY_HOME={where} CLINE_DIR={where}/cline",
        "  backstory",
        "  backstory recall why did redis take the gateway down",
        "  then look around; the folder may be deleted at any time",
    )
