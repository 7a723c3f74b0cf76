"""Measures recall: on the gold set, on LoCoMo where its file is named, and how fast it is.

    python bench/recall.py                        # the gold set
    python bench/recall.py path/to/locomo10.json  # LoCoMo too; it is no part of this repository
    python bench/recall.py --half even            # every other conversation, to choose a weight by

Conversations are written as Cline's sessions, read by `Archive.sync`, learned by `memory.learn`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import gold
import locomo
import remembered
from measure import table

from backstory import Archive
from backstory.memory.rank import Scope, ranked

HALVES: dict[str | None, Callable[[int], bool]] = {
    None: lambda _: True,
    "even": lambda n: n % 2 == 0,
    "odd": lambda n: n % 2 == 1,
}
DEEP = 100
"""Turns of a ranking that are looked at."""


class Found(NamedTuple):
    """What a question of LoCoMo found: shares of its evidence, and the reciprocal rank of the first of it."""

    category: int
    turns_5: float
    turns_10: float
    any_5: float
    any_10: float
    reciprocal: float
    sessions_10: float


def of_gold(work: Path, half: str | None = None) -> dict[str, list[int | None]]:
    """Per kind of query, the rank of a right exchange among the first ten that `recall` answers, else null."""
    everything = gold.load()
    root = work / "sessions"
    numbers = {}
    for n, one in enumerate(everything.conversations):
        at = int(one.at.timestamp() * 1000)
        exchanges = [(exchange.asked, exchange.answered) for exchange in one.exchanges]
        remembered.write(root, one.id, at, one.project, one.title, exchanges, one.files)
        numbers[one.id] = n
    found: dict[str, list[int | None]] = defaultdict(list)
    with remembered.learned(root, work / "home") as archive:
        for query in everything.queries:
            if HALVES[half](numbers[query.conversation]):
                right = {(query.conversation, place + 1) for place in query.exchange}
                results = archive.memory.recall(query.query, limit=10).results
                got = [(passage.session_id, passage.position) for passage in results]
                found[query.kind].append(next((k for k, one in enumerate(got, 1) if one in right), None))
    return found


def of_locomo(path: Path, work: Path, half: str | None = None) -> list[Found]:
    """What every question with evidence found, in the whole ranking of turns, of which `recall` shows the head."""
    found: list[Found] = []
    for number, dialog in enumerate(locomo.load(path)):
        if HALVES[half](number):
            home = work / f"dialog-{number}"
            sessions = dialog.write(home / "sessions")
            with remembered.learned(home / "sessions", home) as archive:
                found += _questions(archive, dialog, sessions)
    return found


def _questions(archive: Archive, dialog: locomo.Dialog, sessions: dict[str, int]) -> Iterable[Found]:
    places = {
        2 * n: (sessions[session], position)
        for n, session, position in archive.connection.execute(
            "SELECT exchange.n, session.id, position FROM exchange"
            " JOIN conversation ON conversation.n = exchange.conversation"
            " JOIN session ON session.n = conversation.session"
        )
    }
    for question in dialog.questions:
        best = ranked(archive.connection, question.text, Scope(1, archive.now()), DEEP).found
        turns = [places[one.row] for one in best]
        heard = list(dict.fromkeys(session for session, _ in turns))
        wanted = question.evidence
        first = next((rank for rank, turn in enumerate(turns, 1) if turn in wanted), None)
        yield Found(
            question.category,
            _share(wanted, turns[:5]),
            _share(wanted, turns[:10]),
            float(first is not None and first <= 5),
            float(first is not None and first <= 10),
            0.0 if first is None else 1 / first,
            _share({session for session, _ in wanted}, heard[:10]),
        )


def _share(wanted: Iterable[object], got: Iterable[object]) -> float:
    wanted = set(wanted)
    return len(wanted & set(got)) / len(wanted)


def show_gold(found: dict[str, list[int | None]]) -> None:
    rows = [("kind", "queries", "R@1", "R@5", "MRR")]
    for kind in (*gold.KINDS, "all"):
        ranks = [rank for ranks in found.values() for rank in ranks] if kind == "all" else found[kind]
        if ranks:
            first, five = (mean([rank is not None and rank <= k for rank in ranks]) for k in (1, 5))
            reciprocal = mean([1 / rank if rank else 0.0 for rank in ranks])
            rows.append((kind, str(len(ranks)), f"{first:.3f}", f"{five:.3f}", f"{reciprocal:.3f}"))
    table("recall: gold set, what the first ten passages of `recall` have", rows)


def show_locomo(found: Sequence[Found]) -> None:
    rows = [("questions", "", "turns R@5", "R@10", "any@5", "any@10", "MRR", "sessions R@10")]
    for name, some in (
        ("all with evidence", found),
        ("without adversarial", [one for one in found if one.category != locomo.ADVERSARIAL]),
    ):
        rows.append(
            (
                name,
                str(len(some)),
                *(f"{mean(values):.3f}" for values in zip(*(one[1:] for one in some), strict=True)),
            )
        )
    table("recall: LoCoMo, shares of the evidence of a question", rows)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("locomo", nargs="?", type=Path, help="locomo10.json")
    parser.add_argument("--half", choices=("even", "odd"), help="every other conversation only")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="backstory-recall-") as folder:
        show_gold(of_gold(Path(folder) / "gold", args.half))
        if args.locomo is not None:
            show_locomo(of_locomo(args.locomo, Path(folder), args.half))
    return 0


if __name__ == "__main__":
    sys.exit(main())
