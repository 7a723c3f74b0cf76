"""One session grows; each change is archived, beside a bare read and digest of its file.

    python bench/cases/update_probe.py WORK MEGABYTES CHANGES

Prints one JSON document: bytes of the file, CPU seconds of the first pass, and for each change its name, the
CPU of the update and the CPU of reading and digesting the file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from clinegen.growth import Grower
from floor import digest

from backstory import Archive


def _cpu(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def probe(work: Path, megabytes: float, changes: int) -> dict[str, object]:
    grower = Grower(work / "sessions", megabytes)
    archive = Archive(path=work / "archive.db")
    roots = (work / "sessions",)
    first = _cpu(lambda: archive.sync(sessions_dirs=roots))
    measured = []
    for n in range(changes):
        grow = (grower.reply, grower.results, grower.answer, grower.touch)[n % 4]
        grow()
        update = _cpu(lambda: archive.sync(sessions_dirs=roots))
        floor = _cpu(lambda: digest(grower.path.read_bytes()))
        measured.append({"change": grow.__name__, "update": update, "floor": floor})
    return {"bytes": grower.size(), "first": first, "changes": measured}


if __name__ == "__main__":
    print(json.dumps(probe(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))))
