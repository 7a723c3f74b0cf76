"""How a step ended and what stands beside it, in words: the same on the terminal and in the app.

Texts are as the session has them; whoever draws them makes them safe. A state is its words and a role: `failing` for
what nothing mended, `failed`, `rejected`, `live`, or `label` for what needs no eye.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..schema.step import Command, Message, Other, Read, Step
from ..store.results import Fate
from . import tools

LEFT_RUNNING = (
    "[Command completed with background processes still running; their output is no longer captured]"
)
_SHOWING = re.compile(r"\n*\[Showing lines (\d+)-(\d+) of (\d{1,12})(\+ lines)?\.[^\]]*\]\s*$")
_FEEDBACK = re.compile(r"<feedback>\s*(.*?)\s*</feedback>", re.DOTALL)
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

State = tuple[str, str]
"""Words and their role."""

NO_RESULT: State = ("no result recorded", "label")
RUNNING: State = ("running", "live")


def kind_of(step: Step) -> str:
    """The kind word of a step."""
    payload = step.payload
    if isinstance(payload, Message):
        return _ROLES[payload.role]
    if isinstance(payload, Other):
        return tools.kind(payload.tool_name)
    return {"command": "run", "edit": "edit", "read": "read"}[step.type]


def has_problem(step: Step) -> bool:
    """Failed, rejected, or without the result that it should have."""
    return step.outcome != "ok" or step.decision == "rejected"


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


def note(step: Step, text: str) -> str | None:
    """What Cline added by itself, in a few words; null where its text says it."""
    words = next((words for flag, words in _NOTES.items() if flag in step.flags), None)
    if words is None:
        return None
    hook = _HOOK.search(text)
    if hook and "hook_context" in step.flags:
        words = f"{words} ({hook[1]})"
    if any(flag in step.flags for flag in _COUNTED_NOTES):
        count = text.count("\n") + 1
        words = f"{words}, {count:,} line{'' if count == 1 else 's'}"
    return words


def last_words(payload: Command) -> str:
    """The last line of an output, without what Cline says below it."""
    return tools.last_line((payload.stdout or "").removesuffix(LEFT_RUNNING))


def command_state(step: Step, payload: Command, fates: Mapping[str, Fate], running: str | None) -> State:
    """`exit 0`, `exit 1`, `timed out`, `running`, `went on in background`, `no result recorded`, ..."""
    if step.id == running:
        return RUNNING
    if step.content_status == "reference_only":
        return "went on in background", "label"
    if step.outcome == "failed":
        return failure(step, fates, f"exit {payload.exit_code}")
    if step.outcome == "unknown":
        return NO_RESULT
    return "exit 0" if payload.exit_code == 0 else "done", "label"


def read_size(payload: Read) -> str:
    """`60 of 91 lines`, `64 lines`, `image`, `empty`."""
    seen, total = read_lines(payload.content)
    if payload.content is not None and payload.content.startswith("Successfully read image"):
        return "image"
    if total is not None:
        return f"{seen:,} of {total} lines"
    return f"{seen:,} line{'' if seen == 1 else 's'}" if seen else "empty"


def failed_tail(step: Step, said: tools.Said) -> str:
    """The first words of a tool's error, where its state says no more than that it failed."""
    if step.error is None or said.state or step.error.kind not in ("mcp", "tool"):
        return ""
    return tools.first_line(said.tail or step.error.message)


def pending(step: Step, running: str | None) -> State:
    """The state of a call whose result is not there."""
    return RUNNING if step.id == running else NO_RESULT


def failure(step: Step, fates: Mapping[str, Fate], otherwise: str) -> State:
    """How a step failed, in the words of its error's kind; `otherwise` where that says nothing more."""
    kind = step.error.kind if step.error else "tool"
    message = step.error.message if step.error else ""
    if kind == "denied":
        return "you rejected it", "rejected"
    if kind == "blocked":
        return "blocked by policy" if "policy" in message else "nobody could approve it", "rejected"
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
    return words, role_of_failure(step, fates)


def role_of_failure(step: Step, fates: Mapping[str, Fate]) -> str:
    """`failing` where nothing mended it, else `failed`."""
    fate = fates.get(step.id)
    return "failing" if fate is not None and fate.failing else "failed"


def took(step: Step, batches: frozenset[str]) -> int | None:
    """Milliseconds that a step took; null where only the time of a call of several items is known."""
    if step.id.rpartition("#")[0] in batches:
        return None
    if step.at is None or step.ended_at is None or step.ended_at <= step.at:
        return None
    return step.ended_at - step.at


def thought(step: Step) -> int | None:
    """Milliseconds of thinking; what is under half a second is not worth a figure."""
    if step.at is None or step.ended_at is None or step.ended_at - step.at < 500:
        return None
    return step.ended_at - step.at


def batches(steps: Iterable[Step]) -> frozenset[str]:
    """The ids of calls of several items: the time such a call took is that of none of its items."""
    seen: set[str] = set()
    found: set[str] = set()
    for step in steps:
        call = step.id.rpartition("#")[0]
        if step.type != "message":
            (found if call in seen else seen).add(call)
    return frozenset(found)


def running_step(steps: Iterable[Step], state: str) -> str | None:
    """The step at work, in a session that runs: the last call that has no result yet; else an empty word."""
    if state != "running":
        return None
    waiting = (
        step.id
        for step in reversed(list(steps))
        if step.outcome == "unknown" and step.type != "message" and not step.superseded
    )
    return next(waiting, "")
