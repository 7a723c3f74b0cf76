"""A limit for what must not block, and must not take time out of all proportion to its input."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class TooSlow(BaseException):
    """Time is up. No code under test catches it, as it might a `TimeoutError`, which is an `OSError`."""


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise `TooSlow` in what takes longer; sound code needs a small part of the time."""

    def late(*_: Any) -> None:
        raise TooSlow(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    # Again and again: where the interpreter swallows it, in a callback of its own, it comes once more.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
