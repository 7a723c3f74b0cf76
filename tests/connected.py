"""A home in which an agent is connected: a stand-in program, Cline's folders, and the terminal's verbs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Done

from backstory.cli.main import run
from backstory.clients import table
from backstory.clients.program import Command
from backstory.clients.registration import Here

TOOLS = ("recall", "open", "recent", "remember", "forget", "usage")
PROGRAM = f"""\
#!{sys.executable}
import json, sys
TOOLS = {TOOLS!r}
if sys.argv[1:] == ["--version"]:
    print("backstory 0.0.0")
for line in sys.stdin if sys.argv[1:2] == ["mcp"] else ():
    request = json.loads(line)
    if request["method"] == "initialize":
        result = {{"protocolVersion": "2024-11-05", "capabilities": {{"tools": {{}}}},
                  "serverInfo": {{"name": "backstory", "version": "0"}}}}
    else:
        result = {{"tools": [{{"name": name, "inputSchema": {{"type": "object"}}}} for name in TOOLS]}}
    if "id" in request:
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
"""
"""A program of ours as far as an agent sees it: it says its version, and serves six tools over stdio."""


def install(folder: Path, text: str = PROGRAM, name: str = "backstory") -> Path:
    """Put a program into a folder of scripts."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    script.write_text(text)
    script.chmod(0o755)
    return script


class Place:
    """A disposable home. `settings` and `rule` are where Cline has them when no variable is set."""

    def __init__(self, home: Path, program: Path, call: Callable[..., Done] | None = None) -> None:
        self.home = home
        self.program = program
        self.cline = home / ".cline"
        self.settings = self.cline / "data" / "settings" / "cline_mcp_settings.json"
        self.rule = self.cline / "rules" / "backstory.md"
        self.call = call
        self.client = table.client("cline")

    def run(self, *args: str) -> Done:
        assert self.call is not None
        return self.call(*args)

    def here(self, platform: str = "linux", **variables: str) -> Here:
        env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", **variables}
        return Here(env, platform, self.home / ".backstory", Command(str(self.program), ("mcp",)))

    def write(self, text: str | bytes | dict[str, Any], path: Path | None = None) -> bytes:
        """Write a settings file; a dictionary as Cline itself would write it."""
        path = path or self.settings
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, dict):
            text = json.dumps(text, indent=2) + "\n"
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(data)
        return data

    def servers(self, path: Path | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((path or self.settings).read_bytes())["mcpServers"]
        return found

    def entry(self, **more: Any) -> dict[str, Any]:
        """What setup writes."""
        return {"command": str(self.program), "args": ["mcp"], "timeout": 60, **more}

    def files(self) -> dict[str, bytes]:
        """Every file and folder of the home but Backstory's own."""
        own = self.home / ".backstory"
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else b"(folder)"
            for path in sorted(self.home.rglob("*"))
            if path != own and own not in path.parents
        }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Place:
    """A home with an installed Cline that has no settings yet; the program stands beside the interpreter."""
    home = tmp_path / "home"
    (home / ".cline").mkdir(parents=True)
    program = install(tmp_path / "env" / "bin")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("BACKSTORY_DEBUG", "1")

    def call(*args: str) -> Done:
        capfd.readouterr()
        code = run(args)
        sys.stdout.flush()
        return Done(code, *capfd.readouterr())

    return Place(home, program, call)
