"""The verbs of the memory: learn, workspace, recall and memory, as a person and a script meet them."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import click
import pytest
from running import NOW, Run, runner, samples
from sessions import ID, Session, archive

from backstory import Archive
from backstory.cli.line import View, plain
from backstory.cli.main import VERBS
from backstory.cli.options import App, Count, Verb
from backstory.cli.recall import draw_recalled, grouped, hint, telling
from backstory.cli.term import Term
from backstory.memory.recall import Passage, Recall

QUERY = "why did redis take the gateway down"


@pytest.fixture(scope="module")
def cline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples(tmp_path_factory.mktemp("cline"))


@pytest.fixture
def backstory(
    cline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    return runner(cline, tmp_path / "home", monkeypatch, capfd)


@pytest.fixture
def learned(backstory: Run) -> Run:
    """The program with the samples learned."""
    assert backstory("learn").code == 0
    return backstory


class Asked(io.StringIO):
    """A terminal on which a person types one answer."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sit down at a terminal and answer the next questions."""

    def sit(text: str) -> None:
        monkeypatch.setattr("sys.stdin", Asked(text))
        monkeypatch.setattr("backstory.cli.term._is_terminal", lambda stream: True)

    return sit


# --- learn -------------------------------------------------------------------------------------------------


def test_learn_counts_what_it_learned(backstory: Run) -> None:
    done = backstory("learn")
    assert (done.code, done.err) == (0, "")
    assert done.out == "20 conversations learned, 0 known, 0 refused   workspace default\n"
    assert backstory("learn").out == "0 conversations learned, 20 known, 0 refused   workspace default\n"


def test_learn_groups_the_reasons_of_refusals(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/work/api-gateway", "--workspace", "work")
    backstory("sessions")
    backstory("forget", "2js90", "--yes")
    done = backstory("learn")
    counts, refused = done.out.splitlines()
    assert re.fullmatch(r"\d+ conversations learned, 0 known, \d+ refused   workspace default", counts)
    assert re.fullmatch(r"refused  \d+ claimed by work, 1 forgotten", refused)


def test_learn_json_names_every_session_with_a_reason_of_the_list(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/work/docs-site", "--workspace", "work")
    found = backstory("learn", "--json").json
    assert {"workspace", "learned", "known", "refused"} <= set(found)
    assert found["workspace"] == "default"
    for one in found["learned"]:
        assert one["source"] == f"conversation/{one['session_id']}"
        assert one["exchanges"] > 0
        assert "project" in one
    assert {one["reason"] for one in found["refused"]} == {"claimed_by:work"}
    assert {one["project"] for one in found["learned"]}.isdisjoint({"docs-site"})
    again = backstory("learn", "--json", "--workspace", "work").json
    assert {one["why"] for one in again["learned"] if one["project"] == "docs-site"} == {"claimed by work"}
    assert again["refused"] == []


def test_learn_explains_every_session(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/work/docs-site", "--workspace", "work")
    done = backstory("learn", "--explain")
    rows, counts = done.out.split("\n\n")
    head, *lines = rows.splitlines()
    assert head.split() == ["ID", "PROJECT", "TITLE", "EXCHANGES", "WHY"]
    assert len(lines) == 20
    assert {line.split()[0] for line in lines} == {"learned", "refused"}
    assert all("its folder is claimed by work" in line for line in lines if line.startswith("refused"))
    assert counts.startswith("1")


def test_a_dry_run_writes_nothing_and_says_so(backstory: Run) -> None:
    done = backstory("learn", "--dry-run")
    assert done.out.splitlines() == [
        "20 conversations would be learned, 0 known, 0 refused   workspace default",
        "Nothing was written.",
    ]
    assert backstory("learn", "--dry-run", "--json").json["dry_run"] is True
    assert backstory("recall", "redis").out.startswith("Nothing is learned yet")


def test_learn_reads_what_is_new_on_disk_unless_told_not_to(backstory: Run) -> None:
    assert backstory("learn", "--no-sync").out.startswith("0 conversations learned, 0 known")
    assert backstory("learn").out.startswith("20 conversations learned")


def test_learn_says_how_many_of_the_learned_nobody_claims(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/work/docs-site", "--workspace", "work")
    lines = backstory("learn", "--workspace", "work").out.splitlines()
    assert lines == [
        "20 conversations learned, 0 known, 0 refused   workspace work",
        "among    18 claimed by nobody",
    ]


def test_learn_without_sessions_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    backstory = runner(tmp_path / "cline", tmp_path / "home", monkeypatch, capfd)
    assert str(tmp_path / "cline") in backstory("learn").out
    assert "/nonexistent" in backstory("learn", "--sessions-dir", "/nonexistent").out
    assert backstory("learn", "--json").json["learned"] == []


# --- workspace ---------------------------------------------------------------------------------------------


def test_workspaces_are_listed_with_claims_and_what_they_hold(learned: Run) -> None:
    learned("workspace", "create", "work")
    learned("workspace", "claim", "/home/dev/work", "--workspace", "work")
    learned("workspace", "claim", "C:\\Work", "--workspace", "work")
    rows = [line.split() for line in learned("workspace").out.splitlines()]
    assert rows[0] == ["WORKSPACE", "CONVERSATIONS", "EXCHANGES", "FACTS", "CLAIMS"]
    assert rows[1][0] == "default"
    assert rows[2:] == [["work", "0", "0", "0", "/home/dev/work"], ["C:\\Work"]]
    (default, work) = learned("workspace", "list", "--json").json["workspaces"]
    assert (default["conversations"], work["claims"]) == (20, ["/home/dev/work", "C:\\Work"])


def test_a_relative_folder_is_claimed_as_one_of_the_folder_at_hand(
    backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    backstory("workspace", "create", "work")
    assert backstory("workspace", "claim", "sub/../api", "--workspace", "work", "--json").json == {
        "claimed": str(tmp_path / "api"),
        "workspace": "work",
        "before": None,
    }
    assert (
        f"{tmp_path / 'api'} belongs to work."
        in backstory("workspace", "claim", "api", "--workspace", "work").out
    )
    done = backstory("workspace", "release", "./api", "--json")
    assert done.json == {"released": str(tmp_path / "api"), "workspace": "work"}


@pytest.mark.parametrize("folder", ["C:\\Users\\dev", "\\\\wsl$\\Ubuntu\\home\\dev", "/home/dev"])
def test_an_absolute_folder_of_any_system_is_claimed_as_it_is(backstory: Run, folder: str) -> None:
    assert backstory("workspace", "claim", folder, "--json").json["claimed"] == folder


def test_a_claim_that_changes_hands_says_so(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/x")
    done = backstory("workspace", "claim", "/home/dev/x", "--workspace", "work")
    assert "It was default's" in done.out


def test_show_says_who_owns_the_folder_at_hand_and_why(
    backstory: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "api" / "src"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert f"here    {folder} is claimed by nobody" in backstory("workspace", "show").out
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", str(tmp_path / "api"), "--workspace", "work")
    done = backstory("workspace", "show")
    assert done.out.splitlines() == [
        "workspace work",
        "holds   0 conversations, 0 exchanges, 0 facts",
        f"claims  {tmp_path / 'api'}",
        f"here    {folder} belongs to work, which claims {tmp_path / 'api'}",
    ]
    assert backstory("workspace", "show", "--json").json["here"] == {
        "folder": str(folder),
        "owner": {"workspace": "work", "claim": str(tmp_path / "api")},
    }
    assert backstory("workspace", "show", "default", "--json").json["name"] == "default"


# --- recall ------------------------------------------------------------------------------------------------


def test_recall_before_anything_is_learned_names_the_command(backstory: Run) -> None:
    done = backstory("recall", "redis")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Nothing is learned yet in the workspace default. backstory learn does it.\n"
    backstory("workspace", "create", "work")
    done = backstory("recall", "redis", "--workspace", "work")
    assert done.out.endswith("backstory learn --workspace work does it.\n")
    assert backstory("recall", "redis", "--json").json["results"] == []


def test_recall_shows_question_answer_failure_and_what_fixed_it(learned: Run) -> None:
    done = learned("recall", QUERY)
    assert (done.code, done.err) == (0, "")
    blocks = done.out.rstrip("\n").split("\n\n")
    assert re.fullmatch(r"5 passages in \d of 20 conversations, best first   workspace default", blocks[0])
    (block,) = (block for block in blocks if "k3v9q, prompt 2" in block)
    head, *lines = block.splitlines()
    assert re.fullmatch(
        r"\d  api-gateway, 30 Nov \d\d:\d\d +k3v9q, prompt 2   \$0\.17|"
        r"\d  api-gateway, today \d\d:\d\d +k3v9q, prompt 2   \$0\.17",
        head,
    )
    assert "   asked     Go ahead. Keep the public API of the limiter." in lines
    assert any(line.startswith("   answered  Requests pass when Redis is away") for line in lines)
    assert any(
        line.startswith("   failed    npm test -- limiter: AssertionError: expected log") for line in lines
    )
    assert "   fixed by  src/limiter/log-once.ts +1" in lines
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_recall_groups_by_session_and_names_the_other_prompts(learned: Run) -> None:
    found = learned("recall", "redis", "--limit", "20", "--json").json["results"]
    shown = learned("recall", "redis", "--limit", "20").out
    heads = re.findall(r"^\d+  .* (\w{5}), prompt (\d+)", shown, re.MULTILINE)
    first: dict[str, list[int]] = {}
    for one in found:
        if one["short_id"]:
            first.setdefault(one["short_id"], []).append(one["position"])
    assert heads == [(short, str(own[0])) for short, own in first.items()]
    assert all(len(own) <= 4 for own in first.values())
    also = [", ".join(map(str, sorted(own[1:]))) for own in first.values() if own[1:]]
    assert also
    assert re.findall(r"^   also prompts? (.*)$", shown, re.MULTILINE) == also


def test_recall_finds_an_error_that_was_met_before_first(learned: Run) -> None:
    blocks = learned("recall", "AssertionError: expected log.warn to be called 1 time, but got 2 times").out
    first = blocks.split("\n\n")[1].splitlines()
    assert "k3v9q, prompt 2" in first[0]
    assert first[1].startswith("   failed    npm test -- limiter: AssertionError: expected log.warn")
    assert first[2] == "   fixed by  src/limiter/log-once.ts +1"


def test_recall_json_is_the_documented_shape_with_whole_texts(learned: Run, tmp_path: Path) -> None:
    found = learned("recall", QUERY, "--json").json
    assert found["query"] == QUERY
    for one in found["results"]:
        assert {
            "source",
            "session_id",
            "position",
            "project",
            "at",
            "asked",
            "answered",
            "score",
            "cost",
        } <= set(one)
        assert one["source"] == f"conversation/{one['session_id']}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", one["at"])
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True)
    own = next(one for one in found["results"] if one["short_id"] == "k3v9q" and one["position"] == 2)
    assert own["cost"]["reported_usd"] == pytest.approx(0.17, abs=0.005)
    with Archive(tmp_path / "home" / "archive.db") as opened:
        (answered,) = opened.connection.execute(
            "SELECT answered FROM exchanges WHERE session_id = ? AND position = 2", (own["session_id"],)
        ).fetchone()
    assert own["answered"] == answered


def test_recall_is_limited_to_a_project_and_to_a_time(learned: Run) -> None:
    found = learned("recall", "redis", "--project", "billing-worker", "--json").json["results"]
    assert {one["project"] for one in found} == {"billing-worker"}
    assert "project billing-worker alone" in learned("recall", "redis", "--project", "billing-worker").out
    late = learned("recall", "redis", "--since", "2026-11-30", "--json").json["results"]
    assert late
    assert all(one["at"] >= "2026-11-29" for one in late)
    assert len(learned("recall", "redis", "--limit", "1", "--json").json["results"]) == 1


def test_recall_says_which_project_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    session = Session(tmp_path / "cline" / "data" / "sessions")
    assert session.manifest is not None
    session.manifest["cwd"] = session.manifest["workspace_root"] = str(folder)
    session.prompt("How is the basket kept?")
    session.reply("In a cookie.")
    session.write()
    backstory = runner(tmp_path / "cline", tmp_path / "home", monkeypatch, capfd)
    backstory("learn")
    assert "workspace default\n" in backstory("recall", "basket").out
    monkeypatch.chdir(folder / "src")
    assert "workspace default, project shop first\n" in backstory("recall", "basket").out


def test_recall_reads_no_session_of_clines(
    learned: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(tmp_path / "more" / "data" / "sessions")
    session.prompt("redis, once more")
    session.write()
    monkeypatch.setenv("CLINE_DIR", str(tmp_path / "more"))
    found = learned("recall", "redis", "--limit", "50", "--json").json["results"]
    assert ID not in {one["session_id"] for one in found}
    assert learned("sessions", "--no-sync", "--json", "--limit", "99").out.count(f'"id": "{ID}"') == 0


def test_nothing_found_says_in_how_many_it_looked(learned: Run) -> None:
    done = learned("recall", "xyzzyplugh")
    assert done.code == 0
    assert done.out == 'Nothing found for "xyzzyplugh" in 20 conversations.\n'
    learned("memory", "add", "A fact.")
    assert learned("recall", "xyzzyplugh").out.endswith("in 20 conversations and 1 fact.\n")


def test_nothing_found_names_the_filters_and_an_unknown_project(learned: Run) -> None:
    done = learned("recall", "xyzzyplugh", "--project", "docs-site", "--since", "7d")
    assert done.out == (
        'Nothing found for "xyzzyplugh" of project docs-site since 7d in the workspace default.\n'
    )
    done = learned("recall", "redis", "--project", "docs-sight")
    start = 'Nothing found for "redis" of project docs-sight in the workspace default, which knows no such project;'
    assert done.out.startswith(f"{start} it knows ")
    assert "docs-site" in done.out
    assert len(learned("recall", "xyzzyplugh " * 500).out) < 200


def test_nothing_found_names_the_workspace_of_the_folder_at_hand(
    learned: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    learned("workspace", "create", "work")
    learned("workspace", "claim", str(tmp_path), "--workspace", "work")
    told = "This folder belongs to the workspace work: --workspace work looks there.\n"
    assert learned("recall", "xyzzyplugh").out.endswith(told)
    assert "This folder" not in learned("recall", "xyzzyplugh", "--workspace", "work").out


def test_the_hint_loses_its_second_sentence_on_a_narrow_terminal() -> None:
    groups = grouped((PASSAGE,))
    assert hint(View(now=NOW, width=120), groups).endswith(" no model was called.")
    assert hint(View(now=NOW, width=60), groups) == "backstory show abcde --turn 1 opens the first."


TRACEBACK = """Traceback (most recent call last):
  File "/home/dev/app/errors.py", line 3, in connection_error
    return self.execute(error, database)
  File "/home/dev/app/database.py", line 9, in execute
    self.cursor.execute(locked, error)
    ~~~~~~~~~~~^^^^^^^^
sqlite3.OperationalError: database is locked
"""


def test_of_an_error_the_line_that_says_what_went_wrong_is_shown() -> None:
    pasted = ("traceback", "file", "errors", "py", "connection_error", "self", "execute", "error", "database")
    for words in ((), pasted, ("locked",)):
        assert telling(TRACEBACK, words) == "sqlite3.OperationalError: database is locked"
    rust = "error[E0382]: borrow of moved value: `config`\n  --> src/error.rs:4:10\nfor more about this error"
    assert telling(rust, ("borrow",)).startswith("error[E0382]")
    assert telling("one\ntwo", ()) == "two"


def test_facts_are_recalled_as_facts(learned: Run) -> None:
    learned("memory", "add", "Quux is deployed from main only.", "--project", "api-gateway")
    done = learned("recall", "quux")
    head, line = done.out.split("\n\n")[1].splitlines()
    assert re.fullmatch(r"1  api-gateway, today \d\d:\d\d +f1", head)
    assert line == "   fact      Quux is deployed from main only."
    assert "1 of 1 fact" in done.out
    (one,) = learned("recall", "quux", "--json").json["results"]
    assert (one["kind"], one["source"], one["session_id"], one["cost"]) == ("fact", "fact/1", None, None)


PASSAGE = Passage("exchange", "e1", f"conversation/{ID}", NOW, "demo", "How?", "So.", ID, "abcde", "Title", 1)


def drawn(found: Recall) -> list[str]:
    view = View(now=NOW)
    return [
        plain(line) for line in draw_recalled(view, found, grouped(found.results), {}, "workspace default")
    ]


def test_a_repaired_word_is_told() -> None:
    found = Recall("redsi", "default", 3, 0, (PASSAGE,), ("redis",), {"redsi": "redis"})
    assert drawn(found)[1] == '"redsi" stands nowhere; looked for "redis" instead.'


def test_what_was_said_cannot_act_on_the_terminal() -> None:
    evil = Passage(
        "exchange",
        "e1",
        "conversation/x",
        NOW,
        "de\x1b[31mmo",
        "a\x1b]0;owned\x07b",
        "\u202eevil",
        "x",
        "x",
        "t",
        1,
    )
    lines = "\n".join(drawn(Recall("owned", "default", 1, 0, (evil,), ("owned", "evil"))))
    assert "\x1b" not in lines
    assert "\u202e" not in lines
    assert "␛]0;owned" in lines


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_recall_fits_the_terminal(width: int, tmp_path: Path, cline: Path) -> None:
    with Archive(
        tmp_path / "a.db", env={"CLINE_DIR": str(cline), "HOME": str(tmp_path)}, now=lambda: NOW
    ) as opened:
        opened.sync()
        opened.memory.learn()
        for query in (QUERY, "表头", "npm test", "sortable"):
            found = opened.memory.recall(query, limit=20)
            view = View(now=NOW, width=width)
            term = Term(out=io.StringIO(), err=io.StringIO(), env={})
            lines = list(draw_recalled(view, found, grouped(found.results), {}, "workspace default"))
            assert lines
            from backstory.cli.text import cells

            assert all(cells(plain(line)) <= width for line in lines)
            App(term, None).term.write(lines)


# --- memory ------------------------------------------------------------------------------------------------


def test_memory_lists_newest_first(learned: Run) -> None:
    learned("memory", "add", "Newest of all.")
    items = learned("memory", "--json", "--limit", "100").json["items"]
    assert items[0]["id"] == "f1"
    times = [one["at"] for one in items]
    assert times == sorted(times, reverse=True)
    assert len(learned("memory", "--limit", "3", "--json").json["items"]) == 3
    rows = learned("memory", "list", "--limit", "3").out.splitlines()
    assert rows[0].split() == ["ID", "WHEN", "PROJECT", "FROM", "TEXT"]
    assert rows[1].split()[0] == "f1"
    assert len(rows) == 4


def test_memory_lists_one_project_or_facts_alone(learned: Run) -> None:
    learned("memory", "add", "One.", "--project", "docs-site")
    items = learned("memory", "--project", "docs-site", "--json").json["items"]
    assert {one["project"] for one in items} == {"docs-site"}
    assert {one["kind"] for one in items} == {"fact", "exchange"}
    facts = learned("memory", "--facts", "--json").json["items"]
    assert [one["answered"] for one in facts] == ["One."]
    done = learned("memory", "--facts", "--project", "nowhere")
    assert (done.code, done.out) == (
        0,
        "No facts of project nowhere in the memory of the workspace default.\n",
    )


def test_facts_are_added_to_a_workspace_of_their_own(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("memory", "add", "Only at work.", "--workspace", "work")
    assert backstory("memory", "--json").json["items"] == []
    assert len(backstory("memory", "--workspace", "work", "--json").json["items"]) == 1


def test_a_fact_is_edited(backstory: Run) -> None:
    backstory("memory", "add", "Deploys", "go out", "from main")
    done = backstory("memory", "edit", "f1", "--text", "Deploys go out from release branches", "--json")
    assert done.json["answered"] == "Deploys go out from release branches"
    assert backstory("recall", "branches", "--json").json["results"]
    assert not backstory("recall", "main", "--json").json["results"]


def test_an_exchange_is_edited(learned: Run) -> None:
    (found,) = learned("recall", "postgres", "--limit", "1", "--json").json["results"]
    done = learned("memory", "edit", found["id"], "--answered", "In a brontosaurus.", "--json")
    assert (done.json["asked"], done.json["answered"]) == (found["asked"], "In a brontosaurus.")
    assert learned("recall", "brontosaurus", "--json").json["results"][0]["id"] == found["id"]


def test_what_an_item_does_not_have_cannot_be_edited(learned: Run) -> None:
    learned("memory", "add", "A fact.")
    assert "f1 is a fact" in learned("memory", "edit", "f1", "--asked", "x").err
    assert "e1 is an exchange" in learned("memory", "edit", "e1", "--text", "x").err


def test_without_a_text_the_editor_is_asked(
    learned: Run, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned("memory", "add", "A fact.")
    done = learned("memory", "edit", "f1")
    assert done.code == 1
    assert (
        done.err == "backstory: nobody is here to edit it. Nothing was changed; --text says the new text.\n"
    )
    answers("")
    monkeypatch.setenv("VISUAL", "sed -i s/fact/truth/")
    assert learned("memory", "edit", "f1", "--json").json["answered"] == "A truth."
    monkeypatch.setenv("VISUAL", "sed -i s/queue/heap/")
    (one,) = learned("recall", "postgres", "--limit", "1", "--json").json["results"]
    edited = learned("memory", "edit", one["id"], "--json").json
    assert edited["asked"] == "Should the worker keep its heap in redis or in postgres?"
    monkeypatch.setenv("VISUAL", "sed -i /answer;/d")
    done = learned("memory", "edit", one["id"])
    assert done.err == "backstory: the line between question and answer is gone. Nothing was changed.\n"


def test_forget_shows_what_goes_and_removes_nothing_where_nobody_can_answer(learned: Run) -> None:
    done = learned("memory", "forget", "--session", "k3v9q")
    assert done.code == 1
    assert done.err == "backstory: nobody is here to ask. Nothing was removed; --yes does it.\n"
    assert done.out.startswith("removes  4 exchanges, 1 session as a whole")
    assert "Go ahead. Keep the public API of the limiter." in done.out
    assert len(learned("memory", "--limit", "99", "--json").json["items"]) == 40


@pytest.mark.parametrize(("answer", "left"), [("n\n", 40), ("y\n", 36)])
def test_forget_asks(learned: Run, answers: Any, answer: str, left: int) -> None:
    answers(answer)
    done = learned("memory", "forget", "--session", "k3v9q")
    assert "Forget it? [y/N]:" in done.err
    assert done.code == (0 if left < 40 else 1)
    assert len(learned("memory", "--limit", "99", "--json").json["items"]) == left


def test_forget_by_ids_takes_copies_along_and_says_so(learned: Run) -> None:
    items = learned("memory", "--limit", "99", "--json").json["items"]
    copied = next(one for one in items if one["short_id"] == "ysn27")
    done = learned("memory", "forget", copied["id"], "--yes")
    assert "1 copy of them in other conversations or workspaces" in done.out
    assert done.out.endswith("Forgotten: 1 item.\n")
    left = learned("memory", "--limit", "99", "--json").json["items"]
    assert len(left) == len(items) - 2
    learned("learn")
    assert len(learned("memory", "--limit", "99", "--json").json["items"]) == len(items) - 2


def test_forget_by_project_takes_its_facts_too(learned: Run) -> None:
    learned("memory", "add", "A fact.", "--project", "docs-site")
    done = learned("memory", "forget", "--project", "docs-site", "--yes", "--json")
    assert "f1" in done.json["forgotten"]
    assert len(done.json["sessions"]) == 2
    assert learned("memory", "--project", "docs-site", "--json").json["items"] == []
    found = learned("learn", "--json").json
    assert {one["reason"] for one in found["refused"]} == {"forgotten"}


def test_forget_by_query_takes_what_recall_finds(learned: Run) -> None:
    learned("memory", "add", "xyzzy is a word.")
    learned("memory", "add", "plugh is another.")
    done = learned("memory", "forget", "--query", "xyzzy", "--yes", "--json")
    assert done.json["forgotten"] == ["f1"]
    assert [one["id"] for one in learned("memory", "--facts", "--json").json["items"]] == ["f2"]


def test_forget_by_query_takes_only_what_itself_holds_every_word(learned: Run) -> None:
    for text in ("The xyzzy of the plugh", "xyzzys, plugh!", "xyzzy alone", "猫は箱の中"):
        learned("memory", "add", text)
    found = learned("memory", "forget", "--query", "the xyzzy plugh", "--dry-run", "--json").json
    assert (sorted(found["forgotten"]), found["dry_run"]) == (["f1", "f2"], True)
    assert learned("memory", "forget", "--query", "猫", "--dry-run", "--json").json["forgotten"] == ["f4"]
    for query in ("xyzzy plugg", "xyzy", "xyzzy redis"):
        assert learned("memory", "forget", "--query", query, "--yes", "--json").json["forgotten"] == []
    assert len(learned("memory", "--facts", "--json").json["items"]) == 4


def test_forget_by_query_takes_no_neighbours_and_has_no_cap(learned: Run) -> None:
    for n in range(60):
        learned("memory", "add", f"xyzzy {n}", *(("--project", "docs-site") if n % 2 else ()))
    done = learned("memory", "forget", "--query", "xyzzy", "--dry-run")
    assert done.out.splitlines()[0] == "removes  60 facts"
    assert sum("xyzzy" in line for line in done.out.splitlines()) == 60
    assert done.out.endswith("Nothing was removed.\n")
    asked = learned("memory", "forget", "--query", "xyzzy")
    assert "10 more; --dry-run lists them" in asked.out
    some = learned("memory", "forget", "--query", "xyzzy", "--project", "docs-site", "--yes", "--json").json
    assert len(some["forgotten"]) == 30
    assert len(learned("memory", "forget", "--query", "xyzzy", "--yes", "--json").json["forgotten"]) == 30
    redis = learned("memory", "forget", "--query", "redis", "--dry-run", "--json").json["forgotten"]
    items = {one["id"]: one for one in learned("memory", "--all", "--json").json["items"]}
    assert redis
    assert all("redis" in f"{items[one]['asked']} {items[one]['answered']}".casefold() for one in redis)


def test_a_session_of_two_workspaces_is_listed_once_and_forgotten_once(learned: Run) -> None:
    learned("workspace", "create", "work")
    learned("learn", "--workspace", "work")
    done = learned("memory", "forget", "--session", "k3v9q", "--yes")
    assert done.out.startswith("removes  4 exchanges, 1 session as a whole")
    assert "4 copies of them in other conversations or workspaces" in done.out
    again = learned("memory", "forget", "--session", "k3v9q", "--yes")
    assert (again.code, again.out) == (0, "The memory holds nothing of that. Nothing was removed.\n")


def test_a_session_that_was_not_learned_is_forgotten_before_it_is(backstory: Run) -> None:
    backstory("sessions")
    done = backstory("memory", "forget", "--session", "k3v9q", "--yes")
    assert done.out.startswith("removes  1 session as a whole")
    assert done.out.endswith("Forgotten: 1 session.\n")


def test_the_id_of_a_session_is_answered_with_its_option(learned: Run) -> None:
    done = learned("memory", "forget", "k3v9q", "--yes")
    told = 'backstory: "k3v9q" is a session. backstory memory forget --session k3v9q forgets all of it.\n'
    assert (done.code, done.err) == (1, told)


def test_a_list_that_is_cut_says_how_much_is_left(learned: Run) -> None:
    assert learned("memory").err == "20 more; --limit 40 or --all shows them.\n"
    done = learned("memory", "--all")
    assert (done.err, len(done.out.splitlines())) == ("", 41)
    assert learned("memory", "--project", "docs-site").err == ""


def test_an_empty_memory_names_the_next_step(backstory: Run) -> None:
    assert backstory("memory").out == (
        "Nothing in the memory of the workspace default. backstory learn fills it;"
        " backstory memory add TEXT adds a fact.\n"
    )


def test_a_fact_comes_from_standard_input_and_what_was_masked_is_said(
    backstory: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ghp_" + "a1B2" * 9
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"The token is {secret}\n".encode())))
    done = backstory("memory", "add", "-", "--json")
    assert done.json["answered"].startswith("The token is ")
    assert secret not in done.out
    assert re.fullmatch(r"Masked before it was kept: 1 [a-z-]+\.\n", done.err)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    assert backstory("memory", "add", "-").err == (
        "backstory: there is no text on standard input. Nothing was added.\n"
    )


def test_the_help_of_the_memory_fits_80_columns(backstory: Run) -> None:
    for verb in ("memory", "workspace", "learn", "recall"):
        done = backstory(verb, "--help")
        assert done.code == 0
        assert all(len(line) <= 80 for line in done.out.splitlines())


def test_a_workspace_is_deleted_only_when_it_is_empty(backstory: Run) -> None:
    backstory("workspace", "create", "work")
    backstory("workspace", "claim", "/home/dev/work", "--workspace", "work")
    backstory("memory", "add", "A fact.", "--workspace", "work")
    done = backstory("workspace", "delete", "work")
    assert done.code == 1
    assert done.err.startswith("backstory: work is not empty: claims 1, conversations 0, facts 1. Release")
    backstory("workspace", "release", "/home/dev/work")
    backstory("memory", "forget", "f1", "--yes")
    assert backstory("workspace", "delete", "work").out == "Deleted: work.\n"
    assert [one["name"] for one in backstory("workspace", "--json").json["workspaces"]] == ["default"]


def test_a_claim_on_what_another_workspace_learned_names_the_next_step(learned: Run) -> None:
    learned("workspace", "create", "work")
    one = learned("workspace", "claim", "/home/dev/work/docs-site", "--workspace", "work")
    assert one.out.endswith(
        " belongs to work. backstory learn --workspace work moves what was learned there.\n"
    )
    assert (
        learned("workspace", "claim", "/nowhere", "--workspace", "work").out == "/nowhere belongs to work.\n"
    )


def test_a_literal_tilde_is_remarked(backstory: Run) -> None:
    done = backstory("workspace", "claim", "~/x")
    assert "The ~ is taken as a folder's name" in done.err


def test_forgetting_what_is_not_there_removes_nothing(learned: Run) -> None:
    done = learned("memory", "forget", "--query", "xyzzyplugh", "--yes")
    told = 'The memory holds nothing of that. "xyzzyplugh" stands nowhere. Nothing was removed.\n'
    assert (done.code, done.out) == (0, told)


def test_the_record_stays_when_the_memory_forgets(learned: Run) -> None:
    learned("memory", "forget", "--session", "k3v9q", "--yes")
    assert learned("show", "k3v9q").code == 0


def test_forgetting_the_record_takes_the_memory_along_and_says_so(learned: Run) -> None:
    done = learned("forget", "k3v9q", "--yes")
    assert "and 4 exchanges of the memory\n" in done.out
    assert "k3v9q" not in {
        one["short_id"] for one in learned("memory", "--limit", "99", "--json").json["items"]
    }
    assert "and 1 exchange of the memory\n" in learned("forget", "2js90").out
    assert "and 3 exchanges of the memory\n" in learned("forget", "m9lz0").out
    assert "and 5 exchanges of the memory\n" in learned("forget", "m9lz0", "--with-copies").out


def test_a_record_that_was_not_learned_takes_nothing_of_the_memory(backstory: Run) -> None:
    backstory("sessions")
    assert "of the memory" not in backstory("forget", "2js90").out


def test_export_holds_everything_as_one_document(learned: Run) -> None:
    learned("workspace", "claim", "/home/dev/work")
    learned("memory", "add", "Deploys go out from main.", "--project", "api-gateway")
    learned("memory", "edit", "e1", "--answered", "In a brontosaurus.")
    learned("memory", "forget", "e2", "--yes")
    found = learned("memory", "export", "--json").json
    assert list(found) == ["workspaces", "conversations", "facts", "revisions", "forgotten"]
    assert found["workspaces"] == [{"name": "default", "created_at": None, "claims": ["/home/dev/work"]}]
    exchanges = [one for each in found["conversations"] for one in each["exchanges"]]
    assert len(exchanges) == 39
    items = {one["id"]: one for one in learned("memory", "--limit", "99", "--json").json["items"]}
    for one in exchanges:
        for name in ("position", "step_id", "at", "asked", "answered", "paths"):
            assert one[name] == items[one["id"]][name]
    mended = [one for each in found["conversations"] for one in each["mended"]]
    assert "npm test -- limiter" in [one["command"] for one in mended]
    assert [one["text"] for one in found["facts"]] == ["Deploys go out from main."]
    assert [one["exchanges"] for one in found["revisions"]] == [["e1"]]
    assert [one["kind"] for one in found["forgotten"]] == ["exchange"]


def test_an_empty_memory_exports_as_a_document_too(backstory: Run) -> None:
    found = backstory("memory", "export", "--json").json
    assert found["conversations"] == found["facts"] == found["revisions"] == found["forgotten"] == []
    assert [one["name"] for one in found["workspaces"]] == ["default"]


def test_export_as_markdown_quotes_what_was_said(learned: Run) -> None:
    learned("memory", "add", "# no heading\nsecond line")
    text = learned("memory", "export").out
    assert text.startswith("# Memory\n\n## Workspaces\n")
    assert "> # no heading\n> second line\n" in text
    items = learned("memory", "--limit", "99", "--json").json["items"]
    for one in items:
        assert f"\n{'####' if one['kind'] == 'exchange' else '###'} {one['id']}: " in text
    assert "failed and later passed: `npm test -- limiter`" in text


MISTAKES = [
    (("learn", "--workspace", "nowhere"), 1, 'there is no workspace "nowhere"; there is default.'),
    (("recall", "x", "--workspace", "nowhere"), 1, 'there is no workspace "nowhere"; there is default.'),
    (("recall",), 2, "missing argument 'QUERY'"),
    (("recall", "x", "--since", "soon"), 2, '"soon" is not a date.'),
    (("workspace", "create"), 2, "workspace create needs a name."),
    (("workspace", "create", "A B"), 1, '"A B" cannot be a workspace'),
    (("workspace", "claim"), 2, "workspace claim needs a folder."),
    (("workspace", "claim", " "), 2, "workspace claim needs a folder."),
    (("workspace", "release", "/nowhere"), 1, "nobody claims /nowhere."),
    (("workspace", "show", "nowhere"), 1, 'there is no workspace "nowhere"'),
    (("workspace", "list", "default"), 2, "workspace list shows all of them"),
    (("workspace", "show", "--workspace", "x"), 2, "--workspace goes with workspace claim alone."),
    (("memory", "add"), 2, "memory add needs a text."),
    (("memory", "add", "x", "--workspace", "nowhere"), 1, 'there is no workspace "nowhere"'),
    (("memory", "edit"), 2, "memory edit needs the ID of one exchange or fact"),
    (("memory", "edit", "e99", "--asked", "x"), 1, '"e99" is nothing in the memory.'),
    (("memory", "edit", "x"), 1, '"x" is nothing in the memory.'),
    (("memory", "forget"), 2, "memory forget needs IDs, or one of --session, --project and --query;"),
    (("memory", "forget", "e1", "--query", "x"), 2, "memory forget takes IDs, or one of"),
    (("memory", "forget", "--session", "x", "--project", "y"), 2, "memory forget takes IDs, or one of"),
    (("memory", "forget", "--query", "the of", "--yes"), 1, "these words stand almost anywhere."),
    (
        ("memory", "forget", "--query", "a1 " * 9 + "b%d " * 40 % tuple(range(40)), "--yes"),
        1,
        "a query to forget by",
    ),
    (("memory", "--limit", "x"), 2, "invalid value for '--limit': 'x' is not a whole number. See"),
    (("sessions", "x"), 2, "got unexpected extra argument (x). See backstory sessions --help."),
    (("recall", ""), 2, "the query has no word to look for."),
    (("recall", '"'), 2, "the query has no word to look for."),
    (("recall", "..."), 2, "the query has no word to look for."),
    (("workspace", "delete"), 2, "workspace delete needs a name."),
    (("workspace", "delete", "default"), 1, "default is always there."),
    (("workspace", "delete", "nowhere"), 1, 'there is no workspace "nowhere"'),
    (("memory", "forget", "--session", "nope1", "--yes"), 1, 'There is no session "nope1" in the archive.'),
    (("memory", "export", "x"), 2, 'memory export takes no "x".'),
    (("memory", "--query", "x"), 2, "--query goes with memory forget, not with list."),
    (
        ("memory", "export", "--project", "x"),
        2,
        "--project goes with memory list, add and forget, not with export.",
    ),
]


@pytest.mark.parametrize(("args", "code", "words"), MISTAKES, ids=[" ".join(args) for args, _, _ in MISTAKES])
def test_a_mistake_is_one_line_that_says_what_to_do(
    backstory: Run, args: tuple[str, ...], code: int, words: str
) -> None:
    done = backstory(*args)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"backstory: {words}"), done.err
    assert done.err.count("\n") == 1


# --- Learning by itself ------------------------------------------------------------------------------------


def auto(home: Path, value: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"learn = {value}\n", "utf-8")


def test_capture_learns_by_itself_where_the_settings_say_so(backstory: Run, tmp_path: Path) -> None:
    auto(tmp_path / "home", '"auto"')
    assert (
        backstory("capture", "--once").out.splitlines()[-1] == "20 conversations learned   workspace default"
    )
    assert "learned" not in backstory("capture", "--once").out
    assert backstory("learn").out.startswith("0 conversations learned, 20 known")


def test_capture_catches_up_with_what_other_verbs_read(backstory: Run, tmp_path: Path) -> None:
    auto(tmp_path / "home", '"auto"')
    backstory("sessions")
    (learned,) = backstory("capture", "--once", "--json").json["learned"]
    assert (learned["workspace"], len(learned["sessions"])) == ("default", 20)


@pytest.mark.parametrize("value", [None, '"demand"'])
def test_capture_does_not_learn_unless_told_to(backstory: Run, tmp_path: Path, value: str | None) -> None:
    if value is not None:
        auto(tmp_path / "home", value)
    assert backstory("capture", "--once", "--json").json["learned"] == []
    assert backstory("recall", "redis").out.startswith("Nothing is learned yet")


@pytest.mark.parametrize("value", ['"always"', "true", "1", '""', '["auto"]'])
def test_another_value_is_refused_with_those_that_are_known(
    backstory: Run, tmp_path: Path, value: str
) -> None:
    auto(tmp_path / "home", value)
    done = backstory("sessions")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("config.toml: learn has to be one of auto, demand, in quotes.\n")


def test_documents_are_json_and_nothing_else(learned: Run) -> None:
    for args in (
        ("learn",),
        ("workspace",),
        ("workspace", "show"),
        ("recall", "redis"),
        ("memory",),
        ("memory", "export"),
    ):
        done = learned(*args, "--json")
        assert (done.code, done.err) == (0, "")
        json.loads(done.out)


def test_secrets_in_titles_are_masked_in_what_learn_says(tmp_path: Path) -> None:
    from backstory.redact import mask

    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    secret = "ghp_" + "a1B2" * 9
    session.manifest["metadata"]["title"] = f"Use {secret} here"
    session.prompt("Begin")
    session.write()
    with archive(tmp_path / "home") as opened:
        opened.sync([session.root])
        (one,) = opened.memory.learn().learned
        assert one.title == mask(f"Use {secret} here")


# --- Odd input ---------------------------------------------------------------------------------------------

NO_UTF_8 = os.fsdecode(b"caf\xe9 au lait")
"""What an argument becomes that is no UTF-8."""
HUGE = "9" * 30


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_verb_takes_texts_that_can_be_kept(name: str) -> None:
    command = importlib.import_module(f"backstory.cli.{name}").command
    assert isinstance(command, Verb)
    for param in command.params:
        assert not isinstance(param.type, click.IntRange) or param.type.max or isinstance(param.type, Count)


def test_a_fact_that_is_no_utf_8_is_kept_and_found(backstory: Run) -> None:
    assert backstory("memory", "add", NO_UTF_8, "--project", NO_UTF_8).code == 0
    (found,) = backstory("recall", NO_UTF_8, "--project", NO_UTF_8, "--json").json["results"]
    assert (found["answered"], found["project"]) == ("caf\ufffd au lait", "caf\ufffd au lait")
    assert backstory("memory", "edit", "f1", "--text", NO_UTF_8 + " 2").code == 0
    assert backstory("memory", "list", "--project", NO_UTF_8, "--json").json["items"]
    assert backstory("memory", "forget", "--query", NO_UTF_8, "--yes").code == 0


@pytest.mark.parametrize(
    "call",
    [
        ("learn", "--workspace", NO_UTF_8),
        ("recall", "x", "--workspace", NO_UTF_8),
        ("memory", "edit", NO_UTF_8, "--text", "x"),
        ("memory", "forget", "--session", NO_UTF_8),
        ("memory", "forget", "e" + HUGE),
        ("memory", "edit", "f" + HUGE, "--text", "x"),
        ("workspace", "create", NO_UTF_8),
        ("workspace", "release", NO_UTF_8),
        ("workspace", "show", NO_UTF_8),
        ("show", NO_UTF_8),
        ("forget", NO_UTF_8),
        ("usage", "session", NO_UTF_8),
        ("ingest", NO_UTF_8),
    ],
    ids=lambda call: " ".join(call[:2]),
)
def test_a_name_that_nothing_has_is_refused_whatever_it_is(backstory: Run, call: tuple[str, ...]) -> None:
    done = backstory(*call)
    assert done.code in (1, 2)
    assert done.err.startswith("backstory: ")
    assert "something broke" not in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "call",
    [
        ("memory", "list", "--limit", HUGE),
        ("recall", QUERY, "--limit", HUGE),
        ("sessions", "--limit", HUGE),
        ("search", "redis", "--limit", HUGE),
        ("usage", "top", "--limit", HUGE),
        ("search", NO_UTF_8),
        ("sessions", "--project", NO_UTF_8),
        ("memory", "list", "--project", NO_UTF_8),
        ("usage", "--project", NO_UTF_8),
    ],
    ids=lambda call: " ".join(call[:2]),
)
def test_a_limit_may_be_any_number_and_a_filter_any_text(learned: Run, call: tuple[str, ...]) -> None:
    done = learned(*call)
    assert "something broke" not in done.err
    assert done.code == 0


def test_a_folder_that_is_no_utf_8_can_be_claimed_and_released(backstory: Run) -> None:
    folder = "/" + NO_UTF_8
    assert backstory("workspace", "claim", folder, "--json").json["claimed"] == "/caf\ufffd au lait"
    assert backstory("workspace", "release", folder, "--json").code == 0


def test_an_editor_that_leaves_no_utf_8_changes_nothing(
    backstory: Run, answers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backstory("memory", "add", "Deploys go out from main only")
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'caf\\351' > \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    answers("")
    done = backstory("memory", "edit", "f1")
    assert done.err == "backstory: what the editor left is no UTF-8. Nothing was changed.\n"
    (fact,) = backstory("memory", "list", "--json").json["items"]
    assert fact["answered"] == "Deploys go out from main only"
