"""Paths of a distribution and of Windows, mapped both ways as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.clients.wsl.paths import Inside, PathContext, split

UBUNTU = PathContext("Ubuntu-22.04")


@pytest.mark.parametrize(
    ("windows", "linux"),
    [
        ("\\\\wsl.localhost\\Ubuntu-22.04\\home\\dev\\app", "/home/dev/app"),
        ("\\\\wsl$\\Ubuntu-22.04\\home\\dev\\app", "/home/dev/app"),
        ("\\\\WSL$\\ubuntu-22.04\\home\\dev\\App", "/home/dev/App"),
        ("\\\\?\\UNC\\wsl.localhost\\Ubuntu-22.04\\home", "/home"),
        ("//wsl.localhost/Ubuntu-22.04/home/dev", "/home/dev"),
        ("\\\\wsl.localhost\\Ubuntu-22.04\\", "/"),
        ("\\\\wsl.localhost\\Ubuntu-22.04", "/"),
        ("C:\\Users\\dev\\app", "/mnt/c/Users/dev/app"),
        ("d:/work", "/mnt/d/work"),
        ("C:\\", "/mnt/c"),
        ("\\\\?\\C:\\Users", "/mnt/c/Users"),
        ("/home/dev/app", "/home/dev/app"),
        ("relative/path", "relative/path"),
        ("\\\\server\\share\\x", "\\\\server\\share\\x"),
    ],
)
def test_a_windows_path_in_the_distribution(windows: str, linux: str) -> None:
    assert UBUNTU.to_distribution(windows) == linux


def test_a_path_of_another_distribution_is_none_of_this_one() -> None:
    assert UBUNTU.to_distribution("\\\\wsl.localhost\\Debian\\home") is None


@pytest.mark.parametrize(
    ("linux", "windows"),
    [
        (
            "/home/dev/.cline/data/sessions",
            "\\\\wsl.localhost\\Ubuntu-22.04\\home\\dev\\.cline\\data\\sessions",
        ),
        ("/", "\\\\wsl.localhost\\Ubuntu-22.04\\"),
        ("/mnt/c/Users/dev", "C:\\Users\\dev"),
        ("/mnt/c", "C:\\"),
        ("/mnt/wsl/x", "\\\\wsl.localhost\\Ubuntu-22.04\\mnt\\wsl\\x"),
        ("/mnt", "\\\\wsl.localhost\\Ubuntu-22.04\\mnt"),
    ],
)
def test_a_path_of_the_distribution_on_windows(linux: str, windows: str) -> None:
    assert UBUNTU.to_host(linux) == windows


def test_drives_may_be_elsewhere() -> None:
    context = PathContext("D", "/")
    assert context.to_host("/c/Users") == "C:\\Users"
    assert context.to_distribution("C:\\Users") == "/c/Users"
    assert context.to_host("/mnt/c/Users") == "\\\\wsl.localhost\\D\\mnt\\c\\Users"


@given(st.lists(st.text(st.characters(blacklist_characters="/\\\0", codec="utf-8"), min_size=1), max_size=4))
def test_there_and_back(parts: list[str]) -> None:
    path = "/home/" + "/".join(parts)
    assert UBUNTU.to_distribution(UBUNTU.to_host(path)) == path


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("\\\\wsl$\\Debian\\srv\\x", Inside("Debian", "/srv/x")),
        ("//WSL.LOCALHOST/Debian", Inside("Debian", "/")),
        ("\\\\wsl.localhost", None),
        ("\\\\server\\wsl$\\x", None),
        ("/wsl$/x", None),
        ("C:\\wsl$\\x", None),
    ],
)
def test_a_share_is_split(path: str, found: Inside | None) -> None:
    assert split(path) == found
