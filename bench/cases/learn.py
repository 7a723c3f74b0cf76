"""What learning costs: the exchanges of an archive that is up to date, beside the capture of the same tree."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import remembered
from ground import Ground
from measure import megabytes, run, table, times

EXCHANGES = 20
"""Of each session."""


def bench(ground: Ground) -> None:
    found = probe(ground, 100 if ground.quick else 500)
    capture, learn, again = found["capture"], found["learn"], found["again"]
    count, size = found["exchanges"], found["characters"]
    table(
        f"learn: {count:,} exchanges, {size / 1_000_000:.1f} million characters",
        [
            ("", "CPU", "exchanges/s", "of capture"),
            ("capture", f"{capture:.2f} s", f"{count / capture:,.0f}", ""),
            ("learn", f"{learn:.2f} s", f"{count / learn:,.0f}", times(learn / capture)),
            ("learn again, nothing new", f"{again:.2f} s", "", times(again / capture)),
        ],
    )
    print(f"  archive {megabytes(found['captured'])} before, {megabytes(found['learned'])} after")


def probe(ground: Ground, sessions: int) -> dict[str, Any]:
    """A tree of conversations captured, learned and asked in a process of its own."""
    root = ground.work / "trees" / f"talk-{sessions}" / "sessions"
    if not root.with_name("sessions.done").exists():
        root.mkdir(parents=True, exist_ok=True)
        remembered.talk(root, sessions, EXCHANGES)
        root.with_name("sessions.done").touch()
    home = ground.home(f"talk-{sessions}")
    script = Path(__file__).with_name("recall_probe.py")
    _, env = ground.program(home)
    answer: dict[str, Any] = json.loads(run([sys.executable, script, home, root, ground.repeat], env).out)
    return answer
