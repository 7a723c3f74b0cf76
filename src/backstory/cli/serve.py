"""`backstory serve`: the review app over the archive, without capture."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from .options import App, Face, Verb, pass_app, reading_options

PORT = 8737


def port_option(face: Face) -> Face:
    """`--port`, for the verbs that serve."""
    option = click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=PORT,
        show_default=True,
        metavar="N",
        help="Where the app answers, on this machine alone; 0 takes any free port.",
    )
    return option(face)


@click.command("serve", cls=Verb, short_help="Open the review app over the archive.")
@port_option
@click.option("--open", "open_", is_flag=True, help="Open it in the browser.")
@reading_options
@pass_app
def command(app: App, /, port: int, open_: bool, sync: bool, sessions_dirs: tuple[Path, ...]) -> None:
    """Open the review app over the archive: sessions, what they did and what they cost. Ctrl-C stops it.

    The archive is brought up to date once, while the app answers. `backstory up` keeps it up to date.

    \b
    Examples:
      backstory serve --open
      backstory serve --port 9000 --no-sync
    """
    from ..web.server import bind, serving
    from ..web.status import Status

    listening = bind(port)
    reads = sync and app.up_to_date
    status = Status(capture="reading" if reads else "off")
    with (
        app.archive({"sync": False}) as archive,
        serving(
            listening, app.db, status=status, sessions_dirs=sessions_dirs or app.sessions_dirs
        ) as address,
    ):
        app.term.note(f"{address}  Ctrl-C stops.")
        if open_:
            click.launch(address)
        if reads:
            app.sync(archive, sessions_dirs, also=status.progress)
            status.capture = "off"
        _until_stopped()


def _until_stopped() -> None:
    """Wait for SIGINT or SIGTERM."""
    stop = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        # A short wait, so that the signal is seen on every system.
        while not stop.wait(0.5):
            pass
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
