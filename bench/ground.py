"""What the benchmarks stand on: a work folder, generated trees, our program, and the peer's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Spent, run

HERE = Path(__file__).parent
AGENTSVIEW = "agentsview==0.46.1"
CODEBURN = (0, 9, 16)
"""The first version that reads sessions of Cline's command line. It needs a newer Node than many machines have."""
PEERS = (AGENTSVIEW, "orjson>=3.10")


@dataclass(frozen=True)
class Ground:
    """`work` holds trees, archives and the peers' environment; `quick` makes everything small."""

    work: Path
    quick: bool
    peers: bool
    repeat: int

    def tree(self, name: str, *args: object) -> Path:
        """A generated tree, made once, in a process of its own so that this one stays small."""
        root = self.work / "trees" / name / "sessions"
        if not root.with_name("sessions.done").exists():
            shutil.rmtree(root.parent, ignore_errors=True)
            root.parent.mkdir(parents=True)
            run([sys.executable, HERE / "generate.py", root, *map(str, args)])
            root.with_name("sessions.done").touch()
        return root

    def big(self) -> Path:
        if self.quick:
            return self.tree("quick", "--sessions", 100, "--calls", 4000)
        return self.tree("big", "--sessions", 1000, "--calls", 60_000, "--bytes", 750e6)

    def totals(self, root: Path) -> dict[str, Any]:
        beside = root.with_name(root.name + ".totals.json")
        found: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8"))
        return found

    def home(self, name: str) -> Path:
        """A fresh folder for the state of one run."""
        path = self.work / "homes" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def program(self, home: Path, *args: object) -> tuple[list[str], dict[str, str]]:
        """Our command line with a home of its own, and no other Cline than the one that is named."""
        beside = Path(sys.executable).with_name("backstory")
        argv = [str(beside)] if beside.exists() else [sys.executable, "-m", "backstory"]
        env = {"BACKSTORY_HOME": str(home), "CLINE_DIR": str(home / "no-cline"), "HOME": str(home)}
        return [*argv, *map(str, args)], env

    def ingest(self, root: Path, home: Path) -> Spent:
        argv, env = self.program(home, "capture", "--once", "--sessions-dir", root)
        return run(argv, env)

    def peer_python(self) -> Path:
        """An environment of the peers' own; they are downloaded once, by hand, and never in CI."""
        where = self.work / "peers"
        python = where / "bin" / "python"
        if not (where / "done").exists():
            venv.create(where, with_pip=True, clear=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
            (where / "done").touch()
        return python

    def agentsview(self, root: Path, home: Path, *args: str) -> Spent:
        """One run offline and without a daemon, a sync unless `args` say otherwise.

        It reads a folder as Cline's only if it is named `sessions`.
        """
        env = {
            "HOME": str(home),
            "AGENTSVIEW_DATA_DIR": str(home / "data"),
            "CLINE_DIR": str(root),
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_TELEMETRY_ENABLED": "0",
            "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        }
        return run([self.peer_python().with_name("agentsview"), *(args or ("sync",))], env)

    def codeburn(self) -> str | None:
        """Where codeburn lies, if it is on the PATH and new enough; it is never installed from here."""
        found = shutil.which("codeburn")
        if found is None:
            return None
        said = subprocess.run(
            [found, "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
        numbers = tuple(int(part) for part in said.split(".") if part.isdigit())
        if numbers < CODEBURN:
            print(
                f"codeburn {said or 'without a version'} is too old; 0.9.16 reads Cline's sessions",
                file=sys.stderr,
            )
            return None
        return found

    def report_of_codeburn(self, program: str, root: Path, home: Path) -> Spent:
        """Its report of everything; what it keeps for the next run goes to a home of its own."""
        env = {"HOME": str(home), "CLINE_SESSION_DATA_DIR": str(root)}
        return run([program, "report", "--format", "json", "--period", "all"], env)
