"""Killed at any moment, the archive opens, holds whole sessions only, and the next pass completes it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from growth import GrowingSession, conversation

from backstory import Archive, read_session

KILLS = 50
SESSIONS = 60
INGEST = "import sys; from backstory import Archive; print('go', flush=True); Archive(sys.argv[1]).sync([sys.argv[2]])"


def tree(root: Path) -> dict[str, int]:
    """Sessions on disk, and how many steps each has."""
    rng = random.Random(7)
    expected = {}
    for number in range(SESSIONS):
        session = GrowingSession(root, f"17960269{number:05d}_kill{number % 10}")
        session.document(conversation(rng, 12))
        expected[session.id] = len(read_session(session.folder, env={}).steps)
    return expected


def run_and_kill(archive: Path, sessions: Path, delay: float) -> bool:
    """Ingest in a process of its own and kill it after a delay; true when it was still at work."""
    process = subprocess.Popen(
        [sys.executable, "-c", INGEST, str(archive), str(sessions)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    running = process.poll() is None
    if running:
        os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    process.stdout.close()
    return running


def test_fifty_kills_leave_whole_sessions(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    expected = tree(sessions)
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", INGEST, str(tmp_path / "probe" / "a.db"), str(sessions)], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    whole_run = time.monotonic() - started
    rng = random.Random(11)
    killed_at_work = 0
    archive = tmp_path / "home" / "archive.db"
    for _ in range(KILLS):
        if rng.random() < 0.2:
            shutil.rmtree(archive.parent, ignore_errors=True)
        killed_at_work += run_and_kill(archive, sessions, rng.uniform(0, whole_run * 0.8))
        if not archive.exists():
            continue
        with Archive(archive, env={}) as opened:
            assert opened.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            for one in opened.sessions(limit=None):
                assert len(opened.record(one.session.id).steps) == expected[one.session.id]
    assert killed_at_work >= KILLS // 4
    with Archive(archive, env={}) as opened:
        opened.sync([sessions])
        assert {one.session.id: one.session.totals.steps for one in opened.sessions(limit=None)} == expected
        opened.connection.execute("INSERT INTO doc (doc) VALUES ('integrity-check')")


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    expected = tree(sessions)
    archive = tmp_path / "home" / "archive.db"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", INGEST, str(archive), str(sessions)], stdout=subprocess.DEVNULL
        )
        for _ in range(3)
    ]
    assert [process.wait(timeout=120) for process in both] == [0, 0, 0]
    with Archive(archive, env={}) as opened:
        assert {one.session.id: one.session.totals.steps for one in opened.sessions(limit=None)} == expected
        (rows,) = opened.connection.execute("SELECT count(*) FROM step").fetchone()
        assert rows == sum(expected.values())
