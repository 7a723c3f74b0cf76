"""What a list draws of a session at a glance: the shape of its steps, and what makes it special."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from ..schema.step import ROOT
from . import summary
from .database import unless_busy
from .derived import Fact, fates_of

VERSION = 1
"""Of the rules by which a glance is made; one of another version is made anew."""
BARS = 400
"""Bars of a shape at most; above that a bar is a bucket of steps and takes its gravest kind."""

_encoder = msgspec.json.Encoder()


class Bar(Struct, frozen=True, array_like=True, gc=False):
    """One bar of a shape.

    `kind` is a word of `KINDS`; `lines` are those of an edit; `turn` is true for the first bar of a turn.
    `count` steps stand in it, the first of which is the `step`th of the root, from 1.
    """

    kind: str
    lines: int = 0
    turn: bool = False
    step: int = 1
    count: int = 1


KINDS = ("failing", "failed", "rejected", "running", "edit", "agent", "command", "read", "message")
"""Kinds of bars, the gravest first."""


class Glance(Struct, frozen=True, omit_defaults=True):
    """What is worked out of a session's steps and manifest for a list.

    `models` are canonical names, the one with the most calls first; `modes` those of its turns.
    """

    bars: tuple[Bar, ...] = ()
    models: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    subagents: int = 0
    teammates: int = 0
    imported: str | None = None
    origin_mode: str | None = None
    branch: str | None = None
    provider: str | None = None


_decoder = msgspec.json.Decoder(Glance)


def stored(data: bytes) -> Glance:
    """A glance as it was kept."""
    return _decoder.decode(data)


def make(connection: sqlite3.Connection, session: int, generation: int) -> Glance:
    """Work a session's glance out, and keep it for the next list."""
    facts = summary.facts(connection, session)
    kinds = dict(
        connection.execute(
            "SELECT actor_type, count(*) FROM file WHERE session = ? AND actor IS NOT NULL GROUP BY actor_type",
            (session,),
        ).fetchall()
    )
    models = connection.execute(
        "SELECT call.name FROM call JOIN file ON file.n = call.file WHERE file.session = ? AND call.name IS NOT NULL"
        " GROUP BY call.name ORDER BY count(*) DESC, call.name",
        (session,),
    )
    modes = connection.execute(
        "SELECT DISTINCT mode FROM turn JOIN file ON file.n = turn.file WHERE file.session = ?"
        " AND NOT turn.superseded AND mode IS NOT NULL ORDER BY mode",
        (session,),
    )
    glance = Glance(
        bars=tuple(_bars(connection, session)),
        models=tuple(name for (name,) in models),
        modes=tuple(mode for (mode,) in modes),
        subagents=kinds.get("subagent", 0),
        teammates=kinds.get("teammate", 0),
        imported=facts.imported.tool or "another tool" if facts and facts.imported else None,
        origin_mode=facts.origin_mode if facts else None,
        branch=facts.branch if facts else None,
        provider=facts.provider if facts else None,
    )
    with unless_busy(connection):
        connection.execute(
            "INSERT OR REPLACE INTO glance VALUES (?, ?, ?, ?)",
            (session, generation, VERSION, _encoder.encode(glance)),
        )
    return glance


def _bars(connection: sqlite3.Connection, session: int) -> list[Bar]:
    facts = summary.ordered_facts(connection, session)
    fates = fates_of(facts)
    turns = {
        msg
        for (msg,) in connection.execute(
            "SELECT msg FROM turn JOIN file ON file.n = turn.file WHERE file.session = ? AND NOT turn.superseded",
            (session,),
        )
    }
    bars: list[Bar] = []
    spawning = {
        n
        for (n,) in connection.execute(
            "SELECT step.n FROM step JOIN file ON file.n = step.file WHERE file.session = ? AND spawns IS NOT NULL",
            (session,),
        )
    }
    begun: set[int] = set()
    for fact in facts:
        if fact.actor_id != ROOT:
            continue
        first = fact.msg in turns and fact.msg not in begun
        begun.add(fact.msg)
        fate = fates.get(fact.id)
        kind = kind_of(fact, failing=fate is not None and fate.failing, spawns=fact.n in spawning)
        lines = (fact.added or 0) + (fact.removed or 0) if kind == "edit" else 0
        bars.append(Bar(kind, lines, first, len(bars) + 1))
    return bucketed(bars, BARS)


def kind_of(fact: Fact, *, failing: bool, spawns: bool) -> str:
    """The kind of a step's bar."""
    if fact.decision == "rejected":
        return "rejected"
    if fact.outcome == "failed":
        return "failing" if failing else "failed"
    if spawns:
        return "agent"
    if fact.type == "other":
        return "read"
    return fact.type


def bucketed(bars: Sequence[Bar], most: int) -> list[Bar]:
    """At most so many bars; each of fewer stands for a run of steps and takes the gravest kind among them."""
    if len(bars) <= most:
        return list(bars)
    found = []
    for place in range(most):
        part = bars[place * len(bars) // most : (place + 1) * len(bars) // most]
        gravest = min(part, key=lambda bar: KINDS.index(bar.kind))
        lines = max((bar.lines for bar in part if bar.kind == gravest.kind), default=0)
        turn = any(bar.turn for bar in part)
        found.append(Bar(gravest.kind, lines, turn, part[0].step, sum(bar.count for bar in part)))
    return found


def with_running(bars: Iterable[Bar]) -> list[Bar]:
    """The bars with the last one at work."""
    found = list(bars)
    if found:
        last = found[-1]
        found[-1] = Bar("running", 0, last.turn, last.step, last.count)
    return found
