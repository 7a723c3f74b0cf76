"""`usage` when nothing has changed since the last pass, the check for changes included, beside the peers'.

The totals of all are printed under those that the generator knows, because a fast wrong sum is worth nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from ground import Ground
from measure import median, run, table

PROMISED_MS = 200


def bench(ground: Ground) -> None:
    root = ground.big()
    home = ground.home("usage")
    ground.ingest(root, home)
    argv, env = ground.program(home, "usage", "--all", "--json", "--sessions-dir", root)
    programs: dict[str, Callable[[], tuple[float, float]]] = {
        "python -c pass": lambda: (run([sys.executable, "-c", "pass"]).cpu, 0.0),
        "backstory usage": lambda: _ours(argv, env),
    }
    if ground.peers:
        peer = ground.home("usage-agentsview")
        ground.agentsview(root, peer)
        programs["agentsview usage daily"] = lambda: _peer(ground, root, peer)
    if program := ground.codeburn():
        kept = ground.home("usage-codeburn")
        ground.report_of_codeburn(program, root, kept)
        programs["codeburn report"] = lambda: _codeburn(ground, program, root, kept)
    spent = {name: [once() for _ in range(3 * ground.repeat)] for name, once in programs.items()}
    _draw(ground.totals(root), spent)


def _ours(argv: list[str], env: dict[str, str]) -> tuple[float, float]:
    """CPU seconds, and the dollars that Cline reported."""
    done = run(argv, env)
    cost = json.loads(done.out)["totals"]["cost"]
    return done.cpu, cost["reported_usd"]


def _peer(ground: Ground, root: Path, home: Path) -> tuple[float, float]:
    done = ground.agentsview(root, home, "usage", "daily", "--all", "--json", "--offline")
    totals = json.loads(done.out[done.out.index("{") :])["totals"]
    return done.cpu, totals["totalCost"]["microdollars"] / 1e6


def _codeburn(ground: Ground, program: str, root: Path, home: Path) -> tuple[float, float]:
    done = ground.report_of_codeburn(program, root, home)
    return done.cpu, json.loads(done.out[done.out.index("{") :])["overview"]["cost"]


def _draw(totals: dict[str, int], spent: dict[str, list[tuple[float, float]]]) -> None:
    bare = median([cpu for cpu, _ in spent["python -c pass"]])
    rows = [("program", "CPU", "beyond a bare interpreter", "dollars")]
    for name, values in spent.items():
        cpu = median([cpu for cpu, _ in values])
        dollars = f"{values[-1][1]:.2f}" if values[-1][1] else "–"
        rows.append((name, f"{cpu * 1000:.0f} ms", f"{(cpu - bare) * 1000:.0f} ms", dollars))
    table(f"usage: {totals['calls']:,} calls, nothing new", rows)
    print(f"  the generator wrote {totals['nano'] / 1e9:.2f} dollars")
    print(f"  promised: within {PROMISED_MS} ms")
