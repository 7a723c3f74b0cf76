"""`show --changes`: the applied edits of a session as one diff a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ..schema.record import Record
from ..schema.session import Session
from ..schema.step import Edit, Read, Step
from .line import Line, View, spans
from .options import App
from .replay import Paper, Unplaced
from .unified import Diff, diff
from .words import relative

ROLES = {"+": "live", "-": "removed", "@": "label"}


def diffs(record: Record, turn: int | None = None) -> Iterator[Diff]:
    """A diff for each file that was edited, in the order of the first edit; with `turn` of one prompt."""
    papers = [paper for paper in _replayed(record, turn).values() if paper.edited is not None]
    for paper in sorted(papers, key=lambda paper: paper.edited or 0):
        notes = list(paper.notes)
        found = None
        if not _outside(paper.path):
            found = diff(paper)
        elif paper.before != paper.now:
            notes.append(f"{paper.path} lies outside of the session's folder, where git apply does not write")
        if found is not None or notes:
            own = found or Diff(())
            yield own._replace(notes=(*notes, *own.notes))


def _replayed(record: Record, turn: int | None) -> dict[str, Paper]:
    """Every file that was edited up to the prompt at hand, by its path now."""
    session = record.session
    edited = {_path(session, step.payload.path) for step in record.steps if isinstance(step.payload, Edit)}
    indexes = {own.id: own.index for own in record.turns}
    papers: dict[str, Paper] = {}
    for step in record.steps:
        index = indexes.get(step.turn_id or "", 0)
        if step.outcome != "ok" or step.superseded or (turn is not None and index > turn):
            continue
        payload = step.payload
        if isinstance(payload, Edit):
            _apply(session, papers, step, payload, counts=turn is None or index == turn)
        elif isinstance(payload, Read):
            path = _path(session, payload.path)
            if path in edited:
                _paper(papers, path, exists=True).learn(payload)
    return papers


def _apply(session: Session, papers: dict[str, Paper], step: Step, edit: Edit, *, counts: bool) -> None:
    path = _path(session, edit.path)
    paper = _paper(papers, path, exists=edit.operation != "create")
    moved = _path(session, edit.move_to) if edit.move_to else None
    if counts and paper.edited is None:
        paper.edited = step.seq
    try:
        paper.apply(_with(edit, moved))
    except Unplaced as reason:
        if counts:
            paper.notes.append(f"{path}: an edit ({step.id}) is not in the diff: {reason}")
        return
    if moved is not None:
        papers[moved] = papers.pop(path)
    if not counts:
        # What came before the prompt at hand is the state of the file, not its change.
        paper.settle()


def _with(edit: Edit, moved: str | None) -> Edit:
    from msgspec.structs import replace

    return replace(edit, move_to=moved)


def _paper(papers: dict[str, Paper], path: str, *, exists: bool) -> Paper:
    if path not in papers:
        papers[path] = Paper(path, exists=exists)
    return papers[path]


def _path(session: Session, path: str) -> str:
    """The path as `git apply` takes it: from the folder of the session, with slashes."""
    found = relative(path, (session.workspace_root, session.cwd), "")
    if session.cwd and session.workspace_root and not _absolute(path):
        below = relative(session.cwd, (session.workspace_root,), "")
        found = found if below == session.cwd else f"{below}/{found}"
    return found.replace("\\", "/") if "\\" in (session.cwd or "") else found


def _absolute(path: str) -> bool:
    return path.startswith(("/", "\\")) or path[1:3] in (":\\", ":/")


def _outside(path: str) -> bool:
    return _absolute(path) or ".." in PurePosixPath(path).parts


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
