"""`/s/ID/changes`: what the edits of a session came to, file by file, and what did not survive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...schema.record import Record
from ...schema.session import Turn
from ...schema.step import Edit, Step
from ...store import outline
from ...story import states
from ...story.changes import Survival, edited_papers, path_in
from ...story.replay import Paper
from ...story.unified import changed_parts
from .. import diffs, figures
from ..desk import Desk
from ..figures import line
from ..scene import Scene
from .frame import frame, resolved, scene_of

ROOM = 40_000
"""Bytes of diffs on a page; what does not fit is reached by the file's own link."""
FILES = 60
TURNS = 60


class EditView(NamedTuple):
    """One edit of a file: the step, when, in which prompt."""

    href: str
    time: str
    turn: int


class FileView(NamedTuple):
    """A file with its change. `sides` and `table` are both empty where nothing of it can be drawn."""

    key: str
    path: Markup
    name: str
    added: int
    removed: int
    edits: list[EditView]
    badges: list[str]
    not_applied: int
    sides: list[tuple[diffs.Side | None, diffs.Side | None]]
    rows: list[diffs.Row]
    left_out: int
    notes: list[str]
    open_href: str
    turns: str
    fits: bool


class Part(NamedTuple):
    """The files of one prompt, or of the whole session where `turn` is null."""

    turn: Turn | None
    title: str
    files: list[FileView]


def show(desk: Desk, request: Request) -> Response:
    """The page."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        record = _record(archive, made)
        by_prompt = request.query_params.get("by") == "prompt"
        split = request.query_params.get("diff") != "unified"
        only = request.query_params.get("file")
        survival = Survival()
        papers = edited_papers(record, None, survival)
        room = [ROOM]
        parts = (
            list(_by_prompt(desk, made, record, request, only, room))
            if by_prompt
            else [Part(None, "", _files(desk, made, record, papers, None, only, room))]
        )
        outlined = _files(desk, made, record, papers, None, "\0", [0])
        values = frame(desk, archive, made, "changes")
        values["choices"] = [
            ("whole", _href(request, by=None), "Whole session"),
            ("prompt", _href(request, by="prompt"), "By prompt"),
        ]
        values["choice"] = "prompt" if by_prompt else "whole"
        return desk.page(
            request,
            archive,
            "changes.html",
            title=values["head"].title,
            section="sessions",
            **values,
            parts=parts,
            files=outlined,
            split=split,
            diff_href=_href(request, diff="unified" if split else None),
            line_sums=figures.lines(sum(one.added for one in outlined), sum(one.removed for one in outlined)),
            checkpoints=_checkpoints(made),
            lost=list(_lost(made, record, survival)),
            rest=max(len(papers) - FILES, 0),
        )


def _record(archive: Archive, made: Scene) -> Record:
    """The record with the bodies of edits and reads alone: these say what stood in the files."""
    wanted = [step for step in made.record.steps if step.type in ("edit", "read")]
    whole = {step.id: step for step in outline.whole(archive.connection, made.outline, wanted)}
    return replace(made.record, steps=tuple(whole[step.id] for step in made.record.steps if step.id in whole))


def _href(request: Request, **changed: str | None) -> str:
    kept = {key: value for key, value in request.query_params.items() if key not in ("theme", "file")}
    for key, value in changed.items():
        kept.pop(key, None)
        if value is not None:
            kept[key] = value
    return f"?{urlencode(kept)}" if kept else request.url.path


def _by_prompt(
    desk: Desk, made: Scene, record: Record, request: Request, only: str | None, room: list[int]
) -> Iterator[Part]:
    edited = {step.turn_id for step in record.steps if step.type == "edit"}
    turns = [turn for turn in record.turns if turn.id in edited]
    asked = request.query_params.get("turn", "")
    for turn in turns[:TURNS] if not asked.isdigit() else turns:
        if asked.isdigit() and turn.index != int(asked[:9]):
            continue
        # Each prompt is a replay of its own: none is made for what has no room.
        papers = edited_papers(record, turn.index) if room[0] > 0 else []
        prompt = made.prompt(turn)
        text = line(getattr(prompt.payload, "text", "")) if prompt is not None else ""
        yield Part(turn, text[:160], _files(desk, made, record, papers, turn, only, room))


def _files(
    desk: Desk,
    made: Scene,
    record: Record,
    papers: Sequence[Paper],
    turn: Turn | None,
    only: str | None,
    room: list[int],
) -> list[FileView]:
    turns = {one.id: one.index for one in record.turns}
    by_path: dict[str, list[Step]] = {}
    for step in record.steps:
        if isinstance(step.payload, Edit) and (turn is None or step.turn_id == turn.id):
            by_path.setdefault(path_in(made.session, step.payload.path), []).append(step)
    found = []
    for paper in papers[:FILES]:
        steps = by_path.get(paper.path, []) + (by_path.get(paper.was, []) if paper.was != paper.path else [])
        found.append(_file(desk, made, paper, steps, turns, only, room))
    return found


def _file(
    desk: Desk,
    made: Scene,
    paper: Paper,
    steps: list[Step],
    turns: dict[str, int],
    only: str | None,
    room: list[int],
) -> FileView:
    applied = [step for step in steps if step.outcome == "ok"]
    edits = [step.payload for step in applied if isinstance(step.payload, Edit)]
    key = line(paper.path)
    fits = room[0] > 0 if only is None else only == key
    raw = diffs.of_parts(changed_parts(paper)) if fits else []
    if fits and not raw:
        raw = [entry for edit in edits for entry in diffs.raw_of(edit)]
    table = diffs.unified(paper.path, raw, whole=only == key)
    # A cell of the table weighs about a hundred bytes besides its text.
    room[0] -= sum(2 * len(row.text) + 230 for row in table.rows)
    base = f"/s/{quote(made.session.id)}"
    number = next((row.new for row in table.rows if row.sign == "+" and row.new), 1)
    numbers = sorted({turns.get(step.turn_id or "", 0) for step in applied})
    return FileView(
        key=key,
        path=figures.path(paper.path, (), ""),
        name=key,
        added=sum(edit.added for edit in edits),
        removed=sum(edit.removed for edit in edits),
        edits=[
            EditView(
                f"{base}?{urlencode({'at': step.id})}#{quote(step.id)}",
                made.clock.second(step.at),
                turns.get(step.turn_id or "", 0),
            )
            for step in steps
        ],
        badges=_badges(paper),
        not_applied=sum(step.outcome == "failed" and step.decision != "rejected" for step in steps),
        sides=diffs.side_by_side(table.rows) if paper.before is not None else [],
        rows=table.rows,
        left_out=table.left_out,
        notes=[line(note) for note in paper.notes],
        open_href=_vscode(made, paper.path, number),
        turns=("prompt " if len(numbers) == 1 else "prompts ") + ", ".join(map(str, numbers)),
        fits=fits,
    )


def _badges(paper: Paper) -> list[str]:
    """What happened to the file as a whole."""
    found = ["new file"] if paper.before is None else []
    if paper.now is None:
        found.append("deleted")
    elif paper.was != paper.path and paper.before is not None:
        found.append(f"moved from {line(paper.was)}")
    return found


def _vscode(made: Scene, path: str, number: int | None) -> str:
    """The link that opens a file in the editor; empty when it is not on this machine."""
    folder = made.session.workspace_root or made.session.cwd
    if not folder:
        return ""
    whole = Path(folder) / path
    try:
        there = whole.is_absolute() and whole.is_file()
    except OSError:
        return ""
    return f"vscode://file{quote(whole.as_posix())}:{number or 1}" if there else ""


def _checkpoints(made: Scene) -> tuple[str, str] | None:
    """`git diff` of the first and the last checkpoint, and which prompts these belong to."""
    points = [(turn.index, turn.checkpoint.ref) for turn in made.record.turns if turn.checkpoint is not None]
    if len(points) < 2:
        return None
    (first, one), (last, other) = points[0], points[-1]
    return f"git diff {line(one)[:7]} {line(other)[:7]}", f"prompts {first} and {last}"


def _lost(made: Scene, record: Record, survival: Survival) -> Iterator[tuple[str, str, str]]:
    """What did not survive: the path, what became of it, and the link of the edit."""
    turns = {turn.id: turn.index for turn in record.turns}
    base = f"/s/{quote(made.session.id)}"

    def entry(step: Step, words: str) -> tuple[str, str, str]:
        path = line(path_in(made.session, getattr(step.payload, "path", "")))
        return path, words, f"{base}?{urlencode({'at': step.id})}#{quote(step.id)}"

    for step in record.steps:
        if step.type != "edit" or step.outcome != "failed":
            continue
        prompt = turns.get(step.turn_id or "", 0)
        words = "rejected" if step.decision == "rejected" else states.failure(step, {}, "not applied")[0]
        yield entry(step, f"{words}, prompt {prompt}")
    for lost in survival.lost:
        by = turns.get(lost.by.turn_id or "", 0)
        yield entry(lost.step, f"{'undone' if lost.undone else 'rewritten'} in prompt {by}")
