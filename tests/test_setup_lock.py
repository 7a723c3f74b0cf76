"""Cline's own lock is taken as Cline takes it: never seen empty, waited for, taken over when stale, always left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from connected import Place

from backstory.clients import lock, setup
from backstory.clients.lock import Clock
from backstory.errors import ClientError


class Time(Clock):
    """A clock that runs only when somebody sleeps; what is due happens then."""

    def __init__(self, start: float, due: float = float("inf")) -> None:
        self.at = start
        self.end = start + due
        self.slept: list[float] = []
        super().__init__(lambda: self.at, self.sleeping)
        self.happens = lambda: None

    def sleeping(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        if self.at >= self.end:
            self.happens()


def taken(settings: Path, age: float = 0.0) -> Path:
    """The lock of a settings file as Cline leaves it on disk while it writes."""
    folder = settings.with_name(settings.name + ".lock")
    folder.mkdir(parents=True)
    (folder / "owner.1.2.x").write_text("1.2.x")
    then = time.time() - age
    os.utime(folder, (then, then))
    return folder


def test_the_lock_is_a_folder_with_the_owner_s_mark(tmp_path: Path) -> None:
    settings = tmp_path / "s.json"
    with lock.held(settings):
        (mark,) = (tmp_path / "s.json.lock").iterdir()
        assert mark.name == f"owner.{mark.read_text()}"
        assert [path.name for path in tmp_path.iterdir()] == ["s.json.lock"]
    assert list(tmp_path.iterdir()) == []


def test_it_is_left_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lock.held(tmp_path / "s.json"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_held_is_waited_for_and_then_refused(place: Place) -> None:
    folder = taken(place.settings)
    files = place.files()
    clock = Time(time.time())
    # The lock stays fresh, as one that its owner goes on holding.
    with pytest.raises(ClientError, match=r"is locked by another program .*Nothing was changed; try again\."):
        setup.setup(place.client, place.here(), FreshClock(folder, clock))
    assert place.files() == files
    assert 10 <= sum(clock.slept) < 11


def test_a_lock_that_is_waited_for_is_told_once_after_a_second(place: Place) -> None:
    folder = taken(place.settings)
    clock = Time(time.time())
    told: list[tuple[Path, float]] = []

    def waiting(lock: Path) -> None:
        told.append((lock, sum(clock.slept)))

    with pytest.raises(ClientError):
        setup.setup(place.client, place.here(), FreshClock(folder, clock), waiting=waiting)
    ((lock, after),) = told
    assert lock == folder
    assert 1 < after < 1.2


def test_a_fresh_lock_that_is_still_empty_is_its_writer_s(tmp_path: Path) -> None:
    folder = tmp_path / "s.json.lock"
    folder.mkdir()
    clock = Time(time.time())
    with pytest.raises(ClientError), lock.held(tmp_path / "s.json", FreshClock(folder, clock)):
        pass
    assert list(tmp_path.iterdir()) == [folder]
    os.utime(folder, (1, 1))
    with lock.held(tmp_path / "s.json"):
        assert len(list(folder.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


class FreshClock(Clock):
    """Keeps a lock young by the time that passes."""

    def __init__(self, folder: Path, clock: Time) -> None:
        def sleep(seconds: float) -> None:
            clock.sleeping(seconds)
            os.utime(folder, (clock.at, clock.at))

        super().__init__(clock.now, sleep)


def test_a_lock_that_is_left_in_time_is_taken(place: Place) -> None:
    folder = taken(place.settings)
    clock = Time(time.time(), due=3.0)

    def leave() -> None:
        if folder.exists():
            (folder / "owner.1.2.x").unlink()
            folder.rmdir()
            place.write({"mcpServers": {"written": {"command": "meanwhile"}}})

    clock.happens = leave
    setup.setup(place.client, place.here(), clock)
    assert list(place.servers()) == ["written", "backstory"]
    assert [path.name for path in place.settings.parent.iterdir()] == [place.settings.name]


def test_a_stale_lock_is_taken_over(place: Place) -> None:
    taken(place.settings, age=11.0)
    setup.setup(place.client, place.here())
    assert place.servers() == {"backstory": place.entry()}
    assert [path.name for path in place.settings.parent.iterdir()] == [place.settings.name]


def test_a_lock_that_another_writer_took_over_is_not_removed(tmp_path: Path) -> None:
    settings = tmp_path / "s.json"
    folder = tmp_path / "s.json.lock"
    with lock.held(settings):
        for mark in folder.iterdir():
            mark.unlink()
        (folder / "owner.theirs").write_text("theirs")
    assert [path.name for path in folder.iterdir()] == ["owner.theirs"]


def test_many_writers_lose_nothing_of_each_other(tmp_path: Path) -> None:
    settings = tmp_path / "s.json"
    settings.write_text("0")

    def count() -> None:
        for _ in range(20):
            with lock.held(settings):
                settings.write_text(str(int(settings.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert settings.read_text() == "80"
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_setups_at_the_same_time_write_one_entry(place: Place) -> None:
    place.write({"mcpServers": {"a": {"command": "x"}}})
    env = {**os.environ, "HOME": str(place.home)}
    words = [sys.orig_argv[0], "-m", "backstory", "setup", "cline", "--json"]
    runs = [
        subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    for run in runs:
        run.wait(60)
    text = place.settings.read_text()
    assert text.count('"backstory": {') == 1
    assert list(json.loads(text)["mcpServers"]) == ["a", "backstory"]
    assert [path.name for path in place.settings.parent.iterdir()] == [place.settings.name]


def test_a_dead_lock_that_is_a_file_leaves_nothing_behind(place: Place) -> None:
    place.write({"mcpServers": {}})
    left = place.settings.with_name(place.settings.name + ".lock")
    left.write_text("x")
    os.utime(left, (1, 1))
    setup.setup(place.client, place.here())
    assert [path.name for path in place.settings.parent.iterdir()] == [place.settings.name]
