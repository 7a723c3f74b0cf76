"""The one connection to the archive: opened at the first need, and anew when the file broke or was replaced."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import ArchiveError
from ..store.database import default_path

if TYPE_CHECKING:
    from ..archive import Archive

BUSY_MS = 5_000
"""How long a call waits for another process that writes; the client waits for us meanwhile."""
Found = TypeVar("Found")
Identity = tuple[int, int]


class Holding:
    """Holds the archive open between calls. `path` null is the usual place."""

    def __init__(self, path: Path | None, env: Mapping[str, str]) -> None:
        self._path = path
        self._env = env
        self._archive: Archive | None = None
        self._identity: Identity | None = None

    def use(self, work: Callable[[Archive], Found]) -> Found:
        """Do something with the archive. Raises `ArchiveError` that says what is the matter with it."""
        archive = self._opened()
        try:
            return work(archive)
        except sqlite3.DatabaseError as error:
            self.close()
            raise ArchiveError(f"{archive.path}: {_words(error)}") from error

    def close(self) -> None:
        """Close the archive; the next use opens it again."""
        archive, self._archive = self._archive, None
        if archive is not None:
            archive.close()

    def _opened(self) -> Archive:
        if self._archive is not None and self._identity != _identity(self._archive.path):
            self.close()  # another file lies there now; ours is not the archive any more
        if self._archive is None:
            from ..archive import Archive

            try:
                archive = Archive(self._path, env=self._env)
            except (ArchiveError, sqlite3.DatabaseError) as error:
                cause = error.__cause__ if isinstance(error, ArchiveError) else error
                if not isinstance(cause, sqlite3.DatabaseError):
                    raise
                path = self._path or default_path(self._env)
                raise ArchiveError(f"{path}: the archive cannot be opened: {_words(cause)}") from error
            archive.connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            self._archive, self._identity = archive, _identity(archive.path)
        return self._archive


def _identity(path: Path) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _words(error: sqlite3.DatabaseError) -> str:
    """What SQLite complains about, and what to do."""
    said = str(error)
    if "locked" in said or "busy" in said:
        return f"{said}: another process is writing to it. Nothing was lost; call again in a moment."
    if "malformed" in said or "not a database" in said:
        return f"{said}. The user can restore it from a backup, or move it away and run: backstory capture --once"
    return f"{said}. Nothing was written."
