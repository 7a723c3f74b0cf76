"""One pass over the sessions on disk: look by `stat`, read what changed, write it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from ..errors import ArchiveError
from ..schema.reading import SessionRef, Skipped, Torn
from ..sources.base import Listing, Source
from ..store import known
from ..store.database import unless_busy
from ..store.marks import mark_old

ATTEMPTS = 5
FRESH_MS = 24 * 3_600_000
"""Of a source's first pass only sessions that are younger are new to the reader."""
BATCH = 50
"""Sessions of a first pass after which those that are old are marked as seen."""

Progress = Callable[[int, int], None]


class SyncReport(Struct):
    """What a pass saw and did. `read` are the ids of the sessions that changed.

    `torn` are files left for the next change, `skipped` those that cannot be read. `forgotten` are the ids of sessions
    that were forgotten while they were read, and so not written.
    """

    seen: int = 0
    changed: int = 0
    new_sessions: int = 0
    new_steps: int = 0
    gone: int = 0
    read: list[str] = field(default_factory=list)
    torn: list[Torn] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: list[Skipped] = field(default_factory=list)
    roots: list[Listing] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)


def sync(
    connection: sqlite3.Connection,
    source: Source,
    report: SyncReport,
    *,
    env: Mapping[str, str],
    sessions_dirs: Sequence[Path] = (),
    progress: Progress | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Bring the archive up to date with every session of a source, and add to the report what was seen and done.

    Newest first, so that a first pass is of use early.
    """
    listings = [source.look(root) for root in source.roots(env, sessions_dirs)]
    report.roots += listings
    refs = merged(source, listings)
    stored = known.marks(connection, source.name, source.reader)
    forgotten = known.forgotten(connection, source.name)
    report.seen += len(refs)
    for listing in listings:
        report.skipped += listing.skipped
    todo = [ref for ref in refs.values() if ref.id not in forgotten and is_changed(ref, stored.get(ref.id))]
    todo.sort(key=lambda ref: ref.changed_at, reverse=True)
    for number, ref in enumerate(todo):
        if progress is not None:
            progress(number, len(todo))
        read_one(connection, source, ref, report, env=env, now_ns=now_ns)
        if not stored and (number % BATCH == BATCH - 1 or number == len(todo) - 1):
            # In a first pass everything is new, which says nothing of what is old.
            with unless_busy(connection):
                mark_old(connection, source.name, now_ns() // 1_000_000 - FRESH_MS)
    report.gone += note_gone(connection, source, listings, refs, stored, now_ns() // 1_000_000)


def merged(source: Source, listings: Iterable[Listing]) -> dict[str, SessionRef]:
    """The sessions of all roots, each id once: of copies in two roots, the one that was updated last."""
    found: dict[str, list[SessionRef]] = {}
    for listing in listings:
        for ref in listing.sessions:
            found.setdefault(ref.id, []).append(ref)
    return {key: refs[0] if len(refs) == 1 else source.newest(refs) for key, refs in found.items()}


def is_changed(ref: SessionRef, stored: known.Marks | None) -> bool:
    """Whether a session has to be read: a file of it has other marks, or an older reader read it."""
    if stored is None or stored.stale:
        return True
    files = stored.files
    return any(files.get(name) != (stat.size, stat.mtime_ns, stat.inode) for name, stat in ref.files.items())


def read_one(
    connection: sqlite3.Connection,
    source: Source,
    ref: SessionRef,
    report: SyncReport,
    *,
    env: Mapping[str, str],
    now_ns: Callable[[], int] | None = time.time_ns,
) -> None:
    """Read one session and write what changed. A fault in it is reported and leaves the others alone.

    `now_ns` null takes every file for settled: one that does not parse is salvaged at once.

    Raises `ArchiveError` when the archive itself cannot be written: locked for too long, or the disk is full.
    """
    try:
        _read_one(connection, source, ref, report, env, now_ns)
    except sqlite3.OperationalError as error:
        raise ArchiveError(
            f"the archive cannot be written: {error}. Nothing was lost; try again later."
        ) from error
    except Exception as error:
        # Whatever one session holds, the others are read; the doctor names this one.
        report.failed.append(Skipped(str(ref.folder), f"{type(error).__name__}: {error}"))


def _read_one(
    connection: sqlite3.Connection,
    source: Source,
    ref: SessionRef,
    report: SyncReport,
    env: Mapping[str, str],
    now_ns: Callable[[], int] | None,
) -> None:
    # Loaded when something changed: a pass that finds nothing new does not wait for the writer.
    from ..store import draft, write

    for _ in range(ATTEMPTS):
        generation, files = known.files(connection, source.name, ref.id)
        reading = source.read(ref, files, now_ns=now_ns() if now_ns else None, env=env)
        if not reading.files and generation is None and reading.session.manifest is None:
            # Nothing of it can be read yet, so there is nothing to keep.
            report.torn += reading.torn
            report.skipped += reading.skipped
            return
        drafts = draft.draft(connection, reading)
        try:
            written = write.write(connection, reading, drafts, generation)
        except write.Moved:
            continue
        except write.Forgotten:
            report.forgotten.append(ref.id)
            return
        report.torn += reading.torn
        report.skipped += reading.skipped
        report.changed += 1
        report.read.append(ref.id)
        report.new_sessions += generation is None
        report.new_steps += written.new_steps
        return
    report.failed.append(Skipped(str(ref.folder), "another process keeps writing it; it is read again later"))


def note_gone(
    connection: sqlite3.Connection,
    source: Source,
    listings: Sequence[Listing],
    refs: Mapping[str, SessionRef],
    stored: Mapping[str, known.Marks],
    now: int,
) -> int:
    """Mark what left the disk, in roots that could be read; take the mark off what came back."""
    roots = {str(listing.real) for listing in listings if listing.readable}
    left_out = [Path(left.path) for listing in listings for left in listing.skipped]
    closed = {path.name for path in left_out} | {path.parent.name for path in left_out}
    missing = [
        key
        for key, entry in stored.items()
        if key not in refs and not entry.gone and entry.root in roots and key not in closed
    ]
    back = [key for key, entry in stored.items() if key in refs and entry.gone]
    if missing:
        known.mark_gone(connection, source.name, missing, now)
    if back:
        known.mark_back(connection, source.name, back)
    return len(missing)
