"""Subagents: each is an actor of its own, nested under the call that spawned it, and its tokens count."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall, Usage
from .watching import step, texts

pytestmark = pytest.mark.real_cline

COUNTER = "You are the COUNTER of files."
READER = "You are the READER of greetings."


def scripts(stage: Stage) -> tuple[Script, ...]:
    """A lead that asks two subagents at once, and the replies of each."""
    hello = {"files": [{"path": str(stage.cline.project / "hello.py")}]}
    count = {"systemPrompt": COUNTER, "task": "Count the files"}
    greet = {"systemPrompt": READER, "task": "Read the greeting"}
    lead = Script(
        [
            Reply(
                "Asking two.",
                calls=(ToolCall("count", "spawn_agent", count), ToolCall("greet", "spawn_agent", greet)),
                usage=Usage(1500, 100),
            ),
            Reply("They said: 2 files, hi.", usage=Usage(1600, 50)),
        ]
    )
    counter = Script(
        [
            Reply(
                "Counting.",
                calls=(ToolCall("ls", "run_commands", {"commands": ["ls"]}),),
                usage=Usage(500, 40),
            ),
            Reply("There are 2 files.", usage=Usage(600, 20)),
        ],
        when=COUNTER,
    )
    reader = Script(
        [
            Reply("Reading.", calls=(ToolCall("cat", "read_files", hello),), usage=Usage(510, 41)),
            Reply("It says hi.", usage=Usage(610, 21, 500)),
        ],
        when=READER,
    )
    return lead, counter, reader


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    return stage.play("Ask two subagents", scripts=scripts(stage))


def actor_of(scene: Scene, task: str) -> dict[str, Any]:
    found: dict[str, Any] = next(actor for actor in scene.record["actors"] if actor["task"] == task)
    return found


def test_each_child_hangs_under_the_call_that_spawned_it(stage: Stage, scene: Scene) -> None:
    stems = stage.cline.children(scene.session_id)
    assert [actor["id"] for actor in scene.record["actors"][:1]] == ["root"]
    assert sorted(actor["id"] for actor in scene.record["actors"][1:]) == stems
    assert {actor["type"] for actor in scene.record["actors"][1:]} == {"subagent"}
    assert actor_of(scene, "Count the files")["parent_step_id"] == "count#0"
    assert actor_of(scene, "Read the greeting")["parent_step_id"] == "greet#0"


def test_a_childs_steps_follow_the_step_that_spawned_it(scene: Scene) -> None:
    actors = {
        "root": "root",
        actor_of(scene, "Count the files")["id"]: "counter",
        actor_of(scene, "Read the greeting")["id"]: "reader",
    }
    order = [(actors[taken["actor_id"]], taken["type"]) for taken in scene.record["steps"]]
    assert order == [
        ("root", "message"),
        ("root", "message"),
        ("root", "other"),
        ("counter", "message"),
        ("counter", "message"),
        ("counter", "command"),
        ("counter", "message"),
        ("root", "other"),
        ("reader", "message"),
        ("reader", "message"),
        ("reader", "read"),
        ("reader", "message"),
        ("root", "message"),
    ]


def test_a_childs_steps_have_its_name_in_their_ids(scene: Scene) -> None:
    counter = actor_of(scene, "Count the files")["id"]
    command = step(scene.record, f"{counter}/ls#0")
    assert command["payload"]["command"] == "ls"
    assert "hello.py" in command["payload"]["stdout"]
    assert command["origin"]["file"] == f"{counter}.messages.json"


def test_only_the_person_starts_a_turn(scene: Scene) -> None:
    (turn,) = scene.record["turns"]
    assert turn["step_ids"] == [step["id"] for step in scene.record["steps"]]
    assert texts(scene.record, "user") == ["Ask two subagents", "Count the files", "Read the greeting"]


def test_tokens_of_the_children_count(stage: Stage, scene: Scene) -> None:
    spent, tokens = stage.model.spent(), [call["tokens"] for call in scene.record["calls"]]
    assert sum(count["input"] for count in tokens) == spent.prompt
    assert sum(count["cache_read"] for count in tokens) == spent.cached
    assert sum(count["output"] for count in tokens) == spent.completion
    counter = actor_of(scene, "Count the files")["id"]
    own = [call["tokens"]["input"] for call in scene.record["calls"] if call["actor_id"] == counter]
    assert own == [500, 600]
    assert len({call["key"] for call in scene.record["calls"]}) == len(stage.model.served)


def test_watched_while_they_worked_and_read_at_once_are_the_same(stage: Stage, scene: Scene) -> None:
    assert stage.backstory.read_at_once(scene.session_id) == scene.record
