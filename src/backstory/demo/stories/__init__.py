"""The stories, one module a project or a long session; each yields its sessions."""

from __future__ import annotations

from collections.abc import Iterator

from ..moments import Moments
from ..session import Session
from . import billing, console, dates, docs, gateway, hello, redis_is_away


def all_sessions(moments: Moments) -> Iterator[Session]:
    """Every sample session, told as of the same moment."""
    for module in (redis_is_away, gateway, billing, console, dates, docs, hello):
        yield from module.tell(moments)
