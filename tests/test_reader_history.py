"""Whatever happens to the files of a followed session, nothing read is lost, and what stands is as if read at once."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from growth import conversation
from hostile import SLOW, document
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import START, Session, environment, pretty, read, tool_use

from backstory import Archive

NOW = START + 30 * 24 * 3_600_000
Change = Callable[["Followed", random.Random], None]


class Followed:
    """A session on disk that is looked at after every change, and what was ever seen of it."""

    def __init__(self, tmp_path: Path, seed: int) -> None:
        self.session = Session(tmp_path / "sessions")
        self.child = self.session.child("agent_1796026009000_abc123")
        self.everything = conversation(random.Random(seed), 4)
        self.session.messages = self.everything[:1]
        self.clock = START
        self.kept = Archive(tmp_path / "archive.db", env=environment(tmp_path), now=lambda: NOW)
        self.seen: set[str] = set()
        self.write()

    def put(self, path: Path, data: bytes | None) -> None:
        """Write or remove a file; the newer ones may be being written at this moment."""
        self.clock += 1_000_000
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, ns=(self.clock * 1_000_000, self.clock * 1_000_000))

    def write(self) -> None:
        self.put(self.session.manifest_file, pretty(self.session.manifest))
        self.put(self.session.file, self.session.data())
        self.put(self.session.folder / "agent_1796026009000_abc123.messages.json", self.child.data())

    def look(self) -> None:
        """A pass; everything that was seen before has to be there, current or superseded."""
        report = self.kept.sync([self.session.root])
        assert report.failed == []
        if self.kept.count() == 0:
            return
        steps = document(self.kept.record(self.session.session_id, superseded=True))["steps"]
        assert len({step["id"] for step in steps}) == len(steps)
        told = {json.dumps([step["type"], step["payload"]]) for step in steps if step["outcome"] != "unknown"}
        assert self.seen - told == set()
        self.seen |= told


def grow(it: Followed, rng: random.Random) -> None:
    count = len(it.session.messages)
    it.session.messages = it.everything[: count + rng.randrange(1, 6)]
    it.write()


def shrink(it: Followed, rng: random.Random) -> None:
    it.session.messages = it.session.messages[: rng.randrange(len(it.session.messages) + 1)]
    it.write()


def splice(it: Followed, rng: random.Random) -> None:
    """Something stands where it did not before, as hook context does."""
    hook = {"role": "user", "content": f'<hook_context source="x">\n{rng.random()}\n</hook_context>'}
    messages = list(it.session.messages)
    messages.insert(rng.randrange(len(messages) + 1), {"id": f"hook_{rng.random()}", **hook})
    it.session.messages = messages
    it.write()


def swap(it: Followed, rng: random.Random) -> None:
    messages = list(it.session.messages)
    rng.shuffle(messages)
    it.session.messages = messages
    it.write()


def reword(it: Followed, rng: random.Random) -> None:
    if it.session.messages:
        at = rng.randrange(len(it.session.messages))
        changed = {**it.session.messages[at], "content": f"Other words {rng.random()}"}
        it.session.messages = [*it.session.messages[:at], changed, *it.session.messages[at + 1 :]]
    it.write()


def cut(it: Followed, rng: random.Random) -> None:
    for path in it.session.folder.iterdir():
        data = path.read_bytes()
        if rng.random() < 0.6:
            it.put(path, data[: rng.randrange(len(data) + 1)] + b"\0" * rng.choice([0, 0, 9]))


def break_manifest(it: Followed, rng: random.Random) -> None:
    it.put(it.session.manifest_file, rng.choice([None, b"", b"{", b"[]", b"null"]))


def move_on(it: Followed, rng: random.Random) -> None:
    """The manifest says something else: another folder, another mode of approval, an end, an import."""
    assert it.session.manifest is not None
    it.session.manifest["cwd"] = rng.choice(["/home/dev/work/demo", "/home/dev/other", None])
    it.session.manifest["source"] = rng.choice(["cli", "vscode"])
    it.session.manifest["status"] = rng.choice(["running", "completed"])
    it.write()


def lose(it: Followed, rng: random.Random) -> None:
    files = sorted(it.session.folder.iterdir())
    if files:
        it.put(rng.choice(files), None)


def let_the_child_work(it: Followed, rng: random.Random) -> None:
    if not it.child.messages:
        it.child.user("Count")
    it.child.reply(f"Counting {rng.random()}")
    it.write()


CHANGES: list[Change] = [
    grow,
    shrink,
    splice,
    swap,
    reword,
    cut,
    break_manifest,
    move_on,
    lose,
    let_the_child_work,
]


def assert_as_fresh(it: Followed, names: tuple[str, ...]) -> None:
    stored = document(it.kept.record(it.session.session_id))
    fresh = document(read(it.session.folder))
    for name in names:
        assert stored[name] == fresh[name], name


@settings(SLOW, max_examples=120)
@given(
    seed=st.integers(0, 1_000_000),
    changes=st.lists(st.sampled_from(CHANGES), min_size=1, max_size=8),
)
def test_any_history_of_the_files_keeps_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, seed: int, changes: list[Change]
) -> None:
    it = Followed(tmp_path_factory.mktemp("history"), seed)
    rng = random.Random(seed)
    with it.kept:
        it.look()
        for change in changes:
            change(it, rng)
            it.look()
        it.session.messages = it.everything
        it.write()
        it.look()
        names = ("actors", "turns", "steps")
        if move_on in changes:
            # A decision and a folder stay what they were when the step was first read.
            return
        assert_as_fresh(it, names)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_one_change_and_back(tmp_path: Path, change: Change) -> None:
    for seed in range(8):
        it = Followed(tmp_path / str(seed), seed)
        rng = random.Random(seed)
        with it.kept:
            it.session.messages = it.everything
            it.write()
            it.look()
            before: Any = document(it.kept.record(it.session.session_id))["steps"]
            change(it, rng)
            it.look()
            it.session.messages = it.everything
            it.child.messages = []
            assert it.session.manifest is not None
            it.session.manifest |= {"cwd": "/home/dev/work/demo", "source": "cli", "status": "running"}
            it.write()
            it.look()
            assert document(it.kept.record(it.session.session_id))["steps"] == before


def test_a_message_that_only_moved_is_no_new_version_of_itself(tmp_path: Path) -> None:
    """Cline puts hook context in front of a reply that already stands; the reply is the same, one place later."""
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.reply("I will look.", tool_use("call_1", "run_commands", {"commands": ["ls"]}))
    session.write()
    with Archive(tmp_path / "archive.db", env=environment(tmp_path), now=lambda: NOW) as kept:
        kept.sync([session.root])
        kept.mark_seen(session.session_id)
        reply = session.messages.pop()
        session.user('<hook_context source="PreToolUse">\nUse uv.\n</hook_context>', id="msg_hook")
        session.messages.append(reply)
        session.write()
        kept.sync([session.root])
        everything = kept.record(session.session_id, superseded=True).steps
        assert [step.id for step in everything] == [
            "msg_00000000#0",
            "msg_hook#0",
            "msg_00000001#0",
            "call_1#0",
        ]
        assert [step.origin.pointer for step in everything] == [
            "/messages/0/content/0",
            "/messages/1/content/0",
            "/messages/2/content/0",
            "/messages/2/content/1",
        ]
        assert kept.listed(session.session_id).unseen == 1
