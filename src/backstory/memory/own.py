"""Which rows of the index are a workspace's own, so that what others hold counts for nothing."""

from __future__ import annotations

import sqlite3

NOT, ONCE, AGAIN = b"\x00", b"\x01", b"\x02"
"""A row's mark: of another workspace, this one's, or this one's and a copy of an earlier row."""

MANY = 4_000
"""Rows of all workspaces that have a word; beyond them a sample of so many tells the own share."""

_CONVERSATIONS = """
SELECT conversation.n, min(exchange.n), max(exchange.n), count(*) FROM conversation
CROSS JOIN exchange ON exchange.conversation = conversation.n WHERE {which} GROUP BY conversation.n
"""
# A copy begins with the same message as its original, so only sessions that share theirs are looked at.
_COPIES = """
SELECT exchange.n, exchange.key FROM session JOIN conversation ON conversation.session = session.n
JOIN exchange ON exchange.conversation = conversation.n WHERE conversation.workspace = ?
AND session.first_id IN (SELECT first_id FROM session GROUP BY first_id HAVING count(*) > 1) ORDER BY exchange.n
"""


class Own:
    """The rows of one workspace, as they are when it is made.

    `marks` has a byte for each row of the index; null where all rows are this workspace's and none is a copy, which
    is so for most and needs no look at any row.
    """

    def __init__(self, connection: sqlite3.Connection, workspace: int) -> None:
        self.connection = connection
        self.workspace = workspace
        copies = self._copies()
        (rows,) = connection.execute("SELECT count(*) FROM memory_fts_docsize").fetchone()
        marks, others = self._marks(rows)
        for row in copies:
            marks[row] = AGAIN[0]
        self.total = rows - others - len(copies)
        """How many rows there are, copies counted once."""
        self.marks = bytes(marks) if others or copies else None

    def _copies(self) -> list[int]:
        """Rows that say again what an earlier one of this workspace says."""
        seen: set[int] = set()
        found = []
        for n, key in self.connection.execute(_COPIES, (self.workspace,)):
            if key in seen:
                found.append(2 * n)
            seen.add(key)
        return found

    def _marks(self, rows: int) -> tuple[bytearray, int]:
        """A mark for each row, and how many rows are of other workspaces; looks at those that are fewer."""
        (last,) = self.connection.execute("SELECT coalesce(max(id), 0) FROM memory_fts_docsize").fetchone()
        own, others = self.connection.execute(
            "SELECT coalesce(sum(workspace = ?1), 0), coalesce(sum(workspace != ?1), 0) FROM"
            " (SELECT workspace FROM conversation UNION ALL SELECT workspace FROM fact)",
            (self.workspace,),
        ).fetchone()
        if own < others:
            marks = bytearray(last + 1)
            return marks, rows - self._mark(marks, "workspace = ?", ONCE)
        marks = bytearray(ONCE * (last + 1))
        return marks, self._mark(marks, "workspace != ?", NOT) if others else 0

    def _mark(self, marks: bytearray, which: str, mark: bytes) -> int:
        """Set the marks of some workspaces' rows; returns how many these are."""
        found = 0
        conversations = _CONVERSATIONS.format(which=which)
        for n, low, high, count in self.connection.execute(conversations, (self.workspace,)).fetchall():
            found += count
            if high - low + 1 == count:
                marks[2 * low : 2 * high + 1 : 2] = mark * count
                continue
            for (one,) in self.connection.execute("SELECT n FROM exchange WHERE conversation = ?", (n,)):
                marks[2 * one] = mark[0]
        for (one,) in self.connection.execute(f"SELECT n FROM fact WHERE {which}", (self.workspace,)):
            marks[2 * one + 1] = mark[0]
            found += 1
        return found

    def about(self, expression: str, of_all: int) -> int:
        """In how many rows an expression stands that stands in `of_all` rows of all workspaces.

        That is exact up to `MANY`; of a very common word the oldest and the newest rows tell the share.
        """
        if self.marks is None or of_all <= MANY:
            return self.count(expression)
        found = sum(
            self.connection.execute(
                "SELECT count(*) FROM (SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?"
                f" ORDER BY rowid {order} LIMIT ?) WHERE substr(?, rowid + 1, 1) = ?",
                (expression, MANY // 2, self.marks, ONCE),
            ).fetchone()[0]
            for order in ("ASC", "DESC")
        )
        return min(of_all * found // MANY, self.total) or self.count(expression)

    def count(self, expression: str) -> int:
        """In how many rows an expression of FTS5 stands, copies counted once."""
        if self.marks is None:
            found = self.connection.execute(
                "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ?", (expression,)
            )
        else:
            found = self.connection.execute(
                "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH ? AND substr(?, rowid + 1, 1) = ?",
                (expression, self.marks, ONCE),
            )
        return int(found.fetchone()[0])
