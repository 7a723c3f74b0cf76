"""Which words of a step are searchable: messages, commands and paths, and the two ends of long outputs.

Secrets are masked before a text is cut, so that no part of one gets into the index.

The index keeps no text, so a document can only be taken out with exactly the words it was put in with:
`texts` depends on nothing but the payload, and a change of it, or of what is masked, must raise `database.PREP`.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from .. import redact
from ..schema.step import Command, Edit, Message, Other, Payload, Read, StepError

MESSAGE, THINKING, COMMAND, CODE, INPUT = 16_000, 4_000, 2_000, 1_500, 600
HEAD, TAIL = 100, 300
FAILED_HEAD, FAILED_TAIL = 400, 1_200
"""Of a failed command more is kept: errors are what people look for."""
READ_HEAD, READ_TAIL = 150, 150
PATH = 16_000
"""More than any path or name has."""

_ansi = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_cjk = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


Piece = tuple[str, int, int]
"""A part of a text that is searchable: (text, start, stop)."""


def texts(payload: Payload, error: StepError | None) -> tuple[str, str]:
    """The words of what went into a step and of what came out of it, secrets masked."""
    names: list[str] = []
    given, came = _pieces(payload, error, names)
    looked_at: list[str] = []
    taken = _taken(given, looked_at), _taken(came, looked_at)
    # A list of names and values may name a secret in a value; that is looked at in any case.
    looked_at += [f"{name}=" for name in names]
    if "value" in names or not redact.is_clean("\n".join(looked_at)):
        if names:
            given, came = _pieces(masked(payload), error, [])
        taken = " ".join([redact.cut(*piece) for piece in given]), " ".join([redact.cut(*p) for p in came])
    return prepared(taken[0]), prepared(taken[1])


def _taken(pieces: list[Piece], looked_at: list[str]) -> str:
    """What of a step is searchable if it has no secret; `looked_at` takes what has to be free of secrets for that."""
    parts = []
    for text, start, stop in pieces:
        if start == 0 and stop == len(text):
            parts.append(text)
            looked_at.append(text)
        else:
            parts.append(text[start:stop])
            looked_at.append(redact.window(text, start, stop))
    return parts[0] if len(parts) == 1 else " ".join(parts)


def _pieces(payload: Payload, error: StepError | None, names: list[str]) -> tuple[list[Piece], list[Piece]]:
    """What of a step is searchable. `names` takes the names that values of a tool's input and result had."""
    came: list[Piece] = []
    if isinstance(payload, Message):
        given = [first(payload.text, THINKING if payload.role == "thinking" else MESSAGE)]
        given += [first(item.name, MESSAGE) for item in payload.attachments if item.name]
    elif isinstance(payload, Command):
        head, tail = (HEAD, TAIL) if error is None else (FAILED_HEAD, FAILED_TAIL)
        given, came = [first(payload.command, COMMAND)], ends(payload.stdout or "", head, tail)
    elif isinstance(payload, Read):
        given, came = [first(payload.path, PATH)], ends(payload.content or "", READ_HEAD, READ_TAIL)
    elif isinstance(payload, Edit):
        new = payload.new_string if payload.new_string is not None else payload.hunks
        parts = ((payload.path, PATH), (payload.move_to, PATH), (new, CODE), (payload.old_string, CODE // 3))
        given = [first(text, limit) for text, limit in parts if text]
    else:
        raw = payload.raw if isinstance(payload.raw, dict) else {"input": payload.raw}
        asked = flat(raw.get("input") if "input" in raw or "result" in raw else raw, names)
        given = [first(payload.tool_name, PATH), first(asked, INPUT)]
        came = ends(flat(raw.get("result"), names), HEAD, TAIL)
    if error is not None and error.kind != "exit_code":
        came.append(first(error.message, HEAD))
    return given, came


def flat(value: Any, names: list[str] | None = None) -> str:
    """All strings and numbers in a value, keys left out; `names` takes the keys."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if names is not None:
            names += value
        return " ".join(filter(None, [flat(item, names) for item in value.values()]))
    if isinstance(value, list):
        return " ".join(filter(None, [flat(item, names) for item in value]))
    return "" if value is None or isinstance(value, bool) else str(value)


def masked(value: Any, name: str = "") -> Any:
    """A value with what its keys name a secret masked; the keys are gone once it is flat."""
    if isinstance(value, Other):
        return replace(value, raw=masked(value.raw))
    if isinstance(value, str):
        return redact.mask_value(name, value) if name else value
    if isinstance(value, dict):
        told = value.get("name", value.get("key"))
        told = told if isinstance(told, str) else ""
        return {key: masked(item, told if key == "value" else key) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, name) for item in value]
    return value


def first(text: str, limit: int) -> Piece:
    """The beginning of a text."""
    text = plain(text)
    return text, 0, min(len(text), limit)


def ends(text: str, head: int, tail: int) -> list[Piece]:
    """The beginning and the end of a long text."""
    text = plain(text)
    size = len(text)
    if size <= head + tail:
        return [(text, 0, size)] if text else []
    return [(text, 0, head), (text, size - tail, size)]


def prepared(text: str) -> str:
    """Text as the index takes it: no terminal escapes, Chinese, Japanese and Korean as pairs of characters."""
    text = plain(text)
    return text if text.isascii() else _cjk.sub(lambda run: f" {pairs(run[0])} ", text)


def plain(text: str) -> str:
    """Text without terminal escapes."""
    return _ansi.sub("", text) if "\x1b" in text else text


def pairs(run: str) -> str:
    """The overlapping pairs of a run of characters that is written without blanks."""
    return " ".join(run[i : i + 2] for i in range(max(len(run) - 1, 1)))
