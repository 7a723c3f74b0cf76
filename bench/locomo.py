"""LoCoMo as conversations to remember, and its questions with the turns that answer them.

The data set (CC BY-NC 4.0) is no part of this repository: its path is given. Each of its ten dialogs becomes a
sessions folder of its own; each dialog turn is one exchange, `speaker: text`, without an answer.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import remembered

ADVERSARIAL = 5
"""The category of questions whose premise is false; their evidence is what they seem to be about."""
_evidence = re.compile(r"D:?(\d+):0*(\d+)")


class Question(NamedTuple):
    """A question, its category, and the turns that answer it as (session, turn), both from 1."""

    text: str
    category: int
    evidence: frozenset[tuple[int, int]]


class Dialog(NamedTuple):
    """One of the ten dialogs: its sessions by number, each a list of turns."""

    sessions: dict[int, tuple[int, list[str]]]
    questions: list[Question]

    def write(self, root: Path) -> dict[str, int]:
        """Write the dialog as a sessions folder; returns the number of each session id."""
        names = {}
        for number, (at, turns) in self.sessions.items():
            name = f"{at}_s{number:04d}"
            exchanges = [(turn, "") for turn in turns]
            remembered.write(root, name, at, "/projects/dialog", f"Session {number}", exchanges)
            names[name] = number
        return names


def load(path: Path) -> list[Dialog]:
    """The dialogs of a file like `locomo10.json`. Questions without evidence in the dialog are left out."""
    return [_dialog(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def _dialog(one: dict[str, Any]) -> Dialog:
    said = one["conversation"]
    sessions = {}
    for name, turns in said.items():
        if isinstance(turns, list) and turns:
            at = datetime.strptime(said[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            spoken = [f"{turn['speaker']}: {turn['text']}" for turn in turns]
            sessions[int(name.removeprefix("session_"))] = (int(at.timestamp() * 1000), spoken)
    known = {(s, t) for s, (_, turns) in sessions.items() for t in range(1, len(turns) + 1)}
    questions = []
    for asked in one["qa"]:
        named = _evidence.findall(" ".join(asked.get("evidence") or ()))
        evidence = frozenset((int(s), int(t)) for s, t in named) & known
        if evidence:
            questions.append(Question(asked["question"], asked["category"], evidence))
    return Dialog(sessions, questions)
