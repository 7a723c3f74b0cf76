"""What a session's row says of its steps, brought up to date with every write."""

from __future__ import annotations

import sqlite3

import msgspec
import zstandard
from msgspec.structs import astuple

from ..schema.record import reading_order
from ..schema.session import Actor, Session
from ..schema.step import ROOT
from . import copies
from .counting import MADE_UP
from .database import transaction
from .derived import TELLING, Fact, active_length, totals

_json = msgspec.json.Encoder()
_session = msgspec.json.Decoder(Session)


_FACTS = (
    "SELECT step.id, file.actor, step.msg, step.sub, step.type, step.kind, step.subject, step.same, step.at,"
    " step.ended_at, step.outcome, step.decision, step.exit_code, step.added, step.removed, step.flags, step.n"
    " FROM step JOIN file ON file.n = step.file WHERE NOT step.superseded AND "
)
_ALL = f"{_FACTS} file.session = ?"
_ROOT = f"{_FACTS} step.file = (SELECT n FROM file WHERE session = ? AND actor = '{ROOT}')"
_FIRST = f"{_ROOT} AND step.sub >= 0 ORDER BY step.msg, step.sub LIMIT 1"
_LAST = f"{_ROOT} ORDER BY step.msg DESC, step.sub DESC LIMIT 1"
# A child's steps are read after the step that spawned it, so that one is needed for the order.
_TELLING = f"{_ALL} AND ({TELLING} OR step.spawns IS NOT NULL)"


def facts(connection: sqlite3.Connection, session: int) -> Session | None:
    """What the manifest said, as it was stored; null for a session that is new."""
    found = connection.execute("SELECT zstd FROM session_facts WHERE session = ?", (session,)).fetchone()
    return _session.decode(zstandard.ZstdDecompressor().decompress(found[0])) if found else None


def save_facts(connection: sqlite3.Connection, session: int, value: Session) -> None:
    """Store what the manifest says."""
    data = zstandard.ZstdCompressor(level=3).compress(_json.encode(value))
    connection.execute("INSERT OR REPLACE INTO session_facts VALUES (?, ?)", (session, data))


def actors(connection: sqlite3.Connection, session: int) -> list[Actor]:
    """The actors of a session, the root first."""
    found = [
        Actor(actor, kind, label, name, task, started_at, parent)
        for actor, kind, label, name, task, started_at, parent in connection.execute(
            "SELECT actor, actor_type, label, name, task, started_at, parent_step FROM file"
            " LEFT JOIN file_state ON file_state.file = file.n WHERE session = ? AND actor IS NOT NULL",
            (session,),
        )
    ]
    return sorted(found, key=lambda actor: (actor.id != ROOT, actor.started_at or 0, actor.id))


def ordered_facts(connection: sqlite3.Connection, session: int) -> list[Fact]:
    """What the rules of `derived.py` need of a session's current steps, in reading order."""
    return _ordered(connection, session, _ALL)


def _ordered(connection: sqlite3.Connection, session: int, query: str) -> list[Fact]:
    rows = connection.execute(f"{query} ORDER BY step.file, step.msg, step.sub", (session,))
    found = [Fact(*values) for values in rows]
    everybody = actors(connection, session)
    return reading_order(everybody, found) if len(everybody) > 1 else found


def _one(connection: sqlite3.Connection, session: int, query: str) -> Fact | None:
    found = connection.execute(query, (session,)).fetchone()
    return Fact(*found) if found else None


def idle_gap(connection: sqlite3.Connection) -> int:
    """Milliseconds of silence before a prompt that begin a new sitting in this archive."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'idle_gap'").fetchone()[0])


def set_idle_gap(connection: sqlite3.Connection, gap: int) -> None:
    """Take another gap, and measure the active time of every session by it."""
    if gap == idle_gap(connection):
        return
    with transaction(connection):
        connection.execute("UPDATE meta SET value = ? WHERE key = 'idle_gap'", (gap,))
        for (session,) in connection.execute("SELECT n FROM session").fetchall():
            update(connection, session)


def update(connection: sqlite3.Connection, session: int) -> None:
    """Count a session's steps anew and note its last one."""
    root, steps, began, ended = connection.execute(
        "SELECT sum(file.actor = ?), count(*), min(step.at), max(coalesce(step.ended_at, step.at))"
        " FROM step JOIN file ON file.n = step.file WHERE file.session = ? AND NOT step.superseded",
        (ROOT, session),
    ).fetchone()
    quiet = [
        gap
        for (gap,) in connection.execute(
            "SELECT quiet FROM turn JOIN file ON file.n = turn.file WHERE file.session = ? AND NOT turn.superseded",
            (session,),
        )
    ]
    last, first_id = _one(connection, session, _LAST), _first_id(connection, session)
    root = root or 0
    telling = _ordered(connection, session, _TELLING)
    counts = totals(telling, last, turns=len(quiet), root=root, others=steps - root)
    connection.execute(
        "UPDATE session SET turns=?, steps=?, child_steps=?, failed=?, failing=?, rejected=?, edits=?, files=?,"
        " added=?, removed=?, last_at=coalesce(?, started_at), length=?, first_id=?, last_step=?, open_call=?, error=?,"
        " row_count=(SELECT count(*) FROM step JOIN file ON file.n = step.file WHERE file.session = ?)"
        " WHERE n=?",
        (
            *astuple(counts),
            ended,
            active_length(began, ended, quiet, idle_gap(connection)),
            first_id,
            last.n if last is not None else None,
            int(last is not None and last.type != "message" and last.outcome == "unknown"),
            last.subject if last is not None and last.is_error else None,
            session,
            session,
        ),
    )
    copies.recompute(connection, first_id)


def _first_id(connection: sqlite3.Connection, session: int) -> str | None:
    """The id of a session's first message, where it has one of its own."""
    first = _one(connection, session, _FIRST)
    message = first.id.rpartition("#")[0] if first is not None else None
    return None if message is None or message.startswith(MADE_UP) else message
