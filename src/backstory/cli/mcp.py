"""`backstory mcp`: the memory for an agent, over standard input and output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import App, Verb, pass_app, reading_options

if TYPE_CHECKING:
    from ..mcp.calls import Calls


@click.command("mcp", cls=Verb, short_help="Serve the memory to an agent (MCP over stdio).")
@click.option(
    "--workspace", metavar="NAME", help="The memory that is asked; else the one that claims the folder."
)
@reading_options
@pass_app
def command(app: App, /, workspace: str | None, sync: bool, sessions_dirs: tuple[Path, ...]) -> None:
    """Serve the memory to an agent: recall, open, recent, remember, forget, usage.

    An agent starts it and speaks the Model Context Protocol over its standard input and output. It ends when its input
    is closed.

    \b
    Examples:
      backstory mcp
      backstory mcp --workspace work
    """
    from ..mcp.serve import serve

    opened: list[Calls] = []

    def call(name: str, arguments: dict[str, Any]) -> str:
        # Loaded by the first call: the agent's handshake waits for neither the archive nor the memory.
        if not opened:
            from ..mcp.calls import Calls, client_folder

            opened.append(
                Calls(
                    app.db,
                    workspace=workspace,
                    folder=client_folder(os.environ),
                    sessions_dirs=sessions_dirs or app.sessions_dirs,
                    sync=sync and app.up_to_date,
                    env=os.environ,
                )
            )
        return opened[0](name, arguments)

    try:
        serve(call)
    finally:
        for one in opened:
            one.close()
