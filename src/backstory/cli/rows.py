"""One step as one row: its kind word, what it was about, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..schema.session import Session
from ..schema.step import Attachment, Command, Edit, Message, Other, Read, Step
from ..store.results import Fate
from . import tools
from .line import Line, Span, View, spans
from .sgr import colourless
from .text import cut
from .words import counted, duration, relative, size

STATE_CELLS = 30
"""At most so much of what a tool itself says stands at the right edge."""

_SHOWING = re.compile(r"\n*\[Showing lines (\d+)-(\d+) of (\d{1,12})(\+ lines)?\.[^\]]*\]\s*$")
_FEEDBACK = re.compile(r"<feedback>\s*(.*?)\s*</feedback>", re.DOTALL)
_LEFT_RUNNING = (
    "[Command completed with background processes still running; their output is no longer captured]"
)
_HOOK = re.compile(r'<hook_context source="(\w+)"')

_NOT_APPLIED = (
    ("text not found", "text not found"),
    ("multiple occurrences", "the text stands there more than once"),
    ("already exists", "the file exists already"),
    ("too large", "too large"),
    ("Invalid insert_line", "no such line"),
    ("File not found", "file not found"),
    ("ENOENT", "file not found"),
    ("did not match", "text not found"),
)
_NOTES = {
    "hook_context": "hook context",
    "resumption": "asked to go on where it left off",
    "continuation": "told that it may act now",
    "team_update": "news from teammates",
    "output_limit": "asked to go on after the output limit",
    "reminder": "reminder",
    "compaction_summary": "summary in place of what stands above",
    "status": "status",
}
_COUNTED_NOTES = ("hook_context", "team_update", "compaction_summary")
_ROLES = {"assistant": "say", "thinking": "think", "user": "say", "system": "note"}


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


def kind_of(step: Step) -> str:
    """The kind word of a step."""
    payload = step.payload
    if isinstance(payload, Message):
        return _ROLES[payload.role]
    if isinstance(payload, Other):
        return tools.kind(payload.tool_name)
    return {"command": "run", "edit": "edit", "read": "read"}[step.type]


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


def feedback(step: Step) -> str | None:
    """What the user wrote with a denial."""
    found = _FEEDBACK.search(step.error.message) if step.error else None
    return found[1] if found else None


def read_lines(content: str | None) -> tuple[int, str | None]:
    """How many lines the agent saw of a file, and of how many where Cline says so."""
    if not content:
        return 0, None
    shown = _SHOWING.search(content)
    body = content[: shown.start()] if shown else content
    return body.count("\n") + 1, f"{int(shown[3]):,}{'+' if shown[4] else ''}" if shown else None


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
    return Row(_ROLES[payload.role], (), right=right, prose=text)


def _note(view: View, step: Step, text: str) -> str:
    words = next((words for flag, words in _NOTES.items() if flag in step.flags), None)
    if words is None:
        return view.glyphs.one_line(tools.first_line(text))
    hook = _HOOK.search(text)
    if hook and "hook_context" in step.flags:
        words = f"{words} ({hook[1]})"
    if any(flag in step.flags for flag in _COUNTED_NOTES):
        words = f"{words}, {counted(text.count(chr(10)) + 1, 'line')}"
    return words


def _command(scene: Scene, step: Step, payload: Command) -> Row:
    view = scene.view
    subject = spans(command_line(view, payload.command))
    tail = ""
    took: tuple[Line, ...]
    if step.outcome != "failed" and payload.stdout:
        last = tools.last_line(payload.stdout.removesuffix(_LEFT_RUNNING))
        tail = view.glyphs.safe(colourless(last).strip().expandtabs(2))
    if step.id == scene.running:
        took = (spans(duration(view.now - step.at)),) if step.at is not None else ()
        return Row("run", subject, tail, (spans(("running", "live")), *took))
    if step.content_status == "reference_only":
        return Row("run", subject, tail, (spans(("went on in background", "label")),))
    if step.outcome == "failed":
        state = _failure(scene, step, f"exit {payload.exit_code}")
    elif step.outcome == "unknown":
        return Row("run", subject, tail, (spans(("no result recorded", "label")),))
    else:
        state = spans(("exit 0" if payload.exit_code == 0 else "done", "label"))
    took = _took(scene, step)
    if payload.exit_code is not None:
        # Exit codes stand one below the other, whatever the commands took and where that is not known.
        took = (spans((took[0][0][0] if took else "").rjust(5)),)
    return Row("run", subject, tail, (state, *(() if step.decision == "rejected" else took)))


def _read(scene: Scene, step: Step, payload: Read) -> Row:
    subject = [*path_spans(scene.view, scene.path(payload.path))]
    if payload.range is not None:
        end = "" if payload.range.end is None else payload.range.end
        subject.append((f":{payload.range.start}-{end}", ""))
    if step.outcome == "failed":
        return Row("read", tuple(subject), right=(_failure(scene, step, "not read"),))
    if step.outcome == "unknown":
        return Row("read", tuple(subject), right=(_pending(scene, step),))
    seen, total = read_lines(payload.content)
    if payload.content is not None and payload.content.startswith("Successfully read image"):
        words = "image"
    elif total is not None:
        words = f"{seen:,} of {total} lines"
    else:
        words = counted(seen, "line") if seen else "empty"
    return Row("read", tuple(subject), right=(spans(words),))


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
        tail = glyphs.one_line(_failed_tail(step, said)) if step.error else tail
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


def _failed_tail(step: Step, said: tools.Said) -> str:
    """The first words of a tool's error, where its state says no more than that it failed."""
    if step.error is None or said.state or step.error.kind not in ("mcp", "tool"):
        return ""
    return tools.first_line(said.tail or step.error.message)


def _pending(scene: Scene, step: Step) -> Line:
    if step.id == scene.running:
        return spans(("running", "live"))
    return spans(("no result recorded", "label"))


def _failure(scene: Scene, step: Step, otherwise: str) -> Line:
    """How a step failed, in the words of its error's kind."""
    kind = step.error.kind if step.error else "tool"
    message = step.error.message if step.error else ""
    if kind == "denied":
        return spans(("you rejected it", "rejected"))
    if kind == "blocked":
        return spans(("blocked by policy" if "policy" in message else "nobody could approve it", "rejected"))
    words = otherwise
    if kind in ("timeout", "aborted"):
        words = {"timeout": "timed out", "aborted": "aborted"}[kind]
    elif step.type == "edit":
        reason = next((words for sign, words in _NOT_APPLIED if sign in message), None)
        words = f"not applied: {reason}" if reason else "not applied"
    elif kind == "not_found":
        words = "not run: not found" if step.type == "command" else "not found"
    elif kind == "invalid_input":
        words = "not run: invalid input"
    elif step.type == "command" and kind != "exit_code":
        words = "not run"
    return _state(scene, step, words)


def _state(scene: Scene, step: Step, words: str) -> Line:
    """Words for a failure: filled where nothing mended it."""
    fate = scene.fates.get(step.id)
    return spans((words, "failing" if fate is not None and fate.failing else "failed"))


def _took(scene: Scene, step: Step) -> tuple[Line, ...]:
    if step.id.rpartition("#")[0] in scene.batches:
        return ()
    if step.at is None or step.ended_at is None or step.ended_at <= step.at:
        return ()
    return (spans(duration(step.ended_at - step.at)),)


def _thought(step: Step) -> tuple[Line, ...]:
    """Whole seconds of thinking; what is under one is not worth a figure."""
    if step.at is None or step.ended_at is None or step.ended_at - step.at < 500:
        return ()
    took = step.ended_at - step.at
    return (spans(f"{took / 1000:.0f} s" if took < 10_000 else duration(took)),)


def batches(steps: Iterable[Step]) -> frozenset[str]:
    """The ids of calls of several items."""
    seen: set[str] = set()
    found: set[str] = set()
    for step in steps:
        call = step.id.rpartition("#")[0]
        if step.type != "message":
            (found if call in seen else seen).add(call)
    return frozenset(found)
