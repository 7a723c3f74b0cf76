"""After `setup`, the real Cline gives its model the rule and the tools; after `disconnect`, neither."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import backstory
from backstory.clients import lock, rule

from . import mcp_server
from .home import RUN_LIMIT, ClineHome, free_port
from .model import Model, Reply, Script

pytestmark = pytest.mark.real_cline

SOURCE = Path(backstory.__file__).parents[1]
PROGRAM = f"""\
#!{sys.executable}
import sys
sys.path.insert(0, {str(SOURCE)!r})
from backstory.cli.main import main
main()
"""
"""The installed command, with this tree."""

HEADING = "## backstory"
"""How Cline heads a rule in the system prompt: by the name of its file."""

WORDS = "recalls what was asked, answered and done in earlier sessions"
"""A piece of the rule."""


class Connected:
    """One home of Cline, and Backstory's command in front of it."""

    def __init__(self, cline: ClineHome, model: Model, place: Path) -> None:
        self.cline, self.model = cline, model
        self.program = place / "bin" / "backstory"
        self.program.parent.mkdir(parents=True)
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.settings = cline.root / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
        self.rule = cline.root / ".cline" / "rules" / "backstory.md"

    def backstory(self, *words: str, code: int = 0) -> str:
        """A verb, in the environment that Cline runs in; it has to leave with `code`."""
        done = subprocess.run(
            [str(self.program), *words],
            cwd=self.cline.root,
            env=self.cline.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def mcp(self, *words: str) -> None:
        """A verb of Cline's own for its settings."""
        self.cline._call("mcp", *words)

    def session(self) -> tuple[str, list[str]]:
        """What the model of the next session is given: the system prompt, and the names of the tools."""
        self.model.play(Script([Reply("Done.")]))
        self.cline.run("Say done")
        request: dict[str, Any] = self.model.requests[0]
        (system,) = [one["content"] for one in request["messages"] if one["role"] == "system"]
        text = system if isinstance(system, str) else "".join(part["text"] for part in system)
        return text, [tool["function"]["name"] for tool in request["tools"]]

    def knows(self) -> tuple[bool, bool]:
        """Whether the next session has the rule, and whether it has the tools."""
        system, tools = self.session()
        return HEADING in system and WORDS in system, "backstory__recall" in tools

    def servers(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.settings.read_bytes())["mcpServers"]
        return found


@pytest.fixture
def connected(binary: Path, model: Model, template: ClineHome, tmp_path: Path) -> Iterator[Connected]:
    cline = ClineHome(binary, tmp_path / "home", free_port()).settle_in(template)
    try:
        yield Connected(cline, model, tmp_path)
    finally:
        cline.close()


def test_the_next_session_has_the_rule_and_the_tools_until_disconnect(connected: Connected) -> None:
    assert connected.knows() == (False, False)
    before = set(connected.cline.state())
    said = connected.backstory("setup", "cline")
    assert "test   started it as Cline will: answered in" in said
    system, tools = connected.session()
    heading = system.index(HEADING)
    assert all(line in system[heading:] for line in rule.text().splitlines() if line)
    assert {"backstory__recall", "backstory__open"} <= set(tools)
    assert connected.backstory("setup", "cline").startswith("Already set up")
    connected.backstory("disconnect", "cline")
    assert connected.knows() == (False, False)
    left = {path for path in connected.cline.state() if path.startswith("settings")}
    assert left == {path for path in before if path.startswith("settings")}
    assert not connected.rule.exists()


@pytest.mark.parametrize("variable", ["CLINE_DIR", "CLINE_DATA_DIR", "CLINE_MCP_SETTINGS_PATH"])
def test_cline_looks_where_its_variables_say(connected: Connected, tmp_path: Path, variable: str) -> None:
    cline, away = connected.cline, tmp_path / "away"
    data = cline.root / ".cline" / "data"
    cline.env["CLINE_PROVIDER_SETTINGS_PATH"] = str(data / "settings" / "providers.json")
    cline.env["CLINE_GLOBAL_SETTINGS_PATH"] = str(data / "settings" / "global-settings.json")
    cline.env["CLINE_SESSION_DATA_DIR"] = str(data / "sessions")
    away.mkdir()
    cline.env[variable] = f" {away / 'mcp.json' if variable == 'CLINE_MCP_SETTINGS_PATH' else away} "
    connected.backstory("setup", "cline")
    assert not connected.settings.exists()
    assert connected.rule.exists() is (variable != "CLINE_DIR")
    assert connected.knows() == (True, True)
    connected.backstory("disconnect", "cline")
    assert connected.knows() == (False, False)


def test_a_stale_nested_transport_is_repaired(connected: Connected) -> None:
    """What a merge of a flat entry into one of `cline mcp add` leaves: Cline starts the nested one."""
    nested = {"type": "stdio", "command": "/gone/backstory", "args": ["mcp"]}
    entry = {"transport": nested, "command": str(connected.program), "args": ["mcp"], "timeout": 60}
    connected.settings.write_text(json.dumps({"mcpServers": {"backstory": entry}}))
    assert connected.knows()[1] is False
    connected.backstory("setup", "cline")
    assert "transport" not in connected.servers()["backstory"]
    assert connected.knows() == (True, True)


def test_cline_s_own_add_before_and_after(connected: Connected) -> None:
    server = ("--", sys.executable, str(Path(mcp_server.__file__)))
    connected.mcp("add", "shop", "--yes", *server)
    connected.mcp("add", "backstory", "--yes", "--", str(connected.program), "mcp")
    connected.backstory("setup", "cline")
    mine = connected.servers()["backstory"]
    assert mine == {"command": str(connected.program), "args": ["mcp"], "timeout": 60}
    connected.mcp("add", "later", "--yes", *server)
    assert list(connected.servers()) == ["shop", "backstory", "later"]
    assert connected.servers()["backstory"] == mine
    _, tools = connected.session()
    assert {"shop__stock", "backstory__recall", "later__stock"} <= set(tools)
    connected.backstory("disconnect", "cline")
    assert list(connected.servers()) == ["shop", "later"]
    _, tools = connected.session()
    assert {"shop__stock", "later__stock"} <= set(tools)
    assert not any(tool.startswith("backstory__") for tool in tools)
    # Cline's own next write finds its lock free and the file as it left it.
    connected.mcp("add", "last", "--yes", *server)
    assert list(connected.servers()) == ["shop", "later", "last"]


def test_cline_waits_while_our_lock_is_held(connected: Connected) -> None:
    connected.backstory("setup", "cline")
    before = connected.settings.read_bytes()
    with lock.held(connected.settings):
        adding = subprocess.Popen(
            [str(connected.cline.binary), "mcp", "add", "shop", "--yes", "--", "x"],
            env=connected.cline.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        connected.cline.started.append(adding)
        deadline = time.monotonic() + RUN_LIMIT
        # Each of Cline's attempts makes a folder of its own first, and removes it. Between two attempts the lock is
        # left: an attempt that meets it and then finds it gone gives up with an error.
        for trying in (True, False):
            while bool(list(connected.settings.parent.glob("*.lock.tmp.*"))) is not trying:
                assert adding.poll() is None, "Cline wrote in spite of the lock"
                assert time.monotonic() < deadline
        assert connected.settings.read_bytes() == before
    assert adding.wait(RUN_LIMIT) == 0
    assert list(connected.servers()) == ["backstory", "shop"]
    assert not list(connected.settings.parent.glob("*.lock*"))


def test_what_setup_calls_broken_costs_cline_all_servers(connected: Connected) -> None:
    connected.backstory("setup", "cline")
    document = json.loads(connected.settings.read_bytes())
    document["mcpServers"]["bad"] = {"args": ["x"]}
    connected.settings.write_text(json.dumps(document))
    said = connected.backstory("setup", "cline", code=1)
    assert 'the entry "bad" has neither "command" nor "url"' in said
    assert connected.knows() == (True, False)


def test_the_server_starts_outside_of_any_project_with_the_archive_that_setup_saw(
    connected: Connected, tmp_path: Path
) -> None:
    connected.cline.env["BACKSTORY_HOME"] = str(tmp_path / "archive")
    connected.backstory("setup", "cline")
    del connected.cline.env["BACKSTORY_HOME"]
    assert connected.servers()["backstory"]["env"] == {"BACKSTORY_HOME": str(tmp_path / "archive")}
    assert connected.knows() == (True, True)
