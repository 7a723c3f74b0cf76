"""What an agent's folder must provide: where its sessions are, and how one is read.

A source turns an agent's files into schema rows. It knows nothing of the store: what was stored before
comes in as `KnownFile`s, what is new or changed goes out as a `Reading` (`schema/reading.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from ..schema.reading import KnownFile, Reading, SessionRef, Skipped


class Root(Struct, frozen=True):
    """A folder that holds sessions, and the rule by which it was found, in words for the doctor."""

    path: Path
    rule: str


class Listing(Struct, frozen=True):
    """What a look at one root saw. `readable` is false where the folder itself could not be listed."""

    root: Root
    real: Path
    readable: bool
    sessions: list[SessionRef]
    skipped: list[Skipped]


class Sighting(Struct, frozen=True):
    """Something about the agent's own set-up that the doctor reports, and the next step where there is one.

    A tab in `text` puts what follows it at the right edge.
    """

    level: Literal["ok", "note", "look", "broken"]
    text: str
    details: tuple[str, ...] = ()
    advice: str | None = None


class Source(Protocol):
    """One agent's way of keeping sessions. Environment, clock and folders are parameters."""

    @property
    def name(self) -> str:
        """The word that keys this source in the archive."""
        ...

    @property
    def title(self) -> str:
        """The agent's name as people write it."""
        ...

    @property
    def reader(self) -> int:
        """The version of its reading; raised when the meaning of rows changes."""
        ...

    def roots(self, env: Mapping[str, str], sessions_dirs: Sequence[Path]) -> list[Root]:
        """The folders to look at, by the agent's own rules unless `sessions_dirs` names others."""
        ...

    def look(self, root: Root) -> Listing:
        """Every session under a root, from `stat` alone: no file is opened."""
        ...

    def newest(self, refs: Sequence[SessionRef]) -> SessionRef:
        """Of one id in several roots, the copy that was updated last."""
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
        now_ns: int | None = None,
        env: Mapping[str, str],
    ) -> Reading:
        """Read what changed. A file that does not parse is salvaged when it is settled at `now_ns`, null: at once."""
        ...

    def sightings(self, env: Mapping[str, str], platform: str, listings: Sequence[Listing]) -> list[Sighting]:
        """Whether the agent is installed, and which folders were looked at by which rule."""
        ...
