"""Which words of a step are searchable: messages, commands and paths, and the two ends of long outputs.

The index keeps no text, so a document can only be taken out with exactly the words it was put in with:
`texts` depends on nothing but the payload, and a change of it must raise `database.PREP`.
"""

from __future__ import annotations

import re
from typing import Any

from ..schema.step import Command, Edit, Message, Other, Payload, Read, StepError

MESSAGE, THINKING, COMMAND, CODE, INPUT = 16_000, 4_000, 2_000, 1_500, 600
HEAD, TAIL = 100, 300
FAILED_HEAD, FAILED_TAIL = 400, 1_200
"""Of a failed command more is kept: errors are what people look for."""
READ_HEAD, READ_TAIL = 150, 150

_ansi = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_cjk = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def texts(payload: Payload, error: StepError | None) -> tuple[str, str]:
    """The words of what went into a step and of what came out of it."""
    if isinstance(payload, Message):
        limit = THINKING if payload.role == "thinking" else MESSAGE
        names = " ".join(item.name for item in payload.attachments if item.name)
        given, came = payload.text[:limit] + (" " + names if names else ""), ""
    elif isinstance(payload, Command):
        head, tail = (HEAD, TAIL) if error is None else (FAILED_HEAD, FAILED_TAIL)
        given, came = payload.command[:COMMAND], ends(payload.stdout or "", head, tail)
    elif isinstance(payload, Read):
        given, came = payload.path, ends(payload.content or "", READ_HEAD, READ_TAIL)
    elif isinstance(payload, Edit):
        new = payload.new_string if payload.new_string is not None else payload.hunks or ""
        old = (payload.old_string or "")[: CODE // 3]
        given = " ".join(filter(None, (payload.path, payload.move_to, new[:CODE], old)))
        came = ""
    else:
        given, came = _other(payload)
    if error is not None and error.kind != "exit_code":
        came = f"{came} {error.message[:HEAD]}"
    return prepared(given), prepared(came)


def _other(payload: Other) -> tuple[str, str]:
    raw = payload.raw if isinstance(payload.raw, dict) else {"input": payload.raw}
    given = flat(raw.get("input") if "input" in raw or "result" in raw else raw)
    return f"{payload.tool_name} {given[:INPUT]}", ends(flat(raw.get("result")), HEAD, TAIL)


def flat(value: Any) -> str:
    """All strings and numbers in a value, keys left out."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(filter(None, map(flat, value.values())))
    if isinstance(value, list):
        return " ".join(filter(None, map(flat, value)))
    return "" if value is None or isinstance(value, bool) else str(value)


def ends(text: str, head: int, tail: int) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= head + tail else f"{text[:head]} {text[-tail:]}"


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
