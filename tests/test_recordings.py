"""Every recording reads as its expectation says."""

from __future__ import annotations

import difflib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import recordings

from backstory import read_session
from backstory.schema.document import record_json

SESSIONS = [(name, session) for name in recordings.scenarios() for session in recordings.sessions(name)]


@pytest.fixture(autouse=True)
def _no_cline_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of a Cline on this machine out of the readings."""
    for name in ("HOME", "USERPROFILE", "CLINE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "CLINE_GLOBAL_SETTINGS_PATH"):
        monkeypatch.delenv(name, raising=False)


def read(scenario: str, session: str) -> dict[str, Any]:
    return record_json(read_session(recordings.session_path(scenario, session)))


@pytest.mark.parametrize(("scenario", "session"), SESSIONS)
def test_reads_as_expected(scenario: str, session: str) -> None:
    wanted = recordings.expected(scenario)[session]
    found = recordings.lines(read(scenario, session))
    if found != wanted:
        diff = difflib.unified_diff(wanted, found, "expected", "read", lineterm="", n=0)
        pytest.fail("\n".join([f"{scenario}/{session}", *diff]), pytrace=False)


@pytest.mark.parametrize(("scenario", "session"), SESSIONS)
def test_steps_are_numbered_and_found_in_clines_file(scenario: str, session: str) -> None:
    """What a line leaves out: `seq` counts, ids are unique, `origin` leads to a place in Cline's file."""
    steps = read(scenario, session)["steps"]
    assert [step["seq"] for step in steps] == list(range(1, len(steps) + 1))
    assert len({step["id"] for step in steps}) == len(steps)
    for step in steps:
        assert step["session_id"] == session
        place = recordings.session_path(scenario, session) / step["origin"]["file"]
        value = json.loads(place.read_text(encoding="utf-8"))
        for key in step["origin"]["pointer"].split("/")[1:]:
            value = value[int(key)] if isinstance(value, list) else value[key]


@pytest.mark.parametrize("scenario", recordings.scenarios())
def test_has_an_expectation_for_each_session(scenario: str) -> None:
    assert list(recordings.expected(scenario)) == recordings.sessions(scenario)


@pytest.mark.parametrize("name", ["1796000000000_abcde.messages.json", "0063.json"])
def test_a_messages_file_alone_gives_its_tool_calls(name: str, tmp_path: Path) -> None:
    shutil.copy(recordings.RECORDINGS / "growing" / "0063.json", tmp_path / name)
    commands = [step for step in read_session(tmp_path / name).steps if step.type == "command"]
    assert [step.id for step in commands] == [f"call_m{number}_0#0" for number in range(30)]
    assert {step.outcome for step in commands} == {"ok"}
