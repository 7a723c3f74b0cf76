"""`/s/ID/changes`: what the edits of a session came to, file by file, and what did not survive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...archive import Archive
from ...config import EDITORS
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

ROOMS = (40_000, 24_000, 8_000)
"""Bytes of diffs on a page, less where the page is too heavy; what does not fit comes when it is asked for."""
LIGHT = 98_000
"""Bytes of a page that is light enough."""
FILES = 60
BLOCKS = 24
"""Files of which a page has the block; the others are in the list beside them."""
LEAST = 12
"""Lines of a change that are worth showing when not all of it fits."""
TURNS = 60


class EditView(NamedTuple):
    """One edit of a file: the step, when, in which prompt."""

    href: str
    time: str
    turn: int


class FileView(NamedTuple):
    """A file with its change. `sides` and `table` are both empty where nothing of it can be drawn."""

    number: int
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
    more_href: str


class Part(NamedTuple):
    """The files of one prompt, or of the whole session where `turn` is null."""

    turn: Turn | None
    title: str
    files: list[FileView]


def show(desk: Desk, request: Request) -> Response:
    """The page; with `file` that file alone, and with `part` its change without the page."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        editor = archive.settings.editor
        record = _record(archive, made)
        split = request.query_params.get("diff") != "unified"
        only = request.query_params.get("file")
        survival = Survival()
        papers = edited_papers(record, None, survival)
        drawn = {"split": split, "editor": EDITORS.get(editor, "")}
        if only is not None and "part" in request.query_params:
            parts = _parts(editor, made, record, papers, request, ROOMS[0])
            asked = [file for part in parts for file in part.files if file.key == only]
            return HTMLResponse(desk.draw("_changed.html", **drawn, asked=asked[:1]))
        values = {**frame(desk, archive, made, "changes"), **_choices(request), **drawn}
        values |= _around(editor, made, record, papers, survival)
        for size in ROOMS:
            parts = _parts(editor, made, record, papers, request, size)
            answer = desk.page(
                request,
                archive,
                "changes.html",
                title=values["head"].title,
                section="sessions",
                **values,
                parts=[_on_page(part, only) for part in parts],
                only=only,
                most=BLOCKS,
                all_href=_href(request),
                diff_href=_href(request, diff="unified" if split else None, file=only),
            )
            if len(answer.body) <= LIGHT or only is not None:
                break
        return answer


def _choices(request: Request) -> dict[str, Any]:
    """The whole session, or prompt by prompt."""
    return {
        "choices": [
            ("whole", _href(request, by=None, turn=None), "Whole session"),
            ("prompt", _href(request, by="prompt"), "By prompt"),
        ],
        "choice": "prompt" if request.query_params.get("by") == "prompt" else "whole",
    }


def _around(
    editor: str, made: Scene, record: Record, papers: Sequence[Paper], survival: Survival
) -> dict[str, Any]:
    """What stands beside and above the changes: the list of files, what did not survive, the checkpoints."""
    files = _files(editor, made, record, papers, None, "\0", [0])
    return {
        "files": files,
        "line_sums": figures.lines(sum(one.added for one in files), sum(one.removed for one in files)),
        "checkpoints": _checkpoints(made),
        "lost": list(_lost(made, record, survival)),
        "rest": max(len(papers) - FILES, 0),
    }


def _parts(
    editor: str, made: Scene, record: Record, papers: Sequence[Paper], request: Request, size: int
) -> list[Part]:
    """The changes as far as `size` bytes of them go; of one file, where the address names it, all."""
    room = [size]
    only = request.query_params.get("file")
    if request.query_params.get("by") == "prompt":
        return list(_by_prompt(editor, made, record, request, only, room))
    return [Part(None, "", _files(editor, made, record, papers, None, only, room))]


def _on_page(part: Part, only: str | None) -> Part:
    """The blocks of a page: the first ones, or the one that was asked for."""
    asked = [file for file in part.files if file.key == only]
    return part._replace(files=asked if only is not None else part.files[:BLOCKS])


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
    editor: str, made: Scene, record: Record, request: Request, only: str | None, room: list[int]
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
        yield Part(turn, text[:160], _files(editor, made, record, papers, turn, only, room))


def _files(
    editor: str,
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
    for number, paper in enumerate(papers[:FILES], 1):
        steps = by_path.get(paper.path, []) + (by_path.get(paper.was, []) if paper.was != paper.path else [])
        made_of = _file(editor, made, paper, steps, turns, only, room)
        query = {"by": "prompt", "turn": turn.index, "file": made_of.key} if turn else {"file": made_of.key}
        found.append(made_of._replace(number=number, more_href=f"?{urlencode(query)}"))
    return found


def _file(
    editor: str,
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
    if only is None:
        table = _fitting(table, room)
        fits = fits and bool(table.rows or not raw)
    base = f"/s/{quote(made.session.id)}"
    number = next((row.new for row in table.rows if row.sign == "+" and row.new), 1)
    numbers = sorted({turns.get(step.turn_id or "", 0) for step in applied})
    return FileView(
        number=0,
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
        open_href=_editor(editor, made, paper.path, number),
        turns=("prompt " if len(numbers) == 1 else "prompts ") + ", ".join(map(str, numbers)),
        fits=fits,
        more_href="",
    )


def _fitting(table: diffs.Table, room: list[int]) -> diffs.Table:
    """As much of a table as there is room for; none of it where that is too little to say anything."""
    left = room[0]
    for at, row in enumerate(table.rows):
        # A line is drawn on both sides, and its cells weigh about a hundred bytes each besides its text.
        left -= 2 * len(row.text) + 320
        if left < 0:
            if at < LEAST:
                return diffs.Table([], table.left_out + len(table.rows))
            room[0] = 0
            return diffs.Table(table.rows[:at], table.left_out + len(table.rows) - at)
    room[0] = left
    return table


def _badges(paper: Paper) -> list[str]:
    """What happened to the file as a whole."""
    found = ["new file"] if paper.before is None else []
    if paper.now is None:
        found.append("deleted")
    elif paper.was != paper.path and paper.before is not None:
        found.append(f"moved from {line(paper.was)}")
    return found


def _editor(editor: str, made: Scene, path: str, number: int | None) -> str:
    """The link that opens a file in the editor; empty when it is not on this machine, or no editor is wanted."""
    if editor not in EDITORS:
        return ""
    folder = made.session.workspace_root or made.session.cwd
    if not folder:
        return ""
    whole = Path(folder) / path
    try:
        there = whole.is_absolute() and whole.is_file()
    except OSError:
        return ""
    # A drive of Windows begins with no slash of its own.
    address = quote(whole.as_posix().lstrip("/"))
    return f"{editor}://file/{address}:{number or 1}" if there else ""


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
