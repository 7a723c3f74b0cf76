"""What it costs to start the command line, against an interpreter that does nothing."""

from __future__ import annotations

import sys

from ground import Ground
from measure import median, run, table

PROMISED_MS = 60


def bench(ground: Ground) -> None:
    argv, env = ground.program(ground.home("start"), "--version")
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(10 if ground.quick else 30):
        bare.append(run([sys.executable, "-c", "pass"]).cpu)
        ours.append(run(argv, env).cpu)
    rows = [("program", "CPU", "beyond a bare interpreter")]
    for name, values in (("python -c pass", bare), ("backstory --version", ours)):
        beyond = median(values) - median(bare)
        rows.append((name, f"{median(values) * 1000:.0f} ms", f"{beyond * 1000:.0f} ms"))
    table("start", rows)
    print(f"  promised: within {PROMISED_MS} ms")
