"""Cline as a source: where its sessions are on disk, and which of them a person means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import InputError, UnknownSession
from ...schema.reading import FileStat, KnownFile, Reading, SessionRef, Skipped
from ..base import Listing, Root, Sighting
from . import paths
from .times import epoch_ms

READER = 3
"""Raised when the meaning of rows changes: files read by an older reader are then read again as a whole."""

MESSAGES = ".messages.json"
COMPACTION = ".compaction.json"
NO_TEXT = "its name is no UTF-8"
_token = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_updated = re.compile(rb'"updated_at"\s*:\s*"([^"]{10,40})"')


class ClineSource:
    """Cline 4 (extension) and Cline CLI 3: one folder a session, as FORMAT.md describes it."""

    name = "cline"
    title = "Cline"
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
            if not _is_text(folder):
                skipped.append(Skipped(os.fsencode(entry.path).decode("utf-8", "replace"), NO_TEXT))
                return
            seen.add(folder)
            ref = self._ref(folder, Path(folder).name, root, skipped)
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
                wanted = (name.endswith(MESSAGES) and name != MESSAGES) or name in (
                    f"{session_id}.json",
                    f"{session_id}{COMPACTION}",
                )
                if not wanted:
                    continue
                if not _is_text(name):
                    skipped.append(Skipped(os.fsencode(entry.path).decode("utf-8", "replace"), NO_TEXT))
                    continue
                reason = _take(entry, folder, files)
                if reason is not None:
                    skipped.append(Skipped(entry.path, reason))
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
        name = f"{ref.id}{MESSAGES}"
        if name not in ref.files:
            return 0
        try:
            with (ref.folder / name).open("rb") as file:
                found = _updated.search(file.read(512))
        except OSError:
            return 0
        return (epoch_ms(found[1].decode("ascii", "replace")) if found else None) or 0

    def locate(self, item: str, roots: Sequence[Root]) -> SessionRef:
        """The session that a person named by id, folder or file."""
        try:
            path = Path(item).expanduser()
            if os.sep in item or "/" in item or path.exists():
                return self._locate_path(path, item)
        except (OSError, RuntimeError, ValueError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else str(error)
            raise InputError(f"{item[:200]}: {(reason or 'cannot be used').lower().rstrip('.')}.") from error
        if not _token.fullmatch(item):
            raise InputError(f'"{item}" is no session id. Give an id, a session folder or a messages file.')
        for root in roots:
            folder = root.path / item
            if not folder.is_dir():
                folder = _by_short_id(root.path, item) or folder
            if folder.is_dir():
                real = os.path.realpath(folder)
                ref = self._ref(real, Path(real).name, os.path.realpath(root.path), [])
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
            marks = {path.name: _marks(path.stat())}
            return SessionRef(self.name, stem, str(folder), folder, marks, lead=path.name)
        raise InputError(
            f"{item}: no session of Cline's; a session folder holds <id>.json or <id>{MESSAGES}."
        )

    def read(
        self,
        ref: SessionRef,
        known: Mapping[str, KnownFile],
        *,
        now_ns: int | None = None,
        env: Mapping[str, str],
    ) -> Reading:
        """Read what changed of a session. What does not parse is reported as torn, and salvaged when settled."""
        # The reader is loaded when a session is read: a pass that finds nothing new does not wait for it.
        from .session import SessionReader

        return SessionReader(ref, known, now_ns=now_ns, env=env, reader=READER).read()

    def sightings(self, env: Mapping[str, str], platform: str, listings: Sequence[Listing]) -> list[Sighting]:
        """Whether Cline is installed, and which folders were looked at by which rule."""
        from . import installation

        folders = [installation.folder(listing, env, platform) for listing in listings]
        return [*installation.installed(env, platform), *folders]


def _by_short_id(root: Path, short: str) -> Path | None:
    """The only folder whose id ends in these characters after a `_`."""
    found = list(root.glob(f"*_{short}"))
    return found[0] if len(found) == 1 else None


def _marks(entry: os.stat_result) -> FileStat:
    """The marks of a file by which a change is seen."""
    return FileStat(entry.st_size, entry.st_mtime_ns, entry.st_ino)


def _take(entry: os.DirEntry[str], folder: str, files: dict[str, FileStat]) -> str | None:
    """Note a file of a session folder; returns why it was left out, if it was."""
    try:
        if entry.is_symlink() and not _inside(entry.path, folder):
            return "a link that leads out of the session folder"
        if not entry.is_file():
            return "not a regular file"
        files[entry.name] = _marks(entry.stat())
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None


def _is_text(name: str) -> bool:
    """Whether a name can be written down: others come from the system with half characters in them."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


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
