"""What a person sees of `setup`, `clients` and the doctor's group "Memory server"."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from connected import PROGRAM, TOOLS, Place, install

from backstory.cli.clients import draw_client
from backstory.cli.connecting import named
from backstory.cli.line import View, plain
from backstory.cli.main import VERBS
from backstory.clients.program import Command
from backstory.clients.registration import Found, Here

PYTHON = sys.executable
GITHUB = {"command": "npx", "args": ["-y", "github"], "env": {"GITHUB_TOKEN": "ghp_1"}}


def timeless(text: str) -> str:
    return re.sub(r"\d+\.\d\d s", "0.11 s", text)


def test_setup(place: Place) -> None:
    place.write({"mcpServers": {"github": GITHUB}})
    done = place.run("setup", "cline")
    assert (done.code, done.err) == (0, "")
    assert (
        timeless(done.out)
        == f"""\
Cline is installed: ~/.cline

  write  ~/.cline/data/settings/cline_mcp_settings.json
           "mcpServers": {{
             "github": {{ … }},
         +   "backstory": {{
         +     "command": "{place.program}",
         +     "args": ["mcp"],
         +     "timeout": 60
         +   }}
           }}
  write  ~/.cline/rules/backstory.md   (12 lines)

  done   both written; the other server and its order are as they were
  test   started it as Cline will: answered in 0.11 s, 6 tools

Cline sees it from its next session on. Its hooks carry no transcript, so conversations arrive
through backstory learn, or the Learn button in the app. Undo: backstory disconnect cline
"""
    )


def test_setup_the_second_time(place: Place) -> None:
    place.run("setup", "cline")
    done = place.run("setup", "cline")
    assert timeless(done.out) == "Already set up; nothing to change. Answered in 0.11 s, 6 tools.\n"


def test_dry_run_says_the_same_and_writes_nothing(place: Place) -> None:
    place.write({"mcpServers": {"backstory": {"command": "/gone/backstory", "args": ["mcp"], "timeout": 60}}})
    files = place.files()
    done = place.run("setup", "cline", "--dry-run")
    assert place.files() == files
    assert (
        done.out
        == f"""\
Cline is installed: ~/.cline

  would write  ~/.cline/data/settings/cline_mcp_settings.json
                 "mcpServers": {{
                   "backstory": {{
               -     "command": "/gone/backstory",
               +     "command": "{place.program}",
                     "args": ["mcp"],
                     "timeout": 60
                   }}
                 }}
  would write  ~/.cline/rules/backstory.md   (12 lines)

Nothing was written.
"""
    )


def test_json_shows_no_secret_of_another_server(place: Place) -> None:
    place.write({"mcpServers": {"github": GITHUB}})
    done = place.run("setup", "cline", "--json")
    assert "ghp_1" not in done.out
    (found,) = done.json["clients"]
    assert found["changed"] is True
    assert [change["action"] for change in found["changes"]] == ["write", "create"]
    assert found["changes"][0]["entry"] == place.entry()
    assert found["changes"][0]["diff"][2:4] == ['+   "backstory": {', f'+     "command": "{place.program}",']
    assert found["answer"]["tools"] == list(TOOLS)
    assert found["answer"]["problem"] is None
    assert place.run("setup", "cline", "--json").json["clients"][0]["changed"] is False


def test_a_client_that_is_not_known(place: Place) -> None:
    done = place.run("setup", "emacs")
    assert (done.code, done.err) == (1, 'backstory: there is no client "emacs". Known: cline.\n')


def test_an_archive_by_db_is_refused(place: Place) -> None:
    done = place.run("--db", str(place.home / "x.db"), "setup", "cline")
    assert done.code == 2
    assert "set that in place of --db" in done.err
    assert list(place.files()) == [".cline"]


@pytest.mark.parametrize(("platform", "told"), [("win32", True), ("linux", False), ("darwin", False)])
def test_where_a_client_keeps_things_in_wsl_is_told_on_windows(platform: str, told: bool) -> None:
    where = Here({"HOME": "/nowhere"}, platform, Path("/nowhere/.backstory"), Command("backstory", ("mcp",)))
    (one,) = named(None)
    path = Path("/nowhere/x")
    found = Found(path, "default", None, None, None, "nobody", (), path, None, "absent")
    lines = [plain(line) for line in draw_client(View(now=0), one, found, where)]
    assert ("  in WSL     ~/.cline/data/sessions" in lines) is told


def test_clients(place: Place) -> None:
    assert (
        place.run("clients").out
        == """\
Cline
  installed  ~/.cline (default)
  connected  no
  entry      ~/.cline/data/settings/cline_mcp_settings.json (default)
  rule       ~/.cline/rules/backstory.md (not there)
  sessions   ~/.cline/data/sessions (default)
"""
    )
    place.run("setup", "cline")
    out = place.run("clients").out
    assert "  connected  yes\n" in out
    assert "backstory.md (in place)" in out
    found = place.run("clients", "--json").json["clients"][0]
    assert (found["connected"], found["command"]) == (True, [str(place.program), "mcp"])
    assert found["store"] == {"path": str(place.cline / "data/sessions"), "rule": "default"}
    assert found["wsl"]["store"] == "data/sessions"


def test_clients_lists_a_client_whose_files_cannot_be_read(place: Place) -> None:
    place.settings.mkdir(parents=True)
    done = place.run("clients", "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "connected  no: its settings file cannot be read: Is a directory" in done.out
    assert "rule       ~/.cline/rules/backstory.md (not there)" in done.out
    (found,) = place.run("clients", "--json").json["clients"]
    assert found["connected"] is False
    assert "Is a directory" in found["state"]
    place.settings.rmdir()
    place.rule.mkdir(parents=True)
    assert "backstory.md (cannot be read)" in place.run("clients").out


ANSWERS_NO_CALL = """\
import json, sys
if sys.argv[1:] == ["--version"]:
    print("backstory 0.0.0")
for line in sys.stdin if sys.argv[1:2] == ["mcp"] else ():
    request = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "backstory"}},
        "tools/list": {"tools": []},
        "tools/call": {"content": [{"type": "text", "text": "There is no workspace nope."}], "isError": True},
    }
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results[request["method"]]}), flush=True)
"""


def test_the_doctor_finds_a_server_that_answers_no_call(place: Place) -> None:
    install(place.program.parent, PROGRAM.split("\n")[0] + "\n" + ANSWERS_NO_CALL, place.program.name)
    place.run("setup", "cline")
    assert "its tools fail" not in place.run("doctor").out
    place.write(
        {
            "mcpServers": {
                "backstory": {**place.servers()["backstory"], "args": ["mcp", "--workspace", "nope"]}
            }
        }
    )
    done = place.run("doctor")
    assert done.code == 1
    assert "its tools fail: There is no workspace nope." in " ".join(done.out.split())
    assert place.run("setup", "cline").code == 1


def test_clients_shows_what_would_be_written(place: Place) -> None:
    done = place.run("clients", "--dry-run")
    assert '+   "backstory": {' in done.out
    assert done.out.endswith("Nothing was written.\n")
    assert list(place.files()) == [".cline"]
    place.write("{")
    assert (
        "is not JSON: line 1, column 2, so Cline cannot read it either"
        in place.run("clients", "--dry-run").out
    )
    assert "connected  no: its settings file is not JSON" in place.run("clients").out


def memory(place: Place) -> list[tuple[str, str]]:
    """Level and text of the doctor's findings about the server."""
    findings = place.run("doctor", "--json").json["findings"]
    return [(one["level"], timeless(one["text"])) for one in findings if one["group"] == "Memory server"]


def test_the_doctor_looks_at_the_server(place: Place) -> None:
    assert memory(place) == [("note", "Cline: not connected")]
    place.run("setup", "cline")
    assert memory(place) == [("ok", "Cline: entry and rule are in place; answered in 0.11 s")]
    place.rule.unlink()
    assert ("look", "Cline: the rule ~/.cline/rules/backstory.md is missing") in memory(place)
    place.rule.write_text("mine\n")
    assert ("note", "Cline: ~/.cline/rules/backstory.md was edited, and stays as it is") in memory(place)


def test_the_doctor_says_nothing_of_a_client_that_is_not_there(place: Place) -> None:
    place.cline.rmdir()
    assert memory(place) == []


def test_the_doctor_finds_an_environment_that_moved(place: Place) -> None:
    place.run("setup", "cline")
    place.program.rename(place.program.with_name("moved"))
    place.program.with_name("python").symlink_to("/bin/true")
    text = f"Cline: the program of its entry is not there any more: {place.program} mcp"
    assert memory(place) == [("broken", text)]
    assert place.run("doctor").code == 1


def test_the_doctor_finds_a_server_that_does_not_answer(place: Place) -> None:
    place.run("setup", "cline")
    install(place.program.parent, '#!/bin/sh\n[ "$1" = --version ] && echo backstory 1 || echo Hello.\n')
    text = "Cline: the server did not answer: it printed what is no message: Hello."
    assert memory(place) == [("broken", text)]
    assert "broken Cline: the server did not answer" in place.run("doctor").out


def test_the_doctor_names_what_keeps_cline_from_loading_servers(place: Place) -> None:
    place.write({"mcpServers": {"bad": {}}})
    assert memory(place)[1][0] == "look"
    place.run("setup", "cline")
    bad = 'Cline: the entry "bad" has neither "command" nor "url", so no server is loaded at all'
    assert ("broken", bad) in memory(place)
    place.write("[")
    assert memory(place)[0] == (
        "broken",
        "Cline: ~/.cline/data/settings/cline_mcp_settings.json is not JSON: line 1, column 2",
    )


def test_the_doctor_sees_a_switched_off_a_nested_and_a_foreign_entry(place: Place) -> None:
    place.run("setup", "cline")
    transport = {"type": "stdio", "command": str(place.program), "args": ["mcp"]}
    place.write({"mcpServers": {"backstory": place.entry(disabled=True, transport=transport)}})
    found = memory(place)
    assert ("look", 'Cline: a "transport" in the entry goes before its command') in found
    assert ("note", "Cline: the entry is switched off in Cline, so it starts no server") in found
    place.write({"mcpServers": {"backstory": {"command": "node", "args": []}}})
    assert memory(place)[0][0] == "look"
    assert "is another program's" in memory(place)[0][1]


def test_the_doctor_sees_a_server_that_reads_another_archive(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.run("setup", "cline")
    monkeypatch.setenv("BACKSTORY_HOME", str(place.home / "elsewhere"))
    text = "Cline: its server reads the default archive, and this is ~/elsewhere"
    assert ("look", text) in memory(place)


def test_the_doctor_sees_registrations_of_other_environments(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = place.home / "away"
    away.mkdir()
    place.run("setup", "cline")
    monkeypatch.setenv("CLINE_DIR", str(away))
    where = "which the environment does not name"
    default = f"Cline: also connected in ~/.cline/data/settings/cline_mcp_settings.json, {where}"
    assert ("note", default) in memory(place)
    place.run("setup", "cline")
    monkeypatch.delenv("CLINE_DIR")
    by_receipt = f"Cline: also connected in ~/away/data/settings/cline_mcp_settings.json, {where}"
    assert ("note", by_receipt) in memory(place)
    (place.home / ".backstory").rename(place.home / "backstory-away")
    assert by_receipt not in str(memory(place))


def test_the_doctor_names_leftovers(place: Place) -> None:
    old = (
        place.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    )
    place.write({"mcpServers": {"backstory": place.entry()}}, old)
    assert ("note", "Cline: left over, and not read any more") in memory(place)


def test_the_verbs_are_in_the_help() -> None:
    assert [verb for verb in VERBS if verb in ("setup", "disconnect", "clients", "wsl")] == [
        "setup",
        "disconnect",
        "clients",
        "wsl",
    ]


def test_colours_mark_what_comes_and_goes(place: Place) -> None:
    done = place.run("--color", "always", "setup", "cline", "--dry-run")
    assert '\x1b[32m+   "backstory": {\x1b[0m' in done.out
    json.dumps(done.out)


OURS = r'"command":"/gone/backstory","args":["mcp"]'
ODD = {
    "a name that is half a pair": r'"\ud800x":{"command":"x"}',
    "an argument that is half a pair": rf'"x":{{"command":"x","args":["\udfff"]}},"backstory":{{{OURS}}}',
    "a variable that holds a null": rf'"backstory":{{{OURS},"env":{{"A":"b\u0000c"}}}}',
    "a variable that is half a pair": rf'"backstory":{{{OURS},"env":{{"A":"\ud800","\udc00":"1"}}}}',
    "a folder that holds a null": rf'"backstory":{{{OURS},"cwd":"b\u0000c"}}',
    "a folder that is half a pair": rf'"backstory":{{{OURS},"cwd":"/b\ud800"}}',
    "a program that holds a null": r'"backstory":{"command":"/go\u0000ne/backstory","args":["mcp"]}',
    "a program that is half a pair": r'"backstory":{"command":"/go\ud800ne/backstory","args":["mcp"]}',
}
"""Settings that JSON allows and no system's call takes."""


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
def test_every_verb_says_something_of_odd_settings(place: Place, text: str, form: tuple[str, ...]) -> None:
    place.write(f'{{"mcpServers":{{{text}}}}}')
    for verb in (("setup", "cline"), ("clients",), ("doctor",), ("setup", "cline"), ("disconnect", "cline")):
        done = place.run(*verb, *(form if verb[0] != "disconnect" else ()))
        assert "something broke" not in done.err
        assert done.out or done.err
        done.out.encode()
        if form and done.out and verb[0] != "disconnect":
            json.loads(done.out)


def test_what_cannot_be_started_is_said_and_the_entry_is_written(place: Place) -> None:
    place.write(f'{{"mcpServers":{{{ODD["a variable that holds a null"]}}}}}')
    done = place.run("setup", "cline")
    assert place.servers()["backstory"]["command"] == str(place.program)
    assert "it cannot be started: embedded null byte" in done.out + done.err


def test_a_link_into_a_folder_that_is_missing_is_named_as_it_is(place: Place) -> None:
    place.settings.parent.mkdir(parents=True)
    place.settings.symlink_to(place.home / "nowhere" / "settings.json")
    files = sorted(place.files())
    done = place.run("setup", "cline")
    assert done.code == 1
    assert str(place.home / "nowhere") in done.err
    assert ".tmp" not in done.err
    assert sorted(place.files()) == files


def test_a_document_of_odd_settings_reaches_a_pipe(place: Place) -> None:
    """Where the output takes UTF-8 alone, as that of a real process does."""
    place.write(f'{{"mcpServers":{{{ODD["a name that is half a pair"]}}}}}')
    call = [PYTHON, "-m", "backstory", "setup", "cline", "--dry-run", "--json"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(call, env=env, capture_output=True, timeout=60, check=True)
    assert "\ud800x" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
