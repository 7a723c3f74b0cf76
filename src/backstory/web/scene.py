"""One session on its way to a page: its outline, what became of its failures, who hangs under which step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..cli.money import cost_of
from ..schema.call import Call
from ..schema.record import Record
from ..schema.session import Actor, Session, Turn
from ..schema.step import ROOT, Message, Step
from ..store.derived import fates
from ..store.glance import Bar
from ..store.outline import Outline
from ..store.page import Entry
from ..store.results import Cost, Fate, Judgement
from ..story.states import batches, running_step
from .figures import Clock


class Scene(NamedTuple):
    """What the parts of a session's page are drawn from; all of it without the bodies of steps."""

    outline: Outline
    entry: Entry
    clock: Clock
    home: str
    fates: Mapping[str, Fate]
    running: str | None
    batches: frozenset[str]
    actors: Mapping[str, Actor]
    spawned: Mapping[str, list[Actor]]
    by_turn: Mapping[str | None, list[Step]]
    by_actor: Mapping[str, list[Step]]
    calls: Mapping[str, Call]
    judgements: Mapping[str | None, Judgement]
    first_new: int | None
    seen_at: int | None
    ordinals: Mapping[str, int]
    by_id: Mapping[str, Step]

    @property
    def record(self) -> Record:
        return self.outline.record

    @property
    def session(self) -> Session:
        return self.outline.record.session

    @property
    def roots(self) -> tuple[str | None, ...]:
        """The folders from which paths are written."""
        return self.session.workspace_root, self.session.cwd

    def is_new(self, step: Step) -> bool:
        """Whether the reader has not seen this step yet."""
        return self.first_new is not None and self.outline.numbers[step.id] >= self.first_new

    @property
    def new_from(self) -> str:
        """The first step in reading order that the reader has not seen; empty where there is none."""
        if self.first_new is None:
            return ""
        return next((step.id for step in self.record.steps if self.is_new(step)), "")

    def cost_of_turn(self, turn: Turn) -> Cost:
        """What a prompt came to, with the agents that were started in it."""
        return cost_of(call for call in self.record.calls if call.turn_id == turn.id)

    def prompt(self, turn: Turn) -> Step | None:
        """The step with which a turn begins."""
        return next((step for step in self.by_turn.get(turn.id, ()) if is_prompt(step)), None)

    def failing(self, steps: Iterable[Step]) -> int:
        """How many of these are still failing."""
        return sum(self.fates[step.id].failing for step in steps if step.id in self.fates)


def is_prompt(step: Step) -> bool:
    """Whether a step is what a person typed."""
    payload = step.payload
    return (
        step.actor_id == ROOT
        and not step.superseded
        and isinstance(payload, Message)
        and payload.role == "user"
    )


def scene(
    outline: Outline,
    entry: Entry,
    clock: Clock,
    home: str,
    judgements: Mapping[str | None, Judgement],
    first_new: int | None,
    seen_at: int | None = None,
) -> Scene:
    """Work out once what every part of the page needs."""
    record = outline.record
    by_turn: dict[str | None, list[Step]] = {}
    by_actor: dict[str, list[Step]] = {}
    ordinals: dict[str, int] = {}
    for step in record.steps:
        by_turn.setdefault(step.turn_id, []).append(step)
        by_actor.setdefault(step.actor_id, []).append(step)
        if step.actor_id == ROOT and not step.superseded:
            ordinals[step.id] = len(ordinals) + 1
    spawned: dict[str, list[Actor]] = {}
    for actor in record.actors:
        if actor.parent_step_id is not None:
            spawned.setdefault(actor.parent_step_id, []).append(actor)
    return Scene(
        outline,
        entry,
        clock,
        home,
        fates(record.steps),
        running_step(record.steps, entry.state),
        batches(record.steps),
        {actor.id: actor for actor in record.actors},
        spawned,
        by_turn,
        by_actor,
        {f"{call.actor_id}\0{call.message_id}": call for call in record.calls},
        judgements,
        first_new,
        seen_at,
        ordinals,
        {step.id: step for step in record.steps},
    )


def bars(scene: Scene) -> list[Bar]:
    """The bars of the strip, one a step of the root."""
    found: list[Bar] = []
    turn: str | None = None
    for step in scene.by_actor.get(ROOT, ()):
        if step.superseded:
            continue
        new = step.turn_id != turn
        turn = step.turn_id
        kind = bar_kind(scene, step)
        changed = getattr(step.payload, "added", 0) + getattr(step.payload, "removed", 0)
        found.append(Bar(kind, changed if kind == "edit" else 0, new, len(found) + 1))
    return found


def bar_kind(scene: Scene, step: Step) -> str:
    """The kind of a step's bar: how it ended, else what it was."""
    if step.id == scene.running:
        return "running"
    if step.decision == "rejected":
        return "rejected"
    if step.outcome == "failed":
        fate = scene.fates.get(step.id)
        return "failing" if fate is not None and fate.failing else "failed"
    if step.id in scene.spawned:
        return "agent"
    return "read" if step.type == "other" else step.type
