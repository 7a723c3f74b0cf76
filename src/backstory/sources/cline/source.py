"""Cline as a source: its sessions on disk, and one of them read into schema rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...errors import InputError, ReadError, TornFile, UnknownSession
from ...schema.reading import FileReading, FileStat, KnownFile, Reading, SessionRef, Skipped, Torn
from ...schema.session import CopiedFrom, Refused, Session
from ..base import Listing, Root
from . import manifest as manifests
from . import paths
from .approval import Policy, load_settings
from .files import Split, file_stat, read_bytes, read_json, salvage, split
from .reader import READER, FileReader
from .steps import Context
from .times import epoch_ms

MESSAGES = ".messages.json"
COMPACTION = ".compaction.json"
ABSENT = FileStat(0, 0, 0)
_token = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_updated = re.compile(rb'"updated_at"\s*:\s*"([^"]{10,40})"')


class ClineSource:
    """Cline 4 (extension) and Cline CLI 3: one folder a session, as FORMAT.md describes it."""

    name = "cline"
    reader = READER

    def roots(self, env: Mapping[str, str], sessions_dirs: Sequence[Path] = ()) -> list[Root]:
        """`sessions_dirs`, else `BACKSTORY_CLINE_DIR`, else where Cline itself would write."""
        if sessions_dirs:
            return [Root(Path(folder), "--sessions-dir") for folder in sessions_dirs]
        if named := paths.value(env, "BACKSTORY_CLINE_DIR"):
            return [Root(Path(named), "BACKSTORY_CLINE_DIR")]
        found = paths.sessions_dir(env, windows=os.name == "nt")
        return [Root(Path(found.path), found.rule)]

    def look(self, root: Root) -> Listing:
        """Every session folder under a root, from `stat` alone."""
        sessions: list[SessionRef] = []
        skipped: list[Skipped] = []
        seen: set[str] = set()
        real = os.path.realpath(root.path)
        try:
            with os.scandir(real) as entries:
                for entry in entries:
                    self._entry(entry, real, sessions, skipped, seen)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                skipped.append(Skipped(str(root.path), (error.strerror or str(error)).lower()))
            return Listing(root, Path(real), False, sessions, skipped)
        return Listing(root, Path(real), True, sessions, skipped)

    def _entry(
        self,
        entry: os.DirEntry[str],
        root: str,
        sessions: list[SessionRef],
        skipped: list[Skipped],
        seen: set[str],
    ) -> None:
        try:
            if not entry.is_dir():
                size = entry.stat(follow_symlinks=False).st_size
                skipped.append(Skipped(entry.path, "a plain file among the folders", size))
                return
            folder = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
            if folder in seen:
                return
            seen.add(folder)
            ref = self._ref(folder, os.path.basename(folder), root, skipped)
        except OSError as error:
            skipped.append(Skipped(entry.path, (error.strerror or str(error)).lower()))
            return
        if ref is not None:
            sessions.append(ref)

    def _ref(self, folder: str, session_id: str, root: str, skipped: list[Skipped]) -> SessionRef | None:
        """The session in a folder: its files and their marks; null where the folder holds none."""
        files: dict[str, FileStat] = {}
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                wanted = name.endswith(MESSAGES) or name in (
                    f"{session_id}.json",
                    f"{session_id}{COMPACTION}",
                )
                if not wanted:
                    continue
                if entry.is_symlink() and not _inside(entry.path, folder):
                    skipped.append(Skipped(entry.path, "a link that leads out of the session folder"))
                    continue
                if entry.is_file():
                    files[name] = file_stat(entry.stat())
        if f"{session_id}.json" not in files and f"{session_id}{MESSAGES}" not in files:
            return None
        return SessionRef(self.name, session_id, root, Path(folder), files)

    def refresh(self, ref: SessionRef) -> SessionRef | None:
        """The same session as it is on disk now; null when its folder, or every file of it, is gone."""
        try:
            return self._ref(str(ref.folder), ref.id, ref.root, [])
        except OSError:
            return None

    def newest(self, refs: Sequence[SessionRef]) -> SessionRef:
        """Of one id in several roots, the copy with the newest `updated_at`."""
        return max(refs, key=lambda ref: (self._updated_at(ref), ref.changed_at, str(ref.folder)))

    def _updated_at(self, ref: SessionRef) -> int:
        try:
            with (ref.folder / f"{ref.id}{MESSAGES}").open("rb") as file:
                found = _updated.search(file.read(512))
        except OSError:
            return 0
        return (epoch_ms(found[1].decode("ascii", "replace")) if found else None) or 0

    def locate(self, item: str, roots: Sequence[Root]) -> SessionRef:
        """The session that a person named by id, folder or file."""
        path = Path(item).expanduser()
        if os.sep in item or "/" in item or path.exists():
            return self._locate_path(path, item)
        if not _token.fullmatch(item):
            raise InputError(f'"{item}" is no session id. Give an id, a session folder or a messages file.')
        for root in roots:
            folder = root.path / item
            if folder.is_dir():
                real = os.path.realpath(folder)
                ref = self._ref(real, os.path.basename(real), os.path.realpath(root.path), [])
                if ref is not None:
                    return ref
        places = ", ".join(str(root.path) for root in roots)
        raise UnknownSession(f'No session "{item}" in {places}. Give its folder, or --sessions-dir DIR.')

    def _locate_path(self, path: Path, item: str) -> SessionRef:
        """A session folder, or a file in one; any other JSON file is taken as a messages file on its own."""
        if not path.exists():
            raise InputError(f"{item}: there is no such file or folder.")
        folder = Path(os.path.realpath(path if path.is_dir() else path.parent))
        ids = [folder.name]
        if path.is_file() and path.name.endswith(".json"):
            ids.append(path.name.removesuffix(MESSAGES).removesuffix(COMPACTION).removesuffix(".json"))
        for session_id in ids:
            ref = self._ref(str(folder), session_id, str(folder.parent), [])
            if ref is not None and (path.is_dir() or path.name in ref.files):
                manifest_only = path.name == f"{session_id}.json" and len(ref.files) == 1
                if not (manifest_only and _holds_messages(path)):
                    return ref
        if path.is_file() and path.name.endswith(".json") and _holds_messages(path):
            stem = path.name.removesuffix(".json")
            marks = {path.name: file_stat(path.stat())}
            return SessionRef(self.name, stem, str(folder), folder, marks, lead=path.name)
        raise InputError(
            f"{item}: no session of Cline's; a session folder holds <id>.json or <id>{MESSAGES}."
        )

    def read(
        self,
        ref: SessionRef,
        known: Mapping[str, KnownFile],
        *,
        settled: bool = True,
        env: Mapping[str, str],
    ) -> Reading:
        """Read what changed of a session. What does not parse is reported as torn, and salvaged when settled."""
        reading = Reading(ref, Session(id=ref.id, agent=manifests.session(ref.id, None).agent))
        manifest = self._manifest(ref, reading, env)
        fork = manifests.fork_of(manifest)
        policy = Policy(
            reading.session.surface,
            (manifest or {}).get("metadata", {}).get("autoApproveTools")
            if isinstance((manifest or {}).get("metadata"), dict)
            else None,
            load_settings(env),
        )
        if fork is not None:
            reading.session = replace(reading.session, copied_from=CopiedFrom(fork[0], "fork", at=fork[1]))
        self._compaction(ref, reading)
        lead = ref.lead or f"{ref.id}{MESSAGES}"
        names = sorted(
            (name for name in ref.files if name.endswith(MESSAGES) or name == lead),
            key=lambda name: name != lead,
        )
        for name in names if lead in names else [lead, *names]:
            self._file(ref, reading, name, known, policy, manifest, settled)
        return reading

    def _manifest(self, ref: SessionRef, reading: Reading, env: Mapping[str, str]) -> dict[str, Any] | None:
        name = f"{ref.id}.json"
        refused: list[str] = []
        manifest = None
        note: str | None = None
        if name in ref.files and name != ref.lead:
            try:
                manifest, _ = read_json(ref.folder / name, ref.folder, refused)
            except TornFile:
                reading.torn.append(Torn(name, str(ref.folder / name), ref.files[name].size))
                note = "manifest does not parse"
            except ReadError as error:
                reading.skipped.append(Skipped(str(ref.folder / name), _reason(error), ref.files[name].size))
                note = "manifest is not readable"
        values = tuple(Refused(name, where, value) for where, _, value in (e.partition("=") for e in refused))
        data = paths.data_dir(env, windows=os.name == "nt").path
        reading.session = manifests.session(ref.id, manifest, values, data_dir=data)
        if note is not None:
            fidelity = replace(reading.session.fidelity, notes=(note,))
            reading.session = replace(reading.session, fidelity=fidelity)
        return manifest

    def _compaction(self, ref: SessionRef, reading: Reading) -> None:
        name = f"{ref.id}{COMPACTION}"
        if name not in ref.files:
            return
        try:
            value, _ = read_json(ref.folder / name, ref.folder, [])
        except TornFile:
            reading.torn.append(Torn(name, str(ref.folder / name), ref.files[name].size))
            return
        except ReadError as error:
            reading.skipped.append(Skipped(str(ref.folder / name), _reason(error), ref.files[name].size))
            return
        reading.session = replace(reading.session, compaction=manifests.compaction(value))

    def _file(
        self,
        ref: SessionRef,
        reading: Reading,
        name: str,
        known: Mapping[str, KnownFile],
        policy: Policy,
        manifest: dict[str, Any] | None,
        settled: bool,
    ) -> None:
        """Add one messages file to the reading, unless it is as it was."""
        session = reading.session
        before = known.get(name)
        path, marks = ref.folder / name, ref.files.get(name, ABSENT)
        folder = ref.folder
        if name not in ref.files:
            path, marks = self._elsewhere(manifest, name) or (path, ABSENT)
            folder = path.parent
        if before is not None and before.reader == READER and before.stat == marks:
            return
        if before is not None and before.digests and marks == ABSENT:
            return
        found = Split([], {})
        if marks != ABSENT:
            try:
                data, marks = read_bytes(path, folder)
            except ReadError as error:
                reading.skipped.append(Skipped(str(path), _reason(error), marks.size))
                return
            opened = self._split(data, name, path, reading, settled)
            if opened is None:
                return
            found = opened
            if folder != ref.folder:
                found.notes.append("messages reached through messages_path")
        stem = "" if name in (ref.lead, f"{ref.id}{MESSAGES}") else name.removesuffix(MESSAGES)
        trigger = session.imported.tool if session.imported else None
        context = Context(
            ref.id,
            name,
            stem,
            session.cwd,
            policy,
            session.started_at,
            trigger in ("claude-code", "opencode"),
        )
        prompt = None
        if not stem and session.prompt is not None:
            prompt = (session.prompt, manifests.prompt_mode(manifest))
        reader = FileReader(
            context,
            found,
            marks.size,
            before,
            importing=session.imported is not None,
            manifest_prompt=prompt,
        )
        updated = epoch_ms(found.head.get("updated_at"))
        if updated is not None and updated > (session.updated_at or 0):
            reading.session = replace(session, updated_at=updated)
        rows: Iterator[Any] = reader.rows()
        reading.files.append(FileReading(name, marks, reader.since, rows, reader.add_only, reader.tail))

    def _split(self, data: bytes, name: str, path: Path, reading: Reading, settled: bool) -> Split | None:
        try:
            return split(data, name)
        except TornFile:
            saved = salvage(data) if settled else None
            count = len(saved.raws) if saved is not None and saved.raws else None
            reading.torn.append(Torn(name, str(path), len(data), count))
            return saved if count else None

    def _elsewhere(self, manifest: dict[str, Any] | None, name: str) -> tuple[Path, FileStat] | None:
        """The lead's messages where the manifest says they are, when there are none beside it."""
        where = (manifest or {}).get("messages_path")
        if not isinstance(where, str) or not where.endswith(name):
            return None
        path = Path(where)
        try:
            if path.name == name and path.is_absolute() and path.is_file() and not path.is_symlink():
                return path, file_stat(path.stat())
        except (OSError, ValueError):
            return None
        return None


def _inside(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _holds_messages(path: Path) -> bool:
    """Whether a JSON file looks like a messages document: its first keys tell."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    return b'"messages"' in head and b'"updated_at"' in head


def _reason(error: ReadError) -> str:
    return str(error).rpartition(": ")[2]
