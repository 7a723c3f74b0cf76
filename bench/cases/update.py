"""What one change of a session costs, by the size of its file, against reading and digesting that file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ground import Ground
from measure import median, megabytes, run, table, times

PROMISED = 5.0
SIZES = (0.4, 4.0, 40.0)


def bench(ground: Ground) -> None:
    rows = [("file", "change", "update", "read+digest", "ratio", "first pass")]
    for size in SIZES[:2] if ground.quick else SIZES:
        found = _probe(ground, size)
        for name in ("reply", "results", "answer", "touch"):
            of_kind = [one for one in found["changes"] if one["change"] == name]
            update, floor = (median([one[key] for one in of_kind]) for key in ("update", "floor"))
            cells = (f"{update * 1000:.1f} ms", f"{floor * 1000:.1f} ms", times(update / floor))
            rows.append((megabytes(found["bytes"]), name, *cells, f"{found['first']:.2f} s"))
    table("update: CPU of one change of a session", rows)
    print(f"  promised: at most {PROMISED:.0f} x; below a few MB the fixed cost of a pass dominates")


def _probe(ground: Ground, size: float) -> dict[str, Any]:
    probe = Path(__file__).with_name("update_probe.py")
    changes = 12 if ground.quick else 28
    home = ground.home(f"update-{size}")
    _, env = ground.program(home)
    found: dict[str, Any] = json.loads(run([sys.executable, probe, home, size, changes], env).out)
    return found
