"""What the applied edits of a session came to, file by file."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec.structs import replace

from ..schema.record import Record
from ..schema.session import Session
from ..schema.step import Edit, Read, Step
from ..schema.words import relative
from .replay import Cell, Paper, Unplaced


def edited_papers(record: Record, turn: int | None = None, survival: Survival | None = None) -> list[Paper]:
    """Every file that was edited, in the order of the first edit; with `turn` in that prompt alone."""
    papers = [paper for paper in replayed(record, turn, survival).values() if paper.edited is not None]
    return sorted(papers, key=lambda paper: paper.edited or 0)


class Lost(NamedTuple):
    """An applied edit of which nothing is left, and the one that took the last; `undone` put the old text back."""

    step: Step
    by: Step
    undone: bool


class _Mark(NamedTuple):
    step: Step
    edit: Edit
    path: str
    cells: frozenset[int]


class Survival:
    """Watches a replay for edits whose lines all go again."""

    def __init__(self) -> None:
        self.lost: list[Lost] = []
        self._alive: list[_Mark] = []
        self._kept: list[list[Cell]] = []  # so that no number of a cell is used again

    def watch(self, step: Step, edit: Edit, before: list[Cell] | None, paper: Paper) -> None:
        """Take in one applied edit, and the lines that stood in its file before it."""
        now = paper.now or []
        self._kept.append(list(before or []))
        present = {id(cell) for cell in now}
        for mark in [one for one in self._alive if one.path in (paper.path, paper.was, edit.path)]:
            if not mark.cells & present:
                self._alive.remove(mark)
                self.lost.append(Lost(mark.step, step, _takes_back(mark.edit, edit)))
        old = {id(cell) for cell in before or []}
        added = frozenset(id(cell) for cell in now if id(cell) not in old and cell.text)
        if added:
            self._alive.append(_Mark(step, edit, paper.path, added))


def _takes_back(first: Edit, second: Edit) -> bool:
    if second.operation == "delete" and first.operation == "create":
        return True
    return first.old_string is not None and (first.old_string, first.new_string) == (
        second.new_string,
        second.old_string,
    )


def replayed(record: Record, turn: int | None, survival: Survival | None = None) -> dict[str, Paper]:
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
            _apply(session, papers, step, payload, survival, counts=turn is None or index == turn)
        elif isinstance(payload, Read):
            path = path_in(session, payload.path)
            if path in edited:
                _paper(papers, path, exists=True).learn(payload)
    return papers


def _apply(
    session: Session,
    papers: dict[str, Paper],
    step: Step,
    edit: Edit,
    survival: Survival | None,
    *,
    counts: bool,
) -> None:
    path = path_in(session, edit.path)
    paper = _paper(papers, path, exists=edit.operation != "create")
    moved = path_in(session, edit.move_to) if edit.move_to else None
    if counts and paper.edited is None:
        paper.edited = step.seq
    before = None if paper.now is None else list(paper.now)
    try:
        paper.apply(replace(edit, move_to=moved))
    except Unplaced as reason:
        if counts:
            paper.notes.append(f"{path}: an edit ({step.id}) is not in the diff: {reason}")
        return
    if survival is not None:
        survival.watch(step, edit, before, paper)
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
