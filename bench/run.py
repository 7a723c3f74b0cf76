"""Runs benchmarks by name and prints their figures.

    python bench/run.py --quick ingest start
    python bench/run.py --peers

Figures are CPU time and ratios of medians that were measured in one run, so that they mean something on other
machines too. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
from pathlib import Path

from ground import Ground
from measure import ChildFailed

NAMES = (
    *("start", "ingest", "size", "memory", "update", "usage", "search", "redact", "learn", "recall", "mcp"),
    *("pages", "idle"),
)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all when none is named"
    )
    parser.add_argument("--quick", action="store_true", help="a small variant of each")
    parser.add_argument(
        "--peers", action="store_true", help="compare with agentsview and orjson (downloads them)"
    )
    parser.add_argument("--repeat", type=int, default=3, help="rounds that medians are taken of")
    parser.add_argument(
        "--work", type=Path, help="keep trees and archives here; else a folder that is removed"
    )
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.names) - set(NAMES)):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    work = args.work or Path(tempfile.mkdtemp(prefix="backstory-bench-"))
    try:
        return _run(args.names or NAMES, Ground(work.resolve(), args.quick, args.peers, args.repeat))
    finally:
        if args.work is None:
            shutil.rmtree(work, ignore_errors=True)


def _run(names: list[str] | tuple[str, ...], ground: Ground) -> int:
    failed = 0
    for name in names:
        try:
            importlib.import_module(f"cases.{name}").bench(ground)
        except ChildFailed as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
