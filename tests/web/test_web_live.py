"""An open page grows while Cline works, keeps the reader's place, marks what is new, and catches up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import growth
from conftest import Home, Open
from sessions import START, Session, item

from backstory.web import live
from backstory.web.desk import Desk
from backstory.web.server import bind, serving
from backstory.web.status import Status

if TYPE_CHECKING:
    from playwright.sync_api import Page

SOON = 10.0


def until(what: Callable[[], Any]) -> Any:
    """Wait for something to become true."""
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it never became true")


class Growing:
    """A session that Cline writes while it is looked at; `step` writes and reads it once more."""

    def __init__(self, home: Home, commands: int) -> None:
        self.home = home
        now = time.time_ns() // 1_000_000
        self.session = Session(home.sessions, f"{now - 60_000}_grows", start=now - 60_000)
        self.session.prompt("Look around")
        for number in range(commands):
            self.run(f"ls {number}")
        self.write()

    def run(self, command: str, code: int = 0) -> None:
        call = self.session.call("run_commands", {"commands": [command]})
        said = "\n".join(f"line {number}" for number in range(20))
        error = f"Command exited with code {code}" if code else None
        text = f"[Command exited with code {code}]\n{said}" if code else said
        self.session.result(call, [item(command, text, error)])

    def write(self) -> None:
        self.session.write()
        with self.home.archive() as archive:
            archive.sync()


def served(home: Home) -> Any:
    return serving(bind(0), home.database, env=home.env, status=Status("watching"))


def bottom(page: Page) -> float:
    return float(page.evaluate("document.documentElement.scrollHeight - scrollY - innerHeight"))


def test_rows_appear_while_cline_works_and_the_reader_s_place_stays(home: Home, visit: Open) -> None:
    growing = Growing(home, 60)
    with served(home) as where:
        page = visit(f"{where}/s/{growing.session.session_id}", height=700)
        before, place = page.locator("li.s").count(), page.evaluate("scrollY")
        growing.run("make test", code=2)
        growing.run("ls again")
        growing.write()
        page.locator("#below", has_text="2 new steps below").wait_for()
        assert "1 failed" in page.locator("#below").inner_text()
        assert page.evaluate("scrollY") == place
        assert page.locator("li.s").count() == before + 2
        assert page.locator("li.s.new").count() == 2
        page.locator("#below").click()
        page.locator("#below").wait_for(state="hidden")
        assert bottom(page) < 80
        assert "Has not succeeded since." in page.locator("li.p-failing").inner_text()
        growing.run("make test")
        growing.write()
        until(lambda: page.locator("li.s").count() == before + 3)
        until(lambda: bottom(page) < 80)
        until(lambda: page.locator("li.p-failing").count() == 0)
        until(lambda: page.locator("li.s.new").count() == 0)


def test_a_row_changes_in_place_when_its_result_lands_and_keeps_its_fold(home: Home, visit: Open) -> None:
    growing = Growing(home, 3)
    call = growing.session.call("run_commands", {"commands": ["sleep 5"]})
    growing.write()
    with served(home) as where:
        page = visit(f"{where}/s/{growing.session.session_id}")
        row = page.locator("li.s", has_text="sleep 5")
        assert "running" in row.inner_text()
        first = page.locator("li.s", has_text="ls 0")
        first.locator("summary").click()
        first.locator(".out").wait_for()
        growing.session.result(call, [item("sleep 5", "slept")])
        growing.write()
        until(lambda: "exit 0" in row.inner_text())
        assert page.locator("li.s", has_text="sleep 5").count() == 1
        assert first.locator(".out").is_visible()
        assert page.locator("#facts-line").inner_text().startswith("running")


def test_a_page_catches_up_after_the_server_was_away(home: Home, visit: Open) -> None:
    growing = Growing(home, 5)
    first = bind(0)
    port = first.getsockname()[1]
    with serving(first, home.database, env=home.env, status=Status("watching")) as where:
        page = visit(f"{where}/s/{growing.session.session_id}")
        before = page.locator("li.s").count()
        until(lambda: "up to date" in page.locator("#capture").inner_text())
    until(lambda: "stopped" in page.locator("#capture").inner_text())
    growing.run("ls missed")
    growing.write()
    with serving(bind(port), home.database, env=home.env, status=Status("watching")):
        until(lambda: page.locator("li.s").count() == before + 1)
        until(lambda: "up to date" in page.locator("#capture").inner_text())
        page.get_by_role("button", name="Good").first.click()
        page.locator(".verdict [value=good][aria-pressed=true]").wait_for()
    page.context.clear_cookies()
    complaints = "Failed to load resource"
    assert complaints  # a refused connection is written to the console by the browser itself


def test_a_step_that_leaves_cline_s_file_stays_struck_through(home: Home, visit: Open) -> None:
    growing = Growing(home, 4)
    with served(home) as where:
        page = visit(f"{where}/s/{growing.session.session_id}")
        last = page.locator("li.s", has_text="ls 3")
        del growing.session.messages[-2:]
        growing.session.call("run_commands", {"commands": ["ls other"]}, "another")
        growing.session.result("another", [item("ls other", "x")])
        growing.write()
        page.locator("li.s", has_text="ls other").wait_for()
        until(lambda: "superseded" in last.inner_text())


def test_the_list_updates_its_cards_and_lets_a_new_session_wait(home: Home, visit: Open) -> None:
    growing = Growing(home, 2)
    with served(home) as where:
        page = visit(where)
        card = page.locator(".card")
        assert "3 steps" in card.inner_text()
        growing.run("make all")
        growing.write()
        until(lambda: "4 steps" in card.inner_text())
        old = Session(home.sessions, f"{START}_older")
        old.prompt("An old one")
        old.reply("Yes")
        assert old.manifest is not None
        old.manifest.update(
            prompt="An old one", status="completed", ended_at="2026-11-30T08:10:00.000Z", exit_code=0
        )
        old.write()
        with home.archive() as archive:
            archive.sync()
        page.get_by_role("link", name="1 new session").click()
        page.locator(".c-title", has_text="An old one").wait_for()


def test_an_event_carries_what_was_missed_and_nothing_where_nothing_was(home: Home) -> None:
    growing = Growing(home, 3)
    desk = Desk(None, home.env, now=lambda: time.time_ns() // 1_000_000, status=Status(), token="t")
    session_id = growing.session.session_id
    place, data = live.session_change(desk, session_id, "0.0")
    assert data["chapters"].count('class="s ') == 3
    again, same = live.session_change(desk, session_id, place)
    assert (again, same["chapters"]) == (place, "")
    growing.run("make")
    growing.session.prompt("And now?")
    growing.session.reply("Done")
    growing.write()
    newer, data = live.session_change(desk, session_id, place)
    assert newer != place
    assert 'id="turn-1"' in data["chapters"]
    assert 'id="turn-2"' in data["chapters"]
    only_last, data = live.session_change(desk, session_id, f"0.{newer.split('.')[1]}")
    assert only_last == newer
    assert 'id="turn-1"' not in data["chapters"]
    json.dumps(data)


def test_a_page_follows_every_state_that_cline_s_file_went_through(home: Home) -> None:
    """Merged as the script merges them, the events of a growing session come to what a reload shows."""
    grown = growth.GrowingSession(home.sessions, manifest={"version": 1, "session_id": "1796026921000_grow1"})
    desk = Desk(None, home.env, now=lambda: home.now, status=Status(), token="t")
    place, seen = "0.0", dict[str, str]()
    for state in growth.growing_states()[::6] + growth.growing_states()[-1:]:
        grown.put(state)
        with home.archive() as archive:
            archive.sync()
        place, data = live.session_change(desk, grown.id, place)
        seen.update(drawn(data["chapters"]))
    _, whole = live.session_change(desk, grown.id, "0.0")
    assert seen == drawn(whole["chapters"])
    assert len(seen) > 30


def test_an_open_page_watches_a_real_session_grow_to_what_a_reload_shows(home: Home, visit: Open) -> None:
    """The states that a reader saw while Cline worked, torn ones among them, pass under an open page."""
    states = growth.growing_states()
    grown = growth.GrowingSession(home.sessions, manifest={"version": 1, "session_id": "1796026921000_grow1"})
    grown.put(states[0])
    with home.archive() as archive, served(home) as where:
        archive.sync()
        page = visit(f"{where}/s/{grown.id}")
        rows = (
            "Object.fromEntries([...document.querySelectorAll('ol li.s')].map(one =>"
            " [one.id, (one.querySelector('summary') ?? one).innerText]))"
        )
        counts = [len(page.evaluate(rows))]
        for state in states[8::8] + states[-1:]:
            grown.put(state)
            archive.sync()
            counts.append(until(lambda: more(page, rows, counts[-1] + 1)))
        live_rows = page.evaluate(rows)
        page.reload()
        assert page.evaluate(rows) == live_rows
    assert counts == sorted(counts)
    assert counts[-1] > 30


def more(page: Page, rows: str, least: int) -> int:
    """How many rows a page has, once they are at least so many."""
    found = len(page.evaluate(rows))
    page.wait_for_timeout(20)
    return found if found >= least else 0


def drawn(html: str) -> dict[str, str]:
    """The digest of each step that an event carries, by its id."""
    import re

    return dict(re.findall(r'<li id="([^"]+)" data-n="[^"]*" class="s [^>]*data-v="(\w+)"', html))


def test_up_serves_the_app_beside_capture_and_stops_cleanly(home: Home, tmp_path: Path) -> None:
    import os
    import signal
    import subprocess
    import sys
    import urllib.request

    Growing(home, 1)
    env = {**os.environ, **home.env}
    command = [sys.executable, "-m", "backstory", "up", "--port", "0"]
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    address = process.stderr.readline().strip()
    assert process.stderr.readline() == "Watching. Ctrl-C stops.\n"
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert "up to date" in answer.read().decode()
    port = address.rpartition(":")[2]
    busy = subprocess.run(
        [sys.executable, "-m", "backstory", "serve", "--port", port],
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert busy.returncode == 1
    assert busy.stderr == (
        f"backstory: Port {port} is in use, perhaps by another Backstory. Name another: --port {int(port) + 1}.\n"
    )
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")
