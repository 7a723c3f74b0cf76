"""The lock that Cline takes when it writes its settings, taken and left as Cline does it.

A folder `<settings>.lock` that holds `owner.<token>`. It is filled under another name and renamed, so that it is
never seen empty; one that is older than ten seconds belongs to a dead writer and is moved away. (Cline's
`config-loader.ts`.)
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import ClientError

STALE = 10.0
PATIENCE = 10.0
POLL = 0.025
QUIET = 1.0
"""Seconds of waiting after which it is said."""
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, *((errno.EACCES,) if os.name == "nt" else ()))
"""What a rename says that meets another writer's lock, which may be gone a moment later."""


Waiting = Callable[[Path], None]


class Clock:
    """The time that the lock goes by; both in seconds."""

    def __init__(
        self, now: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.now = now
        self.sleep = sleep


@contextlib.contextmanager
def held(settings: Path, clock: Clock | None = None, waiting: Waiting | None = None) -> Iterator[None]:
    """Hold the lock of a settings file, whose folder must be there. Raises `ClientError` after ten seconds.

    `waiting` is called once with the lock when that takes longer than a second.
    """
    clock = clock or Clock()
    lock = settings.with_name(settings.name + ".lock")
    token = f"{os.getpid()}.{int(clock.now() * 1000)}.{uuid.uuid4()}"
    since = clock.now()
    try:
        while not _take(lock, token):
            if clock.now() - since > PATIENCE:
                text = f"{settings} is locked by another program ({lock}). Nothing was changed; try again."
                raise ClientError(text)
            if waiting is not None and clock.now() - since > QUIET:
                waiting(lock)
                waiting = None
            _reclaim(lock, clock.now(), token)
            clock.sleep(POLL)
        yield
    finally:
        _leave(lock, token)


def _take(lock: Path, token: str) -> bool:
    # A rename would replace an empty folder, whose writer may be about to put its mark into it.
    if lock.exists():
        return False
    staging = lock.with_name(f"{lock.name}.tmp.{token}")
    staging.mkdir()
    try:
        (staging / f"owner.{token}").write_text(token, "utf-8")
        staging.rename(lock)
    except BaseException as error:
        taken = isinstance(error, OSError) and (error.errno in TAKEN or lock.exists())
        shutil.rmtree(staging, ignore_errors=True)
        if not taken:
            raise
        return False
    return True


def _reclaim(lock: Path, now: float, token: str) -> None:
    """Move a dead writer's lock away: whoever moves it is alone with it, and then removes it."""
    try:
        if now - lock.stat().st_mtime < STALE:
            return
        aside = lock.with_name(f"{lock.name}.stale.{token}")
        lock.rename(aside)
    except FileNotFoundError:
        return
    # Nobody writes a file there, but whoever did is as dead, and nothing stays of it.
    with contextlib.suppress(OSError):
        aside.unlink()
    shutil.rmtree(aside, ignore_errors=True)


def _leave(lock: Path, token: str) -> None:
    """Remove our own mark where we have one, and the folder unless another writer has it by now."""
    try:
        (lock / f"owner.{token}").unlink()
    except OSError:
        return  # it was never ours, or is not any more
    with contextlib.suppress(OSError):
        lock.rmdir()
