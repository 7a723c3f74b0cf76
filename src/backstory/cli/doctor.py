"""`backstory doctor`: what was read, what was not, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from ..store.results import Finding
from .line import Line, View, beside, spans
from .options import App, Verb, json_option, pass_app, sessions_dir_option
from .text import cells, wrap
from .words import counted

ROLES = {"ok": "live", "note": "label", "look": "rejected", "broken": "failing"}
TEXT = 8
DETAIL = 10
SERVER = "Memory server"
TIED = "\u00a0"
"""Stands for a blank at which a line is not broken."""
# A verb, with what it is about and its options: what a person copies whole.
_command = re.compile(r"backstory [a-z]+(?: (?:--?[a-z-]+|[A-Z]{2,}|cline))*|chmod \S+ it")


def draw_findings(view: View, findings: Sequence[Finding]) -> Iterator[Line]:
    """The findings by group, and what they come to."""
    for place, (group, own) in enumerate(groupby(findings, lambda finding: finding.group)):
        if place:
            yield ()
        yield spans((view.glyphs.one_line(group), "title"))
        for finding in own:
            yield from _finding(view, finding)
    yield ()
    yield spans(verdict(findings))


def verdict(findings: Sequence[Finding]) -> str:
    """`3 things to look at, nothing lost.`"""
    look = sum(finding.level == "look" for finding in findings)
    broken = sum(finding.level == "broken" for finding in findings)
    if broken:
        verb = "is" if broken == 1 else "are"
        return f"{counted(broken, 'thing')} {verb} broken{f', {look:,} to look at' if look else ''}."
    if look:
        return f"{counted(look, 'thing')} to look at, nothing lost."
    return "Nothing to look at, nothing lost."


def _finding(view: View, finding: Finding) -> Iterator[Line]:
    level = spans("  ", (finding.level.ljust(TEXT - 3) + " ", ROLES.get(finding.level, "")))
    yield from _block(view, finding.text, TEXT, level)
    for detail in finding.details:
        yield from _block(view, detail, DETAIL)
    if finding.advice:
        yield from _block(view, finding.advice, TEXT)


def _block(view: View, text: str, indent: int, first: Line | None = None) -> Iterator[Line]:
    """Wrapped text behind an indent; what follows a tab stands at the edge of its last line."""
    left, _, right = text.partition("\t")
    left = _command.sub(lambda found: found[0].replace(" ", TIED), left)
    edge = view.glyphs.one_line(right)
    lines = wrap(view.glyphs.safe(left), view.width - indent, break_words=view.cut)
    if edge and cells(lines[-1]) + cells(edge) + 2 > view.width - indent:
        lines[-1:] = wrap(lines[-1], view.width - indent - cells(edge) - 2, break_words=view.cut)
    for at, line in enumerate(lines):
        start = first if first is not None and at == 0 else spans(" " * indent)
        line = line.replace(TIED, " ")
        yield beside(view, (*start, (line, "")), spans(edge) if at == len(lines) - 1 else ())


def server_findings(app: App) -> list[Finding]:
    """Whether each agent's way to the memory server holds."""
    from ..clients.health import remarks
    from .connecting import here, named

    where = here()
    return [
        Finding(SERVER, one.level, one.text, one.details, one.advice)
        for client in named(None)
        for one in remarks(client, where)
    ]


@click.command("doctor", cls=Verb, short_help="Say what was read, what was not, and what to do.")
@json_option
@sessions_dir_option
@pass_app
def command(app: App, /, json_: bool, **options: Any) -> None:
    """Say what was read, what was not, and what to do.

    Leaves with 0 when nothing is broken, else with 1.

    \b
    Examples:
      backstory doctor
      backstory doctor --sessions-dir /mnt/old/sessions
    """
    with app.archive({"sync": False}) as archive:
        folders = options["sessions_dirs"] or app.sessions_dirs
        findings = archive.doctor(folders, app.sync(archive, folders, noting=False))
    findings += server_findings(app)
    if json_:
        from .documents import findings_json

        app.json(findings_json(findings))
    else:
        app.term.write(draw_findings(app.term.view, findings))
    if any(finding.level == "broken" for finding in findings):
        click.get_current_context().exit(1)
