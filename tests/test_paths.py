"""Where Cline keeps its data: Cline's own rules, on Linux, macOS and Windows, without touching the disk."""

from __future__ import annotations

import pytest

from backstory.sources.cline import paths
from backstory.sources.cline.source import ClineSource

HOME = {"HOME": "/home/dev"}


@pytest.mark.parametrize(
    ("env", "path", "rule"),
    [
        ({}, "/home/dev/.cline/data/sessions", "default"),
        ({"CLINE_DIR": "/x"}, "/x/data/sessions", "CLINE_DIR"),
        ({"CLINE_DIR": "  /x  "}, "/x/data/sessions", "CLINE_DIR"),
        ({"CLINE_DIR": "   "}, "/home/dev/.cline/data/sessions", "default"),
        ({"CLINE_DIR": "~/x"}, "~/x/data/sessions", "CLINE_DIR"),
        ({"CLINE_DIR": "/x", "CLINE_DATA_DIR": "/d"}, "/d/sessions", "CLINE_DATA_DIR"),
        ({"CLINE_DATA_DIR": "", "CLINE_DIR": "/x"}, "/x/data/sessions", "CLINE_DIR"),
        ({"CLINE_DATA_DIR": "/d", "CLINE_SESSION_DATA_DIR": "/s"}, "/s", "CLINE_SESSION_DATA_DIR"),
        ({"CLINE_SESSION_DATA_DIR": "relative/s"}, "relative/s", "CLINE_SESSION_DATA_DIR"),
    ],
)
def test_sessions_folder(env: dict[str, str], path: str, rule: str) -> None:
    found = paths.sessions_dir({**HOME, **env})
    assert (found.path, found.rule) == (path, rule)


def test_windows_takes_the_profile_and_not_a_home_of_a_shell() -> None:
    env = {"USERPROFILE": "C:\\Users\\dev", "HOME": "/c/Users/dev"}
    assert paths.sessions_dir(env, windows=True).path == "C:\\Users\\dev\\.cline\\data\\sessions"
    assert paths.global_state(env, windows=True) == "C:\\Users\\dev\\.cline\\data\\globalState.json"


def test_other_files() -> None:
    assert paths.global_settings(HOME) == "/home/dev/.cline/data/settings/global-settings.json"
    assert paths.global_settings({**HOME, "CLINE_GLOBAL_SETTINGS_PATH": " /g.json "}) == "/g.json"


def test_which_folders_are_looked_at() -> None:
    source = ClineSource()
    named = {**HOME, "BACKSTORY_CLINE_DIR": "/b", "CLINE_DIR": "/x"}
    assert [(str(root.path), root.rule) for root in source.roots(named)] == [("/b", "BACKSTORY_CLINE_DIR")]
    assert [root.rule for root in source.roots({**HOME, "CLINE_DIR": "/x"})] == ["CLINE_DIR"]
    both = source.roots(named, [paths.Path("/one"), paths.Path("/two")])
    assert [str(root.path) for root in both] == ["/one", "/two"]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/dev/work/api-gateway", "api-gateway"),
        ("/home/dev/work/api-gateway/", "api-gateway"),
        ("C:\\Users\\Bob\\proj", "proj"),
        ("C:\\Users\\Bob\\proj\\", "proj"),
        ("\\\\wsl.localhost\\Ubuntu\\home\\bob\\app", "app"),
        ("/home/dev/odd\\name", "odd\\name"),
        ("sub", "sub"),
        ("/", None),
        ("", None),
        (None, None),
    ],
)
def test_a_project_is_named_by_its_folder_as_recorded(cwd: str | None, name: str | None) -> None:
    assert paths.project_name(cwd) == name


@pytest.mark.parametrize(
    ("cwd", "data", "chat"),
    [
        ("/home/dev/.cline/data/workspaces/chat", None, True),
        ("C:\\Users\\Bob\\.cline\\data\\workspaces\\chat", None, True),
        ("/moved/workspaces/chat", "/moved", True),
        ("/moved/workspaces/chat", None, False),
        ("/home/dev/work/chat", None, False),
    ],
)
def test_the_chat_workspace_is_no_project(cwd: str, data: str | None, chat: bool) -> None:
    assert paths.is_chat_workspace(cwd, data) is chat


@pytest.mark.parametrize(
    ("platform", "env", "place"),
    [
        ("linux", HOME, "/home/dev/.config/Code/User/globalStorage/saoudrizwan.claude-dev"),
        ("linux", {**HOME, "XDG_CONFIG_HOME": "/c"}, "/c/Cursor/User/globalStorage/saoudrizwan.claude-dev"),
        ("linux", HOME, "/home/dev/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev"),
        (
            "darwin",
            HOME,
            "/home/dev/Library/Application Support/VSCodium/User/globalStorage/saoudrizwan.claude-dev",
        ),
        (
            "win32",
            {"USERPROFILE": "C:\\U", "APPDATA": "C:\\U\\R"},
            "C:\\U\\R\\Windsurf\\User\\globalStorage\\saoudrizwan.claude-dev",
        ),
    ],
)
def test_the_extension_s_storage(platform: str, env: dict[str, str], place: str) -> None:
    assert place in paths.extension_storage(env, platform)
