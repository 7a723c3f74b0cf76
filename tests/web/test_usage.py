"""The Usage page: every figure is the ledger's, and each is said in the words of the terminal."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import paid
from running import Run, runner
from sessions import Session
from starlette.testclient import TestClient
from usage_pages import BERLIN, HOST, NOW, Page, Place, squeezed

from backstory.cli.budget import standing_json
from backstory.cli.money import DOLLAR, money
from backstory.cli.usage_reconcile import reconcile_json
from backstory.cli.usage_top import top_json
from backstory.cli.words import tokens
from backstory.ledger.budget import Budget, save, standings
from backstory.ledger.reconcile import reconcile
from backstory.ledger.report import Filter
from backstory.ledger.top import top
from backstory.web import charts
from backstory.web.app import create_app
from backstory.web.charts import Day

Json = Any

RANGES = {
    "everything": (("--all",), {"since": "all"}),
    "month": (("--since", "2026-11-01", "--until", "2026-11-30"), {}),
    "four days": (
        ("--since", "2026-11-26", "--until", "2026-11-29"),
        {"since": "2026-11-26", "until": "2026-11-29"},
    ),
    "a project": (("--all", "--project", "billing-worker"), {"since": "all", "project": "billing-worker"}),
    "a project in days": (
        ("--since", "27nov", "--until", "2026-11-30", "--project", "web-console"),
        {"since": "2026-11-27", "until": "2026-11-30", "project": "web-console"},
    ),
    "a model": (("--all", "--model", "claude"), {"since": "all", "model": "claude"}),
}
NAMED = {"root": "Lead agent", "subagent": "Subagents", "teammate": "Teammates"}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("usage")).told()


@pytest.fixture
def backstory(samples: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The program over the same archive."""
    for name, value in samples.env.items():
        monkeypatch.setenv(name, value)
    return runner(samples.path / "cline", samples.path / "backstory", monkeypatch, capfd)


def amount(usd: float, sign: str = "") -> str:
    return f"{sign}{money(round(usd * DOLLAR))}"


def agrees(row: dict[str, str], own: Json) -> None:
    """Hold a row of the page to the same row of `--json`."""
    if "Sessions" in row:
        assert row["Sessions"] == f"{own['sessions']:,}"
    assert row["Calls"] == f"{own['calls']:,}"
    assert row["Input"] == tokens(own["tokens"]["input"])
    assert row["Output"] == tokens(own["tokens"]["output"])
    share = own["tokens"]["cache_read"] / own["tokens"]["input"] if own["tokens"]["input"] else None
    assert row["Cached"] == ("" if share is None else f"{100 * share:.0f}%")
    cost = own["cost"]
    for name, usd, sign in (
        ("Reported", cost["reported_usd"], ""),
        ("Estimated", cost["estimated_usd"], "~"),
        ("Covered", cost["covered_list_usd"], ""),
    ):
        if usd:
            assert row[name] == amount(usd, sign)
        else:
            assert row[name] in ("–", "no price", "no list price")
    assert row.get("No price", "") == (
        f"{cost['unpriced_calls']:,}" if "No price" in row and cost["unpriced_calls"] else ""
    )


def key_of(by: str, own: Json) -> str:
    """How the page calls a row of `--json`."""
    if by == "model":
        local = ", on this machine" if own["route"] == "ollama" else ""
        return f"{own['model']} {own['route']}{local}"
    if by == "session":
        return f"{own['title']} {own['project']} · {own['session'].partition('_')[2]}"
    if by == "actor":
        return NAMED[own["actor"]]
    if by == "mode":
        return own["mode"].capitalize() if own["mode"] else "Mode unknown"
    return own["project"] or "no project"


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("by", ["model", "project", "mode", "session", "actor"])
def test_every_row_is_what_usage_json_says(samples: Place, backstory: Run, name: str, by: str) -> None:
    options, query = RANGES[name]
    document = backstory("usage", *options, "--tz", "Europe/Berlin", "--by", by, "--json").json
    page = samples.get(**query, by=by)
    *rows, last = page.rows("Where it went")
    assert [row[by.capitalize()] for row in rows] == [key_of(by, own) for own in document["rows"]]
    for row, own in zip(rows, document["rows"], strict=True):
        agrees(row, own)
    agrees(last, document["totals"])
    assert last[by.capitalize()] == "Total"


@pytest.mark.parametrize("name", RANGES)
def test_the_four_figures_are_the_totals_of_usage_json(samples: Place, backstory: Run, name: str) -> None:
    options, query = RANGES[name]
    totals = backstory("usage", *options, "--tz", "Europe/Berlin", "--json").json["totals"]
    page, cost = samples.get(**query), totals["cost"]
    tiles = page.tiles
    assert list(tiles) == ["Reported", "Estimated", "Covered", "No price known"]
    assert tiles["Reported"][0] == amount(cost["reported_usd"])
    assert tiles["Estimated"][0] == (amount(cost["estimated_usd"], "~") if cost["estimated_usd"] else "–")
    unpriced = cost["unpriced_calls"]
    assert tiles["No price known"][0] == (f"{unpriced} calls" if unpriced else "–")
    assert f"{totals['sessions']} session" in page.text
    assert f"{totals['calls']} calls" in page.text


@pytest.mark.parametrize("name", ["month", "four days", "a project"])
def test_the_table_of_days_is_what_usage_by_day_says(samples: Place, backstory: Run, name: str) -> None:
    options, query = RANGES[name]
    document = backstory("usage", *options, "--tz", "Europe/Berlin", "--by", "day", "--json").json
    rows = samples.get(**query).rows("By day")
    assert [row["Day"].partition(" ")[2] for row in rows] == [
        f"{int(own['day'][8:])} Nov" for own in document["rows"]
    ]
    for row, own in zip(rows, document["rows"], strict=True):
        agrees(row, own)


def test_the_tools_are_what_usage_by_tool_says(samples: Place, backstory: Run) -> None:
    document = backstory("usage", "--all", "--by", "tool", "--json").json
    rows = samples.get(since="all", by="tool").rows("Where it went")
    assert [
        (row["Tool"], row["In common"], row["Uses"], row["Failed"], row["Rejected"], row["Sessions"])
        for row in rows
    ] == [
        (
            own["tool"],
            own["canonical"],
            str(own["uses"]),
            str(own["failed"] or ""),
            str(own["rejected"] or ""),
            str(own["sessions"]),
        )
        for own in document["rows"]
    ]


def test_the_csv_has_the_rows_of_the_terminals(samples: Place, backstory: Run) -> None:
    app = create_app(env=samples.env, now=lambda: NOW, tz=BERLIN)
    client = TestClient(app, base_url=HOST)
    for by in ("model", "session", "tool"):
        answer = client.get("/usage.csv", params={"since": "all", "by": by})
        assert answer.headers["content-type"].startswith("text/csv")
        printed = backstory("usage", "--all", "--by", by, "--csv").out
        assert list(csv.reader(io.StringIO(answer.text))) == list(csv.reader(io.StringIO(printed)))


def test_each_figure_has_a_sentence_that_says_what_it_is(samples: Place) -> None:
    tiles = samples.get(since="all").tiles
    assert tiles["Reported"][1] == "Cline recorded this cost itself, on 271 calls."
    assert tiles["Estimated"][1] == "21 calls without a recorded cost, at the list price of the day."
    assert tiles["Covered"][1] == (
        "List value of 32 of 36 calls on cline-pass and local models; the others have no list price."
        " Not money you paid."
    )
    assert tiles["No price known"][1] == "90.2k tokens on in-house-coder. Set a price"


def test_kinds_of_cost_that_did_not_occur_are_no_zero(samples: Place) -> None:
    page = samples.get(since="all", project="billing-worker")
    assert page.tiles["Estimated"] == ("–", "No call had to be estimated.")
    assert page.tiles["No price known"] == ("–", "Every call has a price.")
    assert "No price known" not in page.titles


def test_a_model_without_a_price_says_how_to_give_it_one(samples: Place) -> None:
    words = squeezed(samples.get(since="all").section("No price known").text)
    assert "No price is known for in-house-coder. 7 calls, 90.2k tokens. Set one in config.toml:" in words
    assert '[prices."in-house-coder"]' in words


def test_the_heading_names_the_range_and_the_zone(samples: Place) -> None:
    for query, words in (
        ({}, "November 2026 · 1 to 30 Nov, Europe/Berlin · "),
        ({"since": "today"}, "Today · Mon 30 Nov, Europe/Berlin · "),
        ({"since": "2026-11-24"}, "7 days · 24 to 30 Nov, Europe/Berlin · "),
        ({"since": "2026-09-02"}, "90 days · 2 Sep to 30 Nov, Europe/Berlin · "),
        ({"since": "all"}, "Everything · 3 to 30 Nov, Europe/Berlin · "),
        ({"since": "2026-11-26", "until": "2026-11-27"}, "Usage 26 to 27 Nov, Europe/Berlin · "),
        ({"since": "no date", "until": "neither"}, "November 2026 · 1 to 30 Nov"),
    ):
        assert words in samples.get(**query).text


def test_ranges_and_tabs_keep_all_else_that_the_address_says(samples: Place) -> None:
    page = samples.get(since="2026-11-24", project="billing-worker", by="session", show="prompts")
    assert page.choices["Mode"] == "/usage?since=2026-11-24&project=billing-worker&by=mode&show=prompts"
    assert page.choices["All"] == "/usage?since=all&project=billing-worker&by=session&show=prompts"
    assert page.choices["Month"] == "/usage?project=billing-worker&by=session&show=prompts"
    chosen = [link.text for link in page.main.all("a") if "aria-current" in link.attributes]
    assert chosen == ["7 days", "Session"]
    (select,) = page.main.all("select")
    assert [one.text for one in select.all("option") if "selected" in one.attributes] == ["billing-worker"]


def test_every_link_of_the_page_leads_somewhere(samples: Place) -> None:
    app = create_app(env=samples.env, now=lambda: NOW, tz=BERLIN)
    client = TestClient(app, base_url=HOST)
    links = set()
    for by in ("model", "project", "tool"):
        links |= set(samples.get(since="all", by=by, show="prompts").links())
    own = {link for link in links if link.startswith("/usage") or "#turn-" in link}
    assert len(own) > 30
    for link in sorted(own):
        assert client.get(link).status_code == 200, link


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"since": "2026-11-04", "until": "2026-11-07"}, "No calls between 4 and 7 November."),
        ({"since": "2026-10-01", "until": "2026-11-02"}, "No calls between 1 October and 2 November."),
        ({"since": "2025-10-01", "until": "2025-10-01"}, "No calls on 1 October 2025."),
        ({"until": "2026-10-01"}, "No calls until 1 October."),
        ({"since": "today", "project": "no-such"}, "No calls of no-such today."),
        ({"since": "all", "model": "no-such"}, "No calls on no-such yet."),
        (
            {"since": "2026-11-07", "until": "2026-11-01"},
            "No calls: 7 November is after 1 November.",
        ),
    ],
)
def test_a_range_without_calls_says_so_and_offers_all(samples: Place, query: Json, words: str) -> None:
    page = samples.get(**query)
    assert f"{words} Show all" in page.text
    assert "/usage?since=all" in page.links()
    assert page.titles == []


def test_an_empty_archive_has_no_calls_yet(tmp_path: Path) -> None:
    assert "No calls yet. Show all" in Place(tmp_path).get(since="all").text


def test_budgets_say_what_is_used_what_will_be_and_when_they_were_passed(tmp_path: Path) -> None:
    place = Place(tmp_path).told()
    assert squeezed(place.get().section("Budgets").text) == (
        "Budgets No budget yet. backstory budget set 60 --per month"
    )
    with place.archive() as archive:
        for period, dollars in (("day", 5), ("week", 25), ("month", 100)):
            save(archive.connection, Budget(period, "all", "", dollars * DOLLAR))  # type: ignore[arg-type]
        save(archive.connection, Budget("week", "project", "billing-worker", DOLLAR, covered=True))
        found = {
            (one["period"], one["scope"]): one
            for one in map(standing_json, standings(archive.connection, NOW, BERLIN))
        }
        calls = archive.connection.execute(
            "SELECT at, amount FROM calls WHERE counted AND kind IN ('reported', 'estimated') AND at >= ?"
            " ORDER BY at",
            (NOW - 13 * 3_600_000,),
        ).fetchall()
    day = found["day", "all"]
    spent, passing = 0, 0
    for at, nano in calls:
        spent += nano
        if spent > 5 * DOLLAR:
            passing = at
            break
    over = amount(day["spent_usd"] - 5)
    at_clock = datetime.fromtimestamp(passing / 1000, BERLIN).strftime("%H:%M")
    lines = [squeezed(line.text) for line in place.get().section("Budgets").all("li")]
    names = [
        "November, everything",
        "This week, everything",
        "This week, project billing-worker",
        "Today, everything",
    ]
    assert [line[: len(name)] for line, name in zip(lines, names, strict=True)] == names
    month, week, project, today = lines
    share = 100 * found["month", "all"]["spent_usd"] / 100
    assert f"{amount(found['month', 'all']['spent_usd'])} of $100" in month
    assert f"{share:.0f}% used on the last day. Reported and estimated count, covered does not." in month
    assert (
        f"Projected {amount(found['week', 'all']['projected_usd'])} by Sunday, at the pace until now." in week
    )
    assert "Passed at " in project
    assert project.endswith("The list value of covered calls counts too.")
    assert today.endswith(f"{amount(day['spent_usd'])} of $5 Passed at {at_clock} by {over}.")


def test_reconcile_leads_from_clines_sum_to_ours_with_every_reason(samples: Place) -> None:
    with samples.archive() as archive:
        document = reconcile_json(reconcile(archive.connection))
    section = samples.get(since="all").section("Against Cline's own totals")
    (steps,) = section.all("ul", class_="tight")
    first, *reasons, last = [line.text for line in steps.all("li")]
    assert first == f"Cline's session totals 13 manifests {amount(document['totals']['cline_usd'])}"
    assert last == f"Backstory, reported {amount(document['totals']['reported_usd'])}"
    differences = [one for one in document["totals"]["differences"] if one["reason"] != "rounding"]
    assert [line.rpartition(" ")[2] for line in reasons] == [
        f"{'−' if one['usd'] < 0 else '+'}{amount(abs(one['usd']))}" for one in differences
    ]
    assert reasons[0].startswith("Subagents, left out by Cline 7 children ")
    differing = [one for one in document["sessions"] if not one["agrees"]]
    (folded,) = section.all("details")
    assert len(folded.all("li")) == len(differing)
    assert [line.all("a")[0].text for line in folded.all("li")] == [one["title"] for one in differing]


def test_totals_that_agree_are_one_sentence_and_a_model_has_none(samples: Place) -> None:
    page = samples.get(since="2026-11-25", until="2026-11-25")
    assert "Cline's totals and these agree for 1 session." in page.section("Against Cline's own totals").text
    assert "Against Cline's own totals" not in samples.get(since="all", model="claude").titles


def test_the_costliest_prompts_say_where_and_why(samples: Place) -> None:
    with samples.archive() as archive:
        found = top_json(top(archive.connection, Filter(), 40))["prompts"]
        titles = dict(archive.connection.execute("SELECT id, title FROM session").fetchall())
    lines = samples.get(since="all").section("Costliest prompts").all("li")
    assert len(lines) == 3
    first = squeezed(lines[0].text)
    assert first.startswith(titles[found[0]["session"]])
    assert "web-console · 27 Nov · prompt 3 · 59 calls, 1 failed test run on the way, 23% of" in first
    assert first.endswith(amount(found[0]["cost"]["reported_usd"]))
    every = samples.get(since="all", show="prompts").section("Costliest prompts").all("li")
    assert [one.all("a")[0].text for one in every] == [titles[one["session"]] for one in found]
    shown = {squeezed(one.text) for one in every}
    assert any("interrupted; the fork m9lz0 went on from here" in words for words in shown)


def test_plan_and_act_and_who_spent_it_add_the_kinds_of_money_to_nothing(
    samples: Place, backstory: Run
) -> None:
    page = samples.get(since="all")
    for title, by in (("Plan and act", "mode"), ("Who spent it", "actor")):
        document = backstory("usage", "--all", "--by", by, "--json").json
        names = [one.text for one in page.section(title).all("dt")]
        amounts = [one.text for one in page.section(title).all("dd", class_="n")]
        assert names == [key_of(by, own) for own in document["rows"]]
        for words, own in zip(amounts, document["rows"], strict=True):
            cost = own["cost"]
            assert (amount(cost["reported_usd"]) in words) is bool(cost["reported_usd"])
            assert (amount(cost["estimated_usd"], "~") in words) is bool(cost["estimated_usd"])


def test_the_chart_is_an_image_with_a_label_and_the_page_has_no_style_of_its_own(samples: Place) -> None:
    page = samples.get()
    (image,) = page.main.all("div", role="img")
    label = image.attributes["aria-label"]
    assert label == "Cost by day, 30 days: $9.02 reported, ~$0.49 estimated, $0.15 covered"
    assert len(page.main.all("rect", class_="rep")) > 5
    assert all("aria-hidden" in one.attributes for one in image.all("svg"))
    assert "style=" not in page.html
    assert page.html.count('id="hatch"') == 1


def test_long_ranges_are_drawn_by_week_and_by_month(tmp_path: Path) -> None:
    place = Place(tmp_path)
    session = Session(tmp_path / "cline" / "data" / "sessions", start=NOW - 5 * 365 * 86_400_000)
    session.prompt("Long ago")
    session.reply("Then", metrics=paid(0.5))
    session.reply("Now", metrics=paid(0.25), ts=NOW - 60_000)
    session.write()
    with place.archive() as archive:
        archive.sync()
    assert "By month" in place.get(since="all").titles
    assert [row["Month"] for row in place.get(since="all").rows("By month")] == [
        "December 2021",
        "November 2026",
    ]
    assert "By week" in place.get(since="2026-01-01").titles
    assert "By day" in place.get(since="2026-09-02").titles


def test_hostile_names_are_text(tmp_path: Path) -> None:
    place = Place(tmp_path)
    evil = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m'
    session = Session(tmp_path / "cline" / "data" / "sessions")
    assert session.manifest is not None
    session.manifest |= {"cwd": f"/tmp/{evil}", "workspace_root": f"/tmp/{evil}"}
    session.manifest["metadata"] = {"title": evil}
    session.prompt(evil)
    session.reply("x", modelInfo={"id": evil, "provider": evil})
    session.reply("y", modelInfo={"id": evil, "provider": "ollama"}, metrics=paid(0.1))
    session.write()
    with place.archive() as archive:
        archive.sync()
        (project,) = archive.connection.execute("SELECT project FROM session").fetchone()
        save(archive.connection, Budget("month", "project", evil.lower(), DOLLAR))
    for by in ("model", "project", "mode", "tool", "session", "actor"):
        page = place.get(since="all", by=by, project=project, show=evil, until=evil)
        assert not page.main.all("script")
        assert not page.main.all("img")
        assert "\x1b" not in page.text
        assert "\u202e" not in page.text
    assert "alert(1)" in place.get(since="all").text


def test_sixty_thousand_calls_stay_under_100_kb_and_right(tmp_path: Path) -> None:
    place = Place(tmp_path)
    session = Session(tmp_path / "cline" / "data" / "sessions", start=NOW - 89 * 86_400_000)
    session.prompt("Much to do")
    session.reply("x", metrics=paid(0.01))
    session.write()
    with place.archive() as archive:
        archive.sync()
        archive.connection.execute(
            "WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 59999)"
            " INSERT INTO call (file, key, message_id, msg, at, turn, route, model, fresh, cache_read, cache_write,"
            " output, nano, dedup, counted, name, kind, amount) SELECT file, key || i, message_id, msg,"
            " at + i * 120000, turn, route, model, fresh, cache_read, cache_write, output, nano, dedup + i, 1,"
            " 'model-' || (i % 60), CASE WHEN i % 3 THEN 'reported' ELSE 'covered' END, amount FROM call, number"
        )
    for query in ({}, {"since": "2026-09-02"}, {"since": "all", "by": "session"}):
        page = place.get(**query)
        assert len(page.html.encode()) < 100_000
    *rows, last = place.get(since="all").rows("Where it went")
    assert (len(rows), last["Calls"], last["Reported"]) == (30, "60,000", "$400.01")


def day(reported: int, estimated: int, covered: int, unpriced: bool = False) -> Day:
    return Day("", "", False, reported, estimated, covered, unpriced)


AMOUNTS = st.integers(0, 10**14)


@given(st.lists(st.builds(day, AMOUNTS, AMOUNTS, AMOUNTS, st.booleans()), min_size=1, max_size=40))
def test_what_is_paid_and_what_is_covered_have_one_scale_and_stay_inside(days: list[Day]) -> None:
    made = charts.scale(days)
    assert made.above <= charts.LINES
    assert made.step * made.above >= max(one.reported + one.estimated for one in days)
    drawn = Page(f"<main>{charts.by_day(days)}</main>").main
    for name, amounts in (
        ("rep", [one.reported for one in days]),
        ("est", [one.estimated for one in days]),
        ("cov", [one.covered for one in days]),
    ):
        tall = [float(one.attributes["height"]) for one in drawn.all("rect", class_=name)]
        assert len(tall) == sum(1 for value in amounts if value)
        for height, nano in zip(tall, filter(None, amounts), strict=True):
            assert abs(height - max(nano / made.step * made.pitch, 1)) < 0.06
    bottom = made.height - charts.LABELS + charts.GAP + 2
    for one in drawn.all("rect"):
        y, height = float(one.attributes["y"]), float(one.attributes["height"])
        assert y >= 0
        assert y + height <= bottom
        below = "cov" in one.attributes["class"]
        assert (y > made.zero) is below
    assert len(drawn.all("text", class_="unp")) == sum(one.unpriced for one in days)


@given(st.integers(1, 10**13), st.integers(0, 10**13), st.integers(0, 10**13))
def test_a_budgets_bar_never_leaves_its_track_and_is_marked_when_it_is_passed(
    limit: int, spent: int, more: int
) -> None:
    bars = Page(f"<main>{charts.budget_bar(spent, spent + more, limit)}</main>").main.all("rect")
    widths = {one.attributes["class"]: float(one.attributes["width"].rstrip("%")) for one in bars}
    assert all(0 <= width <= 100 for width in widths.values())
    assert ("over" in widths) is (spent > limit)
    assert widths["track"] == 100
