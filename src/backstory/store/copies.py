"""Copies of conversations: forks and rewinds begin with another session's messages.

Recomputed for every session that shares a first message, so that the result does not depend on the order of arrival.
"""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..schema.step import ROOT


class Member(Struct, frozen=True):
    """A session among those that share their first message."""

    n: int
    id: str
    started_at: int
    recorded: str | None


def recompute(connection: sqlite3.Connection, first_id: str | None) -> None:
    """Say of every session that begins with this message what it is a copy of, if of anything."""
    if first_id is None:
        return
    members = [
        Member(n, session_id, started_at or 0, copied_from if kind == "fork" else None)
        for n, session_id, started_at, copied_from, kind in connection.execute(
            "SELECT n, id, started_at, copied_from, copied_kind FROM session WHERE first_id = ?"
            " ORDER BY coalesce(started_at, 0), id",
            (first_id,),
        )
    ]
    if len(members) < 2:
        return
    leading = {member.n: _leading(connection, member.n) for member in members}
    for index, member in enumerate(members):
        found = _origin(member, members[:index], leading)
        if found is None:
            if member.recorded is None:
                connection.execute(
                    "UPDATE session SET copied_from = NULL, copied_kind = NULL, copied_messages = NULL WHERE n = ?",
                    (member.n,),
                )
            continue
        origin, messages = found
        connection.execute(
            "UPDATE session SET copied_from = ?, copied_kind = ?, copied_messages = ? WHERE n = ?",
            (origin.id, "fork" if member.recorded is not None else "rewind", messages, member.n),
        )


def by_time(connection: sqlite3.Connection, session: int, forked_at: int | None) -> int | None:
    """How many leading messages are older than the fork; for a fork whose origin is not in the archive."""
    if forked_at is None:
        return None
    (last,) = connection.execute(
        "SELECT max(msg) FROM step JOIN file ON file.n = step.file"
        " WHERE file.session = ? AND file.actor = ? AND step.at < ? AND NOT step.superseded",
        (session, ROOT, forked_at),
    ).fetchone()
    return 0 if last is None else int(last) + 1


def _leading(connection: sqlite3.Connection, session: int) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT step.msg, step.id FROM step JOIN file ON file.n = step.file"
        " WHERE file.session = ? AND file.actor = ? AND NOT step.superseded AND step.sub >= 0"
        " ORDER BY step.msg, step.sub",
        (session, ROOT),
    ).fetchall()


def _origin(
    member: Member, earlier: list[Member], leading: dict[int, list[tuple[int, str]]]
) -> tuple[Member, int] | None:
    """The earlier session that a member repeats: the one that Cline recorded, else the one it shares most with."""
    best: tuple[Member, int] | None = None
    for other in earlier:
        shared = _shared(leading[member.n], leading[other.n])
        if shared and other.id == member.recorded:
            return other, shared
        if shared and (best is None or shared > best[1]):
            best = (other, shared)
    return best


def _shared(mine: list[tuple[int, str]], theirs: list[tuple[int, str]]) -> int:
    """How many leading messages are the same."""
    for index, (a, b) in enumerate(zip(mine, theirs, strict=False)):
        if a != b:
            return a[0] if index else 0
    common = min(len(mine), len(theirs))
    return mine[common - 1][0] + 1 if common else 0
