"""The memory in tests: an archive over some sessions, what was learned of them, and why others were not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import recordings
from sessions import Session, archive

from backstory import Archive
from backstory.memory.learn import Learned, Outcome

Said = list[tuple[str, str]]
"""Questions with their answers, in order."""


def of_recording(home: Path, scenario: str) -> Archive:
    """An archive with the sessions of a recording."""
    opened = archive(home)
    opened.sync([recordings.RECORDINGS / scenario / "sessions"])
    return opened


def of_sessions(home: Path, *built: Session) -> Archive:
    """An archive with sessions that a test built, all in one folder."""
    opened = archive(home)
    for session in built:
        session.write()
    opened.sync([built[0].root])
    return opened


def said(opened: Archive, session_id: str | None = None, workspace: str | None = None) -> Said:
    """What the memory holds of a session, or of all of them."""
    return opened.connection.execute(
        "SELECT asked, answered FROM exchanges WHERE (?1 IS NULL OR session_id = ?1)"
        " AND (?2 IS NULL OR workspace = ?2) ORDER BY session_id, position",
        (session_id, workspace),
    ).fetchall()


def learn_recording(home: Path, scenario: str) -> Said:
    """What is learned of a recording."""
    with of_recording(home, scenario) as opened:
        opened.memory.learn()
        return said(opened)


def learn_session(session: Session) -> Said:
    """What is learned of a session that a test built."""
    with of_sessions(session.root.parent / "home", session) as opened:
        opened.memory.learn()
        return said(opened)


def outcomes(report: Learned) -> Iterator[Outcome]:
    """Every session of a run."""
    yield from (*report.learned, *report.known, *report.refused)


def reasons(report: Learned) -> dict[str, str | None]:
    """Why each session was refused, by its id; null for one that was not."""
    return {one.session_id: one.reason for one in outcomes(report)}
