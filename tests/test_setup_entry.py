"""Which command starts us, whose an entry is, what Cline can read, and whether a server answers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from connected import TOOLS, Place, install

from backstory.clients import cline, entry, program, selftest
from backstory.clients.program import Command

MCP = ("mcp",)


def test_the_script_that_this_run_was_started_by_comes_first(tmp_path: Path) -> None:
    own, beside = install(tmp_path / "local"), install(tmp_path / "env")
    python = str(tmp_path / "env" / "python")
    assert program.here(str(own), python, windows=False) == Command(str(own), MCP)
    assert program.here(str(tmp_path / "env" / "pytest"), python, windows=False) == Command(str(beside), MCP)
    beside.unlink()
    module = ("-m", "backstory", "mcp")
    assert program.here("-c", python, windows=False) == Command(python, module)
    assert program.here("", python, windows=False) == Command(python, module)


def test_a_relative_name_becomes_a_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    found = program.here("bin/backstory", "/x/python", windows=False)
    assert found == Command(str(tmp_path / "bin" / "backstory"), MCP)


def test_on_windows_the_script_is_an_exe(tmp_path: Path) -> None:
    script = install(tmp_path, name="backstory.exe")
    install(tmp_path)
    for started_as in (str(tmp_path / "backstory"), str(script), "pytest"):
        found = program.here(started_as, str(tmp_path / "python.exe"), windows=True)
        assert found == Command(str(script), MCP)


@pytest.mark.parametrize(
    "words",
    [
        ["/home/dev/.local/bin/backstory", "mcp"],
        ["backstory", "mcp"],
        ["backstory", "mcp", "--more"],
        ["C:\\Program Files\\Python\\Scripts\\Backstory.EXE", "mcp"],
        ["/usr/bin/python3", "-m", "backstory", "mcp"],
        ["uvx", "backstory", "mcp"],
        ["pipx", "run", "backstory", "mcp"],
        ["env", "A=b", "backstory", "mcp"],
    ],
)
def test_commands_of_ours(words: list[str]) -> None:
    assert program.names_us(Command(words[0], tuple(words[1:])))


@pytest.mark.parametrize(
    "words",
    [
        ["backstory"],
        ["backstory", "up"],
        ["backstory-server", "mcp"],
        ["node", "/srv/backstory", "mcp"],
        ["sh", "-c", "backstory mcp"],
        ["/x/backstory/server", "mcp"],
        ["python3", "-m", "backstory.other", "mcp"],
        ["npx", "backstory", "mcp"],
    ],
)
def test_commands_of_others(words: list[str]) -> None:
    assert not program.names_us(Command(words[0], tuple(words[1:])))


def test_a_script_and_its_interpreter_are_one_installation(tmp_path: Path) -> None:
    for name in ("one", "two"):
        install(tmp_path / name)
        (tmp_path / name / "python").symlink_to(sys.executable)
    link = tmp_path / "backstory"
    link.symlink_to(tmp_path / "one" / "backstory")
    one = Command(str(tmp_path / "one" / "backstory"), MCP)
    module = Command(str(tmp_path / "one" / "python"), ("-m", "backstory", "mcp"))
    other = Command(str(tmp_path / "two" / "python"), ("-m", "backstory", "mcp"))
    assert program.same(one, module, None)
    assert program.same(one, Command(str(link), MCP), None)
    assert program.same(one, Command("backstory", MCP), str(tmp_path / "one"))
    assert not program.same(one, other, None)
    assert not program.same(module, other, None)
    assert not program.same(one, Command("/gone/backstory", MCP), None)


def test_a_runner_s_cache_is_no_place_to_stay() -> None:
    assert not program.is_kept(Command("/home/dev/.cache/uv/archive-v0/x/bin/backstory", MCP))
    assert not program.is_kept(Command("/home/dev/.local/pipx/.cache/x/bin/backstory", MCP))
    assert not program.is_kept(Command("C:\\U\\AppData\\Local\\uv\\cache\\archive-v0\\x\\backstory.exe", MCP))
    assert program.is_kept(Command("/home/dev/.local/share/uv/tools/backstory/bin/backstory", MCP))
    assert program.is_kept(Command("/home/dev/.local/bin/backstory", MCP))


def test_setup_says_when_it_runs_from_a_cache(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = install(place.home.parent / "uv" / "archive-v0" / "x" / "bin")
    monkeypatch.setattr(sys, "executable", str(cached.with_name("python")))
    done = place.run("setup", "cline")
    assert done.code == 0
    assert "runs from a cache that is cleaned some day" in " ".join(done.out.split())


ENTRY: dict[str, Any] = {"command": "x"}
URL: dict[str, Any] = {"url": "https://h/p"}


@pytest.mark.parametrize(
    "found",
    [
        {
            **ENTRY,
            "args": [],
            "cwd": "/",
            "env": {"A": ""},
            "disabled": True,
            "timeout": "soon",
            "type": "stdio",
        },
        {**ENTRY, "transport": None},
        {**ENTRY, "transport": {"type": "carrier pigeon"}},
        {**ENTRY, "unknown": [1], "autoApprove": 7},
        {"transport": {"type": "stdio", **ENTRY}, "args": 7},
        {"transport": {"type": "sse", **URL}},
        {**URL, "headers": {"A": "b"}},
        {**URL, "type": "streamableHttp"},
        {**URL, "transportType": "http"},
        {
            **URL,
            "oauth": {"tokens": {}, "lastAuthenticatedAt": 5.0, "other": 1},
            "oauthClient": {"clientId": "a"},
        },
    ],
)
def test_entries_that_cline_reads(found: Any) -> None:
    assert cline.problem(found) is None


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "is no object"),
        ("x", "is no object"),
        ({}, 'has neither "command" nor "url"'),
        ({"command": ""}, 'has "command" that is no text'),
        ({"command": ["a"]}, 'has "command" that is no text'),
        ({**ENTRY, "args": "a"}, 'has "args" that is no list of texts'),
        ({**ENTRY, "args": [1]}, 'has "args" that is no list of texts'),
        ({**ENTRY, "env": {"A": 1}}, 'has "env" that is no object of texts'),
        ({**ENTRY, "cwd": ""}, 'has "cwd" that is no text'),
        ({**ENTRY, "disabled": None}, 'has "disabled" that is neither true nor false'),
        ({**ENTRY, "metadata": []}, 'has "metadata" that is no object'),
        ({**ENTRY, "type": "sse"}, 'has "command", and a "type" that is not stdio'),
        ({**ENTRY, "type": "x"}, 'has "command", and a "type" that is not stdio'),
        (
            {**ENTRY, "oauth": {"lastAuthenticatedAt": 0.5}},
            'has "oauth" that is no sign-in that Cline wrote',
        ),
        ({"url": "nowhere"}, 'has "url" that is no address'),
        ({"url": "https://"}, 'has "url" that is no address'),
        ({**URL, "type": "stdio"}, 'has "url", and a "type" of stdio'),
        ({**URL, "headers": {"A": 1}}, 'has "headers" that is no object of texts'),
        (
            {"transport": {"type": "x"}},
            'has "transport" whose "type" is none of stdio, sse, streamableHttp',
        ),
        ({"transport": {"type": "stdio"}}, 'has no "command"'),
    ],
)
def test_entries_that_cost_all_servers(found: Any, why: str) -> None:
    assert cline.problem(found) == why


def test_the_command_that_cline_starts_is_the_nested_one() -> None:
    nested = {"type": "stdio", "command": "n", "args": ["1"], "env": {"A": "b"}}
    found: Any = {"command": "f", "env": {"C": "d"}, "transport": nested}
    assert entry.started(found) == Command("n", ("1",))
    assert entry.env_of(found) == {"A": "b"}
    assert entry.started({"command": "f", "transport": None}) == Command("f", ())
    assert entry.started(None) is None


def server(tmp_path: Path, body: str) -> list[str]:
    return [str(install(tmp_path, f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n"))]


def test_a_server_that_answers(tmp_path: Path) -> None:
    found = selftest.ask([str(install(tmp_path)), "mcp"], os.environ)
    assert (found.tools, found.problem) == (TOOLS, None)
    assert found.seconds is not None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit('no archive')", "it ended without an answer (no archive)"),
        ("print('Starting up'); sys.stdin.read()", "it printed what is no message: Starting up"),
        ("time.sleep(60)", "no answer in 1 s"),
        (
            "r = json.loads(sys.stdin.readline())\n"
            "print(json.dumps({'id': r['id'], 'error': {'code': 1}}), flush=True)\nsys.stdin.read()",
            'it refused: {"code": 1}',
        ),
        ("sys.stdin.readline(); print('{}', flush=True)", "it ended without an answer"),
    ],
    ids=["ends", "prints", "sleeps", "refuses", "answers something else"],
)
def test_a_server_that_does_not(tmp_path: Path, body: str, why: str) -> None:
    assert (
        selftest.ask(server(tmp_path, body), os.environ, limit=1.0 if "sleep" in body else 10.0).problem
        == why
    )


def test_a_server_that_cannot_be_started(tmp_path: Path) -> None:
    found = selftest.ask([str(tmp_path / "gone")], os.environ)
    assert found.problem == "it cannot be started: No such file or directory"


def test_a_server_that_will_not_end_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    body = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(mark)!r}, 'w').write(str(os.getpid()))\nwhile True: time.sleep(1)"
    )
    selftest.ask(server(tmp_path, body), os.environ, limit=2.0)
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_the_server_gets_the_whole_environment_and_the_entry_s_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = place.home.parent / "said"
    log = f'#!/bin/sh\n[ "$1" = mcp ] && echo "$FROM_CLINE $OWN $PWD" > {mark}\nexec {place.program}.real "$@"\n'
    place.program.rename(f"{place.program}.real")
    install(place.program.parent, log)
    place.write({"mcpServers": {"backstory": place.entry(env={"OWN": "b"}, cwd=str(place.home))}})
    monkeypatch.setenv("FROM_CLINE", "a")
    assert place.run("setup", "cline").code == 0
    assert mark.read_text() == f"a b {place.home}\n"
