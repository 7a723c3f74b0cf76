"""The steps of a page as chapters: which of them are on it, what is folded, and which bodies come along at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from markupsafe import Markup
from msgspec import Struct

from ..cli.words import counted, duration
from ..schema.session import Actor, Segment, Turn
from ..schema.step import ROOT, Edit, Message, Other, Read, Step
from ..store.results import Cost, Judgement
from ..story.states import has_problem
from . import bodies, figures, prose, rows
from .rows import Row
from .scene import Scene, is_prompt

Show = Literal["everything", "problems", "changes", "talk"]
WINDOW = 200
BEFORE = 40
"""Steps of a window that stand before the one that was asked for."""
BODIES = 40_000
"""Bytes of bodies that come with a page."""
FOLD = 3
NESTED_OPEN = 8
PROMPT_LINES = 6
PROMPT_TEXT = 480

Draw = Callable[[bodies.Body, int], Markup]


class Item(Struct):
    """A row with what stands below it. `html` is a message's text or the body, where it comes along.

    `has_body` without `html` means that the body is fetched. `folded` are finished reads that the row stands for.
    """

    row: Row
    html: Markup | None = None
    has_body: bool = False
    open: bool = False
    long: bool = False
    children: list[Item] = []
    folded: list[Item] = []
    fold_text: Markup = Markup("")


class Chapter(NamedTuple):
    """A turn as it is drawn; `turn` is null for what stands before the first prompt. `rules` are lines above it."""

    turn: Turn | None
    head: str
    rest: str
    chips: list[str]
    facts: TurnFacts | None
    items: list[Item]
    rules: list[tuple[str, str]]
    judgement: Judgement | None
    cut_before: bool


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


class Window(NamedTuple):
    """Which steps are on the page: those chosen from `low` to `high` of `steps`."""

    steps: list[Step]
    low: int
    high: int

    @property
    def shown(self) -> list[Step]:
        return self.steps[self.low : self.high]


def chosen(scene: Scene, show: Show) -> list[Step]:
    """The steps that a filter lets through, prompts left out where nothing of their turn is left."""
    found = []
    for step in scene.record.steps:
        if step.superseded:
            continue
        if show == "everything" or is_prompt(step):
            keep = True
        elif show == "problems":
            keep = has_problem(step) or (
                isinstance(step.payload, Other) and step.payload.tool_name.startswith("block:")
            )
        elif show == "changes":
            keep = isinstance(step.payload, Edit)
        else:
            keep = isinstance(step.payload, Message) and step.payload.role in ("user", "assistant")
        if keep:
            found.append(step)
    if show in ("problems", "changes"):
        turns = {step.turn_id for step in found if not is_prompt(step)}
        found = [step for step in found if step.turn_id in turns]
    return found


def window(steps: list[Step], anchor: str | None, size: int = WINDOW, *, exactly: bool = False) -> Window:
    """Steps around the one that was asked for, or `exactly` from it on; the first ones where none was."""
    place = next((at for at, step in enumerate(steps) if step.id == anchor), 0) if anchor else 0
    if exactly:
        return Window(steps, place, min(place + size, len(steps)))
    before = min(BEFORE, size // 4)
    low = max(min(place - before, len(steps) - size), 0) if place > before else 0
    return Window(steps, low, min(low + size, len(steps)))


def chapters(
    scene: Scene, steps: Sequence[Step], draw: Draw, *, fold: bool = True, room: int = BODIES
) -> list[Chapter]:
    """The turns of some steps, which have their payloads; bodies come along as far as `room` goes, in bytes."""
    by_turn: dict[str | None, list[Step]] = {}
    for step in steps:
        by_turn.setdefault(step.turn_id, []).append(step)
    # Rows of the turn at work stay single: the next ones come beside them, and each is found by its id.
    live = scene.record.turns[-1].id if scene.record.turns and scene.entry.state == "running" else ""
    items = {turn: _items(scene, own, fold=fold and turn != live) for turn, own in by_turn.items()}
    _fill(scene, [item for own in items.values() for item in _all(own)], draw, room)
    turns = {turn.id: turn for turn in scene.record.turns}
    shown = {step.id for step in steps}
    return [
        _chapter(scene, turns.get(turn or ""), own, items[turn], shown)
        for turn, own in sorted(by_turn.items(), key=lambda entry: _place(turns, entry[0]))
    ]


def _place(turns: dict[str, Turn], turn: str | None) -> int:
    return turns[turn].index if turn in turns else 0


def _all(items: Iterable[Item]) -> Iterable[Item]:
    for item in items:
        yield item
        yield from _all(item.children)
        yield from _all(item.folded)


def _items(scene: Scene, steps: Sequence[Step], *, fold: bool) -> list[Item]:
    """Rows in order, those of other agents under the call that started them."""
    mine: dict[str, list[Step]] = {}
    for step in steps:
        mine.setdefault(step.actor_id, []).append(step)
    here = {step.id for step in steps}

    def of(actor: str) -> list[Item]:
        own = [step for step in mine.pop(actor, []) if not is_prompt(step)]
        made = rows.timed(scene, [rows.row(scene, step) for step in own])
        found = []
        for row in made:
            item = Item(row, has_body=bodies.has_body(row.step), open=bodies.is_open(scene, row.step))
            for child in scene.spawned.get(row.step.id, ()):
                item.children += of(child.id)
            if item.children:
                failing = scene.failing(entry.row.step for entry in item.children)
                item.open = len(item.children) <= NESTED_OPEN or failing > 0
                item.has_body = True
            found.append(item)
        return _folded(scene, found) if fold else found

    found = of(ROOT) if ROOT in mine else []
    for actor_id in [step.actor_id for step in steps]:
        if actor_id in mine:
            actor = scene.actors.get(actor_id)
            found += _orphans(scene, actor, of(actor_id), linked=bool(actor and actor.parent_step_id in here))
    return found


def _orphans(scene: Scene, actor: Actor | None, items: list[Item], *, linked: bool) -> list[Item]:
    """Steps of an agent whose call is not on the page, or not known, under a row that says whose they are."""
    if not items:
        return []
    label = actor.label if actor else "agent"
    name = "Subagent" if actor is None or actor.type == "subagent" else figures.line(label)
    task = figures.line(actor.task if actor and actor.task else label)[: rows.TEXT]
    known = linked or (actor is not None and actor.parent_step_id is not None)
    text = Markup('{} <span class="dim">· {}</span>').format(name, task)
    first = items[0].row
    head = first._replace(
        kind="agent",
        icon="agent",
        word="Subagent",
        text=text,
        tail="" if known else "its call is not known",
        state="",
        role="",
        took="",
        size=figures.EMPTY,
        chips=(),
    )
    return [Item(head, has_body=True, open=True, children=items)]


def _folded(scene: Scene, items: list[Item]) -> list[Item]:
    """Three or more finished reads or searches in a row as one."""
    found: list[Item] = []
    at = 0
    while at < len(items):
        end = at
        while end < len(items) and _quiet(items[end]) and items[end].row.kind == items[at].row.kind:
            end += 1
        if end - at >= FOLD:
            found.append(_fold(items[at:end]))
            at = end
        else:
            found.append(items[at])
            at += 1
    return found


def _quiet(item: Item) -> bool:
    step = item.row.step
    return (
        item.row.kind in ("read", "find")
        and step.outcome == "ok"
        and step.decision != "rejected"
        and not item.row.new
    )


def _fold(items: list[Item]) -> Item:
    first = items[0].row
    reads = [item.row for item in items]
    subjects = list(dict.fromkeys(row.text for row in reads))
    words = (
        f"read {counted(len(subjects), 'file')}"
        if isinstance(first.step.payload, Read)
        else f"{counted(len(items), 'search', 'searches')}"
    )
    shown = Markup(", ").join(subjects[:2])
    more = Markup(" +{}").format(len(subjects) - 2) if len(subjects) > 2 else figures.EMPTY
    text = Markup('{} &nbsp;<span class="fold">{}{}</span>').format(words, shown, more)
    row = first._replace(text=Markup(""), tail="", state="", role="", took="", joined=False)
    return Item(row, has_body=True, folded=items, fold_text=text)


def _fill(scene: Scene, items: list[Item], draw: Draw, room: int) -> None:
    """Give the items their bodies, the most telling first, as far as the budget goes."""
    for item in sorted(items, key=_priority(scene)):
        if item.folded or (item.children and not item.row.step.error):
            continue
        step = item.row.step
        payload = step.payload
        if isinstance(payload, Message) and payload.role == "assistant":
            html = _message(payload.text, item)
        elif item.open:
            html = draw(bodies.body(scene, step), item.row.n)
        else:
            continue
        size = len(html.encode("utf-8", "replace"))
        if size <= room:
            item.html = html
            room -= size
        else:
            item.open, item.has_body = False, True
            if isinstance(payload, Message):
                words = figures.line(payload.text[: rows.TEXT])
                item.row = item.row._replace(text=Markup("{}").format(words))


def _message(text: str, item: Item) -> Markup:
    lines = text.count("\n") + 1
    item.long = lines > bodies.LONG
    return prose.markdown(text)


def _priority(scene: Scene) -> Callable[[Item], tuple[int, int]]:
    def of(item: Item) -> tuple[int, int]:
        step = item.row.step
        fate = scene.fates.get(step.id)
        if fate is not None and fate.failing:
            return 0, step.seq
        if step.decision == "rejected":
            return 1, step.seq
        return (2 if step.type == "message" else 3 if step.outcome == "failed" else 4), step.seq

    return of


def _chapter(
    scene: Scene, turn: Turn | None, steps: list[Step], items: list[Item], shown: set[str]
) -> Chapter:
    if turn is None:
        return Chapter(None, "", "", [], None, items, [], None, False)
    prompt = next((step for step in steps if is_prompt(step)), None)
    payload = prompt.payload if prompt is not None else None
    text = payload.text if isinstance(payload, Message) else prompt_text(scene, turn)
    head, rest = cut_prompt(text)
    chips = []
    if isinstance(payload, Message):
        chips = [bodies.attachment_words(scene, one) for one in payload.attachments]
    all_of = scene.by_turn.get(turn.id, [])
    first = next((step.id for step in all_of if not is_prompt(step)), None)
    cut = first is not None and first not in shown and any(not is_prompt(step) for step in steps)
    return Chapter(
        turn,
        head or ("(attachments alone)" if chips else "(no text)"),
        rest,
        chips,
        facts(scene, turn),
        items,
        _rules(scene, turn),
        scene.judgements.get(turn.id),
        cut,
    )


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


def _rules(scene: Scene, turn: Turn) -> list[tuple[str, str]]:
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
