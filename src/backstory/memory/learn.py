"""Learning: which sessions of the archive a workspace may keep, and the keeping of their exchanges."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ..redact import mask
from ..schema.session import ELSEWHERE, Session
from ..schema.step import ROOT
from ..store import summary
from ..store.database import snapshot, transaction
from . import exchanges, keep, marked, mended, workspaces
from .folders import absolute, distribution_of
from .marked import is_buried

PREP = 1
"""Version of the rules for exchanges, masks and words: what was learned by others is learned anew."""

CONVERSATION = "conversation"
"""The kind of a tombstone for a whole session in the memory; its key is `source/session id`."""

Reason = Literal["no_evidence", "imported", "empty", "forgotten"]
"""Why a session is refused; besides `claimed_by:<workspace>`."""


class Outcome(Struct, frozen=True):
    """What learning made of one session: `reason` is set where it was refused, `exchanges` counts what is kept.

    `why` says in words what decided. Title and project are masked.
    """

    source: str
    session_id: str
    title: str | None
    project: str | None
    exchanges: int
    reason: str | None
    why: str


class Learned(Struct):
    """What a run of `learn` did, session by session, the oldest first.

    `learned` are new or changed, `known` were up to date. `masked` counts secrets taken out, by kind. `written` is
    false for a dry run.
    """

    workspace: str
    written: bool
    learned: list[Outcome] = field(default_factory=list)
    known: list[Outcome] = field(default_factory=list)
    refused: list[Outcome] = field(default_factory=list)
    masked: dict[str, int] = field(default_factory=dict)


class _Row(Struct, frozen=True):
    """A session's row, and what this workspace knows of it. `root` is the folder that the session was found under."""

    n: int
    source: str
    id: str
    root: str
    generation: int
    title: str | None
    project: str | None
    conversation: int | None
    learned_generation: int | None
    learned_prep: int | None
    kept: int

    @property
    def home(self) -> str:
        return f"{self.source}/{self.id}"


class _Kept(Struct, frozen=True):
    """What a write made of a session: `refused` is (reason, in words); `exchanges` null where it is no longer there."""

    exchanges: int | None = None
    changed: bool = False
    refused: tuple[str, str] | None = None


_SESSIONS = (
    "SELECT session.n, source, id, root, session.generation, session.title,"
    " coalesce(conversation.project, session.project), conversation.n, conversation.generation, conversation.prep,"
    " (SELECT count(*) FROM exchange WHERE exchange.conversation = conversation.n)"
    " FROM session LEFT JOIN conversation ON conversation.session = session.n AND conversation.workspace = ?1"
)
_ONLY = " WHERE session.id IN (SELECT value FROM json_each(?2))"
_ORDER = " ORDER BY started_at, id"

_HELD = "FROM conversation JOIN session ON session.n = conversation.session WHERE session.source = ? AND session.id = ?"
FORGOTTEN = ("forgotten", "forgotten in the memory")
ALL_FORGOTTEN = ("forgotten", "all of it was forgotten in the memory")

Progress = Callable[[int, int], None]


def learn(
    connection: sqlite3.Connection,
    workspace: str,
    now: int,
    *,
    write: bool = True,
    only: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Keep the exchanges of every session that belongs to a workspace, or of those in `only`, by their ids.

    A session belongs to the workspace that claims its folder; one that nobody claims, to the one that learns.
    Raises `InputError` for an unknown workspace.
    """
    number = workspaces.number(connection, workspace)
    run = _Run(connection, workspace, number, now, write)
    which = (number,) if only is None else (number, json.dumps(list(only)))
    rows = connection.execute(f"{_SESSIONS}{_ONLY if only is not None else ''}{_ORDER}", which)
    found = [_Row(*values) for values in rows]
    for place, row in enumerate(found):
        if progress is not None:
            progress(place, len(found))
        run.session(row)
    for (key,) in connection.execute("SELECT key FROM tombstone WHERE kind = 'session' ORDER BY key"):
        session_id = key.partition("/")[2]
        if only is None or session_id in only:
            why = "forgotten with its record"
            run.refuse(Outcome(source_key(session_id), session_id, None, None, 0, "forgotten", why))
    return run.report


def behind(connection: sqlite3.Connection) -> list[str]:
    """Ids of sessions that no workspace has learned as the archive has them now, the refusable ones among them."""
    found = connection.execute(
        "SELECT id FROM session WHERE NOT EXISTS (SELECT 1 FROM conversation WHERE session = session.n"
        " AND conversation.generation = session.generation AND prep = ?) ORDER BY started_at, id",
        (PREP,),
    )
    return [row[0] for row in found]


def by_owner(connection: sqlite3.Connection, only: Collection[str]) -> dict[str, list[str]]:
    """Sessions by the workspace that may learn them: the one that claims their folder, else the default one."""
    owners = workspaces.Owners(connection)
    found: dict[str, list[str]] = {}
    for session_id in dict.fromkeys(only):
        row = connection.execute("SELECT n, root FROM session WHERE id = ?", (session_id,)).fetchone()
        facts = summary.facts(connection, row[0]) if row else None
        if facts is not None:
            owner = owners.decide(facts.cwd, facts.workspace_root, distribution_of(row[1]))
            found.setdefault(owner or workspaces.DEFAULT, []).append(session_id)
    return found


def source_key(session_id: str) -> str:
    """The key by which a conversation is cited: `conversation/<session id>`."""
    return f"conversation/{session_id}"


class _Run:
    """One run of `learn`."""

    def __init__(
        self, connection: sqlite3.Connection, workspace: str, number: int, now: int, write: bool
    ) -> None:
        self.connection = connection
        self.workspace = workspace
        self.number = number
        self.now = now
        self.write = write
        self.owners = workspaces.Owners(connection)
        self.report = Learned(workspace, write)

    def refuse(self, outcome: Outcome) -> None:
        self.report.refused.append(outcome)

    def session(self, row: _Row) -> None:
        """Learn one session, or say why not."""
        with snapshot(self.connection):
            facts = summary.facts(self.connection, row.n) if self._is_there(row) else None
            if facts is None:
                return
            owner = self.owners.decide(facts.cwd, facts.workspace_root, distribution_of(row.root))
            refused = self._refused(row, facts, owner)
        if refused is not None:
            self._leave(row, owner, refused[0])
            self.refuse(_outcome(row, 0, refused[1], refused[0]))
            return
        why = f"claimed by {owner}" if owner else "claimed by nobody"
        if owner is not None and self.write:
            row = self._take(row)
        if row.learned_generation == row.generation and row.learned_prep == PREP:
            self.report.known.append(_outcome(row, row.kept, why))
            return
        self._learn(row, facts, why)

    def _is_there(self, row: _Row) -> bool:
        """Whether a number still means this session: that of one that was forgotten may be given to another."""
        found = self.connection.execute(
            "SELECT 1 FROM session WHERE n = ? AND source = ? AND id = ?", (row.n, row.source, row.id)
        )
        return found.fetchone() is not None

    def _refused(self, row: _Row, facts: Session, owner: str | None) -> tuple[str, str] | None:
        """(reason, in words) where the session may not be learned, before its messages are looked at."""
        if self._is_forgotten(row):
            return FORGOTTEN
        if facts.manifest is None or (facts.cwd is None and facts.workspace_root is None):
            missing = (
                "it has no readable manifest" if facts.manifest is None else "its manifest names no folder"
            )
            return "no_evidence", missing
        if self._is_elsewhere(row.n):
            return "no_evidence", "its messages lie outside its folder"
        if owner is not None and owner != self.workspace:
            return f"claimed_by:{owner}", f"its folder is claimed by {owner}"
        return None

    def _is_forgotten(self, row: _Row) -> bool:
        return is_buried(self.connection, CONVERSATION, row.home)

    def _is_elsewhere(self, session: int) -> bool:
        """Whether the session's own conversation was reached through the manifest's `messages_path`."""
        found = self.connection.execute(
            "SELECT fidelity FROM file_state JOIN file ON file.n = file_state.file WHERE session = ? AND actor = ?",
            (session, ROOT),
        ).fetchone()
        return found is not None and ELSEWHERE.encode() in bytes(found[0])

    def _leave(self, row: _Row, owner: str | None, reason: str) -> None:
        """Give what this workspace holds of a session to its owner; where it has none, it goes."""
        if not self.write or self._held(row) is None:
            return
        with transaction(self.connection):
            conversation = self._held(row)
            if conversation is None or (reason == FORGOTTEN[0] and not self._is_forgotten(row)):
                return  # another process has taken it out meanwhile, or put it back
            if owner is not None and owner != self.workspace:
                moved = self.connection.execute(
                    "UPDATE OR IGNORE conversation SET workspace = ? WHERE n = ?",
                    (workspaces.number(self.connection, owner), conversation),
                )
                if moved.rowcount:
                    return
            keep.drop_conversation(self.connection, conversation)

    def _held(self, row: _Row) -> int | None:
        """The conversation that this workspace holds of a session now."""
        found = self.connection.execute(
            f"SELECT conversation.n {_HELD} AND conversation.workspace = ?", (row.source, row.id, self.number)
        ).fetchone()
        return found[0] if found else None

    def _take(self, row: _Row) -> _Row:
        """Take over what other workspaces learned of a session before its folder was claimed by this one."""
        others = f"SELECT conversation.n {_HELD} AND conversation.workspace != ? ORDER BY conversation.n"
        which = (row.source, row.id, self.number)
        if self.connection.execute(others, which).fetchone() is None:
            return row
        with transaction(self.connection):
            found = [n for (n,) in self.connection.execute(others, which)]
            if found and self._held(row) is None:
                self.connection.execute(
                    "UPDATE conversation SET workspace = ? WHERE n = ?", (self.number, found.pop(0))
                )
            for n in found:
                keep.drop_conversation(self.connection, n)
            held = self.connection.execute(
                "SELECT conversation.n, conversation.generation, prep, conversation.project,"
                " (SELECT count(*) FROM exchange WHERE exchange.conversation = conversation.n)"
                f" {_HELD} AND conversation.workspace = ?",
                which,
            ).fetchone()
        if held is None:
            return row
        n, generation, prep, project, kept = held
        return replace(
            row,
            conversation=n,
            learned_generation=generation,
            learned_prep=prep,
            project=project,
            kept=kept,
        )

    def _learn(self, row: _Row, facts: Session, why: str) -> None:
        with snapshot(self.connection):
            there = self._is_there(row)
            found = exchanges.of_session(self.connection, row.n) if there else []
            failures = mended.of_session(self.connection, row.n) if found and self.write else []
        if not there:
            return
        prepared = keep.prepared(found, row.home)
        name, folder = self._project(row, facts)
        project = mask(name) if name else None
        one = keep.Conversation(row.n, row.generation, facts.title, project, folder)
        with transaction(self.connection) if self.write else snapshot(self.connection):
            kept = self._keep(row, one, prepared, failures)
        if kept.refused is not None:
            reason, words = kept.refused if prepared or kept.refused == FORGOTTEN else self._nothing(facts)
            self.refuse(_outcome(row, 0, words, reason))
        elif kept.exchanges is not None:
            where = self.report.learned if kept.changed else self.report.known
            where.append(_outcome(replace(row, project=project), kept.exchanges, why))

    def _keep(
        self,
        row: _Row,
        one: keep.Conversation,
        prepared: Sequence[keep.Prepared],
        failures: Sequence[mended.Mended],
    ) -> _Kept:
        """Keep a session's exchanges as things stand now: what another process forgot or edited meanwhile holds."""
        if self._is_forgotten(row):
            self._drop(row)
            return _Kept(refused=FORGOTTEN)
        now = self.connection.execute(
            "SELECT session.generation, coalesce(conversation.generation, 0) FROM session LEFT JOIN conversation"
            " ON conversation.session = session.n AND conversation.workspace = ?"
            " WHERE session.n = ? AND source = ? AND id = ?",
            (self.number, row.n, row.source, row.id),
        ).fetchone()
        if now is None or now[0] < row.generation:
            return _Kept()  # another process has forgotten it meanwhile, and perhaps read it anew
        standing = marked.standing(self.connection, prepared)
        if now[1] > row.generation:
            return _Kept(len(standing.rows))  # another process has learned more of it
        if not standing.rows:
            self._drop(row)
            return _Kept(refused=ALL_FORGOTTEN)
        for kind, count in standing.masked.items():
            self.report.masked[kind] = self.report.masked.get(kind, 0) + count
        if self.write:
            return _Kept(len(standing.rows), self._write(row, one, prepared, standing, failures))
        held = self._held(row)
        changed = held is None or keep.differs(self.connection, held, standing.rows)
        return _Kept(len(standing.rows), changed)

    def _drop(self, row: _Row) -> None:
        held = self._held(row) if self.write else None
        if held is not None:
            keep.drop_conversation(self.connection, held)

    def _write(
        self,
        row: _Row,
        one: keep.Conversation,
        prepared: Sequence[keep.Prepared],
        standing: marked.Standing,
        failures: Sequence[mended.Mended],
    ) -> bool:
        """Write what stands of a session; says whether any of its exchanges is new or changed."""
        n, anew = keep.conversation(self.connection, self.number, one, self.now, PREP)
        anew = anew or (row.learned_prep is not None and row.learned_prep != PREP)
        marked.settle(self.connection, prepared)
        changed = keep.exchanges(self.connection, n, standing.rows, anew=anew)
        keep.mended(self.connection, n, [one for one in failures if not one.goes_through(standing.forgotten)])
        return changed

    def _project(self, row: _Row, facts: Session) -> tuple[str | None, str | None]:
        """The project's name and its folder in compared form; a linked git worktree is its repository."""
        cwd = absolute(facts.cwd, facts.workspace_root) if facts.cwd else facts.workspace_root
        if facts.project is None or cwd is None:
            return facts.project, None
        place = self.owners.place(cwd, distribution_of(row.root))
        if place.repository is None:
            return facts.project, place.folder
        return os.path.basename(place.repository) or facts.project, place.folder  # noqa: PTH119

    def _nothing(self, facts: Session) -> tuple[str, str]:
        """Why a session without exchanges has none."""
        if facts.imported is not None:
            tool = facts.imported.tool or "another tool"
            return "imported", f"imported from {tool}, and nothing was typed in it since"
        return "empty", "nothing was typed in it"


def _outcome(row: _Row, count: int, why: str, reason: str | None = None) -> Outcome:
    title, project = (mask(text) if text else None for text in (row.title, row.project))
    return Outcome(source_key(row.id), row.id, title, project, count, reason, why)
