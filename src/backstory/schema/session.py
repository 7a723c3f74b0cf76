"""What surrounds the steps: the session, its sittings (segments), its actors and its turns.

Times are UTC epoch milliseconds. Null means that nothing was recorded, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct, field

ELSEWHERE = "messages reached through messages_path"
"""Note in the fidelity of a conversation that does not lie beside its manifest."""

ActorType = Literal["root", "subagent", "teammate"]


class Agent(Struct, frozen=True):
    """The tool that wrote the session: its kind, its version, and the version of its file format."""

    kind: str
    version: str | None = None
    format_version: int | None = None


class CopiedFrom(Struct, frozen=True):
    """The session whose beginning this one repeats. `messages` leading messages are the copy.

    `kind` is `fork` where Cline recorded one, at the time `at`; `rewind` where only the equal message ids tell it.
    """

    session_id: str
    kind: Literal["fork", "rewind"]
    messages: int | None = None
    at: int | None = None


class Imported(Struct, frozen=True):
    """The tool whose conversation Cline imported; `at` is null while the import is in progress."""

    tool: str | None
    session_id: str | None = None
    at: int | None = None


class Checkpoint(Struct, frozen=True):
    """A snapshot that Cline made in git. `run_count` is the ordinal of the user's prompt, with gaps."""

    ref: str
    kind: str | None = None
    run_count: int | None = None
    created_at: int | None = None


class Compaction(Struct, frozen=True):
    """What the model still sees after Cline compacted a conversation: a summary and the kept messages."""

    source_messages: int | None
    kept_messages: int
    summary: str | None
    updated_at: int | None = None


class Salvage(Struct, frozen=True):
    """A file that was not whole: it was read up to its last whole message."""

    file: str
    messages: int
    size: int


class Refused(Struct, frozen=True):
    """A value that could not be used, and where it stands; the rest of its message was."""

    file: str
    where: str
    value: str


class Fidelity(Struct, frozen=True):
    """How completely a session could be read. `unknown` counts kinds of content that were kept raw."""

    whole: bool = True
    unknown: dict[str, int] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()
    salvaged: tuple[Salvage, ...] = ()
    notes: tuple[str, ...] = ()


def merge_fidelity(parts: Iterable[Fidelity]) -> Fidelity:
    """The fidelity of a session from that of its files; it is whole when each part is."""
    whole = True
    unknown: dict[str, int] = {}
    refused: list[Refused] = []
    salvaged: list[Salvage] = []
    notes: list[str] = []
    for part in parts:
        whole = whole and part.whole
        for kind, count in part.unknown.items():
            unknown[kind] = unknown.get(kind, 0) + count
        refused += part.refused
        salvaged += part.salvaged
        notes += [note for note in part.notes if note not in notes]
    return Fidelity(whole, unknown, tuple(refused), tuple(salvaged), tuple(notes))


class Totals(Struct, frozen=True):
    """Counts over a session's current steps; `failing` is what no later success mended."""

    turns: int = 0
    steps: int = 0
    child_steps: int = 0
    failed: int = 0
    failing: int = 0
    rejected: int = 0
    edits: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0


class Session(Struct, frozen=True):
    """One conversation of one agent. `ended_at` stays null until the agent records an end.

    `status` is the agent's own word and only a hint; `copied_from`, `gone` and `totals` are known to an archive,
    not to a single reading. `surface` is where the agent ran (`cli`, `vscode`, ...).
    """

    id: str
    agent: Agent
    surface: str | None = None
    title: str | None = None
    prompt: str | None = None
    cwd: str | None = None
    workspace_root: str | None = None
    project: str | None = None
    repo: str | None = None
    branch: str | None = None
    model: str | None = None
    provider: str | None = None
    status: str | None = None
    interactive: bool | None = None
    exit_code: int | None = None
    terminal_marker: str | None = None
    origin_mode: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    updated_at: int | None = None
    copied_from: CopiedFrom | None = None
    imported: Imported | None = None
    gone: bool = False
    checkpoints: tuple[Checkpoint, ...] = ()
    compaction: Compaction | None = None
    fidelity: Fidelity = Fidelity()
    totals: Totals = Totals()
    manifest: Any = None


class Segment(Struct, frozen=True):
    """A contiguous sitting. `inferred_from` says what the resume was seen by; null for the first one."""

    index: int
    start_reason: Literal["start", "resume"]
    inferred_from: Literal["resumption_prompt", "recorded_end", "idle_gap"] | None
    started_at: int | None
    ended_at: int | None = None


class Actor(Struct, frozen=True):
    """Who took steps: the root agent, a subagent or a teammate.

    `task` is what it was asked; `parent_step_id` is the step that spawned it, null when it could not be linked.
    """

    id: str
    type: ActorType
    label: str
    file: str
    task: str | None = None
    started_at: int | None = None
    parent_step_id: str | None = None


class TurnRow(Struct, frozen=True):
    """A turn as a reader emits it. `quiet` is the time in ms between the message before and this prompt."""

    id: str
    msg: int
    mode: str | None = None
    at: int | None = None
    first_reply_at: int | None = None
    quiet: int | None = None


class Turn(Struct, frozen=True):
    """One prompt that a person typed, and all that followed it. `mode` is the agent's own word."""

    id: str
    index: int
    mode: str | None
    segment_index: int
    started_at: int | None
    checkpoint: Checkpoint | None
    step_ids: tuple[str, ...]
