"""Paths of a distribution as Windows sees them, and the other way round. Pure text; nothing is looked up."""

from __future__ import annotations

import re
from typing import NamedTuple

HOSTS = ("wsl.localhost", "wsl$")
DRIVES = "/mnt/"
_UNC = re.compile(r"(?:\\\\\?\\UNC\\|\\\\)([^\\]+)\\([^\\]+)(\\.*)?", re.DOTALL | re.IGNORECASE)
_DRIVE = re.compile(r"(?:\\\\\?\\)?([A-Za-z]):(\\.*)?", re.DOTALL)


class Inside(NamedTuple):
    """A path within a distribution, whose name is as it was written."""

    distribution: str
    path: str


class PathContext(NamedTuple):
    """One distribution; `drives` is the folder in which it has the drives of Windows."""

    distribution: str
    drives: str = DRIVES

    def to_host(self, path: str) -> str:
        """A path of the distribution, as a program on Windows opens it."""
        drive = re.fullmatch(re.escape(self.drives) + r"([A-Za-z])(/.*)?", path, re.DOTALL)
        if drive is not None:
            return f"{drive[1].upper()}:{_back(drive[2] or '/')}"
        return f"\\\\{HOSTS[0]}\\{self.distribution}{_back(path if path.startswith('/') else '/' + path)}"

    def to_distribution(self, path: str) -> str | None:
        """A path of Windows, as a program in the distribution opens it; null for one of another distribution.

        A path that is none of Windows' stays as it is.
        """
        inside = split(path)
        if inside is not None:
            return inside.path if self.is_named(inside.distribution) else None
        plain = path.replace("/", "\\")
        drive = None if path.startswith("/") else _DRIVE.fullmatch(plain)
        if drive is None:
            return path
        return f"{self.drives}{drive[1].lower()}{_forward(drive[2] or '').rstrip('/')}"

    def is_named(self, distribution: str) -> bool:
        """Whether a name means this distribution; Windows takes no account of case."""
        return self.distribution.casefold() == distribution.casefold()


def split(path: str) -> Inside | None:
    r"""A share of WSL as distribution and path in it; null for any other path.

    `\\wsl.localhost\D\...`, `\\wsl$\D\...`, `\\?\UNC\wsl.localhost\D\...`, each also with forward slashes.
    """
    found = _UNC.fullmatch(path.replace("/", "\\"))
    if found is None or found[1].lower() not in HOSTS:
        return None
    return Inside(found[2], _forward(found[3] or "\\"))


def _back(path: str) -> str:
    return path.replace("/", "\\")


def _forward(path: str) -> str:
    return path.replace("\\", "/")
