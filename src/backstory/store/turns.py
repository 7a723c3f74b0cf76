"""The turns of a session: which of them a step or an agent belongs to, and what each came to."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from ..schema.step import ROOT
from .costs import COST_COLUMNS, cost_of_kind
from .results import Cost

Turns = dict[str | None, tuple[str, int]]
"""(turn id, index from 1) of each turn id, and of each child actor by the step that spawned it."""


def of_session(connection: sqlite3.Connection, session: int) -> Turns:
    """The current turns of a session."""
    ordered = connection.execute(
        "SELECT turn.id FROM turn JOIN file ON file.n = turn.file WHERE file.session = ? AND NOT turn.superseded"
        " ORDER BY turn.msg",
        (session,),
    ).fetchall()
    turns: Turns = {row[0]: (row[0], index) for index, row in enumerate(ordered, 1)}
    parents = connection.execute(
        "SELECT child.actor, turn.id FROM file AS child JOIN file AS other ON other.session = child.session"
        " JOIN step ON step.file = other.n AND step.id = child.parent_step LEFT JOIN turn ON turn.n = step.turn"
        " WHERE child.session = ? AND child.parent_step IS NOT NULL",
        (session,),
    )
    for actor, turn_id in parents:
        if turn_id in turns:
            turns[actor] = turns[turn_id]
    return turns


def positions(connection: sqlite3.Connection, session: int, steps: Iterable[int]) -> dict[int, int | None]:
    """The index of the turn of each of these steps, by their numbers; null where none is known."""
    turns = of_session(connection, session)
    found = connection.execute(
        "SELECT step.n, file.actor, turn.id FROM json_each(?) JOIN step ON step.n = value"
        " JOIN file ON file.n = step.file LEFT JOIN turn ON turn.n = step.turn",
        (json.dumps(list(steps)),),
    )
    return {n: turns.get(actor if actor != ROOT else turn, ("", None))[1] for n, actor, turn in found}


def costs(connection: sqlite3.Connection, session: int) -> dict[str, Cost]:
    """What each prompt of a session came to, by turn id, with the agents that were started in it."""
    turns = of_session(connection, session)
    found: dict[str, Cost] = defaultdict(Cost)
    for actor, turn, *row in connection.execute(
        f"SELECT file.actor, call.turn, {COST_COLUMNS} FROM call JOIN file ON file.n = call.file"
        " WHERE file.session = ? AND counted GROUP BY file.actor, call.turn, kind",
        (session,),
    ):
        own = turn if actor == ROOT else turns.get(actor, (None, 0))[0]
        if own is not None:
            found[own] += cost_of_kind(row)
    return dict(found)
