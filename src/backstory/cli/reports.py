"""The report of a pass in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .line import Line, spans
from .words import counted


def draw_report(report: Any) -> Iterator[Line]:
    """`1,284 sessions, 3 changed, 41 new steps`, then what was left, and why."""
    steps = counted(report.new_steps, "new step")
    yield spans(f"{counted(report.seen, 'session')}, {report.changed:,} changed, {steps}")
    if report.torn:
        yield spans((f"{counted(report.torn, 'session')} left for later: being written, or cut", "label"))
    if report.failed:
        verb = "was" if report.failed == 1 else "were"
        yield spans((f"{report.failed:,} {verb} not readable; backstory doctor names them", "rejected"))
    if report.gone:
        verb = "is" if report.gone == 1 else "are"
        yield spans((f"{report.gone:,} {verb} gone from Cline's folder and kept here", "label"))


def report_json(report: Any) -> dict[str, int]:
    """The counts of a pass."""
    names = ("seen", "changed", "new_steps", "torn", "failed", "gone")
    return {name: getattr(report, name) for name in names}
