"""What stands below a step's row: the end of an output, changed lines, the words of a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..schema.changed import Changed, changed_lines
from ..schema.step import Command, Edit, Message, Other, Read, Step
from ..store.results import Fate
from ..story import tools
from ..story.excerpt import excerpt as parts_of
from ..story.states import feedback
from .line import Line, View, cut_line, plain, spans, width
from .rows import Scene
from .sgr import colourless, drawn
from .text import block, cut, hard_wrap
from .words import counted, duration

FAILURE_LINES = 12
FAILURE_START = 5
EDIT_LINES = 8
EDIT_START = 6


def body(scene: Scene, step: Step, *, full: bool = False) -> Iterator[Line]:
    """The lines below a step's row, from the row's text column on; none for what went well, unless `full`."""
    payload = step.payload
    if isinstance(payload, Edit):
        if step.outcome != "failed":
            yield from _changed(scene.view, changed_lines(payload, whole=full), full=full)
        elif full:
            yield from _wanted(scene.view, changed_lines(payload, whole=True))
    elif isinstance(payload, Command):
        yield from _output(scene, step, payload, full=full)
    elif full:
        text = _whole_text(payload)
        yield from _block(scene.view, text)
        if step.error is not None and step.error.message in text:
            return
    yield from _refusal(scene, step, full=full)


def excerpt(view: View, text: str) -> Iterator[Line]:
    """Twelve lines at most: five from where the error is named, the rest from the end. Blank lines do not count."""
    lines = [line for line in block(text) if line]
    shown = parts_of([colourless(line) for line in lines], FAILURE_LINES, FAILURE_START)
    at = 0
    for part in shown:
        if part.start > at:
            words = (
                f"{counted(part.start - at, 'more line')}" if at else f"{counted(part.start, 'line')} above"
            )
            yield spans((f"{view.glyphs.cut}  {words}", "label"))
        yield from (_text(view, lines[place]) for place in part)
        at = part.stop


def _output(scene: Scene, step: Step, payload: Command, *, full: bool) -> Iterator[Line]:
    view = scene.view
    output = payload.stdout or ""
    if full:
        yield from _coloured_block(view, output)
        if payload.output_ref:
            words = f"Went on in the background. Cline writes the rest to {payload.output_ref}"
            for part in hard_wrap(view.glyphs.one_line(words), view.width) if view.cut else (words,):
                yield spans((part, "label"))
    elif step.outcome == "failed" and step.decision != "rejected":
        yield from excerpt(view, output)
    if step.outcome == "failed" and step.decision != "rejected":
        yield from _fate(scene.fates.get(step.id), said_more=bool(output.strip()))


def _fate(fate: Fate | None, *, said_more: bool) -> Iterator[Line]:
    """What became of a failed command; the state of its row says it too, so a bare row stays bare."""
    if fate is None:
        return
    if fate.mended_by is not None:
        words = "succeeded later" if fate.after is None else f"succeeded {duration(fate.after)} later"
        if fate.edits:
            words += f", after {counted(fate.edits, 'edit')}"
        yield spans((words, "label"))
    elif fate.failing and said_more:
        yield spans(("has not succeeded since", "failed"))


def _wanted(view: View, lines: list[Changed]) -> Iterator[Line]:
    """The change of an edit that was not applied, standing back so that nobody takes it for one."""
    if lines:
        yield spans(("the change it wanted:", "label"))
    for line in _changed(view, lines, full=True):
        yield tuple((text, "label") for text, _ in line)


def _refusal(scene: Scene, step: Step, *, full: bool) -> Iterator[Line]:
    """What the user wrote with a denial, or the tool's own words where the row does not say enough."""
    if step.error is None:
        return
    glyphs, kind = scene.view.glyphs, step.error.kind
    said = feedback(step)
    if said:
        yield from _prose(scene.view, f'you wrote: "{glyphs.one_line(said)}"')
    elif full and kind not in ("exit_code", "denied"):
        yield from _block(scene.view, step.error.message)
    elif kind == "invalid_input" or (kind == "tool" and step.type == "command"):
        yield from _prose(scene.view, glyphs.one_line(step.error.message))


def _prose(view: View, text: str) -> Iterator[Line]:
    yield spans(cut(text, view.width, view.glyphs) if view.cut else text)


def _changed(view: View, lines: list[Changed], *, full: bool) -> Iterator[Line]:
    """Changed lines with their numbers; where there are too many, the first and how many more."""
    shown = lines if full or len(lines) <= EDIT_LINES else lines[:EDIT_START]
    digits = max((len(str(line.number)) for line in shown if line.number is not None), default=0)
    for line in shown:
        number = "" if line.number is None else str(line.number)
        gutter = f"{number.rjust(digits)}  " if digits else ""
        sign = view.glyphs.minus if line.sign == "-" else line.sign
        role = {"+": "live", "-": "removed", " ": ""}[line.sign]
        text = view.glyphs.safe(line.text.rstrip("\r").expandtabs(4))
        drawn = f"{gutter}{sign} {text}"
        yield spans((cut(drawn, view.width, view.glyphs) if view.cut else drawn, role))
    if len(shown) < len(lines):
        indent = " " * (digits + 2 if digits else 0)
        yield spans((f"{indent}{view.glyphs.cut}  {counted(len(lines) - len(shown), 'more line')}", "label"))


def _block(view: View, text: str) -> Iterator[Line]:
    """A text whole; on a terminal its long lines are folded, never cut."""
    for line in view.glyphs.lines(text):
        for part in hard_wrap(line, view.width) if view.cut else (line,):
            yield spans(part)


def _coloured_block(view: View, text: str) -> Iterator[Line]:
    """An output whole, in its colours; a long line is folded, and then without them."""
    for line in block(text):
        found = drawn(view, line)
        if not view.cut or width(found) <= view.width:
            yield found
            continue
        for part in hard_wrap(plain(found), view.width):
            yield spans(part)


def _text(view: View, line: str) -> Line:
    found = drawn(view, line)
    return cut_line(found, view.width, view.glyphs) if view.cut else found


def _whole_text(payload: Any) -> str:
    """Everything that a step carries besides its row."""
    if isinstance(payload, Message):
        return payload.text if payload.role == "system" else ""
    if isinstance(payload, Read):
        return payload.content or ""
    if not isinstance(payload, Other) or not isinstance(payload.raw, Mapping):
        return ""
    raw = payload.raw
    if payload.tool_name == "fetch_web_content":
        return tools.page_text(raw.get("result"))
    if "input" not in raw and "result" not in raw:
        return json.dumps(raw, ensure_ascii=False, indent=1, default=str)
    result = tools.text_of(raw.get("result"))
    if tools.kind(payload.tool_name) == "find" or raw.get("input") is None:
        return result
    given = raw["input"] or ""
    if not isinstance(given, str):
        given = json.dumps(given, ensure_ascii=False, default=str)
    return "\n".join(filter(None, (given, result)))
