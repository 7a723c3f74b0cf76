"""One session folder read: its manifest, its compaction file, and every messages file that changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...errors import ReadError, TornFile
from ...schema.reading import SETTLED_NS, FileReading, FileStat, KnownFile, Reading, SessionRef, Skipped, Torn
from ...schema.session import ELSEWHERE, CopiedFrom, Refused
from . import manifest as manifests
from . import paths
from .approval import Policy, load_settings
from .calls import rollup
from .files import Split, file_stat, read_bytes, read_json, salvage, split
from .reader import UNKNOWN, FileReader
from .source import COMPACTION, MESSAGES
from .steps import Context
from .times import epoch_ms

ABSENT = FileStat(0, 0, 0)
NET_IMPORTS = ("claude-code", "opencode")
"""Tools whose imported token counts leave the cached part out of the prompt (FORMAT.md section 4)."""


class SessionReader:
    """Reads a session into a `Reading`. Files whose marks are known are not opened."""

    def __init__(
        self,
        ref: SessionRef,
        known: Mapping[str, KnownFile],
        *,
        now_ns: int | None,
        env: Mapping[str, str],
        reader: int,
    ) -> None:
        self.ref = ref
        self.known = known
        self.now_ns = now_ns
        self.env = env
        self.version = reader
        self.manifest: dict[str, Any] | None = None
        self.outside = UNKNOWN
        self.reading = Reading(ref, manifests.session(ref.id, None))

    def read(self) -> Reading:
        """What of the session is new or changed."""
        self._manifest()
        self._compaction()
        lead = self.ref.lead or f"{self.ref.id}{MESSAGES}"
        children = sorted(name for name in self.ref.files if name.endswith(MESSAGES) and name != lead)
        self.reading.rollup = rollup(self.ref.id, self.manifest, self.reading.session)
        policy = Policy(self.reading.session.surface, self._auto_approved(), load_settings(self.env))
        self.outside = self._context()
        for name in (lead, *children):
            self._file(name, policy)
        return self.reading

    def _context(self) -> int:
        """A number for what the rows take from the manifest: when it changes, they have to be read again."""
        if self.manifest is None:
            return UNKNOWN
        session = self.reading.session
        tool = session.imported.tool if session.imported else None
        parts = (session.cwd, session.surface, session.imported is not None, tool, session.started_at)
        text = repr((*parts, self._auto_approved())).encode("utf-8", "replace")
        return int.from_bytes(blake2b(text, digest_size=7).digest()) + 1

    def _auto_approved(self) -> Any:
        metadata = (self.manifest or {}).get("metadata")
        return metadata.get("autoApproveTools") if isinstance(metadata, dict) else None

    def _manifest(self) -> None:
        name = f"{self.ref.id}.json"
        refused: list[str] = []
        note = None
        if name in self.ref.files and name != self.ref.lead:
            self.manifest, note = self._object(name, refused)
        values = tuple(Refused(name, where, value) for where, _, value in (e.partition("=") for e in refused))
        data = paths.data_dir(self.env, windows=os.name == "nt").path
        session = manifests.session(self.ref.id, self.manifest, values, data_dir=data)
        if note is not None:
            session = replace(session, fidelity=replace(session.fidelity, notes=(f"manifest {note}",)))
        fork = manifests.fork_of(self.manifest)
        if fork is not None:
            session = replace(session, copied_from=CopiedFrom(fork[0], "fork", at=fork[1]))
        self.reading.session = session

    def _compaction(self) -> None:
        name = f"{self.ref.id}{COMPACTION}"
        if name in self.ref.files:
            value, _ = self._object(name, [])
            self.reading.session = replace(self.reading.session, compaction=manifests.compaction(value))

    def _object(self, name: str, refused: list[str]) -> tuple[dict[str, Any] | None, str | None]:
        """A small JSON file of the folder, and what kept it from being read."""
        path, size = self.ref.folder / name, self.ref.files[name].size
        try:
            value, _ = read_json(path, self.ref.folder, refused)
        except TornFile:
            self.reading.torn.append(Torn(name, str(path), size))
            return None, "does not parse"
        except ReadError as error:
            self.reading.skipped.append(Skipped(str(path), _reason(error), size))
            return None, "is not readable"
        return value, None if value is not None else "is no object"

    def _file(self, name: str, policy: Policy) -> None:
        """Add one messages file to the reading, unless it is as it was."""
        before = self.known.get(name)
        path, marks, notes = self._where(name)
        same = (
            before is not None and before.reader == self.version and self.outside in (before.context, UNKNOWN)
        )
        if before is not None and same and before.stat == marks:
            return
        if before is not None and before.digests and marks == ABSENT:
            return
        stem = "" if name in (self.ref.lead, f"{self.ref.id}{MESSAGES}") else name.removesuffix(MESSAGES)
        opened = (Split([], {}), marks) if marks == ABSENT else self._open(name, path, marks)
        if opened is None:
            if before is not None or stem or self.reading.session.prompt is None:
                return
            # Nothing of it can be read yet; until then the manifest's prompt is all there is.
            opened, notes = (Split([], {}), ABSENT), ["the messages file could not be read"]
        found, marks = opened
        found.notes += notes
        session = self.reading.session
        imported = session.imported
        net = imported is not None and imported.tool in NET_IMPORTS
        context = Context(self.ref.id, name, stem, session.cwd, policy, session.started_at, net)
        prompt = None
        if not stem and session.prompt is not None:
            prompt = (session.prompt, manifests.prompt_mode(self.manifest))
        reader = FileReader(
            context,
            found,
            marks.size,
            before,
            version=self.version,
            outside=self.outside,
            importing=imported is not None,
            manifest_prompt=prompt,
        )
        updated = epoch_ms(found.head.get("updated_at"))
        if updated is not None and updated > (session.updated_at or 0):
            self.reading.session = replace(session, updated_at=updated)
        self.reading.files.append(
            FileReading(name, marks, reader.since, reader.rows(), reader.add_only, reader.tail)
        )

    def _where(self, name: str) -> tuple[Path, FileStat, list[str]]:
        """Where a messages file is: beside the manifest, else where the manifest says."""
        path = self.ref.folder / name
        if name in self.ref.files:
            return path, self.ref.files[name], []
        elsewhere = self._elsewhere(name)
        if elsewhere is None:
            return path, ABSENT, []
        return elsewhere[0], elsewhere[1], [ELSEWHERE]

    def _elsewhere(self, name: str) -> tuple[Path, FileStat] | None:
        where = (self.manifest or {}).get("messages_path")
        if not isinstance(where, str) or not where.endswith(name):
            return None
        try:
            path = Path(where)
            if path.name == name and path.is_absolute() and path.is_file() and not path.is_symlink():
                return path, file_stat(path.stat())
        except (OSError, ValueError):
            return None
        return None

    def _open(self, name: str, path: Path, marks: FileStat) -> tuple[Split, FileStat] | None:
        """The messages of a file; null where they cannot be read now, which the reading then says."""
        try:
            data, marks = read_bytes(path, path.parent)
        except ReadError as error:
            self.reading.skipped.append(Skipped(str(path), _reason(error), marks.size))
            return None
        try:
            return split(data, name), marks
        except TornFile:
            settled = self.now_ns is None or self.now_ns - marks.mtime_ns >= SETTLED_NS
            saved = salvage(data) if settled else None
            count = len(saved.raws) if saved is not None and saved.raws else None
            self.reading.torn.append(Torn(name, str(path), len(data), count))
            return (saved, marks) if saved is not None and count else None


def _reason(error: ReadError) -> str:
    return str(error).rpartition(": ")[2]
