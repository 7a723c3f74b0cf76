"""What an agent's folder must provide: where its sessions are, and how one is read.

A source turns an agent's files into schema rows. It knows nothing of the store: what was stored before
comes in as `Known`, what is new or changed goes out as a `Reading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from ..schema.call import CallRow
from ..schema.session import Actor, Fidelity, Session, TurnRow
from ..schema.step import StepRow


class FileStat(Struct, frozen=True):
    """The marks by which a changed file is recognised: bytes, modification time in ns, inode."""

    size: int
    mtime_ns: int
    inode: int


class Root(Struct, frozen=True):
    """A folder that holds sessions, and the rule by which it was found, in words for the doctor."""

    path: Path
    rule: str


class SessionRef(Struct, frozen=True):
    """A session on disk: its real folder and the marks of its files, by file name."""

    source: str
    id: str
    root: str
    folder: Path
    files: dict[str, FileStat]

    @property
    def changed_at(self) -> int:
        """The newest modification among its files, in ns."""
        return max((stat.mtime_ns for stat in self.files.values()), default=0)


class Skipped(Struct, frozen=True):
    """A file that was left out, with its size in bytes where known, and why."""

    path: str
    reason: str
    size: int | None = None


class Listing(Struct, frozen=True):
    """What a look at one root saw. `readable` is false where the folder itself could not be listed."""

    root: Root
    readable: bool
    sessions: list[SessionRef]
    skipped: list[Skipped]


class KnownFile(Struct, frozen=True):
    """What the store remembers of a file: its marks, a digest a message, and the reader's saved state.

    `state` is the reader's own, taken before message `state_at`; rows before it need no second reading.
    """

    stat: FileStat
    digests: bytes = b""
    state: bytes = b""
    state_at: int = 0
    actor: Actor | None = None
    reader: int = 0
    fidelity: bytes = b""


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
    torn: list[Torn] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


class Source(Protocol):
    """One agent's way of keeping sessions. Environment, clock and folders are parameters."""

    @property
    def name(self) -> str:
        """The word that keys this source in the archive."""
        ...

    def roots(self, env: Mapping[str, str], sessions_dirs: Sequence[Path]) -> list[Root]:
        """The folders to look at, by the agent's own rules unless `sessions_dirs` names others."""
        ...

    def list(self, root: Root) -> Listing:
        """Every session under a root, from `stat` alone: no file is opened."""
        ...

    def locate(self, item: str, roots: Sequence[Root]) -> SessionRef:
        """The session that a person named: an id, a session folder, or a file in it. Raises `InputError`."""
        ...

    def refresh(self, ref: SessionRef) -> SessionRef | None:
        """The same session as it is on disk now; null when its folder is gone."""
        ...

    def read(
        self,
        ref: SessionRef,
        known: Mapping[str, KnownFile],
        *,
        settled: bool = True,
        env: Mapping[str, str],
    ) -> Reading:
        """Read what changed. `settled` allows salvaging a file that does not parse."""
        ...
