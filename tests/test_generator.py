"""The generator of `bench/` writes what Cline writes: same layout, same key order, and totals that hold."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from clinegen import wire
from clinegen.growth import Grower
from clinegen.kinds import KINDS
from clinegen.totals import Ledger, Record, Totals, add
from clinegen.tree import generate, many_small
from recordings import RECORDINGS

from backstory import read_session

FREE = ("input", "result", "structuredContent")
"""Objects whose keys the model or another program chose."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Totals]:
    root = tmp_path_factory.mktemp("tree") / "sessions"
    return root, generate(root, sessions=30, calls=240, size=1_500_000, seed=7)


def documents(root: Path) -> Iterator[tuple[Path, Any]]:
    for path in sorted(root.rglob("*.json")):
        yield path, json.loads(path.read_text(encoding="utf-8"))


def objects(value: Any, where: str) -> Iterator[tuple[str, list[str]]]:
    """Every object with its keys and its place; blocks go by type, and imports by themselves."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item, where)
    elif isinstance(value, dict):
        kind = value.get("type") or value.get("role") or value.get("agent") or ""
        yield f"{where}:{kind}", list(value)
        for key, inner in value.items():
            if key not in FREE:
                yield from objects(inner, f"{where}/{key}")


def place(path: Path, document: Any) -> str:
    origin = document.get("origin") or document.get("metadata", {}).get("sessionHistoryOrigin", {})
    name = "messages" if path.name.endswith(".messages.json") else "manifest"
    return f"{'import' if origin.get('mode') == 'import' else 'own'}-{name}"


def seen_orders(root: Path) -> dict[str, set[tuple[str, str]]]:
    """For every place the pairs of keys that follow each other, at any distance."""
    pairs: dict[str, set[tuple[str, str]]] = {}
    for path, document in documents(root):
        for where, keys in objects(document, place(path, document)):
            known = pairs.setdefault(where, set())
            known.update((a, b) for n, a in enumerate(keys) for b in keys[n:])
    return pairs


def recorded() -> Iterator[Path]:
    for folder in sorted(RECORDINGS.glob("*/sessions")):
        yield from sorted(folder.rglob("*.json"))
    yield from sorted((RECORDINGS / "growing").glob("0*.json"))


def test_the_pretty_print_is_byte_for_byte_clines() -> None:
    for path in recorded():
        data = path.read_bytes()
        if not path.name.endswith(".compaction.json"):
            assert wire.pretty(msgspec.json.decode(data)) == data, path


def test_keys_stand_in_the_order_of_the_recordings(tree: tuple[Path, Totals]) -> None:
    known = seen_orders(RECORDINGS)
    for path, document in documents(tree[0]):
        for where, keys in objects(document, place(path, document)):
            assert where in known, where
            for a, b in pairwise([*keys, keys[-1]]) if keys else ():
                assert (a, b) in known[where], (where, a, b)


def test_files_are_laid_out_as_cline_lays_them_out(tree: tuple[Path, Totals]) -> None:
    for path, document in documents(tree[0]):
        data = path.read_bytes()
        assert wire.pretty(msgspec.json.decode(data)) == data
        if "updated_at" in document:
            assert data.index(b'"updated_at"') == 20
            assert len(document["updated_at"]) == 24


def test_every_kind_is_there(tree: tuple[Path, Totals]) -> None:
    totals = tree[1]
    assert len(totals.kinds) == len(KINDS) + 1
    assert sum(totals.kinds.values()) == totals.sessions == len(list(tree[0].iterdir()))
    for count in (totals.record.failed, totals.record.rejected, totals.ledger.reported, totals.ledger.nano):
        assert count > 0


def test_totals_are_what_the_files_hold(tree: tuple[Path, Totals]) -> None:
    messages, turns, calls = 0, 0, {}
    for path, document in documents(tree[0]):
        imported = place(path, document).startswith("import")
        messages += len(document.get("messages", ()))
        if document.get("status") and "agent" not in document:
            turns += not (path.with_suffix("").with_suffix(".messages.json")).read_bytes().count(b'"role"')
        for message in document.get("messages", ()):
            first = message["content"][0]
            turns += first.get("text", "").startswith("<user_input") or (
                imported and message["role"] == "user" and first["type"] == "text"
            )
            counts = message.get("metrics", {})
            if counts.get("inputTokens") and not imported:
                calls[message["id"], message["ts"]] = counts
    totals = tree[1]
    assert (messages, turns, len(calls)) == (totals.record.messages, totals.record.turns, totals.ledger.calls)
    for name, own in (("cacheReadTokens", "cache_read"), ("outputTokens", "output")):
        assert sum(counts[name] for counts in calls.values()) == getattr(totals.ledger, own)
    spent = sum(round(counts.get("cost", 0) * 1e9) for counts in calls.values())
    assert spent == totals.ledger.nano


def test_totals_are_what_backstory_reads(tree: tuple[Path, Totals]) -> None:
    read, calls = Record(), {}
    for folder in sorted(tree[0].iterdir()):
        record = read_session(folder)
        read.turns += len(record.turns)
        for step in record.steps:
            setattr(read, step.type, getattr(read, step.type) + 1)
            read.rejected += step.decision == "rejected"
            read.failed += step.outcome == "failed" and step.decision != "rejected"
        if record.session.imported is None:
            calls |= {(call.message_id, call.at): call for call in record.calls}
    totals = tree[1]
    read.messages = totals.record.messages
    assert read == totals.record
    ledger = Ledger(len(calls), sum(call.nano is not None for call in calls.values()))
    for call in calls.values():
        add(ledger, Ledger(0, 0, call.fresh, call.cache_read, call.cache_write, call.output, call.nano or 0))
    assert ledger == totals.ledger


def digest(root: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.json")):
        whole.update(f"{path.relative_to(root)} {path.stat().st_mtime_ns}".encode() + path.read_bytes())
    return whole.hexdigest()


def test_a_seed_gives_the_same_tree_again(tmp_path: Path, tree: tuple[Path, Totals]) -> None:
    again = generate(tmp_path / "again", sessions=30, calls=240, size=1_500_000, seed=7)
    other = generate(tmp_path / "other", sessions=30, calls=240, size=1_500_000, seed=8)
    assert again == tree[1]
    assert digest(tmp_path / "again") == digest(tree[0]) != digest(tmp_path / "other")
    beside = json.loads((tmp_path / "again.totals.json").read_text())
    assert beside == again.as_dict()
    assert other != again


def test_sizes_come_out_near_what_was_asked(tmp_path: Path) -> None:
    totals = generate(tmp_path / "sessions", sessions=200, calls=3000, size=12_000_000)
    assert 0.7 < totals.bytes / 12_000_000 < 1.3
    assert 0.8 < totals.ledger.calls / 3000 < 1.2
    assert many_small(tmp_path / "small", 40).sessions == 40


def test_a_session_grows_as_clines_does(tmp_path: Path) -> None:
    grower = Grower(tmp_path, 0.2)
    inode, size = grower.path.stat().st_ino, grower.size()
    assert grower.path.read_bytes() == grower.document()
    for grow in (grower.prompt, grower.reply, grower.results, grower.answer):
        before = grower.path.read_bytes()
        grow()
        after = grower.path.read_bytes()
        kept = before.rindex(b'\n  ],\n  "system_prompt"')
        assert before[60:kept] == after[60:kept]
        assert len(after) > len(before)
        assert after == grower.document()
    grower.touch()
    assert grower.size() == len(after)
    assert (grower.path.stat().st_ino, grower.size() > size) == (inode, True)


def test_growth_also_changes_what_was_written(tmp_path: Path) -> None:
    grower = Grower(tmp_path, 0.05)
    grower.answer(metered=False)
    assert "metrics" not in json.loads(grower.path.read_bytes())["messages"][-1]
    grower.late_metrics()
    assert json.loads(grower.path.read_bytes())["messages"][-1]["metrics"]["cost"] == 0
    grower.reply()
    last = json.loads(grower.path.read_bytes())["messages"][-1]
    grower.splice()
    messages = json.loads(grower.path.read_bytes())["messages"]
    assert messages[-1] == last
    assert messages[-2]["metadata"]["displayRole"] == "system"
    assert grower.path.read_bytes() == grower.document()
