"""Where Cline keeps its data, resolved exactly as Cline resolves it (FORMAT.md section 1).

Pure functions of an environment and a platform; nothing here touches the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from msgspec import Struct

EXTENSION_ID = "saoudrizwan.claude-dev"
MCP_SETTINGS = "cline_mcp_settings.json"
EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


class Resolved(Struct, frozen=True):
    """A folder and the rule that named it: a variable's name, or `default`."""

    path: str
    rule: str


def value(env: Mapping[str, str], name: str) -> str | None:
    """A variable as Cline reads it: trimmed, and unset when nothing is left."""
    return env.get(name, "").strip() or None


def home(env: Mapping[str, str], *, windows: bool = False) -> str:
    """The home directory: `USERPROFILE` on Windows, `HOME` elsewhere."""
    name = "USERPROFILE" if windows else "HOME"
    return value(env, name) or str(Path.home())


def join(base: str, *parts: str, windows: bool) -> str:
    """A path of that flavour, whatever machine this is."""
    flavour: type[PurePath] = PureWindowsPath if windows else PurePosixPath
    return str(flavour(base, *parts))


def cline_dir(env: Mapping[str, str], *, windows: bool = False) -> Resolved:
    """Cline's own folder: `CLINE_DIR`, else `.cline` in the home. No `~` is expanded."""
    if named := value(env, "CLINE_DIR"):
        return Resolved(named, "CLINE_DIR")
    return Resolved(join(home(env, windows=windows), ".cline", windows=windows), "default")


def data_dir(env: Mapping[str, str], *, windows: bool = False) -> Resolved:
    """The data folder: `CLINE_DATA_DIR`, else `data` in Cline's folder."""
    if named := value(env, "CLINE_DATA_DIR"):
        return Resolved(named, "CLINE_DATA_DIR")
    base = cline_dir(env, windows=windows)
    return Resolved(join(base.path, "data", windows=windows), base.rule)


def sessions_dir(env: Mapping[str, str], *, windows: bool = False) -> Resolved:
    """The sessions folder: `CLINE_SESSION_DATA_DIR`, else `sessions` in the data folder."""
    if named := value(env, "CLINE_SESSION_DATA_DIR"):
        return Resolved(named, "CLINE_SESSION_DATA_DIR")
    base = data_dir(env, windows=windows)
    return Resolved(join(base.path, "sessions", windows=windows), base.rule)


def global_settings(env: Mapping[str, str], *, windows: bool = False) -> str:
    """The command line's settings file, with `toolAutoApprove`."""
    if named := value(env, "CLINE_GLOBAL_SETTINGS_PATH"):
        return named
    data = data_dir(env, windows=windows).path
    return join(data, "settings", "global-settings.json", windows=windows)


def global_state(env: Mapping[str, str], *, windows: bool = False) -> str:
    """The extension's state file, with `autoApprovalSettings`."""
    return join(data_dir(env, windows=windows).path, "globalState.json", windows=windows)


def mcp_settings(env: Mapping[str, str], *, windows: bool = False) -> Resolved:
    """The settings of MCP servers: `CLINE_MCP_SETTINGS_PATH`, else a file in the data folder."""
    if named := value(env, "CLINE_MCP_SETTINGS_PATH"):
        return Resolved(named, "CLINE_MCP_SETTINGS_PATH")
    base = data_dir(env, windows=windows)
    return Resolved(join(base.path, "settings", MCP_SETTINGS, windows=windows), base.rule)


def rules_dir(env: Mapping[str, str], *, windows: bool = False) -> Resolved:
    """The folder of the rules that hold in every project; it follows `CLINE_DIR` alone."""
    base = cline_dir(env, windows=windows)
    return Resolved(join(base.path, "rules", windows=windows), base.rule)


def old_rules_dir(env: Mapping[str, str], *, windows: bool = False) -> str:
    """`.clinerules` in the home folder: a folder of workspace rules, which no Cline reads for other projects."""
    return join(home(env, windows=windows), ".clinerules", windows=windows)


def old_mcp_settings(env: Mapping[str, str], platform: str) -> list[str]:
    """Where extensions before 4.0 kept the settings of MCP servers, in each editor."""
    windows = platform == "win32"
    storage = extension_storage(env, platform)
    return [join(place, "settings", MCP_SETTINGS, windows=windows) for place in storage]


def is_chat_workspace(cwd: str, data: str | None = None) -> bool:
    """Whether a recorded folder is the chat workspace, here or on the machine that wrote it."""
    plain = cwd.replace("\\", "/").rstrip("/")
    if data is not None and plain == data.replace("\\", "/").rstrip("/") + "/workspaces/chat":
        return True
    return plain.endswith("/.cline/data/workspaces/chat")


def project_name(cwd: str | None) -> str | None:
    """The label of a folder as recorded: its last part, Windows paths included."""
    if not cwd:
        return None
    windows = "\\" in cwd and (not cwd.startswith("/"))
    path: PurePath = PureWindowsPath(cwd) if windows else PurePosixPath(cwd)
    return path.name or None


def extension_storage(env: Mapping[str, str], platform: str) -> list[str]:
    """The extension's storage folders in the editors that may carry it, for the doctor."""
    windows = platform == "win32"
    base = home(env, windows=windows)
    if windows:
        roaming = value(env, "APPDATA") or join(base, "AppData", "Roaming", windows=True)
        parents = [join(roaming, editor, windows=True) for editor in EDITORS]
    elif platform == "darwin":
        support = join(base, "Library", "Application Support", windows=False)
        parents = [join(support, editor, windows=False) for editor in EDITORS]
    else:
        config = value(env, "XDG_CONFIG_HOME") or join(base, ".config", windows=False)
        parents = [join(config, editor, windows=False) for editor in EDITORS]
        parents.append(join(base, ".vscode-server", "data", windows=False))
    return [join(parent, "User", "globalStorage", EXTENSION_ID, windows=windows) for parent in parents]
