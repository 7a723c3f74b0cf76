"""User-role messages: what a person typed, what came along, what the runtime wrote (FORMAT.md section 6)."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...schema.step import Attachment

CONTINUATION = "The user approved switching to act mode. Continue with the approved plan now."
TEAM_PREFIX = "spawn a team of agents for the following task:"
OUTPUT_LIMIT = "Your previous response was cut off"
MODES = ("act", "plan", "yolo")

# What JavaScript's `trim` takes away and its `\b` counts as a letter: Python's are others, and would show others.
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_letter = re.compile(r"\w", re.ASCII)
_slash = re.compile(r'slash="([^"]+)"', re.IGNORECASE | re.ASCII)
_mode = re.compile(r'\bmode="([a-z]+)"', re.ASCII)
_attached = re.compile(
    r"<(file_content|folder_content|url_content|workspace_diagnostics|terminal_output"
    r"|git_working_state|git_commit|explicit_instructions)(?=[\s>])"
)
_name = re.compile(r'\b(?:path|url|hash|type|name)="([^"]*)"')

_KINDS = {
    "compaction_summary": "compaction_summary",
    "compaction": "compaction_summary",
    "auto_compaction": "compaction_summary",
    "manual_compaction": "compaction_summary",
    "compaction_budget_emergency": "compaction_summary",
    "completion_reminder": "reminder",
    "loop_detection_notice": "reminder",
    "mistake_stop_notice": "reminder",
    "recovery_notice": "reminder",
}


class Typed(Struct, frozen=True):
    """A user-role text. `runtime` names what Cline added by itself; null means that a person typed it."""

    text: str
    mode: str | None = None
    attachments: tuple[Attachment, ...] = ()
    runtime: str | None = None


def display(raw: str) -> str:
    """The text exactly as Cline's `formatDisplayUserInput` shows it: envelopes unwrapped, mode notices removed."""
    text = raw.strip(BLANKS)
    slash = _command(text)
    for tag in ("user_input", "user_command"):
        unwrapped = _elements(text, tag)
        text = (_openings(text, tag) if unwrapped is None else unwrapped).strip(BLANKS)
    text = _without_notices(text).strip(BLANKS)
    if slash is None:
        return text
    if slash.lower() == "team":
        slash = "team"
        if text[: len(TEAM_PREFIX)].lower() == TEAM_PREFIX:
            text = text[len(TEAM_PREFIX) :].strip(BLANKS)
    return f"/{slash} {text}" if text else f"/{slash}"


def _command(text: str) -> str | None:
    """The name in a text that begins and ends as a command envelope, in any case; null for any other."""
    opening, close = "<user_command", "</user_command>"
    inner = text.find(">", len(opening)) + 1
    if (
        text[: len(opening)].lower() != opening
        or text[-len(close) :].lower() != close
        or _letter.match(text, len(opening))
        or not 0 < inner <= len(text) - len(close)
    ):
        return None
    found = _slash.search(text, len(opening), inner)
    return (found[1].strip(BLANKS) or None) if found else None


# Regular expressions for whole elements take time with the square of a hostile text's length; these scans do not.


def _opening(text: str, tag: str, at: int) -> tuple[int, int]:
    """Where the next opening tag stands from `at` on: (its begin, the offset after its `>`); -1 where there is none."""
    begin, after = _named(text, tag, at)
    end = text.find(">", after) if begin >= 0 else -1
    return (begin, end + 1) if end >= 0 else (-1, -1)


def _named(text: str, tag: str, at: int) -> tuple[int, int]:
    """Where `<` and the name of a tag stand, and the offset after them: the name ends there."""
    after = at
    while (begin := text.find(f"<{tag}", after)) >= 0:
        after = begin + len(tag) + 1
        if not _letter.match(text, after):
            return begin, after
    return -1, -1


def _elements(text: str, tag: str) -> str | None:
    """The text with every complete element of a tag replaced by its content; null where there is none."""
    close = f"</{tag}>"
    parts: list[str] = []
    at = 0
    while True:
        begin, inner = _opening(text, tag, at)
        end = text.find(close, inner) if begin >= 0 else -1
        if end < 0:
            break
        parts += text[at:begin], text[inner:end]
        at = end + len(close)
    return "".join([*parts, text[at:]]) if at else None


def _openings(text: str, tag: str) -> str:
    """The text without opening tags. As for Cline these are also the tags whose name only begins like this one."""
    parts: list[str] = []
    at = 0
    while (begin := text.find(f"<{tag}", at)) >= 0 and (end := text.find(">", begin)) >= 0:
        parts.append(text[at:begin])
        at = end + 1
    return "".join([*parts, text[at:]])


def _without_notices(text: str) -> str:
    """The text without complete mode notices; one with attributes is none."""
    opening, close = "<mode_notice>", "</mode_notice>"
    parts: list[str] = []
    at = 0
    while (begin := text.find(opening, at)) >= 0 and (end := text.find(close, begin + len(opening))) >= 0:
        parts.append(text[at:begin])
        at = end + len(close)
    return "".join([*parts, text[at:]])


def _mode_of(raw: str) -> str | None:
    """The mode that Cline's `parseUserInputMode` finds; where it finds none, the first word in the place of one."""
    other: str | None = None
    end = 0
    while True:
        begin, after = _named(raw, "user_input", end)
        if begin < 0:
            return other
        end = raw.find(">", after)
        end = len(raw) if end < 0 else end
        words = [found[1] for found in _mode.finditer(raw, after, end)]
        known = [word for word in words if word in MODES]
        if known:
            return known[-1]
        other = other or next(iter(words), None)


def read(raw: str, metadata: dict[str, Any] | None) -> Typed:
    """Read one user-role text: whose it is, its mode, and the attachments that Cline expanded inside it."""
    meta = metadata or {}
    wrapped = "<user_input" in raw
    text = display(raw)
    runtime = _runtime(raw, text, wrapped, meta)
    attachments: tuple[Attachment, ...] = ()
    if wrapped and runtime is None:
        text, attachments = cut_attachments(text)
    return Typed(text, _mode_of(raw), attachments, runtime)


def _runtime(raw: str, text: str, wrapped: bool, meta: dict[str, Any]) -> str | None:
    """The kind of a message that no person typed, or null."""
    hidden = meta.get("displayOnly") is True or meta.get("displayRole") in ("system", "status", "error")
    unasked = meta.get("userRunSpan") == 0 and not wrapped
    kind = _KINDS.get(str(meta.get("kind", "")))
    if kind is not None:
        return kind
    if text.startswith("<hook_context"):
        return "hook_context"
    if text.startswith("[TASK RESUMPTION]"):
        return "resumption"
    if text.startswith("System-delivered teammate async run updates:"):
        return "team_update"
    if text == CONTINUATION:
        return "continuation"
    if not wrapped and raw.lstrip(BLANKS).startswith("[SYSTEM] "):
        return "reminder"
    if unasked and text.startswith(OUTPUT_LIMIT):
        return "output_limit"
    if meta.get("displayRole") == "status":
        return "status"
    return "runtime" if hidden or unasked else None


def cut_attachments(text: str) -> tuple[str, tuple[Attachment, ...]]:
    """Take out what Cline's extension expanded inside a prompt: mentioned files, pages, diagnostics, instructions."""
    found: list[Attachment] = []
    parts: list[str] = []
    endless: set[str] = set()
    at = 0
    for match in _attached.finditer(text):
        tag = match[1]
        if match.start() < at or tag in endless:
            continue
        inner = text.find(">", match.end()) + 1
        end = text.find(f"</{tag}>", inner) if inner else -1
        if end < 0:
            endless.add(tag)
            continue
        name = _name.search(text, match.end(), inner)
        body = text[inner:end].strip("\n")
        size = len(body.encode("utf-8", "replace"))
        found.append(Attachment(tag.removesuffix("_content"), name[1] if name else None, size, text=body))
        parts.append(text[at : match.start()].rstrip(BLANKS))
        at = end + len(tag) + 3
    return ("".join([*parts, text[at:]]).strip(BLANKS) if found else text), tuple(found)
