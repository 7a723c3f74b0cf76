"""Learning in registered distributions: their sessions are read over the share, and named as they are at home.

Here the share is a folder of that name in the working directory: Linux allows backslashes in names.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import recordings
from running import Run, runner

from backstory.clients.wsl import records
from backstory.clients.wsl.records import Registration

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has real shares")
SESSION = "1796026012127_2js90"


@pytest.fixture
def backstory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The program with a distribution registered in which one session was recorded, and none on this side."""
    monkeypatch.chdir(tmp_path)
    found = Registration("Ubuntu", "cline", "/home/dev/.cline", "/home/dev")
    records.add(tmp_path / "home", found)
    store = Path(found.sessions)
    assert store.parts == (found.sessions,)
    shutil.copytree(recordings.session_path("basic-act", SESSION), store / SESSION)
    return runner(tmp_path / "cline", tmp_path / "home", monkeypatch, capfd)


def test_a_registered_distribution_is_learned_and_its_project_named_as_at_home(backstory: Run) -> None:
    document = json.loads(backstory("learn", "--json").out)
    (learned,) = document["learned"]
    assert learned["session_id"] == SESSION
    assert learned["project"] == "basic"


def test_its_folders_are_claimed_by_the_name_that_windows_has_for_them(backstory: Run) -> None:
    manifest = json.loads((recordings.session_path("basic-act", SESSION) / f"{SESSION}.json").read_text())
    folder = "\\\\wsl$\\ubuntu" + str(manifest["cwd"]).replace("/", "\\")
    backstory("workspace", "create", "inside")
    assert backstory("workspace", "claim", folder, "--workspace", "inside").code == 0
    (refused,) = json.loads(backstory("learn", "--json").out)["refused"]
    assert (refused["session_id"], refused["reason"]) == (SESSION, "claimed_by:inside")
    (learned,) = json.loads(backstory("learn", "--workspace", "inside", "--json").out)["learned"]
    assert learned["session_id"] == SESSION


def test_the_drives_of_windows_are_those_that_the_registration_names(backstory: Run, tmp_path: Path) -> None:
    manifest = json.loads((recordings.session_path("basic-act", SESSION) / f"{SESSION}.json").read_text())
    records.add(tmp_path / "home", Registration("Ubuntu", "cline", "/home/dev/.cline", "/home/dev", "/"))
    store = next(tmp_path.glob("*wsl*")) / SESSION / f"{SESSION}.json"
    store.write_text(json.dumps({**manifest, "cwd": "/c/work/basic", "workspace_root": "/c/work/basic"}))
    backstory("workspace", "create", "inside")
    assert backstory("workspace", "claim", "C:\\Work", "--workspace", "inside").code == 0
    (refused,) = json.loads(backstory("learn", "--json").out)["refused"]
    assert (refused["session_id"], refused["reason"]) == (SESSION, "claimed_by:inside")


def test_other_verbs_do_not_look_into_it_and_take_nothing_for_gone(backstory: Run) -> None:
    assert json.loads(backstory("sessions", "--json").out)["sessions"] == []
    backstory("learn")
    (session,) = json.loads(backstory("sessions", "--json").out)["sessions"]
    assert session["id"] == SESSION
    assert not session["gone"]


def test_a_named_sessions_folder_is_read_alone(backstory: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert (
        json.loads(backstory("learn", "--sessions-dir", str(tmp_path / "other"), "--json").out)["learned"]
        == []
    )
