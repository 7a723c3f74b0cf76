"""`/s/ID/facts`: everything that is known of a session besides its steps, and how it is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...cli.words import size, surface
from ...schema.document import step_json
from ...schema.words import tilde
from ...store import outline
from ..code import visible
from ..desk import Desk
from ..figures import line
from ..scene import Scene
from .frame import frame, resolved, scene_of

EXAMPLES = 3
RAW = 200_000
SMALL = 20_000
"""Characters of a manifest up to which it comes with the page."""


class Fact(NamedTuple):
    """A name, a value, and whether it was recorded or inferred."""

    name: str
    value: str
    how: str
    why: str = ""


def show(desk: Desk, request: Request) -> Response:
    """The page."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        values = frame(desk, archive, made, "facts")
        session = made.session
        raw = request.query_params.get("step", "")
        whole = "manifest" in request.query_params
        manifest = json.dumps(session.manifest, ensure_ascii=False, indent=2, default=str)
        return desk.page(
            request,
            archive,
            "facts.html",
            title=values["head"].title,
            section="sessions",
            **values,
            facts=list(_facts(desk, made)),
            segments=made.record.segments,
            clock=made.clock,
            actors=made.record.actors,
            actor_counts={actor: len(steps) for actor, steps in made.by_actor.items()},
            fidelity=session.fidelity,
            examples=_examples(archive, made),
            copies=_copies(archive, session_id),
            points=session.checkpoints,
            compaction=session.compaction,
            summary=_visible(session.compaction.summary or "") if session.compaction else "",
            files=_files(archive, made, desk),
            manifest=_visible(manifest) if whole or len(manifest) < SMALL else "",
            manifest_size=size(len(manifest)) if session.manifest is not None else "",
            raw=_raw(archive, made, raw) if raw else None,
            raw_id=raw,
        )


def _visible(text: str) -> str:
    return "\n".join(visible(entry) for entry in text[:RAW].split("\n"))


def _facts(desk: Desk, made: Scene) -> Iterator[Fact]:
    session, entry = made.session, made.entry
    recorded, inferred = "recorded", "inferred"
    yield Fact("Id", session.id, recorded)
    yield Fact("Agent", " ".join(filter(None, (session.agent.kind, session.agent.version))), recorded)
    if session.agent.format_version is not None:
        yield Fact("Format of its files", str(session.agent.format_version), recorded)
    for name, value in (
        ("Title", session.title),
        ("Where it ran", surface(session.surface)),
        ("Started by", session.origin_mode),
        ("Folder", tilde(session.cwd or "", desk.home)),
        ("Workspace", tilde(session.workspace_root or "", desk.home)),
    ):
        if value:
            yield Fact(name, line(value), recorded)
    if session.project:
        yield Fact("Project", line(session.project), inferred, "the name of the folder")
    for name, value in (("Repository", session.repo), ("Branch", session.branch)):
        if value:
            yield Fact(name, line(value), recorded)
    model = " ".join(filter(None, (session.provider, session.model)))
    if model:
        yield Fact("Model", line(model), recorded)
    if entry.glance.models:
        yield Fact("Model by its canonical name", ", ".join(map(line, entry.glance.models)), inferred)
    yield from _course(made)


def _course(made: Scene) -> Iterator[Fact]:
    """How the session went, how it stands, and where it came from."""
    session, clock, entry = made.session, made.clock, made.entry
    recorded, inferred = "recorded", "inferred"
    if session.status:
        yield Fact(
            "Status, Cline's own word", line(session.status), recorded, "a hint: killed runs keep theirs"
        )
    yield Fact(
        "State", entry.state.replace("_", " "), inferred, "from the end that is recorded, and the last change"
    )
    for name, at in (
        ("Started", session.started_at),
        ("Ended", session.ended_at),
        ("Manifest updated", session.updated_at),
    ):
        if at is not None:
            yield Fact(name, clock.full(at), recorded)
    if session.ended_at is None:
        yield Fact("Ended", "no end recorded", recorded)
    if session.interactive is not None:
        yield Fact("Interactive", "yes" if session.interactive else "no", recorded)
    if session.exit_code is not None:
        yield Fact("Exit code", str(session.exit_code), recorded)
    if session.terminal_marker:
        yield Fact("Terminal marker", line(session.terminal_marker), recorded)
    if session.imported is not None:
        yield Fact("Imported from", line(session.imported.tool or "another tool"), recorded)
    if session.copied_from is not None:
        how = recorded if session.copied_from.kind == "fork" else inferred
        why = "" if how == recorded else "its first messages have the same ids"
        yield Fact(
            "Begins as a copy of", f"{session.copied_from.session_id} ({session.copied_from.kind})", how, why
        )


def _examples(archive: Archive, made: Scene) -> list[tuple[str, int, str]]:
    """Each kind of content that is not known, how often it stands there, and one of it."""
    found = []
    for kind, count in sorted(made.session.fidelity.unknown.items()):
        step = next((one for one in made.record.steps if getattr(one.payload, "tool_name", "") == kind), None)
        text = ""
        if step is not None:
            (whole,) = outline.whole(archive.connection, made.outline, [step])
            text = json.dumps(getattr(whole.payload, "raw", None), ensure_ascii=False, indent=2, default=str)
        found.append((line(kind), count, _visible(text[:4000])))
    return found


def _copies(archive: Archive, session_id: str) -> list[tuple[str, str]]:
    return [
        (f"/s/{quote(listed.session.id)}", line(listed.session.title) or listed.short_id)
        for listed in archive.copies(session_id)
    ]


def _files(archive: Archive, made: Scene, desk: Desk) -> list[tuple[str, str, str, str]]:
    """Where each file is, its size, how many messages of it are stored, when it last changed."""
    rows = archive.connection.execute(
        "SELECT file.name, session.root, size, mtime_ns,"
        " (SELECT count(DISTINCT msg) FROM step WHERE step.file = file.n AND NOT step.superseded)"
        " FROM file JOIN session ON session.n = file.session WHERE session.n = ? ORDER BY file.n",
        (made.outline.n,),
    )
    found = []
    for name, root, bytes_, mtime_ns, messages in rows:
        place = line(tilde(f"{root}/{made.session.id}/{name}", desk.home))
        found.append(
            (place, size(bytes_), f"{messages:,}" if messages else "", made.clock.full(mtime_ns // 1_000_000))
        )
    return found


def _raw(archive: Archive, made: Scene, step_id: str) -> str | None:
    """One step as JSON; null where there is none of that id."""
    step = made.by_id.get(step_id)
    if step is None:
        return None
    (whole,) = outline.whole(archive.connection, made.outline, [step])
    return _visible(json.dumps(step_json(whole), ensure_ascii=False, indent=2, default=str))
