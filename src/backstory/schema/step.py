"""The step: the smallest thing that an agent did or said, and the atom of the record.

A step is one message, one thinking block, one command, one read, one edit, or one item of any other
tool. Readers of an agent's files emit `StepRow`s, which know their place in the file; `Step` is what
everybody else sees, placed in its session (see `record.py`). Times are UTC epoch milliseconds.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

StepType = Literal["message", "command", "read", "edit", "other"]
Outcome = Literal["ok", "failed", "unknown"]
Decision = Literal["auto", "accepted", "rejected", "n/a"]
DecisionSource = Literal["denial", "session", "settings", "default"]
ContentStatus = Literal["complete", "reference_only", "truncated"]
Role = Literal["user", "assistant", "thinking", "system"]
Operation = Literal["create", "replace", "insert", "patch", "delete", "move"]
ErrorKind = Literal[
    "exit_code", "timeout", "aborted", "denied", "blocked", "not_found", "invalid_input", "tool", "mcp"
]

ROOT = "root"
"""Id of the actor who owns the session's own conversation."""


class Attachment(Struct, frozen=True, omit_defaults=True):
    """Something that came along with a prompt without being typed: a file, an image, an expanded mention.

    `kind` is `file`, `image`, `media` for content blocks, and the tag without `_content` for what Cline's
    extension expands inside the prompt (`folder`, `url`, `workspace_diagnostics`, `explicit_instructions`, ...).
    `size` is in bytes. The bytes of an image are counted and not kept.
    """

    kind: str
    name: str | None = None
    size: int | None = None
    media_type: str | None = None
    text: str | None = None


class Message(Struct, frozen=True, gc=False):
    """Text that somebody wrote; `system` is what Cline added by itself, told apart by the step's flags."""

    role: Role
    text: str
    attachments: tuple[Attachment, ...] = ()


class Command(Struct, frozen=True, gc=False):
    """One command line. `exit_code` is null where none is known: timed out, aborted, still running."""

    command: str
    cwd: str | None = None
    stdout: str | None = None
    exit_code: int | None = None
    output_ref: str | None = None


class Range(Struct, frozen=True, gc=False):
    """Line numbers from 1; `end` is inclusive, and null means to the end of the file."""

    start: int
    end: int | None = None


class Read(Struct, frozen=True, gc=False):
    """One file read; `content` is what the agent saw, line numbers included; `raw` what came in place of text."""

    path: str
    range: Range | None = None
    content: str | None = None
    raw: Any = None


class Edit(Struct, frozen=True, gc=False):
    """One file changed. `added` and `removed` count lines of the intended change, applied or not.

    `hunks` is the body of a patch as the model wrote it; `diff` is the snippet that Cline returned, and `note` what
    it said beside.
    """

    path: str
    operation: Operation
    old_string: str | None = None
    new_string: str | None = None
    is_full_write: bool = False
    insert_line: int | None = None
    hunks: str | None = None
    move_to: str | None = None
    diff: str | None = None
    added: int = 0
    removed: int = 0
    note: str | None = None


class Other(Struct, frozen=True, gc=False):
    """Any other tool or block, kept as Cline wrote it: `raw` has `input`, `result`, or the block itself."""

    tool_name: str
    raw: Any = None


Payload = Message | Command | Read | Edit | Other

PAYLOADS: dict[str, type[Payload]] = {
    "message": Message,
    "command": Command,
    "read": Read,
    "edit": Edit,
    "other": Other,
}


class StepError(Struct, frozen=True, gc=False):
    """Why a step failed. `kind` is Backstory's own reading of Cline's message.

    `feedback` is what the user typed when denying the call.
    """

    message: str
    kind: ErrorKind
    type: Literal["cline_tool_error"] = "cline_tool_error"
    feedback: str | None = None


class Origin(Struct, frozen=True):
    """Where a step stands in the agent's own file: the file's name and a JSON pointer into it."""

    file: str
    pointer: str


class StepRow(Struct, frozen=True, gc=False):
    """A step as a reader emits it. `(msg, sub)` is its position: message index, ordinal inside the message.

    `spawns` is the task text of a step that starts another agent; the actor with that task hangs under it.
    """

    id: str
    msg: int
    sub: int
    type: StepType
    payload: Payload
    pointer: str
    at: int | None = None
    ended_at: int | None = None
    turn_id: str | None = None
    decision: Decision = "n/a"
    decision_source: DecisionSource | None = None
    outcome: Outcome = "ok"
    content_status: ContentStatus = "complete"
    error: StepError | None = None
    channels: tuple[str, ...] = ("messages",)
    flags: tuple[str, ...] = ()
    spawns: str | None = None


class Step(Struct, frozen=True):
    """A step in its session. `seq` counts from 1 in reading order, children after the step that spawned them."""

    id: str
    session_id: str
    segment_index: int
    turn_id: str | None
    actor_id: str
    seq: int
    at: int | None
    ended_at: int | None
    type: StepType
    decision: Decision
    decision_source: DecisionSource | None
    outcome: Outcome
    content_status: ContentStatus
    error: StepError | None
    channels: tuple[str, ...]
    payload: Payload
    flags: tuple[str, ...]
    origin: Origin
    superseded: bool = False
