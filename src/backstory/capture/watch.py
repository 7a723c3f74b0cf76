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
from ..sources.base import Root, Source
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
Key = tuple[str, str]
"""A session among those of all agents: the name of its source, and its id."""


class Due(Struct):
    """A session that changed: when it was first and last seen to change, in seconds of the watcher's clock."""

    first: float
    last: float


class Watcher:
    """Keeps the archive current while it runs. All times are seconds of `clock`, a monotonic clock.

    `read` is told what each reading brought; `settled` is told the id of a session that was read whole and has not
    changed for a pause.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        sources: Sequence[Source],
        *,
        env: Mapping[str, str],
        sessions_dirs: Sequence[Path] = (),
        log: Log = lambda line: None,
        read: Callable[[SyncReport], None] = lambda report: None,
        settled: Callable[[str], None] = lambda session_id: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connection = connection
        self.sources = {source.name: source for source in sources}
        self.env = env
        self.sessions_dirs = sessions_dirs
        self.log = log
        self.read = read
        self.settled = settled
        self.clock = clock
        self.stop = threading.Event()
        self.due: dict[Key, Due] = {}
        self._unsettled: dict[Key, float] = {}
        self.refs: dict[Key, SessionRef] = {}
        self._next_poll = 0.0
        self._next_sweep = 0.0
        self._turn: list[Key] = []
        self._latest: dict[Key, None] = {}
        self._listed: dict[str, tuple[int, list[str]]] = {}
        self._forgotten: set[Key] = set()
        self._torn: set[Key] = set()

    def look(self) -> None:
        """List every root anew, and note what changed since it was last read, and what is gone."""
        self.refs = {}
        self._forgotten = set()
        for name, source in self.sources.items():
            listings = [source.look(root) for root in source.roots(self.env, self.sessions_dirs)]
            forgotten = known.forgotten(self.connection, name)
            self._forgotten |= {(name, one) for one in forgotten}
            refs = {one: ref for one, ref in merged(source, listings).items() if one not in forgotten}
            stored = known.marks(self.connection, name, source.reader)
            note_gone(self.connection, source, listings, refs, stored, time.time_ns() // 1_000_000)
            for one, ref in refs.items():
                self.refs[name, one] = ref
                if is_changed(ref, stored.get(one)) and (name, one) not in self._torn:
                    self.changed((name, one))
        self._turn = sorted(self.refs, key=lambda key: self.refs[key].changed_at)
        self._latest = dict.fromkeys(self._turn[-RECENT:])
        self._next_sweep = self.clock() + SWEEP

    def changed(self, key: Key) -> None:
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

    def _check(self, key: Key) -> None:
        ref = self.refs.get(key)
        if ref is None:
            return
        fresh = self.sources[key[0]].refresh(ref)
        if fresh is not None and fresh.files != ref.files:
            self.refs[key] = fresh
            self._torn.discard(key)
            self.changed(key)

    def _roots(self) -> list[tuple[Source, Root]]:
        return [
            (source, root)
            for source in self.sources.values()
            for root in source.roots(self.env, self.sessions_dirs)
        ]

    def _new_folders(self) -> None:
        """Folders that were not there before. A root's own time says whether its names changed; what was no session
        when it was met, such as a folder that Cline has only just made, is looked at again every time.
        """
        for source, root in self._roots():
            place = str(root.path)
            try:
                changed = root.path.stat().st_mtime_ns
                before, odd = self._listed.get(place, (None, []))
                names = odd if before == changed else os.listdir(place)
            except OSError:
                continue
            unknown = [name for name in names if (source.name, name) not in self.refs]
            for name in unknown:
                self._adopt(source, root, name)
            self._listed[place] = (
                changed,
                [name for name in unknown if (source.name, name) not in self.refs],
            )

    def _adopt(self, source: Source, root: Root, name: str) -> None:
        """A folder that was not there before."""
        try:
            ref = source.locate(name, [root])
        except InputError:
            return
        key = (source.name, ref.id)
        if key not in self.refs and key not in self._forgotten:
            self.refs[key] = ref
            self.changed(key)

    def events(self, paths: Iterable[str]) -> None:
        """The fast path: files that the system reports as changed."""
        roots = [(source, root, os.path.realpath(root.path) + os.sep) for source, root in self._roots()]
        for path in paths:
            for source, root, base in roots:
                if path.startswith(base):
                    name = path[len(base) :].split(os.sep, 1)[0]
                    if (source.name, name) in self.refs:
                        self._check((source.name, name))
                    else:
                        self._adopt(source, root, name)

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
            last = self.due.pop(key).last
            if self._read(key):
                self._unsettled[key] = last
        for key, last in list(self._unsettled.items()):
            if key not in self.due and now - last >= PAUSE:
                del self._unsettled[key]
                self.settled(key[1])

    def _read(self, key: Key) -> bool:
        """Read a session; says whether it was read whole."""
        source = self.sources[key[0]]
        ref = source.refresh(self.refs[key])
        if ref is None:
            return False
        self.refs[key] = ref
        report = SyncReport(seen=1)
        try:
            read_one(self.connection, source, ref, report, env=self.env)
        except ArchiveError as error:
            self.log(str(error))
            self.changed(key)
            return False
        if report.forgotten:
            self._drop(key)
            return False
        self._report(key, report)
        self.read(report)
        return bool(report.read) and not report.torn

    def _drop(self, key: Key) -> None:
        """Follow a session no longer: it was forgotten since the roots were listed."""
        self._forgotten.add(key)
        for followed in (self.refs, self.due, self._latest, self._unsettled):
            followed.pop(key, None)

    def _report(self, key: Key, report: SyncReport) -> None:
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
            folders = [root.path for _, root in self._roots()]
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
