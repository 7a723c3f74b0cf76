"""Which calls count: copies once, imports never, whatever order they arrive in.

Calls that share their message's id, time and the four counts are one request. It counts for the session with the
smallest (started_at, id); where one of them belongs to another tool, none counts.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

from ..schema.call import CallRow
from .rows import number

CHUNK = 500
_repeat = re.compile(r"~\d+$")


def dedup(call: CallRow) -> int:
    """A number that is equal for copies of one request; a rollup has no copies."""
    if call.message_id == "usage":
        return number("rollup", call.key)
    counts = (call.fresh, call.cache_read, call.cache_write, call.output)
    return number("call", _repeat.sub("", call.message_id), str(call.at), *map(str, counts))


def recount(connection: sqlite3.Connection, touched: Iterable[int]) -> None:
    """Decide anew for these requests which row of each counts."""
    wanted = sorted(set(touched))
    for begin in range(0, len(wanted), CHUNK):
        part = wanted[begin : begin + CHUNK]
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            "SELECT call.dedup, call.n, call.counted, instr(' ' || coalesce(call.flags, '') || ' ', ' imported ')"
            " FROM call JOIN file ON file.n = call.file JOIN session ON session.n = file.session"
            f" WHERE call.dedup IN ({marks}) ORDER BY call.dedup, coalesce(session.started_at, 0), session.id,"
            " file.name, call.msg, call.n",
            part,
        ).fetchall()
        groups: dict[int, list[tuple[int, int, int]]] = {}
        for group, n, counted, imported in rows:
            groups.setdefault(group, []).append((n, counted, imported))
        changes = []
        for members in groups.values():
            owned = any(imported for _, _, imported in members)
            for place, (n, counted, _) in enumerate(members):
                right = int(place == 0 and not owned)
                if right != counted:
                    changes.append((right, n))
        connection.executemany("UPDATE call SET counted = ? WHERE n = ?", changes)


def of_session(connection: sqlite3.Connection, session: int) -> list[int]:
    """The requests of a session, for what depends on the session as a whole."""
    return [
        row[0]
        for row in connection.execute(
            "SELECT call.dedup FROM call JOIN file ON file.n = call.file WHERE file.session = ?", (session,)
        )
    ]
