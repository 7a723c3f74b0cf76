"""What a person said of exchanges, which stands when they are learned again: forgotten, or edited."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from . import keys
from .keep import FORGOTTEN, Prepared, Row

_KEYS = "SELECT CAST(value AS INTEGER) FROM json_each(?)"


class Standing(Struct, frozen=True):
    """What is to be kept of a session: its rows as edited, the positions that are forgotten, secrets by kind."""

    rows: list[Row]
    forgotten: frozenset[int]
    masked: dict[str, int]


def is_buried(connection: sqlite3.Connection, kind: str, key: str) -> bool:
    """Whether a tombstone stands."""
    found = connection.execute("SELECT 1 FROM tombstone WHERE kind = ? AND key = ?", (kind, key))
    return found.fetchone() is not None


def forgotten(connection: sqlite3.Connection, wanted: Iterable[int]) -> set[int]:
    """Which of these keys a person had the memory forget, here or in a copy."""
    found = connection.execute(
        "SELECT key FROM tombstone WHERE kind = ? AND key IN (SELECT value FROM json_each(?))",
        (FORGOTTEN, json.dumps([str(key) for key in wanted])),
    )
    return {int(key) for (key,) in found}


def revisions(
    connection: sqlite3.Connection, wanted: Iterable[int]
) -> dict[int, tuple[str | None, str | None]]:
    """The texts that a person gave to exchanges, by key: question and answer, null for what was not edited."""
    found = connection.execute(
        f"SELECT key, asked, answered FROM revision WHERE key IN ({_KEYS})", (_encoded(wanted),)
    )
    return {key: (asked, answered) for key, asked, answered in found}


def standing(connection: sqlite3.Connection, found: Sequence[Prepared]) -> Standing:
    """What of a session's exchanges is to be kept as things stand: in a write, what no other process can change."""
    both = {key for one in found for key in (one.row.key, one.in_manifest)}
    gone, edited = forgotten(connection, both), revisions(connection, both)
    rows: list[Row] = []
    left: set[int] = set()
    counts: dict[str, int] = {}
    for place, one in enumerate(found):
        if gone & {one.row.key, one.in_manifest}:
            left.add(one.row.position)
            continue
        texts = edited.get(one.row.key)
        if texts is None and place == 0 and one.in_manifest in edited:
            texts = edited[one.in_manifest]
        rows.append(one.row if texts is None else _as_edited(one.row, *texts))
        if texts is None:
            for kind, count in one.masked.items():
                counts[kind] = counts.get(kind, 0) + count
    return Standing(rows, frozenset(left), counts)


def _as_edited(row: Row, asked: str | None, answered: str | None) -> Row:
    return replace(
        row,
        asked=row.asked if asked is None else asked,
        answered=row.answered if answered is None else answered,
    )


def settle(connection: sqlite3.Connection, found: Sequence[Prepared]) -> None:
    """Give the edit of a prompt that only the manifest knew to its message, now that it is there."""
    for one in found[:1]:
        if one.in_manifest != one.row.key:
            connection.execute(
                "UPDATE OR IGNORE revision SET key = ? WHERE key = ?", (one.row.key, one.in_manifest)
            )
            drop_revisions(connection, [one.in_manifest])


def drop_revisions(connection: sqlite3.Connection, of: Collection[int]) -> None:
    """Drop what a person made of exchanges that are forgotten."""
    connection.execute(f"DELETE FROM revision WHERE key IN ({_KEYS})", (_encoded(of),))


def drop_unrecorded(connection: sqlite3.Connection) -> None:
    """Drop the edits of prompts that the archive has no more, in any session, learned or not."""
    loose = {
        key
        for (key,) in connection.execute(
            "SELECT key FROM revision WHERE NOT EXISTS (SELECT 1 FROM exchange WHERE exchange.key = revision.key)"
        )
    }
    if loose:
        drop_revisions(connection, loose - keys.recorded(connection))


def _encoded(wanted: Iterable[int]) -> str:
    # As text: JSON's numbers are exact only up to 53 bits in some readers.
    return json.dumps([str(key) for key in wanted])
