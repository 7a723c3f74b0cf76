"""What the app's pages weigh and what it costs to make them: many sessions, a session of 40 MB, many calls learned."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ground import Ground
from measure import median, run, table

PROBE = Path(__file__).with_name("pages_probe.py")
PROMISED_KB = 100


def bench(ground: Ground) -> None:
    many = 1_000 if ground.quick else 10_000
    megabytes = 4 if ground.quick else 40
    trees = {
        f"{many:,} sessions": ground.tree(f"small-{many}", "--small", many),
        f"{megabytes} MB": ground.tree(f"large-{megabytes}", "--large", megabytes),
    }
    conversations, calls = (60, 4_000) if ground.quick else (600, 60_000)
    spent = f"{calls:,} calls in {conversations} conversations"
    trees[spent] = ground.tree(f"spent-{calls}", "--sessions", conversations, "--calls", calls)
    rows = [("of", "page", "bytes", "CPU the first time", "again")]
    for name, root in trees.items():
        home = ground.home("pages")
        ground.ingest(root, home)
        _, env = ground.program(home)
        done = run([sys.executable, PROBE, "spent" if name == spent else "sessions", ground.repeat], env)
        for page, weight, first, again in json.loads(done.out):
            rows.append(
                (name, page, f"{weight:,}", f"{first * 1000:.0f} ms", f"{median(again) * 1000:.0f} ms")
            )
    table("pages of the app", rows)
    print(f"  promised: the first page of a session under {PROMISED_KB} KB")
