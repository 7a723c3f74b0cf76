"""Following sessions live: file events as the fast path, a stat poll as the fallback, one read after a pause.

`tick` does what is due at a given time and can be driven by a test; `run` drives it until it is stopped.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import ArchiveError, InputError
from ..schema.reading import SessionRef
from ..sources.base import Source
from ..store import known
from .sync import SyncReport, is_changed, merged, note_gone, read_one

if TYPE_CHECKING:
    import sqlite3

PAUSE = 2.0
"""Seconds without a change after which a session is read again."""
LONGEST = 10.0
"""Seconds after which a session that keeps changing is read all the same."""
POLL = 3.0
RECENT = 50
"""Sessions that changed last, looked at with every poll; the others in turn, all of them within `SWEEP` seconds."""
SWEEP = 300.0
WAKE_MS = 500
TORN = "messages file not parseable yet (mid-write?); will retry on next change"

Log = Callable[[str], None]


class Due(Struct):
    """A session that changed: when it was first and last seen to change, in seconds of the watcher's clock."""

    first: float
    last: float


class Watcher:
    """Keeps the archive current while it runs. All times are seconds of `clock`, a monotonic clock."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        source: Source,
        *,
        env: Mapping[str, str],
        sessions_dirs: Sequence[Path] = (),
        log: Log = lambda line: None,
        read: Callable[[SyncReport], None] = lambda report: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connection = connection
        self.source = source
        self.env = env
        self.sessions_dirs = sessions_dirs
        self.log = log
        self.read = read
        self.clock = clock
        self.stop = threading.Event()
        self.due: dict[str, Due] = {}
        self.refs: dict[str, SessionRef] = {}
        self._next_poll = 0.0
        self._next_sweep = 0.0
        self._turn: list[str] = []
        self._latest: dict[str, None] = {}
        self._forgotten: set[str] = set()
        self._torn: set[str] = set()

    def look(self) -> None:
        """List every root anew, and note what changed since it was last read, and what is gone."""
        listings = [self.source.look(root) for root in self.source.roots(self.env, self.sessions_dirs)]
        self._forgotten = known.forgotten(self.connection, self.source.name)
        self.refs = {
            key: ref for key, ref in merged(self.source, listings).items() if key not in self._forgotten
        }
        stored = known.marks(self.connection, self.source.name, self.source.reader)
        note_gone(self.connection, self.source, listings, self.refs, stored, time.time_ns() // 1_000_000)
        for key, ref in self.refs.items():
            if is_changed(ref, stored.get(key)) and key not in self._torn:
                self.changed(key)
        self._turn = sorted(self.refs, key=lambda key: self.refs[key].changed_at)
        self._latest = dict.fromkeys(self._turn[-RECENT:])
        self._next_sweep = self.clock() + SWEEP

    def changed(self, key: str) -> None:
        """Note that a session changed now."""
        now = self.clock()
        self._latest.pop(key, None)
        self._latest[key] = None
        while len(self._latest) > RECENT:
            del self._latest[next(iter(self._latest))]
        entry = self.due.get(key)
        if entry is None:
            self.due[key] = Due(now, now)
        else:
            entry.last = now

    def poll(self) -> None:
        """The fallback: new folders under the roots, the latest sessions, and a share of all the others."""
        share = max(1, int(len(self.refs) * POLL / SWEEP) + 1)
        rest = [self._turn.pop() for _ in range(min(share, len(self._turn)))]
        for key in dict.fromkeys([*self._latest, *rest]):
            self._check(key)
        self._new_folders()
        if not self._turn and self.clock() >= self._next_sweep:
            self.look()

    def _check(self, key: str) -> None:
        ref = self.refs.get(key)
        if ref is None:
            return
        fresh = self.source.refresh(ref)
        if fresh is not None and fresh.files != ref.files:
            self.refs[key] = fresh
            self._torn.discard(key)
            self.changed(key)

    def _new_folders(self) -> None:
        for root in self.source.roots(self.env, self.sessions_dirs):
            try:
                names = os.listdir(root.path)
            except OSError:
                continue
            for name in names:
                if name not in self.refs and name not in self._forgotten:
                    self._adopt(name)

    def _adopt(self, name: str) -> None:
        """A folder that was not there before."""
        try:
            ref = self.source.locate(name, self.source.roots(self.env, self.sessions_dirs))
        except InputError:
            return
        if ref.id not in self.refs and ref.id not in self._forgotten:
            self.refs[ref.id] = ref
            self.changed(ref.id)

    def events(self, paths: Iterable[str]) -> None:
        """The fast path: files that the system reports as changed."""
        roots = [os.path.realpath(root.path) for root in self.source.roots(self.env, self.sessions_dirs)]
        for path in paths:
            for root in roots:
                if path.startswith(root + os.sep):
                    name = path[len(root) + 1 :].split(os.sep, 1)[0]
                    if name in self.refs:
                        self._check(name)
                    else:
                        self._adopt(name)

    def tick(self) -> None:
        """Do what is due now: poll, and read sessions that paused or that have kept us waiting."""
        now = self.clock()
        if now >= self._next_poll:
            self.poll()
            self._next_poll = now + POLL
        ready = [
            key
            for key, entry in self.due.items()
            if now - entry.last >= PAUSE or now - entry.first >= LONGEST
        ]
        for key in ready:
            del self.due[key]
            self._read(key)

    def _read(self, key: str) -> None:
        ref = self.source.refresh(self.refs[key])
        if ref is None:
            return
        self.refs[key] = ref
        report = SyncReport(seen=1)
        try:
            read_one(self.connection, self.source, ref, report, env=self.env)
        except ArchiveError as error:
            self.log(str(error))
            self.changed(key)
            return
        self._report(key, report)
        self.read(report)

    def _report(self, key: str, report: SyncReport) -> None:
        for torn in report.torn:
            if torn.salvaged is None:
                self.log(f"{torn.path}: {TORN}")
                self._torn.add(key)
            else:
                self.log(f"{torn.path}: cut, read up to message {torn.salvaged}")
        for left in (*report.skipped, *report.failed):
            self.log(f"{left.path}: {left.reason}")

    def run(self) -> None:
        """Follow the sessions until `stop` is set, or SIGINT or SIGTERM comes."""
        previous = self._handle_signals()
        try:
            self.look()
            folders = [root.path for root in self.source.roots(self.env, self.sessions_dirs)]
            while not self.stop.is_set():
                present = [folder for folder in folders if folder.is_dir()]
                if not present:
                    self.stop.wait(POLL)
                    self.look()
                    continue
                self._follow(present)
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _follow(self, folders: list[Path]) -> None:
        """Take file events while they come; without them (too many folders to watch) the poll alone goes on."""
        from watchfiles import watch

        self.look()
        try:
            for changes in watch(
                *folders,
                stop_event=self.stop,
                rust_timeout=WAKE_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
                debounce=200,
                ignore_permission_denied=True,
            ):
                self.events(path for _, path in changes)
                self.tick()
                if not all(folder.is_dir() for folder in folders):
                    return
        except (OSError, RuntimeError) as error:
            self.log(f"file events are not to be had ({error}); looking every {POLL:g} s instead")
            while not self.stop.wait(WAKE_MS / 1000):
                self.tick()

    def _handle_signals(self) -> dict[int, Any]:
        """Stop cleanly on SIGINT and SIGTERM; only a main thread may say so."""
        if threading.current_thread() is not threading.main_thread():
            return {}
        previous: dict[int, Any] = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[int(number)] = signal.signal(number, lambda *_: self.stop.set())
        return previous
