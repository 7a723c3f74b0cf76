"""What passes between a source and the store: known files go in, a reading comes out.

Neither side knows the other; `capture` carries these from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from .call import CallRow
from .session import Actor, Fidelity, Session, TurnRow
from .step import StepRow


class FileStat(Struct, frozen=True):
    """The marks by which a changed file is recognised: bytes, modification time in ns, inode."""

    size: int
    mtime_ns: int
    inode: int


SETTLED_NS = 10 * 1_000_000_000
"""A file that does not parse is salvaged when it has not changed for this long; before that it may be being written."""


class SessionRef(Struct, frozen=True):
    """A session on disk: its real folder and the marks of its files, by file name."""

    source: str
    id: str
    root: str
    folder: Path
    files: dict[str, FileStat]
    lead: str | None = None
    """The file of the session's own conversation, where it is not called `<id>.messages.json`."""

    @property
    def changed_at(self) -> int:
        """The newest modification among its files, in ns."""
        return max((stat.mtime_ns for stat in self.files.values()), default=0)


class Skipped(Struct, frozen=True):
    """A file that was left out, with its size in bytes where known, and why."""

    path: str
    reason: str
    size: int | None = None


class KnownFile(Struct, frozen=True):
    """What the store remembers of a file: its marks, a digest a message, and the reader's saved state.

    `state` is the reader's own, taken before message `state_at`; rows before it need no second reading, as long as
    `context` is the same: a number that stands for everything outside the file that its rows depend on.
    """

    stat: FileStat
    digests: bytes = b""
    state: bytes = b""
    state_at: int = 0
    reader: int = 0
    context: int = 0


class FileReading(Struct):
    """One file's share of a reading.

    `rows` may be consumed once; it yields steps from message `since` on, and completions of earlier steps.
    What was stored from `since` on and is not yielded has left the source, unless `add_only` (a salvaged file).
    `tail()` is called after `rows` is exhausted and gives the rest.
    """

    name: str
    stat: FileStat
    since: int
    rows: Iterator[StepRow]
    add_only: bool
    tail: FileTail


class FileTail(Protocol):
    """What is known once a file's rows were all yielded."""

    def __call__(self) -> TailReading: ...


class TailReading(Struct):
    """The end of a file's reading: who acted, turns and calls from `since` on, and what to remember."""

    actor: Actor
    turns: list[TurnRow]
    calls: list[CallRow]
    digests: bytes
    state: bytes
    state_at: int
    fidelity: Fidelity
    reader: int
    context: int


class Torn(Struct, frozen=True):
    """A file that does not parse at the moment. `salvaged` counts the messages that could be read all the same."""

    name: str
    path: str
    size: int
    salvaged: int | None = None


class Reading(Struct):
    """A session as read now: its facts, and the files that changed since `known`."""

    ref: SessionRef
    session: Session
    files: list[FileReading] = field(default_factory=list)
    rollup: CallRow | None = None
    """The agent's own sum of the session's calls, as one call; null where it recorded none."""
    torn: list[Torn] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
