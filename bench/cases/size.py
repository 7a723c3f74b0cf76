"""How large the archive is, its write-ahead log included, against the bytes of the sessions themselves."""

from __future__ import annotations

from pathlib import Path

from ground import Ground
from measure import megabytes, table, times, tree_bytes

PROMISED = 0.45


def bench(ground: Ground) -> None:
    root = ground.big()
    source = ground.totals(root)["bytes"]
    home = ground.home("size")
    ground.ingest(root, home)
    sizes = [("sessions", source), ("backstory", database(home))]
    if ground.peers:
        peer = ground.home("size-agentsview")
        ground.agentsview(root, peer)
        sizes.append(("agentsview", database(peer)))
    rows = [("what", "bytes", "of sessions")]
    rows += [(name, megabytes(size), times(size / source)) for name, size in sizes]
    table("size of the archive, search index included", rows)
    print(f"  promised: backstory at most {PROMISED} x")


def database(home: Path) -> int:
    """All files below a program's own folder."""
    return tree_bytes(home)
