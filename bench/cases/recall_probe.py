"""Captures and learns a tree of conversations, then asks queries of different kinds, through the public API.

    python bench/cases/recall_probe.py HOME SESSIONS_DIR ROUNDS

Prints one JSON object: CPU seconds of capture and learning, what there is then, and latencies in seconds by kind.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from clinegen.corpus import corpus
from measure import tree_bytes

from backstory import Archive

COMMON = ("value", "object", "method", "function", "return", "type", "class", "module", "string", "list")
EACH = 40


def queries(sessions: int) -> list[tuple[str, str]]:
    """(kind, query): a ticket stands once, names now and then, the words of prose and the common ones everywhere."""
    rng = Random(3)
    texts = corpus()
    sentences = [one for text in texts.paragraphs for one in text.split(". ") if 30 < len(one) < 300]
    found = []
    for _ in range(EACH):
        words = rng.choice(sentences).split()
        file = rng.choice(rng.choice(texts.projects).files)
        long = max(words, key=len)
        place = len(long) // 2
        found += [
            ("ticket", f"T{rng.randrange(sessions):05d}x{rng.randrange(20)}"),
            ("name", rng.choice(file.names)[1]),
            ("name and path", f"{rng.choice(file.names)[1]} in {file.path}"),
            ("prose", " ".join(words[: rng.randint(3, 9)])),
            (
                "misspelt",
                long[:place] + long[place + 1 : place + 2] + long[place : place + 1] + long[place + 2 :],
            ),
            ("common words", " ".join(rng.sample(COMMON, 4))),
            ("pasted text", " ".join(rng.sample(sentences, 5))),
        ]
    return found


def spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def probe(home: Path, root: Path, rounds: int) -> dict[str, object]:
    with Archive(home / "archive.db", env=os.environ) as archive:
        found: dict[str, object] = {
            "capture": spent(lambda: archive.sync([root])),
            "captured": tree_bytes(home),
        }
        found["learn"] = spent(lambda: archive.memory.learn())
        found["again"] = spent(lambda: archive.memory.learn())
        found["learned"] = tree_bytes(home)
        found["exchanges"], found["characters"] = archive.connection.execute(
            "SELECT count(*), sum(length(asked) + length(answered)) FROM exchange"
        ).fetchone()
        taken: dict[str, list[float]] = defaultdict(list)
        for number in range(rounds + 1):
            for kind, query in queries(sum(1 for _ in root.iterdir())):
                start = time.perf_counter()
                archive.memory.recall(query)
                if number:  # the first round reads the file into the system's memory
                    taken[kind].append(time.perf_counter() - start)
    return {**found, "taken": taken}


if __name__ == "__main__":
    print(json.dumps(probe(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
