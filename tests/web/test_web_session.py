"""A session's page: each kind of step in its own words, light whatever its size, and what stands around the steps."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from conftest import Home, told
from growth import RECORDINGS
from recordings import scenarios, session_path, sessions
from sessions import Session, item, text, tool_use
from starlette.testclient import TestClient

from backstory import Archive
from backstory.schema.step import Edit
from backstory.store import outline, page
from backstory.web import bodies, timeline

BENCH = Path(__file__).parents[2] / "bench"


def plain(html: str) -> str:
    """What a person reads of markup."""
    import html as escapes

    return " ".join(escapes.unescape(re.sub(r"<[^>]+>", " ", html)).split())


def rows(html: str) -> dict[str, str]:
    """Each row of a page in words, by the step's id."""
    found = {}
    for own, inner in re.findall(r'<li id="([^"]+)"[^>]*class="s [^>]*>(.*?)(?=<li |</ol>)', html, re.DOTALL):
        found[own] = plain(inner)
    return found


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """A session with a step of each state, its page, and its rows."""
    home = Home(tmp_path_factory.mktemp("kinds"))
    every_kind(home.sessions)
    with home.archive() as archive:
        archive.sync()
        session_id = archive.resolve("last")
    html = home.client().get(f"/s/{session_id}").text
    return html, rows(html)


def every_kind(root: Path) -> None:
    session = Session(root)
    assert session.manifest is not None
    session.manifest.update(status="completed", ended_at="2026-11-30T09:00:00.000Z", exit_code=0)
    session.prompt("Do it all")
    session.reply({"type": "thinking", "thinking": "Let me see."})

    def run(command: str, said: str, error: str | None = None) -> None:
        call = session.call(
            "run_commands", {"commands": [command]}, f"run-{command.split()[0]}-{len(session.messages)}"
        )
        session.result(call, [item(command, said, error)])

    def tool(call: str, name: str, given: object, came: object, *, is_error: bool = False) -> None:
        session.call(name, given, call)  # type: ignore[arg-type]
        session.result(call, came, is_error=is_error)  # type: ignore[arg-type]

    run("true", "fine\nall good")
    run("make", "[Command exited with code 2]\nError: no rule", "Command exited with code 2")
    run("flaky", "[Command exited with code 1]\nnot yet", "Command exited with code 1")
    tool(
        "edit-1",
        "editor",
        {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"},
        [item("edit:a.py", "Edited a.py")],
    )
    run("flaky", "now")
    run("sleep 99", "Command timed out after 30000ms", "Command timed out after 30000ms")
    run("grep x a.py", "[Command exited with code 1]\n", "Command exited with code 1")
    denied = "User denied the tool execution <feedback>\nNot on a Friday\n</feedback>"
    tool("denied", "run_commands", {"commands": ["rm -rf build"]}, denied, is_error=True)
    tool("new", "editor", {"path": "b.py", "new_text": "1\n2\n"}, [item("edit:b.py", "Created b.py")])
    tool(
        "in",
        "editor",
        {"path": "a.py", "insert_line": 5, "new_text": "y = 3"},
        [item("edit:a.py", "Inserted")],
    )
    wrong = "Editor operation failed: No replacement performed: text not found in a.py"
    tool(
        "lost", "editor", {"path": "a.py", "old_text": "zzz", "new_text": "q"}, [item("edit:a.py", "", wrong)]
    )
    patch = (
        "*** Begin Patch\n*** Delete File: old.py\n*** Update File: m.py\n*** Move to: n.py\n"
        "@@\n a\n-b\n+c\n*** End Patch"
    )
    tool("patch", "apply_patch", {"input": patch}, "Applied")
    tool(
        "seen",
        "read_files",
        {"files": [{"path": "a.py", "start_line": 1, "end_line": 2}]},
        [item("a.py:1-2", "1 | x = 2\n2 | # two")],
    )
    tool(
        "gone",
        "read_files",
        {"files": [{"path": "no.py"}]},
        [item("no.py", "", "Error reading file: ENOENT: no such file")],
    )
    tool(
        "found",
        "search_codebase",
        {"queries": ["x ="]},
        [item("x =", "Found 2 results for pattern: x =\n\na.py:1:1\nb.py:1:1")],
    )
    tool("mcp", "github__get_issue", {"number": 482}, [text("Not Found")], is_error=True)
    tool("asked", "ask_question", {"question": "Which one?", "options": ["left", "right"]}, "right")
    session.reply("See **this** and `that`", {"type": "citation", "quote": "never heard of"})
    call = session.call("spawn_agent", {"task": "count the files"}, "agent")
    child = session.child("1796026000000_abcde__sub1")
    child.prompt("count the files")
    inner = child.call("run_commands", {"commands": ["ls | wc -l"]}, "c1")
    child.result(
        inner, [item("ls | wc -l", "[Command exited with code 3]\nbad", "Command exited with code 3")]
    )
    session.result(call, [text("It failed")])
    session.reply(tool_use("open", "run_commands", {"commands": ["tail -f log"]}))
    session.write()


@pytest.mark.parametrize(
    "words",
    [
        "Command true all good exit 0",
        "Command make exit 2",
        "Has not succeeded since.",
        "flaky exit 1",
        "The same command succeeded",
        "timed out",
        "you rejected it",
        "Not executed. You wrote: “ Not on a Friday ”",
        "Edit b.py +2 new file",
        "Edit a.py +1 inserted at line 5",
        "not applied",
        "Edit old.py",
        "deleted",
        "m.py → n.py",
        "Read a.py:1-2 2 lines",
        "Read no.py ENOENT: no such file not found",
        "Search x = 2 results in 2 files",
        "github get_issue number=482",
        "Which one?",
        "block:citation",
        "Subagent · count the files",
        "no result recorded",
    ],
)
def test_each_kind_of_step_says_what_it_was_and_how_it_ended(
    kinds: tuple[str, dict[str, str]], words: str
) -> None:
    assert words in plain(kinds[0])


def test_failures_are_filled_while_nothing_mended_them_and_outlined_after(
    kinds: tuple[str, dict[str, str]],
) -> None:
    states = re.findall(r'<span class="st (\w+)"[^>]*>([^<]+)</span>', kinds[0])
    assert ("failing", "exit 2") in states
    assert ("failed", "exit 1") in states
    assert ("rejected", "you rejected it") in states
    assert ("dashed", "no result recorded") in states
    assert ("label", "exit 0") in states
    grep = re.search(r'grep x a\.py.*?<span class="st (\w+)', kinds[0], re.DOTALL)
    assert grep is not None
    assert grep[1] == "failed"


def test_the_chosen_option_of_a_question_is_filled(kinds: tuple[str, dict[str, str]]) -> None:
    assert '<span class="chip on">right</span>' in kinds[0]
    assert '<span class="chip">left</span>' in kinds[0]


def test_a_subagent_that_fails_is_open_with_its_steps_under_its_call(
    kinds: tuple[str, dict[str, str]],
) -> None:
    nested = re.search(r'<ol class="steps nest">(.*?)</ol>', kinds[0], re.DOTALL)
    assert nested is not None
    assert "ls | wc -l" in plain(nested[1])
    assert "exit 3" in plain(nested[1])
    assert re.search(r"k-agent[^>]*>\s*<details open>", kinds[0])


def test_a_failed_edit_shows_the_tool_s_words_and_its_wish_as_not_applied(home: Home) -> None:
    every_kind(home.sessions)
    client = home.client()
    with home.archive() as archive:
        archive.sync()
        (n,) = archive.connection.execute("SELECT n FROM step WHERE id = 'lost#0'").fetchone()
        (unknown,) = archive.connection.execute("SELECT n FROM step WHERE kind = 'block:citation'").fetchone()
        (seen,) = archive.connection.execute("SELECT n FROM step WHERE id = 'seen#0'").fetchone()
    html = client.get(f"/b/{n}?part=1").text
    assert "Not applied: Editor operation failed: No replacement performed: text not found in a.py" in plain(
        html
    )
    assert "The change it wanted:" in html
    assert 'class="box plainbox wanted"' in html
    html = client.get(f"/b/{unknown}?part=1").text
    assert "Backstory does not know block:citation. Kept as it was written:" in plain(html)
    assert "never heard of" in html
    html = client.get(f"/b/{seen}?part=1").text
    assert '<td>2</td><td><span class="hc"># two</span></td>' in html
    assert client.get("/b/99999999").status_code == 404


def test_filters_of_a_session_keep_what_they_name(samples: Home, client: TestClient) -> None:
    own = f"/s/{samples.id('k3v9q')}"
    with samples.archive() as archive:
        record = archive.record(samples.id("k3v9q"))
    problems = rows(client.get(f"{own}?show=problems").text)
    wanted = {step.id for step in record.steps if step.outcome != "ok" or step.decision == "rejected"}
    assert set(problems) == wanted
    changes = rows(client.get(f"{own}?show=changes").text)
    assert set(changes) == {step.id for step in record.steps if isinstance(step.payload, Edit)}
    talk = client.get(f"{own}?show=talk").text
    assert "k-run" not in talk
    assert "Three places change" in talk
    assert client.get(f"{own}?show=nonsense").status_code == 200


def test_the_head_and_the_outline_say_the_session_s_figures(samples: Home, client: TestClient) -> None:
    words = plain(client.get(f"/s/{samples.id('k3v9q')}").text)
    for said in (
        "running claude-sonnet-4-5 fix/rate-limit-redis VS Code 12:04 to now, 31 min",
        "6 failed, 2 still failing 1 rejected 4 files +21 −4 $0.53 reported",
        "Timeline 30 Changes 4 Cost $0.53 Facts",
        "4 prompts 1 Requests get a 500 when Redis is down.",
        "Cache hit rate 86%",
        "Cline's files: whole, nothing skipped",
        "Plan 12:04 2 min 4 calls 37.1k tokens, 41% cached $0.10 checkpoint 6d25840",
        "3 files +20 −4 checkpoint a81c02e Changes of this turn",
    ):
        assert said in words, said
    text = client.get(f"/s/{samples.id('k3v9q')}").text
    assert 'aria-label="30 steps, 6 failed, 2 still failing, 1 rejected"' in text


@pytest.mark.parametrize(
    ("short", "words"),
    [
        (
            "m9lz0",
            'as a copy of "Split the queue into its own process"; its first 13 steps are counted there.',
        ),
        ("0dXOZ", "It was imported from claude-code, which keeps it."),
        ("klx20", "1 unknown block"),
        ("8mynx", "Ended by an error of the provider:"),
        ("ysn27", "interrupted"),
        ("av8gq", "Subagent"),
    ],
)
def test_what_limits_a_session_is_said_before_it(
    samples: Home, client: TestClient, short: str, words: str
) -> None:
    assert words in plain(client.get(f"/s/{samples.id(short)}").text)


def test_a_session_that_cline_lost_says_how_complete_it_is(home: Home) -> None:
    told(home)
    import shutil

    shutil.rmtree(home.sessions / home.id("w0c4r"))
    with home.archive() as archive:
        archive.sync()
    words = plain(home.client().get(f"/s/{home.id('w0c4r')}").text)
    assert "Cline no longer has this session. This copy was complete on 30 November," in words


def test_a_session_that_cline_is_writing_says_as_of_when_it_is_shown(home: Home) -> None:
    told(home)
    session_id = home.id("k3v9q")
    path = home.sessions / session_id / f"{session_id}.messages.json"
    words = "Cline is writing this session. Shown as of"
    whole, before = path.read_bytes(), path.stat().st_mtime_ns
    at = before // 1_000_000_000 % 60
    assert words not in home.client().get(f"/s/{session_id}").text
    path.write_bytes(whole[: len(whole) // 2])
    for seconds, said in ((1, False), (5, True), (180, False)):
        written = home.now * 1_000_000 - seconds * 1_000_000_000
        os.utime(path, ns=(written, written))
        text = home.client().get(f"/s/{session_id}").text
        assert (f"{words} 12:35:{at:02}." in text) == said, seconds


def test_an_output_that_cline_cut_says_how_much_there_was(home: Home) -> None:
    with home.archive() as archive:
        archive.sync([RECORDINGS / "huge-output-truncation" / "sessions"])
        (n,) = archive.connection.execute("SELECT n FROM step WHERE id = 'call_m0_0#0'").fetchone()
        said = archive.record(archive.resolve("last")).steps
    text = next(step.payload.stdout for step in said if step.id == "call_m0_0#0")  # type: ignore[union-attr]
    (whole,) = re.findall(r"output truncated: (\d+) chars total", text or "")
    shown = plain(home.client().get(f"/b/{n}?part=1").text)
    assert f"Cut by Cline: {int(whole):,} characters in all." in shown


def test_an_output_that_went_on_says_where_and_whether_it_is_still_there(tmp_path: Path) -> None:
    path = tmp_path / "rest.log"
    begins = f"Went on in the background. Cline writes the rest to {path}"
    assert bodies.went_on(str(path)) == f"{begins}, which is no longer there."
    path.write_text("more")
    assert bodies.went_on(str(path)) == f"{begins}."
    other = r"C:\Users\dev\rest.log" if os.sep == "/" else "/home/dev/rest.log"
    assert "no longer" not in bodies.went_on(other)


def test_what_is_new_since_the_last_look_is_marked_once(home: Home) -> None:
    told(home)
    session_id = home.id("rg62z")
    client = home.client()
    assert 'class="count"' in client.get("/?project=docs-site").text
    client.get(f"/s/{session_id}")
    assert f'/s/{session_id}"' in client.get("/?project=docs-site").text
    assert 'class="count"' not in client.get("/?project=docs-site").text
    with home.archive() as archive:
        assert archive.listed(session_id).unseen == 0


def test_lines_across_say_where_a_copy_a_compaction_and_the_last_look_end(home: Home) -> None:
    told(home)
    client = home.client()
    fork = client.get(f"/s/{home.id('m9lz0')}").text
    assert plain(fork).count("Steps 1 to 13 are a copy of Split the queue into its own process") == 1
    compacted = client.get(f"/s/{home.id('t5d2k')}").text
    rule = "Compacted here: the model no longer sees what stands above"
    pages = [compacted]
    for _ in range(12):
        later = re.search(r'href="(\?[^"]+)" data-edge="later"', pages[-1])
        if later is None:
            break
        pages.append(
            client.get(f"/s/{home.id('t5d2k')}" + later[1].partition("#")[0].replace("&amp;", "&")).text
        )
    assert sum(one.count(rule) for one in pages) == 1
    session_id = home.id("rg62z")
    client.get(f"/s/{session_id}")
    with home.archive() as archive:
        archive.connection.execute(
            "UPDATE session SET seen_count = seen_count - 2 WHERE id = ?", (session_id,)
        )
    again = client.get(f"/s/{session_id}").text
    assert again.count("New since you looked at 12:35") == 1
    assert len(re.findall(r'class="s [^"]* new[ "]', again)) == 2
    assert "New since" not in client.get(f"/s/{session_id}").text


def test_a_look_from_another_site_marks_nothing_as_seen(home: Home) -> None:
    told(home)
    session_id = home.id("rg62z")
    home.client().get(f"/s/{session_id}", headers={"sec-fetch-site": "cross-site"})
    with home.archive() as archive:
        assert archive.listed(session_id).unseen > 0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """One session of 40 MB, as the benchmarks make it."""
    home = Home(tmp_path_factory.mktemp("large"), now=1_800_000_000_000)
    sys.path.insert(0, str(BENCH))
    try:
        from clinegen.tree import large_session

        large_session(home.sessions, 40, 1)
    finally:
        sys.path.remove(str(BENCH))
    with home.archive() as archive:
        archive.sync()
    return home


def test_the_first_paint_of_a_40_mb_session_is_under_100_kb_wherever_it_opens(large: Home) -> None:
    client = large.client()
    own = f"/s/{large.id('last')}"
    with large.archive() as archive:
        total = archive.listed(large.id("last")).session.totals.steps
        (step_id,) = archive.connection.execute(
            "SELECT step.id FROM step JOIN file ON file.n = step.file"
            " WHERE file.actor = 'root' AND msg > 5000 AND step.type = 'command'"
        ).fetchone()
    assert total > 10_000
    for query in (
        {},
        {"at": str(total)},
        {"at": str(total // 2)},
        {"at": step_id},
        {"show": "problems"},
        {"show": "talk"},
    ):
        answer = client.get(own, params=query)
        assert answer.status_code == 200
        assert len(answer.content) < 100_000, query
        found = rows(answer.text)
        assert len(found) >= (40 if "show" in query else 100), query
    assert f'id="{step_id}"' in client.get(own, params={"at": step_id}).text
    for place in ("changes", "changes?by=prompt", "changes?diff=unified", "cost", "facts"):
        answer = client.get(f"{own}/{place}")
        assert answer.status_code == 200
        assert len(answer.content) < 100_000, place
    changes = client.get(f"{own}/changes").text
    link = re.search(r'href="([^"]+)">Show this file', changes)
    assert link is not None
    alone = client.get(f"{own}/changes{link[1]}&part=1").text
    assert 'class="w2"' in alone
    assert "<main" not in alone


def test_pages_of_a_long_session_hold_each_step_once(samples: Home, client: TestClient) -> None:
    own = f"/s/{samples.id('t5d2k')}"
    with samples.archive() as archive:
        record = archive.record(samples.id("t5d2k"))
    seen: list[str] = []
    address = own
    while address:
        html = client.get(address).text
        assert len(html.encode()) < 100_000
        seen += [one for one in re.findall(r'<li id="([^"]+)"', html) if not one.startswith("fold-")]
        later = re.search(r'href="(\?[^"]+)" data-edge="later"', html)
        address = own + later[1].partition("#")[0].replace("&amp;", "&") if later else ""
    prompts = {step.id for step in record.steps if timeline.is_prompt(step)}
    assert len(seen) == len(set(seen))
    assert set(seen) == {step.id for step in record.steps} - prompts


@pytest.mark.parametrize("scenario", scenarios())
def test_every_recording_has_its_pages(tmp_path: Path, scenario: str) -> None:
    home = Home(tmp_path)
    client = home.client()
    with home.archive() as archive:
        for name in sessions(scenario):
            archive.ingest(str(session_path(scenario, name)))
        for listed in archive.sessions(limit=None):
            own = f"/s/{listed.session.id}"
            for address in (
                own,
                f"{own}?show=problems",
                f"{own}/changes",
                f"{own}/changes?by=prompt",
                f"{own}/cost",
                f"{own}/facts",
            ):
                answer = client.get(address)
                assert answer.status_code == 200, address
            record = archive.record(listed.session.id)
            found = set(re.findall(r'<li id="([^"]+)"', client.get(own).text))
            wanted = {step.id for step in record.steps if not timeline.is_prompt(step)}
            assert {escaped(one) for one in wanted} <= found


def escaped(text: str) -> str:
    from markupsafe import escape

    return str(escape(text))


def test_an_outline_is_the_record_without_its_bodies(samples: Home) -> None:
    with samples.archive() as archive:
        for listed in archive.sessions(limit=None):
            session_id = listed.session.id
            record, found = archive.record(session_id), outline.outline(archive.connection, session_id)
            assert outline.whole(archive.connection, found, found.record.steps) == list(record.steps)
            assert found.record.turns == record.turns
            assert found.record.segments == record.segments


def test_an_export_is_the_document_of_show_json(samples: Home, client: TestClient) -> None:
    session_id = samples.id("rg62z")
    answer = client.get(f"/s/{session_id}/export")
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{session_id}.json"
    document = json.loads(answer.text)
    assert document["session"]["id"] == session_id
    assert document["session"]["judgement"] is None
    assert len(document["steps"]) == 7


def test_verdicts_stay_when_a_session_is_read_again_and_go_when_it_is_forgotten(home: Home) -> None:
    told(home)
    session_id = home.id("w0c4r")
    with home.archive() as archive:
        turn = archive.record(session_id).turns[1].id
        archive.judge(session_id, verdict="needs_work", note="look at the lock")
        archive.judge(session_id, verdict="good", turn=turn)
        before = archive.judgements(session_id)
        archive.connection.execute("UPDATE file SET reader = 0, mtime_ns = 0")
        archive.ingest(str(home.sessions / session_id))
        assert archive.judgements(session_id) == before
        listed = archive.listed(session_id)
        assert listed.judgement == before[None]
        assert [one.session.id for one in archive.sessions(verdict="needs_work")] == [session_id]
        rows = archive.connection.execute(
            "SELECT session_id, turn_id, verdict, note FROM verdicts"
        ).fetchall()
        assert (
            sorted(rows, key=str)
            == [
                (session_id, None, "needs_work", "look at the lock"),
                (session_id, turn, "good", ""),
            ]
            or len(rows) == 2
        )
        assert "Needs work" in home.client().get("/").text
        archive.forget(session_id)
        assert archive.connection.execute("SELECT count(*) FROM verdict").fetchone() == (0,)
        assert archive.connection.execute("SELECT count(*) FROM glance WHERE session = 3").fetchone() == (0,)


def test_what_is_no_verdict_is_refused(samples: Home) -> None:
    from backstory.errors import InputError, UnknownSession

    with samples.archive() as archive:
        session_id = archive.resolve("w0c4r")
        for wrong in ({"verdict": "great"}, {"verdict": "good", "turn": "nope"}, {"note": "x" * 10_001}):
            with pytest.raises(InputError):
                archive.judge(session_id, **wrong)  # type: ignore[arg-type]
        with pytest.raises(UnknownSession):
            archive.judge("nope", verdict="good")


def test_a_page_for_a_short_id_or_last_is_that_session(samples: Home, client: TestClient) -> None:
    whole = client.get(f"/s/{samples.id('rg62z')}").text
    short = client.get("/s/rg62z").text
    size = re.compile(r"archive\.db, [^<]+")
    assert size.sub("", short) == size.sub("", whole)


def test_the_entry_of_a_session_is_that_of_its_list(samples: Home) -> None:
    with Archive(env=samples.env, now=lambda: samples.now) as archive:
        entries = {one.id: one for one in page.page(archive.connection, samples.now, page.Wanted()).entries}
        for session_id, entry in entries.items():
            assert page.entry(archive.connection, samples.now, session_id) == entry
