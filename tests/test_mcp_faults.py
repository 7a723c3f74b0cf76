"""The MCP server when something is wrong with the archive, the disk or ourselves: it says so and lives on."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import memory_server as server
import pytest
from memory_server import TALE, Live, asked, call, lines, request, text_of


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that no test changes."""
    return server.learned(tmp_path_factory.mktemp("memory") / "home")


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(home, tmp_path / "home"))


def test_a_locked_archive_is_read_and_says_that_it_cannot_be_written(own: Path) -> None:
    holder = sqlite3.connect(own / "backstory/archive.db", isolation_level=None)
    server.mended(own / ".cline/data/sessions", "1796050000000_newer")
    try:
        with Live(own) as live:
            assert "conversation/" in live.tool("recall", query="greeting")
            holder.execute("BEGIN IMMEDIATE")
            assert "another process is writing" in live.tool("remember", text="A fact.", failed=True)
            assert "conversation/" in live.tool("recall", query="greeting")
            usage = live.tool("usage", project="*")
            assert "those of the last pass, not of now" in usage
            holder.execute("ROLLBACK")
            assert "fact/1" in live.tool("remember", text="A fact.")
    finally:
        holder.close()


def test_a_broken_archive_is_an_error_and_a_mended_one_is_used_again(own: Path) -> None:
    path = own / "backstory/archive.db"
    sound = path.read_bytes()
    with Live(own) as live:
        for beside in path.parent.glob("archive.db-*"):
            beside.unlink()
        path.write_bytes(b"no database at all" * 1000)
        assert "archive" in live.tool("recall", query="greeting", failed=True)
        assert live.ask(request("ping"))["result"] == {}
        path.write_bytes(sound)
        assert "conversation/" in live.tool("recall", query="greeting")


def test_an_archive_that_breaks_while_it_is_open_is_an_error(own: Path) -> None:
    path = own / "backstory/archive.db"
    with Live(own) as live:
        assert "conversation/" in live.tool("recall", query="greeting")
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        os.utime(path)
        assert "disk image is malformed" in live.tool("open", source=TALE, failed=True)
        assert "archive" in live.tool("open", source=TALE, failed=True)
        assert live.ask(request("ping"))["result"] == {}


def test_an_archive_that_was_replaced_is_opened_anew(own: Path, tmp_path: Path) -> None:
    path = own / "backstory/archive.db"
    with Live(own) as live:
        assert "conversation/" in live.tool("recall", query="greeting")
        for file in path.parent.glob("archive.db*"):
            file.rename(tmp_path / file.name)
        assert "Nothing is learned yet" in live.tool("recall", query="greeting")


def test_a_home_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "backstory").write_text("a file where the folder belongs")
    answer, pong = asked(tmp_path, call("recall", query="x"), request("ping", id_=2))
    assert "archive" in text_of(answer, failed=True)
    assert pong["id"] == 2


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are set the POSIX way")
def test_a_full_disk_is_an_error_and_reading_goes_on(own: Path) -> None:
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "from backstory.cli.main import main\nmain(['mcp'])"
    )
    with Live(own, [sys.executable, "-c", code]) as live:
        text = " ".join(f"fact{number}" for number in range(2000))
        assert "disk" in live.tool("remember", text=text, failed=True)
        assert "conversation/" in live.tool("recall", query="greeting")
        assert "Nothing fits" in live.tool("recall", query="fact17")


def test_settings_that_are_broken_are_named(own: Path) -> None:
    (own / "backstory/config.toml").write_text("idle_minutes = 'soon'")
    (answer,) = asked(own, call("recall", query="x"))
    assert "config.toml" in text_of(answer, failed=True)


def test_a_fault_of_ours_is_an_error_and_the_server_lives_on(own: Path) -> None:
    """Brought about by an archive that somebody changed by hand."""
    with sqlite3.connect(own / "backstory/archive.db") as connection:
        connection.execute("UPDATE exchange SET asked = x'00', paths = x'01'")
    connection.close()
    broken, pong = asked(own, call("open", source=TALE), request("ping", id_=2))
    assert "Something broke in Backstory (" in text_of(broken, failed=True)
    assert pong["id"] == 2


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the working folder of a process cannot go")
def test_the_folder_of_the_client_may_be_gone(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    code = f"import os\nos.rmdir({str(place)!r})\nfrom backstory.cli.main import main\nmain(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=lines(call("recall", query="greeting")),
        capture_output=True,
        cwd=place,
        env=server.environment(home),
        timeout=server.LIMIT,
        check=True,
    )
    assert "conversation/" in text_of(server.frames(done.stdout)[0])


def test_a_client_that_works_nowhere_is_told_of_all_projects(home: Path) -> None:
    recent, usage = asked(home, call("recent", 1, limit=1), call("usage", 2), folder=Path(home.anchor))
    assert "The newest exchanges of all projects" in text_of(recent)
    assert text_of(usage).startswith("All projects, ")


def test_two_servers_share_an_archive(own: Path) -> None:
    with Live(own) as one, Live(own) as other:
        one.tool("remember", text="Shared between both.")
        assert "fact/1" in other.tool("recall", query="shared between")
        other.tool("forget", source="fact/1")
        assert "fact/1" not in one.tool("recall", query="shared between")
