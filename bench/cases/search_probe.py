"""Queries of different rarity over one archive, through the public API.

    python bench/cases/search_probe.py ARCHIVE SESSIONS_DIR ROUNDS

Prints one JSON list: query, matches of the query and of its rarest word, latencies in seconds, and whether only
the newest matches were ranked.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from clinegen.corpus import corpus

from backstory import Archive

COMMON = ("import", "return self", "error", "python unittest", "test ok", "raise ValueError")
TICKET = re.compile(rb"ticket (T[0-9a-f]{12})")
WORD = re.compile(r"[^\W_]+")


def queries(root: Path) -> list[str]:
    """Words that stand in one session, names of functions, phrases of prose, and the commonest words."""
    rng = Random(5)
    texts = corpus()
    folders = sorted(root.iterdir())
    found: list[str] = []
    for folder in rng.sample(folders, min(40, len(folders))):
        for path in folder.glob("*.messages.json"):
            found += [m.group(1).decode() for m in TICKET.finditer(path.read_bytes())][:1]
    files = [rng.choice(rng.choice(texts.projects).files) for _ in range(80)]
    names = [rng.choice(file.names)[1] for file in files]
    phrases = [" ".join(rng.choice(texts.paragraphs).split()[2:5]) for _ in range(40)]
    return [*dict.fromkeys([*found, *names, *phrases, *COMMON])]


def rarest(archive: Archive, query: str) -> int:
    """How many places the query's rarest word stands in."""
    return min((archive.search(word).total for word in WORD.findall(query)), default=0)


def probe(archive: Archive, root: Path, rounds: int) -> list[dict[str, object]]:
    asked = queries(root)
    taken: dict[str, list[float]] = {query: [] for query in asked}
    answers: dict[str, tuple[int, bool]] = {}
    for _ in range(rounds):
        for query in asked:
            start = time.perf_counter()
            found = archive.search(query)
            taken[query].append(time.perf_counter() - start)
            answers[query] = (found.total, found.newest_only is not None)
    return [
        {
            "query": query,
            "total": answers[query][0],
            "rarest": rarest(archive, query),
            "newest_only": answers[query][1],
            "seconds": taken[query],
        }
        for query in asked
    ]


if __name__ == "__main__":
    print(json.dumps(probe(Archive(path=Path(sys.argv[1])), Path(sys.argv[2]), int(sys.argv[3]))))
