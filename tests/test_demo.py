"""The samples of `backstory demo`: laid out as Cline writes, and readable as their stories tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import recordings

import backstory.demo
from backstory import Archive, read_session
from backstory.demo import load, settings
from backstory.demo.moments import iso
from backstory.schema.record import Record
from backstory.schema.step import Command, Edit, Other, Read, Step
from backstory.store.derived import fates

NOW = 1_796_042_116_000
"""30 November 2026, 12:35:16 UTC."""

RUNNING = {"k3v9q", "7h2mx"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    assert load(folder / "sessions", NOW) == len(list((folder / "sessions").iterdir()))
    settings(folder)
    return folder


@pytest.fixture(scope="module")
def archive(data: Path) -> Iterator[Archive]:
    env = {"HOME": str(data), "CLINE_DATA_DIR": str(data)}
    with Archive(data / "archive.db", env=env, now=lambda: NOW) as opened:
        report = opened.sync()
        assert not report.torn
        assert not report.failed
        yield opened


def find(data: Path, short: str) -> Path:
    return next((data / "sessions").glob(f"*_{short}"))


def shorts(data: Path) -> list[str]:
    return [folder.name.split("_", 1)[1] for folder in sorted((data / "sessions").iterdir())]


def read(data: Path, short: str) -> Record:
    return read_session(find(data, short), env={"HOME": str(data), "CLINE_DATA_DIR": str(data)})


def documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The files of all sessions below a folder, by their names."""
    files = sorted(folder.glob("**/sessions/*/*.json"))
    return {path.name: json.loads(path.read_text("utf-8")) for path in files}


def conversations(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The messages of each messages file, by session and file."""
    found = documents(data)
    return {name: found[name]["messages"] for name in found if name.endswith(".messages.json")}


# Layout


def test_is_printed_as_cline_prints(data: Path) -> None:
    for path in (data / "sessions").rglob("*.json"):
        raw = path.read_bytes()
        document = json.loads(raw)
        assert raw.decode() == json.dumps(document, indent=2, ensure_ascii=False) + "\n", path.name


def shapes(value: Any, kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The keys of every object whose keys Cline itself writes, in their order."""
    if isinstance(value, list):
        for item in value:
            yield from shapes(item, kind)
    elif isinstance(value, dict):
        if kind == "content":
            kind = f"{value['type']} block"
        yield kind, tuple(value)
        for key, below in value.items():
            if key not in ("input", "content") or (key == "content" and kind == "messages"):
                yield from shapes(below, key)


def order(folder: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str, str]]]:
    """Which keys stand in which kind of object, and which of two comes first."""
    keys, before = set(), set()
    for name, document in documents(folder).items():
        kind = name.split(".", 1)[1] if name.count(".") > 1 else "manifest"
        for where, names in shapes(document, kind):
            keys |= {(where, name) for name in names}
            before |= {(where, one, other) for at, one in enumerate(names) for other in names[at + 1 :]}
    return keys, before


def test_has_clines_keys_in_clines_order(data: Path) -> None:
    known, clines = order(recordings.RECORDINGS)
    keys, ours = order(data)
    pictures = {"image block", "media block", "media"}  # No recording has one in a message.
    assert {key for key in keys - known if key[0] not in pictures} == set()
    turned = {(where, one, other) for where, one, other in ours - clines if (where, other, one) in clines}
    assert turned == set()


def test_names_are_safe_and_unique(data: Path) -> None:
    folders = [folder.name for folder in (data / "sessions").iterdir()]
    assert len(folders) == len({folder.split("_", 1)[1] for folder in folders})
    for folder in folders:
        assert re.fullmatch(r"\d{13}_[0-9A-Za-z]{5}", folder)
        for file in (data / "sessions" / folder).iterdir():
            assert re.fullmatch(r"[0-9A-Za-z_.]+", file.name)
            assert len(str(file.name)) < 80


def test_every_call_has_its_result_but_the_running_ones(data: Path) -> None:
    open_calls: dict[str, int] = {}
    for name, messages in conversations(data).items():
        calls: list[str] = []
        for message in messages:
            results = [block for block in message["content"] if block["type"] == "tool_result"]
            assert len(results) <= 1
            for block in results:
                calls.remove(block["tool_use_id"])
            uses = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            assert not (uses and calls), "a reply before all results are in"
            calls += uses
        if calls:
            open_calls[name.split(".")[0].split("_", 1)[1]] = len(calls)
    assert open_calls == dict.fromkeys(RUNNING, 1)


def test_times_ascend(data: Path) -> None:
    for name, messages in conversations(data).items():
        times = [message["ts"] for message in messages]
        assert all(one < other for one, other in pairwise(times)), name


def test_nothing_is_later_than_now(data: Path) -> None:
    for folder in (data / "sessions").iterdir():
        manifest = json.loads((folder / f"{folder.name}.json").read_text("utf-8"))
        last = max(message["ts"] for name in folder.glob("*.messages.json") for message in _messages(name))
        assert int(folder.name.split("_")[0]) <= last <= NOW
        assert manifest["started_at"] <= iso(last) <= manifest.get("ended_at", iso(NOW)) <= iso(NOW)
        for file in folder.iterdir():
            assert file.stat().st_mtime <= NOW / 1000
            assert json.loads(file.read_text("utf-8")).get("updated_at", iso(NOW)) <= iso(NOW)


def _messages(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text("utf-8"))["messages"])


def test_ids_are_unique_but_for_the_copied_ones(data: Path) -> None:
    copied = {message["id"] for message in _messages(next(find(data, "m9lz0").glob("*_m9lz0.messages.json")))}
    ids = [message["id"] for messages in conversations(data).values() for message in messages]
    twice = {one for one in ids if ids.count(one) > 1}
    assert twice < copied


def test_the_same_moment_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    load(tmp_path, NOW)
    again = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.json")}
    first = data / "sessions"
    assert again == {path.relative_to(first): path.read_bytes() for path in first.rglob("*.json")}


def test_a_later_moment_moves_every_session(data: Path, tmp_path: Path) -> None:
    week = 7 * 24 * 3600 * 1000
    load(tmp_path, NOW + week)
    moved = sorted(folder.name for folder in tmp_path.iterdir())
    for before, after in zip(sorted(p.name for p in (data / "sessions").iterdir()), moved, strict=True):
        assert int(after.split("_")[0]) - int(before.split("_")[0]) == week
        assert after.split("_")[1] == before.split("_")[1]


def test_clines_totals_are_the_sum_of_its_requests(data: Path) -> None:
    for short in set(shorts(data)) - RUNNING - {"0dXOZ"}:
        folder = find(data, short)
        manifest = json.loads((folder / f"{folder.name}.json").read_text("utf-8"))
        metrics = [m["metrics"] for m in _messages(folder / f"{folder.name}.messages.json") if "metrics" in m]
        usage = manifest["metadata"]["usage"]
        assert usage["inputTokens"] == sum(each["inputTokens"] for each in metrics)
        assert usage["totalCost"] == pytest.approx(sum(each.get("cost", 0) for each in metrics))
        for each in metrics:
            assert each["cacheReadTokens"] + each["cacheWriteTokens"] <= each["inputTokens"]


def test_settings_of_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "globalState.json"
    path.write_text("{}")
    assert not settings(tmp_path)
    assert path.read_text() == "{}"


def test_writes_from_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "backstory.demo", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(list(tmp_path.iterdir()))} sample sessions in {tmp_path}\n"


def test_the_package_is_small() -> None:
    folder = Path(backstory.demo.__file__).parent
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 250_000


# Reading


def test_is_read_whole(data: Path) -> None:
    for short in shorts(data):
        fidelity = read(data, short).session.fidelity
        assert fidelity.whole, short
        assert (fidelity.refused, fidelity.salvaged, fidelity.notes) == ((), (), ()), short
        assert fidelity.unknown == ({"block:media": 1} if short == "klx20" else {}), short


def test_ids_of_steps_are_unique(data: Path) -> None:
    for short in shorts(data):
        ids = [step.id for step in read(data, short).steps]
        assert len(ids) == len(set(ids)), short


def subject(step: Step) -> str:
    payload = step.payload
    if isinstance(payload, Command):
        return payload.command
    if isinstance(payload, Read | Edit):
        return payload.path.removeprefix("/home/dev/work/api-gateway/")
    if isinstance(payload, Other):
        return payload.tool_name
    return payload.role


def test_k3v9q_has_four_turns(data: Path) -> None:
    record = read(data, "k3v9q")
    assert record.session.id == "1796040242318_k3v9q"
    assert record.session.title == "Requests get a 500 when Redis is down. Let them through and log it once."
    assert (record.session.project, record.session.branch) == ("api-gateway", "fix/rate-limit-redis")
    assert [turn.mode for turn in record.turns] == ["plan", "act", "act", "act"]
    root = [step for step in record.steps if step.actor_id == "root"]
    assert [sum(step.turn_id == turn.id for step in root) for turn in record.turns] == [8, 11, 6, 5]
    assert len(record.steps) - len(root) == 8
    points = [turn.checkpoint.ref[:7] if turn.checkpoint else None for turn in record.turns]
    assert points == ["6d25840", "a81c02e", None, None]


def test_k3v9q_fails_where_its_story_says(data: Path) -> None:
    record = read(data, "k3v9q")
    failed = [
        (subject(step), step.error.kind, step.decision == "rejected")
        for step in record.steps
        if step.outcome == "failed" and step.error is not None
    ]
    assert failed == [
        ("config/limits.yaml", "not_found", False),
        ("npm test -- limiter", "exit_code", False),
        ("src/middleware/rate-limit.ts", "tool", False),
        ("git push --force-with-lease origin fix/rate-limit-redis", "denied", True),
        ("npm run bench -- --seconds 60", "timeout", False),
        ("github__get_issue", "mcp", False),
        ("npm test", "exit_code", False),
    ]
    denied = next(step for step in record.steps if step.decision == "rejected")
    assert denied.error is not None
    assert "<feedback>\nNot yet, I want to read it first.\n</feedback>" in denied.error.message
    assert (subject(record.steps[-1]), record.steps[-1].outcome) == ("npm test", "unknown")


def test_k3v9q_edits_and_spends_as_shown(data: Path) -> None:
    record = read(data, "k3v9q")
    edits = [s for s in record.steps if isinstance(s.payload, Edit) and s.outcome == "ok"]
    assert {step.decision for step in edits} == {"accepted"}
    assert [
        (subject(s), s.payload.added, s.payload.removed) for s in edits if isinstance(s.payload, Edit)
    ] == [
        ("src/limiter/redis-limiter.ts", 7, 2),
        ("src/limiter/log-once.ts", 9, 0),
        ("src/limiter/log-once.ts", 1, 0),
        ("src/middleware/rate-limit.ts", 3, 2),
        ("CHANGELOG.md", 1, 0),
    ]
    cents = [
        round(sum(call.nano or 0 for call in record.calls if _turn(record, call) == turn.id) / 10_000_000)
        for turn in record.turns
    ]
    assert cents == [10, 17, 19, 7]
    background = next(step for step in record.steps if subject(step) == "npm run dev")
    assert isinstance(background.payload, Command)
    assert background.payload.output_ref == "/tmp/cline-command-Qw7c1Z/output.log"
    assert background.content_status == "reference_only"


def _turn(record: Record, call: Any) -> str | None:
    """A subagent's call belongs to the turn of the call that spawned it."""
    if call.actor_id == "root":
        return str(call.turn_id)
    return next(step.turn_id for step in record.steps if step.actor_id == call.actor_id)


def test_patches_name_every_file(data: Path) -> None:
    edits = [step for step in read(data, "p81zd").steps if isinstance(step.payload, Edit)]
    done = [(s.payload.operation, s.outcome) for s in edits if isinstance(s.payload, Edit)]
    assert done == [
        ("create", "ok"),
        ("create", "ok"),
        ("patch", "failed"),
        ("patch", "ok"),
        ("delete", "ok"),
        ("move", "ok"),
        ("patch", "ok"),
        ("patch", "ok"),
    ]


def test_children_hang_under_their_calls(data: Path) -> None:
    wanted = {
        "k3v9q": ["subagent"],
        "av8gq": ["subagent"] * 2,
        "t5d2k": ["subagent"] * 4,
        "edfz0": ["teammate"] * 2,
    }
    for short in shorts(data):
        record = read(data, short)
        children = [actor for actor in record.actors if actor.type != "root"]
        assert [child.type for child in children] == wanted.get(short, []), short
        calls = {step.id: subject(step) for step in record.steps}
        for child in children:
            assert calls[child.parent_step_id or ""] in ("spawn_agent", "team_run_task")


def test_the_fork_repeats_thirteen_steps(data: Path) -> None:
    fork, source = read(data, "m9lz0"), read(data, "ysn27")
    assert fork.session.copied_from is not None
    assert fork.session.copied_from.session_id == source.session.id
    copied = [step.id for step in fork.steps if "copied" in step.flags]
    assert copied == [step.id for step in source.steps[:13]]
    assert source.session.status == "cancelled"
    assert [segment.inferred_from for segment in source.segments] == [None, "resumption_prompt"]


def test_the_import_goes_on_in_cline(data: Path) -> None:
    record = read(data, "0dXOZ")
    assert record.session.imported is not None
    assert record.session.imported.tool == "claude-code"
    assert [turn.mode for turn in record.turns] == [None, "act"]
    assert ["imported" in step.flags for step in record.steps] == [True] * 5 + [False] * 4


def test_each_has_what_it_is_there_for(data: Path) -> None:
    assert [turn.mode for turn in read(data, "csv8d").turns] == ["plan", "plan"]
    assert [turn.mode for turn in read(data, "08nb3").turns] == ["yolo"]
    assert read(data, "t5d2k").session.compaction is not None
    assert len(read(data, "t5d2k").steps) > 250
    assert sum("hook_context" in step.flags for step in read(data, "rg62z").steps) == 1
    assert sum("team_update" in step.flags for step in read(data, "edfz0").steps) == 1
    assert sum("background_left" in step.flags for step in read(data, "hnrzu").steps) == 1
    assert [step.flags for step in read(data, "8mynx").steps][-1] == ("error",)
    pictures = [a.kind for s in read(data, "klx20").steps for a in getattr(s.payload, "attachments", ())]
    wanted = ["file", "workspace_diagnostics", "image", "file", "image", "explicit_instructions"]
    assert sorted(pictures) == sorted(wanted)
    models = {read(data, short).session.model for short in shorts(data)}
    assert models >= {"claude-sonnet-4-5", "gpt-5.2-codex", "glm-5.2", "in-house-coder", "qwen3-coder:30b"}


# In the archive


def test_the_list_shows_what_the_stories_tell(archive: Archive) -> None:
    listed = {row.short_id: row for row in archive.sessions(limit=50)}
    assert {short for short, row in listed.items() if row.state == "running"} == RUNNING
    assert {short: row.state for short, row in listed.items() if row.state not in ("running", "ended")} == {
        "ysn27": "interrupted",
        "8mynx": "error",
    }
    failing = {
        short: row.session.totals.failing for short, row in listed.items() if row.session.totals.failing
    }
    assert failing == {"k3v9q": 2, "p81zd": 2, "2js90": 2, "8mynx": 1, "hnrzu": 1}
    steps = {short: row.session.totals.steps for short, row in listed.items()}
    assert {
        short: steps[short] for short in ("k3v9q", "7h2mx", "w0c4r", "p81zd", "m3q7e", "2js90", "ysn27")
    } == {
        "k3v9q": 30,
        "7h2mx": 22,
        "w0c4r": 39,
        "p81zd": 21,
        "m3q7e": 9,
        "2js90": 21,
        "ysn27": 16,
    }
    assert listed["m3q7e"].session.totals.rejected == 2


def test_the_limiter_test_is_mended_after_one_edit(archive: Archive) -> None:
    record = archive.record(archive.resolve("k3v9q"))
    found = fates(record.steps)
    mended = next(found[step.id] for step in record.steps if subject(step) == "npm test -- limiter")
    assert (mended.failing, mended.edits) == (False, 1)
    assert round((mended.after or 0) / 1000) == 41


def test_an_error_is_found_where_it_was_met(archive: Archive) -> None:
    found = archive.search("ECONNREFUSED")
    assert {hits.listed.short_id for hits in found.sessions} == {"c4t0p", "k3v9q", "8mynx"}
