"""Every verb, run as a person or a script runs it, over the sample sessions."""

from __future__ import annotations

import re
import subprocess
from datetime import date
from pathlib import Path

import pytest
from documents import DOCS, tables
from running import Run, runner, samples

from backstory import Archive, __version__
from backstory.cli.dates import day_bounds
from backstory.cli.main import VERBS
from backstory.ledger.budget import Budget, save


@pytest.fixture(scope="module")
def cline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples(tmp_path_factory.mktemp("cline"))


@pytest.fixture
def backstory(
    cline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    return runner(cline, tmp_path / "home", monkeypatch, capfd)


def test_bare(backstory: Run) -> None:
    done = backstory()
    assert done.code == 0
    first = done.out.splitlines()[0]
    assert re.fullmatch(r"\d+ sessions in .*/home, up to date", first)
    assert done.err == ""


def test_bare_without_a_session(backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINE_DIR", str(tmp_path / "nothing"))
    done = backstory()
    assert done.code == 0
    assert done.out.startswith("No sessions yet.\n\nBackstory looked in ")
    assert "(CLINE_DIR)" in done.out


def test_sessions(backstory: Run) -> None:
    done = backstory("sessions")
    assert done.code == 0
    assert done.err == ""
    head = done.out.splitlines()[0]
    assert head.split() == ["ID", "LAST", "PROJECT", "TITLE", "STEPS", "FAILURES", "COST"]
    assert "k3v9q" in done.out
    assert len(backstory("sessions", "--json").json["sessions"]) == 20


def test_sessions_filtered(backstory: Run) -> None:
    every = backstory("sessions", "--json").json["sessions"]
    failing = backstory("sessions", "--failing", "--json").json["sessions"]
    assert failing == [one for one in every if one["totals"]["failing"]]
    assert 0 < len(failing) < len(every)
    project = backstory("sessions", "--project", "docs-site", "--json").json["sessions"]
    assert {one["project"] for one in project} == {"docs-site"}
    stopped = backstory("sessions", "--status", "error", "--json").json["sessions"]
    assert {one["state"] for one in stopped} == {"error"}
    assert len(backstory("sessions", "--limit", "3", "--json").json["sessions"]) == 3
    assert backstory("sessions", "--since", "2026-11-30", "--until", "3nov2026", "--json").json == {
        "sessions": []
    }


def test_no_session_matches(backstory: Run) -> None:
    done = backstory("sessions", "--project", "nowhere", "--since", "yesterday", "--failing")
    assert (done.code, done.err) == (0, "")
    assert done.out == "No session matches: project nowhere, since yesterday, still failing.\n"


def test_sessions_wide(backstory: Run) -> None:
    head = backstory("sessions", "--wide").out.splitlines()[0].split()
    assert {"PROMPTS", "FILES", "LENGTH"} < set(head)
    assert head[-2:] == ["TOKENS", "COST"]


@pytest.mark.parametrize("said", ["k3v9q", "last", "k3v"])
def test_show(backstory: Run, said: str) -> None:
    done = backstory("show", said)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^1  ", done.out, re.MULTILINE)


def test_show_marks_the_session_as_seen(backstory: Run) -> None:
    def unseen() -> int:
        every = backstory("sessions", "--json").json["sessions"]
        return next(int(one["unseen"]) for one in every if one["short_id"] == "k3v9q")

    assert unseen() > 0
    backstory("show", "k3v9q", "--json")
    assert unseen() > 0
    backstory("show", "k3v9q")
    assert unseen() == 0


def test_show_turn(backstory: Run) -> None:
    done = backstory("show", "k3v9q", "--turn", "2")
    assert re.findall(r"^(\d)  \S", done.out, re.MULTILINE) == ["2"]
    done = backstory("show", "k3v9q", "--turn", "99")
    assert (done.code, done.out) == (1, "")
    assert done.err == "backstory: k3v9q has no prompt 99; it has prompts 1 to 4.\n"


def test_show_changes_is_a_patch_and_nothing_else(backstory: Run, tmp_path: Path) -> None:
    done = backstory("--quiet", "show", "k3v9q", "--changes")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("diff --git ")
    checked = subprocess.run(
        ["git", "apply", "--stat", "-"], input=done.out, capture_output=True, text=True, cwd=tmp_path
    )
    assert checked.returncode == 0, checked.stderr
    assert "redis-limiter.ts" in checked.stdout


def test_money_of_a_session(backstory: Run) -> None:
    drawn = backstory("show", "k3v9q").out
    assert "   $0.53 reported   86 % of the input cached\n" in drawn
    assert re.findall(r"^   (?:plan|act) .*?   (\S*\$\d\S*)", drawn, re.MULTILINE) == [
        "$0.10",
        "$0.17",
        "$0.19",
        "$0.07",
    ]
    assert re.search(r"^   agent  .*  8 steps  \$0\.06   3[89] s$", drawn, re.MULTILINE)
    found = backstory("show", "k3v9q", "--json").json
    counted = [call for call in found["calls"] if call["settled"]["counted"]]
    cost, tokens = found["session"]["cost"], found["session"]["tokens"]
    assert cost["reported_usd"] == pytest.approx(sum(call["reported_usd"] for call in counted))
    assert cost["unpriced_calls"] == cost["estimated_usd"] == cost["covered_list_usd"] == 0
    assert tokens == {name: sum(call["tokens"][name] for call in counted) for name in tokens}
    assert tokens["total"] == tokens["input"] + tokens["output"]


def test_a_list_says_what_each_session_cost(backstory: Run) -> None:
    drawn = backstory("sessions").out
    column = {row[3:8]: row.split("  ")[-1].strip() for row in drawn.splitlines() if "  " in row}
    shown = {
        "k3v9q": "$0.53",
        "7h2mx": "covered",
        "w0c4r": "$1.92",
        "p81zd": "~$0.48",
        "2js90": "no price",
        "ysn27": "$0.87",
    }
    assert {short: column[short] for short in shown} == shown
    every = backstory("sessions", "--json").json["sessions"]
    assert all(set(one["cost"]) == set(every[0]["cost"]) for one in every)
    (unpriced,) = (one["cost"]["unpriced_calls"] for one in every if one["short_id"] == "2js90")
    assert unpriced == 7


def test_a_fork_costs_what_it_added(backstory: Run) -> None:
    found = backstory("show", "m9lz0", "--json").json
    copied = [call for call in found["calls"] if not call["settled"]["counted"]]
    added = [call["reported_usd"] for call in found["calls"] if call["settled"]["counted"]]
    assert copied
    assert found["session"]["cost"]["reported_usd"] == pytest.approx(sum(added))
    origin = backstory("show", "ysn27", "--json").json["calls"]
    assert {call["message_id"] for call in copied} < {call["message_id"] for call in origin}
    assert all(call["settled"]["counted"] for call in origin)
    metas = re.findall(r"^   (?:plan|act) .*$", backstory("show", "m9lz0").out, re.MULTILINE)
    assert ["$" in line for line in metas] == [False, False, True]


def test_the_money_of_a_day_is_that_of_its_sessions(backstory: Run) -> None:
    drawn = backstory("sessions").out
    day = drawn.split("\n\n")[1].splitlines()
    paid = [float(cell) for cell in re.findall(r"  \$(\d+\.\d\d)$", "\n".join(day[1:]), re.MULTILINE)]
    said = re.search(r"  \$(\d+\.\d\d) reported  ~\$0\.48 estimated$", day[0])
    assert said
    assert float(said[1]) == pytest.approx(sum(paid), abs=0.005 * len(paid))
    one = backstory("sessions", "--limit", "1").out.split("\n\n")[1].splitlines()[0]
    assert one == day[0]


def test_bare_says_what_today_cost(backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "samples"
    backstory("demo", "--home", str(place))
    monkeypatch.setenv("BACKSTORY_HOME", str(place))
    monkeypatch.setenv("CLINE_DIR", str(place / "cline"))
    with Archive() as archive:
        save(archive.connection, Budget("day", "all", "", 10_000_000))
        save(archive.connection, Budget("day", "project", "nowhere", 10_000_000))
        midnight = day_bounds(date.today())[0]
        records = [archive.record(listed.session.id) for listed in archive.sessions(limit=None)]
    spent = dict.fromkeys(("reported", "estimated"), 0)
    for call in (call for record in records for call in record.calls):
        if (
            call.settled
            and call.settled.counted
            and call.settled.kind in spent
            and (call.at or 0) >= midnight
        ):
            spent[call.settled.kind] += call.settled.amount or 0
    drawn = backstory().out
    for kind, nano in spent.items():
        said = re.search(rf"^       .*\$([\d.]+) {kind}", drawn, re.MULTILINE)
        assert float(said[1] if said else 0) == pytest.approx(nano / 1e9, abs=0.005)
    budgets = re.findall(r"budget of the day passed: \$([\d.]+) of \$0\.01$", drawn, re.MULTILINE)
    assert [float(one) for one in budgets] == pytest.approx([sum(spent.values()) / 1e9], abs=0.005)


def test_search_says_what_a_session_cost(backstory: Run) -> None:
    found = backstory("search", "ECONNREFUSED")
    assert re.search(r"^k3v9q  .*  \$0\.53$", found.out, re.MULTILINE)
    groups = backstory("search", "ECONNREFUSED", "--json").json["sessions"]
    costs = {one["id"]: one["cost"] for one in backstory("sessions", "--json").json["sessions"]}
    assert all(group["session"]["cost"] == costs[group["session"]["id"]] for group in groups)


def test_the_schema_names_every_field_of_money(backstory: Run) -> None:
    found = backstory("show", "k3v9q", "--json").json
    documented = tables(DOCS / "schema.md", "money")
    assert {name: sorted(words) for name, words in documented.items()} == {
        "settled": sorted(found["calls"][0]["settled"]),
        "cost": sorted(found["session"]["cost"]),
    }


def test_search(backstory: Run) -> None:
    done = backstory("search", "ECONNREFUSED")
    assert (done.code, done.err) == (0, "")
    assert re.match(r"\d+ hits in \d+ sessions, best first\n\n", done.out)
    found = backstory("search", "ECONNREFUSED", "--in", "outputs", "--json").json
    assert found["sessions"]
    for group in found["sessions"]:
        for hit in group["hits"]:
            assert hit["part"] == "out"
            assert all(hit["text"][start:end] for start, end in hit["spans"])


def test_search_that_finds_nothing(backstory: Run) -> None:
    done = backstory("search", "qqzzxx")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r'Nothing found for "qqzzxx" in \d+ sessions\.\n', done.out)
    assert backstory("search", "qqzzxx", "--json").json["sessions"] == []


JSON = [
    ("sessions", "--json"),
    ("show", "last", "--json"),
    ("show", "k3v9q", "--json", "--all"),
    ("search", "redis", "--json"),
    ("doctor", "--json"),
    ("capture", "--once", "--json"),
]


@pytest.mark.parametrize("args", JSON, ids=" ".join)
def test_json_is_one_document_and_nothing_else(backstory: Run, args: tuple[str, ...]) -> None:
    done = backstory(*args)
    assert isinstance(done.json, dict)
    assert done.out == done.out.strip() + "\n"
    assert done.err == ""


def test_times_in_json_are_iso_in_utc(backstory: Run) -> None:
    iso = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
    for one in backstory("sessions", "--json").json["sessions"]:
        assert iso.fullmatch(one["last_at"])
        assert iso.fullmatch(one["started_at"])
        assert iso.fullmatch(one["last_step"]["at"])


def test_doctor(backstory: Run, tmp_path: Path) -> None:
    done = backstory("doctor")
    assert done.err == ""
    assert done.out.startswith("Cline\n")
    broken = backstory("doctor", "--json").json["broken"]
    assert done.code == (1 if broken else 0)
    assert done.out.splitlines()[-1].endswith((".",))


def test_capture_once(backstory: Run) -> None:
    done = backstory("capture", "--once")
    assert done.code == 0
    assert re.match(r"20 sessions, 20 changed, [\d,]+ new steps\n", done.out)
    assert backstory("capture", "--once").out == "20 sessions, 0 changed, 0 new steps\n"
    done = backstory("capture", "--json")
    assert (done.code, done.out) == (2, "")


def test_ingest(backstory: Run, cline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = next((cline / "data" / "sessions").glob("*_c4t0p"))
    monkeypatch.setenv("CLINE_DIR", str(tmp_path / "nothing"))
    assert backstory("ingest", "--agent", "cline", str(folder)).code == 0
    (only,) = backstory("sessions", "--json", "--no-sync").json["sessions"]
    assert only["short_id"] == "c4t0p"
    done = backstory("ingest", str(tmp_path / "no-such-folder"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("backstory: ")
    assert len(done.err.splitlines()) == 1


def test_forget_says_what_goes_and_refuses_where_nobody_can_answer(backstory: Run) -> None:
    done = backstory("forget", "m9lz0")
    assert done.code == 1
    assert "removes  3 prompts, 21 steps" in done.out
    assert "ysn27" in done.out
    assert (
        done.err
        == "backstory: nobody is here to ask. Nothing was removed; backstory forget m9lz0 --yes does it.\n"
    )
    assert backstory("show", "m9lz0").code == 0


def test_forget(backstory: Run) -> None:
    done = backstory("forget", "m9lz0", "--yes")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("Forgotten: 1 session.\n")
    assert backstory("show", "m9lz0").code == 1
    assert backstory("show", "ysn27").code == 0


def test_forget_with_copies(backstory: Run) -> None:
    gone = backstory("forget", "m9lz0", "--with-copies", "--yes", "--json").json["forgotten"]
    assert sorted(one.rpartition("_")[2] for one in gone) == ["m9lz0", "ysn27"]
    assert backstory("show", "ysn27").code == 1


def test_demo_uses_a_home_of_its_own(backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "samples"
    done = backstory("demo", "--home", str(place))
    assert done.code == 0
    assert done.out == f"20 sample sessions in {place}. Your own archive is as it was.\n"
    assert not (tmp_path / "home").exists()
    monkeypatch.setenv("BACKSTORY_HOME", str(place))
    monkeypatch.setenv("CLINE_DIR", str(place / "cline"))
    assert len(backstory("sessions", "--json").json["sessions"]) == 20


def test_sessions_dir_names_other_folders(backstory: Run, cline: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert backstory("sessions", "--sessions-dir", str(empty)).out == "No sessions yet.\n"
    sessions = cline / "data" / "sessions"
    assert "k3v9q" in backstory("sessions", "--sessions-dir", str(empty), "--sessions-dir", str(sessions)).out


def test_no_sync_shows_the_archive_as_it_is(backstory: Run) -> None:
    assert backstory("sessions", "--no-sync").out == "No sessions yet.\n"
    assert backstory("--no-sync", "sessions").out == "No sessions yet.\n"
    assert backstory("--no-sync").out.startswith("No sessions yet.\n")


def test_bare_takes_the_options_of_the_reading_verbs(backstory: Run, cline: Path, tmp_path: Path) -> None:
    done = backstory("--sessions-dir", str(tmp_path))
    assert f"Backstory looked in {tmp_path} (--sessions-dir) and found none." in " ".join(done.out.split())
    assert backstory("--sessions-dir", str(cline / "data" / "sessions")).out.startswith("20 sessions in ")
    assert "not brought up to date" in backstory("--no-sync").out


def test_db_names_another_archive(backstory: Run, tmp_path: Path) -> None:
    path = tmp_path / "other" / "a.db"
    assert backstory("--db", str(path), "sessions").code == 0
    assert path.exists()
    assert not (tmp_path / "home").exists()


MISTAKES = [
    (("show", "nope1"), 1, 'There is no session "nope1" in the archive.'),
    (("show", "1"), 1, '"1" fits '),
    (("forget", "nope1"), 1, 'There is no session "nope1"'),
    (
        ("sessions", "--since", "soon"),
        2,
        '"soon" is not a date. Write one as today, yesterday, 24nov, 7d or 2026-11-24.',
    ),
    (("sessions", "--status", "odd"), 2, "invalid value for '--status'"),
    (("sessions", "--limit", "0"), 2, "invalid value for '--limit'"),
    (("sessions", "--frobnicate"), 2, "no such option"),
    (("show",), 2, "missing argument 'ID'"),
    (("search",), 2, "missing argument 'QUERY'"),
    (("sesions",), 2, 'there is no verb "sesions". Did you mean sessions?'),
    (("--color", "pink", "sessions"), 2, "invalid value for '--color'"),
    (("ingest", "--agent", "other", "x"), 1, 'There is no agent "other".'),
]


@pytest.mark.parametrize(("args", "code", "words"), MISTAKES, ids=[" ".join(args) for args, _, _ in MISTAKES])
def test_a_mistake_is_one_line_that_says_what_to_do(
    backstory: Run, args: tuple[str, ...], code: int, words: str
) -> None:
    done = backstory(*args)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"backstory: {words}"), done.err
    assert done.err.count("\n") == 1
    if code == 2:
        assert re.search(r"See backstory(?: \w+)? --help\.$", done.err)


def test_an_archive_that_is_none(backstory: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be taken for one by its size alone " * 20, "utf-8")
    done = backstory("--db", str(path), "sessions")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("backstory: ")
    assert "notes.txt" in done.err
    assert done.err.count("\n") == 1


def test_what_a_person_typed_cannot_act_in_the_error(backstory: Run) -> None:
    done = backstory("show", "\x1b]0;owned\x07")
    assert "\x1b" not in done.err
    assert "␛]0;owned␇" in done.err


def test_version(backstory: Run) -> None:
    assert backstory("--version").out == f"backstory {__version__}\n"


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_ends_with_examples(backstory: Run, verb: str) -> None:
    done = backstory(*filter(None, (verb, "--help")))
    assert (done.code, done.err) == (0, "")
    assert "Examples:\n" in done.out
    assert f"  backstory {verb}".rstrip() in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_the_help_of_the_group_says_what_the_verbs_say(backstory: Run) -> None:
    listed = backstory("--help").out
    for verb, words in VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(words)}$", listed, re.MULTILINE)
        module = __import__(f"backstory.cli.{verb}", fromlist=["command"])
        assert module.command.short_help == words
