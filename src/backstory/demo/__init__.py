"""Sample sessions to look around with, in the form in which Cline keeps its own.

The samples are made up. They show what Backstory can show: failures and what mended them, rejections, subagents,
a team, a fork, an import, a compaction, a session that runs at this moment, and one block that nobody knows.
"""

from __future__ import annotations

import json
from pathlib import Path

from .files import write
from .moments import Moments
from .stories import all_sessions

__all__ = ["load", "settings"]


def load(sessions_dir: Path, now: int) -> int:
    """Write the samples into Cline's folder of sessions, as of `now` (epoch ms); returns how many there are."""
    count = 0
    for session in all_sessions(Moments(now)):
        write(session, sessions_dir)
        count += 1
    return count


def settings(data_dir: Path) -> bool:
    """Write the approvals of the samples' extension where there are none; returns whether they were written.

    Edits and commands need a person's word there, so that the record can say who approved them.
    """
    path = data_dir / "globalState.json"
    if path.exists():
        return False
    actions = {
        "readFiles": True,
        "readFilesExternally": True,
        "editFiles": False,
        "editFilesExternally": False,
        "executeSafeCommands": False,
        "executeAllCommands": False,
        "useBrowser": True,
        "useMcp": True,
    }
    approvals = {
        "version": 1,
        "enabled": True,
        "favorites": [],
        "maxRequests": 20,
        "actions": actions,
        "enableNotifications": False,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"autoApprovalSettings": approvals}, indent=2) + "\n", encoding="utf-8")
    return True
