"""The export of the memory as it is written: one JSON document or Markdown, part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ..memory.export import Part
from ..schema.document import iso
from .options import App

NAMES = {
    "workspace": "workspaces",
    "conversation": "conversations",
    "fact": "facts",
    "revision": "revisions",
    "forgotten": "forgotten",
}
TIMES = ("at", "learned_at", "edited_at", "created_at")


def write_json(app: App, parts: Iterator[Part]) -> None:
    """One document with a list for each kind of part; no more than one part is held at a time."""
    plain = app.term.view.glyphs.encoding is not None
    left = dict(NAMES)
    app.term.text("{")
    lead = "\n"
    for kind, group in groupby(parts, lambda part: part.kind):
        while next(iter(left)) != kind:
            app.term.text(f'{lead}  "{left.pop(next(iter(left)))}": []')
            lead = ",\n"
        app.term.text(f'{lead}  "{left.pop(kind)}": [')
        for at, part in enumerate(group):
            text = json.dumps(_times(part.value), ensure_ascii=plain, indent=2).replace("\n", "\n    ")
            app.term.text(("," if at else "") + "\n    " + text)
        app.term.text("\n  ]")
        lead = ",\n"
    for name in left.values():
        app.term.text(f'{lead}  "{name}": []')
        lead = ",\n"
    app.term.text("\n}\n")


def _times(value: Any) -> Any:
    """The same with times as ISO 8601, in all that lies below."""
    if isinstance(value, list):
        return [_times(one) for one in value]
    if isinstance(value, dict):
        return {key: iso(own) if key in TIMES else _times(own) for key, own in value.items()}
    return value


def write_markdown(app: App, parts: Iterator[Part]) -> None:
    """A heading for each kind of part; what was said is quoted, so that none of it is taken for a heading."""
    safe = app.term.view.glyphs.safe
    app.term.text("# Memory\n")
    for kind, group in groupby(parts, lambda part: part.kind):
        app.term.text(f"\n## {NAMES[kind].capitalize()}\n\n")
        for part in group:
            for line in _MARKDOWN[kind](part.value):
                app.term.text(safe(line).rstrip() + "\n")


def _workspace(value: dict[str, Any]) -> Iterator[str]:
    claims = ", ".join(f"`{path}`" for path in value["claims"])
    yield f"- {value['name']}" + (f": {claims}" if claims else "")


def _conversation(value: dict[str, Any]) -> Iterator[str]:
    yield f"### {_one_line(value['title'] or '(no prompt)')}"
    yield ""
    place = f"project {value['project']}, " if value["project"] else ""
    yield f"{value['source']}, {place}workspace {value['workspace']}"
    for one in value["exchanges"]:
        yield ""
        yield f"#### {one['id']}: prompt {one['position']}, {iso(one['at']) or 'without a time'}"
        for word in ("asked", "answered"):
            if one[word]:
                yield ""
                yield f"{word.capitalize()}:"
                yield ""
                yield from _quoted(one[word])
        if one["paths"]:
            yield ""
            yield "Files: " + ", ".join(f"`{path}`" for path in one["paths"])
    for failure in value["mended"]:
        yield ""
        where = (
            f"In prompt {failure['position']}" if failure["position"] is not None else "Outside of a prompt"
        )
        yield f"{where} this failed and later passed: `{_one_line(failure['command'])}`"
        yield ""
        yield from _quoted(failure["error"])
        changed = ", ".join(f"`{path}` +{added} -{removed}" for path, added, removed in failure["changed"])
        ran = ", ".join(f"`{_one_line(command)}`" for command in failure["ran"])
        for word, text in (("Changed between", changed), ("Ran between", ran)):
            if text:
                yield ""
                yield f"{word}: {text}"
        if failure["diff"]:
            yield ""
            yield from _quoted(failure["diff"])
    yield ""


def _fact(value: dict[str, Any]) -> Iterator[str]:
    place = f", project {value['project']}" if value["project"] else ""
    yield f"### {value['id']}: {iso(value['at'])}, added by {_author(value)}{place}, workspace {value['workspace']}"
    yield ""
    yield from _quoted(value["text"])
    yield ""


def _author(value: dict[str, Any]) -> str:
    return "an agent" if value["author"] == "agent" else "a person"


def _revision(value: dict[str, Any]) -> Iterator[str]:
    items = ", ".join(value["exchanges"]) or "an exchange that is not in the memory now"
    yield f"- edited {iso(value['at'])}: {items}"


def _forgotten(value: dict[str, Any]) -> Iterator[str]:
    yield f"- {value['kind']} {value['key']}, {iso(value['at'])}"


_MARKDOWN = {
    "workspace": _workspace,
    "conversation": _conversation,
    "fact": _fact,
    "revision": _revision,
    "forgotten": _forgotten,
}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"> {line}"
