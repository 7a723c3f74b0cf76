"""The totals of a generated tree are met to the token and the billionth of a dollar: cold, warm, and as it grows."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import pytest
from hostile import SLOW
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import rewritten, rows, settle, stored, talk
from sessions import START, archive

from backstory import Archive

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from clinegen.growth import Grower
from clinegen.totals import Ledger, Totals, add
from clinegen.tree import generate

SIZE = {"sessions": 30, "calls": 240, "size": 900_000}


@pytest.fixture(scope="module", params=[1, 7])
def tree(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Totals]:
    root = tmp_path_factory.mktemp("tree") / "sessions"
    return root, generate(root, **SIZE, seed=request.param)


def ledger(kept: Archive) -> Ledger:
    """The generator's own sums, by one query."""
    (found,) = kept.connection.execute(
        "SELECT count(*), count(nano), coalesce(sum(fresh), 0), coalesce(sum(cache_read), 0),"
        " coalesce(sum(cache_write), 0), coalesce(sum(output), 0), coalesce(sum(nano), 0) FROM calls WHERE counted"
    )
    return Ledger(*found)


def test_cold_and_warm(tmp_path: Path, tree: tuple[Path, Totals]) -> None:
    root, totals = tree
    with archive(tmp_path) as kept:
        kept.sync([root])
        assert ledger(kept) == totals.ledger
        settle(kept)
        before = list(kept.connection.iterdump())
        report = kept.sync([root])
        settle(kept)
        assert (report.changed, report.new_steps) == (0, 0)
        assert list(kept.connection.iterdump()) == before
    with archive(tmp_path) as kept:
        kept.sync([root])
        assert ledger(kept) == totals.ledger


def test_every_call_has_one_kind(tmp_path: Path, tree: tuple[Path, Totals]) -> None:
    """Those with a cost are reported at that cost, nothing is added to it, and imports are listed."""
    root, totals = tree
    with archive(tmp_path) as kept:
        kept.sync([root])
        found = rows(kept)
    reported = [call for call in found if call.counted and call.kind == "reported"]
    assert (len(reported), sum(call.amount or 0 for call in reported)) == (
        totals.ledger.reported,
        totals.ledger.nano,
    )
    for call in found:
        assert call.kind in ("reported", "covered", "estimated", "unpriced")
        assert (call.kind == "reported") == (call.nano is not None)
        assert (call.amount is None) <= (call.kind in ("unpriced", "covered"))
        assert call.name
    owned = [call for call in found if call.flags and "imported" in call.flags.split()]
    assert owned
    assert not any(call.counted for call in owned)


@settings(SLOW, max_examples=6)
@given(order=st.randoms(use_true_random=False))
def test_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, tree: tuple[Path, Totals], order: random.Random
) -> None:
    root, totals = tree
    tmp_path = tmp_path_factory.mktemp("order")
    folders = sorted(root.iterdir())
    order.shuffle(folders)
    with archive(tmp_path / "one by one") as kept:
        for folder in folders:
            kept.ingest(str(folder))
        assert ledger(kept) == totals.ledger
        found = stored(kept)
    with archive(tmp_path / "at once") as kept:
        kept.sync([root])
        assert stored(kept) == found


def test_the_total_outlives_the_tree(tmp_path: Path, tree: tuple[Path, Totals]) -> None:
    """Half of it goes, the other half stands in a second place as well, then all of it comes back."""
    root, totals = tree
    own, other = tmp_path / "sessions", tmp_path / "other"
    shutil.copytree(root, own)
    other.mkdir()
    with archive(tmp_path) as kept:
        kept.sync([own, other])
        for number, folder in enumerate(sorted(own.iterdir())):
            if number % 2:
                shutil.copytree(folder, other / folder.name)
            else:
                shutil.rmtree(folder)
        kept.sync([own, other])
        assert ledger(kept) == totals.ledger
        shutil.rmtree(own)
        own.mkdir()
        kept.sync([own, other])
        assert ledger(kept) == totals.ledger
        shutil.copytree(root, own, dirs_exist_ok=True)
        kept.sync([own, other])
        assert ledger(kept) == totals.ledger


GROWTH: dict[str, tuple[Callable[[Grower], None], ...]] = {
    "prompt": (Grower.prompt,),
    "round": (Grower.reply, Grower.results),
    "spliced": (Grower.reply, Grower.splice, Grower.results),
    "answer": (Grower.answer,),
    "late": (lambda it: it.answer(metered=False), Grower.late_metrics),
    "touch": (Grower.touch,),
}


@settings(SLOW, max_examples=15)
@given(
    seed=st.integers(0, 50),
    acts=st.lists(st.tuples(st.sampled_from(sorted(GROWTH)), st.booleans()), min_size=1, max_size=10),
)
def test_after_any_sequence_of_updates(
    tmp_path_factory: pytest.TempPathFactory, seed: int, acts: list[tuple[str, bool]]
) -> None:
    """A session grows beside others; now and then nobody looks for a while."""
    tmp_path = tmp_path_factory.mktemp("grown")
    root = tmp_path / "sessions"
    others = generate(root, sessions=6, calls=20, size=60_000, seed=seed)
    grower = Grower(root, 0.03, seed)

    def expected() -> Ledger:
        whole = Ledger(*astuple(others.ledger))
        add(whole, grower._talk.ledger)
        return whole

    with archive(tmp_path) as kept:
        kept.sync([root])
        assert ledger(kept) == expected()
        for act, looked in acts:
            for grow in GROWTH[act]:
                grow(grower)
                if looked:
                    kept.sync([root])
                    assert ledger(kept) == expected()
        kept.sync([root])
        assert ledger(kept) == expected()
        followed = stored(kept)
    with archive(tmp_path / "fresh") as kept:
        kept.sync([root])
        assert stored(kept) == followed


def test_a_new_call_is_settled_and_the_old_ones_stay(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 2)
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        before = rows(kept)
        session.reply("Free", id="free", metrics={"inputTokens": 9, "outputTokens": 1})
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert [call.kind for call in rows(kept)] == ["reported", "reported", "unpriced"]
        assert rows(kept)[:2] == before
