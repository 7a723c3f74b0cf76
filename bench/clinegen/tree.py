"""A whole tree: how many sessions of which kind, when they ran, and how long each one is."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random

from . import wire
from .imports import imported
from .kinds import COPIES, KINDS, Made, Wish, interactive, oneshot
from .totals import Totals

FIRST_DAY = 1_767_600_000_000
"""2026-01-05T08:00Z; the sessions of a tree lie in the eleven months after it."""
SPAN = 328 * 86_400_000
STEPS_A_CALL = 3.4
COUNTED = 0.85
"""Share of the calls that count: copies, imports and providers without usage have none."""
BYTES_A_CALL = 12_500
BYTES_AT_SCALE_1 = 12_000
LARGEST_PARENT = 400
Kind = Callable[[Wish], Made]


def _deal(rng: Random, sessions: int) -> list[Kind]:
    """The kinds of the sessions: each one once, then by weight. A copy never comes first."""
    kinds = [*KINDS, (3, imported)]
    first = [interactive, *(kind for _, kind in kinds if kind is not interactive)]
    drawn = rng.choices([k for _, k in kinds], [w for w, _ in kinds], k=max(0, sessions - len(first)))
    return [*first, *drawn][:sessions]


def _lengths(rng: Random, sessions: int, calls: int) -> list[int]:
    """Calls a session: many short ones and some very long ones, that add up to about `calls`."""
    raw = [min(rng.lognormvariate(0, 1.0), 12) for _ in range(sessions)]
    share = calls / COUNTED / sum(raw)
    return [max(1, round(one * share)) for one in raw]


def _write(root: Path, made: Made, totals: Totals) -> None:
    size = wire.write_session(root, made.id, made.manifest, made.parts(), made.stamp)
    totals.count(made.kind, made.record, made.ledger, 2 + len(made.children), size)


def generate(
    root: Path,
    *,
    sessions: int,
    calls: int | None = None,
    steps: int | None = None,
    size: int | None = None,
    seed: int = 1,
) -> Totals:
    """Write a tree of about so many calls (or steps) and bytes into `root`, and its totals beside it.

    The length of tool outputs follows `size` as the tree grows, so that the whole comes out near it.
    """
    calls = calls or (round(steps / STEPS_A_CALL) if steps else sessions * 30)
    size = size or calls * BYTES_A_CALL
    rng, totals = Random(seed), Totals(seed)
    kinds, lengths = _deal(rng, sessions), _lengths(rng, sessions, calls)
    starts = sorted(FIRST_DAY + rng.randrange(SPAN) for _ in range(sessions))
    parents: deque[Made] = deque(maxlen=12)
    left, scale = sum(lengths), size / max(1, sum(lengths)) / BYTES_AT_SCALE_1
    root.mkdir(parents=True, exist_ok=True)
    for n, (kind, started, length) in enumerate(zip(kinds, starts, lengths, strict=True)):
        own = Random(f"{seed}:{n}")
        parent = own.choice(parents) if kind in COPIES and parents else None
        wish = Wish(own, started, length, scale, parent)
        made = (oneshot if kind in COPIES and parent is None else kind)(wish)
        _write(root, made, totals)
        if made.talk and made.manifest["interactive"] and len(made.talk.messages) < LARGEST_PARENT:
            parents.append(made)
        left -= length
        if left > 0 and totals.bytes < size and n > 10:
            wanted, got = (size - totals.bytes) / left, totals.bytes / (sum(lengths) - left)
            scale = max(0.02, min(40.0, scale * wanted / got)) if n % 8 == 0 else scale
    note(root, totals)
    return totals


def note(root: Path, totals: Totals) -> None:
    beside = root.with_name(root.name + ".totals.json")
    beside.write_text(json.dumps(totals.as_dict(), indent=2) + "\n", encoding="utf-8")


def large_session(root: Path, megabytes: float, seed: int = 1) -> Made:
    """Write one session whose lead file is about so large; gives what was made, its id among it."""
    rng = Random(f"large:{seed}")
    wish = Wish(rng, FIRST_DAY, 1, 1.0)
    calls = max(2, round(megabytes * 1_000_000 / BYTES_A_CALL))
    made = interactive(Wish(rng, FIRST_DAY, calls, 1.0))
    got = len(wire.pretty(made.lead))
    wish.calls, wish.rng = max(2, round(calls * megabytes * 1_000_000 / got)), Random(f"large:{seed}")
    made = interactive(wish)
    wire.write_session(root, made.id, made.manifest, made.parts(), made.stamp)
    return made


def many_small(root: Path, sessions: int = 10_000, seed: int = 1) -> Totals:
    """A tree of very many short sessions: what an idle watcher has to live with."""
    return generate(root, sessions=sessions, calls=sessions * 2, size=sessions * 14_000, seed=seed)
