"""A session as a timeline: prompts as chapters, a line a step, subagents behind a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..schema.call import Call
from ..schema.record import Record
from ..schema.session import Actor, Segment, Turn
from ..schema.step import ROOT, Edit, Message, Other, Read, Step
from ..story import tools
from ..story.states import has_problem
from .bodies import body
from .line import Line, Span, View, beside, cut_line, flow, joined, paragraphs, spans, width
from .money import cost_of, price
from .rows import Row, Scene, attachment_words, lines_spans, path_spans, row_of
from .text import cells, cut, wrap
from .words import clock, counted, duration

KIND = 7
INDENT = 3
TAIL_GAP = 8
SAY_LINES = 3
FOLD_READS = 4
PATHS = ("read", "edit")


Draw = Callable[[View], Iterator[Line]]


class Choice(NamedTuple):
    """What the reader asked to see of a session."""

    turn: int | None = None
    full: bool = False
    problems: bool = False
    think: bool = True


class Drawing(NamedTuple):
    """A record on its way to lines: the scene, the reader's choice, and who hangs under which step."""

    scene: Scene
    record: Record
    choice: Choice
    actors: dict[str, Actor]
    depths: dict[str, int]
    spawned: dict[str, list[Actor]]
    counts: dict[str, int]
    calls: dict[str, list[Call]]
    """The calls by who made them."""

    @classmethod
    def of(cls, scene: Scene, record: Record, choice: Choice) -> Drawing:
        """Work out the nesting once for the whole record."""
        actors = {actor.id: actor for actor in record.actors}
        owner = {step.id: step.actor_id for step in record.steps}
        counts: dict[str, int] = {}
        for step in record.steps:
            counts[step.actor_id] = counts.get(step.actor_id, 0) + 1
        calls: dict[str, list[Call]] = {}
        for call in record.calls:
            calls.setdefault(call.actor_id, []).append(call)
        spawned: dict[str, list[Actor]] = {}
        for actor in record.actors:
            if actor.parent_step_id is not None:
                spawned.setdefault(actor.parent_step_id, []).append(actor)
        depths = {actor.id: _depth(actor, actors, owner) for actor in record.actors}
        return cls(scene, record, choice, actors, depths, spawned, counts, calls)


def timeline(drawing: Drawing) -> Iterator[Line]:
    """The turns that were asked for, each after a blank line."""
    record, choice = drawing.record, drawing.choice
    by_turn: dict[str | None, list[Step]] = {}
    for step in record.steps:
        by_turn.setdefault(step.turn_id, []).append(step)
    if choice.turn is None and by_turn.get(None):
        steps = _chosen(drawing, by_turn[None], None)
        if steps:
            yield ()
            yield from _steps(drawing, steps)
    for turn in record.turns:
        if choice.turn is not None and turn.index != choice.turn:
            continue
        own = by_turn.get(turn.id, [])
        prompt = next((step for step in own if _is_prompt(step)), None)
        steps = _chosen(drawing, own, prompt)
        if choice.problems and not steps:
            continue
        yield ()
        yield from _resumed(drawing, turn)
        yield from _head(drawing, turn, prompt, own)
        if steps:
            yield ()
            yield from _steps(drawing, steps)


def _is_prompt(step: Step) -> bool:
    return (
        step.actor_id == ROOT
        and not step.superseded
        and isinstance(step.payload, Message)
        and step.payload.role == "user"
    )


def _chosen(drawing: Drawing, steps: Sequence[Step], prompt: Step | None) -> list[Step]:
    """The steps of a turn without its prompt, without a child's task, and as the reader asked."""
    choice = drawing.choice
    found = []
    for step in steps:
        if prompt is not None and step.id == prompt.id and step.actor_id == prompt.actor_id:
            continue
        payload = step.payload
        if isinstance(payload, Message):
            actor = drawing.actors.get(step.actor_id)
            is_task = payload.role == "user" and actor is not None and actor.task == payload.text
            if is_task and not choice.full:
                continue
            if payload.role == "thinking" and not choice.think:
                continue
        if choice.problems and not has_problem(step):
            continue
        found.append(step)
    return found


def _resumed(drawing: Drawing, turn: Turn) -> Iterator[Line]:
    """A dim rule where a sitting begins again."""
    segments = {segment.index: segment for segment in drawing.record.segments}
    first = min((t.index for t in drawing.record.turns if t.segment_index == turn.segment_index), default=0)
    segment = segments.get(turn.segment_index)
    if segment is None or segment.start_reason != "resume" or turn.index != first:
        return
    gap = _gap(segments.get(turn.segment_index - 1), segment)
    yield spans((f"{' ' * INDENT}Resumed{f' after {duration(gap)}' if gap else ''}", "label"))
    yield ()


def _gap(before: Segment | None, segment: Segment) -> int | None:
    if before is None or before.ended_at is None or segment.started_at is None:
        return None
    return segment.started_at - before.ended_at


def _head(drawing: Drawing, turn: Turn, prompt: Step | None, steps: Sequence[Step]) -> Iterator[Line]:
    """A turn's number, its prompt whole, and its line of figures."""
    scene, view = drawing.scene, drawing.scene.view
    number = str(turn.index).ljust(INDENT - 2) + "  "
    payload = prompt.payload if prompt is not None else None
    text = payload.text if isinstance(payload, Message) else ""
    attachments = payload.attachments if isinstance(payload, Message) else ()
    lines = paragraphs(view, text, len(number)) or ["(attachments alone)" if attachments else "(no text)"]
    for at, line in enumerate(lines):
        yield spans((number if at == 0 else " " * len(number), "title"), (line, "title"))
    started = turn.started_at
    groups: list[Line] = [spans((view.glyphs.one_line(turn.mode).ljust(4), "label"))] if turn.mode else []
    if started is not None:
        groups.append(spans((clock(started, view.tz), "label")))
        groups.append(spans(_length(drawing, turn, steps, started)))
    groups.append(price(cost_of(call for call in drawing.record.calls if call.turn_id == turn.id)))
    if turn.checkpoint is not None:
        groups.append(spans(view.glyphs.one_line(f"checkpoint {turn.checkpoint.ref[:7]}")))
    groups.append(_files(view, steps))
    groups.extend(spans(attachment_words(scene, attachment)) for attachment in attachments)
    yield from flow(view, groups, indent=len(number))


def _length(drawing: Drawing, turn: Turn, steps: Sequence[Step], started: int) -> str:
    last = drawing.record.turns[-1].id == turn.id
    if last and drawing.scene.running is not None:
        return f"{duration(drawing.scene.view.now - started)} so far"
    moments = [at for step in steps for at in (step.at, step.ended_at) if at is not None]
    end = max(moments, default=started)
    return duration(end - started) if end > started else ""


def _files(view: View, steps: Sequence[Step]) -> Line:
    """The files that were changed, and by how many lines; what was not applied does not count."""
    edits = [
        step.payload
        for step in steps
        if isinstance(step.payload, Edit) and step.outcome == "ok" and not step.superseded
    ]
    if not edits:
        return ()
    files = counted(len({edit.path for edit in edits}), "file")
    lines = lines_spans(view, sum(edit.added for edit in edits), sum(edit.removed for edit in edits))
    return (*spans(f"{files} " if lines else files), *lines)


def _steps(drawing: Drawing, steps: Sequence[Step]) -> Iterator[Line]:
    at = 0
    shown: set[str] = set()
    while at < len(steps):
        step = steps[at]
        if step.actor_id not in shown:
            shown.add(step.actor_id)
            yield from _unlinked(drawing, step)
        folded = _folded(drawing, steps, at)
        if folded > 1:
            yield from _nested(drawing, step, _read_row(drawing, steps[at : at + folded]))
            at += folded
            continue
        yield from _nested(drawing, step)
        at += 1


def _unlinked(drawing: Drawing, step: Step) -> Iterator[Line]:
    """A head for the steps of an actor whose call is not known, so that they are not taken for the lead's."""
    actor = drawing.actors.get(step.actor_id)
    if actor is None or step.actor_id == ROOT:
        return
    parent = actor.parent_step_id
    if parent is not None and (parent in drawing.spawned and not drawing.choice.problems):
        return
    glyphs = drawing.scene.view.glyphs
    words = glyphs.one_line(f"{actor.label}: {actor.task}" if actor.task else actor.label)
    unknown = () if parent is not None else (spans(("its call is not known", "label")),)
    row = Row("agent", spans(words), right=(price(cost_of(drawing.calls.get(actor.id, ()))), *unknown))
    yield from _indented(drawing.scene.view, drawing.depths[actor.id] - 1, lambda view: _row(view, row))


def _folded(drawing: Drawing, steps: Sequence[Step], at: int) -> int:
    """How many steps from here on are finished reads of one actor, when they are enough for one line."""
    if drawing.choice.full or drawing.choice.problems:
        return 1
    end = at
    while end < len(steps) and _plain_read(steps[end]) and steps[end].actor_id == steps[at].actor_id:
        end += 1
    return end - at if end - at >= FOLD_READS else 1


def _plain_read(step: Step) -> bool:
    return isinstance(step.payload, Read) and step.outcome == "ok" and not step.superseded


def _read_row(drawing: Drawing, steps: Sequence[Step]) -> Row:
    view = drawing.scene.view
    paths = list(dict.fromkeys(step.payload.path for step in steps if isinstance(step.payload, Read)))
    subject: list[Span] = []
    for at, path in enumerate(paths[:2]):
        subject.extend([(", " if at else "", ""), *path_spans(view, drawing.scene.path(path))])
    if len(paths) > 2:
        subject.append((f", +{len(paths) - 2} more", ""))
    return Row("read", tuple(subject))


def _nested(drawing: Drawing, step: Step, row: Row | None = None) -> Iterator[Line]:
    """A step behind the bars of the agents that it belongs to."""
    depth = drawing.depths.get(step.actor_id, 0)
    yield from _indented(drawing.scene.view, depth, lambda view: _step(drawing, view, step, row))


def _indented(view: View, depth: int, draw: Draw) -> Iterator[Line]:
    bar = f"{view.glyphs.bar} " * depth
    prefix: Line = spans(" " * INDENT, (bar, "agent")) if depth else spans(" " * INDENT)
    inner = view._replace(width=max(view.width - INDENT - cells(bar), 30))
    for line in draw(inner):
        yield (*prefix, *line)


def _step(drawing: Drawing, view: View, step: Step, row: Row | None) -> Iterator[Line]:
    if row is not None:
        yield from _row(view, row)
        return
    scene = drawing.scene._replace(view=view)
    yield from _row(view, _with_children(drawing, step, row_of(scene, step)), full=drawing.choice.full)
    inner = scene._replace(view=view._replace(width=view.width - KIND))
    for line in body(inner, step, full=drawing.choice.full):
        yield (*spans(" " * KIND), *line)


def _with_children(drawing: Drawing, step: Step, row: Row) -> Row:
    """The row of a call that started agents: how many steps they took, and what they cost."""
    children = drawing.spawned.get(step.id)
    if not children or not isinstance(step.payload, Other):
        return row
    count = sum(drawing.counts.get(child.id, 0) for child in children)
    kind = "agent" if tools.kind(step.payload.tool_name) == "tool" else row.kind
    cost = price(cost_of(call for child in children for call in drawing.calls.get(child.id, ())))
    figures = joined([spans(counted(count, "step")), cost], gap=2)
    return row._replace(kind=kind, right=(figures, *row.right))


def _row(view: View, row: Row, *, full: bool = False) -> Iterator[Line]:
    kind: Span = (row.kind.ljust(KIND), "agent" if row.kind == "agent" else "label")
    right = joined(row.right)
    if row.prose is not None:
        yield from _prose(view, kind, row, right, full=full)
        return
    if row.kind == "think":
        yield from _thought(view, kind, row, right, full=full)
        return
    subject = row.subject
    if view.cut and row.kind in PATHS:
        subject = _shortened(view, subject, view.width - KIND - (width(right) + 2 if right else 0))
    left: list[Span] = [kind, *subject]
    room = view.width - width(left) - TAIL_GAP - (width(right) + 2 if right else 0)
    if row.tail and (room >= min(cells(row.tail), 12) or not view.cut):
        left.extend([(" " * TAIL_GAP, ""), (row.tail, "label")])
    yield beside(view, left, right)
    if row.tail and row.kind == "ask" and left[-1][0] != row.tail:
        # An answer is worth a line of its own where the question leaves no room for it.
        yield beside(view, spans((" " * KIND + row.tail, "label")))


def _shortened(view: View, subject: Line, room: int) -> Line:
    """A path in less room: the folders give way first, because the file's name says more."""
    over = width(subject) - room
    if over <= 0 or not subject or not subject[0][0]:
        return subject
    folder, role = subject[0]
    keep = max(cells(folder) - over - len(view.glyphs.cut), 0)
    while folder and cells(folder) > keep:
        folder = folder[1:]
    return ((view.glyphs.cut + folder, role), *subject[1:])


def _thought(view: View, kind: Span, row: Row, right: Line, *, full: bool) -> Iterator[Line]:
    if not full:
        yield beside(view, (kind, *row.subject), right, at_word=True)
        return
    lines = paragraphs(view, "".join(text for text, _ in row.subject), KIND)
    for at, line in enumerate(lines):
        left = (kind if at == 0 else (" " * KIND, ""), (line, ""))
        yield beside(view, left, right if at == 0 else ())


def _prose(view: View, kind: Span, row: Row, right: Line, *, full: bool) -> Iterator[Line]:
    """Running text: its first paragraph, and how many lines more there are."""
    if full:
        lines, more, unfinished = paragraphs(view, row.prose or "", KIND), 0, False
    else:
        lines, more, unfinished = _beginning(view, row.prose or "")
    edge = joined([spans((f"+{counted(more, 'line')}", "label")) if more else (), right])
    room = view.width - KIND - (width(edge) + 2 if edge else 0)
    if lines and view.cut and unfinished:
        lines[-1] = cut(
            lines[-1] + " " * view.width, min(room, view.width - KIND - 4), view.glyphs, at_word=True
        )
    elif lines and view.cut and cells(lines[-1]) > room:
        lines[-1:] = wrap(lines[-1], room)
    for at, line in enumerate(lines or [""]):
        left = (kind if at == 0 else (" " * KIND, ""), (line, ""))
        last = at == max(len(lines) - 1, 0)
        drawn = beside(view, left, edge if last else ())
        yield cut_line(drawn, view.width, view.glyphs) if view.cut else drawn


def _beginning(view: View, text: str) -> tuple[list[str], int, bool]:
    """The first paragraph in a few lines, how many lines are left out, and whether it goes on itself."""
    source = view.glyphs.lines(text)
    rest = sum(1 for line in source[1:] if line)
    lines = wrap(source[0].strip(), view.width - KIND - 4, break_words=view.cut) if source else []
    if len(lines) <= SAY_LINES or (len(lines) == SAY_LINES + 1 and not rest):
        return lines, rest, False
    return lines[:SAY_LINES], rest + len(lines) - SAY_LINES, True


def _depth(actor: Actor, actors: dict[str, Actor], owner: dict[str, str]) -> int:
    """How many bars stand before an actor's steps; an actor that hangs under nobody has one."""
    depth = 0
    seen: set[str] = set()
    current: Actor | None = actor
    while current is not None and current.id != ROOT and current.id not in seen:
        seen.add(current.id)
        depth += 1
        parent = owner.get(current.parent_step_id) if current.parent_step_id else None
        current = actors.get(parent) if parent else None
    return depth
