"""The memory's index: the words of exchanges, facts and mended failures go in and come out here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from . import terms, vocabulary, volatile
from .mended import Mended


def row_of_exchange(n: int) -> int:
    """The index row of an exchange."""
    return 2 * n


def row_of_fact(n: int) -> int:
    """The index row of a fact."""
    return 2 * n + 1


def put(
    connection: sqlite3.Connection, row: int, own: str, title: str = "", paths: Sequence[str] = ()
) -> None:
    """Index a text, in the place of what the row had: its own words, its title and its paths."""
    take_out(connection, [row])
    columns = [terms.cut(text) for text in (own, title, "\n".join(paths))]
    connection.execute(
        "INSERT INTO memory_fts (rowid, own, title, paths) VALUES (?, ?, ?, ?)",
        (row, *(f" {terms.indexed(found)} " for found in columns)),
    )
    # The short columns first: a text that fills the vocabulary's room must not leave them none.
    vocabulary.put(connection, vocabulary.words(token for found in reversed(columns) for token in found))


def take_out(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Take rows out of the index."""
    connection.executemany("DELETE FROM memory_fts WHERE rowid = ?", [(row,) for row in rows])


def put_mended(connection: sqlite3.Connection, n: int, one: Mended) -> None:
    """Index a mended failure."""
    paths = " ".join(path for path, _, _ in one.changed)
    connection.execute(
        "INSERT OR REPLACE INTO mended_fts (rowid, error, command, paths, ran) VALUES (?, ?, ?, ?, ?)",
        (n, *map(terms.expanded, (volatile.steady(one.error), one.command, paths, "\n".join(one.ran)))),
    )


def take_out_mended(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Take mended failures out of the index."""
    connection.executemany("DELETE FROM mended_fts WHERE rowid = ?", [(n,) for n in numbers])
