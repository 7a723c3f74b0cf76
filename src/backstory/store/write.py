"""One session into the archive, in one transaction; its bodies were packed before (`draft.py`)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import zstandard
from msgspec import Struct
from msgspec.structs import astuple, replace

from ..schema.call import CallRow
from ..schema.link import Spawn, link
from ..schema.reading import Reading
from ..schema.step import ROOT
from . import blocks, copies, counting, rows, summary
from .database import transaction
from .draft import FileDraft, StoredStep
from .rows import COLUMNS

_json = msgspec.json.Encoder()
_INSERT = f"INSERT INTO step (n, file, {COLUMNS}, block, offset, size) VALUES ({', '.join('?' * 25)})"
_REWRITE = (
    "UPDATE step SET msg=?, sub=?, turn=?, type=?, kind=?, subject=?, same=?, at=?, ended_at=?, outcome=?,"
    " decision=?, decision_source=?, content_status=?, error_kind=?, exit_code=?, added=?, removed=?, spawns=?,"
    " flags=?, superseded=0, block=?, offset=?, size=? WHERE n=?"
)


_NEW_TURN = (
    "UPDATE SET msg = excluded.msg, mode = excluded.mode, at = excluded.at, quiet = excluded.quiet,"
    " first_reply_at = excluded.first_reply_at, superseded = 0"
)
_KEEP_TURN = "UPDATE SET first_reply_at = coalesce(first_reply_at, excluded.first_reply_at)"
_NEW_CALL = (
    "UPDATE SET msg = excluded.msg, at = excluded.at, turn = excluded.turn, route = excluded.route,"
    " model = excluded.model, fresh = excluded.fresh, cache_read = excluded.cache_read,"
    " cache_write = excluded.cache_write, output = excluded.output, nano = excluded.nano,"
    " flags = excluded.flags, dedup = excluded.dedup, superseded = 0, kind = NULL"
)


class Moved(Exception):
    """Another writer changed the session since it was looked up; it has to be read again."""


class Forgotten(Exception):
    """A person had the session forgotten; it is not written again."""


class Share(Struct, frozen=True):
    """What the writing of one file leaves to do: words to index, and requests to count anew."""

    new_steps: int
    documents: list[tuple[int, str]]
    requests: set[int]


class Written(Struct, frozen=True):
    """What a write changed."""

    session: int
    new_steps: int
    changed: bool


def write(
    connection: sqlite3.Connection, reading: Reading, drafts: list[FileDraft], generation: int | None
) -> Written:
    """Write a reading. `generation` is that of the session when it was looked up, null for a new one.

    Raises `Moved` when another writer was faster, `Forgotten` for a session that is not to come back.
    """
    with transaction(connection):
        if connection.execute(
            "SELECT 1 FROM tombstone WHERE kind = 'session' AND key = ?",
            (f"{reading.ref.source}/{reading.ref.id}",),
        ).fetchone():
            raise Forgotten
        found = connection.execute(
            "SELECT n, generation, started_at FROM session WHERE source = ? AND id = ?",
            (reading.ref.source, reading.ref.id),
        ).fetchone()
        if (found[1] if found else None) != generation:
            raise Moved
        session = found[0] if found else _new_session(connection, reading)
        started_at = found[2] if found else None
        shares = [_write_file(connection, session, one) for one in drafts]
        _marks(connection, session, reading)
        _facts(connection, session, reading)
        _link(connection, session)
        summary.update(connection, session)
        connection.execute(
            "UPDATE session SET generation = generation + 1, root = ?, gone_at = NULL, changed_at = ? WHERE n = ?",
            (reading.ref.root, reading.ref.changed_at // 1_000_000, session),
        )
        _count_calls(connection, session, reading, shares, started_at)
        # Last, because any statement after it would make the index write out what it has collected.
        for share in shares:
            connection.executemany("INSERT INTO doc (rowid, text) VALUES (?, ?)", share.documents)
    return Written(session, sum(share.new_steps for share in shares), bool(drafts))


def _count_calls(
    connection: sqlite3.Connection,
    session: int,
    reading: Reading,
    shares: list[Share],
    started_at: int | None,
) -> None:
    """Decide which of the calls that were touched count; all of the session's when it began at another time."""
    touched = set().union(*(share.requests for share in shares), _rollup(connection, session, reading))
    (begins,) = connection.execute("SELECT started_at FROM session WHERE n = ?", (session,)).fetchone()
    if begins != started_at:
        touched.update(counting.of_session(connection, session))
    counting.recount(connection, touched)


def _new_session(connection: sqlite3.Connection, reading: Reading) -> int:
    cursor = connection.execute(
        "INSERT INTO session (source, id, root) VALUES (?, ?, ?)",
        (reading.ref.source, reading.ref.id, reading.ref.root),
    )
    return int(cursor.lastrowid or 0)


def _write_file(connection: sqlite3.Connection, session: int, one: FileDraft) -> Share:
    """Write one file's share; its words are indexed and its calls counted when all files are written."""
    file = _file_row(connection, session, one)
    turns = _turns(connection, file, one)
    places = blocks.append(connection, file, one.packed)
    documents: list[tuple[int, str]] = []

    def located(place: tuple[int, int, int]) -> tuple[int, int, int]:
        block, begin = places[place[0]]
        return block, begin + place[1], place[2]

    for old in one.replaced:
        _rename(connection, file, old)
    for old in one.left:
        connection.execute("UPDATE step SET superseded = 1 WHERE n = ?", (old.n,))
    for old, columns in one.moved:
        connection.execute(
            "UPDATE step SET msg = ?, sub = ?, turn = ?, superseded = 0 WHERE n = ?",
            (columns.msg, columns.sub, turns.get(columns.turn), old.n),
        )
    for old, new in one.rewrites:
        values = astuple(replace(new.columns, turn=turns.get(new.columns.turn)))
        connection.execute(_REWRITE, (*values[1:], *located(new.place), old.n))
        if new.came:
            documents.append((2 * old.n + 1, new.came))
    (next_n,) = connection.execute("SELECT value FROM meta WHERE key = 'next_step'").fetchone()
    inserts = []
    for n, new in enumerate(one.inserts, next_n):
        columns = new.columns
        values = astuple(columns)
        inserts.append((n, file, *values[:3], turns.get(columns.turn), *values[4:], *located(new.place)))
        if new.given:
            documents.append((2 * n, new.given))
        if new.came:
            documents.append((2 * n + 1, new.came))
    connection.executemany(_INSERT, inserts)
    connection.execute("UPDATE meta SET value = ? WHERE key = 'next_step'", (next_n + len(inserts),))
    return Share(len(inserts), documents, _calls(connection, file, one))


def _file_row(connection: sqlite3.Connection, session: int, one: FileDraft) -> int:
    stat, actor, tail = one.reading.stat, one.tail.actor, one.tail
    (file,) = connection.execute(
        "INSERT INTO file (session, name, size, mtime_ns, inode, actor, actor_type, label, started_at, reader)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, name) DO UPDATE SET size = excluded.size,"
        " mtime_ns = excluded.mtime_ns, inode = excluded.inode, actor = excluded.actor,"
        " actor_type = excluded.actor_type, label = excluded.label, started_at = excluded.started_at,"
        " reader = excluded.reader RETURNING n",
        (
            session,
            one.reading.name,
            stat.size,
            stat.mtime_ns,
            stat.inode,
            actor.id,
            actor.type,
            actor.label,
            actor.started_at,
            tail.reader,
        ),
    ).fetchone()
    state = zstandard.ZstdCompressor(level=1).compress(tail.state)
    connection.execute(
        "INSERT OR REPLACE INTO file_state VALUES (?, ?, ?, ?, ?, ?, ?)",
        (file, tail.state_at, tail.context, tail.digests, state, actor.task, _json.encode(tail.fidelity)),
    )
    return int(file)


def _turns(connection: sqlite3.Connection, file: int, one: FileDraft) -> dict[str | None, int]:
    """Write the turns of a file; returns the numbers of all of them by id."""
    if not one.reading.add_only:
        connection.execute(
            "UPDATE turn SET superseded = 1 WHERE file = ? AND msg >= ?", (file, one.reading.since)
        )
    connection.executemany(
        "INSERT INTO turn (file, id, msg, mode, at, first_reply_at, quiet) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (file, id) DO " + (_KEEP_TURN if one.reading.add_only else _NEW_TURN),
        [
            (file, turn.id, turn.msg, turn.mode, turn.at, turn.first_reply_at, turn.quiet)
            for turn in one.tail.turns
        ],
    )
    return dict(connection.execute("SELECT id, n FROM turn WHERE file = ?", (file,)).fetchall())


def _rename(connection: sqlite3.Connection, file: int, old: StoredStep) -> None:
    """Keep a replaced version of a step beside its successor, under an id of its own."""
    base = old.columns.id
    (versions,) = connection.execute(
        "SELECT count(*) FROM step WHERE file = ? AND superseded AND id >= ? AND id < ?",
        (file, f"{base}^", f"{base}_"),
    ).fetchone()
    connection.execute(
        "UPDATE step SET superseded = 1, id = ? WHERE n = ?", (f"{base}^{versions + 1}", old.n)
    )


def _calls(connection: sqlite3.Connection, file: int, one: FileDraft) -> set[int]:
    """Write the calls of a file; returns the requests whose counting may have changed."""
    touched: set[int] = set()
    if not one.reading.add_only:
        touched.update(
            row[0]
            for row in connection.execute(
                "SELECT dedup FROM call WHERE file = ? AND msg >= ?", (file, one.reading.since)
            )
        )
        connection.execute(
            "UPDATE call SET superseded = 1 WHERE file = ? AND msg >= ?", (file, one.reading.since)
        )
    touched |= {counting.dedup(call) for call in one.tail.calls}
    if not one.reading.add_only:
        _set_aside(connection, file, one.tail.calls)
    _insert_calls(connection, file, one.tail.calls, keep=one.reading.add_only)
    return touched


def _set_aside(connection: sqlite3.Connection, file: int, calls: list[CallRow]) -> None:
    """Keep a call under a name of its own when another, made at another time, takes its key: both were made.

    The same request under a time that is known better by now is no other.
    """
    if connection.execute("SELECT 1 FROM call WHERE file = ? LIMIT 1", (file,)).fetchone() is None:
        return
    for call in calls:
        old = connection.execute(
            "SELECT n, at, dedup FROM call WHERE file = ? AND key = ?", (file, call.key)
        ).fetchone()
        if old is None or old[1] == call.at or old[2] == counting.dedup(call):
            continue
        (versions,) = connection.execute(
            "SELECT count(*) FROM call WHERE file = ? AND key >= ? AND key < ?",
            (file, f"{call.key}^", f"{call.key}_"),
        ).fetchone()
        connection.execute(
            "UPDATE call SET superseded = 1, key = ? WHERE n = ?", (f"{call.key}^{versions + 1}", old[0])
        )


def _insert_calls(connection: sqlite3.Connection, file: int, calls: list[CallRow], *, keep: bool) -> None:
    connection.executemany(
        "INSERT INTO call (file, key, message_id, msg, at, turn, route, model, fresh, cache_read, cache_write,"
        " output, nano, flags, dedup, counted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
        " ON CONFLICT (file, key) DO " + ("NOTHING" if keep else _NEW_CALL),
        [
            (
                file,
                call.key,
                call.message_id,
                call.msg,
                call.at,
                call.turn_id,
                call.route,
                call.model,
                call.fresh,
                call.cache_read,
                call.cache_write,
                call.output,
                call.nano,
                " ".join(call.flags) or None,
                counting.dedup(call),
            )
            for call in calls
        ],
    )


def _rollup(connection: sqlite3.Connection, session: int, reading: Reading) -> set[int]:
    """Keep the agent's own sum; it stands for the session as a call while the lead has none of its own."""
    found = reading.rollup
    if found is not None:
        connection.execute(
            "INSERT OR REPLACE INTO rollup VALUES (?, ?, ?, ?, ?, ?)",
            (session, found.fresh, found.cache_read, found.cache_write, found.output, found.nano),
        )
    lead = connection.execute(
        "SELECT n FROM file WHERE session = ? AND actor = ?", (session, ROOT)
    ).fetchone()
    if lead is None:
        return set()
    (own,) = connection.execute(
        "SELECT count(*) FROM call WHERE file = ? AND msg >= 0", (lead[0],)
    ).fetchone()
    if own:
        connection.execute("DELETE FROM call WHERE file = ? AND msg < 0", (lead[0],))
        return set()
    if found is None:
        return set()
    _insert_calls(connection, lead[0], [found], keep=False)
    return {counting.dedup(found)}


def _marks(connection: sqlite3.Connection, session: int, reading: Reading) -> None:
    """Remember the other files of the session as they were read, so that only a change opens them again."""
    unread = {entry.name for entry in reading.torn} | {Path(left.path).name for left in reading.skipped}
    written = {file.name for file in reading.files}
    connection.executemany(
        "INSERT INTO file (session, name, size, mtime_ns, inode) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (session, name) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns,"
        " inode = excluded.inode",
        [
            (session, name, stat.size, stat.mtime_ns, stat.inode)
            for name, stat in reading.ref.files.items()
            if name not in unread and name not in written
        ],
    )


def _facts(connection: sqlite3.Connection, session: int, reading: Reading) -> None:
    """Write what the manifest says; a manifest that could not be read takes nothing away."""
    now = reading.session
    before = summary.facts(connection, session)
    if before is not None and now.manifest is None and before.manifest is not None:
        now = replace(before, updated_at=now.updated_at)
    if before is not None:
        now = replace(
            now,
            updated_at=max(filter(None, (now.updated_at, before.updated_at)), default=None),
            compaction=now.compaction or before.compaction,
        )
    summary.save_facts(connection, session, now)
    recorded = now.copied_from
    connection.execute(
        "UPDATE session SET surface=?, title=?, project=?, cwd=?, model=?, status=?, terminal_marker=?,"
        " started_at=?, ended_at=?, updated_at=? WHERE n=?",
        (
            now.surface,
            now.title,
            now.project,
            now.cwd,
            now.model,
            now.status,
            now.terminal_marker,
            now.started_at,
            now.ended_at,
            now.updated_at,
            session,
        ),
    )
    if now.ended_at is not None:
        connection.execute("INSERT OR IGNORE INTO seen_end VALUES (?, ?)", (session, now.ended_at))
    if recorded is not None:
        connection.execute(
            "UPDATE session SET copied_from = ?, copied_kind = 'fork', copied_messages = ? WHERE n = ?",
            (recorded.session_id, copies.by_time(connection, session, recorded.at), session),
        )


def _link(connection: sqlite3.Connection, session: int) -> None:
    """Hang the children under the steps that spawned them."""
    actors = summary.actors(connection, session)
    if len(actors) < 2:
        return
    spawns = []
    reader = blocks.BlockReader(connection)
    for step_id, actor, tool, at, block, offset, size in connection.execute(
        "SELECT step.id, file.actor, step.kind, step.at, step.block, step.offset, step.size FROM step"
        " JOIN file ON file.n = step.file WHERE file.session = ? AND step.spawns IS NOT NULL AND NOT step.superseded"
        " ORDER BY step.file, step.msg, step.sub",
        (session,),
    ):
        task = rows.spawned(reader.body(block, offset, size))
        spawns.append(Spawn(step_id, actor, tool or "", task, at))
    for actor in link(actors, spawns):
        connection.execute(
            "UPDATE file SET parent_step = ? WHERE session = ? AND actor = ?",
            (actor.parent_step_id, session, actor.id),
        )
