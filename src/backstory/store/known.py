"""What the archive knows of the files on disk: the marks by which a change is seen, and where to go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import zstandard
from msgspec import Struct

from ..schema.reading import FileStat, KnownFile
from .database import transaction


class Marks(Struct):
    """A session as it was last written: its generation, root, and the marks of its files by name."""

    generation: int
    root: str
    gone: bool
    stale: bool = False
    files: dict[str, tuple[int, int, int]] = {}


def marks(connection: sqlite3.Connection, source: str, reader: int) -> dict[str, Marks]:
    """Every session of a source, from one scan of small rows; `stale` where an older reader read a file."""
    found: dict[str, Marks] = {}
    for session_id, generation, root, gone, name, size, mtime_ns, inode, read_by in connection.execute(
        "SELECT session.id, session.generation, session.root, session.gone_at, file.name, file.size,"
        " file.mtime_ns, file.inode, file.reader FROM session LEFT JOIN file ON file.session = session.n"
        " WHERE session.source = ?",
        (source,),
    ):
        entry = found.get(session_id)
        if entry is None:
            entry = found[session_id] = Marks(generation, root, gone is not None, files={})
        if name is not None:
            entry.files[name] = (size, mtime_ns, inode)
            entry.stale = entry.stale or (read_by is not None and read_by != reader)
    return found


def files(
    connection: sqlite3.Connection, source: str, session_id: str
) -> tuple[int | None, dict[str, KnownFile]]:
    """The generation of a session and what a reader needs to go on with its files; null for a new one."""
    found = connection.execute(
        "SELECT n, generation FROM session WHERE source = ? AND id = ?", (source, session_id)
    ).fetchone()
    if found is None:
        return None, {}
    known = {}
    for name, size, mtime_ns, inode, reader, digests, state, state_at, context in connection.execute(
        "SELECT name, size, mtime_ns, inode, reader, digests, state, state_at, context FROM file"
        " LEFT JOIN file_state ON file_state.file = file.n WHERE session = ?",
        (found[0],),
    ):
        saved = zstandard.ZstdDecompressor().decompress(state) if state else b""
        known[name] = KnownFile(
            FileStat(size, mtime_ns, inode), digests or b"", saved, state_at or 0, reader or 0, context or 0
        )
    return int(found[1]), known


def mark_gone(connection: sqlite3.Connection, source: str, ids: Iterable[str], now: int) -> None:
    """Mark sessions that are no longer on disk; nothing of them is removed."""
    with transaction(connection):
        connection.executemany(
            "UPDATE session SET gone_at = ?, generation = generation + 1"
            " WHERE source = ? AND id = ? AND gone_at IS NULL",
            [(now, source, session_id) for session_id in ids],
        )


def mark_back(connection: sqlite3.Connection, source: str, ids: Iterable[str]) -> None:
    """Take the mark off sessions that are on disk again."""
    with transaction(connection):
        connection.executemany(
            "UPDATE session SET gone_at = NULL WHERE source = ? AND id = ?",
            [(source, session_id) for session_id in ids],
        )


def forgotten(connection: sqlite3.Connection, source: str) -> set[str]:
    """The ids of sessions that were forgotten and are not to be read again."""
    prefix = f"{source}/"
    return {
        key.removeprefix(prefix)
        for (key,) in connection.execute("SELECT key FROM tombstone WHERE kind = 'session'")
        if key.startswith(prefix)
    }
