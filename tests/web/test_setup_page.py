"""The Setup page: clients connected and disconnected only as it was shown, WSL where there is any, findings."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import HOST, NOW, Home, Open
from connected import install
from forms import forms, send, text_of, token_of
from starlette.testclient import TestClient
from wslstand import Windows

from backstory.clients import rule
from backstory.web.app import create_app
from backstory.web.server import bind, serving
from backstory.web.status import Status

if TYPE_CHECKING:
    from playwright.sync_api import Page

OTHERS = {
    "github": {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "a token of somebody's"}},
    "docs": {"url": "http://localhost:3/mcp"},
}


class Place:
    """A throw-away home with an installed Cline, and the app over it."""

    def __init__(self, home: Home, program: Path, path: str) -> None:
        self.home = home
        self.program = program
        self.env = {**home.env, "PATH": path}
        cline = home.path / "cline"
        (cline / "data").mkdir(parents=True)
        self.settings = cline / "data" / "settings" / "cline_mcp_settings.json"
        self.rule = cline / "rules" / "backstory.md"

    def write(self, servers: dict[str, Any]) -> bytes:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(json.dumps({"mcpServers": servers}, indent=4))
        return self.settings.read_bytes()

    def servers(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.settings.read_bytes())["mcpServers"]
        return found

    def client(self, database: Path | None = None) -> TestClient:
        app = create_app(database, env=self.env, now=lambda: NOW)
        return TestClient(app, base_url=HOST)


@pytest.fixture
def place(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    program = install(tmp_path / "program" / "bin")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    return Place(home, program, "/usr/bin:/bin")


def page_of(client: TestClient, show: str = "", wait: bool = True) -> str:
    """The page, once the look that it begins has ended."""
    answer = client.get("/setup", params={"show": show} if show else {})
    if wait:
        assert client.app.state.desk.jobs.looking.wait(30)  # type: ignore[attr-defined]
        answer = client.get("/setup", params={"show": show} if show else {})
    assert answer.status_code == 200
    return answer.text


def diff_of(page: str) -> dict[str, list[str]]:
    """The lines of each file that is shown, each with its mark."""
    found = {}
    for box in re.findall(r'<div class="box plainbox file">(.*?)</table></div></div>', page, re.DOTALL):
        path = re.search(r"<code>([^<]+)</code>", box)
        rows = re.findall(r"<tr[^>]*><td>(.?)</td><td>(.*?)</td></tr>", box)
        assert path is not None
        found[path[1]] = [f"{mark.strip() or ' '}{unescape(text)}" for mark, text in rows]
    return found


def connect(client: TestClient, key: str = "connect:cline") -> str:
    """Look at the change, agree to it, and see what came of it."""
    (form,) = forms(page_of(client, key, wait=False), "/setup/change")
    return send(client, "/setup/change", **form).text


def test_the_change_is_shown_and_then_exactly_that_is_written(place: Place) -> None:
    before = place.write(OTHERS)
    client = place.client()
    page = page_of(client, "connect:cline")
    shown = diff_of(page)
    settings, own_rule = shown.values()
    assert list(shown) == ["~/cline/data/settings/cline_mcp_settings.json", "~/cline/rules/backstory.md"]
    assert [line for line in settings if line[0] != "+"] == [
        ' "mcpServers": {',
        '   "github": { … },',
        '   "docs": { … },',
        " }",
    ]
    assert "somebody" not in page
    assert place.settings.read_bytes() == before
    assert not place.rule.exists()

    said = text_of(connect(client))
    added = "\n".join(line[1:] for line in settings if line[0] == "+")
    assert json.loads("{" + added + "}")["backstory"] == place.servers()["backstory"]
    assert {name: place.servers()[name] for name in OTHERS} == OTHERS
    assert place.servers()["backstory"]["command"] == str(place.program)
    assert place.rule.read_text() == rule.text()
    assert [line[1:] for line in own_rule] == rule.text().splitlines()
    assert "Cline is connected: both written; the other 2 servers and their order are as they were." in said
    assert re.search(r"Started it as Cline will: answered in \d+\.\d\d s, 6 tools\.", said)


def test_what_was_changed_since_it_was_shown_is_not_written_but_shown_again(place: Place) -> None:
    place.write(OTHERS)
    client = place.client()
    (form,) = forms(page_of(client, "connect:cline"), "/setup/change")
    changed = place.write({**OTHERS, "third": {"command": "x"}})
    page = send(client, "/setup/change", **form).text
    said = text_of(page)
    assert "A file was changed since this was shown. Nothing was written; look at it again." in said
    assert place.settings.read_bytes() == changed
    assert not place.rule.exists()
    assert '   "third": { … },' in next(iter(diff_of(page).values()))
    send(client, "/setup/change", **forms(page, "/setup/change")[0])
    assert list(place.servers()) == ["github", "docs", "third", "backstory"]


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_nothing_is_written_that_was_not_shown(place: Place, digest: str) -> None:
    before = place.write(OTHERS)
    said = text_of(send(place.client(), "/setup/change", show="connect:cline", digest=digest).text)
    assert "Nothing was written" in said
    assert place.settings.read_bytes() == before


def test_disconnecting_shows_what_goes_and_gives_the_bytes_back(place: Place) -> None:
    before = place.write(OTHERS)
    client = place.client()
    connect(client)
    shown = diff_of(page_of(client, "disconnect:cline"))
    settings, own_rule = shown.values()
    assert {line[0] for line in own_rule} == {"−"}
    assert next(line[1:].strip() for line in settings if line[0] == "−") == '"backstory": {'
    said = text_of(connect(client, "disconnect:cline"))
    assert "Cline is disconnected. It starts without Backstory from its next session on." in said
    assert place.settings.read_bytes() == before
    assert not place.rule.exists()


def test_a_rule_that_was_edited_since_is_kept_when_disconnecting(place: Place) -> None:
    place.write(OTHERS)
    client = place.client()
    connect(client)
    (form,) = forms(page_of(client, "disconnect:cline"), "/setup/change")
    place.rule.write_text("mine")
    said = text_of(send(client, "/setup/change", **form).text)
    assert "A file was changed since this was shown." in said
    assert "backstory" in place.servers()
    assert "~/cline/rules/backstory.md stays: it was edited, and is yours" in said
    connect(client, "disconnect:cline")
    assert place.rule.read_text() == "mine"
    assert "backstory" not in place.servers()


def test_an_entry_of_another_program_is_refused_in_words(place: Place) -> None:
    before = place.write({"backstory": {"command": "another", "args": ["server"]}})
    client = place.client()
    page = page_of(client, "connect:cline")
    said = text_of(page)
    words = (
        'cline_mcp_settings.json has an entry "backstory" that another program wrote. Nothing was changed.'
    )
    assert words in said
    assert "no: another program has the entry" in said
    assert forms(page, "/setup/change") == []
    sent = send(client, "/setup/change", show="connect:cline", digest="x").text
    assert text_of(sent).count(words) == 1
    assert place.settings.read_bytes() == before


@pytest.mark.parametrize(
    "key", ["connect", "connect:nobody", "remove:cline", "connect:cline@", "connect:cline@x y"]
)
def test_a_change_that_cannot_be_is_said_in_words(place: Place, key: str) -> None:
    page = page_of(place.client(), key)
    assert 'class="notice fail"' in page
    assert forms(page, "/setup/change") == []


def test_settings_that_cannot_be_read_are_refused_and_left(place: Place) -> None:
    place.write(OTHERS)
    place.settings.write_text("{ not json")
    said = text_of(page_of(place.client(), "connect:cline"))
    assert "so Cline cannot read it either. Nothing was changed." in said
    assert place.settings.read_text() == "{ not json"


def test_where_cline_is_not_installed_nothing_is_offered(place: Place) -> None:
    (place.home.path / "cline" / "data").rmdir()
    (place.home.path / "cline").rmdir()
    page = page_of(place.client())
    assert "Show the change" not in page
    assert "Cline is not installed here" in text_of(page_of(place.client(), "connect:cline"))


def test_a_server_that_does_not_answer_is_said(place: Place) -> None:
    place.write(OTHERS)
    broken = (
        '#!/bin/sh\n[ "$1" = --version ] && echo "backstory 0.0.0" && exit 0\necho "no module" >&2\nexit 3\n'
    )
    install(place.program.parent, broken)
    page = connect(place.client())
    assert "Started it as Cline will: it did not answer: it ended without an answer (no module)." in text_of(
        page
    )
    assert 'class="notice fail"' in page


def test_the_row_says_where_cline_is_and_what_it_has(place: Place) -> None:
    from backstory import demo

    demo.load(place.home.sessions, NOW)
    client = place.client()
    row = "Cline This machine ~/cline, ~/cline/data no ~/cline/data/sessions 20 sessions"
    assert row in text_of(page_of(client))
    place.write(OTHERS)
    connect(client)
    assert "~/cline/data yes ~/cline/data/sessions 20 sessions" in text_of(page_of(client))


def test_the_findings_are_the_doctor_s_each_with_its_next_step(place: Place) -> None:
    page = page_of(place.client())
    said = text_of(page)
    assert "Memory server note Cline: not connected backstory setup cline does it" in said
    assert "integrity checked" in said
    assert "Nothing to look at, nothing lost." in said
    place.write({"backstory": {"command": "another"}})
    client = place.client()
    assert "1 thing to look at, nothing lost." in text_of(page_of(client))
    place.write({})
    page_of(client)
    send(client, "/setup/look")
    assert client.app.state.desk.jobs.looking.wait(30)  # type: ignore[attr-defined]
    assert "Nothing to look at, nothing lost." in text_of(page_of(client))


def test_no_change_comes_from_elsewhere(place: Place) -> None:
    before = place.write(OTHERS)
    client = place.client()
    (form,) = forms(page_of(client, "connect:cline"), "/setup/change")
    good = token_of(client)
    for headers, token in (
        ({}, good),
        ({"origin": "http://evil.example"}, good),
        ({"origin": "null"}, good),
        ({"origin": HOST}, good + "x"),
        ({"origin": HOST}, ""),
    ):
        for address in ("/setup/change", "/setup/look"):
            answer = client.post(address, data={**form, "token": token}, headers=headers)
            assert answer.status_code == 403
    assert client.get("/setup/change", params=form).status_code in (404, 405)
    assert place.settings.read_bytes() == before


def test_one_change_at_a_time(place: Place) -> None:
    before = place.write(OTHERS)
    client = place.client()
    (form,) = forms(page_of(client, "connect:cline"), "/setup/change")
    with client.app.state.desk.jobs.changing:  # type: ignore[attr-defined]
        said = text_of(send(client, "/setup/change", **form).text)
    assert "Another change is being made at this moment. Nothing was changed; try again." in said
    assert place.settings.read_bytes() == before


def test_an_archive_that_a_server_would_not_find_connects_nobody(place: Place, tmp_path: Path) -> None:
    before = place.write(OTHERS)
    client = place.client(tmp_path / "other.db")
    page = page_of(client, "connect:cline")
    assert "This app shows an archive that an agent's server would not find" in text_of(page)
    assert ">Connect</button>" not in page
    send(client, "/setup/change", **forms(page, "/setup/change")[0])
    assert place.settings.read_bytes() == before


def test_hostile_names_are_harmless(place: Place) -> None:
    bad = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
    place.write({bad: {"command": "x"}, "backstory": {"command": str(place.program), "args": ["mcp", bad]}})
    client = place.client()
    for key in ("", "connect:cline", "disconnect:cline", f"connect:{bad}"):
        page = page_of(client, key)
        for wrong in ("<img", "\x1b", "\u202e"):
            assert wrong not in re.sub(r'value="[^"]*"', "", page)
        assert not re.search(r"<[a-z][^>]*\s(style|on[a-z]+)=", page)


# Distributions of WSL


@pytest.fixture
def windows(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Windows:
    found = Windows(tmp_path / "windows")
    place.env["PATH"] = found.path
    monkeypatch.setattr(sys, "executable", found.interpreter)
    return found


def test_without_wsl_there_are_no_rows_of_it(place: Place) -> None:
    assert "WSL" not in text_of(page_of(place.client()))


def test_a_distribution_is_connected_and_disconnected_with_the_change_shown(
    place: Place, windows: Windows
) -> None:
    home = windows.add("Ubuntu", running=True)
    (home / ".cline").mkdir()
    windows.add("Debian")
    client = place.client()
    said = text_of(page_of(client))
    assert f"Cline WSL Ubuntu {home}/.cline no" in said
    assert "Cline WSL Debian not running, not looked into no" in said
    shown = diff_of(page_of(client, "connect:cline@Ubuntu"))
    assert [Path(path).name for path in shown] == ["backstory-wsl", "backstory.md", "cline_mcp_settings.json"]
    assert not (home / ".cline" / "backstory-wsl").exists()
    said = text_of(connect(client, "connect:cline@Ubuntu"))
    assert "Cline in Ubuntu is connected." in said
    assert re.search(r"Started it in Ubuntu: answered in \d+\.\d\d s, 6 tools\.", said)
    settings = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    assert "backstory" in json.loads(settings.read_bytes())["mcpServers"]
    page_of(client)
    send(client, "/setup/look")
    assert f"Cline WSL Ubuntu {home}/.cline yes" in text_of(page_of(client))
    said = text_of(connect(client, "disconnect:cline@Ubuntu"))
    assert "Cline in Ubuntu is disconnected." in said
    assert not (home / ".cline" / "backstory-wsl").exists()


def test_a_change_inside_a_distribution_is_bound_to_what_was_shown(place: Place, windows: Windows) -> None:
    home = windows.add("Ubuntu", running=True)
    settings = home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"mcpServers": {}}')
    client = place.client()
    (form,) = forms(page_of(client, "connect:cline@Ubuntu"), "/setup/change")
    settings.write_text('{"mcpServers": {"a": {"command": "b"}}}')
    said = text_of(send(client, "/setup/change", **form).text)
    assert "A file was changed since this was shown." in said
    assert settings.read_text() == '{"mcpServers": {"a": {"command": "b"}}}'
    assert not (home / ".cline" / "backstory-wsl").exists()


def test_a_distribution_that_went_is_forgotten(place: Place, windows: Windows) -> None:
    home = windows.add("Ubuntu", running=True)
    (home / ".cline").mkdir()
    client = place.client()
    connect(client, "connect:cline@Ubuntu")
    windows.state["distributions"] = {}
    windows.save()
    client = place.client()
    assert "Cline WSL Ubuntu not there any more registered" in text_of(page_of(client))
    said = text_of(connect(client, "disconnect:cline@Ubuntu"))
    assert "Ubuntu is not there any more; its registration is forgotten." in said
    assert "Ubuntu" not in text_of(page_of(place.client()))


# In a browser


@pytest.fixture
def served(place: Place) -> Iterator[str]:
    place.write(OTHERS)
    with serving(bind(0), None, env=place.env, status=Status("watching")) as address:
        yield address


def problems(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"][:2]]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_person_looks_at_the_change_connects_and_disconnects(
    place: Place, served: str, visit: Open, scripts: bool
) -> None:
    before = place.settings.read_bytes()
    page = visit(f"{served}/setup", scripts=scripts)
    page.get_by_role("link", name="Show the change").click()
    page.get_by_role("heading", name="Connect Cline").wait_for()
    page.get_by_text(f'"command": "{place.program}"').wait_for()
    page.get_by_role("button", name="Connect").click()
    page.get_by_text("Cline is connected: both written").wait_for(timeout=20_000)
    page.get_by_text("Started it as Cline will: answered in").wait_for()
    page.get_by_text("entry and rule are in place").wait_for(timeout=20_000)
    page.get_by_role("link", name="Show what goes").click()
    page.get_by_role("button", name="Disconnect").click()
    page.get_by_text("Cline is disconnected.").wait_for(timeout=20_000)
    page.get_by_text("Cline: not connected").wait_for(timeout=20_000)
    assert place.settings.read_bytes() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 400])
def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(
    served: str, visit: Open, axe: str, width: int, scheme: str
) -> None:
    page = visit(served, width=width, scheme=scheme)
    for address in ("/setup", "/setup?show=connect:cline", "/setup?show=disconnect:cline", "/setup?show=x"):
        page.goto(served + address)
        page.get_by_text("Cline: not connected").wait_for(timeout=20_000)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        if width != 1024:
            assert problems(page, axe) == [], address
