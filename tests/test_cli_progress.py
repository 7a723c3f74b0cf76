"""The progress line: after a second, on a terminal alone, gone at the end."""

from __future__ import annotations

import io
import subprocess
import sys

from backstory.cli.progress import Progress
from backstory.cli.term import Term


class Screen(io.StringIO):
    """An output that is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that go by when they are told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def term(err: io.StringIO, *, quiet: bool = False) -> Term:
    return Term(out=io.StringIO(), err=err, env={"TERM": "xterm"}, quiet=quiet, now=0)


def run(err: io.StringIO, *, pace: float, quiet: bool = False) -> str:
    clock = Clock()
    with Progress(term(err, quiet=quiet), "Reading Cline's sessions", clock=clock) as progress:
        for done in range(0, 1285, 4):
            clock.now += pace
            progress.update(done, 1284)
    return err.getvalue()


def test_a_quick_pass_says_nothing() -> None:
    assert run(Screen(), pace=0.003) == ""


def test_a_slow_pass_says_how_far_it_is_and_is_gone_at_the_end() -> None:
    said = run(Screen(), pace=0.02)
    assert "Reading Cline's sessions" in said
    assert "of 1,284" in said
    assert " left" in said
    assert said.endswith("\x1b[2K") or "\x1b[1A" in said


def test_nobody_is_told_where_nobody_looks() -> None:
    assert run(io.StringIO(), pace=0.02) == ""
    assert run(Screen(), pace=0.02, quiet=True) == ""


def test_nothing_is_loaded_before_it_is_drawn() -> None:
    code = (
        "import io, sys\nfrom backstory.cli.progress import Progress\nfrom backstory.cli.term import Term\n"
        "with Progress(Term(env={}), 'x') as progress:\n    progress.update(1, 2)\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
