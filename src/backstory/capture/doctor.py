"""What was looked at, what was read, what was not, and what to do about it.

A finding's text may hold a tab: what follows it stands at the right edge.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..schema.reading import SessionRef
from ..sources.base import Listing, Source
from ..sources.cline import paths
from ..store import doctor as stored
from ..store.results import Finding
from .sync import SyncReport, merged

CLINE, ARCHIVE = "Cline", "Archive"
VARIABLES = ("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR")


def examine(
    connection: sqlite3.Connection,
    archive: Path,
    source: Source,
    report: SyncReport | None,
    *,
    sessions_dirs: Sequence[Path] = (),
    env: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> list[Finding]:
    """Every finding, in the order in which a person reads them. `report` is that of the pass just made."""
    listings = [source.look(root) for root in source.roots(env, sessions_dirs)]
    found = [*_installed(env, platform)]
    for listing in listings:
        found.append(_root(listing, env))
    refs = merged(source, listings)
    found += _read(connection, source, refs, report)
    found += _left_out(listings)
    found += _content(connection, source)
    found += _archive(connection, archive, refs)
    return found


def _installed(env: Mapping[str, str], platform: str) -> list[Finding]:
    windows = platform == "win32"
    folder = paths.cline_dir(env, windows=windows)
    data = paths.data_dir(env, windows=windows)
    storage = [place for place in paths.extension_storage(env, platform) if Path(place).is_dir()]
    here = [
        f"{tilde(place.path, env)} ({place.rule})" for place in (folder, data) if Path(place.path).is_dir()
    ]
    if here or storage:
        extension = (
            ["extension storage of " + ", ".join(_editor(place) for place in storage)] if storage else []
        )
        found = [Finding(CLINE, "ok", "installed: " + ", ".join([*here[:1], *extension]))]
    else:
        text = f"not installed here: neither {tilde(folder.path, env)} nor an extension's storage exists"
        found = [
            Finding(CLINE, "note", text, advice="Install Cline, or set CLINE_DIR where it keeps its data")
        ]
    old = [place for place in storage if _tasks(place)]
    if old:
        count = sum(_tasks(place) for place in old)
        found.append(
            Finding(
                CLINE,
                "note",
                f"{count:,} tasks from before Cline 4.0 are not read",
                tuple(tilde(str(Path(place, "tasks")), env) for place in old),
            )
        )
    return found


def _tasks(storage: str) -> int:
    try:
        with os.scandir(Path(storage, "tasks")) as entries:
            return sum(entry.is_dir() for entry in entries)
    except OSError:
        return 0


def _editor(storage: str) -> str:
    parts = Path(storage).parts
    return next((part for part in reversed(parts) if part in (*paths.EDITORS, ".vscode-server")), parts[-1])


def tilde(path: str, env: Mapping[str, str]) -> str:
    """A path with the home directory written as `~`."""
    home = paths.home(env, windows=os.name == "nt")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def _root(listing: Listing, env: Mapping[str, str]) -> Finding:
    """One sessions folder: the rule that named it, and what is in it."""
    where = tilde(str(listing.root.path), env)
    rule = listing.root.rule
    unset = [name for name in VARIABLES if not paths.value(env, name)]
    named = (
        f"default; {', '.join(unset[:-1])} and {unset[-1]} are not set"
        if rule == "default" and unset
        else rule
    )
    size = sum(stat.size for ref in listing.sessions for stat in ref.files.values())
    if listing.readable:
        if not listing.sessions:
            text = f"sessions: {where}  ({named})\tnone yet"
            return Finding(CLINE, "note", text, advice="Use Cline once, or: backstory demo")
        return Finding(
            CLINE, "ok", f"sessions: {where}  ({named})\t{len(listing.sessions):,} folders, {megabytes(size)}"
        )
    if listing.root.path.exists():
        return Finding(CLINE, "broken", f"sessions: {where} cannot be listed", advice=f"chmod u+rx {where}")
    default = paths.sessions_dir({**env, **dict.fromkeys(VARIABLES, "")}, windows=os.name == "nt").path
    if rule != "default" and Path(default).is_dir():
        text = f"sessions: {where}  ({rule}) does not exist, but {tilde(default, env)} does"
        return Finding(
            CLINE,
            "look",
            text,
            advice=f"unset {rule}, or name the folder: --sessions-dir {tilde(default, env)}",
        )
    text = f"sessions: {where}  ({named}) does not exist"
    return Finding(CLINE, "note", text, advice="Use Cline once, or set CLINE_DIR where your sessions are")


def megabytes(size: int) -> str:
    """A size in MB as people read it, a small one in KB."""
    if size < 100_000:
        return f"{size / 1000:.1f} KB"
    return f"{size / 1e6:.1f} MB" if size < 10_000_000 else f"{size / 1e6:,.0f} MB"


def _read(
    connection: sqlite3.Connection, source: Source, refs: Mapping[str, SessionRef], report: SyncReport | None
) -> list[Finding]:
    """What of the sessions on disk was read whole, and each file that was not."""
    fidelity = stored.fidelities(connection, source.name)
    salvaged = [(key, cut) for key, value in fidelity.items() if key in refs for cut in value.salvaged]
    torn = [entry for entry in report.torn if entry.salvaged is None] if report else []
    skipped = [*report.failed, *report.skipped] if report else []
    unread = [left for left in skipped if left.reason not in _HARMLESS]
    bad = {key for key, _ in salvaged} | {Path(entry.path).parent.name for entry in torn}
    bad |= {Path(left.path).parent.name for left in unread}
    known = stored.ids(connection, source.name)
    whole = sum(key in known and key not in bad for key in refs)
    found = [Finding(CLINE, "ok", f"{whole:,} read whole")] if refs else []
    for key, cut in salvaged:
        advice = "Cline may still be writing it. If it stays so, the record up to there is safe."
        text = f"1 cut at the end, read up to message {cut.messages}"
        found.append(Finding(CLINE, "look", text, (f"{key}/{cut.file}\t{megabytes(cut.size)}",), advice))
    for entry in torn:
        advice = "Cline may be writing it at this moment; it is read again on its next change."
        where = f"{Path(entry.path).parent.name}/{entry.name}\t{megabytes(entry.size)}"
        found.append(
            Finding(CLINE, "look", "1 not parseable yet; what was read before is kept", (where,), advice)
        )
    for left in unread:
        path = Path(left.path)
        where = f"{path.parent.name}/{path.name}" + (
            f"\t{megabytes(left.size)}" if left.size is not None else ""
        )
        denied = "permission" in left.reason
        todo = "chmod u+r it, then run backstory capture --once" if denied else None
        found.append(Finding(CLINE, "look", f"1 not readable: {left.reason}", (where,), todo))
    return found


_HARMLESS = frozenset({"a plain file among the folders"})


def _left_out(listings: Sequence[Listing]) -> list[Finding]:
    names = [
        Path(left.path).name for listing in listings for left in listing.skipped if left.reason in _HARMLESS
    ]
    if not names:
        return []
    what = "1 plain file" if len(names) == 1 else f"{len(names):,} plain files"
    return [Finding(CLINE, "note", f"{what} among the folders, ignored: {', '.join(sorted(names)[:5])}")]


def _content(connection: sqlite3.Connection, source: Source) -> list[Finding]:
    """Kinds of content that are not known, and values that could not be used."""
    unknown: dict[str, int] = {}
    refused: list[str] = []
    for key, value in stored.fidelities(connection, source.name).items():
        for kind, count in value.unknown.items():
            unknown[kind] = unknown.get(kind, 0) + count
        refused += [f"{key}/{entry.file}{entry.where}: {entry.value}" for entry in value.refused]
    found = []
    if unknown:
        kinds = [
            f"{kind} ({count:,} {'time' if count == 1 else 'times'})"
            for kind, count in sorted(unknown.items())
        ]
        what = "1 kind of content was" if len(kinds) == 1 else f"{len(kinds)} kinds of content were"
        pronoun = "is kept as it is" if len(kinds) == 1 else "are kept as they are"
        found.append(Finding(CLINE, "note", f"{what} not known and {pronoun}:", (", ".join(kinds),)))
    if refused:
        what = "1 value" if len(refused) == 1 else f"{len(refused):,} values"
        shown = tuple(refused[:20]) + ((f"and {len(refused) - 20:,} more",) if len(refused) > 20 else ())
        found.append(Finding(CLINE, "look", f"{what} could not be used; the rest of each message was", shown))
    return found


def _archive(connection: sqlite3.Connection, archive: Path, refs: Mapping[str, SessionRef]) -> list[Finding]:
    problem = stored.integrity(connection)
    size = sum(path.stat().st_size for path in (archive, Path(f"{archive}-wal")) if path.exists())
    source_size = sum(stat.size for ref in refs.values() for stat in ref.files.values())
    share = f", {size / source_size:.2f} of the source" if source_size else ""
    where = tilde(str(archive), os.environ)
    if problem is not None:
        advice = f"Move {where} away and run backstory capture --once: what Cline still has is read again."
        return [Finding(ARCHIVE, "broken", f"{where} is damaged: {problem}", advice=advice)]
    found = [Finding(ARCHIVE, "ok", f"{where}, {megabytes(size)}{share}; integrity checked")]
    gone = stored.gone(connection)
    if gone:
        what = "1 session is" if gone == 1 else f"{gone:,} sessions are"
        found.append(Finding(ARCHIVE, "note", f"{what} gone from Cline's folder and kept here"))
    forgotten = stored.forgotten(connection)
    if forgotten:
        what = "1 session was" if forgotten == 1 else f"{forgotten:,} sessions were"
        found.append(
            Finding(ARCHIVE, "note", f"{what} forgotten and stay so; backstory ingest ID takes one back")
        )
    return found
