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
MADE_UP = ("@", "./@")
"""How the ids of messages begin that have none of their own."""
_repeat = re.compile(r"~\d+$")


def dedup(call: CallRow) -> int:
    """A number that is equal for copies of one request: the same message, at the same time, with the same counts.

    Counts are compared as they were written. A message without an id is known by its time, one without a time by its
    id; an agent's own sum has no copies.
    """
    if "rollup" in call.flags:
        return number("rollup", call.key)
    timed = "time_inferred" not in call.flags
    name = _repeat.sub("", call.message_id)
    if timed and name.startswith(MADE_UP):
        name = ""
    prompt = call.fresh if "net_input" in call.flags else call.fresh + call.cache_read + call.cache_write
    counts = (prompt, call.cache_read, call.cache_write, call.output)
    return number("call", name, str(call.at) if timed else "", *map(str, counts))


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


def fill(connection: sqlite3.Connection) -> None:
    """Number the calls of an archive that has none numbered yet, and decide which count."""
    numbers = {
        n: dedup(
            CallRow(key, message, msg, fresh, read, written, output, at, flags=tuple((flags or "").split()))
        )
        for n, key, message, msg, fresh, read, written, output, at, flags in connection.execute(
            "SELECT n, key, message_id, msg, fresh, cache_read, cache_write, output, at, flags FROM call"
        )
    }
    connection.executemany("UPDATE call SET dedup = ? WHERE n = ?", ((new, n) for n, new in numbers.items()))
    recount(connection, numbers.values())


def of_session(connection: sqlite3.Connection, session: int) -> list[int]:
    """The requests of a session, for what depends on the session as a whole."""
    return [
        row[0]
        for row in connection.execute(
            "SELECT call.dedup FROM call JOIN file ON file.n = call.file WHERE file.session = ?", (session,)
        )
    ]
