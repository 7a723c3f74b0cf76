"""How long a search takes over very many steps, by how common the rarest word of the query is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ground import Ground
from measure import median, percentile, run, table

PROMISED_MS = 50
BANDS = (("at most 0.01 %", 0.0001), ("at most 0.1 %", 0.001), ("at most 1 %", 0.01), ("commoner", 1.1))
TREE = ("--sessions", 4000, "--steps", 1_000_000, "--bytes", 2.2e9)


def bench(ground: Ground) -> None:
    root = ground.big() if ground.quick else ground.tree("million", *TREE)
    steps = ground.totals(root)["steps"]
    home = ground.home("search")
    ground.ingest(root, home)
    probe = Path(__file__).with_name("search_probe.py")
    rounds = 3 if ground.quick else 5
    _, env = ground.program(home)
    found = json.loads(run([sys.executable, probe, home / "archive.db", root, rounds], env).out)
    rows: list[tuple[str, ...]] = [("rarest word in", "queries", "p50", "p95", "slowest", "newest only")]
    lower = -1.0
    for name, upper in BANDS:
        rows.append(_band(name, [one for one in found if lower < one["rarest"] / steps <= upper]))
        lower = upper
    table(f"search: {steps:,} steps", rows)
    print(f"  promised: p95 under {PROMISED_MS} ms where the rarest word stands in at most 1 % of the steps")


def _band(name: str, found: list[dict[str, Any]]) -> tuple[str, ...]:
    taken = [one * 1000 for query in found for one in query["seconds"]]
    if not taken:
        return (name, "0", "", "", "", "")
    slowest = max(found, key=lambda one: median(one["seconds"]))
    return (
        name,
        str(len(found)),
        f"{median(taken):.1f} ms",
        f"{percentile(taken, 0.95):.1f} ms",
        f"{median(slowest['seconds']) * 1000:.1f} ms {slowest['query'][:24]!r}",
        str(sum(one["newest_only"] for one in found)),
    )
