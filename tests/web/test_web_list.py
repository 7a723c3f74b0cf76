"""The list: every session once, newest first, from one query; filters in the address; light at any size."""

from __future__ import annotations

import re
import sqlite3

import httpx
import pytest
from conftest import NOW, Home, Open
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from backstory import demo
from backstory.store import glance, page, read
from backstory.store.derived import state
from backstory.store.glance import Bar, bucketed
from backstory.store.page import Wanted
from backstory.store.read import Filter
from backstory.web import strip
from backstory.web.status import Status

MANY = 10_000


def rows(text: str) -> list[str]:
    """The ids of the sessions in the table, as they stand."""
    return re.findall(r'<tr id="s-\d+".*?href="/s/([^"?]+)"', text, re.DOTALL)


def test_every_session_stands_in_the_list_or_among_those_that_run(client: TestClient, samples: Home) -> None:
    text = client.get("/").text
    cards = re.findall(r'<article class="card".*?href="/s/([^"]+)"', text, re.DOTALL)
    with samples.archive() as archive:
        found = archive.sessions(limit=None)
        running = {listed.session.id for listed in found if listed.state == "running"}
        assert set(cards) == running
        assert rows(text) == [listed.session.id for listed in found if listed.session.id not in running]
    assert "20 in the archive, 2 running" in text


def test_a_page_says_of_a_session_what_the_terminal_says(samples: Home) -> None:
    with samples.archive() as archive:
        entries = page.page(archive.connection, samples.now, Wanted()).entries
        for entry, listed in zip(entries, archive.sessions(limit=None), strict=True):
            assert entry.id == listed.session.id
            for name in ("short_id", "state", "last_at", "length", "unseen", "error", "last_step", "cost"):
                assert getattr(entry, name) == getattr(listed, name), name
            assert entry.totals == listed.session.totals


@pytest.mark.parametrize(
    ("query", "shorts"),
    [
        ("outcome=failing", {"k3v9q", "p81zd", "2js90", "8mynx", "hnrzu"}),
        ("outcome=error", {"8mynx"}),
        ("outcome=interrupted", {"ysn27"}),
        ("outcome=running", {"k3v9q", "7h2mx"}),
        ("project=docs-site", {"7h2mx", "rg62z"}),
        ("model=gpt-5.2", {"p81zd"}),
        ("project=docs-site&outcome=running", {"7h2mx"}),
        ("project=nothing", set()),
    ],
)
def test_a_filter_shows_what_fits_it(client: TestClient, query: str, shorts: set[str]) -> None:
    text = client.get(f"/?{query}").text
    assert {one.rpartition("_")[2] for one in rows(text)} == shorts
    assert ("No session matches these filters." in text) == (not shorts)


def test_a_filter_that_is_set_is_marked_and_can_be_taken_back(client: TestClient) -> None:
    text = client.get("/?project=docs-site&since=30d").text
    assert '<select name="project" class="set">' in text
    assert '<select name="since" class="set">' in text
    assert '<a href="/">clear</a>' in text


def test_a_value_that_cannot_be_used_narrows_nothing(client: TestClient) -> None:
    plain = rows(client.get("/?outcome=failing").text)
    for query in ("since=never", "before=x~y", "outcome=good", "verdict=fine", "until=31feb"):
        assert client.get(f"/?{query}").status_code == 200
        assert rows(client.get(f"/?outcome=failing&{query}").text) == plain or "outcome=good" in query


def test_an_empty_archive_says_where_it_looked(home: Home) -> None:
    text = home.client(Status("watching")).get("/").text
    assert (
        "<b>No sessions yet.</b> Backstory looked in <code>~/cline/data/sessions</code> (CLINE_DIR)" in text
    )
    assert "and found none. Use Cline once, or set <code>CLINE_DIR</code> where your sessions are." in text


def test_an_empty_list_looks_again_when_asked(home: Home, visit: Open) -> None:
    with home.served() as address:
        page = visit(address)
        demo.load(home.sessions, home.now)
        page.get_by_role("button", name="Look again").click()
        page.locator(".list tbody tr[id]").first.wait_for()


def test_samples_are_served_from_an_archive_of_their_own(home: Home, visit: Open) -> None:
    with home.served() as address:
        page = visit(address)
        page.get_by_role("button", name="Load sample sessions").click()
        link = page.get_by_role("link", name="Open the sample sessions")
        other = link.get_attribute("href")
        assert other is not None
        with httpx.Client() as client:
            assert "20 in the archive" in client.get(other).text
        page.goto(address)
        assert page.get_by_text("No sessions yet.").is_visible()
        assert not home.sessions.exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(other)


def test_a_first_pass_says_how_far_it_is(home: Home) -> None:
    text = home.client(Status("reading", 412, 1284)).get("/").text
    assert "Reading your sessions: 412 of 1,284. Newest first, so you can start." in text
    assert "reading 412 of 1,284" in text
    assert "not watching" in home.client().get("/").text


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Ten thousand sessions, written straight into the tables."""
    home = Home(tmp_path_factory.mktemp("many"))
    with home.archive() as archive:
        write_many(archive.connection, home.now)
    return home


def write_many(connection: sqlite3.Connection, now: int) -> None:
    from backstory.schema.session import Agent, Session
    from backstory.store import summary

    hour = 3600_000
    connection.execute("BEGIN")
    for n in range(1, MANY + 1):
        at = now - n * hour // 4
        own = f"{at}_{n:05}"
        connection.execute(
            "INSERT INTO session (n, source, id, root, generation, surface, title, project, cwd, model, status,"
            " started_at, ended_at, changed_at, last_at, length, turns, steps, failing, failed, row_count, seen_count)"
            " VALUES (?, 'cline', ?, '/r', 1, 'cli', ?, ?, '/w', 'claude-sonnet-4-5', 'completed', ?, ?, ?, ?, ?, 1,"
            " 3, ?, ?, 3, 3)",
            (n, own, f"Session {n}", f"p{n % 7}", at, at + 60_000, at, at, 60_000, n % 5 == 0, n % 5 == 0),
        )
        summary.save_facts(connection, n, Session(own, Agent("cline")))
        connection.execute(
            "INSERT INTO file (n, session, name, size, mtime_ns, inode, actor, actor_type, label)"
            " VALUES (?, ?, 'x.messages.json', 1, 1, 1, 'root', 'root', 'lead')",
            (n, n),
        )
        for place, kind in enumerate(("message", "command", "edit")):
            connection.execute(
                "INSERT INTO step (n, file, id, msg, sub, type, outcome, decision, content_status, added, block,"
                " offset, size, subject) VALUES (?, ?, ?, ?, 0, ?, 'ok', 'auto', 'complete', 9, 0, 0, 0, 'x')",
                (n * 3 + place, n, f"m{place}#0", place, kind),
            )
        connection.execute(
            "INSERT INTO call (file, key, message_id, msg, at, fresh, cache_read, cache_write, output, nano, counted,"
            " kind, amount, name) VALUES (?, ?, 'm1', 1, ?, 9, 9, 9, 9, 1000, 1, 'reported', 1000, 'sonnet')",
            (n, f"k{n}", at),
        )
    connection.execute("COMMIT")


def test_ten_thousand_sessions_are_shown_fifty_at_a_time_under_100_kb(many: Home) -> None:
    client = many.client()
    address, seen = "/", []
    for _ in range(4):
        answer = client.get(address)
        assert len(answer.content) < 100_000
        found = rows(answer.text)
        assert len(found) == 50
        seen += found
        older = re.search(r'<a href="([^"]+)" rel="next">Older sessions', answer.text)
        assert older is not None
        address = older[1].replace("&amp;", "&")
    assert len(set(seen)) == 200
    assert "151 to 200 of 10,000" in answer.text
    last = client.get("/?before=0~").text
    assert rows(last) == []


def test_a_page_of_the_list_comes_from_one_query_and_its_counts(many: Home) -> None:
    with many.archive() as archive:
        page.page(archive.connection, many.now, Wanted())  # glances are made once
        said: list[str] = []
        archive.connection.set_trace_callback(said.append)
        found = page.page(archive.connection, many.now, Wanted(), 50)
        archive.connection.set_trace_callback(None)
    assert len(found.entries) == 50
    assert sum(line.lstrip().startswith("WITH chosen") for line in said) == 1
    assert len([line for line in said if "FROM session" in line]) == 3


def test_filters_hold_over_pages_and_count_what_they_leave(many: Home) -> None:
    text = many.client().get("/?outcome=failing&project=p3").text
    wanted = sum(1 for n in range(1, MANY + 1) if n % 5 == 0 and n % 7 == 3)
    assert f"1 to 50 of {wanted}" in text
    older = re.search(r'href="([^"]+)" rel="next"', text)
    assert older is not None
    assert "project=p3" in older[1]
    assert "outcome=failing" in older[1]


def test_paging_by_a_place_gives_each_session_once(many: Home) -> None:
    with many.archive() as archive:
        found: list[str] = []
        before = None
        for _ in range(7):
            part = page.page(archive.connection, many.now, Wanted(Filter(project="p1"), before=before), 40)
            assert part.newer == len(found)
            found += [entry.id for entry in part.entries]
            last = part.entries[-1]
            before = (last.last_at or 0, last.id)
        listed = read.listed(archive.connection, many.now, Filter(project="p1"), limit=280)
        assert found == [one.session.id for one in listed]


DAY = 86_400_000
TIMES = st.one_of(st.none(), st.integers(NOW - 3 * DAY, NOW))


@given(
    status=st.sampled_from([None, "idle", "running", "cancelled", "completed"]),
    ended_at=TIMES,
    marker=st.sampled_from([None, "killed"]),
    error=st.sampled_from([None, "401"]),
    changed_at=TIMES,
    open_call=st.booleans(),
    gone=st.booleans(),
)
def test_sql_asks_the_one_rule_for_a_session_s_state(**facts: object) -> None:
    connection = sqlite3.connect(":memory:")
    page._prepare(connection, NOW)
    values = (
        facts["status"],
        facts["ended_at"],
        facts["marker"],
        facts["error"],
        facts["changed_at"],
        facts["open_call"],
        1 if facts["gone"] else None,
    )
    (found,) = connection.execute("SELECT session_state(?, ?, ?, ?, ?, ?, ?)", values).fetchone()
    connection.close()
    assert found == state(
        status=facts["status"],  # type: ignore[arg-type]
        ended_at=facts["ended_at"],  # type: ignore[arg-type]
        terminal_marker=facts["marker"],  # type: ignore[arg-type]
        error=facts["error"],  # type: ignore[arg-type]
        changed_at=facts["changed_at"],  # type: ignore[arg-type]
        open_call=bool(facts["open_call"]),
        gone=bool(facts["gone"]),
        now=NOW,
    )


@given(st.lists(st.sampled_from(glance.KINDS), min_size=1, max_size=900), st.integers(1, 400))
def test_a_bucket_takes_its_gravest_kind_and_no_step_is_lost(kinds: list[str], most: int) -> None:
    bars = [Bar(kind, 3, False, at) for at, kind in enumerate(kinds, 1)]
    found = bucketed(bars, most)
    assert len(found) == min(most, len(bars))
    assert sum(bar.count for bar in found) == len(bars)
    at = 0
    for bar in found:
        part = kinds[at : at + bar.count]
        assert glance.KINDS.index(bar.kind) == min(map(glance.KINDS.index, part))
        assert bar.step == at + 1
        at += bar.count


@given(st.integers(0, 100_000))
def test_an_edit_s_bar_grows_with_its_lines_and_stays_below_a_failure(lines: int) -> None:
    tall = strip.height(Bar("edit", lines))
    assert 10 <= tall <= 30 < strip.height(Bar("failed")) < strip.height(Bar("failing"))
    assert strip.height(Bar("edit", lines + 1)) >= tall


def test_a_glance_is_made_again_when_its_session_has_grown(samples: Home) -> None:
    with samples.archive() as archive:
        entry = page.entry(archive.connection, samples.now, samples.id("w0c4r"))
        assert entry is not None
        again = glance.make(archive.connection, entry.n, 1)
        assert again == entry.glance
        assert len(again.bars) == entry.totals.steps
        archive.connection.execute(
            "UPDATE glance SET generation = 0, data = '{}' WHERE session = ?", (entry.n,)
        )
        fresh = page.entry(archive.connection, samples.now, entry.id)
        assert fresh == entry


def test_the_address_of_an_unknown_session_says_how_to_read_it(client: TestClient) -> None:
    answer = client.get("/s/zzzzz")
    assert answer.status_code == 404
    assert "There is no session &#34;zzzzz&#34; in the archive." in answer.text
    assert "backstory ingest --agent cline zzzzz" in answer.text


def test_a_theme_is_kept_in_a_cookie_and_written_by_the_server(samples: Home) -> None:
    client = samples.client()
    assert 'data-theme="dark"' in client.get("/?theme=dark").text
    assert 'data-theme="dark"' in client.get("/").text
    assert "data-theme" not in client.get("/?theme=system").text
    assert "data-theme" not in client.get("/").text
