"""What the counted calls of sessions came to, out of the archive's rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from .results import Cost

COST_COLUMNS = (
    "kind, count(*), coalesce(sum(amount), 0), sum(fresh), sum(cache_read), sum(cache_write), sum(output)"
)
"""What `cost_of_kind` takes, of calls that are grouped by kind."""


def cost_of_kind(row: Sequence[Any]) -> Cost:
    """What the calls of one kind came to; a call that is not settled yet has no price."""
    kind, count, amount, fresh, cached, written, output = row
    kind = kind or "unpriced"
    amounts = {name: amount if name == kind else 0 for name in ("reported", "estimated", "covered")}
    return Cost(
        **amounts, calls={kind: count}, fresh=fresh, cache_read=cached, cache_write=written, output=output
    )


def of_session(
    connection: sqlite3.Connection, session: int, condition: str = "1", values: Sequence[object] = ()
) -> Cost:
    """What the counted calls of a session, or some of them, came to, by kind."""
    rows = connection.execute(
        f"SELECT {COST_COLUMNS} FROM call JOIN file ON file.n = call.file"
        f" WHERE file.session = ? AND counted AND {condition} GROUP BY kind",
        (session, *values),
    )
    return sum(map(cost_of_kind, rows), Cost())


def by_session(connection: sqlite3.Connection, where: str, values: Sequence[object]) -> dict[int, Cost]:
    """The cost of every session that a condition lets through, by its number."""
    found: dict[int, Cost] = {}
    for session, *row in connection.execute(
        f"SELECT session.n, {COST_COLUMNS} FROM call JOIN file ON file.n = call.file"
        f" JOIN session ON session.n = file.session WHERE counted AND {where} GROUP BY session.n, kind",
        values,
    ):
        found[session] = found.get(session, Cost()) + cost_of_kind(row)
    return found
