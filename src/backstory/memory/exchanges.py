"""The exchanges of a session, out of the archive: what was typed and answered, and nothing else."""

from __future__ import annotations

import sqlite3

from ..schema.exchange import Exchange
from ..schema.step import ROOT, Edit, Message, Read
from ..store import rows
from ..store.blocks import BlockReader

PATHS = 40
"""Files of one exchange that are kept."""

_STEPS = (
    "SELECT step.id, turn.id, step.type, step.kind, step.subject, step.flags, step.at, block, offset, step.size"
    " FROM step LEFT JOIN turn ON turn.n = step.turn"
    " WHERE step.file = ? AND NOT step.superseded AND (step.type IN ('read', 'edit')"
    " OR (step.type = 'message' AND step.kind IN ('user', 'assistant'))) ORDER BY step.msg, step.sub"
)


class _Open:
    """An exchange in the making."""

    def __init__(self, position: int, message_id: str, step_id: str, at: int | None, asked: str) -> None:
        self.position, self.message_id, self.step_id, self.at = position, message_id, step_id, at
        self.asked = asked
        self.answered: list[str] = []
        self.paths: dict[str, None] = {}

    def close(self) -> Exchange:
        return Exchange(
            position=self.position,
            message_id=self.message_id,
            step_id=self.step_id,
            at=self.at,
            asked=self.asked,
            answered="\n\n".join(self.answered),
            paths=tuple(self.paths)[:PATHS],
        )


def of_session(connection: sqlite3.Connection, session: int) -> list[Exchange]:
    """What was typed and answered in a session's own conversation, in order.

    What the runtime wrote, thinking, tools, children's conversations and imported messages give no text; an answer
    that follows them stays with the prompt before. A prompt of attachments alone begins no exchange either,
    unless it is the first.
    """
    lead = connection.execute(
        "SELECT n FROM file WHERE session = ? AND actor = ?", (session, ROOT)
    ).fetchone()
    if lead is None:
        return []
    turns = {
        turn: index
        for index, (turn,) in enumerate(
            connection.execute(
                "SELECT id FROM turn WHERE file = ? AND NOT superseded ORDER BY msg", (lead[0],)
            ),
            1,
        )
    }
    reader = BlockReader(connection)
    found: list[_Open] = []
    for step_id, turn, kind, role, subject, flags, at, *place in connection.execute(_STEPS, (lead[0],)):
        if "imported" in (flags or "").split(" "):
            continue
        if kind != "message":
            if found:
                path = _path(kind, subject)
                if len(subject) >= rows.SUBJECT:
                    path = _whole_path(kind, reader.body(*place))
                found[-1].paths[path] = None
            continue
        payload, _ = rows.payload_of(kind, reader.body(*place))
        assert isinstance(payload, Message)
        text = payload.text.strip()
        if role == "assistant":
            if found and text:
                found[-1].answered.append(text)
        elif turn in turns and (text or not found):
            found.append(_Open(turns[turn], turn, step_id, at, text))
    return [one.close() for one in found if one.asked or one.answered]


def _path(kind: str, subject: str) -> str:
    """The path of a read or an edit; a read's subject may have a range of lines behind it."""
    path, colon, lines = subject.rpartition(":")
    return path if kind == "read" and colon and lines.replace("-", "").isdecimal() else subject


def _whole_path(kind: str, body: bytes) -> str:
    """The path out of a step's body: its subject is cut."""
    payload, _ = rows.payload_of(kind, body)
    assert isinstance(payload, Edit | Read)
    return payload.path
