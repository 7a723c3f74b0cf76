"""Single small files read and replaced whole: atomic, with their mode, through links, and never half."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat as statmod
from pathlib import Path

NEW = 0o644


def read(path: Path) -> bytes | None:
    """The bytes of a file; null where there is none. Raises `OSError` for one that cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None


def make_folders(path: Path, mode: int = 0o777) -> list[Path]:
    """Make a folder with what is missing above it; returns what was made, outermost first."""
    missing: list[Path] = []
    here = path
    while not here.is_dir():
        missing.insert(0, here)
        here = here.parent
    made: list[Path] = []
    for folder in missing:
        with contextlib.suppress(FileExistsError):  # somebody else made it meanwhile, and it is theirs
            folder.mkdir(mode)
            made.append(folder)
    return made


def write(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file, or make it: readers see the old bytes or the new ones. Raises `OSError` that names the file.

    A link is followed and stays. Mode and owner of a file that is there are kept; a new one has `mode`, else what
    the umask leaves of 0644.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"{os.strerror(errno.ENOENT)}: {target.parent}", str(path))
    there = target.stat() if target.exists() else None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    created = mode if mode is not None else NEW
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), created)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if there is not None:
            _like(temporary, there)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _settle(target.parent)


def remove(path: Path) -> None:
    """Remove the file that a path leads to; a link to it stays as it was."""
    with contextlib.suppress(FileNotFoundError):
        Path(os.path.realpath(path)).unlink()


def remove_empty(folders: list[Path]) -> list[Path]:
    """Remove folders that hold nothing, innermost first; returns those that went."""
    gone = []
    for folder in reversed(folders):
        try:
            folder.rmdir()
        except OSError:
            continue
        gone.append(folder)
    return gone


def _like(path: Path, there: os.stat_result) -> None:
    path.chmod(statmod.S_IMODE(there.st_mode))
    if os.name == "posix":
        own = path.stat()
        if (own.st_uid, own.st_gid) != (there.st_uid, there.st_gid):
            with contextlib.suppress(PermissionError):
                os.chown(path, there.st_uid, there.st_gid)
                path.chmod(statmod.S_IMODE(there.st_mode))  # a change of owner drops the set-id bits


def _settle(folder: Path) -> None:
    """Let the rename itself reach the disk; Windows has no such call for a folder."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
