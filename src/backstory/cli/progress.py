"""The line that tells how far a pass is: on a terminal, once it takes longer than a second, then gone."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .term import Term
from .words import duration

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE = 1.0
"""Seconds that pass without a word."""
BAR = 40
LEAST_BAR = 8
BESIDE = 34
"""Cells for the count and the time beside the bar."""


class Progress:
    """Takes `update(done, total)`; draws nothing where nobody looks, and loads nothing before it draws."""

    def __init__(self, term: Term, words: str, *, clock: Any = time.monotonic) -> None:
        self._term = term
        self._words = words
        self._clock = clock
        self._started = clock()
        self._bar: Bar | None = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def update(self, done: int, total: int) -> None:
        """Say how far it is."""
        if self._bar is None:
            if not self._term.progress or self._clock() - self._started < PATIENCE or done >= total:
                return
            self._bar = self._start(done)
            self._task = self._bar.add_task(self._words, total=total, completed=done)
        self._bar.update(self._task, completed=done, total=total)

    def _start(self, done: int) -> Bar:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
        from rich.text import Text

        started, begun = self._clock(), done

        class Left(ProgressColumn):
            """The time that is left, as the rest of the program writes it."""

            def render(column, task: Task) -> Text:
                through = task.completed - begun
                if through <= 0 or task.total is None:
                    return Text("")
                pace = (self._clock() - started) / through
                return Text(f"  {_left((task.total - task.completed) * pace)}")

        class Count(ProgressColumn):
            """`824 of 1,284`."""

            def render(column, task: Task) -> Text:
                return Text(f"  {int(task.completed):,} of {int(task.total or 0):,}")

        console = Console(file=self._term.err, no_color=not self._term.err_colour)
        room = console.width - len(self._words) - BESIDE
        columns: list[ProgressColumn] = [TextColumn("{task.description}  "), Count(), Left()]
        if room >= LEAST_BAR:
            # Styles of the terminal's own sixteen colours, as everywhere else.
            columns.insert(1, BarColumn(min(room, BAR), style="bright_black", complete_style="default"))
        bar = Progress(*columns, console=console, transient=True)
        bar.start()
        return bar


def _left(seconds: float) -> str:
    """`3 s left`, `2 min left`; whole seconds, because it is a guess."""
    whole = max(round(seconds), 1)
    return f"{whole} s left" if whole < 60 else f"{duration(whole * 1000)} left"
