"""The report of a pass in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schema.words import tilde
from .line import Line, View, spans
from .words import counted, size

if TYPE_CHECKING:
    from ..archive import Archive
    from ..capture.sync import SyncReport


def draw_report(report: SyncReport) -> Iterator[Line]:
    """`1,284 sessions, 3 changed, 41 new steps`, then how much was left, and what is gone."""
    steps = counted(report.new_steps, "new step")
    yield spans(f"{counted(report.seen, 'session')}, {report.changed:,} changed, {steps}")
    if report.torn:
        count = counted(len(report.torn), "file")
        yield spans((f"{count} left for the next pass: being written, or cut", "label"))
    left = len(report.skipped) + len(report.failed)
    if left:
        verb = "was" if left == 1 else "were"
        yield spans((f"{left:,} {verb} not readable; backstory doctor names them", "rejected"))
    if report.gone:
        verb = "is" if report.gone == 1 else "are"
        yield spans((f"{report.gone:,} {verb} gone from Cline's folder and kept here", "label"))


def draw_places(view: View, archive: Archive, sessions_dirs: Sequence[Path]) -> Iterator[Line]:
    """Where the archive is, how large it is, and which folders are looked at."""
    size_of = sum(
        path.stat().st_size for path in (archive.path, Path(f"{archive.path}-wal")) if path.exists()
    )
    yield spans(("archive   ", "label"), tilde(str(archive.path), view.home), (f"  {size(size_of)}", "label"))
    for root in archive.roots(sessions_dirs):
        yield spans(("sessions  ", "label"), tilde(str(root.path), view.home), (f"  ({root.rule})", "label"))


def left_out(report: SyncReport) -> Iterator[str]:
    """Each file that was not read whole, and why."""
    from ..capture.watch import TORN

    for torn in report.torn:
        if torn.salvaged is None:
            yield f"{torn.path}: {TORN}"
        else:
            yield f"{torn.path}: cut, read up to message {torn.salvaged:,}"
    for left in (*report.skipped, *report.failed):
        amount = f" ({size(left.size)})" if left.size is not None else ""
        yield f"{left.path}{amount}: {left.reason}"


def report_json(report: SyncReport) -> dict[str, Any]:
    """The counts of a pass, and each file that was left, with the reason."""
    from msgspec import to_builtins

    counts = {
        name: getattr(report, name) for name in ("seen", "changed", "new_sessions", "new_steps", "gone")
    }
    left = {name: to_builtins(getattr(report, name)) for name in ("torn", "skipped", "failed")}
    return {**counts, **left}
