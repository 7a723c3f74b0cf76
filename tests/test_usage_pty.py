"""The reports in a real terminal: every line fits, and a person is told what the columns mean."""

from __future__ import annotations

import os

import pytest
from test_cli_pty import SGR, home, terminal  # noqa: F401  `home` is a fixture

from backstory.cli.text import cells

OWN = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
REPORTS = (
    *(("usage", "--all", "--by", by) for by in ("day", "model", "session", "project", "tool", "command")),
    ("usage", "top", "--all"),
    ("usage", "reconcile", "--all"),
    ("usage", "reconcile", "t5d2k"),
    ("usage", "models", "--all"),
    ("prices",),
)


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("args", REPORTS, ids=" ".join)
def test_every_line_fits(request: pytest.FixtureRequest, args: tuple[str, ...], columns: int) -> None:
    code, out = terminal(request.getfixturevalue("home"), *args, columns=columns, **OWN)
    assert code == 0
    assert max(cells(SGR.sub("", line)) for line in out.splitlines()) <= min(columns, 120)


def test_budgets_fit(request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue("home")
    terminal(folder, "budget", "set", "1000", "--project", "a-project-with-a-rather-long-name", **OWN)
    for columns in (60, 80, 100):
        code, out = terminal(folder, "budget", columns=columns, **OWN)
        assert code == 0
        assert max(cells(SGR.sub("", line)) for line in out.splitlines()) <= columns


def test_the_meaning_stands_under_the_table(request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue("home")
    _, out = terminal(folder, "usage", "--all", "--tz", "Europe/Berlin", columns=120, **OWN)
    text = " ".join(SGR.sub("", out).split())
    assert "Reported: Cline recorded it." in text
    assert text.endswith("see backstory usage models --unpriced. Zone: Europe/Berlin.")
    _, quiet = terminal(folder, "--quiet", "usage", "--all", **OWN)
    assert "Reported: " not in quiet
