"""How folders are compared: POSIX, Windows and WSL paths in one form, and a git worktree as its repository."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

_drive = re.compile(r"[A-Za-z]:[\\/]|[A-Za-z]:\Z")
_lone = re.compile("[\ud800-\udfff]")
DRIVES = "/mnt/"
"""Where a distribution has the drives of Windows, unless its settings say otherwise."""
_share = re.compile(r"(?:[\\/]{2}|[\\/]UNC[\\/])(?:wsl\.localhost|wsl\$)[\\/]([^\\/]+)", re.IGNORECASE)
_GIT_FILE = 4096
"""Bytes of a `.git` file or a `commondir` that are read; real ones hold one short line."""


def is_absolute(path: str) -> bool:
    """Whether a recorded path is absolute, by the rules of whichever system wrote it."""
    return path.startswith(("/", "\\\\")) or _drive.match(path) is not None


def whole(path: str) -> str:
    """A path without bytes that are no UTF-8, with the characters for them that Cline records."""
    if _lone.search(path) is None:
        return path
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return _lone.sub("\ufffd", path)


def key(path: str, distribution: str | None = None, drives: str = DRIVES) -> str:
    """A path in the form in which folders are compared; equal for two spellings of one folder.

    Windows paths are compared without regard to case. `\\\\wsl.localhost\\D\\x` and `\\\\wsl$\\D\\x` are the
    folder `/x` of the distribution D, and so is `/x` where `distribution` says that the path was recorded in it;
    `/mnt/c` is the drive `C:` there, or what lies so in another folder of `drives`.
    """
    text = whole(path).strip()
    if text.startswith(("\\\\", "//")) or _drive.match(text):
        return _windows(text.replace("\\", "/"), drives)
    plain = posixpath.normpath(text)
    if distribution is None:
        return "" if plain == "/" else plain
    mounted = re.match(re.escape(drives.rstrip("/")) + r"/([a-z])(?=/|\Z)", plain)
    if mounted:
        return f"{mounted[1]}:{plain[mounted.end() :]}".casefold()
    return f"wsl://{distribution.casefold()}" + ("" if plain == "/" else plain)


def _windows(plain: str, drives: str) -> str:
    """The same for a path that Windows wrote, with its slashes turned."""
    if plain.startswith("//?/UNC/"):
        plain = "//" + plain[len("//?/UNC/") :]
    plain = plain.removeprefix("//?/")
    if not plain.startswith("//"):
        return posixpath.normpath(plain).casefold().rstrip("/")
    server, _, rest = plain[2:].partition("/")
    if server.casefold() in ("wsl.localhost", "wsl$"):
        distribution, _, inside = rest.partition("/")
        return key("/" + inside.lstrip("/"), distribution, drives)
    return "//" + posixpath.normpath(f"{server}/{rest}").casefold()


def distribution_of(root: str) -> str | None:
    """The WSL distribution whose files are met under a folder as Windows names it; null for any other folder."""
    found = _share.search(root)
    return found[1] if found else None


def with_parents(folder: str) -> Iterator[str]:
    """A folder in compared form, then each folder above it, the nearest first. Nothing is above a server's name."""
    yield folder
    above = folder
    while "/" in above:
        above = above.rpartition("/")[0]
        if above == "/":
            return
        if above or folder.startswith("/"):
            yield above


def is_near(one: str, other: str) -> bool:
    """Whether one folder in compared form is the other, or lies above or below it."""
    return one in with_parents(other) or other in with_parents(one)


def absolute(path: str, base: str | None) -> str | None:
    """A recorded path, a relative one resolved against another; null where nothing says what it is relative to."""
    if is_absolute(path):
        return path
    if base is None or not is_absolute(base):
        return None
    return f"{base.rstrip('/')}/{path}" if base.startswith("/") else f"{base.rstrip(chr(92))}\\{path}"


def repository(path: str) -> tuple[str, str] | None:
    """(folder of the worktree, folder of its repository) where a path lies in a linked git worktree, else null.

    Read from git's own files, on this machine; what cannot be read says nothing.
    """
    try:
        folder = Path(path)
        if not folder.is_absolute():
            return None
        for candidate in (folder, *folder.parents):
            mark = candidate / ".git"
            if mark.is_dir():
                return None
            if mark.is_file():
                return _linked(candidate, mark)
    except (OSError, ValueError):
        pass
    return None


def _linked(worktree: Path, mark: Path) -> tuple[str, str] | None:
    """What a worktree's `.git` file leads to; a submodule's has no `commondir`."""
    line = _first_line(mark)
    if not line.startswith("gitdir:"):
        return None
    own = worktree / line.removeprefix("gitdir:").strip()
    common, back = own / "commondir", own / "gitdir"
    if not common.is_file() or not back.is_file():
        return None
    shared = Path(os.path.normpath(own / _first_line(common)))
    # Anyone can write a `.git` file that names a repository; only the repository's own files say that it has this
    # worktree.
    known = os.path.realpath(own / _first_line(back)) == os.path.realpath(mark)
    inside = os.path.realpath(own.parent) == os.path.realpath(shared / "worktrees")
    return (str(worktree), str(shared.parent)) if known and inside and shared.name == ".git" else None


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_GIT_FILE).decode("utf-8", "replace").partition("\n")[0].strip()


class Place:
    """A recorded folder: the forms by which a claim may know it, and the folder of its project.

    `own` are forms of the folder itself, `keys` has the place in the repository of a linked worktree besides.
    `worktree` is that worktree's folder in compared form.
    """

    def __init__(self, path: str, distribution: str | None = None, drives: str = DRIVES) -> None:
        self.own = [key(path, distribution, drives)]
        self.folder = self.own[0]
        self.repository: str | None = None
        self.worktree: str | None = None
        self.keys = self.own
        if distribution is not None or path.startswith("/") != (os.name == "posix"):
            return
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return
        if key(real) not in self.own:
            self.own.append(key(real))
        linked = repository(real)
        if linked is not None:
            worktree, home = linked
            inside = os.path.relpath(real, worktree)
            self.keys = [*self.own, key(os.path.join(home, inside))]  # noqa: PTH118
            self.folder = key(home)
            self.repository = home
            self.worktree = key(worktree)

    def is_in_worktree(self, folder: str) -> bool:
        """Whether a folder in compared form is the linked worktree of this place, or lies in it."""
        return self.worktree is not None and (folder + "/").startswith(self.worktree + "/")
