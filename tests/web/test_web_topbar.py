"""The top bar of every page says what is captured, and what was drawn during a first pass is drawn anew after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Home, Open, told
from sessions import Session
from starlette.testclient import TestClient

from backstory.web.server import bind, serving
from backstory.web.status import Status

SOON = 15.0


def until(what: Callable[[], Any]) -> Any:
    """Wait for something to become true."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it never became true")


def test_a_pass_that_has_not_counted_yet_is_not_up_to_date(home: Home) -> None:
    bar = (
        home.client(Status("reading"))
        .get("/help")
        .text.partition('id="capture"')[2]
        .partition("</header>")[0]
    )
    assert "reading" in bar
    assert "up to date" not in bar


@pytest.mark.parametrize("page", ["/usage", "/memory", "/setup", "/help", "/search?q=redis"])
def test_every_page_follows_what_is_captured_and_takes_the_token_of_a_new_run(
    home: Home, visit: Open, page: str
) -> None:
    told(home)
    status = Status("reading", 4, 20)
    first = bind(0)
    port = first.getsockname()[1]
    with serving(first, home.database, env=home.env, status=status) as where:
        seen = visit(where + page)
        seen.get_by_text("reading 4 of 20", exact=False).first.wait_for()
        old = seen.locator("input[name=token]").first.input_value() if "memory" in page else ""
        status.capture = "watching"
        with home.archive() as archive:
            archive.mark_seen(archive.resolve("k3v9q"))  # a write, as captures make them
        seen.locator("#capture", has_text="up to date").wait_for()
    seen.locator("#capture", has_text="stopped").wait_for()
    with serving(bind(port), home.database, env=home.env, status=Status("off")):
        seen.locator("#capture", has_text="not watching").wait_for()
        if old:
            assert seen.locator("input[name=token]").first.input_value() != old
            seen.get_by_placeholder("Deploys go out from main only").fill("Tests run before a release")
            seen.get_by_role("button", name="Add").click()
            seen.get_by_text("Kept as f1.").wait_for()
        seen.goto("about:blank")


def test_figures_of_a_first_pass_say_so_and_are_drawn_anew_when_it_is_over(home: Home, visit: Open) -> None:
    status = Status("reading", 0, 1)
    with serving(bind(0), home.database, env=home.env, status=status) as where:
        page = visit(f"{where}/usage")
        page.get_by_text("Reading your sessions: 0 of 1. The figures grow until that is done.").wait_for()
        told(home)
        status.capture = "watching"
        with home.archive() as archive:
            archive.mark_seen(archive.resolve("k3v9q"))
        page.get_by_text("Reading your sessions").wait_for(state="detached")
        page.get_by_role("link", name="claude-opus-4-5").first.wait_for()
        page.goto("about:blank")


def test_an_empty_list_fills_as_soon_as_a_session_is_read(home: Home, visit: Open) -> None:
    with serving(bind(0), home.database, env=home.env, status=Status("reading")) as where:
        page = visit(where)
        page.get_by_text("Reading your sessions. Newest first, so you can start.").wait_for()
        told(home)
        page.get_by_role("link", name="Why do the e2e tests pass here and fail in CI?").first.wait_for()
        page.goto("about:blank")


@pytest.mark.parametrize("scripts", [True, False])
def test_look_again_reads_what_came_since_where_nobody_watches(
    home: Home, visit: Open, scripts: bool
) -> None:
    with serving(bind(0), home.database, env=home.env, status=Status("off")) as where:
        page = visit(where, scripts=scripts)
        page.get_by_text("No sessions yet.").wait_for()
        now = time.time_ns() // 1_000_000
        session = Session(home.sessions, f"{now - 60_000}_first", start=now - 60_000)
        session.prompt("Look around")
        session.write()
        page.get_by_role("button", name="Look again").click()
        page.get_by_role("link", name="Do something").first.wait_for()
        page.goto("about:blank")


def test_a_page_that_nobody_sees_holds_no_connection_and_catches_up_when_it_is_seen(
    home: Home, visit: Open
) -> None:
    """A browser has six connections to one address: of seven open pages the last one would wait for ever."""
    with told(home).served() as where:
        page = visit("about:blank")
        page.add_init_script(
            "Object.defineProperty(document, 'hidden', {get: () => window.gone ?? false});"
            "window.leave = (gone) => { window.gone = gone; document.dispatchEvent("
            "new Event('visibilitychange', {bubbles: true})); };"
        )
        page.goto(f"{where}/memory")
        bar = page.locator("#capture")
        bar.filter(has_text="running").wait_for()
        page.evaluate("leave(true)")
        with home.archive() as archive:
            archive.connection.execute("DELETE FROM session")
        time.sleep(1.5)
        assert "running" in bar.inner_text()
        page.evaluate("leave(false)")
        until(lambda: "running" not in bar.inner_text())
        page.goto("about:blank")


def test_serve_answers_while_it_reads_and_stops_at_sigterm(home: Home) -> None:
    told(home)
    home.database.unlink()
    env = {**os.environ, **home.env}
    command = [sys.executable, "-m", "backstory", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    where = process.stderr.readline().partition("  ")[0]
    import urllib.request

    def page() -> str:
        with urllib.request.urlopen(where, timeout=10) as answer:
            return str(answer.read().decode())

    until(lambda: "not watching" in page())
    assert "20 in the archive" in page()
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")


def test_bar_is_told_to_nobody_else(client: TestClient) -> None:
    assert client.get("/live/bar", headers={"host": "evil.example"}).status_code == 421
