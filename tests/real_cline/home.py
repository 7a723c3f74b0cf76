"""A throw-away home in which the real Cline lives: its settings, a git project, its runs, its leftovers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

RUN_LIMIT = 60.0
"""Seconds that one run of Cline may take; a scripted one takes about three."""

MODEL = "mock-model"

SETTINGS = {"telemetryOptOut": True, "autoUpdateEnabled": False}


class ClineHome:
    """`root` is `HOME`; the project is a git repository with one commit, as checkpoints need one."""

    def __init__(self, binary: Path, root: Path, hub_port: int) -> None:
        self.binary = binary
        self.root = root
        self.project = root / "work" / "shop"
        self.sessions = root / ".cline" / "data" / "sessions"
        self.env = {
            "HOME": str(root),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(root / "tmp"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "CLINE_NO_AUTO_UPDATE": "1",
            "CLINE_HUB_PORT": str(hub_port),
        }
        self.started: list[subprocess.Popen[str]] = []

    def settle_in(self, template: ClineHome | None = None) -> ClineHome:
        """Make the folders and the project; the settings are a copy of the template's, where there is one."""
        (self.root / "tmp").mkdir(parents=True)
        settings = self.root / ".cline" / "data" / "settings"
        if template is not None:
            shutil.copytree(template.root / ".cline" / "data" / "settings", settings)
        else:
            settings.mkdir(parents=True)
            (settings / "global-settings.json").write_text(json.dumps(SETTINGS))
        (self.project / "src").mkdir(parents=True)
        (self.project / "hello.py").write_text("print('hi')\n")
        (self.project / "src" / "widget.ts").write_text("export const widget = 1;\n")
        for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Start"]):
            identity = ["-c", "user.name=dev", "-c", "user.email=dev@localhost"]
            subprocess.run(
                ["git", *identity, *arguments], cwd=self.project, env=self.env, check=True, timeout=30
            )
        return self

    def authorise(self, url: str) -> None:
        """Point Cline at the scripted model, the way a person does."""
        self._call("auth", "-p", "openai", "-k", "sk-test", "-m", MODEL, "-b", f"{url}/v1")

    def run(self, prompt: str, *flags: str, model: str = MODEL, exits: int = 0) -> str:
        """One one-shot run, to the end that is expected. Returns the id of the session that it made."""
        before = self.session_ids()
        done = self._call(*self._arguments(prompt, flags, model), exits=exits)
        new = sorted(self.session_ids() - before)
        assert len(new) == 1, f"sessions made by one run: {new}\n{done.stderr}"
        return new[0]

    def start(self, prompt: str, *flags: str, model: str = MODEL) -> subprocess.Popen[str]:
        """Start a run and leave it running; `close` ends what still runs."""
        process = subprocess.Popen(
            [str(self.binary), *self._arguments(prompt, flags, model)],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.started.append(process)
        return process

    def history(self) -> list[dict[str, Any]]:
        """Cline's own list of sessions; making it, Cline looks which of them are dead."""
        listed: list[dict[str, Any]] = json.loads(self._call("history", "--json").stdout)
        return listed

    def session_ids(self) -> set[str]:
        return {entry.name for entry in self.sessions.iterdir()} if self.sessions.is_dir() else set()

    def manifest(self, session_id: str) -> dict[str, Any]:
        found: dict[str, Any] = _json(self.sessions / session_id / f"{session_id}.json")
        return found

    def document(self, session_id: str) -> dict[str, Any]:
        """The session's own messages file."""
        found: dict[str, Any] = _json(self.sessions / session_id / f"{session_id}.messages.json")
        return found

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.document(session_id)["messages"]
        return found

    def writing(self, count: int) -> str:
        """Wait till the home's only session has that many messages on disk; returns its id."""
        deadline = time.monotonic() + RUN_LIMIT
        while not any(len(self.messages(found)) == count for found in self.session_ids()):
            assert time.monotonic() < deadline, f"Cline did not write {count} messages"
            time.sleep(0.05)
        (session_id,) = self.session_ids()
        return session_id

    def children(self, session_id: str) -> list[str]:
        """Stems of the messages files of subagents."""
        names = [path.name for path in (self.sessions / session_id).glob("*.messages.json")]
        stems = [name.removesuffix(".messages.json") for name in names]
        return sorted(stem for stem in stems if stem != session_id)

    def state(self) -> dict[str, tuple[bytes, int]]:
        """Bytes and modification time of every file below the sessions and the settings."""
        data = self.root / ".cline" / "data"
        files = [path for part in ("sessions", "settings") for path in (data / part).rglob("*")]
        return {
            str(path.relative_to(data)): (
                path.read_bytes() if path.is_file() else b"",
                path.stat().st_mtime_ns,
            )
            for path in files
        }

    def close(self) -> None:
        """End what this home left running: its own runs and Cline's hub daemon, each by its id."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        quiet = 0
        while quiet < 2:
            running = self.left_running()
            quiet = 0 if running else quiet + 1
            for pid in running:
                _end(pid)
            time.sleep(0.1)

    def left_running(self) -> set[int]:
        """Ids of the processes that live in this home: by their environment, else by Cline's own note."""
        proc = Path("/proc")
        if not proc.is_dir():
            note = self.root / ".cline" / "data" / "locks" / "hub" / "production.json"
            return {int(json.loads(note.read_text())["pid"])} if note.is_file() else set()
        mark = f"HOME={self.root}".encode()
        found: set[int] = set()
        for entry in proc.iterdir():
            if entry.name.isdigit() and mark in _environment(entry):
                found.add(int(entry.name))
        return found

    def _arguments(self, prompt: str, flags: tuple[str, ...], model: str) -> list[str]:
        return ["--json", "-P", "openai", "-m", model, *flags, prompt]

    def _call(self, *arguments: str, exits: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.binary), *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT,
            check=False,
        )
        if done.returncode != exits:
            raise AssertionError(
                f"cline {' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-2000:]}"
            )
        return done


def free_port() -> int:
    """A port of loopback that nobody listens on, so that Cline's daemon never meets one of the user's."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _json(path: Path) -> Any:
    """A file that Cline may be rewriting in place at this moment."""
    for _ in range(20):
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            time.sleep(0.05)
    return json.loads(path.read_text())


def _environment(entry: Path) -> list[bytes]:
    try:
        return (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _end(pid: int) -> None:
    """Ask a process to end, and end it when it does not within five seconds."""
    for kind, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, kind)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and _alive(pid):
            time.sleep(0.05)
        if not _alive(pid):
            return


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.is_file() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
