"""What the process that serves the pages is doing besides: reading, watching, or neither."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Status(Struct):
    """Written by the thread that captures, read by the pages. `done` of `total` sessions while a pass goes on."""

    capture: Literal["off", "reading", "watching"] = "off"
    done: int = 0
    total: int = 0

    def progress(self, done: int, total: int) -> None:
        """Note how far a pass is."""
        self.done, self.total = done, total
