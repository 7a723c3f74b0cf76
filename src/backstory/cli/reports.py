"""The report of a pass in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from .line import Line, spans
from .words import counted, size

if TYPE_CHECKING:
    from ..capture.sync import SyncReport


def draw_report(report: SyncReport) -> Iterator[Line]:
    """`1,284 sessions, 3 changed, 41 new steps`, then what was left, and why."""
    steps = counted(report.new_steps, "new step")
    yield spans(f"{counted(report.seen, 'session')}, {report.changed:,} changed, {steps}")
    if report.torn:
        count = counted(len(report.torn), "file")
        yield spans((f"{count} left for the next pass: being written, or cut", "label"))
    for left in (*report.skipped, *report.failed):
        amount = f"{size(left.size)}, " if left.size is not None else ""
        yield spans((f"not read: {left.path} ({amount}{left.reason})", "rejected"))
    if report.gone:
        verb = "is" if report.gone == 1 else "are"
        yield spans((f"{report.gone:,} {verb} gone from Cline's folder and kept here", "label"))


def report_json(report: SyncReport) -> dict[str, Any]:
    """The counts of a pass, and each file that was left, with the reason."""
    counts = {
        name: getattr(report, name) for name in ("seen", "changed", "new_sessions", "new_steps", "gone")
    }
    left = {name: to_builtins(getattr(report, name)) for name in ("torn", "skipped", "failed")}
    return {**counts, **left}
