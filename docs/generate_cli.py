"""Writes the generated parts of `docs/cli.md`: each verb's call and options, as the program itself knows them.

Run it after a change of an option: `python docs/generate_cli.py`. A test fails while the document is not current.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from backstory.cli.main import VERBS, cli

DOCUMENT = Path(__file__).with_name("cli.md")
_part = re.compile(r"(<!-- options: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render(document: str) -> str:
    """The document with every generated part written anew."""
    return _part.sub(lambda match: f"{match[1]}\n{_options(match[2])}\n{match[3]}", document)


def verbs_in(document: str) -> list[str]:
    """The verbs that the document has a part for; `backstory` stands for the program without one."""
    return [match[2] for match in _part.finditer(document)]


def _options(verb: str) -> str:
    """A verb's call and its options as a table."""
    command: click.Command = cli
    call = "backstory [OPTIONS] [VERB]"
    if verb in VERBS:
        found = cli.get_command(click.Context(cli), verb)
        assert found is not None
        command = found
        arguments = [param for param in command.params if isinstance(param, click.Argument)]
        call = " ".join(
            ["backstory", verb, "[OPTIONS]", *(str(param.human_readable_name) for param in arguments)]
        )
    rows = [_row(param) for param in command.params if isinstance(param, click.Option)]
    head = "| option | meaning |\n|---|---|\n"
    return f"```\n{call}\n```\n\n{head}{''.join(rows)}"


def _row(option: click.Option) -> str:
    """One option: its names and value, what it does, its choices and its default."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    if not option.is_flag and not choices and option.metavar:
        names += f" `{option.metavar}`"
    words = [option.help or ""]
    if choices:
        words.append("One of " + ", ".join(f"`{choice}`" for choice in choices) + ".")
    if not option.is_flag and isinstance(option.default, str | int):
        words.append(f"Default: `{option.default}`.")
    return f"| {names} | {' '.join(filter(None, words)).replace('|', chr(92) + '|')} |\n"


if __name__ == "__main__":
    DOCUMENT.write_text(render(DOCUMENT.read_text("utf-8")), "utf-8")
