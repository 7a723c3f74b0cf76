"""What `backstory usage` gives to programs: the document of `--json`, `--csv`, and a line a call of `--jsonl`."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from ..ledger.report import AT, NAMES, Figures, Filter, Report, places, spawning_turns, turn_modes
from ..schema.document import iso
from .usage_words import dollars

TOKENS = ("fresh", "cache_read", "cache_write", "input", "output", "total")


def report_json(found: Report) -> dict[str, Any]:
    """Totals and rows; a row has its keys and the same figures."""
    rows = [{**row.keys, **figures_json(row.figures)} for row in found.rows]
    return {"totals": figures_json(found.totals), "rows": rows}


def figures_json(figures: Figures) -> dict[str, Any]:
    """`input` is the whole prompts, `total` is input and output; money in dollars, its kinds apart."""
    return {
        "sessions": len(figures.sessions),
        "calls": figures.calls,
        "tokens": {name: getattr(figures, name) for name in TOKENS},
        "cost": {
            "reported_usd": dollars(figures.reported),
            "estimated_usd": dollars(figures.estimated),
            "covered_list_usd": dollars(figures.covered),
            "unpriced_calls": figures.unpriced_calls,
        },
    }


def report_csv(found: Report, safe: Callable[[str], str]) -> str:
    """The rows as CSV, with a line of names; `safe` makes text of sessions fit for the output."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = figures_json(Figures())
    writer.writerow([*NAMES[found.by], "sessions", "calls", *names["tokens"], *names["cost"]])
    for row in found.rows:
        own = figures_json(row.figures)
        keys = ["" if value is None else safe(value) for value in row.keys.values()]
        writer.writerow(
            [*keys, own["sessions"], own["calls"], *own["tokens"].values(), *own["cost"].values()]
        )
    return out.getvalue()


def calls_jsonl(connection: sqlite3.Connection, which: Filter, *, ascii_: bool = False) -> Iterator[str]:
    """One line a counted call, the earliest first; `ascii_` for outputs that cannot carry all of Unicode."""
    where, values = which.where()
    files, mode_of, spawning = places(connection), turn_modes(connection), spawning_turns(connection)
    sql = (
        "SELECT call.file, key, message_id, turn, at, route, model, name, fresh, cache_read, cache_write, output,"
        f" kind, amount, price, flags, superseded FROM call WHERE {where} ORDER BY {AT}, call.n"
    )
    for file, key, message, turn, at, route, model, name, *rest in connection.execute(sql, values):
        place = files[file]
        if not which.holds(place):
            continue
        fresh, cache_read, cache_write, output, kind, amount, price, flags, superseded = rest
        prompt = fresh + cache_read + cache_write
        line = {
            "key": key,
            "session_id": place.session_id,
            "actor_id": place.actor,
            "actor": "root" if place.actor == "root" else place.actor_type,
            "turn_id": spawning.get(file, (file, turn))[1],
            "mode": mode_of(file, turn),
            "message_id": message,
            "at": iso(at),
            "project": place.project,
            "source": place.surface,
            "provider": "cline-cli",
            "route": route,
            "model": model,
            "name": name,
            "tokens": dict(
                zip(TOKENS, (fresh, cache_read, cache_write, prompt, output, prompt + output), strict=True)
            ),
            "kind": kind,
            "amount_usd": None if amount is None else dollars(amount),
            "price": price,
            "flags": [*(flags.split(" ") if flags else ()), *(("superseded",) if superseded else ())],
        }
        yield json.dumps(line, ensure_ascii=ascii_) + "\n"
