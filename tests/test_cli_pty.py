"""The program in a real terminal: colours, width, hints, the pager, questions."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from backstory.cli.text import cells
from backstory.demo import load

SGR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    load(folder / "cline" / "data" / "sessions", int(time.time() * 1000))
    assert terminal(folder, "learn")[0] == 0
    return folder


def terminal(home: Path, *args: str, columns: int = 100, typed: bytes = b"", **more: str) -> tuple[int, str]:
    """Run the program in a pseudo terminal: (exit code, everything that it wrote there)."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    dropped = ("BACKSTORY_", "CLINE_", "FORCE_COLOR", "NO_COLOR", "COLUMNS", "PAGER", "LESS", "PYTHON")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env |= {
        "BACKSTORY_HOME": str(home),
        "CLINE_DIR": str(home / "cline"),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }
    env |= {"PAGER": "cat", **more}
    process = subprocess.Popen(
        [sys.executable, "-m", "backstory", *args], stdin=side, stdout=side, stderr=side, env=env
    )
    os.close(side)
    if typed:
        os.write(main, typed)
    found = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([main], [], [], 0.2)[0]:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            found += part
        elif process.poll() is not None:
            break
    os.close(main)
    return process.wait(10), found.decode("utf-8").replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
@pytest.mark.parametrize(
    "args",
    [
        (),
        ("sessions",),
        ("show", "k3v9q"),
        ("search", "redis"),
        ("recall", "redis", "--limit", "20"),
        ("learn", "--explain"),
        ("memory", "--limit", "99"),
        ("workspace", "show"),
        ("doctor",),
    ],
    ids=str,
)
def test_every_line_fits(home: Path, args: tuple[str, ...], columns: int) -> None:
    code, out = terminal(home, *args, columns=columns)
    assert code == 0
    widest = max(cells(SGR.sub("", line)) for line in out.splitlines())
    assert widest <= max(60, min(columns, 120))


def test_colours_are_those_of_the_roles(home: Path) -> None:
    _, out = terminal(home, "sessions")
    used = set(SGR.findall(out))
    assert used == {f"\x1b[{code}m" for code in ("0", "1", "2", "32", "33", "1;37;41")}
    assert "\x1b[1;37;41m2 failing\x1b[0m" in out
    assert "\x1b[32m●\x1b[0m" in out
    assert "\x1b[2m1 failed\x1b[0m" in out


def test_nothing_of_a_session_acts(home: Path) -> None:
    _, out = terminal(home, "show", "k3v9q", "--full")
    assert "\x1b" not in SGR.sub("", out)
    assert {code for code in SGR.findall(out) if code not in ("\x1b[0m", "\x1b[1;37;41m")} <= {
        f"\x1b[{code}m" for code in ("1", "2", "31", "32", "33", "35")
    }


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_can_be_unwanted(home: Path, more: dict[str, str]) -> None:
    for args in (("sessions",), ("show", "k3v9q"), ()):
        assert "\x1b" not in terminal(home, *args, **more)[1]


def test_color_always_goes_before_the_environment(home: Path) -> None:
    assert "\x1b[1m" in terminal(home, "--color", "always", "sessions", NO_COLOR="1")[1]
    assert "\x1b" not in terminal(home, "--color", "never", "sessions")[1]


def test_the_hint_is_last_and_absent_with_quiet(home: Path) -> None:
    hint = "--turn 4 shows one prompt, --full every output, --problems only what went wrong."
    _, out = terminal(home, "show", "k3v9q", NO_COLOR="1")
    assert out.endswith(f"\n\n{hint}\n")
    assert hint not in terminal(home, "--quiet", "show", "k3v9q", NO_COLOR="1")[1]
    assert "backstory --help" in terminal(home)[1]
    assert "backstory --help" not in terminal(home, "-q")[1]


def test_show_goes_through_the_pager(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    code, out = terminal(home, "show", "k3v9q", PAGER=f"cat > {kept}", NO_COLOR="1")
    assert (code, out) == (0, "")
    text = kept.read_text("utf-8")
    assert text.startswith("Requests get a 500")
    assert text.endswith("only what went wrong.\n")
    code, out = terminal(home, "sessions", PAGER=f"cat > {kept}")
    assert "k3v9q" in out


def test_a_pager_that_is_left_early_is_no_error(home: Path) -> None:
    code, out = terminal(home, "show", "t5d2k", "--full", PAGER="head -n 1", NO_COLOR="1")
    assert code == 0
    assert out.count("\n") == 1


def test_a_pager_that_does_not_exist_is_said_by_the_shell(home: Path) -> None:
    code, out = terminal(home, "show", "k3v9q", PAGER="no-such-pager-here")
    assert code == 0
    assert "Traceback" not in out


def test_a_patch_is_drawn(home: Path) -> None:
    _, out = terminal(home, "show", "k3v9q", "--changes")
    assert "\x1b[32m+" in out
    assert "\x1b[31m-" in out


def test_forget_asks(home: Path) -> None:
    code, out = terminal(home, "forget", "q6f1s", typed=b"n\n", NO_COLOR="1")
    assert code == 1
    assert "Forget it? [y/N]" in out
    assert out.endswith("backstory: nothing was removed.\n")
    code, out = terminal(home, "forget", "q6f1s", typed=b"y\n", NO_COLOR="1")
    assert code == 0
    assert out.endswith("Forgotten: 1 session.\n")
    assert terminal(home, "show", "q6f1s")[0] == 1


def test_recall_marks_the_words_and_hints_at_the_first(home: Path) -> None:
    _, out = terminal(home, "recall", "why did redis take the gateway down")
    assert "answered  \x1b[0mRequests pass when \x1b[7mRedis\x1b[0m is away" in out
    _, out = terminal(home, "recall", "expected log.warn to be called", NO_COLOR="1")
    hint = "backstory show k3v9q --turn 2 opens the first. Lexical search, no model was called."
    assert out.endswith(f"\n\n{hint}\n")
    assert hint not in terminal(home, "--quiet", "recall", "expected log.warn to be called", NO_COLOR="1")[1]


def test_forgetting_of_the_memory_asks(home: Path) -> None:
    code, out = terminal(home, "memory", "forget", "--session", "t5d2k", typed=b"n\n")
    assert code == 1
    assert "Forget it? [y/N]: " in out
    assert out.endswith("backstory: nothing was removed.\n")
    assert all(cells(SGR.sub("", line)) <= 100 for line in out.splitlines())
