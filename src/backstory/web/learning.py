"""The Learn button: one run at a time in a thread of its own, and its report in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from ..archive import Archive
from ..cli.words import counted, number
from ..memory.learn import Learned, Outcome
from .desk import Desk
from .figures import line
from .jobs import Progress

SHOWN = 20
REASONS = {
    "no_evidence": "No manifest says in which folder it worked.",
    "empty": "Nothing was asked or answered.",
    "forgotten": "You forgot it, and it stays forgotten.",
}


class Refusal(NamedTuple):
    """Sessions that were refused for one reason; `sessions` are the first of them."""

    words: str
    many: int
    sessions: list[Outcome]


class Report(Struct):
    """What a run came to, as the page shows it. `at` is when it ended."""

    workspace: str
    counts: str
    masked: str
    refusals: list[Refusal]
    at: int


def start(desk: Desk, workspace: str) -> bool:
    """Learn for a workspace, as `backstory learn` does; false where a run goes on. Raises `InputError`."""
    with desk.archive() as archive:
        archive.memory.counts(workspace)

    def work(progress: Progress) -> Report:
        with desk.archive(patient=True) as archive:
            # A first pass of the capture in this process reads the same files; learning takes what it has so far.
            if desk.status.capture != "reading":
                archive.sync(desk.sessions_dirs)
            found = archive.memory.learn(workspace, progress=progress)
            return report(archive, found, desk.now())

    return desk.jobs.learning.start(work, desk.broke)


def report(archive: Archive, found: Learned, now: int) -> Report:
    """`12 learned, 1,240 known, 32 refused`, and the refused sessions by their reasons."""
    kinds = ", ".join(
        f"{number(count)} {kind.replace('-', ' ')}" for kind, count in sorted(found.masked.items())
    )
    counts = ", ".join(
        f"{number(len(group))} {word}"
        for group, word in ((found.learned, "learned"), (found.known, "known"), (found.refused, "refused"))
    )
    return Report(
        workspace=found.workspace,
        counts=counts,
        masked=f"{counted(sum(found.masked.values()), 'secret')} masked: {kinds}" if found.masked else "",
        refusals=sorted(refusals(archive, found.refused), key=lambda one: -one.many),
        at=now,
    )


def refusals(archive: Archive, refused: list[Outcome]) -> Iterator[Refusal]:
    """The refused sessions, those with the same words together."""
    said = [(_words(archive, one), one) for one in refused]
    said.sort(key=lambda pair: pair[0])
    for words, group in groupby(said, key=lambda pair: pair[0]):
        own = [one for _, one in group]
        yield Refusal(words, len(own), own[:SHOWN])


def _words(archive: Archive, one: Outcome) -> str:
    reason, _, name = (one.reason or "").partition(":")
    if reason == "claimed_by":
        return f"Its folder belongs to the workspace {name}."
    if reason == "imported":
        imported = archive.listed(one.session_id).session.imported
        tool = line(imported.tool) if imported is not None and imported.tool else "another tool"
        return f"It came from {tool}, which keeps it."
    return REASONS[reason]
