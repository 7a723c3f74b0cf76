"""A turn as a chapter: its prompt, its figures, and the lines across the column above it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from ..cli.words import counted, duration
from ..schema.session import Segment, Turn
from ..schema.step import ROOT, Message, Step
from ..store.results import Cost
from . import figures, rows
from .scene import Scene, is_prompt

PROMPT_LINES = 6


PROMPT_TEXT = 480


class TurnFacts(NamedTuple):
    """The figures of a turn."""

    mode: str
    time: str
    when: str
    took: str
    calls: str
    tokens: str
    cost: Cost
    files: Markup
    checkpoint: str
    steps: int
    failing: int
    rejected: int
    added: int
    removed: int
    running: bool


def prompt_text(scene: Scene, turn: Turn) -> str:
    """The beginning of a prompt, from the outline."""
    step = scene.prompt(turn)
    return step.payload.text if step is not None and isinstance(step.payload, Message) else ""


def cut_prompt(text: str) -> tuple[str, str]:
    """A prompt in six lines at most, and the rest of it."""
    safe = "\n".join(figures.line(part) if part.strip() else "" for part in text.strip().splitlines())
    lines = safe.split("\n")
    if len(lines) <= PROMPT_LINES and len(safe) <= PROMPT_TEXT:
        return safe, ""
    head = "\n".join(lines[:PROMPT_LINES])
    if len(head) > PROMPT_TEXT:
        blank = head.rfind(" ", 0, PROMPT_TEXT)
        head = head[: blank if blank > PROMPT_TEXT // 2 else PROMPT_TEXT]
    return head.rstrip() + "…", safe


def rules_above(scene: Scene, turn: Turn) -> list[tuple[str, str]]:
    """Lines across the column above a turn: a resumed sitting."""
    segments = {segment.index: segment for segment in scene.record.segments}
    segment = segments.get(turn.segment_index)
    first = min(
        (one.index for one in scene.record.turns if one.segment_index == turn.segment_index), default=0
    )
    if segment is None or segment.start_reason != "resume" or turn.index != first:
        return []
    gap = _gap(segments.get(turn.segment_index - 1), segment)
    why = {
        "idle_gap": "Inferred: nothing happened for half an hour or more.",
        "recorded_end": "Cline had recorded an end.",
        "resumption_prompt": "Cline asked the model to go on.",
    }
    title = why.get(segment.inferred_from or "", "")
    return [(f"Resumed{f' after {duration(gap)}' if gap else ''}", title)]


def marks_of(scene: Scene, steps: Sequence[Step], origin: str) -> dict[str, list[tuple[str, str]]]:
    """Lines across the column before some of these steps, by their ids, each with a text that is folded under it.

    Where the copy of another session ends, where Cline compacted the conversation, and where the last look ended.
    """
    found: dict[str, list[tuple[str, str]]] = {}

    def mark(step_id: str, words: str, folded: str = "") -> None:
        found.setdefault(step_id, []).append((words, folded))

    own = [step for step in steps if step.actor_id == ROOT and not is_prompt(step)]
    copied = sum("copied" in step.flags for step in scene.record.steps)
    compaction = scene.session.compaction
    for before, step in pairwise(own):
        if copied and "copied" in before.flags and "copied" not in step.flags:
            mark(step.id, f"Steps 1 to {copied:,} are a copy of {origin}")
        if compaction is not None and compaction.source_messages is not None:
            low, high = rows.message_of(before), rows.message_of(step)
            if low is not None and high is not None and int(low) < compaction.source_messages <= int(high):
                words = "Compacted here: the model no longer sees what stands above"
                mark(step.id, words, compaction.summary or "")
    if scene.new_from and scene.seen_at is not None:
        mark(scene.new_from, f"New since you looked at {scene.clock.minute(scene.seen_at)}")
    return found


def _gap(before: Segment | None, segment: Segment) -> int | None:
    if before is None or before.ended_at is None or segment.started_at is None:
        return None
    return max(segment.started_at - before.ended_at, 0)


def facts(scene: Scene, turn: Turn) -> TurnFacts:
    """The figures of a turn, from the outline alone."""
    steps = [step for step in scene.by_turn.get(turn.id, ()) if not step.superseded]
    cost = scene.cost_of_turn(turn)
    edits: list[Any] = [step.payload for step in steps if step.type == "edit" and step.outcome == "ok"]
    added, removed = sum(edit.added for edit in edits), sum(edit.removed for edit in edits)
    moments = [at for step in steps for at in (step.at, step.ended_at) if at is not None]
    last = bool(scene.record.turns) and scene.record.turns[-1].id == turn.id
    running = last and scene.entry.state == "running"
    took = ""
    if turn.started_at is not None and running:
        took = f"{duration(scene.clock.now - turn.started_at)} so far"
    elif turn.started_at is not None and moments and max(moments) > turn.started_at:
        took = duration(max(moments) - turn.started_at)
    files = len({edit.path for edit in edits})
    calls = sum(cost.calls.values())
    return TurnFacts(
        mode=turn.mode or "",
        time=scene.clock.minute(turn.started_at),
        when=scene.clock.full(turn.started_at),
        took=took,
        calls=counted(calls, "call") if calls else "",
        tokens=figures.token_words(cost),
        cost=cost,
        files=Markup("{} {}").format(counted(files, "file"), figures.lines(added, removed))
        if files
        else figures.EMPTY,
        checkpoint=turn.checkpoint.ref if turn.checkpoint is not None else "",
        steps=sum(step.actor_id == ROOT and not is_prompt(step) for step in steps),
        failing=scene.failing(steps),
        rejected=sum(step.decision == "rejected" for step in steps),
        added=added,
        removed=removed,
        running=running,
    )
