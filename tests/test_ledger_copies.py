"""One request counts once, wherever its message stands, and in whatever order the sessions that hold it are read."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hostile import SLOW
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import (
    ANTHROPIC,
    CENT,
    HOUR,
    copied,
    counted,
    forest,
    forked,
    imported,
    paid,
    rewritten,
    rows,
    spend,
    spoken,
    stored,
    talk,
)
from sessions import START, Session, archive, metrics, pretty, text

# --- What is one request, and what is not ----------------------------------------------------------------


def test_one_id_on_three_different_calls_is_three(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    for number in range(3):
        session.reply(f"Answer {number}", id="msg_same", metrics=paid(0.01, 1000 + number))
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        found = counted(kept)
    assert [(call.key.rpartition(":")[2], call.fresh) for call in found] == [
        ("msg_same", 1000),
        ("msg_same~2", 1001),
        ("msg_same~3", 1002),
    ]


@pytest.mark.parametrize(
    "other",
    [{"id": "else"}, {"ts": START + 2001}, {"metrics": paid(0.01, 1001)}, {"metrics": paid(0.01, 1000, 51)}],
)
def test_calls_that_differ_in_anything_are_two(tmp_path: Path, other: dict[str, Any]) -> None:
    """In two sessions that share nothing else: weak providers count their ids from the start."""
    same: dict[str, Any] = {"id": "msg_1", "ts": START + 2000, "metrics": paid(0.01)}
    for session_id, more in (("1796026000000_first", {}), ("1796026000000_secnd", other)):
        session = Session(tmp_path / "sessions", session_id)
        session.prompt(session_id, id=f"{session_id}-prompt")
        session.reply("Hi", **{**same, **more})
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        assert spend(kept) == (2, 2 * CENT)


def test_a_copy_of_a_repeated_id_is_a_copy_of_the_right_one(tmp_path: Path) -> None:
    """A rewind that begins behind the first of them: `~2` there is another call than `~2` here."""
    origin = Session(tmp_path / "sessions", "1796026000000_origi")
    origin.prompt("Hello")
    for number in range(3):
        origin.reply(f"Answer {number}", id="msg_same", metrics=paid(0.01, 1000 + number))
    other = copied(origin, "1796029600000_rewin", START + HOUR)
    del other.messages[1]
    for session in (origin, other):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert spend(kept) == (3, 3 * CENT)
        assert {call.session_id for call in counted(kept)} == {origin.session_id}


@pytest.mark.parametrize("missing", [{"id": ...}, {"ts": ...}], ids=["no id", "no time"])
def test_copies_without_id_or_time_are_copies(tmp_path: Path, missing: dict[str, Any]) -> None:
    """The sessions begin at other times, so what is inferred for a message is no part of what it is."""
    origin = Session(tmp_path / "sessions", "1796026000000_origi")
    origin.prompt("Hello", **missing)
    for number in range(2):
        origin.reply(f"Answer {number}", metrics=paid(0.01, 1000 + number), **missing)
    fork = forked(origin, "1796029600000_forkd", START + HOUR)
    for session in (origin, fork):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert spend(kept) == (2, 2 * CENT)


def test_the_earliest_session_has_the_call_and_equal_times_go_by_id(tmp_path: Path) -> None:
    origin = talk(tmp_path / "sessions", "1796026000000_bbbbb", START, 2)
    same_time = copied(origin, "1796026000000_aaaaa", START)
    earlier = copied(origin, "1796026000000_zzzzz", START - HOUR)
    with archive(tmp_path) as kept:
        owners = []
        for session in (origin, same_time, earlier):
            session.write()
            kept.sync([origin.root])
            owners.append({call.session_id for call in counted(kept)})
            assert spend(kept) == (2, 2 * CENT)
    assert owners == [{origin.session_id}, {same_time.session_id}, {earlier.session_id}]


def test_when_a_session_turns_out_to_have_begun_earlier_its_calls_move(tmp_path: Path) -> None:
    origin = talk(tmp_path / "sessions", "1796026000000_origi", START, 2)
    copy = copied(origin, "1796026000000_zzzzz", START + HOUR)
    with archive(tmp_path) as kept:
        for session in (origin, copy):
            session.write()
        kept.sync([origin.root])
        assert {call.session_id for call in counted(kept)} == {origin.session_id}
        assert copy.manifest is not None
        copy.manifest["started_at"] = "2026-11-30T01:00:00.000Z"
        rewritten(copy, START // 1000 + 60)
        kept.sync([origin.root])
        assert {call.session_id for call in counted(kept)} == {copy.session_id}
        assert spend(kept) == (2, 2 * CENT)


# --- Imports ----------------------------------------------------------------------------------------------


def test_an_import_that_is_under_way_does_not_count_either(tmp_path: Path) -> None:
    """Until `importedFrom` is written only the origin's mode marks it; the manifest may even come last."""
    session = imported(tmp_path / "sessions", "1796026000000_V-xYz", START)
    spoken(session, 0)
    assert session.manifest is not None
    done = session.manifest
    with archive(tmp_path) as kept:
        session.manifest = None
        rewritten(session, START // 1000)
        kept.sync([session.root])
        session.manifest = {
            **done,
            "metadata": {"sessionHistoryOrigin": done["metadata"]["sessionHistoryOrigin"]},
        }
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert spend(kept) == (0, 0)
        session.manifest = done
        rewritten(session, START // 1000 + 120)
        kept.sync([session.root])
        assert spend(kept) == (0, 0)
        assert len(rows(kept)) == 1


COUNTS = {
    "more cached than in": paid(0, 400, 20, read=9000),
    "less cached than in": paid(0, 5000, 20, read=1000),
    "nothing cached": paid(0, 5000, 20),
}


@pytest.mark.parametrize("missing", [{}, {"ts": ...}], ids=["as it is", "without a time"])
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("tool", ["claude-code", "codex", "opencode"])
def test_no_copy_of_an_import_counts(
    tmp_path: Path, tool: str, counts: dict[str, Any], missing: dict[str, Any]
) -> None:
    """A fork of it has no mark of the import; what is typed in the fork counts, once."""
    origin = imported(tmp_path / "sessions", "1796026000000_V-xYz", START, tool)
    spoken(origin, 0, metrics=counts, **missing)
    fork = forked(origin, "1796029600000_forkd", START + HOUR)
    fork.prompt("Go on", id="typed")
    fork.reply("Going on", id="typed-0", metrics=paid(0.01))
    again = copied(fork, "1796033200000_again", START + 2 * HOUR)
    for session in (origin, fork, again):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert [(call.session_id, call.message_id) for call in counted(kept)] == [
            (fork.session_id, "typed-0")
        ]


# --- Forgetting -------------------------------------------------------------------------------------------


def test_forgetting_the_origin_makes_the_copy_count(tmp_path: Path) -> None:
    origin = talk(tmp_path / "sessions", "1796026000000_origi", START, 3)
    fork = forked(origin, "1796029600000_forkd", START + HOUR)
    fork.reply("One more", id="fork-0", metrics=paid(0.05))
    rewind = copied(origin, "1796033200000_rewin", START + 2 * HOUR, messages=3)
    for session in (origin, fork, rewind):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert spend(kept) == (4, 8 * CENT)
        kept.forget(origin.session_id)
        assert spend(kept) == (4, 8 * CENT)
        assert {call.session_id for call in counted(kept)} == {fork.session_id}
        kept.sync([origin.root])
        assert spend(kept) == (4, 8 * CENT)
        kept.forget(fork.session_id)
        assert spend(kept) == (2, 2 * CENT)
        kept.ingest(origin.session_id, sessions_dirs=[origin.root])
        assert spend(kept) == (3, 3 * CENT)
        assert {call.session_id for call in counted(kept)} == {origin.session_id}
        kept.forget(origin.session_id, with_copies=True)
        assert rows(kept) == []


def test_forgetting_an_import_makes_no_copy_of_it_count_twice(tmp_path: Path) -> None:
    """What remains is a conversation of which nobody knows that it was imported: it counts, once."""
    origin = imported(tmp_path / "sessions", "1796026000000_V-xYz", START)
    spoken(origin, 0)
    copies = [forked(origin, f"179602960000{n}_forkd", START + HOUR + n) for n in range(2)]
    for session in (origin, *copies):
        session.write()
    with archive(tmp_path) as kept:
        kept.sync([origin.root])
        assert spend(kept)[0] == 0
        kept.forget(origin.session_id)
        assert spend(kept)[0] == 1


# --- Any order, any history -------------------------------------------------------------------------------


@settings(SLOW, max_examples=60)
@given(seed=st.integers(0, 10_000), order=st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, order: random.Random
) -> None:
    tmp_path = tmp_path_factory.mktemp("order")
    sessions = forest(tmp_path / "sessions", seed)
    for session in sessions:
        session.write()
    with archive(tmp_path / "at once") as kept:
        kept.sync([tmp_path / "sessions"])
        expected = stored(kept)
    order.shuffle(sessions)
    with archive(tmp_path / "one by one") as kept:
        for session in sessions:
            kept.ingest(str(session.folder))
        assert stored(kept) == expected
    own = [call for call in expected if call.counted]
    assert len({(call.message_id, call.at, call.counts, call.flags) for call in own}) == len(own)


@settings(SLOW, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    acts=st.lists(st.sampled_from(["delete", "restore", "copy", "move"]), max_size=8),
)
def test_deleting_restoring_and_copying_never_shrink_or_double_the_total(
    tmp_path_factory: pytest.TempPathFactory, seed: int, acts: list[str]
) -> None:
    tmp_path = tmp_path_factory.mktemp("acts")
    roots = [tmp_path / "sessions", tmp_path / "backup"]
    roots[1].mkdir()
    sessions = forest(roots[0], seed)
    rng = random.Random(seed)
    for session in sessions:
        session.write()
    with archive(tmp_path) as kept:
        kept.sync(roots)
        expected = spend(kept)
        for number, act in enumerate(acts):
            session = rng.choice(sessions)
            backup = roots[1] / session.session_id
            if act == "delete":
                shutil.rmtree(session.folder, ignore_errors=True)
            elif act == "restore":
                rewritten(session, START // 1000 + 60 * number)
            elif act == "copy" and session.folder.exists() and not backup.exists():
                shutil.copytree(session.folder, backup)
            elif act == "move" and session.folder.exists() and not backup.exists():
                session.folder.rename(backup)
            kept.sync(roots)
            assert spend(kept) == expected


@settings(SLOW, max_examples=40)
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.floats(0, 1), max_size=5))
def test_read_bit_by_bit_gives_the_calls_of_one_reading(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[float]
) -> None:
    """A forest that grows, all of its sessions at once, and the manifest of each now and then missing."""
    tmp_path = tmp_path_factory.mktemp("grown")
    sessions = forest(tmp_path / "sessions", seed)
    whole = [(list(session.messages), session.manifest) for session in sessions]
    rng = random.Random(seed)
    with archive(tmp_path / "bit by bit") as kept:
        for number, share in enumerate([*sorted(cuts), 1.0]):
            for session, (messages, manifest) in zip(sessions, whole, strict=True):
                session.messages = messages[: round(share * len(messages))]
                session.manifest = manifest if share == 1.0 or rng.random() < 0.8 else None
                rewritten(session, START // 1000 + 60 * number)
                if session.manifest is None:
                    session.manifest_file.unlink(missing_ok=True)
            kept.sync([tmp_path / "sessions"])
        grown = stored(kept)
    with archive(tmp_path / "at once") as kept:
        kept.sync([tmp_path / "sessions"])
        assert grown == stored(kept)


# --- Calls that were made stay ----------------------------------------------------------------------------


def edited(session: Session, *more: Any) -> None:
    """The user edits the first prompt: what followed it goes, and another answer comes in its place."""
    del session.messages[1:]
    session.reply("Another answer", **more[0])


@pytest.mark.parametrize("identity", [{}, {"id": ...}, {"id": "msg_same"}], ids=["own", "none", "same"])
def test_a_call_whose_message_was_replaced_still_counts(tmp_path: Path, identity: dict[str, Any]) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("First answer", ts=START + 5000, **{"id": "msg_first", **identity}, metrics=paid(0.01))
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        edited(session, {"id": "msg_second", **identity, "ts": START + 90_000, "metrics": paid(0.02, 2000)})
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        assert spend(kept) == (2, 3 * CENT)


def test_counts_that_come_late_replace_what_stood_there(tmp_path: Path) -> None:
    """The same message, at the same time: its counts are known better now, and it is no second call."""
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.reply("Answer", metrics=metrics(1000, 1), modelInfo=ANTHROPIC)
    rewritten(session, START // 1000)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert [(call.kind, call.counts) for call in counted(kept)] == [("estimated", (1000, 0, 0, 1))]
        session.messages[-1]["metrics"] = paid(0.01, 1000, 50)
        rewritten(session, START // 1000 + 60)
        kept.sync([session.root])
        (call,) = rows(kept)
    assert (call.kind, call.amount, call.counts, call.counted) == ("reported", CENT, (1000, 0, 0, 50), 1)


def test_a_slash_and_a_system_message_are_no_calls(tmp_path: Path) -> None:
    """Counts count where an assistant's message has them."""
    session = talk(tmp_path / "sessions", "1796026000000_origi", START, 1)
    session.add("user", [text("x")], id="odd", metrics=paid(9))
    session.file.parent.mkdir(parents=True)
    session.file.write_bytes(pretty(session.document()))
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        assert spend(kept) == (1, CENT)
