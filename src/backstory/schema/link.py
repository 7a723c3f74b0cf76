"""Which step spawned which actor: by the task that both name, then by time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from .session import Actor
from .step import ROOT


class Spawn(Struct, frozen=True):
    """A step that starts another agent: who took it, with which tool, for which task, and when."""

    step_id: str
    actor_id: str
    tool: str
    task: str
    at: int | None


def link(actors: Sequence[Actor], spawns: Sequence[Spawn]) -> list[Actor]:
    """The actors with the steps that spawned them; one that cannot be linked keeps none."""
    children = sorted(
        (actor for actor in actors if actor.id != ROOT), key=lambda actor: (actor.started_at or 0, actor.id)
    )
    free = sorted(spawns, key=lambda spawn: spawn.at or 0)
    parents: dict[str, str] = {}
    for by_task in (True, False):
        for actor in children:
            if actor.id in parents:
                continue
            spawn = _by_task(actor, free) if by_task else _by_time(actor, free)
            if spawn is not None:
                parents[actor.id] = spawn.step_id
                free.remove(spawn)
    return [replace(actor, parent_step_id=parents.get(actor.id)) for actor in actors]


def _fits(actor: Actor, spawn: Spawn) -> bool:
    same_kind = spawn.tool.startswith("team_") == (actor.type == "teammate")
    return same_kind and spawn.actor_id != actor.id


def _by_task(actor: Actor, free: Sequence[Spawn]) -> Spawn | None:
    if not actor.task:
        return None
    return next((spawn for spawn in free if spawn.task == actor.task and _fits(actor, spawn)), None)


def _by_time(actor: Actor, free: Sequence[Spawn]) -> Spawn | None:
    """The last call before the actor began, of those whose task is not another child's."""
    if actor.started_at is None:
        return None
    earlier = [
        spawn
        for spawn in free
        if spawn.at is not None and spawn.at <= actor.started_at and _fits(actor, spawn)
    ]
    return earlier[-1] if earlier else None
