"""From Cline's own total of a session to the sum of its calls: every difference has its reason, and they add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ledgers import ANTHROPIC, CENT, HOUR, forked, imported, paid, rewritten, spoken, talk
from sessions import START, Session, archive, tool_use
from test_terminal_story import VIEW, lines

from backstory.cli.usage_reconcile import draw_reconcile, reconcile_json
from backstory.ledger.reconcile import Compared, Difference, by_reason, reconcile


def ended(session: Session, dollars: float | None, tokens: int = 1000, output: int = 50) -> Session:
    """Close a session as Cline does, with its total."""
    assert session.manifest is not None
    session.manifest |= {"status": "completed", "ended_at": "2026-11-30T12:00:00.000Z"}
    if dollars is not None:
        usage = {"inputTokens": tokens, "outputTokens": output, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        session.manifest["metadata"]["usage"] = {**usage, "totalCost": dollars}
    return session


def compared(tmp_path: Path) -> dict[str, Compared]:
    """Every session by the end of its id; the differences of each lead from one sum to the other."""
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        found = reconcile(kept.connection)
    for one in found:
        assert (one.cline or 0) + sum(difference.nano for difference in one.differences) == one.here
    return {one.session_id.partition("_")[2]: one for one in found}


def reasons(one: Compared) -> dict[str, tuple[int, int]]:
    return {difference.reason: (difference.nano, difference.count) for difference in one.differences}


def test_both_agree(tmp_path: Path) -> None:
    ended(talk(tmp_path / "sessions", "1796026000000_equal", START, 3), 0.03, 3000, 150).write()
    one = compared(tmp_path)["equal"]
    assert (one.cline, one.here, one.differences, one.agrees) == (3 * CENT, 3 * CENT, (), True)


def test_sums_of_floats_are_rounded(tmp_path: Path) -> None:
    ended(talk(tmp_path / "sessions", "1796026000000_float", START, 3), 0.030000009, 3000, 150).write()
    one = compared(tmp_path)["float"]
    assert (reasons(one), one.agrees) == ({"rounding": (-9, 1)}, True)


def test_subagents(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_child", START, 1)
    session.reply(tool_use("call_1", "spawn_agent", {"task": "Count"}), metrics=paid(0.02))
    child = session.child("agent_1_abc")
    child.user("Count")
    child.reply("Three", metrics=paid(0.2))
    ended(session, 0.03, 2000, 100).write()
    one = compared(tmp_path)["child"]
    assert (reasons(one), one.agrees) == ({"subagents": (20 * CENT, 1)}, False)


def test_a_fork_repeats_its_parents_total(tmp_path: Path) -> None:
    parent = ended(talk(tmp_path / "sessions", "1796026000000_mothr", START, 5), 0.05, 5000, 250).write()
    fork = forked(parent, "1796029600000_forkd", START + HOUR)
    fork.prompt("On", id="on", ts=START + HOUR + 1)
    fork.reply("Yes", id="yes", ts=START + HOUR + 2, metrics=paid(0.01))
    ended(fork, 0.06, 6000, 300).write()
    found = compared(tmp_path)
    assert (found["mothr"].agrees, found["mothr"].here) == (True, 5 * CENT)
    assert (reasons(found["forkd"]), found["forkd"].here) == ({"copies": (-5 * CENT, 5)}, CENT)


def test_a_retry_left_no_message(tmp_path: Path) -> None:
    ended(talk(tmp_path / "sessions", "1796026000000_retry", START, 2), 0.03, 3000, 100).write()
    assert reasons(compared(tmp_path)["retry"]) == {"retries": (-CENT, 1)}


def test_money_without_tokens_is_unexplained(tmp_path: Path) -> None:
    ended(talk(tmp_path / "sessions", "1796026000000_other", START, 2), 0.5, 2000, 100).write()
    one = compared(tmp_path)["other"]
    assert (reasons(one), one.agrees) == ({"unexplained": (-48 * CENT, 1)}, False)


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    session = ended(talk(tmp_path / "sessions", "1796026000000_going", START, 3), 0.01, 1000, 50)
    assert session.manifest is not None
    session.manifest["status"] = "running"
    del session.manifest["ended_at"]
    session.write()
    assert reasons(compared(tmp_path)["going"]) == {"pending": (2 * CENT, 1)}


def test_killed_before_a_total(tmp_path: Path) -> None:
    talk(tmp_path / "sessions", "1796026000000_kille", START, 3).write()
    one = compared(tmp_path)["kille"]
    assert (one.cline, reasons(one)) == (None, {"no_total": (3 * CENT, 1)})


def test_messages_that_left(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_edits", START, 3)
    rewritten(session, 1_796_030_000)
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
    del session.messages[-1]
    rewritten(ended(session, 0.02, 2000, 100), 1_796_030_100)
    one = compared(tmp_path)["edits"]
    assert (one.here, reasons(one)) == (3 * CENT, {"superseded": (CENT, 1)})


def test_imports_and_covered_sessions_are_not_compared(tmp_path: Path) -> None:
    session = imported(tmp_path / "sessions", "1796026000000_imprt", START)
    spoken(session, 0)
    session.write()
    free = Session(tmp_path / "sessions", "1796026000001_cover", START)
    free.prompt("Hello")
    free.reply("Yes", modelInfo={"id": "glm-5.2", "provider": "cline-pass"})
    ended(free, None).write()
    assert compared(tmp_path) == {}


def test_a_total_alone_counts(tmp_path: Path) -> None:
    session = Session(tmp_path / "sessions", "1796026000000_alone", START)
    session.prompt("Hello")
    session.reply("Yes", modelInfo=ANTHROPIC, metrics=...)
    ended(session, 0.07).write()
    one = compared(tmp_path)["alone"]
    assert (one.cline, one.here, one.agrees) == (7 * CENT, 7 * CENT, True)


def one(short: str, title: str | None, cline: int | None, here: int, *differences: Any) -> Compared:
    own = tuple(Difference(reason, round(cents * CENT), count) for reason, cents, count in differences)
    return Compared(
        f"1796040242318_{short}", title, "web", None if cline is None else cline * CENT, here * CENT, own
    )


FOUND = [
    one("m9lz0", "Split the queue into its own process (fork)", 185, 98, ("copies", -87, 12)),
    one("t5d2k", "Port the date helpers to Temporal", 202, 274, ("subagents", 72, 4)),
    one("8mynx", None, None, 9, ("no_total", 9, 1)),
    one("w0c4r", "Why does the invoice job run twice", 197, 192, ("retries", -5, 1)),
    one("k3v9q", "Requests get a 500 when Redis is down", 53, 53),
]
SHORTS = {found.session_id: found.session_id[-5:] for found in FOUND}


def test_drawn() -> None:
    assert lines(draw_reconcile(VIEW, FOUND, SHORTS, 3)) == [
        "Cline's own session totals against the calls in its messages, 5 sessions",
        "",
        "  Cline's session totals                metadata.usage of 4 manifests    $6.37",
        "  subagents, left out by Cline          4 children                      +$0.72",
        "  copies, counted in another session    12 calls                        −$0.87",
        "  requests that left no message         1 session                       −$0.05",
        "  sessions without a total of Cline's   1 session                       +$0.09",
        "  ────────────────────────────────────────────────────────────────────────────",
        "  Backstory, reported                                                    $6.26",
        "",
        "  1 session agrees to the cent. The 4 that do not:",
        "  ID     TITLE                                              CLINE   HERE  WHY",
        "  m9lz0  Split the queue into its own process (fork)        $1.85  $0.98  12 copies −$0.87",
        "  t5d2k  Port the date helpers to Temporal                  $2.02  $2.74  4 subagents +$0.72",
        "  8mynx  (no prompt)                                            –  $0.09  no total of Cline's +$0.09",
        "  1 more: --limit 4. Nothing is unexplained.",
    ]


def test_one_session_drawn() -> None:
    assert lines(draw_reconcile(VIEW, FOUND[1:2], SHORTS, 3)) == [
        "Cline's own total of t5d2k against the calls in its messages",
        "",
        "  Cline's total                  metadata.usage of 1 manifest    $2.02",
        "  subagents, left out by Cline   4 children                     +$0.72",
        "  ────────────────────────────────────────────────────────────────────",
        "  Backstory, reported                                            $2.74",
    ]


def test_all_agree_drawn() -> None:
    assert lines(draw_reconcile(VIEW, FOUND[4:] * 2, SHORTS, 3))[-1] == (
        "  2 sessions agree to the cent. Nothing is unexplained."
    )


def test_unexplained_drawn() -> None:
    odd = one("p81zd", "Sort the table", 100, 148, ("unexplained", 48, 1))
    drawn = list(draw_reconcile(VIEW, [odd, *FOUND], {**SHORTS, odd.session_id: "p81zd"}, 9))
    assert lines(drawn)[-1] == "  1 session unexplained: backstory usage reconcile p81zd"
    assert sum(role == "failing" for line in drawn for _, role in line) == 3


def test_document_adds_up() -> None:
    document = json.loads(json.dumps(reconcile_json(FOUND)))
    totals = document["totals"]
    changes = sum(difference["usd"] for difference in totals["differences"])
    assert totals["cline_usd"] + changes == pytest.approx(totals["reported_usd"])
    assert [found["agrees"] for found in document["sessions"]] == [False, False, False, False, True]
    assert document["sessions"][2]["cline_usd"] is None
    assert [difference.reason for difference in by_reason(FOUND)] == [
        "subagents",
        "copies",
        "retries",
        "no_total",
    ]
