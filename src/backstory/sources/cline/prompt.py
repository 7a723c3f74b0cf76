"""User-role messages: what a person typed, what came along, what the runtime wrote (FORMAT.md section 6)."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...schema.step import Attachment

CONTINUATION = "The user approved switching to act mode. Continue with the approved plan now."
TEAM_PREFIX = "spawn a team of agents for the following task:"
OUTPUT_LIMIT = "Your previous response was cut off"

_slash = re.compile(r'\bslash="([^"]*)"')
_mode = re.compile(r'\bmode="([a-z]+)"')
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
    """The text as Cline's own formatter shows it: envelopes unwrapped, mode notices removed."""
    whole = _command(raw.strip())
    if whole is not None:
        return whole
    text = raw
    for tag in ("user_input", "user_command"):
        text = text.strip()
        unwrapped = _elements(text, tag, keep=True)
        text = _openings(text, tag) if unwrapped is None else unwrapped
    without = _elements(text, "mode_notice", keep=False)
    return (text if without is None else without).strip()


def _command(text: str) -> str | None:
    """`/name rest` of a text that is one command envelope as a whole; null for any other."""
    opening, close = "<user_command", "</user_command>"
    if not (text.startswith(opening) and text.endswith(close)):
        return None
    end = text.find(">")
    slash = (
        _slash.search(text, len(opening), end) if text[len(opening) : len(opening) + 1].isspace() else None
    )
    if slash is None or end + 1 > len(text) - len(close):
        return None
    content = text[end + 1 : -len(close)].strip()
    if close in content:
        return None
    if slash[1] == "team" and content.startswith(TEAM_PREFIX):
        content = content[len(TEAM_PREFIX) :].strip()
    return f"/{slash[1]} {content}".rstrip()


# Regular expressions for whole elements take time with the square of a hostile text's length; these scans do not.


def _opening(text: str, tag: str, at: int) -> tuple[int, int]:
    """Where the next opening tag stands from `at` on: (its begin, the offset after its `>`); -1 where there is none."""
    begin = text.find(f"<{tag}", at)
    while begin >= 0:
        after = begin + len(tag) + 1
        if text[after : after + 1] == ">" or text[after : after + 1].isspace():
            end = text.find(">", after)
            return (begin, end + 1) if end >= 0 else (-1, -1)
        begin = text.find(f"<{tag}", after)
    return -1, -1


def _elements(text: str, tag: str, *, keep: bool) -> str | None:
    """The text with every complete element of a tag replaced by its content, or left out; null where there is none."""
    close = f"</{tag}>"
    parts: list[str] = []
    at = 0
    while True:
        begin, inner = _opening(text, tag, at)
        end = text.find(close, inner) if begin >= 0 else -1
        if end < 0:
            break
        parts.append(text[at:begin])
        if keep:
            parts.append(text[inner:end])
        at = end + len(close)
    return "".join([*parts, text[at:]]) if at else None


def _openings(text: str, tag: str) -> str:
    """The text without opening tags that have no end."""
    parts: list[str] = []
    at = 0
    while True:
        begin, end = _opening(text, tag, at)
        if begin < 0:
            return "".join([*parts, text[at:]])
        parts.append(text[at:begin])
        at = end


def _mode_of(raw: str) -> str | None:
    """The mode that the first wrapper with one names."""
    at = 0
    while True:
        begin, at = _opening(raw, "user_input", at)
        if begin < 0:
            return None
        found = _mode.search(raw, begin, at)
        if found:
            return found[1]


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
    if not wrapped and raw.lstrip().startswith("[SYSTEM] "):
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
        parts.append(text[at : match.start()].rstrip())
        at = end + len(tag) + 3
    return ("".join([*parts, text[at:]]).strip() if found else text), tuple(found)
