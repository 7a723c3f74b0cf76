"""What a session says is shown, never obeyed: no terminal control, no change of direction, no broken line."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from sessions import ID, START, Session, archive, item, pretty, tool_use, wrapped
from timelimit import within

from backstory.cli.main import run

EVIL = {
    "clears the screen": "\x1b[2J\x1b[H",
    "sets the window's title": "\x1b]0;owned\x07",
    "writes the clipboard": "\x1b]52;c;cm0gLXJmIC8=\x1b\\",
    "links": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "one-byte controls": "\x9b2J\x90x\x9c",
    "turns the text around": "\u202egnp.exe\u202c",
    "isolates": "\u2066a\u2069\u200f",
    "overwrites the line": "safe\rEVIL",
    "backspaces": "safe\b\b\b\bEVIL",
    "bells": "\x07\x07",
    "NUL": "a\0b",
    "deletes": "a\x7fb",
    "half an emoji": "a\ud83db",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "a tag character": "a\U000e0041b",
    "combining marks": "a" + "\u0301" * 500,
    "wide": "漢" * 300,
    "markup": "[bold red]x[/] [link=https://evil.example]y[/link] <b>z</b> %s {0} \\x1b[31m",
}


@pytest.fixture
def backstory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs the program over the sessions of this test; returns what it printed."""
    monkeypatch.setenv("BACKSTORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BACKSTORY_CLINE_DIR", str(tmp_path / "sessions"))
    monkeypatch.setenv("BACKSTORY_DEBUG", "1")

    def call(*args: str) -> str:
        capfd.readouterr()
        with within(20):
            code = run(args)
        sys.stdout.flush()
        printed = capfd.readouterr()
        assert code == 0, printed.err
        return printed.out + printed.err

    return call


def hostile(root: Path, evil: str) -> Session:
    """A session in which every text is hostile."""
    session = Session(root)
    assert session.manifest is not None
    session.manifest |= {"cwd": f"/home/dev/{evil}", "model": evil, "status": evil, "source": evil}
    session.manifest["metadata"] |= {"title": f"Title {evil}", "git": {"branch": f"b{evil}"}}
    session.prompt(f"Prompt {evil}")
    session.reply({"type": "thinking", "thinking": f"Hm {evil}"}, f"Answer {evil}", id=f"msg_{evil}")
    failed = item(
        f"cmd {evil}", f"[Command exited with code 1]\nout {evil}", f"Command exited with code 1 {evil}"
    )
    session.ran("run_commands", {"commands": [f"cmd {evil}"]}, [failed])
    session.ran("read_files", {"path": f"/x/{evil}"}, [item(f"/x/{evil}", f"1 | {evil}")])
    edit = {"path": f"/x/{evil}", "old_text": f"a{evil}", "new_text": f"b{evil}"}
    session.ran("editor", edit, json.dumps(item("edit", f"Edited\n```diff\n-1: {evil}\n```")))
    session.ran(f"lab__{evil}", {evil: evil}, json.dumps({"content": [{"type": "text", "text": evil}]}))
    session.reply(
        {"type": f"block{evil}", evil: evil}, tool_use(f"call{evil}", "spawn_agent", {"task": evil})
    )
    session.child("agent_1796026000000_abcdef").user(evil)
    session.user(wrapped(f'Look\n\n<file_content path="{evil}">\n{evil}\n</file_content>'))
    session.reply(f"401 {evil}", metadata={"displayOnly": True, "displayRole": "error"}, ts=evil)
    return session.write()


def harmful(printed: str) -> set[str]:
    """The characters of an output that a terminal would act upon, or that change the order of a line."""
    allowed = "\n\t"
    return {
        f"U+{ord(char):04X}"
        for char in printed
        if char not in allowed
        and (
            unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(char) in DIRECTIONS
        )
    }


DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
VERBS = [
    (),
    ("sessions",),
    ("sessions", "--wide"),
    ("show", "last"),
    ("show", "last", "--full"),
    ("show", "last", "--problems"),
    ("show", "last", "--all"),
    ("search", "Prompt"),
    ("search", "cmd"),
    ("doctor",),
    ("capture", "--once"),
]


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL)
def test_nothing_that_a_session_says_reaches_the_terminal(
    tmp_path: Path, backstory: Callable[..., str], evil: str
) -> None:
    hostile(tmp_path / "sessions", evil)
    for verb in VERBS:
        printed = backstory(*verb)
        assert harmful(printed) == set(), verb
        assert printed.strip(), verb
    assert "Prompt" in backstory("show", "last")


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL)
@pytest.mark.parametrize("verb", ["sessions", "show last", "search Prompt", "doctor", "capture --once"])
def test_json_is_json_whatever_a_session_says(
    tmp_path: Path, backstory: Callable[..., str], evil: str, verb: str
) -> None:
    hostile(tmp_path / "sessions", evil)
    printed = backstory(*verb.split(), "--json")
    json.loads(printed)
    assert harmful(printed) <= {
        "U+2028",
        "U+2029",
        "U+202E",
        "U+202C",
        "U+2066",
        "U+2069",
        "U+0085",
        "U+007F",
    } | {f"U+{code:04X}" for code in range(0x80, 0xA0)}


@pytest.mark.parametrize("evil", EVIL.values(), ids=EVIL)
def test_it_is_kept_as_it_was(tmp_path: Path, evil: str) -> None:
    session = hostile(tmp_path / "sessions", evil)
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        record = kept.record(ID)
        shown = evil.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert record.session.title == f"Title {shown}".strip()
        assert getattr(record.steps[0].payload, "text", "") == f"Prompt {shown}".strip()
        found = kept.search("Prompt")
        assert found.total >= 1
        kept.forget(ID)
        assert kept.search("Prompt").total == 0


def test_a_file_name_that_is_no_utf_8_can_be_named(tmp_path: Path, backstory: Callable[..., str]) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Hello")
    session.write()
    odd = session.root / os.fsdecode(b"1796020000000_caf\xe9")
    odd.mkdir()
    (odd / f"{odd.name}.messages.json").write_bytes(session.data())
    for verb in [("capture", "--once"), ("doctor",), ("sessions",), ("doctor", "--json")]:
        assert "\udce9" not in backstory(*verb)


def test_a_name_with_control_characters_is_named_harmlessly(
    tmp_path: Path, backstory: Callable[..., str]
) -> None:
    root = tmp_path / "sessions"
    folder = root / "1796020000000_\x1b[2J\n\u202ex"
    folder.mkdir(parents=True)
    (folder / f"{folder.name}.messages.json").write_bytes(b"{")
    (root / "\x1b]0;x\x07file").write_text("x")
    for verb in VERBS:
        if verb[:1] in (("show",), ("search",)):
            continue
        assert harmful(backstory(*verb)) == set(), verb


def test_a_session_of_an_absurd_size_in_every_direction(
    tmp_path: Path, backstory: Callable[..., str]
) -> None:
    """A title of a megabyte, an end before the beginning, a far future."""
    session = Session(tmp_path / "sessions")
    assert session.manifest is not None
    session.manifest["metadata"]["title"] = "x" * 1_000_000
    session.manifest |= {
        "started_at": "9999-12-31T23:59:59.999Z",
        "ended_at": "0001-01-01T00:00:00Z",
        "model": "m" * 100_000,
    }
    for number in range(5):
        session.prompt("p" * 100_000, ts=START + number)
        session.reply("a\n" * 50_000, ts=START - number)
    session.write()
    session.file.write_bytes(pretty({**session.document(), "updated_at": "9999-12-31T23:59:59.999Z"}))
    for verb in VERBS:
        backstory(*verb)
    json.loads(backstory("sessions", "--json"))
