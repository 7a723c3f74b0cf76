"""The public face: read a session from disk, or everything that was ever read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from .errors import ReadError
from .schema.link import Spawn, link
from .schema.record import Placed, Record, assemble
from .schema.session import CopiedFrom, Totals, merge_fidelity
from .sources.cline.source import ClineSource


def read_session(path: str | Path, *, env: Mapping[str, str] | None = None) -> Record:
    """Read one Cline session: its folder, or a file in it. Nothing is stored.

    What only an archive can know stays empty: `gone`, `totals`, and copies that Cline did not mark.
    Raises `InputError` for a path that is no session, `ReadError` for one that cannot be read at all.
    """
    source = ClineSource()
    ref = source.locate(str(path), [])
    reading = source.read(ref, {}, settled=True, env=os.environ if env is None else env)
    placed, actors, turns, calls, spawns, parts = [], [], [], [], [], [reading.session.fidelity]
    fork_at = _forked_at(reading.session.manifest)
    copied = 0
    for file in reading.files:
        rows = list(file.rows)
        tail = file.tail()
        actors.append(tail.actor)
        parts.append(tail.fidelity)
        turns += tail.turns
        calls += [(tail.actor.id, call) for call in tail.calls]
        for row in rows:
            placed.append(Placed(tail.actor.id, row))
            if row.spawns is not None:
                tool = getattr(row.payload, "tool_name", "")
                spawns.append(Spawn(row.id, tail.actor.id, tool, row.spawns, row.at))
            if tail.actor.type == "root" and fork_at is not None and row.at is not None and row.at < fork_at:
                copied = max(copied, row.msg + 1)
    if not reading.files:
        broken = [*(torn.path for torn in reading.torn), *(left.path for left in reading.skipped)]
        raise ReadError(f"{broken[0] if broken else path}: no message of it could be read")
    session = replace(reading.session, fidelity=merge_fidelity(parts), totals=Totals())
    if session.copied_from is not None:
        session = replace(session, copied_from=CopiedFrom(session.copied_from.session_id, "fork", copied))
    return assemble(session, link(actors, spawns), placed, turns, calls, seen_ends=_ends(session.ended_at))


def _forked_at(manifest: object) -> int | None:
    from .sources.cline.manifest import fork_of

    fork = fork_of(manifest if isinstance(manifest, dict) else None)
    return fork[1] if fork else None


def _ends(ended_at: int | None) -> tuple[int, ...]:
    return () if ended_at is None else (ended_at,)
