"""Writes a tree of Cline sessions to measure with, and prints the totals that a reader must arrive at.

    python bench/generate.py DIR --sessions 1000 --calls 60000

The same seed gives the same tree on the same interpreter: tool outputs are its standard library.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from clinegen.tree import generate, large_session, many_small


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dir", type=Path, help="folder to fill; it becomes a sessions directory")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--calls", type=int, help="model requests in all")
    parser.add_argument("--steps", type=int, help="steps in all, instead of --calls")
    parser.add_argument("--bytes", type=float, help="bytes in all, such as 750e6")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--large", type=float, metavar="MB", help="one session of about so many megabytes")
    parser.add_argument("--small", type=int, metavar="N", help="N short sessions")
    args = parser.parse_args(argv)
    if args.dir.exists() and any(args.dir.iterdir()):
        print(f"generate: {args.dir} is not empty; name a new folder", file=sys.stderr)
        return 1
    if args.large:
        print(large_session(args.dir, args.large, args.seed).id)
        return 0
    if args.small:
        totals = many_small(args.dir, args.small, args.seed)
    else:
        size = int(args.bytes) if args.bytes else None
        wanted = {"sessions": args.sessions, "calls": args.calls, "steps": args.steps, "size": size}
        totals = generate(args.dir, **wanted, seed=args.seed)
    print(json.dumps(totals.as_dict(), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
