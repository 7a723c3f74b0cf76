"""Workspaces and the folders that they claim: who owns a session."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping

from msgspec import Struct

from ..errors import InputError
from ..store.database import transaction
from .folders import DRIVES, Place, absolute, distribution_of, is_absolute, key, whole, with_parents

DEFAULT = "default"
_name = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Workspace(Struct, frozen=True):
    """A named memory: the folders that it claims, as they were named, and how much it holds."""

    name: str
    claims: tuple[str, ...]
    conversations: int
    exchanges: int
    facts: int


class Owner(Struct, frozen=True):
    """Who owns a folder: the workspace and the claim, as it was named, that decides it."""

    workspace: str
    claim: str


class Claimed(Struct, frozen=True):
    """A claim that was made; `before` is the workspace that had this very folder, null where none had.

    `held` says that other workspaces hold conversations of it, which move when this one learns.
    """

    path: str
    workspace: str
    before: str | None
    held: bool = False


def number(connection: sqlite3.Connection, name: str) -> int:
    """A workspace's number. Raises `InputError` that names those that exist."""
    found = connection.execute("SELECT n FROM workspace WHERE name = ?", (name,)).fetchone()
    if found is None:
        known = ", ".join(row[0] for row in connection.execute("SELECT name FROM workspace ORDER BY n"))
        raise InputError(
            f'there is no workspace "{name}"; there is {known}. backstory workspace create {name} makes it.'
        )
    return int(found[0])


def create(connection: sqlite3.Connection, name: str, now: int) -> None:
    """Make a workspace. Raises `InputError` for a name that cannot be one or that is taken."""
    if not _name.fullmatch(name):
        raise InputError(
            f'"{name}" cannot be a workspace: use lower-case letters, digits, ".", "_" and "-", at most 64.'
        )
    with transaction(connection):
        made = connection.execute(
            "INSERT OR IGNORE INTO workspace (name, created_at) VALUES (?, ?)", (name, now)
        )
    if not made.rowcount:
        raise InputError(f'there is already a workspace "{name}".')


def delete(connection: sqlite3.Connection, name: str) -> None:
    """Take out a workspace that holds and claims nothing. Raises `InputError` that says what it has."""
    n = number(connection, name)
    if name == DEFAULT:
        raise InputError(f"{DEFAULT} is always there.")
    with transaction(connection):
        claims, conversations, facts = connection.execute(
            "SELECT (SELECT count(*) FROM claim WHERE workspace = ?1),"
            " (SELECT count(*) FROM conversation WHERE workspace = ?1),"
            " (SELECT count(*) FROM fact WHERE workspace = ?1)",
            (n,),
        ).fetchone()
        if not (claims or conversations or facts):
            connection.execute("DELETE FROM workspace WHERE n = ?", (n,))
            return
    raise InputError(
        f"{name} is not empty: claims {claims:,}, conversations {conversations:,}, facts {facts:,}."
        " Release its folders; what it learned moves when another workspace claims them and learns."
    )


def claim(connection: sqlite3.Connection, path: str, workspace: str) -> Claimed:
    """Give a folder to a workspace, also one that does not exist. A folder has one owner: the last claim holds.

    Raises `InputError` for a relative path.
    """
    path = whole(path)
    if not is_absolute(path):
        raise InputError(f'"{path}" is not an absolute folder.')
    wanted = number(connection, workspace)
    with transaction(connection):
        before = connection.execute(
            "SELECT name FROM claim JOIN workspace ON workspace.n = claim.workspace WHERE key = ?",
            (key(path),),
        ).fetchone()
        connection.execute("INSERT OR REPLACE INTO claim VALUES (?, ?, ?)", (key(path), path, wanted))
    folder = Place(path).folder
    (held,) = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM conversation WHERE workspace != ?1"
        " AND substr(folder || '/', 1, length(?2) + 1) = ?2 || '/')",
        (wanted, folder),
    ).fetchone()
    return Claimed(path, workspace, before[0] if before else None, bool(held))


def release(connection: sqlite3.Connection, path: str) -> str:
    """Take a claim back; returns the workspace that had it. Raises `InputError` where nobody claims the folder."""
    with transaction(connection):
        found = connection.execute(
            "DELETE FROM claim WHERE key = ? RETURNING (SELECT name FROM workspace WHERE n = workspace)",
            (key(path),),
        ).fetchone()
    if found is None:
        raise InputError(f"nobody claims {path}. backstory workspace list shows the claims.")
    return str(found[0])


def know_drives(connection: sqlite3.Connection, drives: Mapping[str, str]) -> None:
    """Note where distributions of WSL have the drives of Windows, for all that is learned from now on."""
    known = _drives(connection)
    new = {**known, **{name.casefold(): folder for name, folder in drives.items()}}
    if new != known:
        with transaction(connection):
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('drives', ?)", (json.dumps(new),))


def _drives(connection: sqlite3.Connection) -> dict[str, str]:
    """The folder with the drives of Windows by the name of a distribution, in lower case."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'drives'").fetchone()
    return dict(json.loads(found[0])) if found else {}


def listed(connection: sqlite3.Connection) -> list[Workspace]:
    """All workspaces, the first one first."""
    found = []
    for n, name in connection.execute("SELECT n, name FROM workspace ORDER BY n").fetchall():
        paths = connection.execute("SELECT path FROM claim WHERE workspace = ? ORDER BY key", (n,)).fetchall()
        conversations, exchanges = connection.execute(
            "SELECT count(DISTINCT conversation.n), count(exchange.n) FROM conversation"
            " LEFT JOIN exchange ON exchange.conversation = conversation.n WHERE workspace = ?",
            (n,),
        ).fetchone()
        (facts,) = connection.execute("SELECT count(*) FROM fact WHERE workspace = ?", (n,)).fetchone()
        found.append(Workspace(name, tuple(row[0] for row in paths), conversations, exchanges, facts))
    return found


class _Real:
    """Where folders lead by links; of many in one folder each costs a single look at the disk."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"/": "/"}

    def of(self, path: str) -> str | None:
        """The folder that a path leads to, where that is another one; null also for a path of another system."""
        if path.startswith("/") != (os.name == "posix"):
            return None
        try:
            plain = os.path.normpath(path)
            linear = os.name == "posix" and not path.startswith("//") and ".." not in path
            real = self._of(plain) if linear else os.path.realpath(path)
        except (OSError, ValueError):
            return None
        return real if real != plain else None

    def _of(self, plain: str) -> str:
        known = self._known.get(plain)
        if known is None:
            above, name = os.path.split(plain)
            real = os.path.join(self._of(above), name)  # noqa: PTH118
            # What is no link leads to itself, also where nothing is.
            known = os.path.realpath(real) if os.path.islink(real) else real  # noqa: PTH114
            self._known[plain] = known
        return known


class Owners:
    """Who owns which folder, by the claims as they are now. Places are looked up on disk once each."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._places: dict[tuple[str, str | None], Place] = {}
        self._drives = _drives(connection)
        self.claims: dict[str, Owner] = {}
        claims = connection.execute(
            "SELECT key, path, name FROM claim JOIN workspace ON workspace.n = claim.workspace"
        ).fetchall()
        real = _Real()
        for _, path, name in claims:
            # A claim by way of a link holds for the folder that it leads to, unless that has a claim of its own.
            led = real.of(path)
            if led is not None:
                self.claims[key(led)] = Owner(name, path)
            elif distribution_of(path) is not None:
                self.claims[key(path, drives=self._drives_of(path))] = Owner(name, path)
        self.claims.update({known: Owner(name, path) for known, path, name in claims})

    def place(self, path: str, distribution: str | None = None) -> Place:
        """A recorded folder as claims and projects see it."""
        found = self._places.get((path, distribution))
        if found is None:
            drives = self._drives_of(path, distribution)
            found = self._places[path, distribution] = Place(path, distribution, drives)
        return found

    def _drives_of(self, path: str, distribution: str | None = None) -> str:
        """Where the distribution that a path lies in has the drives of Windows."""
        inside = distribution or distribution_of(path) or ""
        return self._drives.get(inside.casefold(), DRIVES)

    def claim_on(self, path: str, distribution: str | None = None) -> Owner | None:
        """The longest claim on a folder; null where nobody claims it.

        For a folder of a linked worktree a claim on the worktree goes before any on its repository.
        """
        best: tuple[bool, int, Owner] | None = None
        place = self.place(path, distribution)
        for known in place.keys:
            folder = next((folder for folder in with_parents(known) if folder in self.claims), None)
            if folder is not None:
                rank = (place.is_in_worktree(folder), len(folder))
                if best is None or rank > best[:2]:
                    best = (*rank, self.claims[folder])
        return best[2] if best else None

    def of(self, path: str, distribution: str | None = None) -> str | None:
        """The workspace with the longest claim on a folder; null where nobody claims it."""
        found = self.claim_on(path, distribution)
        return found.workspace if found else None

    def decide(self, cwd: str | None, root: str | None, distribution: str | None = None) -> str | None:
        """The owner of a session: by its working folder, by its workspace root only where nobody claims that."""
        for path in (absolute(cwd, root) if cwd else None, root):
            owner = self.of(path, distribution) if path and is_absolute(path) else None
            if owner is not None:
                return owner
        return None
