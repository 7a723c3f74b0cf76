"""No part of a secret gets into the search index, wherever it stands in a session; what is around it is found."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from growth import GrowingSession
from test_search import NOW, command, found, said

from backstory import Archive
from backstory.capture.doctor import ARCHIVE
from backstory.schema.step import Command, Edit, Message, Other, Read, StepError
from backstory.store import indexing

TOKEN = "gh" + "p_" + "Zq3vXk81RtYb7mWcN5hJd02sLfGa9eUiPo4T"
PASSWORD = "Tr0ub4dorAnd3"
KEY_LINES = [f"{n}{'kW8zQ1vB' * 8}"[:64] for n in range(3, 9)]
KEY = "-----BEGIN " + "PRIVATE KEY-----\n" + "\n".join(KEY_LINES) + "\n-----END " + "PRIVATE KEY-----"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive.db", env={"HOME": str(tmp_path)}, now=lambda: NOW)


def tool(number: int, name: str, given: Any, content: Any) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "name": name, "content": content}
    return [
        {"id": f"ta{number}", "role": "assistant", "ts": NOW + number * 1000, "content": [call]},
        {"id": f"tr{number}", "role": "user", "ts": NOW + number * 1000 + 500, "content": [result]},
    ]


def fill(archive: Archive, tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    GrowingSession(tmp_path / "sessions").document(messages)
    archive.sync([tmp_path / "sessions"])


def words(archive: Archive) -> set[str]:
    """Every word that the index holds."""
    archive.connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab(main, doc, row)")
    return {row[0] for row in archive.connection.execute("SELECT term FROM temp.word")}


def parts_in(text: str, secret: str) -> list[str]:
    """The parts of a secret, six characters long, that stand in a text."""
    return [secret[n : n + 6] for n in range(len(secret) - 5) if secret[n : n + 6].lower() in text.lower()]


PLACES: dict[str, list[dict[str, Any]]] = {
    "a prompt": [said(1, "user", f"<user_input>deploy beforehand with {TOKEN} afterwards</user_input>")],
    "an answer": [said(1, "user", "x"), said(2, "assistant", f"I used beforehand {TOKEN} afterwards")],
    "a command": command(1, f"echo beforehand {TOKEN} afterwards", "ok"),
    "an output": command(1, "env", f"beforehand\nGITHUB={TOKEN}\nafterwards"),
    "a coloured output": command(1, "env", f"beforehand \x1b[32m{TOKEN[:9]}\x1b[0m{TOKEN[9:]} afterwards"),
    "a failed output": command(1, "env", f"beforehand {TOKEN} afterwards", ok=False),
    "a file that was read": tool(
        1,
        "read_files",
        {"files": [{"path": "/w/.env"}]},
        [{"query": "/w/.env", "result": f"1 | beforehand\n2 | T={TOKEN}\n3 | afterwards", "success": True}],
    ),
    "an edit": tool(
        1,
        "editor",
        {"path": "/w/a.txt", "old_text": f"beforehand {TOKEN}", "new_text": f"{TOKEN}\nafterwards"},
        '{"query": "edit:/w/a.txt", "result": "done", "success": true}',
    ),
    "a tool's input": tool(1, "vault__put", {"note": "beforehand", "v": [TOKEN], "z": "afterwards"}, "ok"),
    "a tool's result": tool(
        1, "vault__get", {"n": "beforehand"}, [{"type": "text", "text": f"{TOKEN} afterwards"}]
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_not_found_and_what_is_around_it_is(archive: Archive, tmp_path: Path, place: str) -> None:
    fill(archive, tmp_path, PLACES[place])
    assert archive.search("beforehand").total == 1
    assert archive.search("afterwards").total == 1
    for query in (TOKEN, f'"{TOKEN}"', TOKEN[:12], TOKEN[4:], TOKEN[:20].lower(), "zq3vxk"):
        assert archive.search(query).total == 0, query
    assert not [word for word in words(archive) if parts_in(word, TOKEN)]
    assert archive.search("masked github").total == 1
    assert archive.search("[masked").total == 1


def test_a_value_that_only_its_key_names_is_masked(archive: Archive, tmp_path: Path) -> None:
    given = {"user": "me", "password": PASSWORD, "env": [{"name": "DB_PASSWORD", "value": PASSWORD + "x"}]}
    fill(archive, tmp_path, tool(1, "db__connect", given, [{"type": "text", "text": "connected"}]))
    assert archive.search("connect").total == 1
    assert not [word for word in words(archive) if parts_in(word, PASSWORD)]


def test_the_body_stays_as_cline_wrote_it(archive: Archive, tmp_path: Path) -> None:
    fill(archive, tmp_path, PLACES["an output"])
    (one,) = archive.search("beforehand").sessions
    (step,) = [hit.step for hit in one.hits]
    assert isinstance(step.payload, Command)
    assert TOKEN in (step.payload.stdout or "")


FAILED = StepError("Command exited with code 1", "exit_code")
CUTS = {
    "message": (lambda text: (Message("user", text), None), indexing.MESSAGE, False),
    "thinking": (lambda text: (Message("thinking", text), None), indexing.THINKING, False),
    "command": (lambda text: (Command(text), None), indexing.COMMAND, False),
    "output, head": (lambda text: (Command("x", stdout=text), None), indexing.HEAD, False),
    "output, tail": (lambda text: (Command("x", stdout=text), None), indexing.TAIL, True),
    "failed output, head": (lambda text: (Command("x", stdout=text), FAILED), indexing.FAILED_HEAD, False),
    "failed output, tail": (lambda text: (Command("x", stdout=text), FAILED), indexing.FAILED_TAIL, True),
    "read, head": (lambda text: (Read("x", content=text), None), indexing.READ_HEAD, False),
    "read, tail": (lambda text: (Read("x", content=text), None), indexing.READ_TAIL, True),
    "new text": (lambda text: (Edit("x", "create", new_string=text), None), indexing.CODE, False),
    "hunks": (lambda text: (Edit("x", "patch", hunks=text), None), indexing.CODE, False),
    "old text": (lambda text: (Edit("x", "replace", text, "y"), None), indexing.CODE // 3, False),
    "input": (lambda text: (Other("x", {"input": {"a": text}}), None), indexing.INPUT, False),
    "result, head": (lambda text: (Other("x", {"result": [text]}), None), indexing.HEAD, False),
    "result, tail": (lambda text: (Other("x", {"result": [text]}), None), indexing.TAIL, True),
    "error": (lambda text: (Read("x"), StepError(text, "tool")), indexing.HEAD, False),
}
FILLERS = {"prose": "word and more, ", "lines": "a line\n", "one run": "abcdefghi/"}


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("where", CUTS)
def test_no_half_secret_is_indexed_where_a_text_is_cut(where: str, filler: str) -> None:
    make, limit, from_end = CUTS[where]
    fill = (FILLERS[filler] * 2_000)[:20_000]
    secrets = {f" {TOKEN} ": TOKEN, f" password={PASSWORD}\n": PASSWORD, f"\n{KEY}\n": "".join(KEY_LINES)}
    for shown, secret in secrets.items():
        for overlap in sorted({*range(1, len(shown), max(len(shown) // 12, 1)), len(shown) - 1}):
            kept = limit - overlap
            text = fill + shown + fill[:kept] if from_end else fill[len(fill) - max(kept, 0) :] + shown + fill
            if kept < 0:
                continue
            payload, error = make(text)
            indexed = " ".join(indexing.texts(payload, error))
            assert not parts_in(indexed, secret), (overlap, indexed[-200:])


@pytest.mark.parametrize("where", ["message", "failed output, tail", "result, head"])
def test_a_cut_text_without_a_secret_is_cut_where_the_limit_is(where: str) -> None:
    make, limit, from_end = CUTS[where]
    text = "".join(f"w{n:05d} " for n in range(4_000))
    indexed = " ".join(indexing.texts(*make(text)))
    assert (text[-limit:] if from_end else text[:limit]) in indexed


def test_an_archive_with_secrets_in_its_index_is_indexed_anew(tmp_path: Path) -> None:
    path, env = tmp_path / "archive.db", {"HOME": str(tmp_path)}
    with Archive(path, env=env, now=lambda: NOW) as archive:
        fill(archive, tmp_path, PLACES["a prompt"])
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO doc (doc) VALUES ('delete-all')")
    (n,) = connection.execute("SELECT n FROM step").fetchone()
    connection.execute(
        "INSERT INTO doc (rowid, text) VALUES (?, ?)", (2 * n, f"deploy beforehand with {TOKEN}")
    )
    connection.execute("UPDATE meta SET value = 1 WHERE key = 'prep'")
    connection.commit()
    connection.close()
    with Archive(path, env=env, now=lambda: NOW) as archive:
        assert found(archive, TOKEN) == []
        assert len(found(archive, "beforehand")) == 1


def test_forgetting_takes_the_masked_words_out(archive: Archive, tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    session.document([*PLACES["a prompt"], *command(2, "cat key", f"{KEY}\npassword={PASSWORD}")])
    archive.sync([tmp_path / "sessions"])
    assert archive.search("masked").total == 2
    archive.forget(session.id)
    assert words(archive) == set()
    archive.connection.execute("INSERT INTO doc (doc) VALUES ('integrity-check')")


def test_the_doctor_counts_the_places_by_kind(archive: Archive, tmp_path: Path) -> None:
    session = GrowingSession(tmp_path / "sessions")
    session.document([said(1, "user", "nothing here")])
    report = archive.sync([tmp_path / "sessions"])
    assert "masked" not in " ".join(finding.text for finding in archive.doctor(report=report))
    shutil.rmtree(session.folder)
    messages = [
        *PLACES["a prompt"],
        *command(2, "cat key", KEY),
        *command(3, "env", f"T={TOKEN}\npassword={PASSWORD}"),
    ]
    GrowingSession(tmp_path / "sessions", "1796026921001_grow2").document(messages)
    report = archive.sync([tmp_path / "sessions"])
    (line,) = [one for one in archive.doctor(report=report) if "masked" in one.text]
    assert (line.group, line.level) == (ARCHIVE, "note")
    assert line.text == (
        "3 places with secrets are masked in the search index: "
        "2 with github token, 1 with password, 1 with private key"
    )


def test_a_query_is_taken_as_it_is_typed(archive: Archive, tmp_path: Path) -> None:
    fill(archive, tmp_path, [said(1, "user", "the words [masked: and password=x stand here")])
    for query in ("[masked", "[masked:", "password=x", "[masked:password]"):
        assert bool(found(archive, query)) == (query != "[masked:password]")
    assert re.fullmatch(r"\[masked:[a-z-]+\]", indexing.texts(Message("user", TOKEN), None)[0])
