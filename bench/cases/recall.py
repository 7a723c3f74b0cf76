"""How well recall finds what the gold set asks for, and how long it takes over very many exchanges."""

from __future__ import annotations

import shutil

import recall as quality
from ground import Ground
from measure import median, percentile, table

from cases.learn import probe

PROMISED_MS = 50


def bench(ground: Ground) -> None:
    work = ground.home("gold")
    quality.show_gold(quality.of_gold(work))
    shutil.rmtree(work)
    found = probe(ground, 250 if ground.quick else 2500)
    rows = [("query", "asked", "p50", "p95", "slowest")]
    for kind, taken in found["taken"].items():
        times = [1000 * one for one in taken]
        figures = (median(times), percentile(times, 0.95), max(times))
        rows.append((kind, str(len(times)), *(f"{one:.1f} ms" for one in figures)))
    every = [1000 * one for taken in found["taken"].values() for one in taken]
    rows.append(
        (
            "all",
            str(len(every)),
            f"{median(every):.1f} ms",
            f"{percentile(every, 0.95):.1f} ms",
            f"{max(every):.1f} ms",
        )
    )
    table(f"recall: {found['exchanges']:,} exchanges", rows)
    print(f"  promised: p95 under {PROMISED_MS} ms, the archive open")
