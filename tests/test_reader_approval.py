"""Who approved a call: what the session recorded, else the settings of its surface, else the default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sessions import Object, Session, item, tools

from backstory import read_session

# --- Who approved ------------------------------------------------------------------------------------------


def decided(
    tmp_path: Path, surface: str, metadata: Object, name: str = "run_commands"
) -> tuple[str, str | None]:
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["source"] = surface
    session.manifest["metadata"] = {**session.manifest["metadata"], **metadata}
    session.prompt("Do it")
    session.ran(name, {"commands": ["ls"]}, [item("ls", "x")])
    (step,) = tools(session.read())
    return step.decision, step.decision_source


def test_with_nothing_recorded_everything_is_approved_by_default(tmp_path: Path) -> None:
    for number, surface in enumerate(
        ["cli", "cline-cli-zen", "vscode", "jetbrains", "desktop", "something new"]
    ):
        assert decided(tmp_path / str(number), surface, {}) == ("auto", "default")


@pytest.mark.parametrize(
    ("recorded", "decision"),
    [
        (True, ("auto", "session")),
        (False, ("accepted", "session")),
        (["run_commands"], ("auto", "session")),
        (["read_files"], ("accepted", "session")),
        ({"run_commands": False}, ("accepted", "session")),
        ({"read_files": False}, ("auto", "default")),
        ("yes", ("auto", "default")),
        (None, ("auto", "default")),
    ],
    ids=repr,
)
def test_what_the_session_recorded_comes_first(
    tmp_path: Path, recorded: Any, decision: tuple[str, str]
) -> None:
    assert decided(tmp_path, "cli", {"autoApproveTools": recorded}) == decision


SETTINGS: dict[str, tuple[str, str, Object, str, tuple[str, str]]] = {
    "command line, on": (
        "cli",
        "settings/global-settings.json",
        {"toolAutoApprove": True},
        "run_commands",
        ("auto", "settings"),
    ),
    "command line, off": (
        "cli",
        "settings/global-settings.json",
        {"toolAutoApprove": False},
        "run_commands",
        ("accepted", "settings"),
    ),
    "command line, no switch": (
        "cli",
        "settings/global-settings.json",
        {"planActMode": "act"},
        "run_commands",
        ("auto", "default"),
    ),
    "extension, a category that is on": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": True, "actions": {"readFiles": True}}},
        "read_files",
        ("auto", "settings"),
    ),
    "extension, a category that is off": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": True, "actions": {"executeAllCommands": False}}},
        "run_commands",
        ("accepted", "settings"),
    ),
    "extension, all off": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"enabled": False, "actions": {"readFiles": True}}},
        "read_files",
        ("accepted", "settings"),
    ),
    "extension, MCP": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"actions": {"useMcp": False}}},
        "lab__x",
        ("accepted", "settings"),
    ),
    "extension, a tool that needs no approval": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": {"actions": {"useMcp": False}}},
        "ask_question",
        ("auto", "settings"),
    ),
    "extension, broken settings": (
        "vscode",
        "globalState.json",
        {"autoApprovalSettings": [1]},
        "read_files",
        ("auto", "default"),
    ),
}


@pytest.mark.parametrize(("surface", "file", "settings", "name", "decision"), SETTINGS.values(), ids=SETTINGS)
def test_then_the_settings_of_the_surface_count(
    tmp_path: Path, surface: str, file: str, settings: Object, name: str, decision: tuple[str, str]
) -> None:
    place = tmp_path / "data" / file
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(settings))
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["source"] = surface
    session.prompt("Do it")
    session.ran(name, {"path": "a"}, [item("a", "x")])
    session.write()
    record = read_session(
        session.folder, env={"HOME": str(tmp_path), "CLINE_DATA_DIR": str(tmp_path / "data")}
    )
    (step,) = tools(record)
    assert (step.decision, step.decision_source) == decision


def test_an_open_call_is_not_taken_for_accepted(tmp_path: Path) -> None:
    """Whether the user will allow it is not known while it waits."""
    session = Session(tmp_path)
    assert session.manifest is not None
    session.manifest["metadata"]["autoApproveTools"] = False
    session.prompt("Do it")
    session.call("run_commands", {"commands": ["ls"]})
    (step,) = tools(session.read())
    assert (step.decision, step.decision_source, step.outcome) == ("n/a", None, "unknown")
