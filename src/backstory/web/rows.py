"""One step as a row of the timeline: its icon, its text, how it ended, how long it took."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from ..cli.money import cost_of
from ..cli.words import counted, duration, tokens
from ..schema.step import Command, Edit, Message, Other, Read, Step
from ..story import states, tools
from . import figures
from .ansi import colourless
from .figures import EMPTY, line
from .scene import Scene

TEXT = 300
"""Characters of a row's text; more than this never fits on a line."""
DASHED = ("went on in background", "no result recorded")
"""States that leave something open."""
_FRAME = re.compile(r"^(Error reading file|Editor operation failed|Command failed): ")
_POINTER = re.compile(r"^/messages/(\d+)/")
_ICONS = {
    "run": ("run", "Command"),
    "edit": ("edit", "Edit"),
    "read": ("read", "Read"),
    "say": ("say", "Message"),
    "think": ("think", "Thinking"),
    "note": ("note", "Added by Cline"),
    "find": ("find", "Search"),
    "fetch": ("fetch", "Fetch"),
    "ask": ("ask", "Question"),
    "agent": ("agent", "Subagent"),
    "tool": ("tool", "Tool"),
}


class Row(NamedTuple):
    """A step in a line. `role` is that of the state, `n` the step's number in the archive.

    `text` may hold markup of ours; `tail` is plain. `joined` means that it belongs to the call of the row above it.
    """

    step: Step
    n: int
    kind: str
    icon: str
    word: str
    text: Markup
    tail: str = ""
    state: str = ""
    role: str = ""
    title: str = ""
    took: str = ""
    time: str = ""
    when: str = ""
    joined: bool = False
    new: bool = False
    chips: Sequence[tuple[str, bool]] = ()
    size: Markup = EMPTY
    figures: Markup = EMPTY


def row(scene: Scene, step: Step) -> Row:
    """The row of one step that has its body."""
    payload = step.payload
    kind = states.kind_of(step)
    icon, word = _ICONS[kind]
    made = Row(step, scene.outline.numbers[step.id], kind, icon, word, EMPTY, new=scene.is_new(step))
    if isinstance(payload, Message):
        made = _message(scene, made, payload)
    elif isinstance(payload, Command):
        made = _command(scene, made, payload)
    elif isinstance(payload, Read):
        made = _read(scene, made, payload)
    elif isinstance(payload, Edit):
        made = _edit(scene, made, payload)
    else:
        made = _other(scene, made, payload)
    if made.state in DASHED:
        made = made._replace(role="dashed")
    if step.superseded:
        made = made._replace(state="superseded", role="label")
    return made


def timed(scene: Scene, rows: Sequence[Row]) -> list[Row]:
    """The rows with the time on the first of each model call; items of one call are joined."""
    found: list[Row] = []
    before: tuple[str, str | None] | None = None
    shown = ""
    for made in rows:
        call = made.step.actor_id, message_of(made.step)
        clock = scene.clock.second(made.step.at)
        same = before == call and call[1] is not None
        tool = made.step.type != "message"
        joined = same and tool and bool(found) and found[-1].step.type != "message"
        time = "" if joined or (same and clock == shown) else clock
        shown = clock
        when = scene.clock.full(made.step.at) if time else ""
        found.append(made._replace(time=time, when=when, joined=joined))
        before = call
    return found


def message_of(step: Step) -> str | None:
    """The place of the message in which a step was asked for."""
    found = _POINTER.match(step.origin.pointer)
    return found[1] if found else None


def command_line(command: str) -> str:
    """A command in one line, its line ends as a symbol."""
    return " ⏎ ".join(filter(None, (line(part) for part in command.strip().split("\n"))))


def error_words(step: Step) -> str:
    """The first line of a tool's error, without the frame that Cline puts around it."""
    return _FRAME.sub("", line(tools.first_line(step.error.message))) if step.error else ""


def _message(scene: Scene, made: Row, payload: Message) -> Row:
    step = made.step
    if payload.role == "thinking":
        took = states.thought(step)
        words = "" if took is None else (f"{took / 1000:.0f} s" if took < 10_000 else duration(took))
        return made._replace(text=_cut(line(tools.first_line(payload.text))), took=words)
    if payload.role == "system":
        if "error" in step.flags:
            role = states.role_of_failure(step, scene.fates)
            return made._replace(
                kind="error", icon="error", word="Provider error", state="provider error", role=role
            )
        words = states.note(step, payload.text) or line(tools.first_line(payload.text))
        return made._replace(text=Markup("Added by Cline: {}").format(words[:TEXT]))
    if payload.role == "user":
        return made._replace(kind="task", word="Task", text=_cut(f"Task: {line(payload.text)}"))
    return made


def _command(scene: Scene, made: Row, payload: Command) -> Row:
    step = made.step
    tail = ""
    if step.outcome != "failed" and payload.stdout:
        tail = line(colourless(states.last_words(payload)))[:TEXT]
    state, role = states.command_state(step, payload, scene.fates, scene.running)
    took = ""
    if step.id == scene.running and step.at is not None:
        took = duration(scene.clock.now - step.at)
    elif step.decision != "rejected":
        took = figures.took(states.took(step, scene.batches))
    return made._replace(
        text=_cut(command_line(payload.command)), tail=tail, state=state, role=role, took=took
    )


def _read(scene: Scene, made: Row, payload: Read) -> Row:
    step = made.step
    text = figures.path(payload.path, scene.roots, scene.home)
    if payload.range is not None:
        end = "" if payload.range.end is None else payload.range.end
        text += Markup(":{}-{}").format(payload.range.start, end)
    if step.outcome == "failed":
        tail = error_words(step)
        state, role = states.failure(step, scene.fates, "not read")
        return made._replace(text=text, tail=tail[:TEXT], state=state, role=role)
    if step.outcome == "unknown":
        state, role = states.pending(step, scene.running)
        return made._replace(text=text, state=state, role=role)
    seen, total = states.read_lines(payload.content)
    tail = f"{counted(seen, 'line')} of {total}" if total else states.read_size(payload)
    return made._replace(text=text, tail=tail)


def _edit(scene: Scene, made: Row, payload: Edit) -> Row:
    step = made.step
    text = figures.path(payload.path, scene.roots, scene.home)
    if payload.move_to:
        text = Markup("{} → {}").format(text, figures.path(payload.move_to, scene.roots, scene.home))
    if step.outcome == "failed":
        state, role = states.failure(step, scene.fates, "not applied")
        tail = error_words(step) if role != "rejected" else ""
        short, _, why = state.partition(": ")
        return made._replace(text=text, tail=tail[:TEXT], state=short, role=role, title=why)
    chips = {"create": "new file", "delete": "deleted", "move": "moved"}.get(payload.operation)
    if payload.operation == "insert" and payload.insert_line is not None:
        chips = f"inserted at line {payload.insert_line:,}"
    size = figures.lines(payload.added, payload.removed)
    state, role = states.pending(step, scene.running) if step.outcome == "unknown" else ("", "")
    if step.decision == "accepted" and not state:
        state, role = "you approved", "label"
    title = _inferred(step) if state == "you approved" else ""
    return made._replace(
        text=text, size=size, chips=((chips, False),) if chips else (), state=state, role=role, title=title
    )


def _inferred(step: Step) -> str:
    """Why a decision is no recorded one."""
    if step.decision_source in ("settings", "default"):
        what = "commands" if step.type == "command" else "edits"
        return f"Inferred: {what} were not on auto-approve when this was captured."
    return ""


def _other(scene: Scene, made: Row, payload: Other) -> Row:
    step = made.step
    said = tools.said(payload)
    kind = tools.kind(payload.tool_name)
    made = made._replace(
        text=_cut(line(said.subject)),
        tail=line(said.tail)[:TEXT],
        took=figures.took(states.took(step, scene.batches)) if kind in ("tool", "agent") else "",
    )
    state, role = "", ""
    if step.outcome == "failed":
        tail = line(states.failed_tail(step, said))[:TEXT] or made.tail
        state, role = states.failure(step, scene.fates, said.state or _failed(kind))
        made = made._replace(tail=tail)
    elif step.outcome == "unknown":
        state, role = states.pending(step, scene.running)
    elif kind == "ask" and scene.session.interactive is False:
        state, role = "answered by default", "label"
    elif kind == "find":
        made = made._replace(tail=said.state)
    elif said.state:
        state, role = line(said.state)[:30], "label"
    if "provider_run" in step.flags and not state:
        state, role = "run by the provider", "label"
    if step.decision == "rejected":
        made = made._replace(took="")
    made = made._replace(state=state, role=role)
    if kind == "tool":
        made = made._replace(text=_called(made.text))
    if kind == "ask":
        made = _asked(made, payload)
    if kind == "agent" or step.id in scene.spawned:
        made = _spawned(scene, made, payload)
    return made


def _failed(kind: str) -> str:
    return "tool error" if kind == "tool" else "failed"


def _called(text: Markup) -> Markup:
    """`server tool first-argument`: the server stands back."""
    words = str(text.unescape()).split(" ", 1)
    if len(words) < 2:
        return text
    return Markup('<span class="dir">{}</span> {}').format(*words)


def _asked(made: Row, payload: Other) -> Row:
    """The question, its options as chips with the chosen one filled, or the free answer."""
    raw = payload.raw if isinstance(payload.raw, Mapping) else {}
    given = raw.get("input")
    options = given.get("options") if isinstance(given, Mapping) else None
    answer = line(made.tail).strip('"')
    chips: list[tuple[str, bool]] = []
    if isinstance(options, list):
        chips = [(line(str(option))[:80], line(str(option)) == answer) for option in options[:12]]
    question = line(str(given.get("question") or "")) if isinstance(given, Mapping) else str(made.text)
    free = "" if any(chosen for _, chosen in chips) or not answer else f"“{answer}”"
    return made._replace(text=_cut(question), chips=chips, tail=free)


def _spawned(scene: Scene, made: Row, payload: Other) -> Row:
    """A call that started agents: whose task it was, how many steps they took, what they cost."""
    children = scene.spawned.get(made.step.id, [])
    count = sum(len(scene.by_actor.get(child.id, ())) for child in children)
    cost = cost_of(call for call in scene.record.calls if call.actor_id in {child.id for child in children})
    whole = cost.fresh + cost.cache_read + cost.cache_write + cost.output
    parts: list[str | Markup] = [counted(count, "step")] if children else []
    parts += [f"{tokens(whole)} tokens"] if whole else []
    parts += [figures.price(cost)] if any(cost.calls.values()) else []
    name = "Subagent"
    if children and children[0].type == "teammate":
        name = line(children[0].label)
    task = line(children[0].task if children and children[0].task else str(made.text.unescape()))
    text = Markup('{} <span class="dim">· {}</span>').format(name, task[:TEXT])
    ended = [step.ended_at or step.at for child in children for step in scene.by_actor.get(child.id, ())]
    took = made.took
    if not took and made.step.at is not None and any(ended):
        took = duration(max(at for at in ended if at is not None) - made.step.at)
    return made._replace(
        kind="agent",
        icon="agent",
        word="Subagent",
        text=text,
        tail="",
        took=took,
        figures=Markup(" · ").join(parts),
    )


def _cut(text: str) -> Markup:
    return Markup("{}").format(text if len(text) <= TEXT else text[:TEXT] + "…")
