"""The app answers this machine alone, changes nothing for a stranger, and shows hostile text harmlessly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import HOST, Home, told
from hostile import SLOW
from httpx import Response
from hypothesis import given
from hypothesis import strategies as st
from sessions import Session, item
from starlette.testclient import TestClient
from timelimit import within

from backstory.web import ansi, bodies, prose
from backstory.web.app import FORM_BYTES
from backstory.web.code import drawn, highlighted

PAGES = ("/", "/search?q=redis", "/help", "/nothing")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8737", "127.0.0.1.evil.example:8737", "", "0.0.0.0:8737"]
)
def test_another_host_gets_nothing(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "Sessions" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8737", "localhost:8737", "[::1]:8737", "localhost"])
def test_this_machine_is_answered_by_each_of_its_names(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_every_answer_carries_the_policy_and_is_kept_by_nobody(client: TestClient, samples: Home) -> None:
    for address in (*PAGES, f"/s/{samples.id('k3v9q')}", "/static/app.css", "/b/1", "/c/1"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_pages_have_no_inline_script_and_no_inline_style(client: TestClient, samples: Home) -> None:
    ids = [samples.id(short) for short in ("k3v9q", "t5d2k", "klx20", "08nb3")]
    tabs = ("", "/changes", "/cost", "/facts")
    for address in (*PAGES, *(f"/s/{one}{tab}" for one in ids for tab in tabs)):
        text = client.get(address).text
        assert not re.search(r"<[a-z][^>]*\s(style|on[a-z]+)=", text), address
        assert re.findall(r"<script\b[^>]*>", text) == re.findall(
            r'<script src="/static/app\.js\?v=\w+" defer>', text
        )
        assert "<style" not in text


def test_a_verdict_of_another_site_is_refused(home: Home) -> None:
    client = told(home).client()
    session_id = home.id("w0c4r")
    address = f"/s/{session_id}/verdict"
    token = token_of(client)
    for headers in (
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8737"},
    ):
        answer = client.post(address, data={"verdict": "good", "token": token}, headers=headers)
        assert answer.status_code == 403
    for given_token in ("", "x", token + "x"):
        answer = client.post(
            address, data={"verdict": "good", "token": given_token}, headers={"origin": HOST}
        )
        assert answer.status_code == 403
    with home.archive() as archive:
        assert archive.judgements(session_id) == {}
    answer = client.post(
        address,
        data={"verdict": "good", "token": token},
        headers={"origin": HOST},
        follow_redirects=False,
    )
    assert answer.status_code == 303
    with home.archive() as archive:
        found = archive.judgements(session_id)[None]
        assert found.verdict == "good"


def test_a_page_does_not_wait_for_a_pass_that_writes(home: Home) -> None:
    client = told(home).client()
    with home.archive() as archive:
        archive.connection.execute("BEGIN IMMEDIATE")
        with within(10):
            assert client.get("/").status_code == 200
            assert client.get("/s/w0c4r").status_code == 200
        archive.connection.execute("ROLLBACK")
        assert archive.listed(home.id("w0c4r")).unseen > 0
    client.get("/s/w0c4r")
    with home.archive() as archive:
        assert archive.listed(home.id("w0c4r")).unseen == 0


def test_a_form_that_is_too_long_is_refused(client: TestClient) -> None:
    long = b"note=" + b"x" * FORM_BYTES
    answer = client.post("/s/w0c4r/verdict", content=long, headers={"origin": HOST})
    assert answer.status_code == 413


def token_of(client: TestClient) -> str:
    found = re.search(r'<meta name="token" content="([^"]+)">', client.get("/").text)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    assert client.request(method, "/", headers={"origin": HOST}).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/s/../../../etc/passwd",
        "/s/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/s/..%5c..%5cwindows%5cwin.ini/facts",
    ],
)
def test_no_path_leads_out_of_the_archive(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "def create_app" not in answer.text


def test_a_fault_of_ours_is_a_plain_500_with_the_details_in_a_log(home: Home) -> None:
    told(home)
    client = home.client()
    with home.archive() as archive:
        archive.connection.execute("DROP TABLE session")
    answer = client.get("/")
    log = home.path / "backstory" / "app.log"
    assert answer.status_code == 500
    assert answer.text == (
        "Something broke in Backstory. Your sessions are untouched. The details are in ~/backstory/app.log.\n"
    )
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("address", ["/", "/usage", "/memory", "/setup", "/s/w0c4r", "/search?q=redis"])
def test_an_archive_that_goes_while_it_is_served_is_said_and_not_made_anew(home: Home, address: str) -> None:
    client = told(home).client()
    assert client.get(address).status_code == 200
    home.database.rename(home.path / "elsewhere.db")
    answer = client.get(address)
    assert answer.status_code == 503
    assert answer.text == (
        "~/backstory/archive.db: the archive is gone. Stop Backstory and start it again: it reads your sessions"
        " anew.\n"
    )
    assert not home.database.exists()
    (home.path / "elsewhere.db").rename(home.database)
    assert client.get(address).status_code == 200


def test_what_is_no_archive_is_named(home: Home) -> None:
    client = told(home).client()
    assert client.get("/").status_code == 200
    for name in ("archive.db-wal", "archive.db-shm"):
        (home.path / "backstory" / name).unlink(missing_ok=True)
    home.database.write_bytes(b"no database" * 1000)
    answer = client.get("/usage")
    assert answer.status_code == 503
    assert "archive.db: the archive cannot be opened: file is not a database" in answer.text


def test_a_change_that_another_writer_keeps_waiting_is_refused_in_words_and_nothing_is_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backstory.web import desk

    monkeypatch.setattr(desk, "BUSY_MS", 50)
    client = told(home).client()

    def post(address: str, **form: str) -> Response:
        own = {"token": client.app.state.desk.token, **form}  # type: ignore[attr-defined]
        return client.post(address, data=own, headers={"origin": HOST})

    assert "Kept as f1." in post("/memory/add", text="Deploys go out from main only").text
    forgotten = post("/memory/forget", item="f1")
    undo = str(forgotten.url).rpartition("said=")[2]
    with home.archive() as archive:
        archive.connection.execute("BEGIN IMMEDIATE")
        for address, form in (("/memory/add", {"text": "Another"}), ("/memory/undo", {"undo": undo})):
            answer = post(address, **form)
            assert answer.status_code == 503
            assert answer.text == (
                "Another program writes to the archive at this moment. Nothing was changed; go back and try again.\n"
            )
        archive.connection.execute("ROLLBACK")
    assert "Undone: it is in the memory as it was." in post("/memory/undo", undo=undo).text
    with home.archive() as archive:
        facts = archive.memory.items("default", facts_only=True)
        assert [one.answered for one in facts] == ["Deploys go out from main only"]


@pytest.mark.parametrize(
    ("address", "up"),
    [
        ("/memory/add", "/memory"),
        ("/setup/change", "/setup"),
        ("/s/w0c4r/verdict", "/s/w0c4r"),
        ("/look", "/"),
    ],
)
def test_a_form_of_an_earlier_run_changes_nothing_and_leads_to_its_page(
    samples: Home, client: TestClient, address: str, up: str
) -> None:
    answer = client.post(address, data={"token": "of yesterday", "text": "x"}, headers={"origin": HOST})
    assert answer.status_code == 403
    assert f'This page is of an earlier run of Backstory. <a href="{up}">Open it anew</a>' in answer.text
    with samples.archive() as archive:
        assert archive.memory.items("default", facts_only=True) == []


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></div><iframe src=https://evil.example></iframe>",
    "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "\u202egnp.exe\u202c\u2066",
    "\x00\x01\x7f\x9b",
    "x" * 100_000,
    "{{ 7331 * 7 }} {% include '/etc/passwd' %} ${7331*7}",
    "\ud800 half",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_harmless_in_every_field(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    hostile_session(home.sessions, text)
    client = home.client()
    with home.archive() as archive:
        archive.sync()
        (listed,) = archive.sessions()
        numbers = [n for (n,) in archive.connection.execute("SELECT n FROM step")]
    base = f"/s/{listed.session.id}"
    tabs = [base, f"{base}/changes", f"{base}/cost", f"{base}/facts?manifest=1", f"{base}?show=problems"]
    pages = ["/", "/search?q=half+red+alert", *tabs, *(f"/b/{n}?part=1&whole=1" for n in numbers)]
    for address in pages:
        answer = client.get(address)
        assert answer.status_code == 200, address
        # What a field sends back is what the archive has, to find it again by it.
        body = re.sub(r'value="[^"]*"', "", answer.text)
        for wrong in (
            "<script>alert",
            "<img",
            "<iframe",
            "\x1b",
            "\u202e",
            "\x00",
            "\x9b",
            "51317",
            "root:x",
        ):
            assert wrong not in body, (address, wrong)


def hostile_session(root: Path, text: str) -> None:
    """A session with this text wherever one can stand."""
    session = Session(root)
    assert session.manifest is not None
    session.manifest.update(cwd=f"/tmp/{text[:50]}", model=text[:80], provider=text[:80], prompt=text)
    session.manifest["metadata"] = {"title": text, "git": {"branch": text}}
    session.prompt(text)
    session.reply({"type": "thinking", "thinking": text}, text)
    session.call("run_commands", {"commands": [text]}, "c1")
    session.result("c1", [item(text, f"[Command exited with code 2]\n{text}", "Command exited with code 2")])
    session.call("editor", {"path": text, "old_text": text, "new_text": f"{text}!"}, "c2")
    session.result("c2", [item(f"edit:{text}", f"Edited {text}")])
    session.call("read_files", {"files": [{"path": text}]}, "c3")
    session.result("c3", [item(text, f"1 | {text}")])
    session.call(f"lab__{text[:20]}", {"a": text}, "c4")
    session.result("c4", [{"type": "text", "text": text}], is_error=True)
    session.call("ask_question", {"question": text, "options": [text, "b"]}, "c5")
    session.result("c5", text)
    session.reply({"type": text, "text": text})
    session.write()


@SLOW
@given(st.text(max_size=300))
def test_no_markdown_gets_a_tag_or_an_address_through_that_acts(text: str) -> None:
    html = prose.markdown(text)
    assert not re.search(r"<(script|img|iframe|object|style|svg|form|input)\b", html)
    assert not re.search(r'href="(?!https?:|mailto:)', html)


@SLOW
@given(st.text(alphabet="\x1b[0123456789;m38:5ab<&\n", max_size=200))
def test_no_escape_of_an_output_reaches_the_page(text: str) -> None:
    for one in ansi.drawn(text.split("\n")):
        assert "\x1b" not in one
        assert set(re.findall(r"<(/?\w+)", one)) <= {"span", "/span"}


@SLOW
@given(st.text(max_size=200), st.sampled_from(["a.py", "b.ts", "c.unknown", "Makefile"]))
def test_coloured_code_says_what_it_was_given(text: str, name: str) -> None:
    text = text.replace("\r", "")
    lines = ["".join(part for part, _ in line) for line in highlighted(name, text)]
    assert lines == text.split("\n")
    for line in highlighted(name, text):
        assert "<script" not in drawn(line)


def test_what_is_copied_for_cline_is_one_block_whatever_is_in_it(samples: Home, client: TestClient) -> None:
    with samples.archive() as archive:
        (n,) = archive.connection.execute(
            "SELECT n FROM step WHERE subject = 'npm test' AND exit_code = 1"
        ).fetchone()
    text = client.get(f"/c/{n}").text
    assert text.startswith("`npm test` (exit 1)\n\n```\n")
    assert text.endswith("\n```\n")
    assert "ECONNREFUSED" in text
    assert text.count("\n") < bodies.START + bodies.END + 8
