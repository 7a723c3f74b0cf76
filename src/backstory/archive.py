"""The public face: read a session from disk, or everything that was ever read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from . import config
from .errors import ReadError
from .schema.link import Spawn, link
from .schema.record import Placed, Record, assemble
from .schema.session import Totals, merge_fidelity
from .sources import REGISTRY, load
from .sources.base import Root, Source
from .store import database, forget, marks, read, summary
from .store.read import Filter
from .store.results import Day, Finding, Found, Judgement, Listed, Scope, State, Verdict

if TYPE_CHECKING:
    from .capture.sync import Progress, SyncReport
    from .memory.memory import Memory


def read_session(path: str | Path, *, agent: str = "cline", env: Mapping[str, str] | None = None) -> Record:
    """Read one session of an agent: its folder, or a file in it. Nothing is stored.

    What only an archive can know stays empty: `gone`, `totals`, and copies that Cline did not mark.
    Raises `InputError` for a path that is no session, `ReadError` for one that cannot be read at all.
    """
    source = load(agent)
    ref = source.locate(str(path), [])
    reading = source.read(ref, {}, env=os.environ if env is None else env)
    placed, actors, turns, calls, spawns, parts = [], [], [], [], [], [reading.session.fidelity]
    fork = reading.session.copied_from
    copied = 0
    for file in reading.files:
        rows = list(file.rows)
        tail = file.tail()
        actors.append(tail.actor)
        parts.append(tail.fidelity)
        turns += tail.turns
        calls += [(tail.actor.id, call) for call in tail.calls]
        for row in rows:
            placed.append(Placed(tail.actor.id, row))
            if row.spawns is not None:
                tool = getattr(row.payload, "tool_name", "")
                spawns.append(Spawn(row.id, tail.actor.id, tool, row.spawns, row.at))
            if tail.actor.type == "root" and fork is not None and (row.at or 0) < (fork.at or 0):
                copied = max(copied, row.msg + 1)
    if not reading.files:
        broken = [
            *(f"{left.path}: {left.reason}" for left in reading.skipped),
            *(f"{torn.path}: no message of it could be read" for torn in reading.torn),
        ]
        raise ReadError(broken[0] if broken else f"{path}: there is nothing to read in it")
    session = replace(reading.session, fidelity=merge_fidelity(parts), totals=Totals())
    if fork is not None:
        session = replace(session, copied_from=replace(fork, messages=copied))
    return assemble(session, link(actors, spawns), placed, turns, calls, seen_ends=_ends(session.ended_at))


def _ends(ended_at: int | None) -> tuple[int, ...]:
    return () if ended_at is None else (ended_at,)


def _states(state: State | Sequence[State] | None) -> frozenset[State] | None:
    if state is None:
        return None
    return frozenset((state,) if isinstance(state, str) else state)


class Archive:
    """Every session that was ever read, with search over them.

    `path` is the SQLite file, by default `archive.db` in `BACKSTORY_HOME` or `~/.backstory`; it is made where there
    is none. All times are UTC epoch milliseconds. Use it in one thread, and close it, or use it as a context manager.
    Raises `ArchiveError` for a file that cannot be opened.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        env: Mapping[str, str] | None = None,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.env = os.environ if env is None else env
        self.path = Path(path) if path is not None else database.default_path(self.env)
        self.now = now
        self.sources: list[Source] = [load(name) for name in REGISTRY]
        self.connection = database.connect(self.path, database.home(self.env) if path is None else None)
        self.settings = config.load(database.home(self.env))
        summary.set_idle_gap(self.connection, self.settings.idle_minutes * 60_000)
        if not database.is_indexed(self.connection):
            from .store.reindex import reindex

            reindex(self.connection)
        self.settle()  # another process may have read calls since the last one looked

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive's file."""
        self.connection.close()

    # Each method loads what it alone needs: a list must not wait for the reader or the search.

    def sync(self, sessions_dirs: Sequence[str | Path] = (), progress: Progress | None = None) -> SyncReport:
        """Bring the archive up to date with the sessions on disk; only what changed is read."""
        from .capture.sync import SyncReport, sync

        report = SyncReport()
        for source in self.sources:
            sync(
                self.connection,
                source,
                report,
                env=self.env,
                sessions_dirs=[Path(folder) for folder in sessions_dirs],
                progress=progress,
                now_ns=lambda: self.now() * 1_000_000,
            )
        self.settle()
        return report

    def settle(self) -> None:
        """Price the calls that have no price yet; all of them anew when settings or prices have changed."""
        from .ledger.pricing import settle

        settle(self.connection, self.settings, database.home(self.env))

    def ingest(self, item: str, agent: str = "cline", sessions_dirs: Sequence[str | Path] = ()) -> SyncReport:
        """Read one session by its id, its folder or a file in it, also one that was forgotten.

        Raises `InputError` for an item that is no session and for an unknown agent.
        """
        from .capture.sync import SyncReport, read_one

        source = load(agent)
        ref = source.locate(item, source.roots(self.env, [Path(folder) for folder in sessions_dirs]))
        forget.remember_again(self.connection, source.name, ref.id)
        report = SyncReport(seen=1)
        read_one(self.connection, source, ref, report, env=self.env, now_ns=None)
        self.settle()
        return report

    def sessions(
        self,
        *,
        project: str | None = None,
        since: int | None = None,
        until: int | None = None,
        surface: str | None = None,
        model: str | None = None,
        state: State | Sequence[State] | None = None,
        failing: bool = False,
        verdict: Verdict | None = None,
        limit: int | None = 50,
    ) -> list[Listed]:
        """Sessions, newest first, with the words of `docs/schema.md` about each."""
        which = Filter(project, since, until, surface, model, failing, verdict)
        return read.listed(self.connection, self.now(), which, limit=limit, only=_states(state))

    def resolve(self, text: str) -> str:
        """The full id for `last`, a short id, or the beginning of an id that fits only one session."""
        return read.resolve(self.connection, text)

    def listed(self, session_id: str) -> Listed:
        """One session as a list shows it. Raises `UnknownSession`."""
        return read.one_listed(self.connection, session_id, self.now())

    def record(self, session_id: str, *, superseded: bool = False) -> Record:
        """One session with all its steps. Raises `UnknownSession`."""
        return read.record(self.connection, session_id, superseded=superseded)

    def search(
        self,
        query: str,
        *,
        scope: Scope = "everything",
        project: str | None = None,
        since: int | None = None,
        until: int | None = None,
        failing: bool = False,
        limit: int = 10,
        per_session: int = 3,
    ) -> Found:
        """The best places for a query in prompts, answers, commands, outputs and paths."""
        from .store import search

        which = Filter(project=project, since=since, until=until, failing=failing)
        return search.search(
            self.connection, query, self.now(), scope=scope, which=which, limit=limit, per_session=per_session
        )

    def forgettable(self, session_id: str) -> forget.Forgettable:
        """What `forget` would remove. Raises `UnknownSession`."""
        return forget.examine(self.connection, session_id)

    def forget(self, session_id: str, *, with_copies: bool = False) -> forget.Forgettable:
        """Remove a session for good, and with it, when asked, the sessions that hold copies of its conversation."""
        from .memory.change import unlearned

        what = forget.examine(self.connection, session_id)
        sessions = [session_id, *(what.copies if with_copies else ())]
        forget.forget(self.connection, sessions, self.now(), also=unlearned)
        return what

    @property
    def memory(self) -> Memory:
        """What was learned of the conversations in this archive, to recall, add to, edit and forget."""
        from .memory.memory import Memory

        return Memory(self.connection, self.now)

    def mark_seen(self, session_id: str) -> None:
        """Note that the reader has seen all steps of a session: they are no longer `unseen`."""
        marks.mark_seen(self.connection, session_id, self.now())

    def judge(
        self, session_id: str, *, verdict: Verdict | None = None, note: str = "", turn: str | None = None
    ) -> None:
        """Keep a verdict and a note about a session, or about a turn of it by its id; neither takes it back.

        Raises `UnknownSession`, and `InputError` for what is no verdict or no turn of the session.
        """
        marks.judge(self.connection, session_id, self.now(), verdict=verdict, note=note, turn=turn)

    def judgements(self, session_id: str) -> dict[str | None, Judgement]:
        """The verdicts and notes about a session (key null) and about its turns, by their ids."""
        return marks.judgements(self.connection, marks.number(self.connection, session_id))

    def days(
        self,
        *,
        project: str | None = None,
        since: int | None = None,
        until: int | None = None,
        surface: str | None = None,
        model: str | None = None,
        state: State | Sequence[State] | None = None,
        failing: bool = False,
        tz: tzinfo | None = None,
    ) -> dict[date, Day]:
        """Figures of all sessions that the filter lets through, by local day; `tz` null is this machine's zone."""
        which = Filter(project, since, until, surface, model, failing)
        return read.days(self.connection, self.now(), which, tz, _states(state))

    def copies(self, session_id: str) -> list[Listed]:
        """Other sessions that hold copies of this conversation, oldest first."""
        return [self.listed(other) for other in forget.examine(self.connection, session_id).copies]

    def roots(self, sessions_dirs: Sequence[str | Path] = ()) -> list[Root]:
        """The folders that are looked at, each with the rule that names it."""
        folders = [Path(folder) for folder in sessions_dirs]
        return [root for source in self.sources for root in source.roots(self.env, folders)]

    def doctor(
        self, sessions_dirs: Sequence[str | Path] = (), report: SyncReport | None = None
    ) -> list[Finding]:
        """What was looked at, read and left out, and what to do; `report` is that of the pass just made."""
        from .capture.doctor import examine

        folders = [Path(folder) for folder in sessions_dirs]
        return examine(self.connection, self.path, self.sources, report, sessions_dirs=folders, env=self.env)

    def count(self) -> int:
        """How many sessions the archive holds."""
        (sessions,) = self.connection.execute("SELECT count(*) FROM session").fetchone()
        return int(sessions)
