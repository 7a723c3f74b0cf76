"""The steps of a page as chapters: which of them are on it, what is folded, and which bodies come along at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from markupsafe import Markup
from msgspec import Struct

from ..cli.words import counted
from ..schema.session import Actor, Turn
from ..schema.step import ROOT, Edit, Message, Other, Read, Step
from ..store.results import Judgement
from ..story.states import has_problem
from . import bodies, figures, prose, rows
from .rows import Row
from .scene import Scene, is_prompt
from .turns import TurnFacts, cut_prompt, facts, prompt_text, rules_above

Show = Literal["everything", "problems", "changes", "talk"]


WINDOW = 200


BEFORE = 40
"""Steps of a window that stand before the one that was asked for."""


BODIES = 40_000
"""Bytes of bodies that come with a page."""


FOLD = 3


NESTED_OPEN = 8


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
        rules_above(scene, turn),
        scene.judgements.get(turn.id),
        cut,
    )
