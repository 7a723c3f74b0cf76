"""What was looked at, what was read, what was not, and what to do about it.

A finding's text may hold a tab: what follows it stands at the right edge.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..schema.document import iso
from ..schema.reading import SessionRef
from ..schema.words import megabytes, tilde
from ..sources.base import Listing, Source
from ..store import doctor as stored
from ..store.results import Finding
from .sync import SyncReport, merged

ARCHIVE = "Archive"
MEMORY = "Memory"


def examine(
    connection: sqlite3.Connection,
    archive: Path,
    sources: Sequence[Source],
    report: SyncReport | None,
    *,
    sessions_dirs: Sequence[Path] = (),
    env: Mapping[str, str],
    platform: str = sys.platform,
) -> list[Finding]:
    """Every finding, in the order in which a person reads them. `report` is that of the pass just made."""
    found: list[Finding] = []
    size = 0
    for source in sources:
        listings = [source.look(root) for root in source.roots(env, sessions_dirs)]
        refs = merged(source, listings)
        size += sum(stat.size for ref in refs.values() for stat in ref.files.values())
        found += [
            Finding(source.title, seen.level, seen.text, seen.details, seen.advice)
            for seen in source.sightings(env, platform, listings)
        ]
        found += _read(connection, source, refs, report)
        found += _left_out(source, listings)
        found += _content(connection, source)
    found += _archive(connection, archive, size, str(Path.home()))
    return found if any(one.level == "broken" for one in found) else [*found, *_memory(connection)]


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
    found = [Finding(source.title, "ok", f"{whole:,} read whole")] if refs else []
    for key, cut in salvaged:
        advice = "Cline may still be writing it. If it stays so, the record up to there is safe."
        text = f"1 cut at the end, read up to message {cut.messages}"
        found.append(
            Finding(source.title, "look", text, (f"{key}/{cut.file}\t{megabytes(cut.size)}",), advice)
        )
    for entry in torn:
        advice = "Cline may be writing it at this moment; it is read again on its next change."
        where = f"{Path(entry.path).parent.name}/{entry.name}\t{megabytes(entry.size)}"
        found.append(
            Finding(
                source.title, "look", "1 not parseable yet; what was read before is kept", (where,), advice
            )
        )
    for left in unread:
        path = Path(left.path)
        where = f"{path.parent.name}/{path.name}" + (
            f"\t{megabytes(left.size)}" if left.size is not None else ""
        )
        denied = "permission" in left.reason
        todo = "chmod u+r it, then run backstory capture --once" if denied else None
        found.append(Finding(source.title, "look", f"1 not readable: {left.reason}", (where,), todo))
    return found


_HARMLESS = frozenset({"a plain file among the folders"})


def _left_out(source: Source, listings: Sequence[Listing]) -> list[Finding]:
    names = [
        Path(left.path).name for listing in listings for left in listing.skipped if left.reason in _HARMLESS
    ]
    if not names:
        return []
    what = "1 plain file" if len(names) == 1 else f"{len(names):,} plain files"
    return [
        Finding(source.title, "note", f"{what} among the folders, ignored: {', '.join(sorted(names)[:5])}")
    ]


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
        found.append(Finding(source.title, "note", f"{what} not known and {pronoun}:", (", ".join(kinds),)))
    if refused:
        what = "1 value" if len(refused) == 1 else f"{len(refused):,} values"
        shown = tuple(refused[:20]) + ((f"and {len(refused) - 20:,} more",) if len(refused) > 20 else ())
        found.append(
            Finding(source.title, "look", f"{what} could not be used; the rest of each message was", shown)
        )
    return found


def _archive(connection: sqlite3.Connection, archive: Path, source_size: int, home: str) -> list[Finding]:
    problem = stored.integrity(connection)
    size = sum(path.stat().st_size for path in (archive, Path(f"{archive}-wal")) if path.exists())
    share = f", {size / source_size:.2f} of the source" if source_size else ""
    where = tilde(str(archive), home)
    if problem is not None:
        advice = f"Move {where} away and run backstory capture --once: what Cline still has is read again."
        return [Finding(ARCHIVE, "broken", f"{where} is damaged: {problem}", advice=advice)]
    found = [Finding(ARCHIVE, "ok", f"{where}, {megabytes(size)}{share}; integrity checked")]
    found += _masked(connection)
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


def _memory(connection: sqlite3.Connection) -> list[Finding]:
    """How much was learned, since when, and how many sessions are not learned as they are now."""
    conversations, exchanges, facts, since = stored.learned(connection)
    left = stored.not_learned(connection)
    if not conversations and not facts:
        advice = "backstory learn keeps what was asked and answered" if left else None
        return [Finding(MEMORY, "note", "nothing is learned", advice=advice)]
    parts = [
        f"{count:,} {word}{'' if count == 1 else 's'}"
        for count, word in ((conversations, "conversation"), (exchanges, "exchange"), (facts, "fact"))
        if count or word != "fact"
    ]
    day = f", learning since {(iso(since) or '')[:10]}" if since is not None else ""
    found = [Finding(MEMORY, "ok", f"{', '.join(parts)}{day}")]
    if left:
        what = (
            "1 session is not learned as it is"
            if left == 1
            else f"{left:,} sessions are not learned as they are"
        )
        advice = "backstory learn --explain learns, and says of the rest why not"
        found.append(Finding(MEMORY, "note", f"{what} now", advice=advice))
    return found


def _masked(connection: sqlite3.Connection) -> list[Finding]:
    """How many places have secrets that are masked in the index, and of which kinds."""
    total, kinds = stored.masked(connection)
    if not total:
        return []
    what = "1 place with a secret is" if total == 1 else f"{total:,} places with secrets are"
    named = ", ".join(f"{count:,} with {kind.replace('-', ' ')}" for kind, count in kinds.items())
    return [Finding(ARCHIVE, "note", f"{what} masked in the search index: {named}")]
