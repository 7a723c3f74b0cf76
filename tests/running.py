"""Runs the program inside the test's process, as a person or a script runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backstory.cli.main import run
from backstory.demo import load, settings

Run = Callable[..., "Done"]


class Done:
    """What a run left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


NOW = 1_796_042_116_000
"""When the samples are told, in epoch ms."""


def samples(folder: Path) -> Path:
    """Fill a folder of Cline's with the samples, as old as their story."""
    load(folder / "data" / "sessions", NOW)
    settings(folder / "data")
    return folder


def runner(
    cline: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """A function that runs the program in a home of its own, over a folder of Cline's."""
    monkeypatch.setenv("BACKSTORY_HOME", str(home))
    monkeypatch.setenv("CLINE_DIR", str(cline))
    monkeypatch.setenv("BACKSTORY_DEBUG", "1")

    def call(*args: str) -> Done:
        capfd.readouterr()
        code = run(args)
        sys.stdout.flush()
        return Done(code, *capfd.readouterr())

    return call
