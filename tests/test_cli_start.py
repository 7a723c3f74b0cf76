"""What a run loads, and how it ends: quick verbs stay quick, and no run ends in a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import backstory
from backstory.demo import load

HEAVY = {"msgspec", "rich", "watchfiles", "sqlite3", "zstandard", "subprocess", "json", "backstory.archive"}
PROGRAM = [sys.executable, "-m", "backstory"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the samples in its archive."""
    folder = tmp_path_factory.mktemp("home")
    load(folder / "cline" / "data" / "sessions", 1_796_042_116_000)
    subprocess.run([*PROGRAM, "capture", "--once"], env=env(folder), check=True, stdout=subprocess.DEVNULL)
    return folder


def env(home: Path, **more: str) -> dict[str, str]:
    dropped = ("BACKSTORY_", "CLINE_", "FORCE_COLOR", "NO_COLOR", "COLUMNS", "PAGER")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "BACKSTORY_HOME": str(home), "CLINE_DIR": str(home / "cline"), **more}


def loaded(home: Path, *args: str) -> set[str]:
    """The modules that a run has loaded when it ends."""
    code = (
        "import sys\nfrom backstory.cli.main import run\n"
        f"run({list(args)!r})\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env(home), capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("nonsense",)], ids=str)
def test_what_needs_no_archive_loads_nothing_heavy(home: Path, args: tuple[str, ...]) -> None:
    assert not loaded(home, *args) & HEAVY


def test_a_verb_loads_its_own_module_and_no_other(home: Path) -> None:
    modules = loaded(home, "sessions", "--no-sync")
    assert "backstory.cli.sessions" in modules
    others = {
        f"backstory.cli.{name}"
        for name in ("show", "search", "forget", "doctor", "demo", "timeline", "replay")
    }
    assert not modules & others


def test_recall_loads_nothing_that_reads_sessions(home: Path) -> None:
    modules = loaded(home, "recall", "redis")
    assert "backstory.memory.recall" in modules
    assert not {
        name for name in modules if name.startswith(("backstory.capture", "backstory.sources.cline.reader"))
    }


@pytest.mark.parametrize("args", [("sessions",), ("show", "last"), ("recall", "redis"), ("memory",)], ids=str)
def test_without_a_terminal_nothing_is_loaded_to_draw_on_one(home: Path, args: tuple[str, ...]) -> None:
    modules = loaded(home, *args)
    assert not modules & {"rich", "watchfiles", "subprocess"}


def run(home: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *args], env=env(home, **more), capture_output=True, text=True, timeout=60
    )


def test_the_module_runs_as_the_program_does(home: Path) -> None:
    done = run(home, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"backstory {backstory.__version__}\n", "")
    assert run(home, "show", "nope").returncode == 1
    assert run(home, "nope").returncode == 2


def test_a_reader_that_leaves_early_is_no_error(home: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "show", "t5d2k", "--full"],
        env=env(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    words = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert words == b""


def test_an_interrupt_stops_the_watcher_cleanly(home: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "capture"], env=env(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line == "Watching. Ctrl-C stops.\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith("20 sessions, 0 changed")
    assert "Traceback" not in err


def test_symbols_fall_back_where_the_encoding_has_none(home: Path) -> None:
    done = run(home, "sessions", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\n!  " in done.stdout
    done = run(home, "show", "08nb3", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert run(home, "sessions", "--help", PYTHONIOENCODING="ascii").returncode == 0
    done = run(home, "show", "\u202e", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_colour_outside_of_a_terminal_is_asked_for(home: Path) -> None:
    assert "\x1b" not in run(home, "sessions").stdout
    assert "\x1b[1;37;41m" in run(home, "--color", "always", "sessions").stdout
    assert "\x1b[1;37;41m" in run(home, "sessions", FORCE_COLOR="1").stdout
    assert "\x1b" not in run(home, "sessions", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b" not in run(home, "--color", "never", "sessions", FORCE_COLOR="1").stdout


def test_what_breaks_inside_is_one_line(home: Path, tmp_path: Path) -> None:
    """A fault of ours, brought about by an archive that somebody changed by hand."""
    import sqlite3

    own = tmp_path / "archive.db"
    own.write_bytes((home / "archive.db").read_bytes())
    with sqlite3.connect(own) as connection:
        connection.execute("UPDATE session SET failing = 'many', steps = 'odd'")
    connection.close()
    done = run(home, "--db", str(own), "sessions", "--no-sync")
    assert (done.returncode, done.stdout.count("Traceback")) == (1, 0)
    assert done.stderr.startswith("backstory: something broke in Backstory (")
    assert done.stderr.count("\n") == 1
