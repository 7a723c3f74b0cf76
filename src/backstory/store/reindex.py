"""The index made anew from the bodies, when the words of steps are prepared in another way than they were."""

from __future__ import annotations

import sqlite3

from . import indexing, rows
from .blocks import BlockReader
from .database import PREP, is_indexed, transaction

BATCH = 5_000


def reindex(connection: sqlite3.Connection) -> None:
    """Take every word out and put it in again, in one transaction."""
    with transaction(connection):
        if is_indexed(connection):
            return
        connection.execute("INSERT INTO doc (doc) VALUES ('delete-all')")
        reader = BlockReader(connection)
        documents: list[tuple[int, str]] = []
        for n, kind, block, offset, size in connection.execute(
            "SELECT n, type, block, offset, size FROM step ORDER BY block, offset"
        ):
            words = indexing.texts(*rows.payload_of(kind, reader.body(block, offset, size)))
            documents += [(2 * n + part, text) for part, text in enumerate(words) if text]
            if len(documents) >= BATCH:
                connection.executemany("INSERT INTO doc (rowid, text) VALUES (?, ?)", documents)
                documents.clear()
        connection.executemany("INSERT INTO doc (rowid, text) VALUES (?, ?)", documents)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('prep', ?)", (PREP,))
