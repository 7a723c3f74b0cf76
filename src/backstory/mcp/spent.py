"""What a project or a session has cost, as text for an agent: the kinds apart, and how current the figures are."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BackstoryError
from ..ledger.budget import Standing, standings
from ..ledger.report import Figures, Filter, total
from .money import counted, dollars, in_short
from .passages import moment
from .text import cited, named, one_line

if TYPE_CHECKING:
    from ..archive import Archive

PASS_SECONDS = 10.0
"""How long a call looks for new sessions; the newest come first, and each one is whole."""


class _OutOfTime(Exception):
    """The pass took too long; what it has read until now is kept."""


def brought_up_to_date(
    archive: Archive, sessions_dirs: Sequence[Path], clock: Callable[[], float] = time.monotonic
) -> str:
    """Read what changed on disk, for a bounded time; says how current the figures are after that."""
    until = clock() + PASS_SECONDS

    def progress(done: int, count: int) -> None:
        if clock() > until:
            raise _OutOfTime(f"{count - done:,} sessions are not read yet")

    try:
        try:
            report = archive.sync(sessions_dirs, progress)
        except _OutOfTime as late:
            archive.settle()
            return f"The figures are not complete: {late}; backstory capture --once reads them all."
    except (BackstoryError, OSError, sqlite3.OperationalError) as error:
        return f"The figures are those of the last pass, not of now: {one_line(str(error), 300)}"
    left = len(report.failed) + len(report.skipped) + len(report.torn)
    if left:
        return f"The figures are of now, but for {counted(left, 'file')} that could not be read."
    return "The figures are of now."


def of_session(archive: Archive, text: str, since: int | None) -> str:
    """What one session has cost; `text` is an id, a short id or `last`. Raises `UnknownSession`."""
    listed = archive.listed(archive.resolve(text))
    own = listed.session
    (number,) = archive.connection.execute("SELECT n FROM session WHERE id = ?", (own.id,)).fetchone()
    figures = total(archive.connection, Filter(since=since, session=number))
    project = f", project {named(own.project)}" if own.project else ""
    head = f"Session {cited(own.id, 300)}{project}, begun {moment(own.started_at)}{_from(since)}"
    return "\n".join([head, *_figures(figures)])


def of_project(archive: Archive, project: str | None, since: int | None, now: int) -> str:
    """What one project has cost, null for all; with its newest session, and the budgets that hold for it."""
    figures = total(archive.connection, Filter(since=since, project=project))
    whose = "All projects" if project is None else f"Project {named(project, 200)}"
    head = f"{whose}, {counted(len(figures.sessions), 'session')}{_from(since)}"
    budgets = [
        one
        for one in standings(archive.connection, now, None)
        if one.budget.scope != "project" or project is None or _is_of(one.budget.name, project)
    ]
    newest = archive.sessions(project=project, limit=1) if project is not None else []
    lines = [head, *_figures(figures)]
    if project is not None and not figures.calls:
        lines.append('Another project is named by its folder; project "*" is all of them.')
    for one in newest:
        own = f"newest session: {cited(one.session.id, 160)}, begun {moment(one.session.started_at)}"
        lines.append(f"{own}, all of it: {in_short(one.cost)}")
    return "\n".join([*lines, *map(_budget, budgets)])


def _is_of(name: str, project: str) -> bool:
    """Whether a budget's project is the one that was asked for, as a name or a path."""
    plain = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return name.casefold() in (project.casefold(), plain.casefold())


def _from(since: int | None) -> str:
    return "" if since is None else f", since {moment(since)}"


def _figures(figures: Figures) -> list[str]:
    """The kinds of money that there are, a line each, and the tokens."""
    if not figures.calls:
        return ["No call to a model is recorded."]
    lines = []
    if figures.reported_calls:
        lines.append(
            f"reported: {dollars(figures.reported)} for {counted(figures.reported_calls, 'call')},"
            " as the agent recorded it"
        )
    if figures.estimated_calls:
        lines.append(
            f"estimated: ~{dollars(figures.estimated)} for {counted(figures.estimated_calls, 'call')},"
            " from list prices"
        )
    if figures.covered_calls:
        value = f"; list value {dollars(figures.covered)}, not spent" if figures.listed else ""
        lines.append(
            f"covered: {counted(figures.covered_calls, 'call')} by a subscription or a free route{value}"
        )
    if figures.unpriced_calls:
        lines.append(
            f"unpriced: {counted(figures.unpriced_calls, 'call')} with {figures.unpriced_tokens:,} tokens;"
            " their price is not known"
        )
    cached = f" ({100 * figures.cache_read / figures.input:.0f} % from the cache)" if figures.input else ""
    lines.append(f"tokens: {figures.input:,} in{cached}, {figures.output:,} out")
    return (
        [*lines, "These kinds are kept apart: give each by itself, not their sum."]
        if len(lines) > 2
        else lines
    )


def _budget(one: Standing) -> str:
    """`budget a day: $5.09 of $5.00, passed`."""
    own = one.budget
    scope = "" if own.scope == "all" else f" for the {own.scope} {named(own.name)}"
    state = ", passed" if one.passed else ""
    return f"budget a {own.period}{scope}: {dollars(one.spent)} of {dollars(own.nano)}{state}"
