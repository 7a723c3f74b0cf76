"""The doctor names every folder with its rule, every file that was left out, and the next step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import RECORDINGS, GrowingSession, growing_states
from sessions import Session

from backstory import Archive
from backstory.cli.doctor import draw_findings
from backstory.cli.line import View, plain
from backstory.store.results import Finding

NOW = 1_800_000_000_000


class Clinic:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.env = {"HOME": str(home), "BACKSTORY_HOME": str(home / "backstory")}
        self.sessions = home / ".cline" / "data" / "sessions"

    def copy(self, scenario: str) -> None:
        shutil.copytree(RECORDINGS / scenario / "sessions", self.sessions, dirs_exist_ok=True)

    def examine(self, **variables: str) -> list[Finding]:
        with Archive(env={**self.env, **variables}, now=lambda: NOW) as archive:
            return archive.doctor(report=archive.sync())


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path)


def texts(findings: list[Finding], level: str | None = None) -> str:
    chosen = [one for one in findings if level is None or one.level == level]
    return "\n".join("\n".join((one.text, *one.details, one.advice or "")) for one in chosen)


def test_not_installed(clinic: Clinic) -> None:
    found = clinic.examine()
    assert "not installed here: neither ~/.cline nor an extension's storage exists" in texts(found, "note")
    assert (
        "~/.cline/data/sessions  (default; CLINE_DIR, CLINE_DATA_DIR and CLINE_SESSION_DATA_DIR are not set)"
        in texts(found)
    )
    assert not [one for one in found if one.level == "broken"]


def test_installed_without_sessions(clinic: Clinic) -> None:
    clinic.sessions.mkdir(parents=True)
    found = clinic.examine()
    assert "installed: ~/.cline (default)" in texts(found, "ok")
    assert "none yet" in texts(found, "note")
    assert "backstory demo" in texts(found, "note")


def test_only_tasks_from_before_4_0(clinic: Clinic) -> None:
    tasks = clinic.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"
    for number in range(3):
        (tasks / str(number)).mkdir(parents=True)
    found = clinic.examine()
    assert "installed: extension storage of Code" in texts(found, "ok")
    assert "3 tasks from before Cline 4.0 are not read" in texts(found, "note")
    assert "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks" in texts(found, "note")


def test_an_override_points_elsewhere(clinic: Clinic) -> None:
    clinic.copy("basic-act")
    found = clinic.examine(CLINE_DATA_DIR="/nowhere")
    assert "/nowhere/sessions  (CLINE_DATA_DIR) does not exist, but ~/.cline/data/sessions does" in texts(
        found, "look"
    )
    assert "unset CLINE_DATA_DIR" in texts(found, "look")


def test_sessions_found(clinic: Clinic) -> None:
    clinic.copy("basic-act")
    clinic.copy("team")
    found = clinic.examine()
    assert "\t2 folders, " in texts(found, "ok")
    assert "2 read whole" in texts(found, "ok")
    assert "integrity checked" in texts(found, "ok")
    assert not texts(found, "look")


def test_every_file_that_was_left_out_is_named(clinic: Clinic) -> None:
    clinic.copy("basic-act")
    (clinic.sessions / "sessions.index.json").write_text("{}")
    cut = GrowingSession(clinic.sessions, "1796026900001_cut01")
    cut.put(growing_states()[30][:-200])
    torn = GrowingSession(clinic.sessions, "1796026900002_torn1")
    torn.messages.write_bytes(growing_states()[30][:9000])
    os.utime(torn.messages, ns=(NOW * 10**6, NOW * 10**6))
    outside = clinic.home / "outside.messages.json"
    outside.write_bytes(growing_states()[3])
    linked = clinic.sessions / "1796026900003_link1"
    linked.mkdir()
    (linked / "1796026900003_link1.json").write_text('{"session_id": "x", "prompt": "hello"}')
    (linked / "1796026900003_link1.messages.json").symlink_to(outside)
    found = clinic.examine()
    assert "1 plain file among the folders, ignored: sessions.index.json" in texts(found, "note")
    looks = texts(found, "look")
    assert "1 cut at the end, read up to message 29" in looks
    assert "1796026900001_cut01/1796026900001_cut01.messages.json\t" in looks
    assert "1796026900002_torn1/1796026900002_torn1.messages.json\t9.0 KB" in looks
    assert "a link that leads out of the session folder" in looks
    assert "1 read whole" in texts(found, "ok")


def as_nobody(work: Callable[[], str]) -> str:
    """Run in a child process without the rights of root, and return what it says."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writer, work().encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return said


def test_a_file_without_permission_is_named_and_the_rest_is_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        clinic = Clinic(Path(folder))
        clinic.copy("basic-act")
        clinic.copy("team")
        clinic.examine()
        shutil.rmtree(clinic.home / "backstory")
        locked = clinic.sessions / "1796026012127_2js90" / "1796026012127_2js90.messages.json"
        locked.chmod(0)
        for path in (clinic.home, *clinic.home.rglob("*")):
            os.chown(path, 65534 if os.geteuid() == 0 else -1, -1)
        looks = as_nobody(lambda: texts(clinic.examine(), "look"))
    assert "1 not readable: permission denied" in looks
    assert "1796026012127_2js90/1796026012127_2js90.messages.json" in looks
    assert "chmod u+r it, then run backstory capture --once" in looks


def test_unknown_kinds_and_refused_values_are_counted(clinic: Clinic) -> None:
    odd = GrowingSession(clinic.sessions)
    odd.document(
        [
            {"id": "a", "role": "assistant", "ts": NOW, "content": [{"type": "hologram", "x": 1}] * 3},
            {
                "id": "b",
                "role": "assistant",
                "ts": NOW,
                "content": "x",
                "metrics": {"inputTokens": -5, "cost": "dear"},
            },
        ]
    )
    found = clinic.examine()
    assert "block:hologram (3 times)" in texts(found, "note")
    assert "2 values could not be used" in texts(found, "look")
    assert "/messages/1/metrics/inputTokens: -5" in texts(found, "look")


def test_gone_and_forgotten_are_counted(clinic: Clinic) -> None:
    clinic.copy("basic-act")
    clinic.copy("team")
    clinic.examine()
    shutil.rmtree(clinic.sessions / "1796026012127_2js90")
    with Archive(env=clinic.env) as archive:
        archive.sync()
        archive.forget("1796026326034_5a6fp")
    found = texts(clinic.examine(), "note")
    assert "1 session is gone from Cline's folder and kept here" in found
    assert "1 session was forgotten" in found


def test_the_memory_is_told_how_much_since_when_and_what_is_left(clinic: Clinic) -> None:
    clinic.sessions.mkdir(parents=True)
    assert "nothing is learned" in texts(clinic.examine(), "note")
    build = Session(clinic.sessions)
    build.prompt("Begin")
    build.write()
    assert "backstory learn keeps what was asked" in texts(clinic.examine(), "note")
    with Archive(env=clinic.env, now=lambda: NOW) as archive:
        archive.memory.learn()
    found = clinic.examine()
    assert "1 conversation, 1 exchange, learning since 2027-01-15" in texts(found, "ok")
    assert "not learned" not in texts(found)
    build.prompt("Go on")
    build.write()
    assert "1 session is not learned as it is now" in texts(clinic.examine(), "note")
    with Archive(env=clinic.env, now=lambda: NOW) as archive:
        archive.memory.forget(archive.memory.forgettable(session_id=build.session_id))
    assert "not learned as it is now" not in texts(clinic.examine())


@pytest.mark.parametrize("width", range(60, 100))
def test_a_command_is_not_broken_over_two_lines(width: int) -> None:
    advice = "Move ~/.backstory/archive.db away and run backstory capture --once: what Cline still has is read again."
    finding = Finding("Archive", "look", "damaged", (), advice)
    lines = [plain(line) for line in draw_findings(View(now=NOW, width=width), [finding])]
    assert sum("backstory capture --once" in line for line in lines) == 1
    assert " ".join(" ".join(lines).split()).count(advice) == 1
    assert all(len(line) <= width for line in lines)
