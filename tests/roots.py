"""A sessions folder with one sound session, and what a pass over it says."""

from __future__ import annotations

from pathlib import Path

from sessions import START, Session, archive, messages
from timelimit import within

from backstory.capture.sync import SyncReport


def sound(root: Path, session_id: str = "1796020000000_sound") -> Session:
    session = Session(root, session_id, start=START - 1000_000)
    session.prompt("Sound", id=f"{session_id}-0")
    session.reply("Yes", id=f"{session_id}-1")
    return session.write()


def named(report: SyncReport, path: Path) -> str | None:
    """The reason for which a pass left a file out, if it names it."""
    left = [*report.skipped, *report.failed]
    reasons = {Path(entry.path): entry.reason for entry in left}
    return reasons.get(path) or ("torn" if str(path) in {entry.path for entry in report.torn} else None)


def synced(tmp_path: Path, *roots: Path) -> tuple[SyncReport, dict[str, list[tuple[str, str]]]]:
    """What one pass over these folders reports, and what was said in each session afterwards."""
    with within(10), archive(tmp_path) as kept:
        report = kept.sync(roots)
        ids = [listed.session.id for listed in kept.sessions()]
        return report, {session_id: messages(kept.record(session_id)) for session_id in ids}


SOUND = {"1796020000000_sound": [("user", "Sound"), ("assistant", "Yes")]}
