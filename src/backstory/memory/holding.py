"""Which exchanges and facts themselves hold all words of a query: what forgetting by a query takes."""

from __future__ import annotations

import sqlite3

from ..errors import InputError
from . import terms

_ROWS = """
SELECT memory_fts.rowid, exchange.key FROM memory_fts
LEFT JOIN exchange ON memory_fts.rowid % 2 = 0 AND exchange.n = memory_fts.rowid / 2
LEFT JOIN conversation ON conversation.n = exchange.conversation
LEFT JOIN fact ON memory_fts.rowid % 2 = 1 AND fact.n = memory_fts.rowid / 2
WHERE memory_fts MATCH ?1 AND coalesce(conversation.workspace, fact.workspace) = ?2
AND (?3 IS NULL OR coalesce(conversation.project, fact.project) = ?3 COLLATE NOCASE)
ORDER BY coalesce(exchange.at, fact.at) DESC, memory_fts.rowid
"""


def holding(
    connection: sqlite3.Connection, query: str, workspace: int, project: str | None
) -> tuple[list[tuple[bool, int]], tuple[str, ...]]:
    """(is a fact, number) of each text that has every word, the newest first, and the words that stand nowhere.

    Words that say nothing about a subject do not count, a word holds in all its forms, nothing is repaired, and of
    copies one is there. Raises `InputError` where nothing is left to look for, or more than can be.
    """
    wanted = [term for term in terms.terms(query) if term.weight == 1]
    if all(term.word in terms.STOPWORDS for term in wanted):
        raise InputError(
            "these words stand almost anywhere. Nothing was removed; name one that tells the subject."
        )
    if len(wanted) >= terms.MOST_TERMS or len(query) > terms.LONGEST_QUERY:
        raise InputError(f"a query to forget by has less than {terms.MOST_TERMS} words. Nothing was removed.")
    each = [f"own : ({' OR '.join(map(terms.expression, term.forms))})" for term in wanted]
    rows = connection.execute(_ROWS, (" AND ".join(each), workspace, project)).fetchall()
    unique = {("fact", row) if key is None else ("exchange", key): row for row, key in reversed(rows)}
    found = [(row % 2 == 1, row // 2) for row in reversed(unique.values())]
    missing = [
        term.word
        for term, expression in zip(wanted, each, strict=True)
        if not rows
        and connection.execute(f"{_ROWS} LIMIT 1", (expression, workspace, project)).fetchone() is None
    ]
    return found, tuple(missing)
