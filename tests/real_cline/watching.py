"""Backstory beside a running Cline: its capture as a process of its own, and what its archive then shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .home import ClineHome

Record = dict[str, Any]
"""What `backstory show --json` prints."""

SETTLE_LIMIT = 20.0
"""Seconds that a capture may take to show what is on disk; on a free machine it is about two."""

CALL_LIMIT = 60.0


class Backstory:
    """The command line of Backstory against one home of Cline, with an archive of its own."""

    def __init__(self, cline: ClineHome, archive_home: Path) -> None:
        self.cline = cline
        self.archive_home = archive_home
        self.env = {
            "HOME": str(cline.root),
            "PATH": cline.env["PATH"],
            "LANG": "C.UTF-8",
            "BACKSTORY_HOME": str(archive_home),
            **tree(),
        }
        self._capture: subprocess.Popen[str] | None = None

    def call(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """One verb, to its end."""
        done = subprocess.run(
            [*program(), *arguments],
            cwd=self.cline.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CALL_LIMIT,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"backstory {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done

    def start_capture(self) -> None:
        """Watch from now on; Cline need not have written anything yet."""
        self.archive_home.mkdir(parents=True, exist_ok=True)
        with (self.archive_home / "capture.log").open("w") as log:
            self._capture = subprocess.Popen(
                [*program(), "capture"],
                cwd=self.cline.project,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def stop_capture(self) -> int | None:
        """Ask the watcher to end; returns its exit code, null where none ran."""
        capture, self._capture = self._capture, None
        if capture is None:
            return None
        capture.terminate()
        try:
            return capture.wait(10)
        except subprocess.TimeoutExpired:
            capture.kill()
            capture.wait(10)
            raise

    def log(self) -> str:
        path = self.archive_home / "capture.log"
        return path.read_text() if path.is_file() else ""

    def show(self, session_id: str, sync: bool = False) -> Record | None:
        """What the archive holds, with or without a look at Cline's files first; null for an unknown session."""
        done = self.call("show", session_id, "--json", *([] if sync else ["--no-sync"]), check=False)
        if done.returncode != 0:
            return None
        record: Record = json.loads(done.stdout)
        return record

    def listed(self, session_id: str) -> dict[str, Any]:
        """The session's entry in `backstory sessions --json`, from the archive alone."""
        entries = json.loads(self.call("sessions", "--json", "--no-sync").stdout)["sessions"]
        found: dict[str, Any] = next(entry for entry in entries if entry["id"] == session_id)
        return found

    def read_at_once(self, session_id: str) -> Record | None:
        """What a new archive holds after one pass over what is on disk now."""
        with TemporaryDirectory(dir=self.archive_home.parent) as home:
            fresh = Backstory(self.cline, Path(home))
            fresh.call("capture", "--once")
            return fresh.show(session_id)

    def settled(self, session_id: str, until: Callable[[Record], bool] | None = None) -> Record:
        """Wait till the archive shows what stands on disk, or what `until` asks for."""
        reached = until or (lambda record: self._up_to_date(session_id, record))
        deadline = time.monotonic() + SETTLE_LIMIT
        record: Record | None = None
        while time.monotonic() < deadline:
            self._still_capturing()
            record = self.show(session_id)
            if record is not None and reached(record):
                return record
            time.sleep(0.2)
        shown = "nothing" if record is None else json.dumps(record["session"], indent=1)
        raise AssertionError(
            f"the archive did not catch up in {SETTLE_LIMIT} s; it shows {shown}\n{self.log()[-2000:]}"
        )

    def _up_to_date(self, session_id: str, record: Record) -> bool:
        """The record has the last word of both of Cline's files."""
        session, manifest = record["session"], self.cline.manifest(session_id)
        written = self.cline.document(session_id)["updated_at"]
        return bool(session["status"] == manifest["status"] and session["updated_at"] == written)

    def _still_capturing(self) -> None:
        if self._capture is not None and self._capture.poll() is not None:
            raise AssertionError(f"capture ended by itself: {self._capture.returncode}\n{self.log()[-2000:]}")


def program() -> list[str]:
    """The installed command, else the module, with the interpreter that runs the tests."""
    script = Path(sys.executable).with_name("backstory")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "backstory.cli.main"]


def tree() -> dict[str, str]:
    """The variable that names another tree than the installed one, where the tests run with it."""
    return {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


def steps_of(record: Record, kind: str, actor: str | None = None) -> list[dict[str, Any]]:
    """Steps of one type in reading order; of one actor where it is named."""
    return [
        step
        for step in record["steps"]
        if step["type"] == kind and (actor is None or step["actor_id"] == actor)
    ]


def step(record: Record, step_id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(step for step in record["steps"] if step["id"] == step_id)
    return found


def texts(record: Record, role: str) -> list[str]:
    """What was said in one role."""
    messages = steps_of(record, "message")
    return [message["payload"]["text"] for message in messages if message["payload"]["role"] == role]
