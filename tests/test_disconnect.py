"""`disconnect cline` takes back what is ours, old places included, and leaves what is somebody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from connected import Place, install

from backstory.clients import rule

OTHER = {"command": "npx", "args": ["-y", "some-server"]}
STORAGE = ".config/{}/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


def test_a_home_is_as_it_was(place: Place) -> None:
    before = place.files()
    assert place.run("setup", "cline").code == 0
    assert place.files() != before
    assert place.run("disconnect", "cline").code == 0
    assert place.files() == before
    assert not (place.home / ".backstory").exists()


def test_a_file_that_nobody_touched_gets_its_bytes_back(place: Place) -> None:
    before = place.write(b'{ "mcpServers" :{\t},\r\n"x":1}')
    files = place.files()
    place.run("setup", "cline")
    place.run("setup", "cline")
    assert place.run("disconnect").code == 0
    assert place.settings.read_bytes() == before
    assert place.files() == files


def test_two_setups_with_an_edit_between_take_back_to_the_edit(place: Place, tmp_path: Path) -> None:
    place.write(b'{"mcpServers":{ }}')
    place.run("setup", "cline")
    place.write(place.settings.read_bytes().replace(b"{ }", b"{}") + b"\n")
    place.run("setup", "cline")
    place.run("disconnect", "cline")
    assert place.settings.read_bytes() == b'{"mcpServers":{ }}\n'


def test_an_entry_that_a_person_took_out_by_hand_stays_out(place: Place) -> None:
    place.run("setup", "cline")
    before = place.write({"mcpServers": {}})
    place.run("setup", "cline")
    place.run("disconnect", "cline")
    assert place.settings.read_bytes() == before


def test_what_cline_added_since_stays(place: Place) -> None:
    place.run("setup", "cline")
    document = json.loads(place.settings.read_bytes())
    document["mcpServers"]["added"] = {"transport": {"type": "stdio", "command": "x"}}
    place.write(document)
    assert place.run("disconnect", "cline").code == 0
    assert place.servers() == {"added": {"transport": {"type": "stdio", "command": "x"}}}
    assert not place.rule.exists()


def test_a_file_of_ours_goes_once_nothing_else_is_in_it(place: Place) -> None:
    before = place.files()
    place.run("setup", "cline")
    place.write(json.dumps(json.loads(place.settings.read_bytes())))
    assert place.run("disconnect", "cline").code == 0
    assert place.files() == before


def test_an_entry_without_a_receipt_goes_and_an_empty_list_stays(place: Place) -> None:
    place.write({"mcpServers": {"backstory": place.entry()}})
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.read_bytes() == b'{\n  "mcpServers": {}\n}\n'


def test_folders_that_hold_something_stay(place: Place) -> None:
    place.run("setup", "cline")
    (place.rule.parent / "mine.md").write_text("mine\n")
    place.run("disconnect", "cline")
    assert sorted(place.files()) == [".cline", ".cline/rules", ".cline/rules/mine.md"]


def test_an_edited_rule_stays(place: Place) -> None:
    place.run("setup", "cline")
    place.rule.write_text(rule.text() + "\nand mine\n")
    done = place.run("disconnect", "cline")
    assert done.code == 0
    assert "keep   ~/.cline/rules/backstory.md: it was edited, and is yours" in done.out
    assert sorted(place.files()) == [".cline", ".cline/rules", ".cline/rules/backstory.md"]


@pytest.mark.parametrize("editor", ["Code", "Cursor"])
def test_old_generated_places_are_cleared(place: Place, editor: str) -> None:
    old = place.home / STORAGE.format(editor)
    place.write({"mcpServers": {"other": OTHER, "backstory": place.entry()}}, old)
    old_rule = place.home / ".clinerules" / "backstory.md"
    old_rule.parent.mkdir()
    old_rule.write_text(rule.text())
    place.run("setup", "cline")
    assert place.run("disconnect", "cline").code == 0
    assert place.servers(old) == {"other": OTHER}
    assert not old_rule.exists()
    assert old_rule.parent.is_dir()


def test_an_edited_old_rule_and_a_foreign_old_entry_stay(place: Place) -> None:
    old = place.home / STORAGE.format("Code")
    before = place.write({"mcpServers": {"backstory": {"command": "node", "args": ["x.js"]}}}, old)
    broken = place.write("{", place.home / STORAGE.format("Cursor"))
    old_rule = place.home / ".clinerules" / "backstory.md"
    old_rule.parent.mkdir()
    old_rule.write_text("edited\n")
    done = place.run("disconnect", "cline")
    assert done.code == 0
    assert old.read_bytes() == before
    assert (place.home / STORAGE.format("Cursor")).read_bytes() == broken
    assert old_rule.read_text() == "edited\n"
    assert done.out.count("keep ") == 3


def other_entry(tmp_path: Path, place: Place, kind: str) -> dict[str, Any]:
    if kind == "foreign":
        return {"command": "node", "args": ["x.js"]}
    if kind == "windows":
        return {"command": f"{place.cline}/backstory-wsl"}
    return {"command": str(install(tmp_path / "other" / "bin")), "args": ["mcp"]}


@pytest.mark.parametrize("kind", ["other", "foreign", "windows"])
def test_an_entry_of_another_keeps_the_shared_rule(place: Place, tmp_path: Path, kind: str) -> None:
    before = place.write({"mcpServers": {"backstory": other_entry(tmp_path, place, kind)}})
    place.rule.parent.mkdir()
    place.rule.write_text(rule.text())
    done = place.run("disconnect", "cline")
    assert done.code == 0
    assert place.settings.read_bytes() == before
    assert place.rule.read_text() == rule.text()
    assert "an entry that stays may need it" in done.out


@pytest.mark.parametrize("first", ["default", "named"])
def test_a_rule_that_two_registrations_share_goes_with_the_last(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str
) -> None:
    named = {"default": "", "named": str(tmp_path / "mcp.json")}
    before = place.files()
    for one in named.values():
        monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", one)
        place.run("setup", "cline")
    monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", named.pop(first))
    place.run("disconnect", "cline")
    assert place.rule.read_text() == rule.text()
    monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", *named.values())
    place.run("disconnect", "cline")
    assert place.files() == before
    assert not (tmp_path / "mcp.json").exists()
    assert not (place.home / ".backstory").exists()


def test_a_dead_entry_of_ours_goes(place: Place) -> None:
    place.write({"mcpServers": {"backstory": {"command": "/gone/backstory", "args": ["mcp"]}, "x": OTHER}})
    place.rule.parent.mkdir()
    place.rule.write_text(rule.text())
    assert place.run("disconnect", "cline").code == 0
    assert place.servers() == {"x": OTHER}
    assert not place.rule.exists()


def test_both_of_two_entries_of_our_name_go(place: Place) -> None:
    own = json.dumps(place.entry())
    place.write(f'{{"mcpServers": {{"backstory": {own}, "x": {json.dumps(OTHER)}, "backstory": {own}}}}}')
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.read_text() == f'{{"mcpServers": {{"x": {json.dumps(OTHER)}}}}}'


def test_nothing_to_take_back(place: Place) -> None:
    done = place.run("disconnect", "cline")
    assert (done.code, done.out) == (0, "Cline is not connected; there is nothing to take back.\n")


def test_dry_run_shows_what_goes_and_changes_nothing(place: Place) -> None:
    place.write({"mcpServers": {"github": OTHER}})
    place.run("setup", "cline")
    files = place.files()
    done = place.run("disconnect", "cline", "--dry-run")
    assert place.files() == files
    assert (
        done.out
        == f"""\
  would write  ~/.cline/data/settings/cline_mcp_settings.json
                 "mcpServers": {{
                   "github": {{ … }}
               -   "backstory": {{
               -     "command": "{place.program}",
               -     "args": ["mcp"],
               -     "timeout": 60
               -   }}
                 }}
  would remove ~/.cline/rules/backstory.md

Nothing was written.
"""
    )
    found = place.run("disconnect", "cline", "--dry-run", "--json").json
    assert found["dry_run"] is True
    assert [(one["action"], one["path"]) for one in found["clients"][0]["changes"]] == [
        ("write", str(place.settings)),
        ("remove", str(place.rule)),
    ]
    assert place.files() == files


def test_an_archive_that_moved_since_leaves_no_receipt_behind(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = place.write('{ "mcpServers" : { "a": {"command": "x"} } }')
    away = tmp_path / "away"
    monkeypatch.setenv("BACKSTORY_HOME", str(away))
    place.run("setup", "cline")
    assert list(away.rglob("*.json"))
    monkeypatch.delenv("BACKSTORY_HOME")
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.read_bytes() == before
    assert not away.exists()


def test_a_setup_for_another_archive_takes_the_receipt_over(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = place.write('{ "mcpServers" : { "a": {"command": "x"} } }')
    away = tmp_path / "away"
    place.run("setup", "cline")
    monkeypatch.setenv("BACKSTORY_HOME", str(away))
    place.run("setup", "cline")
    assert not (place.home / ".backstory" / "clients").exists()
    monkeypatch.delenv("BACKSTORY_HOME")
    place.run("setup", "cline")
    assert not away.exists()
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.read_bytes() == before
    assert not (place.home / ".backstory").exists()


def test_a_registration_of_another_environment_is_named_and_can_be_taken_back(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.setenv("CLINE_DIR", str(away))
    place.run("setup", "cline")
    monkeypatch.delenv("CLINE_DIR")
    place.run("setup", "cline")
    done = place.run("disconnect", "cline")
    path = away / "data/settings/cline_mcp_settings.json"
    call = f"CLINE_MCP_SETTINGS_PATH={path} CLINE_DIR={away} backstory disconnect cline"
    assert call in " ".join(done.out.split())
    assert place.run("disconnect", "--json").json["clients"][0]["elsewhere"] == [str(path)]
    for pair in call.split()[:2]:
        monkeypatch.setenv(*pair.split("=", 1))
    assert place.run("disconnect", "cline").code == 0
    assert list(away.iterdir()) == []
