"""The line that tells how far a pass is: on a terminal, once it takes longer than a second, then gone."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .term import Term

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE = 1.0
"""Seconds that pass without a word."""


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
                from .words import duration

                through = task.completed - begun
                if through <= 0 or task.total is None:
                    return Text("")
                pace = (self._clock() - started) / through
                return Text(f"{duration(max(round((task.total - task.completed) * pace), 1) * 1000)} left")

        class Count(ProgressColumn):
            """`824 of 1,284`."""

            def render(column, task: Task) -> Text:
                return Text(f"{int(task.completed):,} of {int(task.total or 0):,}")

        bar = Progress(
            TextColumn("{task.description} "),
            BarColumn(bar_width=40),
            Count(),
            Left(),
            console=Console(file=self._term.err, width=self._term.view.width, no_color=not self._term.colour),
            transient=True,
        )
        bar.start()
        return bar
