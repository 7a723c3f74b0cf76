"""User-role messages: what a person typed, what came along, what the runtime wrote (FORMAT.md section 6)."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...schema.step import Attachment

CONTINUATION = "The user approved switching to act mode. Continue with the approved plan now."
TEAM_PREFIX = "spawn a team of agents for the following task:"
OUTPUT_LIMIT = "Your previous response was cut off"

_element = {
    tag: re.compile(rf"<{tag}(?:\s[^>]*)?>(.*?)</{tag}>", re.DOTALL) for tag in ("user_input", "user_command")
}
_bare = {tag: re.compile(rf"<{tag}(?:\s[^>]*)?>") for tag in ("user_input", "user_command")}
_notice = re.compile(r"<mode_notice(?:\s[^>]*)?>.*?</mode_notice>", re.DOTALL)
_slash = re.compile(r'<user_command\s[^>]*?\bslash="([^"]*)"[^>]*>(.*?)</user_command>', re.DOTALL)
_mode = re.compile(r'<user_input\b[^>]*\bmode="([a-z]+)"')
_attached = re.compile(
    r"\s*<(file_content|folder_content|url_content|workspace_diagnostics|terminal_output"
    r"|git_working_state|git_commit|explicit_instructions)(\s[^>]*)?>(.*?)</\1>",
    re.DOTALL,
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
    whole = _slash.fullmatch(raw.strip())
    if whole:
        return _slash_text(whole[1], whole[2].strip())
    text = raw
    for tag in ("user_input", "user_command"):
        text = text.strip()
        text, found = _element[tag].subn(lambda match: match[1], text)
        if not found:
            text = _bare[tag].sub("", text)
    return _notice.sub("", text).strip()


def _slash_text(name: str, content: str) -> str:
    if name == "team" and content.startswith(TEAM_PREFIX):
        content = content[len(TEAM_PREFIX) :].strip()
    return f"/{name} {content}".rstrip()


def read(raw: str, metadata: dict[str, Any] | None) -> Typed:
    """Read one user-role text: whose it is, its mode, and the attachments that Cline expanded inside it."""
    meta = metadata or {}
    wrapped = "<user_input" in raw
    text = display(raw)
    runtime = _runtime(raw, text, wrapped, meta)
    mode = _mode.search(raw)
    attachments: tuple[Attachment, ...] = ()
    if wrapped and runtime is None:
        text, attachments = cut_attachments(text)
    return Typed(text, mode[1] if mode else None, attachments, runtime)


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
    if "<" not in text:
        return text, ()
    found: list[Attachment] = []

    def take(match: re.Match[str]) -> str:
        name = _name.search(match[2] or "")
        body = match[3].strip("\n")
        kind = match[1].removesuffix("_content")
        size = len(body.encode("utf-8", "replace"))
        found.append(Attachment(kind=kind, name=name[1] if name else None, size=size, text=body))
        return ""

    left = _attached.sub(take, text)
    return (left.strip() if found else text), tuple(found)
