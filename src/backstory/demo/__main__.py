"""`python -m backstory.demo DIR` writes the samples into DIR."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from . import load

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m backstory.demo DIR")
    print(f"{load(Path(sys.argv[1]), int(time.time() * 1000))} sample sessions in {sys.argv[1]}")
