"""Backstory keeps what a coding agent did, what was said, and what it cost.

    from backstory import Archive, read_session

`read_session` reads one session from disk; `Archive` is everything that was ever read. `docs/api.md` documents both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .archive import Archive, read_session

__version__ = "0.1.0"
__all__ = ["Archive", "__version__", "read_session"]


def __getattr__(name: str) -> Any:
    # Loaded on demand: `backstory --version` must not wait for the database or the decoder.
    if name in ("Archive", "read_session"):
        from . import archive

        return getattr(archive, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
