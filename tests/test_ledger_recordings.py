"""The ledger over what the real Cline wrote: each session against Cline's own sum, and copies of all of them once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import recordings
from ledgers import Row, Total, rows, summed
from sessions import archive

from backstory import Archive

COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
UNSUMMED = {
    "imported-claude-codex-opencode": "another tool's",
    "killed-mid-run": "Cline sums up at the end of a turn",
    "killed-then-reconciled": "Cline sums up at the end of a turn",
    "growing": "recorded without a manifest",
}


def take(kept: Archive, scenario: str) -> None:
    """Read the sessions of a recording into an archive."""
    for own in recordings.sessions(scenario):
        kept.ingest(str(recordings.session_path(scenario, own)))


def usage(scenario: str, own: str) -> tuple[int, ...] | None:
    """What Cline's manifest says that a session used: four counts and billionths of a dollar; null where nothing."""
    path = recordings.session_path(scenario, own) / f"{own}.json"
    found = json.loads(path.read_text("utf-8"))["metadata"].get("usage")
    return found and (*(found[name] for name in COUNTS), round(found["totalCost"] * 1e9))


def added(calls: Iterable[Row]) -> tuple[int, ...]:
    """The same of calls, whether they count or not."""
    own = list(calls)
    counts = [
        (sum(call.counts[:3]), call.output, call.cache_read, call.cache_write, call.nano or 0) for call in own
    ]
    return tuple(map(sum, zip(*counts, strict=True))) if own else (0, 0, 0, 0, 0)


@pytest.mark.parametrize("scenario", [name for name in recordings.scenarios() if name not in UNSUMMED])
def test_the_leads_calls_are_what_cline_says_that_they_are(tmp_path: Path, scenario: str) -> None:
    with archive(tmp_path) as kept:
        take(kept, scenario)
        found = rows(kept)
    for own in recordings.sessions(scenario):
        lead = [call for call in found if call.session_id == own and call.actor_id == "root"]
        assert added(lead) == (usage(scenario, own) or (0, 0, 0, 0, 0))


def test_cached_tokens_and_a_cost_of_clines_catalogue(tmp_path: Path) -> None:
    with archive(tmp_path) as kept:
        take(kept, "anthropic-cost-cache-redacted-thinking")
        found = rows(kept)
    assert [call.counts for call in sorted(found, key=lambda call: call.at or 0)] == [
        (100, 3000, 2000, 400),
        (50, 5000, 10, 20),
    ]
    assert summed(found) == Total(2, 150, 8000, 2010, 420, reported=16_687_500)


@pytest.mark.parametrize("scenario", ["subagent-two", "team"])
def test_children_count_beside_the_lead(tmp_path: Path, scenario: str) -> None:
    with archive(tmp_path) as kept:
        take(kept, scenario)
        found = rows(kept)
    (own,) = recordings.sessions(scenario)
    lead = usage(scenario, own)
    assert lead is not None
    everything = summed(found)
    children = [call for call in found if call.actor_id != "root"]
    assert children
    assert everything.calls == len(found)
    assert everything.input == lead[0] + sum(sum(call.counts[:3]) for call in children)


def test_a_fork_repeats_the_sum_and_not_the_calls(tmp_path: Path) -> None:
    """The two manifests together say more than was spent; what both have in common counts once."""
    with archive(tmp_path) as kept:
        take(kept, "fork")
        found = rows(kept)
    sums = [usage("fork", own) or (0,) for own in recordings.sessions("fork")]
    distinct = {(call.message_id, call.at, call.counts) for call in found}
    assert len(distinct) == sum(call.counted for call in found) < len(found)
    assert summed(found).input < sum(own[0] for own in sums)


def test_imported_calls_are_listed_and_count_for_nobody_here(tmp_path: Path) -> None:
    """Claude Code and OpenCode leave what was cached out of the prompt, Codex does not."""
    with archive(tmp_path) as kept:
        take(kept, "imported-claude-codex-opencode")
        found = rows(kept)
    assert sorted((call.counts, call.counted) for call in found) == sorted(
        [
            ((100, 2000, 300, 50), 0),
            ((10, 3000, 500, 40), 0),
            ((12, 3600, 0, 20), 0),
            ((1000, 4000, 0, 60), 0),
        ]
    )
    assert summed(found) == Total()


def test_all_recordings_in_one_archive(tmp_path: Path) -> None:
    """Some hold the same session at two moments, some each other's copies: every request counts once."""
    with archive(tmp_path) as kept:
        for scenario in recordings.scenarios():
            if scenario != "growing":
                take(kept, scenario)
        found = rows(kept)
    own = {(call.message_id, call.at, call.counts) for call in found if "imported" not in (call.flags or "")}
    assert sum(call.counted for call in found) == len(own)
    assert all(call.kind for call in found)
