"""Who approved a step: what was recorded, else what Cline's settings say (FORMAT.md section 9)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...errors import ReadError
from ...schema.step import Decision, DecisionSource, ErrorKind
from . import paths
from .files import read_json

EXTENSION_SURFACES = frozenset({"vscode", "jetbrains", "desktop", "neovim", "kanban"})
DEFAULT_ACTIONS = {
    "readFiles": True,
    "readFilesExternally": True,
    "editFiles": True,
    "editFilesExternally": True,
    "executeSafeCommands": False,
    "executeAllCommands": True,
    "useBrowser": True,
    "useMcp": True,
}
_CATEGORY = {
    "read_files": "readFiles",
    "search_codebase": "readFiles",
    "editor": "editFiles",
    "apply_patch": "editFiles",
    "run_commands": "executeAllCommands",
    "fetch_web_content": "useBrowser",
}


class Settings(Struct, frozen=True):
    """Cline's approval settings as they stand now; null means that nothing is recorded."""

    actions: dict[str, bool] | None = None
    tool_auto_approve: bool | None = None


class Policy:
    """How steps of one session are approved, as far as its manifest and the settings tell."""

    def __init__(self, surface: str | None, session: Any, settings: Settings) -> None:
        self.surface = surface
        self.session = session
        self.settings = settings
        self._known: dict[str, tuple[bool, DecisionSource]] = {}

    def decide(
        self, tool: str, error: ErrorKind | None, finished: bool
    ) -> tuple[Decision, DecisionSource | None]:
        """The decision on a call of `tool`. A call that has no result yet is only `auto`, or still open."""
        if error in ("denied", "blocked"):
            return "rejected", "denial"
        known = self._known.get(tool)
        if known is None:
            known = self._known[tool] = self._auto(tool)
        auto, source = known
        if auto:
            return "auto", source
        return ("accepted", source) if finished else ("n/a", None)

    def _auto(self, tool: str) -> tuple[bool, DecisionSource]:
        named = _named(self.session, tool)
        if named is not None:
            return named, "session"
        if self.surface in EXTENSION_SURFACES:
            category = _CATEGORY.get(tool, "useMcp" if "__" in tool else None)
            actions = self.settings.actions
            known = DEFAULT_ACTIONS if actions is None else actions
            source: DecisionSource = "default" if actions is None else "settings"
            if category is None:
                return True, source
            return known.get(category, DEFAULT_ACTIONS[category]), source
        if self.settings.tool_auto_approve is not None:
            return self.settings.tool_auto_approve, "settings"
        return True, "default"


def _named(session: Any, tool: str) -> bool | None:
    """What the manifest's `autoApproveTools` says: a switch, a list of tools, or a switch a tool."""
    if isinstance(session, bool):
        return session
    if isinstance(session, list):
        return tool in session
    if isinstance(session, dict):
        value = session.get(tool)
        return value if isinstance(value, bool) else None
    return None


def load_settings(env: Mapping[str, str]) -> Settings:
    """Read both settings files; one that is missing or broken says nothing."""
    windows = os.name == "nt"
    state = _object(paths.global_state(env, windows=windows)).get("autoApprovalSettings")
    actions = None
    if isinstance(state, dict) and isinstance(state.get("actions"), dict):
        enabled = state.get("enabled") is not False
        actions = {str(name): enabled and on is True for name, on in state["actions"].items()}
    switch = _object(paths.global_settings(env, windows=windows)).get("toolAutoApprove")
    return Settings(actions, switch if isinstance(switch, bool) else None)


def _object(where: str) -> dict[str, Any]:
    path = Path(where)
    try:
        value, _ = read_json(path, path.parent, [])
    except ReadError:
        return {}
    return value or {}
