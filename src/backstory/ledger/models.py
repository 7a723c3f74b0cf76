"""The models that were called, as they were written, and where their prices came from."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from .names import NAMELESS
from .report import Filter, places

_KINDS = ("reported", "covered", "estimated", "unpriced")


class Used(Struct):
    """A model on a route: calls by kind, tokens, and the prices that were used."""

    name: str
    route: str | None
    model: str | None
    calls: dict[str, int]
    tokens: int = 0
    unpriced_tokens: int = 0
    prices: list[str] = []


def models(connection: sqlite3.Connection, which: Filter, *, unpriced: bool = False) -> list[Used]:
    """The models, those with most calls first; `unpriced` leaves only those with calls that have no price."""
    where, values = which.where()
    files, found = places(connection), dict[tuple[str | None, ...], Used]()
    sql = (
        "SELECT file, name, route, model, kind, price, count(*), sum(fresh + cache_read + cache_write + output)"
        f" FROM call WHERE {where} GROUP BY 1, 2, 3, 4, 5, 6"
    )
    for file, name, route, model, kind, price, calls, tokens in connection.execute(sql, values):
        if not which.holds(files[file]):
            continue
        fresh = Used(name or NAMELESS, route, model, dict.fromkeys(_KINDS, 0), prices=[])
        used = found.setdefault((name, route, model), fresh)
        kind = kind or "unpriced"
        used.calls[kind] += calls
        used.tokens += tokens
        used.unpriced_tokens += tokens if kind == "unpriced" else 0
        if price is not None and price not in used.prices:
            used.prices.append(price)
    kept = [used for used in found.values() if used.calls["unpriced"] or not unpriced]
    for used in kept:
        used.prices.sort()
    return sorted(
        kept, key=lambda used: (-sum(used.calls.values()), used.name, used.route or "", used.model or "")
    )


def unpriced_names(connection: sqlite3.Connection, which: Filter) -> list[str]:
    """The names of the models with calls that have no price."""
    return list(dict.fromkeys(used.name for used in models(connection, which, unpriced=True)))
