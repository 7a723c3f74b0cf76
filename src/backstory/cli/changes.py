"""`show --changes`: the applied edits of a session as one diff a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..schema.record import Record
from ..story.changes import edited_papers, outside
from ..story.unified import Diff, diff
from .line import Line, View, spans
from .options import App

ROLES = {"+": "live", "-": "removed", "@": "label"}


def diffs(record: Record, turn: int | None = None) -> Iterator[Diff]:
    """A diff for each file that was edited, in the order of the first edit; with `turn` of one prompt."""
    for paper in edited_papers(record, turn):
        notes = list(paper.notes)
        found = None
        if not outside(paper.path):
            found = diff(paper)
        elif paper.before != paper.now:
            notes.append(f"{paper.path} lies outside of the session's folder, where git apply does not write")
        if found is not None or notes:
            own = found or Diff(())
            yield own._replace(notes=(*notes, *own.notes))


def patch_text(found: Sequence[Diff]) -> str:
    """The patch as bytes go to `git apply`; what it would refuse is a comment, so that it takes the rest."""
    return "".join(("# " if one.bare else "") + line + "\n" for one in found for line in one.lines)


def draw_patch(view: View, found: Sequence[Diff]) -> Iterator[Line]:
    """The patch for eyes: in colour, nothing in it acts, nothing is cut."""
    for one in found:
        for line in one.lines:
            head = line.startswith(("diff --git", "--- ", "+++ ", "new file", "deleted file", "rename "))
            role = "title" if head else ROLES.get(line[:1], "")
            yield spans((view.glyphs.safe(line.expandtabs(8)), role))


def write_changes(app: App, record: Record, turn: int | None) -> None:
    """Write the patch: as it is into a file or a pipe, drawn on a terminal. Notes go to standard error."""
    found = list(diffs(record, turn))
    if app.term.interactive:
        app.term.page(draw_patch(app.term.view, found))
    else:
        app.term.text(patch_text(found))
    for one in found:
        for note in one.notes:
            app.term.note(note)
    if not any(one.lines for one in found):
        app.term.note("No applied edit is recorded." if not found else "Nothing that a diff can say is left.")
    elif any(step.type == "command" for step in record.steps):
        app.term.note("Edits recorded by Cline only; commands can change files, too.")
