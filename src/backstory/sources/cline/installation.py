"""Whether Cline is here, and where it keeps its sessions, in words for the doctor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...schema.words import megabytes, tilde
from ..base import Listing, Sighting
from . import paths

VARIABLES = ("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR")


def installed(env: Mapping[str, str], platform: str) -> list[Sighting]:
    """Cline's folders and the extension's storage; tasks of earlier versions are named, not read."""
    windows = platform == "win32"
    home = paths.home(env, windows=windows)
    places = (paths.cline_dir(env, windows=windows), paths.data_dir(env, windows=windows))
    here = [f"{tilde(place.path, home)} ({place.rule})" for place in places if Path(place.path).is_dir()]
    storage = [place for place in paths.extension_storage(env, platform) if Path(place).is_dir()]
    seen = here[:1]
    if storage:
        seen.append("extension storage of " + ", ".join(_editor(place) for place in storage))
    if seen:
        found = [Sighting("ok", "installed: " + ", ".join(seen))]
    else:
        text = f"not installed here: neither {tilde(places[0].path, home)} nor an extension's storage exists"
        found = [Sighting("note", text, advice="Install Cline, or set CLINE_DIR where it keeps its data")]
    old = {place: count for place in storage if (count := _tasks(place))}
    if old:
        text = f"{sum(old.values()):,} tasks from before Cline 4.0 are not read"
        found.append(Sighting("note", text, tuple(tilde(str(Path(place, "tasks")), home) for place in old)))
    return found


def _tasks(storage: str) -> int:
    try:
        with os.scandir(Path(storage, "tasks")) as entries:
            return sum(entry.is_dir() for entry in entries)
    except OSError:
        return 0


def _editor(storage: str) -> str:
    parts = Path(storage).parts
    return next((part for part in reversed(parts) if part in (*paths.EDITORS, ".vscode-server")), parts[-1])


def folder(listing: Listing, env: Mapping[str, str], platform: str) -> Sighting:
    """One sessions folder: the rule that named it, and what is in it."""
    windows = platform == "win32"
    home = paths.home(env, windows=windows)
    where, rule = tilde(str(listing.root.path), home), listing.root.rule
    named = f"sessions: {where}  ({_rule(env) if rule == 'default' else rule})"
    if listing.readable and not listing.sessions:
        return Sighting("note", f"{named}\tnone yet", advice="Use Cline once, or: backstory demo")
    if listing.readable:
        size = sum(stat.size for ref in listing.sessions for stat in ref.files.values())
        count = len(listing.sessions)
        folders = "1 folder" if count == 1 else f"{count:,} folders"
        return Sighting("ok", f"{named}\t{folders}, {megabytes(size)}")
    if listing.root.path.exists():
        return Sighting("broken", f"sessions: {where} cannot be listed", advice=f"chmod u+rx {where}")
    default = paths.sessions_dir({**env, **dict.fromkeys(VARIABLES, "")}, windows=windows).path
    if rule != "default" and Path(default).is_dir():
        other = tilde(default, home)
        text = f"sessions: {where}  ({rule}) does not exist, but {other} does"
        return Sighting("look", text, advice=f"unset {rule}, or name the folder: --sessions-dir {other}")
    text = f"{named} does not exist"
    return Sighting("note", text, advice="Use Cline once, or set CLINE_DIR where your sessions are")


def _rule(env: Mapping[str, str]) -> str:
    """The default rule, with the variables that could have named another folder."""
    unset = [name for name in VARIABLES if not paths.value(env, name)]
    if len(unset) < 2:
        return "default"
    return f"default; {', '.join(unset[:-1])} and {unset[-1]} are not set"
