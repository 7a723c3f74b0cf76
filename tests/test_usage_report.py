"""Sums over calls that were really read: groups, filters, children, and that every grouping adds up."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import recordings
from ledgers import ANTHROPIC, CENT, HOUR, UNKNOWN, paid, talk
from sessions import START, Session, archive, metrics, tool_use

from backstory import Archive
from backstory.cli.usage_export import calls_jsonl, report_csv, report_json
from backstory.ledger.models import models, unpriced_names
from backstory.ledger.report import NAMES, By, Figures, Filter, report, total
from backstory.ledger.top import short_ids, top

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from clinegen.tree import generate

BYS: tuple[By, ...] = get_args(By)
SUMS = [name for name in Figures.__struct_fields__ if name != "sessions"]
TASK = "Count the files"


def family(root: Path) -> None:
    """A session that plans, then acts and spawns a child, which spawns a child of its own."""
    session = Session(root, "1796026000000_famly")
    session.prompt("Plan it", mode="plan")
    session.reply("I will", modelInfo=ANTHROPIC, metrics=paid(0.01, 1000, 50, read=900))
    session.prompt("Do it", mode="act")
    spawn = tool_use("call_1", "spawn_agent", {"task": TASK})
    session.reply(spawn, modelInfo=ANTHROPIC, metrics=paid(0.02, 2000, 50))
    child = session.child("agent_1_abc")
    child.user(TASK)
    child.reply(
        tool_use("call_2", "spawn_agent", {"task": f"{TASK} again"}), id="msg_a", metrics=paid(0.04, 300, 5)
    )
    grandchild = session.child("agent_2_def")
    grandchild.user(f"{TASK} again")
    grandchild.reply("Three", id="msg_b", metrics=paid(0.08, 200, 5))
    session.write()


def strangers(root: Path) -> None:
    """A session without a price, a covered one, and one on another surface, each on a day of its own."""
    for number, (model, surface) in enumerate(
        [
            (UNKNOWN, "cli"),
            ({"id": "z-ai/glm-5.2", "provider": "cline-pass"}, "cli"),
            ({"id": "qwen3-coder:30b", "provider": "ollama"}, "vscode"),
            ({"id": "GLM-5.2", "provider": "openai-compatible"}, "cli"),
        ]
    ):
        start = START + (number + 1) * 24 * HOUR
        session = Session(root, f"{start}_other{number}", start)
        assert session.manifest is not None
        session.manifest |= {"source": surface, "cwd": f"/home/dev/work/place{number}"}
        session.prompt("Hello", id=f"p{number}")
        session.reply("Yes", id=f"a{number}", modelInfo=model, metrics=metrics(1_000_000, 100, 400_000))
        session.write()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Archive]:
    family(tmp_path / "sessions")
    strangers(tmp_path / "sessions")
    with archive(tmp_path) as opened:
        opened.sync([tmp_path / "sessions"])
        yield opened


def rows(kept: Archive, by: By, which: Filter | None = None) -> dict[Any, Figures]:
    found = report(kept.connection, by, which or Filter()).rows
    return {next(iter(row.keys.values())): row.figures for row in found}


def adds_up(kept: Archive, which: Filter) -> None:
    expected = total(kept.connection, which)
    for by in BYS:
        found = report(kept.connection, by, which)
        assert found.totals == expected, by
        for name in SUMS:
            assert sum(getattr(row.figures, name) for row in found.rows) == getattr(expected, name), (
                by,
                name,
            )
        assert set().union(*(row.figures.sessions for row in found.rows)) == expected.sessions
        assert all(tuple(row.keys) == NAMES[by] for row in found.rows)
        assert len({tuple(row.keys.values()) for row in found.rows}) == len(found.rows)


def test_kinds_stay_apart(kept: Archive) -> None:
    found = total(kept.connection, Filter())
    assert (found.calls, len(found.sessions)) == (8, 5)
    assert (found.reported_calls, found.reported) == (4, 15 * CENT)
    assert (found.covered_calls, found.listed) == (2, 1)
    assert (found.estimated_calls, found.unpriced_calls, found.unpriced_tokens) == (1, 1, 1_000_100)
    assert found.covered == found.estimated > 0
    assert (found.input, found.cache_read, found.output) == (4_003_500, 1_600_900, 510)


def test_every_grouping_adds_up(kept: Archive) -> None:
    for which in (
        Filter(),
        Filter(model="glm"),
        Filter(project="demo"),
        Filter(since=START + 24 * HOUR),
        Filter(until=START + 24 * HOUR),
    ):
        adds_up(kept, which)


def test_a_child_belongs_to_the_prompt_that_spawned_it(kept: Archive) -> None:
    which = Filter(project="demo")
    assert {mode: one.reported // CENT for mode, one in rows(kept, "mode", which).items()} == {
        "act": 14,
        "plan": 1,
    }
    assert {actor: one.calls for actor, one in rows(kept, "actor", which).items()} == {
        "root": 2,
        "subagent": 2,
    }
    found = top(kept.connection, which, 5)
    assert [(one.number, one.text, one.figures.reported // CENT) for one in found.prompts] == [
        (2, "Do it", 14),
        (1, "Plan it", 1),
    ]
    assert [(one.place.actor, one.number) for one in found.calls[:2]] == [
        ("agent_2_def", 2),
        ("agent_1_abc", 2),
    ]


def test_one_model_has_one_name_on_each_route(kept: Archive) -> None:
    found = report(kept.connection, "model", Filter(model="glm-5.2")).rows
    assert {tuple(row.keys.values()) for row in found} == {
        ("glm-5.2", "cline-pass"),
        ("glm-5.2", "openai-compatible"),
    }
    assert rows(kept, "model", Filter(model="GLM-5.2")).keys() == {"glm-5.2"}
    assert unpriced_names(kept.connection, Filter()) == ["in-house-coder"]
    priced = {one.model: one.prices for one in models(kept.connection, Filter())}
    assert priced["in-house-coder"] == []
    assert priced["GLM-5.2"] == priced["z-ai/glm-5.2"] != []


def test_filters(kept: Archive) -> None:
    assert rows(kept, "project", Filter(project="/home/dev/work/place1/")).keys() == {"place1"}
    assert rows(kept, "project", Filter(project="PLACE1")).keys() == {"place1"}
    assert rows(kept, "project", Filter(project="place")) == {}
    assert rows(kept, "source", Filter(since=START + 3 * 24 * HOUR)).keys() == {"vscode", "cli"}
    assert rows(kept, "source").keys() == {"cli", "vscode"}
    edge = START + 24 * HOUR + 2000
    assert total(kept.connection, Filter(since=edge, until=edge)).calls == 0
    assert total(kept.connection, Filter(since=edge, until=edge + 1)).calls == 1


def test_a_call_without_a_time_counts_when_its_session_began(tmp_path: Path) -> None:
    session = talk(tmp_path / "sessions", "1796026000000_still", START, 1)
    for message in session.messages:
        del message["ts"]
    session.write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        kept.connection.execute("UPDATE call SET at = NULL")
        assert list(rows(kept, "day")) == ["2026-11-30"]
        assert total(kept.connection, Filter(since=START, until=START + 1)).calls == 1


def test_documents(kept: Archive) -> None:
    found = report(kept.connection, "model", Filter())
    document = json.loads(json.dumps(report_json(found)))
    assert list(document) == ["totals", "rows"]
    assert document["totals"] == {
        "sessions": 5,
        "calls": 8,
        "tokens": {
            "fresh": 2_402_600,
            "cache_read": 1_600_900,
            "cache_write": 0,
            "input": 4_003_500,
            "output": 510,
            "total": 4_004_010,
        },
        "cost": {
            "reported_usd": 0.15,
            "estimated_usd": found.totals.estimated / 1e9,
            "covered_list_usd": found.totals.covered / 1e9,
            "unpriced_calls": 1,
        },
    }
    assert all(list(row) == ["model", "route", *document["totals"]] for row in document["rows"])
    lines = list(csv.DictReader(io.StringIO(report_csv(found, str))))
    assert len(lines) == len(found.rows)
    assert sum(int(line["total"]) for line in lines) == 4_004_010


def test_one_line_a_call(kept: Archive) -> None:
    lines = [json.loads(line) for line in calls_jsonl(kept.connection, Filter())]
    assert len(lines) == 8
    assert sum(line["tokens"]["total"] for line in lines) == 4_004_010
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    child = next(line for line in lines if line["actor"] == "subagent")
    root = next(line for line in lines if line["message_id"] == "msg_00000003")
    assert (child["mode"], child["turn_id"]) == ("act", root["turn_id"])
    assert root["key"] == "cline-cli:1796026000000_famly:msg_00000003"
    assert {line["kind"]: line["amount_usd"] for line in lines if line["kind"] == "unpriced"} == {
        "unpriced": None
    }


def test_top_says_what_came_before(kept: Archive) -> None:
    found = top(kept.connection, Filter(), 3)
    assert len(found.sessions) == len(found.prompts) == len(found.calls) == 3
    assert found.sessions[0].keys["project"] == "place3"
    last = top(kept.connection, Filter(project="demo"), 9).calls[-1]
    assert [(one.type, one.subject) for one in last.after] == [("message", "Plan it")]
    assert set(short_ids(kept.connection).values()) == {"famly", "other0", "other1", "other2", "other3"}


def test_the_recordings_add_up(tmp_path: Path) -> None:
    with archive(tmp_path) as kept:
        folders = {
            recordings.session_path(one, own).parent
            for one in recordings.scenarios()
            for own in recordings.sessions(one)
        }
        kept.sync(sorted(folders))
        assert total(kept.connection, Filter()).calls > 50
        adds_up(kept, Filter())


def test_a_generated_tree_adds_up(tmp_path: Path) -> None:
    expected = generate(tmp_path / "tree", sessions=40, calls=400, size=1_500_000, seed=3).ledger
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "tree"])
        found = total(kept.connection, Filter())
        assert (found.calls, found.reported_calls, found.reported) == (
            expected.calls,
            expected.reported,
            expected.nano,
        )
        assert (found.fresh, found.cache_read, found.cache_write, found.output) == (
            expected.fresh,
            expected.cache_read,
            expected.cache_write,
            expected.output,
        )
        adds_up(kept, Filter())
