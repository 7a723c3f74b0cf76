"""Learning by itself (`learn = "auto"`): when a session pauses, that session alone, by its own workspace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from growth import GrowingSession, growing_states
from memories import Said, said
from sessions import START, Session, text, wrapped
from test_watch import Following, wait_for

from backstory import Archive
from backstory.capture.watch import LONGEST, PAUSE
from backstory.memory.learn import Learned

MANIFEST = {"cwd": "/home/dev/work/grow", "workspace_root": "/home/dev/work/grow"}


class Learning(Following):
    """A watcher driven by hand that learns what settles."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path)
        self.reports: list[Learned] = []
        self.watcher.settled = self.settle

    def settle(self, session_id: str) -> None:
        self.reports += self.archive.memory.keep_current([session_id])

    @property
    def learned(self) -> list[str]:
        return [one.session_id for report in self.reports for one in report.learned]


@pytest.fixture
def following(tmp_path: Path) -> Learning:
    return Learning(tmp_path)


def whole(following: Learning, session_id: str) -> Said:
    """What learning everything anew gives."""
    with Archive(following.archive.path.parent / "other.db", env=following.archive.env) as other:
        other.sync([following.sessions])
        other.memory.learn()
        return said(other, session_id)


def test_a_growing_session_is_learned_with_every_pause(following: Learning) -> None:
    session = GrowingSession(following.sessions, manifest=MANIFEST)
    for state in growing_states()[::16]:
        session.put(state)
        following.watcher.events([str(session.messages)])
        following.pass_time(PAUSE + 0.5)
        assert said(following.archive) == whole(following, session.id)
    assert following.learned
    assert set(following.learned) == {session.id}
    assert len(following.archive.memory.items()) == 1


def say(role: str, words: str, n: int) -> dict[str, Any]:
    typed = wrapped(words) if role == "user" else words
    return {"id": f"msg_{n}", "role": role, "content": [text(typed)], "ts": START + n * 1000}


def test_a_busy_session_is_read_but_learned_only_when_it_pauses(following: Learning) -> None:
    session = GrowingSession(following.sessions, manifest=MANIFEST)
    messages = [say("user", "Begin", 0)]

    def write() -> None:
        messages.append(say("assistant", f"word {len(messages)}", len(messages)))
        session.document(messages)
        following.watcher.events([str(session.messages)])

    following.pass_time(LONGEST * 2 + 1, each=write)
    assert following.reads
    assert following.learned == []
    following.pass_time(PAUSE + 0.5)
    assert following.learned == [session.id]
    ((_, answered),) = said(following.archive)
    assert answered.count("word") == len(messages) - 1


def test_a_half_written_session_is_not_learned_before_it_parses(following: Learning) -> None:
    session = GrowingSession(following.sessions, manifest=MANIFEST)
    session.put(growing_states()[-1][:-200])
    following.watcher.events([str(session.messages)])
    following.pass_time(PAUSE + 0.5)
    assert following.reports == []
    session.put(growing_states()[-1])
    following.watcher.events([str(session.messages)])
    following.pass_time(PAUSE + 0.5)
    assert following.learned == [session.id]


def test_each_session_is_learned_by_the_workspace_that_owns_it(following: Learning) -> None:
    following.archive.memory.create_workspace("work")
    following.archive.memory.claim("/home/dev/work", "work")
    sessions = [
        GrowingSession(following.sessions, f"{START}_grow{n}", {"cwd": cwd, "workspace_root": cwd})
        for n, cwd in enumerate(("/home/dev/work/grow", "/home/dev/own"))
    ]
    for session in sessions:
        session.document([say("user", session.id, 0)])
        following.watcher.events([str(session.messages)])
    following.pass_time(PAUSE + 0.5)
    assert said(following.archive, workspace="work") == [(sessions[0].id, "")]
    assert said(following.archive, workspace="default") == [(sessions[1].id, "")]


def test_only_the_session_that_settled_is_looked_at(following: Learning) -> None:
    sessions = [GrowingSession(following.sessions, f"{START}_grow{n}", MANIFEST) for n in range(3)]
    for session in sessions:
        session.document([say("user", session.id, 0)])
    following.archive.sync([following.sessions])
    following.watcher.look()
    sessions[1].document([say("user", "again", 0)])
    following.watcher.events([str(sessions[1].messages)])
    following.pass_time(PAUSE + 0.5)
    assert following.learned == [sessions[1].id]
    assert len(said(following.archive)) == 1


@pytest.mark.parametrize("verb", ["up", "capture"])
def test_the_verb_learns_what_it_reads_while_it_runs_and_says_it_once_a_session(
    tmp_path: Path, verb: str
) -> None:
    sessions = tmp_path / "sessions"
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('learn = "auto"\n', "utf-8")
    first = Session(sessions, f"{START}_first", START)
    first.prompt("Begin")
    first.reply("Begun.")
    first.write()
    process = subprocess.Popen(
        [sys.executable, "-m", "backstory", verb, "--sessions-dir", str(sessions)],
        env={**os.environ, "BACKSTORY_HOME": str(home), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: kept(home) == [("Begin", "Begun.")])
        second = Session(sessions, f"{START + 1}_later", START + 1)
        second.prompt("Go on")
        second.reply("Gone on.")
        second.write()
        wait_for(lambda: kept(home) == [("Begin", "Begun."), ("Go on", "Gone on.")])
        second.prompt("And on")
        second.write()
        wait_for(lambda: ("And on", "") in kept(home))
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert [line[7:] for line in err.splitlines() if "learned" in line] == [
        "first  learned   workspace default",
        "later  learned   workspace default",
    ]


def kept(home: Path) -> Said:
    path = home / "archive.db"
    if not path.exists():
        return []
    with Archive(path, env={}) as opened:
        return said(opened)
