"""CPU time and memory of a child, and tables of medians. Wall-clock time is never compared."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class ChildFailed(Exception):
    """A measured program ended with an error; a figure of it would mean nothing."""


@dataclass(frozen=True)
class Spent:
    """What a child and its children used: CPU seconds (user and system), the largest resident size."""

    cpu: float
    rss: int
    out: str


def run(argv: Sequence[object], env: Mapping[str, str] | None = None, given: bytes = b"") -> Spent:
    """Run to the end over an input, measured with `wait4`.

    A child that fails raises `ChildFailed` with its last words.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        full = {**os.environ, **(env or {})}
        child = subprocess.Popen(
            [str(a) for a in argv], env=full, stdin=source, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if child.returncode:
        raise ChildFailed(f"{' '.join(map(str, argv))}\n{said[-2000:]}")
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * RSS_UNIT, said)


def cpu_of(pid: int) -> float:
    """CPU seconds that a living process has used so far."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        parts = stat.read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
    shown = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True)
    seconds = 0.0
    for part in shown.stdout.strip().split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def tree_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def table(title: str, rows: Sequence[Sequence[str]]) -> None:
    """The first row is the head; the first column stands left, the others right."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    print(f"\n{title}")
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells).rstrip())


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"


def times(value: float) -> str:
    return f"{value:.2f} x"


def megabytes(value: float) -> str:
    return f"{value / MEGABYTE:.1f} MB"
