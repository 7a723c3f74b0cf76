"""What holds for every test: no variable of the machine leaks in, and under CI a skipped test is a failure."""

from __future__ import annotations

import os

import pytest
from connected import place

__all__ = ["place"]

VARIABLES = (
    "BACKSTORY_HOME",
    "BACKSTORY_CLINE_DIR",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "CLINE_SESSION_DATA_DIR",
    "CLINE_GLOBAL_SETTINGS_PATH",
    "CLINE_MCP_SETTINGS_PATH",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "PAGER",
)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    if skipped and os.environ.get("CI"):
        reporter.write_line(f"{len(skipped)} skipped: under CI that is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
