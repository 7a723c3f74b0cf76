"""A cold first pass over a whole tree: CPU against the floors and against the peer, side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable

from floor import FLOORS
from ground import HERE, Ground
from measure import ChildFailed, median, megabytes, run, seconds, table, times

PROMISED_OF_METRICS = 8.0
PROMISED_OF_PEER = 8.0


def bench(ground: Ground) -> None:
    root = ground.big()
    totals = ground.totals(root)
    spent: dict[str, list[float]] = {}
    for n in range(ground.repeat):
        for name, once in _programs(ground, n).items():
            try:
                spent.setdefault(name, []).append(once())
            except ChildFailed as error:
                print(f"{name}: {error}", file=sys.stderr)
    _draw(
        f"ingest: {megabytes(totals['bytes'])}, {totals['steps']:,} steps, {totals['calls']:,} calls", spent
    )


def _programs(ground: Ground, n: int) -> dict[str, Callable[[], float]]:
    """What is run in one round. The peer takes a minute, so it runs in the first round only."""
    root = ground.big()
    made: dict[str, Callable[[], float]] = {}
    for name in FLOORS:
        if name == "orjson" and not ground.peers:
            continue
        python = ground.peer_python() if name == "orjson" else sys.executable
        argv = [python, HERE / "floor.py", name, root]
        made[name] = lambda argv=argv: run(argv).cpu  # type: ignore[misc]
    made["backstory"] = lambda: ground.ingest(root, ground.home("ingest")).cpu
    if ground.peers and n == 0:
        made["agentsview"] = lambda: ground.agentsview(root, ground.home("agentsview")).cpu
    return made


def _draw(title: str, spent: dict[str, list[float]]) -> None:
    middle = {name: median(values) for name, values in spent.items()}
    rows = [("program", "CPU", "of metrics", "runs")]
    rows += [
        (name, seconds(cpu), times(cpu / middle["metrics"]), str(len(spent[name])))
        for name, cpu in middle.items()
    ]
    table(title, rows)
    if "backstory" in middle:
        print(f"  promised: backstory at most {PROMISED_OF_METRICS:.0f} x metrics")
    if "backstory" in middle and "agentsview" in middle:
        less = middle["agentsview"] / middle["backstory"]
        print(f"  agentsview / backstory: {times(less)} (promised: at least {PROMISED_OF_PEER:.0f})")
