"""One step as one row: its kind word, what it was about, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..schema.session import Session
from ..schema.step import Attachment, Command, Edit, Message, Other, Read, Step
from ..schema.words import relative
from ..store.results import Fate
from ..story import tools
from ..story.states import (
    command_state,
    failed_tail,
    failure,
    kind_of,
    last_words,
    note,
    pending,
    read_size,
    role_of_failure,
    thought,
    took,
)
from .line import Line, Span, View, spans
from .sgr import colourless
from .text import cut
from .words import counted, duration, size

STATE_CELLS = 30
"""At most so much of what a tool itself says stands at the right edge."""


class Row(NamedTuple):
    """A step in a line. `prose` is text that may take several lines; `right` are the groups at the edge."""

    kind: str
    subject: Line
    tail: str = ""
    right: tuple[Line, ...] = ()
    prose: str | None = None


class Scene(NamedTuple):
    """What a step is drawn with: the view, its session, what became of failures, the step that runs now.

    `batches` are calls of several items: the time such a call took is that of none of its items.
    """

    view: View
    session: Session
    fates: Mapping[str, Fate]
    running: str | None = None
    batches: frozenset[str] = frozenset()

    def path(self, path: str) -> str:
        """A path as the reader knows it: from the folder of the session."""
        session = self.session
        return relative(path, (session.workspace_root, session.cwd), self.view.home)


def row_of(scene: Scene, step: Step) -> Row:
    """The row of one step."""
    payload = step.payload
    if isinstance(payload, Message):
        row = _message(scene, step, payload)
    elif isinstance(payload, Command):
        row = _command(scene, step, payload)
    elif isinstance(payload, Read):
        row = _read(scene, step, payload)
    elif isinstance(payload, Edit):
        row = _edit(scene, step, payload)
    else:
        row = _other(scene, step, payload)
    if step.superseded:
        row = row._replace(right=(*row.right, spans(("superseded", "label"))))
    return row


def path_spans(view: View, path: str) -> Line:
    """A path whose folder part stands back."""
    text = view.glyphs.one_line(path)
    at = max(text.rfind("/"), text.rfind("\\")) + 1
    return spans((text[:at], "label"), text[at:])


def lines_spans(view: View, added: int, removed: int) -> Line:
    """`+7 −2`; what is nothing is left out."""
    found: list[Span] = []
    if added:
        found.append((f"+{added:,}", "live"))
    if removed:
        if found:
            found.append((" ", ""))
        found.append((f"{view.glyphs.minus}{removed:,}", "removed"))
    return tuple(found)


def attachment_words(scene: Scene, attachment: Attachment) -> str:
    """`@src/a.ts`, `image, 42 KB`."""
    name = attachment.name
    if attachment.kind == "file" and name:
        return scene.view.glyphs.one_line("@" + scene.path(name))
    words = [attachment.kind.replace("_", " ")]
    if name:
        words.append(scene.path(name))
    if attachment.size is not None:
        words.append(size(attachment.size))
    return scene.view.glyphs.one_line(", ".join(words))


def command_line(view: View, command: str) -> str:
    """A command in one line, its line ends as a symbol."""
    ends = f" {view.glyphs.line_end} "
    parts = [view.glyphs.one_line(part) for part in command.strip().split("\n")]
    return ends.join(part for part in parts if part)


def _message(scene: Scene, step: Step, payload: Message) -> Row:
    view, text = scene.view, payload.text
    right: tuple[Line, ...] = ()
    if payload.role == "thinking":
        return Row("think", spans(view.glyphs.one_line(text)), right=_thought(step))
    if payload.role == "system":
        if "error" in step.flags:
            return Row("note", (), right=(_state(scene, step, "provider error"),), prose=text)
        return Row("note", spans((_note(view, step, text), "label")))
    if payload.attachments:
        right = (spans((counted(len(payload.attachments), "attachment"), "label")),)
    return Row(kind_of(step), (), right=right, prose=text)


def _note(view: View, step: Step, text: str) -> str:
    return note(step, text) or view.glyphs.one_line(tools.first_line(text))


def _command(scene: Scene, step: Step, payload: Command) -> Row:
    view = scene.view
    subject = spans(command_line(view, payload.command))
    tail = ""
    time: tuple[Line, ...]
    if step.outcome != "failed" and payload.stdout:
        tail = view.glyphs.safe(colourless(last_words(payload)).strip().expandtabs(2))
    state = spans(command_state(step, payload, scene.fates, scene.running))
    if step.id == scene.running:
        time = (spans(duration(view.now - step.at)),) if step.at is not None else ()
        return Row("run", subject, tail, (state, *time))
    if step.content_status == "reference_only" or step.outcome == "unknown":
        return Row("run", subject, tail, (state,))
    time = _took(scene, step)
    if payload.exit_code is not None:
        # Exit codes stand one below the other, whatever the commands took and where that is not known.
        time = (spans((time[0][0][0] if time else "").rjust(5)),)
    return Row("run", subject, tail, (state, *(() if step.decision == "rejected" else time)))


def _read(scene: Scene, step: Step, payload: Read) -> Row:
    subject = [*path_spans(scene.view, scene.path(payload.path))]
    if payload.range is not None:
        end = "" if payload.range.end is None else payload.range.end
        subject.append((f":{payload.range.start}-{end}", ""))
    if step.outcome == "failed":
        return Row("read", tuple(subject), right=(_failure(scene, step, "not read"),))
    if step.outcome == "unknown":
        return Row("read", tuple(subject), right=(_pending(scene, step),))
    return Row("read", tuple(subject), right=(spans(read_size(payload)),))


def _edit(scene: Scene, step: Step, payload: Edit) -> Row:
    view = scene.view
    subject = [*path_spans(view, scene.path(payload.path))]
    if payload.move_to:
        subject.extend([(f" {view.glyphs.arrow} ", ""), *path_spans(view, scene.path(payload.move_to))])
    if step.outcome == "failed":
        return Row("edit", tuple(subject), right=(_failure(scene, step, "not applied"),))
    lines = lines_spans(view, payload.added, payload.removed)
    if lines:
        subject.extend([("  ", ""), *lines])
    words = {"create": "new file", "delete": "deleted", "move": "moved"}.get(payload.operation)
    if payload.operation == "insert" and payload.insert_line is not None:
        words = f"inserted at line {payload.insert_line:,}"
    if words:
        subject.extend([("  ", ""), (words, "")])
    if step.outcome == "unknown":
        return Row("edit", tuple(subject), right=(_pending(scene, step),))
    approved = (spans(("you approved", "label")),) if step.decision == "accepted" else ()
    return Row("edit", tuple(subject), right=approved)


def _other(scene: Scene, step: Step, payload: Other) -> Row:
    glyphs = scene.view.glyphs
    said = tools.said(payload)
    kind = tools.kind(payload.tool_name)
    tail, state = glyphs.one_line(said.tail), cut(glyphs.one_line(said.state), STATE_CELLS, glyphs)
    right: list[Line] = []
    if step.outcome == "failed":
        tail = glyphs.one_line(failed_tail(step, said)) if step.error else tail
        right.append(_failure(scene, step, state or ("failed" if kind != "tool" else "tool error")))
    elif step.outcome == "unknown":
        right.append(_pending(scene, step))
    elif kind == "ask" and scene.session.interactive is False:
        right.append(spans(("answered by default", "label")))
    elif state:
        right.append(spans(state))
    if "provider_run" in step.flags:
        right.append(spans(("run by the provider", "label")))
    if kind in ("tool", "agent") and step.decision != "rejected":
        right.extend(_took(scene, step))
    return Row(kind, spans(glyphs.one_line(said.subject)), tail, tuple(right))


def _pending(scene: Scene, step: Step) -> Line:
    return spans(pending(step, scene.running))


def _failure(scene: Scene, step: Step, otherwise: str) -> Line:
    return spans(failure(step, scene.fates, otherwise))


def _state(scene: Scene, step: Step, words: str) -> Line:
    """Words for a failure: filled where nothing mended it."""
    return spans((words, role_of_failure(step, scene.fates)))


def _took(scene: Scene, step: Step) -> tuple[Line, ...]:
    time = took(step, scene.batches)
    return () if time is None else (spans(duration(time)),)


def _thought(step: Step) -> tuple[Line, ...]:
    """Whole seconds of thinking."""
    time = thought(step)
    if time is None:
        return ()
    return (spans(f"{time / 1000:.0f} s" if time < 10_000 else duration(time)),)
