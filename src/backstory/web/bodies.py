"""What stands below a step's row: an output, a diff, what was read, a text, or the words of a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from ..cli.words import counted, duration, size, tokens
from ..schema.step import Attachment, Command, Edit, Message, Other, Read, Step
from ..schema.words import relative
from ..store.results import Fate
from ..story import states, tools
from ..story.excerpt import excerpt
from . import ansi, code, diffs, figures, prose
from .figures import line
from .scene import Scene

START = 5
END = 12
OPEN_EDIT = 12
"""Changed lines up to which a diff is open by itself."""
LONG = 40
"""Lines of a message up to which it is shown whole."""
WHOLE = 2_000_000
"""Characters of one text that a page takes; more is cut, and says so."""
_CUT = re.compile(r"\[\.\.\. output truncated: (\d{1,15}) chars total\.")
_READ_LINE = re.compile(r"^ *(\d{1,9}) \| (.*)$")


class Output(NamedTuple):
    """The lines of an output in parts, with how many are left out before each, and after the last."""

    parts: list[tuple[int, list[Markup]]]
    lines: int
    cut: bool


class Body(NamedTuple):
    """What a body's template draws. Only what its kind needs is set."""

    kind: str
    step: Step
    caption: str = ""
    fate: str = ""
    fate_link: str = ""
    fate_role: str = ""
    output: Output | None = None
    none: str = ""
    diff: diffs.Table | None = None
    where: str = ""
    label: str = ""
    wanted: bool = False
    said: str = ""
    html: Markup = Markup("")
    numbered: list[tuple[str, Markup]] = []  # noqa: RUF012
    trees: list[tuple[str, str]] = []  # noqa: RUF012
    meta: Markup = Markup("")
    refused: str = ""


def has_body(step: Step) -> bool:
    """Whether anything stands below a step's row."""
    payload = step.payload
    if isinstance(payload, Message):
        if payload.role == "thinking":
            text = payload.text.strip()
            return "\n" in text or len(text) > 140
        return payload.role == "system" or (payload.role == "user" and len(payload.text) > 140)
    return True


def is_open(scene: Scene, step: Step) -> bool:
    """Whether a body is open by itself: it explains a failure, or is a small change."""
    payload = step.payload
    if step.superseded:
        return False
    if step.decision == "rejected":
        return True
    if isinstance(payload, Command):
        return step.outcome == "failed"
    if isinstance(payload, Edit):
        few = payload.added + payload.removed <= OPEN_EDIT
        return step.outcome == "ok" and few and payload.operation not in ("create", "delete")
    return isinstance(payload, Message) and "error" in step.flags


def body(scene: Scene, step: Step, *, whole: bool = False) -> Body:
    """The body of a step that has its payload; `whole` leaves no line of an output or a diff out."""
    payload = step.payload
    if step.decision == "rejected":
        made = _refusal(step)
    elif isinstance(payload, Command):
        made = _command(scene, step, payload, whole=whole)
    elif isinstance(payload, Edit):
        made = _edit(scene, step, payload, whole=whole)
    elif isinstance(payload, Read):
        made = _read(step, payload)
    elif isinstance(payload, Message):
        made = _message(step, payload)
    else:
        made = _other(step, payload)
    return made._replace(meta=meta(scene, step))


def meta(scene: Scene, step: Step) -> Markup:
    """One line that says where a step is from: id, decision and its source, its call's tokens and cost, its place."""
    parts = [Markup("<code>{}</code>").format(line(step.id))]
    if step.decision != "n/a":
        source = f", {step.decision_source}" if step.decision_source else ""
        parts.append(Markup("{}{}").format(step.decision, source))
    message = step.id.rpartition("#")[0]
    call = scene.calls.get(f"{step.actor_id}\0{message}")
    if call is not None:
        whole = call.fresh + call.cache_read + call.cache_write + call.output
        parts.append(Markup("call of {} tokens").format(tokens(whole)))
    parts.append(Markup("{} {}").format(line(step.origin.file), step.origin.pointer))
    return Markup(" · ").join(parts)


def _refusal(step: Step) -> Body:
    said = states.feedback(step)
    kind = step.error.kind if step.error else "denied"
    words = "Not executed." if kind == "denied" else line(step.error.message if step.error else "")
    return Body("refused", step, refused=words, said=line(said))


def _command(scene: Scene, step: Step, payload: Command, *, whole: bool) -> Body:
    text = payload.stdout or ""
    failed = step.outcome == "failed"
    made = Body("command", step)
    if failed:
        words, link, role = fate_words(scene.fates.get(step.id))
        made = made._replace(fate=words, fate_link=link, fate_role=role)
    caption = []
    if text.strip():
        made = made._replace(output=output(text, whole=whole or not failed))
        assert made.output is not None
        caption.append(counted(made.output.lines, "line"))
    else:
        made = made._replace(none=_no_output(step))
    if (cut := _CUT.search(text)) is not None:
        caption.append(f"Cut by Cline: {int(cut[1]):,} characters in all.")
    if payload.cwd and payload.cwd != scene.session.cwd:
        caption.append(f"in {line(payload.cwd)}")
    if step.error is not None and step.error.kind not in ("exit_code",):
        made = made._replace(said=line(step.error.message).removeprefix("Command failed: ")[:400])
    if payload.output_ref:
        made = made._replace(label=went_on(payload.output_ref))
    return made._replace(caption=" · ".join(caption))


def went_on(output_ref: str) -> str:
    """Where the rest of an output is; a path of another system says nothing of this one's files."""
    path = Path(output_ref)
    try:
        gone = path.is_absolute() and not path.exists()
    except OSError:
        gone = False
    after = ", which is no longer there." if gone else "."
    return f"Went on in the background. Cline writes the rest to {line(output_ref)}{after}"


def _no_output(step: Step) -> str:
    if step.outcome == "unknown":
        return ""
    kept = step.error is None or step.error.kind not in ("timeout", "aborted")
    return "No output." if kept else "Cline kept no output of it."


def fate_words(fate: Fate | None) -> tuple[str, str, str]:
    """What became of a failed command, the step that mended it, and the role of the words."""
    if fate is None:
        return "", "", ""
    if fate.mended_by is not None:
        after = "" if fate.after is None else f" {duration(fate.after)}"
        edits = f", after {counted(fate.edits, 'edit')}" if fate.edits else ""
        return f"The same command succeeded{after} later{edits}.", fate.mended_by, ""
    if fate.failing:
        return "Has not succeeded since.", "", "fail"
    return "", "", ""


def output(text: str, *, whole: bool) -> Output:
    """An output with its colours; of a failed one the lines that name the error, and the end."""
    cut = len(text) > WHOLE
    lines = [entry.expandtabs(8).rstrip() for entry in text[:WHOLE].replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    if whole:
        return Output([(0, ansi.drawn(lines))], len(lines), cut)
    count = len(lines)
    # What is shown of a failure is the end and the place that names it: blank lines say nothing there.
    lines = [entry for entry in lines if ansi.colourless(entry).strip()]
    drawn = ansi.drawn(lines)
    parts: list[tuple[int, list[Markup]]] = []
    at = 0
    for part in excerpt([ansi.colourless(entry) for entry in lines], START + END, START):
        parts.append((part.start - at, drawn[part.start : part.stop]))
        at = part.stop
    return Output(parts, count, cut)


def _edit(scene: Scene, step: Step, payload: Edit, *, whole: bool) -> Body:
    failed = step.outcome == "failed"
    where = line(figures.path(payload.path, scene.roots, scene.home).striptags())
    first = diffs.first_line(payload)
    if payload.operation == "insert" and payload.insert_line:
        where += f" · inserted at line {payload.insert_line:,}"
    elif first is not None and payload.operation != "create":
        where += f" · line {first:,}"
    table = diffs.of_edit(payload, whole=whole)
    said = line(step.error.message)[:2000] if failed and step.error else ""
    note = line(payload.note)[:600] if payload.note else ""
    return Body("edit", step, diff=table, where=where, wanted=failed, said=said, caption=note)


def _read(step: Step, payload: Read) -> Body:
    if step.outcome == "failed":
        return Body("text", step, said=line(step.error.message) if step.error else "")
    if payload.content is None:
        return _trees(step, {"result": payload.raw})
    content = payload.content[:WHOLE]
    found = [_READ_LINE.match(entry) for entry in content.split("\n")]
    if not any(found):
        return Body("text", step, html=_plain(content))
    rest = "\n".join(
        entry for entry, match in zip(content.split("\n"), found, strict=True) if match is None
    ).strip()
    numbered = [(match[1], match[2]) for match in found if match is not None]
    pieces = code.highlighted(payload.path, "\n".join(text for _, text in numbered))
    drawn = [(number, code.drawn(one)) for (number, _), one in zip(numbered, pieces, strict=True)]
    return Body("read", step, numbered=drawn, label=line(payload.path), said=line(rest)[:400])


def _message(step: Step, payload: Message) -> Body:
    return Body("text", step, html=_plain(payload.text[:WHOLE]))


def _plain(text: str) -> Markup:
    """A text as it stands, whatever is in it."""
    lines = [code.visible(entry) for entry in text.replace("\r\n", "\n").split("\n")]
    return Markup('<pre class="plain" dir="auto">{}</pre>').format("\n".join(lines))


def _other(step: Step, payload: Other) -> Body:
    raw = payload.raw if isinstance(payload.raw, Mapping) else {"block": payload.raw}
    kind = tools.kind(payload.tool_name)
    if payload.tool_name.startswith("block:"):
        words = f"Backstory does not know {line(payload.tool_name)}. Kept as it was written:"
        return _trees(step, {"": raw})._replace(said=words)
    if kind == "find" and step.outcome == "ok":
        return Body("text", step, html=_plain(tools.text_of(raw.get("result"))[:WHOLE]))
    if kind == "fetch" and step.outcome == "ok":
        asked = raw.get("input")
        prompt = asked.get("prompt") if isinstance(asked, Mapping) else None
        page = prose.markdown(tools.page_text(raw.get("result"))[: prose.MOST])
        return Body("prose", step, said=line(str(prompt)) if prompt else "", html=page)
    said = line(step.error.message)[:2000] if step.error is not None else ""
    trees = {name: value for name, value in raw.items() if value is not None}
    return _trees(step, trees)._replace(said=said)


def _trees(step: Step, values: Mapping[str, Any]) -> Body:
    names = {"input": "Input", "result": "Result", "error": "Error", "block": "Block", "": ""}
    trees = []
    for name, value in values.items():
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        shown = "\n".join(code.visible(entry) for entry in text[:WHOLE].split("\n"))
        trees.append((names.get(name, line(name)), shown))
    return Body("trees", step, trees=trees)


def attachment_words(scene: Scene, one: Attachment) -> str:
    """`Image, 42 KB, not kept`; `@src/a.ts`; `folder, src`."""
    name = line(relative(one.name, scene.roots, scene.home)) if one.name else ""
    amount = f", {size(one.size)}" if one.size is not None else ""
    if one.kind in ("image", "media"):
        return f"{one.kind.capitalize()}{amount}, not kept"
    if one.kind == "file" and name:
        return f"@{name}"
    words = line(one.kind.replace("_", " "))
    return (f"{words}, {name}" if name else words) + amount


def copied_text(step: Step) -> str:
    """What a person pastes into Cline next: the command, its exit code and the end of its output, as Markdown."""
    payload = step.payload
    if not isinstance(payload, Command):
        return getattr(payload, "path", "") or getattr(payload, "text", "")
    lines = ansi.colourless(payload.stdout or "").rstrip().split("\n")
    parts = excerpt(lines, START + END, START)
    shown = "\n…\n".join("\n".join(lines[part.start : part.stop]) for part in parts)
    code_word = f"exit {payload.exit_code}" if payload.exit_code is not None else "no exit code"
    fence = "```"
    while fence in shown or fence in payload.command:
        fence += "`"
    said = f"`{payload.command}`" if "\n" not in payload.command and "`" not in payload.command else ""
    head = said or f"{fence}sh\n{payload.command}\n{fence}"
    return f"{head} ({code_word})\n\n{fence}\n{shown}\n{fence}\n"
