"""The Memory page: what `recall` finds, what was learned, facts, workspaces, and every change of them."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from conftest import HOST, Home, Open, told
from forms import forms, send, text_of, token_of
from recordings import RECORDINGS
from sessions import START, Session
from starlette.testclient import TestClient

from backstory.cli.recall import grouped
from backstory.web.jobs import Notices
from backstory.web.server import bind, serving
from backstory.web.status import Status

if TYPE_CHECKING:
    from playwright.sync_api import Page

WRITES = ("learn", "add", "edit", "forget", "undo", "workspace")


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The samples with a memory, for tests that change nothing."""
    return remembering(Home(tmp_path_factory.mktemp("learned")))


def remembering(home: Home) -> Home:
    with told(home).archive() as archive:
        archive.memory.learn()
        archive.memory.remember("Deploys go out from main only", project="api-gateway")
    return home


def ids(page: str) -> list[str]:
    """The exchanges and facts of the results, in order."""
    results = page[page.index('<ol class="groups">') : page.index("<aside")]
    return re.findall(r'<li id="([ef]\d+)">', results)


@pytest.mark.parametrize(
    "query",
    [
        "ECONNREFUSED",
        "expected log.warn to be called 1 time",
        "redis",
        "deploys main",
        "the queue",
        "npm test",
    ],
)
def test_the_search_finds_what_recall_finds_in_its_order(learned: Home, query: str) -> None:
    page = learned.client().get("/memory", params={"q": query}).text
    with learned.archive() as archive:
        found = archive.memory.recall(query)
    assert ids(page) == [group.first.id for group in grouped(found.results)]


def test_a_failure_that_was_mended_comes_first_and_says_what_made_it_pass(learned: Home) -> None:
    page = learned.client().get("/memory", params={"q": "connect ECONNREFUSED 127.0.0.1:6379"}).text
    first = text_of(f"<main>{page[page.index('<ol class=') :]}</main>").split("You asked")[0]
    assert "This failed before, and this made it pass: compose.yaml +6" in first
    assert 'class="mend first"' in page
    assert page.index("mend first") < page.index("You asked")


def test_a_project_and_a_time_narrow_the_search_as_they_do_for_recall(learned: Home) -> None:
    client = learned.client()
    with learned.archive() as archive:
        only = archive.memory.recall("redis", project="billing-worker")
        recent = archive.memory.recall("redis", since=learned.now - 86_400_000)
    page = client.get("/memory", params={"q": "redis", "project": "billing-worker"}).text
    assert ids(page) == [group.first.id for group in grouped(only.results)]
    page = client.get("/memory", params={"q": "redis", "since": "1d"}).text
    assert set(ids(page)) <= {one.id for one in recent.results}


def test_more_results_are_shown_on_request(learned: Home) -> None:
    client = learned.client()
    page = client.get("/memory", params={"q": "zzzz"}).text
    more = client.get("/memory", params={"q": "test", "limit": "20"}).text
    few = client.get("/memory", params={"q": "test"}).text
    assert "limit=20" in few
    assert len(ids(more)) > len(ids(few))
    assert "Nothing found for “ zzzz ”. Looked in 20 conversations and 1 fact." in text_of(page)


def test_conversations_stand_under_their_projects_and_lead_to_their_exchanges(learned: Home) -> None:
    client = learned.client()
    page = client.get("/memory").text
    with learned.archive() as archive:
        projects = archive.memory.projects()
        newest = archive.memory.conversations(project=projects[0].name, limit=1)[0]
        own = archive.memory.conversation(newest.session_id)
    headings = re.findall(r'scope="rowgroup"><b><a href="[^"]*">([^<]+)</a></b> ([^<·]+)', page)
    assert [(name, said.strip()) for name, said in headings] == [
        (one.name, f"{one.conversations} conversations, {one.exchanges} exchanges") for one in projects
    ]
    inside = client.get("/memory", params={"conversation": newest.session_id}).text
    assert ids(inside) == [one.id for one in own]
    said = text_of(inside)
    for words in ("You asked", "It answered", "Open", "Edit", "Forget", "prompt 1", "$0.53"):
        assert words in said
    assert f"/s/{newest.session_id}?at={quote(own[0].step_id)}#turn-1" in inside
    assert client.get(f"/s/{newest.session_id}?at={quote(own[0].step_id)}").text.count('id="turn-1"') == 1


def test_a_project_shows_all_its_conversations_page_by_page(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for at in range(120):
        session = Session(home.sessions, f"1794{at:09}_a{at:04}", start=1_794_000_000_000 + at * 60_000)
        assert session.manifest is not None
        session.manifest["metadata"]["title"] = f"prompt number {at}"
        session.prompt("a question")
        session.reply("done")
        session.write()
    with home.archive() as archive:
        archive.sync()
        archive.memory.learn()
    client = home.client()
    assert "115 more" in text_of(client.get("/memory").text)
    seen: list[str] = []
    address = "/memory?project=demo"
    for _ in range(3):
        page = client.get(address).text
        seen += re.findall(r"prompt number (\d+)", page)
        older = re.search(r'<a href="([^"]+)">Older conversations</a>', page)
        address = older[1].replace("&amp;", "&") if older else ""
    assert address == ""
    assert [int(one) for one in seen] == list(range(119, -1, -1))


def test_nothing_learned_says_so(tmp_path: Path) -> None:
    said = text_of(told(Home(tmp_path)).client().get("/memory").text)
    assert "Nothing learned yet. Learn keeps what you typed and what was answered, on this machine." in said


def test_learn_reads_what_is_new_and_reports_what_it_did(tmp_path: Path) -> None:
    home = Home(tmp_path)
    client = told(home).client()
    client.app.state.desk.jobs.learning.wait(0)  # type: ignore[attr-defined]
    said = text_of(learn(client))
    assert "20 learned, 0 known, 0 refused" in said
    session = Session(home.sessions)
    session.prompt("a new question")
    session.reply("a new answer")
    session.write()
    assert "1 learned, 20 known, 0 refused" in text_of(learn(client))
    assert ids(client.get("/memory?q=new+question").text)


def learn(client: TestClient, workspace: str = "default") -> str:
    """Press the button, wait for the end, and look again."""
    send(client, "/memory/learn", workspace=workspace)
    assert client.app.state.desk.jobs.learning.wait(20)  # type: ignore[attr-defined]
    return client.get("/memory").text


def test_every_refusal_is_explained_in_words(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for at, change in enumerate(
        ({"cwd": None, "workspace_root": None}, {"cwd": "/work/other"}, {"prompt": ""}, {}, {})
    ):
        session = Session(home.sessions, f"179{at}000000000_s{at:04}", start=START + at * 60_000)
        assert session.manifest is not None
        session.manifest |= change
        if at != 2:
            session.prompt(f"question {at}")
        session.reply(f"answer {at}")
        session.write()
    with home.archive() as archive:
        archive.sync()
        memory = archive.memory
        memory.create_workspace("other")
        memory.claim("/work/other", "other")
        memory.learn()
        memory.forget(memory.forgettable(session_id="1794000000000_s0004"))
    said = text_of(learn(home.client()))
    assert "0 learned, 1 known, 4 refused" in said
    for words in (
        "1 No manifest says in which folder it worked.",
        "1 Its folder belongs to the workspace other.",
        "1 Nothing was asked or answered.",
        "1 You forgot it, and it stays forgotten.",
    ):
        assert words in said


def test_a_conversation_of_another_tool_is_refused_by_its_name(tmp_path: Path) -> None:
    home = Home(tmp_path)
    shutil.copytree(RECORDINGS / "imported-claude-codex-opencode" / "sessions", home.sessions)
    with home.archive() as archive:
        archive.sync()
        tools = {archive.listed(one.session.id).session.imported for one in archive.sessions()}
    said = text_of(learn(home.client()))
    assert len(tools) == 3
    for one in tools:
        assert one is not None
        assert f"It came from {one.tool}, which keeps it." in said


def test_learning_is_never_done_twice_at_once(tmp_path: Path) -> None:
    client = remembering(Home(tmp_path)).client()
    job = client.app.state.desk.jobs.learning  # type: ignore[attr-defined]
    go = threading.Event()

    def work(progress: Any) -> None:
        progress(412, 1284)
        go.wait(20)

    assert job.start(work, lambda: "broke")
    assert not job.start(work, lambda: "broke")
    client.app.state.desk.jobs.learning.wait(0.05)  # type: ignore[attr-defined]
    page = send(client, "/memory/learn", workspace="default").text
    assert "Learning goes on already." in text_of(page)
    assert "412 of 1,284" in text_of(page)
    assert '<noscript><meta http-equiv="refresh"' in page
    assert "412 of 1,284" in client.get("/memory/learning").text
    go.set()
    assert job.wait(20)
    assert client.get("/memory/learning").status_code == 204
    assert "refresh" not in client.get("/memory").text


def test_a_fault_while_learning_is_said_on_the_page_and_kept_in_the_log(tmp_path: Path) -> None:
    client = remembering(Home(tmp_path)).client()
    desk = client.app.state.desk  # type: ignore[attr-defined]

    def work(progress: Any) -> None:
        raise KeyError("a fault of the test")

    desk.jobs.learning.start(work, desk.broke)
    assert desk.jobs.learning.wait(20)
    said = text_of(client.get("/memory").text)
    assert "Something broke in Backstory. Your sessions are untouched. The details are in" in said
    assert "a fault of the test" in (tmp_path / "backstory" / "app.log").read_text()


def test_facts_are_added_edited_and_forgotten(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    page = send(
        client, "/memory/add", text="Ports below 1024 are taken", project="docs-site", workspace="default"
    ).text
    assert "Kept as f2." in text_of(page)
    assert "Ports below 1024 are taken" in text_of(client.get("/memory/f2").text)
    page = send(client, "/memory/edit", item="f2", text="Ports below 2048 are taken").text
    assert "Changed: f2." in text_of(page)
    send(client, "/memory/forget", item="f1", workspace="default")
    with home.archive() as archive:
        assert [one.answered for one in archive.memory.items(facts_only=True)] == [
            "Ports below 2048 are taken"
        ]
    assert "There is no text to remember." in text_of(send(client, "/memory/add", text="  ").text)


def test_an_exchange_is_edited_and_learning_again_keeps_it(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    with home.archive() as archive:
        one = archive.memory.recall("ECONNREFUSED").results[0]
    page = client.get(f"/memory/{one.id}").text
    assert (one.asked or "").split("\n")[0] in text_of(page)
    said = text_of(
        send(client, "/memory/edit", item=one.id, asked=one.asked or "", answered="Only\r\nthis").text
    )
    assert f"Changed: {one.id}. Learning again keeps your text." in said
    learn(client)
    with home.archive() as archive:
        now = archive.memory.item(one.id)
    assert (now.asked, now.answered) == (one.asked, "Only\nthis")
    same = send(client, "/memory/edit", item=one.id, asked=one.asked or "", answered="Only\r\nthis").text
    assert "Nothing was changed." in text_of(same)


def test_forgetting_says_what_goes_and_can_be_undone(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    page = client.get("/memory?q=ECONNREFUSED").text
    first = ids(page)[0]
    assert "Removes 1 exchange" in text_of(page)
    assert "Keeps the sessions in the archive, with all their steps" in text_of(page)
    with home.archive() as archive:
        before = archive.memory.item(first)
    form = next(form for form in forms(page, "/memory/forget") if form.get("item") == first)
    gone = send(client, "/memory/forget", **form)
    assert "Forgotten: 1 item." in text_of(gone.text)
    assert "q=ECONNREFUSED" in str(gone.url)
    assert first not in ids(gone.text)
    back = send(client, "/memory/undo", **forms(gone.text, "/memory/undo")[0])
    assert "Undone: it is in the memory as it was." in text_of(back.text)
    with home.archive() as archive:
        assert archive.memory.item(first) == before
    again = send(client, "/memory/undo", **forms(gone.text, "/memory/undo")[0])
    assert "It is too late to undo that: it is forgotten for good." in text_of(again.text)


def test_a_whole_conversation_is_forgotten_and_undone(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    session_id = home.id("k3v9q")
    page = client.get("/memory", params={"conversation": session_id}).text
    assert "4 exchanges, 1 session as a whole: what is typed there later is not learned" in text_of(page)
    form = next(form for form in forms(page, "/memory/forget") if "session" in form)
    gone = send(client, "/memory/forget", **form).text
    assert "The memory holds nothing of this session." in text_of(gone)
    send(client, "/memory/undo", **forms(gone, "/memory/undo")[0])
    with home.archive() as archive:
        assert len(archive.memory.conversation(session_id)) == 4
    assert "0 learned, 20 known, 0 refused" in text_of(learn(client))


def test_what_was_forgotten_is_held_for_its_time_and_no_longer(learned: Home) -> None:
    notices = Notices(seconds=0.01)
    key = notices.add("Forgotten: 1 item.", taken=taken_of_nothing())
    done = threading.Event()
    for _ in range(500):
        notice = notices.get(key)
        assert notice is not None
        if notice.taken is None:
            break
        done.wait(0.01)
    assert notices.take(key) is None


def taken_of_nothing() -> Any:
    from backstory.memory.undo import Taken

    return Taken((), (), (), (), (), ())


def test_workspaces_are_made_and_folders_claimed_and_released(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    assert "Created: work." in text_of(send(client, "/memory/workspace", what="create", name="work").text)
    page = send(client, "/memory/workspace", what="claim", name="~/work", owner="work").text
    assert "~/work belongs to work." in text_of(page)
    with home.archive() as archive:
        assert archive.memory.owner(str(tmp_path / "work" / "deep")) == "work"
    (form,) = [form for form in forms(page, "/memory/workspace") if form.get("what") == "release"]
    assert str(tmp_path) not in "".join(form.values())
    assert "~/work is no longer claimed by work." in text_of(send(client, "/memory/workspace", **form).text)
    for name, owner, words in (
        ("relative", "work", '"relative" is not an absolute folder.'),
        ("/a", "nowhere", 'There is no workspace "nowhere"'),
    ):
        said = text_of(send(client, "/memory/workspace", what="claim", name=name, owner=owner).text)
        assert words in said
    assert "cannot be a workspace" in text_of(
        send(client, "/memory/workspace", what="create", name="../x").text
    )


def test_a_workspace_is_chosen_in_the_address(tmp_path: Path) -> None:
    home = remembering(Home(tmp_path))
    with home.archive() as archive:
        archive.memory.create_workspace("work")
    client = home.client()
    assert "0 conversations, 0 facts in the workspace work" in text_of(
        client.get("/memory?workspace=work").text
    )
    answer = client.get("/memory?workspace=nowhere")
    assert answer.status_code == 404
    assert 'There is no workspace "nowhere"; there is default, work.' in text_of(answer.text)


@pytest.mark.parametrize("what", WRITES)
def test_no_change_comes_from_elsewhere(tmp_path: Path, what: str) -> None:
    home = remembering(Home(tmp_path))
    client = home.client()
    form = {"item": "f1", "text": "x", "what": "create", "name": "x", "workspace": "default"}
    with home.archive() as archive:
        before = [archive.memory.items(), archive.memory.workspaces()]
    good = token_of(client)
    for headers, token in (
        ({}, good),
        ({"origin": "http://evil.example"}, good),
        ({"origin": "null"}, good),
        ({"origin": HOST}, ""),
        ({"origin": HOST}, good + "x"),
    ):
        answer = client.post(f"/memory/{what}", data={**form, "token": token}, headers=headers)
        assert answer.status_code == 403
    assert client.get(f"/memory/{what}").status_code in (400, 404, 405)
    with home.archive() as archive:
        assert [archive.memory.items(), archive.memory.workspaces()] == before


@pytest.mark.parametrize(
    "back", ["//evil.example/", "https://evil.example", "said=x&q=1", "workspace=%2F%2Fevil"]
)
def test_a_change_leads_back_to_the_page_and_nowhere_else(tmp_path: Path, back: str) -> None:
    client = remembering(Home(tmp_path)).client()
    answer = send(client, "/memory/add", text="x", back=back)
    assert answer.history[0].headers["location"].startswith("/memory?")
    assert answer.history[0].headers["location"].count("said=") == 1


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31m \u202egnp \x9b {{ 7331 * 7 }}"
SECRET = "ghp_" + "a1B2c3D4e5" * 4


def test_hostile_text_and_secrets_are_harmless_in_every_field(tmp_path: Path) -> None:
    home = Home(tmp_path)
    session = Session(home.sessions)
    assert session.manifest is not None
    session.manifest |= {"cwd": f"/tmp/{SECRET}<b>", "metadata": {"title": HOSTILE + SECRET}}
    session.prompt(HOSTILE + SECRET)
    session.reply(HOSTILE + SECRET)
    session.write()
    client = home.client()
    learn(client)
    send(client, "/memory/add", text=HOSTILE + SECRET, project=HOSTILE)
    send(client, "/memory/workspace", what="claim", name=f"/work/{SECRET}/<i>", owner="default")
    with home.archive() as archive:
        session_id = archive.sessions()[0].session.id
    places = ("/memory", f"/memory?conversation={session_id}", "/memory?q=alert+gnp", "/memory?project=<b>")
    for address in (*places, "/memory/e1", "/memory/f1"):
        text = client.get(address).text
        page = re.sub(r'value="[^"]*"|<textarea.*?</textarea>', "", text, flags=re.DOTALL)
        for wrong in ("<script>alert", "<img", "token]<b>", "<i>", "\x1b", "\u202e", "\x9b", "53741"):
            assert wrong not in page, (address, wrong)
        assert SECRET not in text, address


def test_the_pages_keep_the_policy(learned: Home) -> None:
    client = learned.client()
    for address in ("/memory", "/memory?q=redis", "/memory/e1", "/memory/f1"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert not re.search(r"<[a-z][^>]*\s(style|on[a-z]+)=", answer.text), address
        assert "<style" not in answer.text
        assert len(answer.content) < 100_000
    assert client.get("/memory/e999").status_code == 400


# In a browser


@pytest.fixture
def served(tmp_path: Path) -> Any:
    """A home of its own, served."""
    home = told(Home(tmp_path))
    with serving(bind(0), home.database, env=home.env, status=Status("watching")) as where:
        yield home, where


def problems(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"][:2]]


def test_a_person_learns_searches_edits_forgets_undoes_and_claims(
    served: tuple[Home, str], visit: Open
) -> None:
    home, address = served
    page = visit(f"{address}/memory")
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("heading", name="20 learned, 0 known, 0 refused").wait_for()

    page.get_by_label("Search the memory").fill("connect ECONNREFUSED 127.0.0.1:6379")
    page.keyboard.press("Enter")
    first = page.locator(".groups > li").first
    first.get_by_text("This failed before, and this made it pass").wait_for()
    first.get_by_role("link", name="Open").click()
    assert "#turn-" in page.url
    page.locator(".turn:target h2").wait_for()
    page.go_back()

    item = first.get_attribute("id")
    first.get_by_role("link", name="Edit").click()
    page.get_by_label("It answered").fill("Compose waits for Redis now.")
    page.get_by_role("button", name="Save").click()
    page.get_by_text(f"Changed: {item}.").wait_for()
    first.get_by_text("Compose waits for Redis now.").wait_for()

    first.get_by_text("Forget", exact=False).first.click()
    first.get_by_text("1 exchange", exact=True).wait_for()
    first.get_by_role("button", name="Forget it").click()
    page.get_by_text("Forgotten: 1 item.").wait_for()
    assert page.locator(f"#{item}").count() == 0
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone: it is in the memory as it was.").wait_for()
    page.locator(f"#{item}").get_by_text("Compose waits for Redis now.").wait_for()

    page.get_by_label("New fact").fill("The staging Redis has no TLS")
    page.get_by_role("button", name="Add").click()
    page.locator("#f1").get_by_text("The staging Redis has no TLS").wait_for()
    page.get_by_label("Folder to claim").fill("~/work")
    page.get_by_role("button", name="Claim").click()
    page.get_by_text("~/work belongs to default.").wait_for()
    with home.archive() as archive:
        assert archive.memory.owner(str(home.path / "work")) == "default"


def test_everything_works_without_scripts(served: tuple[Home, str], visit: Open) -> None:
    _, address = served
    page = visit(f"{address}/memory", scripts=False)
    page.get_by_role("button", name="Learn").click()
    page.get_by_role("heading", name="20 learned, 0 known, 0 refused").wait_for(timeout=20_000)
    page.get_by_label("Search the memory").fill("redis")
    page.get_by_role("button", name="Recall").click()
    first = page.locator(".groups > li").first
    first.locator("summary").click()
    first.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone: it is in the memory as it was.").wait_for()


def test_the_undo_button_goes_with_its_time(served: tuple[Home, str], visit: Open) -> None:
    home, address = served
    with home.archive() as archive:
        archive.memory.remember("x")
    page = visit(f"{address}/memory")
    page.locator("#f1 summary").click()
    page.locator("#f1").get_by_role("button", name="Forget it").click()
    button = page.get_by_role("button", name="Undo")
    button.wait_for()
    button.wait_for(state="hidden", timeout=20_000)
    page.reload()
    assert button.count() == 0
    assert page.get_by_text("Forgotten: 1 item.").count() == 1


def test_a_long_run_shows_how_far_it_is_and_then_its_end(served: tuple[Home, str], visit: Open) -> None:
    home, address = served
    page = visit(f"{address}/memory")
    with home.archive() as archive:
        archive.connection.execute("BEGIN IMMEDIATE")  # learning waits for the end of another writer
        page.get_by_role("button", name="Learn").click()
        bar = page.get_by_role("progressbar")
        bar.wait_for()
        archive.connection.execute("ROLLBACK")
    page.get_by_role("heading", name="20 learned, 0 known, 0 refused").wait_for(timeout=20_000)
    assert bar.count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 400])
def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(
    learned: Home, visit: Open, axe: str, width: int, scheme: str
) -> None:
    with serving(bind(0), learned.database, env=learned.env, status=Status("watching")) as address:
        conversation = f"/memory?conversation={learned.id('k3v9q')}"
        page = visit(address, width=width, scheme=scheme)
        for place in ("/memory", "/memory?q=ECONNREFUSED", conversation, "/memory/e1", "/memory?q=zzzz"):
            page.goto(address + place)
            for sheet in page.locator("main summary").all()[:2]:
                sheet.click()
                page.keyboard.press("Escape")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
            if width != 1024:
                assert problems(page, axe) == [], place


@pytest.mark.parametrize("width", [1440, 1024, 400])
def test_names_without_a_blank_stay_inside_their_panels(tmp_path: Path, visit: Open, width: int) -> None:
    home = told(Home(tmp_path))
    name = "w" * 64
    with home.archive() as archive:
        archive.memory.create_workspace(name)
        archive.memory.claim(str(tmp_path / "deep" / ("folder-name-" * 15)), name)
        archive.memory.remember("x" * 20_000, name, project="p" * 200)
    with serving(bind(0), home.database, env=home.env, status=Status("watching")) as address:
        page = visit(f"{address}/memory?workspace={name}", width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.get_by_role("button", name="Release").bounding_box()["height"] < 40  # type: ignore[index]
        assert page.locator(".keep .prose").bounding_box()["height"] < 600  # type: ignore[index]
        page.get_by_role("link", name="Show all of it").click()
        assert page.get_by_role("textbox", name="Fact").input_value() == "x" * 20_000
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.goto("about:blank")


def test_the_field_of_the_memory_is_not_that_of_the_top_bar(learned: Home) -> None:
    html = learned.client().get("/memory?q=ECONNREFUSED").text
    top, _, rest = html.partition("</header>")
    assert "ECONNREFUSED" not in top.partition("<body")[2]
    assert 'value="ECONNREFUSED"' in rest


def test_keys_move_along_the_conversations(learned: Home, visit: Open) -> None:
    with serving(bind(0), learned.database, env=learned.env) as address:
        page = visit(address)
        page.keyboard.press("g")
        page.keyboard.press("m")
        page.wait_for_url("**/memory")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/memory?conversation=*")
        page.get_by_text("You asked").first.wait_for()


def test_a_result_stands_in_one_line_whatever_lines_its_text_has(learned: Home) -> None:
    page = learned.client().get("/memory", params={"q": "limiter allow"}).text
    assert "a small `log-once.ts`" in page
    assert "␊" not in page
