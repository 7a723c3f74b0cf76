"""Backstory only reads: nothing under Cline's home changes, whatever Backstory does with it."""

from __future__ import annotations

import pytest

from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall

pytestmark = pytest.mark.real_cline


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    replies = [
        Reply("Looking.", calls=(ToolCall("ls", "run_commands", {"commands": ["ls"]}),)),
        Reply("Done."),
    ]
    return stage.play("Look around", scripts=(Script(replies),))


def test_reading_everything_changes_no_file_of_cline(stage: Stage, scene: Scene) -> None:
    before = stage.cline.state()
    assert stage.backstory.read_at_once(scene.session_id) is not None
    stage.backstory.call("sessions", "--json")
    stage.backstory.call("show", scene.session_id, "--json")
    stage.backstory.call("search", "around", "--json")
    assert stage.cline.state() == before


def test_a_watched_session_is_what_cline_wrote(stage: Stage, scene: Scene) -> None:
    """No file but Cline's own two stands in the folder of the session that was watched."""
    names = sorted(path.name for path in (stage.cline.sessions / scene.session_id).iterdir())
    assert names == [f"{scene.session_id}.json", f"{scene.session_id}.messages.json"]


def test_nothing_of_backstory_is_in_the_home(stage: Stage, scene: Scene) -> None:
    assert not (stage.cline.root / ".backstory").exists()
    assert stage.backstory.archive_home.is_dir()
