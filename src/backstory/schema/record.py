"""The record: one session put together from its rows, the same for a file just read and for the archive.

Here rows get what only the whole session can tell: reading order, segments, the turn of a child's step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .call import Call, CallRow
from .session import Actor, Checkpoint, Segment, Session, Turn, TurnRow
from .step import ROOT, Origin, Step, StepRow

IDLE_GAP = 30 * 60 * 1000
"""Milliseconds of silence before a prompt that make it the start of a new sitting."""


class Record(Struct, frozen=True):
    """Everything about one session: what `read_session` returns, and what `show --json` prints."""

    session: Session
    segments: tuple[Segment, ...]
    actors: tuple[Actor, ...]
    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]


class Placed(Struct, frozen=True):
    """A row with the actor who took it, and whether the source no longer has it."""

    actor_id: str
    row: StepRow
    superseded: bool = False

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def msg(self) -> int:
        return self.row.msg

    @property
    def sub(self) -> int:
        return self.row.sub


class Positioned(Protocol):
    """Anything that stands somewhere in an actor's conversation."""

    @property
    def actor_id(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def msg(self) -> int: ...
    @property
    def sub(self) -> int: ...


T = TypeVar("T", bound=Positioned)


def assemble(
    session: Session,
    actors: Sequence[Actor],
    rows: Iterable[Placed],
    turns: Sequence[TurnRow],
    calls: Iterable[tuple[str, CallRow]] = (),
    *,
    seen_ends: Sequence[int] = (),
    idle_gap: int = IDLE_GAP,
) -> Record:
    """Put a session together. `seen_ends` are all the ends that were ever recorded for it, in ms."""
    turns = sorted(turns, key=lambda turn: turn.msg)
    ordered = reading_order(actors, rows)
    turn_of = _turns_of_steps(actors, ordered, turns)
    segments, segment_of = _segments(session, ordered, turns, seen_ends, idle_gap)
    files = {actor.id: actor.file for actor in actors}
    copied = session.copied_from.messages if session.copied_from else None
    steps: list[Step] = []
    segment = 1
    for seq, placed in enumerate(ordered, 1):
        row = placed.row
        segment = segment_of.get((placed.actor_id, row.id), segment)
        is_copy = copied is not None and placed.actor_id == ROOT and row.msg < copied
        turn_id = turn_of.get((placed.actor_id, row.id))
        step = step_of(
            session.id, placed.actor_id, files.get(placed.actor_id, ""), row, turn_id, seq, segment
        )
        if is_copy or placed.superseded:
            flags = (*step.flags, "copied") if is_copy else step.flags
            step = replace(step, flags=flags, superseded=placed.superseded)
        steps.append(step)
    return Record(
        session=session,
        segments=segments,
        actors=tuple(actors),
        turns=_turns(session, turns, steps),
        steps=tuple(steps),
        calls=tuple(
            _call(session, actor_id, row, _turn_of_call(actors, turns, turn_of, actor_id, row))
            for actor_id, row in calls
        ),
    )


def step_of(
    session_id: str,
    actor_id: str,
    file: str,
    row: StepRow,
    turn_id: str | None,
    seq: int = 0,
    segment: int = 0,
) -> Step:
    """A row as a step of its session."""
    name = f"{session_id}.json" if row.channels == ("manifest",) else file
    return Step(
        id=row.id,
        session_id=session_id,
        segment_index=segment,
        turn_id=turn_id,
        actor_id=actor_id,
        seq=seq,
        at=row.at,
        ended_at=row.ended_at,
        type=row.type,
        decision=row.decision,
        decision_source=row.decision_source,
        outcome=row.outcome,
        content_status=row.content_status,
        error=row.error,
        channels=row.channels,
        payload=row.payload,
        flags=row.flags,
        origin=Origin(name, row.pointer),
    )


def reading_order(actors: Sequence[Actor], rows: Iterable[T]) -> list[T]:
    """The root's conversation in order, with each child's steps after the step that spawned it."""
    by_actor: dict[str, list[T]] = {}
    for placed in rows:
        by_actor.setdefault(placed.actor_id, []).append(placed)
    for own in by_actor.values():
        own.sort(key=lambda placed: (placed.msg, placed.sub))
    children: dict[str | None, list[Actor]] = {}
    for actor in sorted(actors, key=lambda actor: (actor.started_at or 0, actor.id)):
        if actor.id != ROOT:
            children.setdefault(actor.parent_step_id, []).append(actor)
    ordered: list[T] = []
    emitted: set[str] = set()

    def emit(actor_id: str) -> None:
        if actor_id in emitted:
            return
        emitted.add(actor_id)
        for placed in by_actor.get(actor_id, ()):
            ordered.append(placed)
            for child in children.get(placed.id, ()):
                emit(child.id)

    emit(ROOT)
    for child in children.get(None, ()):
        emit(child.id)
    for actor_id in by_actor:
        emit(actor_id)
    return ordered


def _turns_of_steps(
    actors: Sequence[Actor], ordered: Sequence[Placed], turns: Sequence[TurnRow]
) -> dict[tuple[str, str], str | None]:
    """A child's step belongs to the turn of the step that spawned it, else to the turn of its time."""
    found: dict[tuple[str, str], str | None] = {}
    turn_of_step: dict[str, str | None] = {}
    parents = {actor.id: actor for actor in actors}
    for placed in ordered:
        turn = placed.row.turn_id
        if placed.actor_id != ROOT:
            actor = parents.get(placed.actor_id)
            parent = actor.parent_step_id if actor else None
            if parent is not None and parent in turn_of_step:
                turn = turn_of_step[parent]
            else:
                turn = _turn_at(turns, actor.started_at if actor else None)
        found[placed.actor_id, placed.row.id] = turn
        turn_of_step[placed.row.id] = turn
    return found


def _turn_at(turns: Sequence[TurnRow], at: int | None) -> str | None:
    last: str | None = None
    for turn in turns:
        if last is not None and at is not None and turn.at is not None and turn.at > at:
            break
        last = turn.id
    return last


def _segments(
    session: Session,
    ordered: Sequence[Placed],
    turns: Sequence[TurnRow],
    seen_ends: Sequence[int],
    idle_gap: int,
) -> tuple[tuple[Segment, ...], dict[tuple[str, str], int]]:
    """Split the root's steps into sittings; returns them and the steps at which one begins."""
    by_id = {turn.id: turn for turn in turns}
    segments: list[Segment] = []
    starts: dict[tuple[str, str], int] = {}
    last_at: int | None = None
    previous_turn: str | None = None
    answered = False
    for placed in ordered:
        row = placed.row
        if placed.actor_id != ROOT or placed.superseded:
            continue
        new_turn = by_id.get(row.turn_id) if row.turn_id != previous_turn and row.turn_id else None
        reason = None
        if not segments:
            reason = "start"
        elif "resumption" in row.flags:
            reason = "resumption_prompt"
        elif new_turn is not None and answered:
            reason = _resumed(new_turn, seen_ends, idle_gap)
        if reason is not None:
            if segments:
                closed = _end_between(last_at, row.at, seen_ends)
                segments[-1] = _ended(segments[-1], closed if closed is not None else last_at)
            segments.append(_segment(len(segments) + 1, reason, row.at))
            starts[placed.actor_id, row.id] = len(segments)
            answered = False
        if row.type != "message" or getattr(row.payload, "role", "") in ("assistant", "thinking"):
            answered = True
        previous_turn = row.turn_id or previous_turn
        moments = [at for at in (last_at, row.at, row.ended_at) if at is not None]
        last_at = max(moments) if moments else None
    if not segments:
        segments.append(_segment(1, "start", session.started_at))
    segments[-1] = _ended(segments[-1], session.ended_at)
    return tuple(segments), starts


def _segment(index: int, reason: str, at: int | None) -> Segment:
    if reason == "start":
        return Segment(index=index, start_reason="start", inferred_from=None, started_at=at)
    return Segment(index=index, start_reason="resume", inferred_from=reason, started_at=at)  # type: ignore[arg-type]


def _ended(segment: Segment, at: int | None) -> Segment:
    return Segment(segment.index, segment.start_reason, segment.inferred_from, segment.started_at, at)


def _resumed(turn: TurnRow, seen_ends: Sequence[int], idle_gap: int) -> str | None:
    if turn.at is not None and turn.quiet is not None:
        if _end_between(turn.at - turn.quiet, turn.at, seen_ends) is not None:
            return "recorded_end"
        if turn.quiet >= idle_gap:
            return "idle_gap"
    return None


def _end_between(low: int | None, high: int | None, ends: Sequence[int]) -> int | None:
    if low is None or high is None:
        return None
    return next((end for end in sorted(ends) if low <= end <= high), None)


def _turns(session: Session, turns: Sequence[TurnRow], steps: Sequence[Step]) -> tuple[Turn, ...]:
    members: dict[str, list[str]] = {}
    segment: dict[str, int] = {}
    for step in steps:
        if step.turn_id is not None:
            members.setdefault(step.turn_id, []).append(step.id)
            segment.setdefault(step.turn_id, step.segment_index)
    return tuple(
        Turn(
            id=turn.id,
            index=index,
            mode=turn.mode,
            segment_index=segment.get(turn.id, 1),
            started_at=turn.at,
            checkpoint=_checkpoint(turn, session.checkpoints),
            step_ids=tuple(members.get(turn.id, ())),
        )
        for index, turn in enumerate(turns, 1)
    )


def _checkpoint(turn: TurnRow, checkpoints: Sequence[Checkpoint]) -> Checkpoint | None:
    """The checkpoint made between a prompt and its first reply."""
    found = None
    for point in checkpoints:
        made = point.created_at
        if made is None or turn.at is None or made < turn.at:
            continue
        if turn.first_reply_at is not None and made <= turn.first_reply_at:
            found = point
    return found


def _turn_of_call(
    actors: Sequence[Actor],
    turns: Sequence[TurnRow],
    turn_of: dict[tuple[str, str], str | None],
    actor_id: str,
    row: CallRow,
) -> str | None:
    """A child's call belongs to the turn of the step that spawned the child."""
    if row.turn_id is not None or actor_id == ROOT:
        return row.turn_id
    parent = {actor.id: actor.parent_step_id for actor in actors}.get(actor_id)
    found = next((turn for (_, step_id), turn in turn_of.items() if step_id == parent), None)
    return found or _turn_at(turns, row.at)


def _call(session: Session, actor_id: str, row: CallRow, turn_id: str | None) -> Call:
    return Call(
        key=row.key,
        session_id=session.id,
        actor_id=actor_id,
        turn_id=turn_id,
        message_id=row.message_id,
        at=row.at,
        provider=f"{session.agent.kind}-cli",
        route=row.route,
        model=row.model,
        fresh=row.fresh,
        cache_read=row.cache_read,
        cache_write=row.cache_write,
        output=row.output,
        nano=row.nano,
        flags=row.flags,
        settled=row.settled,
    )
