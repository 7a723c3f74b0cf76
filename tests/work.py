"""How much work a query is, in steps of SQLite's machine: no clock is asked; for tests only."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

GRAIN = 100


@contextlib.contextmanager
def steps_of(connection: sqlite3.Connection) -> Iterator[Callable[[], int]]:
    """Counts the steps that are taken meanwhile, in hundreds."""
    count = 0

    def more() -> int:
        nonlocal count
        count += 1
        return 0

    connection.set_progress_handler(more, GRAIN)
    try:
        yield lambda: count
    finally:
        connection.set_progress_handler(None, 0)
