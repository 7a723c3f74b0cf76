"""The app over the sample sessions: by requests alone, and served to a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from starlette.testclient import TestClient

from backstory import Archive, demo
from backstory.web.app import create_app
from backstory.web.server import bind, serving
from backstory.web.status import Status

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NOW = 1_796_042_116_000
"""30 November 2026, 12:35:16 UTC: the moment at which the samples are told."""
HOST = "http://127.0.0.1:8737"
ROOT = Path(__file__).parents[2]
WAIT = 5_000
"""Milliseconds that a browser waits for anything."""


class Home(NamedTuple):
    """A home with Cline's sessions and an archive of them."""

    path: Path
    now: int = NOW

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.path),
            "USERPROFILE": str(self.path),
            "BACKSTORY_HOME": str(self.path / "backstory"),
            "CLINE_DIR": str(self.path / "cline"),
        }

    @property
    def sessions(self) -> Path:
        return self.path / "cline" / "data" / "sessions"

    @property
    def database(self) -> Path:
        return self.path / "backstory" / "archive.db"

    def archive(self) -> Archive:
        return Archive(env=self.env, now=lambda: self.now)

    def client(self, status: Status | None = None) -> TestClient:
        app = create_app(env=self.env, now=lambda: self.now, status=status)
        return TestClient(app, base_url=HOST)

    def served(self) -> AbstractContextManager[str]:
        """The app at an address of its own, by the clock of this home."""
        status = Status("watching")
        return serving(bind(0), self.database, env=self.env, status=status, now=lambda: self.now)

    def id(self, short: str) -> str:
        with self.archive() as archive:
            return archive.resolve(short)


def told(home: Home) -> Home:
    """Fill a home with the samples, and read them."""
    data = home.path / "cline" / "data"
    demo.load(data / "sessions", home.now)
    demo.settings(data)
    with home.archive() as archive:
        archive.sync()
    return home


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The samples, for tests that change nothing."""
    return told(Home(tmp_path_factory.mktemp("samples")))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    return Home(tmp_path)


@pytest.fixture(scope="session")
def client(samples: Home) -> TestClient:
    return samples.client()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium. Where there is none the tests are skipped; in CI that is a failure."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(samples: Home) -> Iterator[str]:
    """The samples, served."""
    with samples.served() as where:
        yield where


Open = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens an address in a window of its own; at the end nothing was complained of or asked for elsewhere."""
    contexts, said, asked = [], [], []

    def opened(
        address: str, *, width: int = 1440, height: int = 900, scheme: str = "light", scripts: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            timezone_id="UTC",
            locale="en-GB",
            java_script_enabled=scripts,
        )
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{page.url}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    elsewhere = [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
    assert elsewhere == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker from npm, kept beside the other things that tests fetch once."""
    place = Path(os.environ.get("BACKSTORY_AXE", ROOT / ".cache" / "axe"))
    script = place / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)("npm is needed for axe-core")
        command = [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(place),
            "axe-core@4.14.1",
        ]
        subprocess.run(command, check=True, timeout=180, capture_output=True)
    return script.read_text("utf-8")
