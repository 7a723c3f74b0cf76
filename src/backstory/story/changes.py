"""What the applied edits of a session came to, file by file."""

from __future__ import annotations

from pathlib import PurePosixPath

from msgspec.structs import replace

from ..schema.record import Record
from ..schema.session import Session
from ..schema.step import Edit, Read, Step
from ..schema.words import relative
from .replay import Paper, Unplaced


def edited_papers(record: Record, turn: int | None = None) -> list[Paper]:
    """Every file that was edited, in the order of the first edit; with `turn` in that prompt alone."""
    papers = [paper for paper in replayed(record, turn).values() if paper.edited is not None]
    return sorted(papers, key=lambda paper: paper.edited or 0)


def replayed(record: Record, turn: int | None) -> dict[str, Paper]:
    """Every file that was edited up to the prompt at hand, by its path now."""
    session = record.session
    edited = {path_in(session, step.payload.path) for step in record.steps if isinstance(step.payload, Edit)}
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
            path = path_in(session, payload.path)
            if path in edited:
                _paper(papers, path, exists=True).learn(payload)
    return papers


def _apply(session: Session, papers: dict[str, Paper], step: Step, edit: Edit, *, counts: bool) -> None:
    path = path_in(session, edit.path)
    paper = _paper(papers, path, exists=edit.operation != "create")
    moved = path_in(session, edit.move_to) if edit.move_to else None
    if counts and paper.edited is None:
        paper.edited = step.seq
    try:
        paper.apply(replace(edit, move_to=moved))
    except Unplaced as reason:
        if counts:
            paper.notes.append(f"{path}: an edit ({step.id}) is not in the diff: {reason}")
        return
    if moved is not None:
        papers[moved] = papers.pop(path)
    if not counts:
        # What came before the prompt at hand is the state of the file, not its change.
        paper.settle()


def _paper(papers: dict[str, Paper], path: str, *, exists: bool) -> Paper:
    if path not in papers:
        papers[path] = Paper(path, exists=exists)
    return papers[path]


def path_in(session: Session, path: str) -> str:
    """The path as `git apply` takes it: from the folder of the session, with slashes."""
    found = relative(path, (session.workspace_root, session.cwd), "")
    if session.cwd and session.workspace_root and not _absolute(path):
        below = relative(session.cwd, (session.workspace_root,), "")
        found = found if below == session.cwd else f"{below}/{found}"
    return found.replace("\\", "/") if "\\" in (session.cwd or "") else found


def _absolute(path: str) -> bool:
    return path.startswith(("/", "\\")) or path[1:3] in (":\\", ":/")


def outside(path: str) -> bool:
    return _absolute(path) or ".." in PurePosixPath(path).parts
