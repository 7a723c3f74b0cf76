"""What a running capture uses when nothing happens, with very many sessions on disk."""

from __future__ import annotations

import os
import subprocess
import time

from ground import Ground
from measure import ChildFailed, cpu_of, table

PROMISED = 0.5
SETTLE = 20


def bench(ground: Ground) -> None:
    sessions, window = (1_000, 20) if ground.quick else (10_000, 60)
    root = ground.tree(f"small-{sessions}", "--small", sessions)
    home = ground.home("idle")
    ground.ingest(root, home)
    argv, env = ground.program(home, "capture", "--sessions-dir", root)
    child = subprocess.Popen(
        argv, env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(SETTLE)
        began, before = time.monotonic(), cpu_of(child.pid)
        time.sleep(window)
        used, took = cpu_of(child.pid) - before, time.monotonic() - began
        if child.poll() is not None:
            raise ChildFailed(f"capture ended by itself with {child.returncode}")
    finally:
        child.terminate()
        child.wait()
    rows = [("sessions", "watched", "CPU", "of a core", "since its start")]
    rows.append((f"{sessions:,}", f"{took:.0f} s", f"{used:.2f} s", f"{used / took:.2%}", f"{before:.2f} s"))
    table("idle: capture with nothing to do", rows)
    print(f"  promised: under {PROMISED} % of a core")
