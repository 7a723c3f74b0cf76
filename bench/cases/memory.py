"""The largest resident size while ingesting: of a whole tree, and of one very large session."""

from __future__ import annotations

from ground import Ground
from measure import megabytes, table

PROMISED = (150, 300)


def bench(ground: Ground) -> None:
    large = 4 if ground.quick else 40
    tree, one = ground.big(), ground.tree(f"one-{large}", "--large", large)
    rows = [("ingest of", "backstory", "promised")]
    for name, root, limit in (
        ("the tree", tree, PROMISED[0]),
        (f"one session of {large} MB", one, PROMISED[1]),
    ):
        spent = ground.ingest(root, ground.home("memory"))
        rows.append((name, megabytes(spent.rss), f"under {limit} MB"))
    table("memory: largest resident size", rows)
