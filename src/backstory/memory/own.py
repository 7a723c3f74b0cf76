"""Which rows of the index are a workspace's own, so that what others hold counts for nothing."""

from __future__ import annotations

import sqlite3

NOT, ONCE, AGAIN = b"\x00", b"\x01", b"\x02"
"""A row's mark: of another workspace, this one's, or this one's and a copy of an earlier row."""

_CONVERSATIONS = """
SELECT conversation.n, min(exchange.n), max(exchange.n), count(*) FROM conversation
CROSS JOIN exchange ON exchange.conversation = conversation.n WHERE conversation.workspace = ?
GROUP BY conversation.n
"""
_COPIES = """
SELECT exchange.n, exchange.key FROM exchange JOIN conversation ON conversation.n = exchange.conversation
WHERE workspace = ? AND key IN (SELECT key FROM exchange GROUP BY key HAVING count(*) > 1) ORDER BY exchange.n
"""


class Own:
    """The rows of one workspace, as they are when it is made.

    `marks` has a byte for each row of the index; null where all rows are this workspace's and none is a copy, which
    is so for most and needs no look at any row.
    """

    def __init__(self, connection: sqlite3.Connection, workspace: int) -> None:
        self.connection = connection
        self.workspace = workspace
        self.marks = self._marks() if self._is_shared() or self._has_copies() else None

    def _is_shared(self) -> bool:
        found = self.connection.execute(
            "SELECT EXISTS (SELECT 1 FROM conversation WHERE workspace != ?1)"
            " OR EXISTS (SELECT 1 FROM fact WHERE workspace != ?1)",
            (self.workspace,),
        ).fetchone()
        return bool(found[0])

    def _has_copies(self) -> bool:
        all_of_them, different = self.connection.execute(
            "SELECT count(*), count(DISTINCT key) FROM exchange"
        ).fetchone()
        return bool(all_of_them != different)

    def _marks(self) -> bytes:
        (last,) = self.connection.execute("SELECT coalesce(max(rowid), 0) FROM memory_fts").fetchone()
        marks = bytearray(last + 1)
        for n, low, high, count in self.connection.execute(_CONVERSATIONS, (self.workspace,)).fetchall():
            if high - low + 1 == count:
                marks[2 * low : 2 * high + 1 : 2] = ONCE * count
                continue
            for (one,) in self.connection.execute("SELECT n FROM exchange WHERE conversation = ?", (n,)):
                marks[2 * one] = ONCE[0]
        for (one,) in self.connection.execute("SELECT n FROM fact WHERE workspace = ?", (self.workspace,)):
            marks[2 * one + 1] = ONCE[0]
        seen = set()
        for n, key in self.connection.execute(_COPIES, (self.workspace,)):
            if key in seen:
                marks[2 * n] = AGAIN[0]
            seen.add(key)
        return bytes(marks)

    def total(self) -> int:
        """How many rows there are, copies counted once."""
        if self.marks is not None:
            return self.marks.count(ONCE)
        return int(self.connection.execute("SELECT count(*) FROM memory_fts_docsize").fetchone()[0])

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
