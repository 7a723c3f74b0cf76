"""Masking of secrets over real text: megabytes a second, beside one search for a word that is not there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ground import HERE, Ground
from measure import MEGABYTE, median, table

from backstory import redact

DOCUMENT = 400
"""Characters of a short document, about what the index takes of a step."""


def bench(ground: Ground) -> None:
    texts = list(_texts(ground.quick))
    short = [text[at : at + DOCUMENT] for text in texts for at in range(0, len(text), DOCUMENT)]
    quiet = ["the quick brown fox jumps over the lazy dog; nothing to see here\n" * 20_000]
    rows = [("text", "size", "lower, find", "is_clean", "mask", "of the floor", "masked")]
    for name, sample in (
        ("whole files", texts),
        (f"pieces of {DOCUMENT}", short),
        ("no name of a secret", quiet),
    ):
        size = sum(map(len, sample))
        floor, clean, mask = (
            _spent(work, sample, ground.repeat) for work in (_floor, redact.is_clean, redact.mask)
        )
        found = sum(len(redact.spans(text)) for text in sample)
        speeds = [f"{size / spent / MEGABYTE:,.0f} MB/s" for spent in (floor, clean, mask)]
        rows.append((name, f"{size / MEGABYTE:.1f} MB", *speeds, f"{mask / floor:.1f} x", str(found)))
    table("redact: the interpreter's sources and the recordings", rows)


def _texts(quick: bool) -> Iterator[str]:
    library = sorted(Path(sys.base_prefix, "lib", f"python3.{sys.version_info.minor}").glob("*.py"))
    if not quick:
        library = sorted(library[0].parent.rglob("*.py"))
    recordings = sorted((HERE.parent / "tests" / "recordings").rglob("*.json"))
    for path in (*library, *recordings):
        if "site-packages" not in path.parts:
            yield path.read_text("utf-8", "replace")


def _floor(text: str) -> bool:
    return "no such word" in text.lower()


def _spent(work: Callable[[str], object], texts: list[str], rounds: int) -> float:
    """The median of CPU seconds for all texts."""
    spent = []
    for _ in range(rounds):
        before = time.process_time()
        for text in texts:
            work(text)
        spent.append(time.process_time() - before)
    return median(spent)
