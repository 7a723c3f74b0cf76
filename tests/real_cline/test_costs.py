"""What the real Cline spends on a model whose prices it knows: the ledger has the figures that were served."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from backstory import Archive, config
from backstory.ledger import pricing

from .anthropic_model import NAME, AnthropicModel, CacheUsage
from .conftest import Scene, Stage
from .home import RUN_LIMIT, ClineHome
from .model import Reply, Script, ToolCall, Usage
from .watching import steps_of

pytestmark = pytest.mark.real_cline

LOOK = CacheUsage(5100, 400, cached=3000, written=2000)
DONE = CacheUsage(5160, 20, cached=5000, written=60)
COSTS = (14_700_000, 2_325_000)
"""By Cline's catalogue: $3 fresh, $0.30 read, $3.75 written and $15 out per million, in billionths of a dollar."""
CHILD = "You are the COUNTER of files."
COUNTED = CacheUsage(1100, 10, written=1000)
CHILD_COST = 4_200_000


def point_at(cline: ClineHome, url: str) -> None:
    """Give Cline a key for Anthropic, as a person does, and the mock's address, which only the file can hold."""
    command = [str(cline.binary), "auth", "-p", "anthropic", "-k", "sk-test", "-m", NAME]
    subprocess.run(
        command, cwd=cline.project, env=cline.env, check=True, capture_output=True, timeout=RUN_LIMIT
    )
    path = cline.root / ".cline" / "data" / "settings" / "providers.json"
    settings = json.loads(path.read_text())
    settings["providers"]["anthropic"]["settings"]["baseUrl"] = f"{url}/v1"
    path.write_text(json.dumps(settings, indent=2))


@pytest.fixture(scope="module")
def priced(stage: Stage) -> Iterator[Stage]:
    """The module's stage with the model of another maker."""
    with AnthropicModel() as model:
        point_at(stage.cline, model.url)
        yield Stage(stage.cline, model, stage.backstory)


@pytest.fixture(scope="module")
def scene(priced: Stage) -> Scene:
    echo = ToolCall("toolu_1", "run_commands", {"commands": ["echo a"]})
    script = Script([Reply("Looking.", "Let me think", (echo,), LOOK), Reply("Done.", usage=DONE)])
    return priced.play("Look around", "-P", "anthropic", scripts=(script,), model=NAME)


def calls(stage: Stage, scene: Scene) -> list[dict[str, Any]]:
    """The session's calls in the archive, with the price of each settled."""
    home = stage.backstory.archive_home
    with Archive(env=stage.backstory.env) as archive:
        pricing.settle(archive.connection, config.load(home), home)
        cursor = archive.connection.cursor()
        cursor.row_factory = sqlite3.Row
        rows = cursor.execute(
            "SELECT call.* FROM call JOIN file ON file.n = call.file JOIN session ON session.n = file.session"
            " WHERE session.id = ? ORDER BY call.at, call.n",
            (scene.session_id,),
        )
        return [dict(row) for row in rows]


def four(usage: Usage) -> tuple[int, int, int, int]:
    assert isinstance(usage, CacheUsage)
    return usage.fresh, usage.cached, usage.written, usage.completion


def counts(call: dict[str, Any]) -> tuple[int, int, int, int]:
    return call["fresh"], call["cache_read"], call["cache_write"], call["output"]


def test_cline_stores_the_whole_prompt_in_one_number(priced: Stage, scene: Scene) -> None:
    """What the next test is worth: a count that already holds what was cached."""
    found = [
        message["metrics"] for message in priced.cline.messages(scene.session_id) if "metrics" in message
    ]
    assert [(entry["inputTokens"], entry["cost"]) for entry in found] == [
        (5100, pytest.approx(0.0147)),
        (5160, pytest.approx(0.002325)),
    ]


def test_the_ledger_has_the_counts_that_were_served(priced: Stage, scene: Scene) -> None:
    assert isinstance(priced.model, AnthropicModel)
    served = [four(usage) for usage in priced.model.usages()]
    assert served == [(100, 3000, 2000, 400), (100, 5000, 60, 20)]
    assert [counts(call) for call in calls(priced, scene)] == served


def test_the_cost_is_the_one_that_cline_recorded(priced: Stage, scene: Scene) -> None:
    found = calls(priced, scene)
    assert [(call["kind"], call["amount"]) for call in found] == [("reported", cost) for cost in COSTS]
    assert [(call["counted"], call["route"], call["model"]) for call in found] == [(1, "anthropic", NAME)] * 2


def test_the_sum_is_clines_own_total(priced: Stage, scene: Scene) -> None:
    usage = priced.cline.manifest(scene.session_id)["metadata"]["usage"]
    found = calls(priced, scene)
    assert sum(call["amount"] for call in found) == round(usage["totalCost"] * 1e9)
    total = [sum(column) for column in zip(*map(counts, found), strict=True)]
    assert (sum(total[:3]), total[1], total[2], total[3]) == (
        usage["inputTokens"],
        usage["cacheReadTokens"],
        usage["cacheWriteTokens"],
        usage["outputTokens"],
    )


def test_a_thought_and_a_command_stand_in_the_record(scene: Scene) -> None:
    (command,) = steps_of(scene.record, "command")
    assert (command["payload"]["command"], command["outcome"]) == ("echo a", "ok")


@pytest.fixture(scope="module")
def family(priced: Stage, scene: Scene) -> Scene:
    """A second session, in which a subagent spends too."""
    task = {"systemPrompt": CHILD, "task": "Count the files"}
    lead = Script(
        [
            Reply("Asking.", calls=(ToolCall("toolu_2", "spawn_agent", task),), usage=LOOK),
            Reply("2.", usage=DONE),
        ]
    )
    child = Script([Reply("There are 2.", usage=COUNTED)], when=CHILD)
    return priced.play("Ask a subagent", "-P", "anthropic", scripts=(lead, child), model=NAME)


def test_a_subagent_counts_here_and_not_in_clines_total(priced: Stage, family: Scene) -> None:
    usage = priced.cline.manifest(family.session_id)["metadata"]["usage"]
    assert round(usage["totalCost"] * 1e9) == sum(COSTS)
    found = calls(priced, family)
    assert sorted(call["amount"] for call in found) == sorted([*COSTS, CHILD_COST])
    assert sum(call["amount"] for call in found if call["counted"]) == sum(COSTS) + CHILD_COST
