"""Where setup writes on Linux, macOS and Windows, and that nothing of it needs POSIX."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from backstory.clients.table import client

PACKAGE = Path(__file__).parent.parent / "src" / "backstory"
CLIENTS = sorted((PACKAGE / "clients").rglob("*.py"))
CLINE = client("cline")
POSIX = {"HOME": "/home/dev"}
MAC = {"HOME": "/Users/dev"}
WINDOWS = {
    "USERPROFILE": "C:\\Users\\dev",
    "HOME": "/c/Users/dev",
    "APPDATA": "C:\\Users\\dev\\AppData\\Roaming",
}
FILE = "cline_mcp_settings.json"


@pytest.mark.parametrize(
    ("platform", "env", "settings", "rule"),
    [
        ("linux", POSIX, f"/home/dev/.cline/data/settings/{FILE}", "/home/dev/.cline/rules/backstory.md"),
        ("darwin", MAC, f"/Users/dev/.cline/data/settings/{FILE}", "/Users/dev/.cline/rules/backstory.md"),
        (
            "win32",
            WINDOWS,
            f"C:\\Users\\dev\\.cline\\data\\settings\\{FILE}",
            "C:\\Users\\dev\\.cline\\rules\\backstory.md",
        ),
        (
            "win32",
            {**WINDOWS, "CLINE_DIR": "D:\\c"},
            f"D:\\c\\data\\settings\\{FILE}",
            "D:\\c\\rules\\backstory.md",
        ),
        (
            "linux",
            {**POSIX, "CLINE_DATA_DIR": " /d "},
            f"/d/settings/{FILE}",
            "/home/dev/.cline/rules/backstory.md",
        ),
        ("linux", {**POSIX, "CLINE_DIR": "/x"}, f"/x/data/settings/{FILE}", "/x/rules/backstory.md"),
        (
            "darwin",
            {**MAC, "CLINE_MCP_SETTINGS_PATH": "/m.json", "CLINE_DATA_DIR": "/d"},
            "/m.json",
            "/Users/dev/.cline/rules/backstory.md",
        ),
        ("linux", {**POSIX, "CLINE_MCP_SETTINGS_PATH": " "}, f"/home/dev/.cline/data/settings/{FILE}", None),
    ],
)
def test_settings_and_rule(platform: str, env: dict[str, str], settings: str, rule: str | None) -> None:
    assert CLINE.settings(env, platform).path == settings
    assert rule is None or CLINE.rule(env, platform).path == rule


@pytest.mark.parametrize(
    ("platform", "env", "old", "rule"),
    [
        ("linux", POSIX, "/home/dev/.config/Code/User/globalStorage", "/home/dev/.clinerules/backstory.md"),
        (
            "darwin",
            MAC,
            "/Users/dev/Library/Application Support/Code/User/globalStorage",
            "/Users/dev/.clinerules/backstory.md",
        ),
        (
            "win32",
            WINDOWS,
            "C:\\Users\\dev\\AppData\\Roaming\\Code\\User\\globalStorage",
            "C:\\Users\\dev\\.clinerules\\backstory.md",
        ),
    ],
)
def test_old_places(platform: str, env: dict[str, str], old: str, rule: str) -> None:
    slash = "\\" if platform == "win32" else "/"
    place = slash.join([old, "saoudrizwan.claude-dev", "settings", FILE])
    assert place in CLINE.old_settings(env, platform)
    assert CLINE.old_rules(env, platform) == [rule]
    assert slash.join([old, "saoudrizwan.claude-dev"]) in [path for path, _ in CLINE.installed(env, platform)]


def test_the_table_names_the_store_here_and_in_a_distribution() -> None:
    assert CLINE.store(WINDOWS, "win32").path == "C:\\Users\\dev\\.cline\\data\\sessions"
    assert CLINE.store({**POSIX, "CLINE_DATA_DIR": "/d"}, "linux").path == "/d/sessions"
    assert CLINE.store({**POSIX, "CLINE_SESSION_DATA_DIR": "/s"}, "linux").path == "/s"
    assert (CLINE.inside.variable, CLINE.inside.folder, CLINE.inside.store) == (
        "CLINE_DIR",
        ".cline",
        "data/sessions",
    )


NOT_ON_WINDOWS = {"fcntl", "grp", "pwd", "pty", "resource", "termios", "tty", "posix", "readline", "syslog"}
CALLS = {
    "chown",
    "fchmod",
    "fchown",
    "getuid",
    "geteuid",
    "getgid",
    "fork",
    "killpg",
    "setsid",
    "umask",
    "O_DIRECTORY",
}


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nothing_that_needs_posix_is_imported_or_called_unguarded(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert not imported & NOT_ON_WINDOWS
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "os.name == 'posix'"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            assert node.attr not in CALLS or id(node) in guarded, f"{path.name}:{node.lineno}: os.{node.attr}"


WITHOUT = """\
import os, sys
for name in {modules!r}:
    sys.modules[name] = None
for name in {calls!r}:
    if hasattr(os, name):
        delattr(os, name)
import backstory.cli.setup, backstory.cli.disconnect, backstory.cli.clients, backstory.cli.wsl
import backstory.clients.wsl.register, backstory.clients.health
print("imported")
"""


def test_all_of_it_is_imported_where_posix_is_missing(tmp_path: Path) -> None:
    # `subprocess` itself loads these on POSIX; on Windows it has no need of them.
    code = "import subprocess, tempfile, shutil, pathlib\n" + WITHOUT.format(
        modules=sorted(NOT_ON_WINDOWS - {"posix"}), calls=sorted(CALLS)
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("imported\n", "")
