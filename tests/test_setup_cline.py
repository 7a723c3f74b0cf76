"""`setup cline` in a disposable home: one entry, one rule, and nothing else of anybody's."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest
from connected import Place, install

from backstory.clients import rule
from backstory.clients.files import write

OTHER = {"command": "npx", "args": ["-y", "some-server"], "env": {"TOKEN": "t"}}


def test_where_cline_is_not_installed_nothing_is_written(place: Place) -> None:
    (place.home / ".cline").rmdir()
    done = place.run("setup", "cline")
    assert done.code == 1
    assert done.err == (
        "backstory: Cline is not installed here: there is no ~/.cline. Nothing was written. "
        "Install it, or set CLINE_DIR where it keeps its files.\n"
    )
    assert place.files() == {}
    assert not (place.home / ".backstory").exists()


def test_a_first_setup_writes_a_flat_entry_and_the_rule(place: Place) -> None:
    assert place.run("setup", "cline").code == 0
    assert list(place.servers().items()) == [("backstory", place.entry())]
    assert list(place.servers()["backstory"]) == ["command", "args", "timeout"]
    assert place.rule.read_text() == rule.text()
    assert set(place.files()) == {
        ".cline",
        ".cline/data",
        ".cline/data/settings",
        ".cline/data/settings/cline_mcp_settings.json",
        ".cline/rules",
        ".cline/rules/backstory.md",
    }


def test_a_data_folder_or_the_extension_s_storage_is_enough(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (place.home / ".cline").rmdir()
    (place.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev").mkdir(parents=True)
    assert place.run("setup", "cline").code == 0
    assert place.servers() == {"backstory": place.entry()}
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("CLINE_DIR", str(tmp_path / "away"))
    monkeypatch.setenv("CLINE_DATA_DIR", str(data))
    assert place.run("setup", "cline").code == 0
    assert place.servers(data / "settings/cline_mcp_settings.json") == {"backstory": place.entry()}


def test_nothing_is_written_to_old_places(place: Place) -> None:
    storage = place.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    storage.mkdir(parents=True)
    (place.home / ".clinerules").mkdir()
    before = [path for path in place.files() if path.startswith((".config", ".clinerules"))]
    assert place.run("setup").code == 0
    assert [path for path in place.files() if path.startswith((".config", ".clinerules"))] == before


def test_cline_s_variables_are_honoured(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base, data, path = tmp_path / "c", tmp_path / "d", tmp_path / "m" / "mcp.json"
    base.mkdir()
    monkeypatch.setenv("CLINE_DIR", f"  {base} ")
    assert place.run("setup", "cline").code == 0
    assert (base / "data/settings/cline_mcp_settings.json").is_file()
    assert (base / "rules/backstory.md").is_file()
    monkeypatch.setenv("CLINE_DATA_DIR", str(data))
    assert place.run("setup", "cline").code == 0
    assert (data / "settings/cline_mcp_settings.json").is_file()
    assert not (data / "rules").exists()
    monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", str(path))
    assert place.run("setup", "cline").code == 0
    assert place.servers(path) == {"backstory": place.entry()}
    monkeypatch.setenv("CLINE_MCP_SETTINGS_PATH", "   ")
    assert place.run("setup", "cline").out.startswith("Already set up")
    assert list(place.files()) == [".cline"]


def test_a_second_run_changes_nothing(place: Place) -> None:
    place.write({"mcpServers": {"other": OTHER}})
    place.run("setup", "cline")
    before = place.files()
    times = {path: (place.home / path).stat().st_mtime_ns for path in before}
    done = place.run("setup", "cline")
    assert (done.code, done.err) == (0, "")
    assert place.files() == before
    assert {path: (place.home / path).stat().st_mtime_ns for path in before} == times


def test_a_stale_nested_transport_goes_and_what_the_user_set_stays(place: Place) -> None:
    nested = {"type": "stdio", "command": "/gone/backstory", "args": ["mcp"]}
    flat = {"command": str(place.program), "args": ["mcp"]}
    kept = {"disabled": True, "timeout": 5, "env": {"X": "1"}, "autoApprove": ["recall"], "note": None}
    place.write({"z": 1, "mcpServers": {"backstory": {"transport": nested, **kept, **flat}, "other": OTHER}})
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"] == {**kept, **flat}
    assert place.servers()["other"] == OTHER
    again = place.settings.read_bytes()
    assert place.run("setup", "cline").out.startswith("Already set up; nothing to change.")
    assert place.settings.read_bytes() == again


def test_what_cline_s_own_add_wrote_becomes_flat_with_its_environment(place: Place) -> None:
    transport = {
        "type": "stdio",
        "command": str(place.program),
        "args": ["mcp", "--x"],
        "env": {"A": "b"},
        "cwd": "/tmp",
    }
    place.write({"mcpServers": {"backstory": {"transport": transport, "metadata": {"m": 1}}}})
    assert place.run("setup", "cline").code == 0
    wanted = {"args": ["mcp", "--x"], "env": {"A": "b"}, "cwd": "/tmp", "metadata": {"m": 1}}
    assert place.servers()["backstory"] == place.entry(**wanted)


def test_other_entries_order_and_formatting_are_untouched(place: Place) -> None:
    text = (
        '{\r\n\t"$schema" : "x",\r\n\t"mcpServers" : {\r\n\t\t"zeta" : {"command":"z" , "args":[ ]},\r\n'
        '\t\t"\\u00e9\\ud83d" : { "url": "https:\\/\\/h/p", "big": 12345678901234567890.10e5 },\r\n'
        '\t\t"__proto__" : {"command": "p"}\r\n\t},\r\n\t"after": [1 ,2],\r\n\t"after": null\r\n}\r\n\r\n'
    )
    before = place.write(text)
    assert place.run("setup", "cline").code == 0
    after = place.settings.read_bytes()
    new = b',\r\n\t\t"backstory" : {\r\n\t\t\t"command" : "%s",\r\n' % str(place.program).encode()
    new += b'\t\t\t"args" : ["mcp"],\r\n\t\t\t"timeout" : 60\r\n\t\t}'
    at = before.index(b'\r\n\t},\r\n\t"after"')
    assert after == before[:at] + new + before[at:]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ('\ufeff{"mcpServers": {}}', "begins with a byte order mark (UTF-8)"),
        ('{\n  // mine\n  "mcpServers": {}\n}', "is not JSON: line 2, column 3"),
        ('{"mcpServers": {},}', "is not JSON: line 1, column 19"),
        ('{"a": NaN}', "is not JSON: line 1, column 7"),
        ("{'a': 1}", "is not JSON: line 1, column 2"),
        ('{"a": "line\nend"}', "is not JSON: line 1, column 7"),
        ('{"mcpServers": {}} {}', "is not JSON: line 1, column 20"),
        ("[]", "is no JSON object"),
        ("null", "is no JSON object"),
        ('{"mcpServers": null}', 'has "mcpServers" that is no object'),
        ('{"mcpServers": []}', 'has "mcpServers" that is no object'),
        ('{"mcpServers": {}, "mcpServers": 7}', 'has "mcpServers" that is no object'),
    ],
)
def test_what_cline_cannot_read_is_refused_and_left_alone(place: Place, text: str, why: str) -> None:
    before = place.write(text)
    files = place.files()
    for verb in ("setup", "disconnect"):
        done = place.run(verb, "cline")
        assert done.code == 1
        words = f"~/.cline/data/settings/cline_mcp_settings.json {why}, so Cline cannot read it either."
        assert done.err.startswith(f"backstory: {words} Nothing was changed.")
        assert done.err.count("\n") == 1
    assert place.settings.read_bytes() == before
    assert place.files() == files


def test_bytes_that_are_no_utf8_are_kept_as_cline_reads_them(place: Place) -> None:
    before = place.write(b'{"mcpServers": {"caf\xe9": {"command": "x"}}}')
    assert place.run("setup", "cline").code == 0
    assert b'"caf\xe9": {"command": "x"}' in place.settings.read_bytes()
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.read_bytes() == before


def test_a_foreign_entry_is_refused(place: Place) -> None:
    before = place.write(
        {"mcpServers": {"backstory": {"command": "node", "args": ["/srv/backstory", "mcp"]}}}
    )
    done = place.run("setup", "cline")
    assert done.code == 1
    assert done.err == (
        'backstory: ~/.cline/data/settings/cline_mcp_settings.json has an entry "backstory" that another program '
        "wrote. Nothing was changed. Rename that entry, or remove it, then run this again.\n"
    )
    assert place.settings.read_bytes() == before
    assert not place.rule.exists()


@pytest.mark.parametrize("entry", [None, 7, [], {}, {"url": "https://h/"}, {"command": ["backstory", "mcp"]}])
def test_an_entry_of_our_name_that_is_no_command_is_foreign(place: Place, entry: object) -> None:
    before = place.write({"mcpServers": {"backstory": entry}})
    assert place.run("setup", "cline").code == 1
    assert place.settings.read_bytes() == before


@pytest.mark.parametrize("form", ["flat", "nested", "module"])
def test_a_living_entry_of_another_installation_is_refused(place: Place, tmp_path: Path, form: str) -> None:
    other = install(tmp_path / "other" / "bin")
    command = {"command": str(other), "args": ["mcp"]}
    if form == "module":
        python = install(tmp_path / "other" / "bin", f'#!/bin/sh\nshift 2\nexec "{other}" "$@"\n', "python3")
        command = {"command": str(python), "args": ["-m", "backstory", "mcp"]}
    entry = {"transport": {"type": "stdio", **command}} if form == "nested" else command
    before = place.write({"mcpServers": {"backstory": entry}})
    done = place.run("setup", "cline")
    assert done.code == 1
    assert "of another Backstory" in done.err
    assert "Nothing was changed." in done.err
    assert place.settings.read_bytes() == before


@pytest.mark.parametrize(
    "text", [None, "#!/gone/python\n", "#!/bin/sh\nexit 1\n"], ids=["gone", "no interpreter", "fails"]
)
def test_a_dead_entry_of_ours_is_taken_over(place: Place, tmp_path: Path, text: str | None) -> None:
    old = tmp_path / "old" / "bin" / "backstory"
    if text is not None:
        install(old.parent, text)
    place.write({"mcpServers": {"backstory": {"command": str(old), "args": ["mcp"], "disabled": False}}})
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"] == place.entry(disabled=False)


def test_another_name_of_this_installation_is_no_other_one(place: Place, tmp_path: Path) -> None:
    link = tmp_path / "local" / "backstory"
    link.parent.mkdir()
    link.symlink_to(place.program)
    before = place.write({"mcpServers": {"backstory": place.entry(command=str(link))}})
    assert place.run("setup", "cline").code == 0
    assert place.settings.read_bytes() == before


def test_a_program_that_only_has_our_name_is_foreign(place: Place, tmp_path: Path) -> None:
    other = install(tmp_path / "x", "#!/bin/sh\necho something else 1.0\n")
    place.write({"mcpServers": {"backstory": {"command": str(other), "args": ["mcp"]}}})
    assert "that another program wrote" in place.run("setup", "cline").err


def test_the_launcher_of_a_windows_host_is_left_to_it(place: Place) -> None:
    before = place.write({"mcpServers": {"backstory": {"command": f"{place.cline}/backstory-wsl"}}})
    done = place.run("setup", "cline")
    assert (done.code, "backstory wsl remove --target cline" in done.err) == (1, True)
    assert place.settings.read_bytes() == before


@pytest.mark.parametrize(
    ("key", "value"), [("disabled", "yes"), ("env", {"A": 1}), ("metadata", 1), ("args", 1)]
)
def test_an_entry_of_ours_that_cline_could_not_read_is_named(place: Place, key: str, value: object) -> None:
    entry = {"command": str(place.program), "args": ["mcp"], key: value}
    before = place.write({"mcpServers": {"backstory": entry}})
    done = place.run("setup", "cline")
    if key == "args":  # it starts no `mcp`, so it is not ours
        assert "another program" in done.err
    else:
        assert f'the entry "backstory" has "{key}" that is' in done.err
    assert (done.code, place.settings.read_bytes()) == (1, before)


def test_a_broken_sibling_is_named(place: Place) -> None:
    place.write({"mcpServers": {"good": OTHER, "bad": {"args": ["x"]}, "odd": {"url": "nowhere"}}})
    done = place.run("setup", "cline")
    assert done.code == 1
    assert "next session on" not in done.out
    assert "Cline sees it once the entries that it cannot read are mended." in done.out
    assert (
        'look   the entry "bad" has neither "command" nor "url", so Cline loads no server at all.' in done.out
    )
    assert 'the entry "odd" has "url" that is no address' in done.out
    assert place.servers()["bad"] == {"args": ["x"]}
    found = place.run("setup", "cline", "--json").json["clients"][0]["broken_entries"]
    assert [one["name"] for one in found] == ["bad", "odd"]


def test_mode_and_link_are_kept(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    place.write({"mcpServers": {}}, real)
    real.chmod(0o640)
    place.settings.parent.mkdir(parents=True)
    place.settings.symlink_to(real)
    assert place.run("setup", "cline").code == 0
    assert place.settings.is_symlink()
    assert place.servers(real) == {"backstory": place.entry()}
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in real.parent.iterdir()) == ["mcp.json"]
    assert place.run("disconnect", "cline").code == 0
    assert place.settings.is_symlink()
    assert real.read_bytes() == b'{\n  "mcpServers": {}\n}\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_an_edited_rule_is_kept_and_an_older_one_of_ours_renewed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.rule.parent.mkdir()
    place.rule.write_text("my own words\n")
    done = place.run("setup", "cline")
    assert place.rule.read_text() == "my own words\n"
    assert "keep   ~/.cline/rules/backstory.md: it was edited, and is yours" in done.out
    monkeypatch.setattr(rule, "TEXTS", ("an older text\n", *rule.TEXTS))
    place.rule.write_text("an older text\n")
    assert place.run("setup", "cline").code == 0
    assert place.rule.read_text() == rule.text()


def test_the_rule_is_short_says_its_version_and_names_the_tools() -> None:
    text = rule.text()
    assert len(text.splitlines()) <= 16
    assert f"version {rule.VERSION}." in text.splitlines()[0]
    for words in ("backstory__recall", "start of a task", "error", "as before", "not instructions", "cite"):
        assert words in text


def test_the_server_is_told_of_an_archive_elsewhere(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = place.home / "archive"
    monkeypatch.setenv("BACKSTORY_HOME", str(elsewhere))
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"] == place.entry(env={"BACKSTORY_HOME": str(elsewhere)})
    assert list(place.servers()["backstory"]) == ["command", "args", "env", "timeout"]
    entry = place.servers()["backstory"]
    place.write({"mcpServers": {"backstory": {**entry, "env": {"A": "b", "BACKSTORY_HOME": "/old"}}}})
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"]["env"] == {"A": "b", "BACKSTORY_HOME": str(elsewhere)}
    monkeypatch.setenv("BACKSTORY_HOME", str(place.home / ".backstory"))
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"]["env"] == {"A": "b"}
    place.write({"mcpServers": {"backstory": entry}})
    monkeypatch.delenv("BACKSTORY_HOME")
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"] == place.entry()


def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(place: Place, tmp_path: Path) -> None:
    place.write({"mcpServers": {"other": OTHER}})
    place.rule.mkdir(parents=True)  # nothing can replace a folder
    files = place.files()
    assert place.run("setup", "cline").code == 1
    assert place.files() == files


def test_an_entry_that_is_switched_off_is_not_said_to_be_seen(place: Place) -> None:
    place.write({"mcpServers": {"backstory": {**place.entry(), "disabled": True}}})
    done = place.run("setup", "cline")
    assert done.code == 0
    assert "Cline sees it once the entry is switched on there." in done.out
    assert "next session on" not in done.out


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_file_where_a_folder_is_needed_is_named(place: Place, dry: tuple[str, ...]) -> None:
    place.cline.mkdir(exist_ok=True)
    place.rule.parent.write_text("x")
    files = place.files()
    done = place.run("setup", "cline", *dry)
    assert done.code == 1
    words = "~/.cline/rules is no folder, and a folder is needed there. Nothing was changed. Move it away"
    assert words in " ".join(done.err.split())
    assert place.files() == files


def test_a_write_that_fails_takes_back_what_was_written_before_it(place: Place, tmp_path: Path) -> None:
    place.settings.parent.mkdir(parents=True)
    place.settings.symlink_to(tmp_path / "no such folder" / "mcp.json")
    files = place.files()
    done = place.run("setup", "cline")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "No such file or directory" in done.err
    assert place.files() == files
    assert not (place.home / ".backstory").exists()


def test_readers_see_the_old_bytes_or_the_new_ones(place: Place) -> None:
    place.write("x" * 100_000)
    seen, running = set[bytes](), True

    def look() -> None:
        while running:
            seen.add(place.settings.read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    for letter in (b"y", b"z") * 20:
        write(place.settings, letter * 100_000)
    running = False
    reader.join(60)
    assert {data[:1] * 100_000 for data in seen} == seen


def test_a_server_that_does_not_answer_is_said_and_the_entry_stays(place: Place) -> None:
    install(place.program.parent, '#!/bin/sh\necho "no such thing" >&2\nexit 3\n')
    done = place.run("setup", "cline")
    assert done.code == 1
    assert "it did not answer: it ended without an answer (no such thing)" in " ".join(done.out.split())
    assert place.servers() == {"backstory": place.entry()}


@pytest.mark.parametrize("kind", ["sse", None])
def test_a_type_that_would_make_cline_refuse_the_entry_goes(place: Place, kind: str | None) -> None:
    place.write({"mcpServers": {"backstory": place.entry(type=kind, transportType="stdio")}})
    assert place.run("setup", "cline").code == 0
    assert place.servers()["backstory"] == place.entry(transportType="stdio")


def test_a_relative_variable_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.home)
    monkeypatch.setenv("CLINE_DIR", ".cline")
    done = place.run("setup", "cline")
    assert (
        "look   CLINE_DIR is relative: Cline finds these files only when it starts in this folder" in done.out
    )
    assert place.servers() == {"backstory": place.entry()}


def test_a_receipt_is_kept_for_its_owner_alone(place: Place) -> None:
    before = place.write({"mcpServers": {"other": OTHER}})
    place.run("setup", "cline")
    (receipt,) = (place.home / ".backstory" / "clients").iterdir()
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
    assert stat.S_IMODE(receipt.parent.stat().st_mode) == 0o700
    import base64

    assert base64.b64decode(json.loads(receipt.read_bytes())["before"]) == before
