"""What each call cost: settled once, from what Cline recorded, the user's settings and the price library.

A report never waits for the library: it is asked when a model is new, and its answer is kept in the archive.
"""

from __future__ import annotations

import importlib.util
import sqlite3
from pathlib import Path

import msgspec

from ..config import Config
from ..store.database import transaction
from .names import canonical, is_covered
from .price import Price, cost_nano, price_at

Pair = tuple[str, str | None]

_schedule = msgspec.json.Decoder(tuple[Price, ...])
_encode = msgspec.json.Encoder().encode


def settle(connection: sqlite3.Connection, config: Config, home: Path) -> None:
    """Give every call that has none its kind and amount; all of them anew when settings or prices have changed."""
    version = _version(config, home)
    found = connection.execute("SELECT value FROM meta WHERE key = 'prices'").fetchone()
    stale = found is None or found[0] != version
    if not stale and connection.execute("SELECT 1 FROM call WHERE kind IS NULL LIMIT 1").fetchone() is None:
        return
    with transaction(connection):
        if stale:
            connection.execute("DELETE FROM price")
            connection.execute("UPDATE call SET kind = NULL, amount = NULL, price = NULL")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('prices', ?)", (version,))
        _settle(connection, config, home)


def _settle(connection: sqlite3.Connection, config: Config, home: Path) -> None:
    names: dict[tuple[str | None, str | None], str] = {}
    for model, route in connection.execute("SELECT DISTINCT model, route FROM call WHERE kind IS NULL"):
        names[model, route] = canonical(model or "", route)
    schedules = _schedules(connection, [(name, route) for (_, route), name in names.items()], config, home)
    covered = {(model, route): is_covered(route, model, config) for model, route in names}
    rows = connection.execute(
        "SELECT n, model, route, at, fresh, cache_read, cache_write, output, nano FROM call WHERE kind IS NULL"
    ).fetchall()
    settled: list[tuple[str, str, int | None, str | None, int]] = []
    for n, model, route, at, fresh, cache_read, cache_write, output, nano in rows:
        name = names[model, route]
        if nano is not None:
            settled.append((name, "reported", nano, None, n))
            continue
        price = price_at(schedules[name, route], at or 0)
        amount = cost_nano(price, fresh, cache_read, cache_write, output) if price else None
        words = price.source if price else None
        if covered[model, route]:
            settled.append((name, "covered", amount, words, n))
        else:
            settled.append((name, "unpriced" if price is None else "estimated", amount, words, n))
    connection.executemany("UPDATE call SET name = ?, kind = ?, amount = ?, price = ? WHERE n = ?", settled)


def _schedules(
    connection: sqlite3.Connection, pairs: list[Pair], config: Config, home: Path
) -> dict[Pair, tuple[Price, ...]]:
    """The prices of each pair that the archive knows; the library is asked for the others."""
    found: dict[Pair, tuple[Price, ...]] = {}
    for pair in dict.fromkeys(pairs):
        row = connection.execute(
            "SELECT schedule FROM price WHERE name = ? AND route = ?", (pair[0], pair[1] or "")
        ).fetchone()
        if row is not None:
            found[pair] = _schedule.decode(row[0])
    new = [pair for pair in dict.fromkeys(pairs) if pair not in found]
    if new:
        from .prices import price_rows

        for pair, schedule in price_rows(new, config, home).items():
            found[pair] = schedule
            connection.execute(
                "INSERT OR REPLACE INTO price VALUES (?, ?, ?)", (pair[0], pair[1] or "", _encode(schedule))
            )
    return found


def _version(config: Config, home: Path) -> str:
    """Changes with everything that prices depend on: the user's settings, a refreshed book, the library."""
    spec = importlib.util.find_spec("genai_prices")
    files = [home / "prices.json", *([Path(spec.origin)] if spec is not None and spec.origin else [])]
    times = [path.stat().st_mtime_ns if path.exists() else 0 for path in files]
    return repr((config.prices, config.aliases, config.covered, times))
