"""The program `backstory`: finds the verb, loads it alone, and turns every error into one line."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..errors import BackstoryError
from .options import App, reading_options
from .term import Term

VERBS = {
    "up": "Keep the archive up to date, and open the review app.",
    "serve": "Open the review app over the archive.",
    "sessions": "List sessions, newest first, by day.",
    "show": "Show what happened in a session, step by step.",
    "search": "Search everything said, run, printed and changed.",
    "learn": "Keep what was asked and answered, to recall it later.",
    "recall": "Find what was said about something before.",
    "memory": "List, add, edit, forget and export what was learned.",
    "workspace": "Keep the memories of some folders apart.",
    "usage": "Tokens and money by day, model, project and more.",
    "budget": "What a day, a week or a month may cost.",
    "prices": "What the models cost, and where the prices are from.",
    "capture": "Bring the archive up to date, once or for as long as it runs.",
    "ingest": "Add sessions that lie somewhere else.",
    "forget": "Remove a session from the archive for good.",
    "setup": "Let an agent ask the memory: its entry and its rule.",
    "disconnect": "Take an agent's entry and rule back.",
    "clients": "List the agents that can ask the memory.",
    "wsl": "Let agents in distributions of WSL ask the memory.",
    "doctor": "Say what was read, what was not, and what to do.",
    "mcp": "Serve the memory to an agent (MCP over stdio).",
    "demo": "Load sample sessions into a throw-away archive.",
}
"""The verbs in the order of the help. Each has a module of its name, loaded when it is called."""

EXAMPLES = """\
Examples:
  backstory                         what runs, what needs a look
  backstory sessions --since 7d     the sessions of a week
  backstory show last               the newest session, step by step
  backstory search ECONNREFUSED     where that was said, run or printed"""


class ReaderLeft(Exception):
    """The reader of our output has gone; a broken pipe under a name that click does not take for its own."""


class Verbs(click.Group):
    """A group that imports a verb's module only when the verb is called."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb. Raises ReaderLeft."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderLeft from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command, from its own module."""
        if cmd_name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"{__package__}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with a next thing to type where there is no such verb."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f'there is no verb "{args[0]}".{_nearest(args[0])}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with a line each, and no module loaded for it."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are typed."""
        formatter.write_paragraph()
        formatter.write("\n".join(EXAMPLES.splitlines()) + "\n")


def _nearest(verb: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(verb, VERBS, 1)
    return f" Did you mean {near[0]}?" if near else ""


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--db",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The archive; else $BACKSTORY_HOME/archive.db, else ~/.backstory/archive.db.",
)
@click.option("--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("--quiet", "-q", is_flag=True, help="No hints, notes or progress.")
@reading_options
@click.version_option(__version__, prog_name="backstory", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, db: Path | None, colour: Any, quiet: bool, **options: Any) -> None:
    """What your coding agent did, what was said, and what it cost: kept on this machine.

    Without a verb: is anything running, and does anything need you?
    """
    ctx.obj = App(Term(colour=colour, quiet=quiet), db, **options)
    if ctx.invoked_subcommand is None:
        from .bare import show_overview

        show_overview(ctx.obj)


def main(args: Sequence[str] | None = None) -> None:
    """Run the program and leave with its exit code: 0, 1 for an error, 2 for a wrong call."""
    code = run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _pipe_closed()
    sys.exit(code)


def run(args: Sequence[str] | None = None) -> int:
    """Run the program; every error becomes one line on standard error and an exit code."""
    try:
        result = cli.main(args=args, prog_name="backstory", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.UsageError as error:
        return _complain(_usage(error), 2)
    except click.ClickException as error:
        return _complain(error.format_message(), 1)
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return 130
    except BackstoryError as error:
        return _complain(str(error), 1)
    except ReaderLeft:
        return _pipe_closed()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}", 1)
    except Exception as error:
        if os.environ.get("BACKSTORY_DEBUG"):
            raise
        what = f"something broke in Backstory ({type(error).__name__}: {error})"
        return _complain(f"{what}. Your sessions are untouched. BACKSTORY_DEBUG=1 shows where.", 1)


def _usage(error: click.UsageError) -> str:
    text = error.format_message()
    ctx = error.ctx
    path = ctx.command_path if ctx is not None else "backstory"
    if isinstance(error, click.BadParameter) and '"' in text:
        text = error.message
    text = text[:1].lower() + text[1:] if text[:2].isalpha() else text
    text = text.replace("is not a valid integer range.", "is not a whole number.")
    text += "" if text.endswith((".", "?", "!")) else "."
    return f"{text} See {path} --help."


def _complain(text: str, code: int) -> int:
    """One line on standard error; what a session or a path holds cannot act on the terminal."""
    from .text import glyphs_for

    glyphs = glyphs_for(getattr(sys.stderr, "encoding", None))
    sys.stderr.write(f"backstory: {glyphs.one_line(text)}\n")
    return code


def _pipe_closed() -> int:
    """The reader of our output has left: stop without a word, as other programs do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


if __name__ == "__main__":
    main()
