"""The memory server: from its start to its answer to `initialize`, and what a `recall` costs after that."""

from __future__ import annotations

import json
import sys
from typing import Any

from ground import Ground
from measure import Spent, median, megabytes, run, table

PROMISED_MS, PROMISED_MB = 150, 30
CALLS = 20
QUERIES = (
    "fix the failing test in the parser",
    "TypeError: cannot read properties of undefined",
    "argparse subcommand default",
    "why does the build take so long",
    "rename the function and its callers",
)
LEARN = "from backstory import Archive\nwith Archive() as archive: archive.memory.learn()"


def bench(ground: Ground) -> None:
    root, home = ground.big(), ground.home("mcp")
    ground.ingest(root, home)
    argv, env = ground.program(home, "mcp")
    run([sys.executable, "-c", LEARN], env)
    rounds = 10 * ground.repeat
    bare = [run([sys.executable, "-c", "pass"]) for _ in range(rounds)]
    started = [run(argv, env, _input(0)) for _ in range(rounds)]
    first = [run(argv, env, _input(1)) for _ in range(ground.repeat)]
    many = [run(argv, env, _input(1 + CALLS)) for _ in range(ground.repeat)]
    rows = [("memory server", "CPU", "beyond a bare interpreter", "resident")]
    rows += [_row("python -c pass", bare, bare), _row("initialize", started, bare)]
    rows += [_row("initialize and a recall", first, bare)]
    table("mcp", rows)
    each = (median([one.cpu for one in many]) - median([one.cpu for one in first])) / CALLS
    print(f"  a further recall: {each * 1000:.1f} ms CPU")
    print(f"  promised of initialize: {PROMISED_MS} ms beyond, {PROMISED_MB} MB")


def _row(name: str, found: list[Spent], bare: list[Spent]) -> tuple[str, str, str, str]:
    cpu = median([one.cpu for one in found])
    beyond = cpu - median([one.cpu for one in bare])
    resident = megabytes(median([float(one.rss) for one in found]))
    return name, f"{cpu * 1000:.0f} ms", f"{beyond * 1000:.0f} ms", resident


def _input(recalls: int) -> bytes:
    """A session of a client: the handshake, then so many recalls."""
    params: dict[str, Any] = {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "bench"},
    }
    messages: list[dict[str, Any]] = [{"id": 0, "method": "initialize", "params": params}]
    for number in range(1, recalls + 1):
        query = QUERIES[number % len(QUERIES)]
        call = {"name": "recall", "arguments": {"query": query}}
        messages.append({"id": number, "method": "tools/call", "params": call})
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
