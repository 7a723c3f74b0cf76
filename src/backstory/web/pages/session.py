"""`/s/ID`: a session step by step, and the bodies of steps on demand."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...schema.step import Step
from ...store import marks, outline
from ...store.database import unless_busy
from .. import timeline, turns
from ..desk import Desk
from ..scene import Scene
from ..timeline import Show
from .frame import frame, is_long, origin_title, resolved, scene_of
from .outlined import outlined
from .steps import digest, draw_body

LIGHT = 98_000
"""Bytes of a page; with more than that its window is made smaller."""


LEAST = 10


ROOMS = (timeline.BODIES, 16_000, 3_000)
"""Bytes of bodies that are tried before the window is made smaller."""


CHOICES: tuple[tuple[Show, str], ...] = (
    ("everything", "Everything"),
    ("problems", "Problems"),
    ("changes", "Changes"),
    ("talk", "Talk"),
)


def show(desk: Desk, request: Request) -> Response:
    """The timeline."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        asked = request.query_params.get("show", "everything")
        choice: Show = asked if asked in dict(CHOICES) else "everything"
        chosen = timeline.chosen(made, choice)
        values = {**frame(desk, archive, made, "timeline"), **_choices(made, request, choice)}
        if (found := hits(archive, made, request)) is not None:
            values |= {"hits": found, "mark": found["mark"]}
        size, first = timeline.WINDOW, request.query_params.get("from")
        room = list(ROOMS)
        while True:
            view = timeline.window(chosen, first or _anchor(made, request), size, exactly=first is not None)
            text = desk.page(
                request,
                archive,
                "session.html",
                title=values["head"].title,
                section="sessions",
                **{**values, **_window_values(desk, archive, made, request, view, room[0])},
            )
            if len(text.body) <= LIGHT or size <= LEAST:
                break
            # Rows before bodies: what is folded is one key away, what is not there is a page away.
            if len(room) > 1:
                room.pop(0)
            else:
                size = max(min(size * LIGHT // len(text.body), size - 20) - 5, LEAST)
        if request.headers.get("sec-fetch-site") != "cross-site":
            with unless_busy(archive.connection):
                marks.mark_seen(archive.connection, session_id, made.clock.now)
        return text


def _anchor(made: Scene, request: Request) -> str | None:
    """The step around which the page is: its id, or its number among the root's steps."""
    at = request.query_params.get("at")
    if at and at.isdigit() and at not in made.by_id:
        wanted = int(at[:9])
        return next((step for step, number in made.ordinals.items() if number == wanted), None)
    return at


def _choices(made: Scene, request: Request, choice: Show) -> dict[str, Any]:
    kept = {
        key: value
        for key, value in request.query_params.items()
        if key not in ("show", "at", "from", "theme")
    }
    links = []
    for key, words in CHOICES:
        query = {**kept, **({"show": key} if key != "everything" else {})}
        links.append((key, f"?{urlencode(query)}" if query else f"/s/{quote(made.session.id)}", words))
    return {"choices": links, "choice": choice}


def _window_values(
    desk: Desk, archive: Archive, made: Scene, request: Request, view: timeline.Window, room: int
) -> dict[str, Any]:
    steps = outline.whole(archive.connection, made.outline, view.shown)
    found = timeline.chapters(made, steps, draw_body(desk), room=room)
    later = len(view.steps) - view.high
    return {
        "chapters": found,
        "digest": digest if made.entry.state in ("running", "idle") else None,
        "long": is_long(made),
        "marks": turns.marks_of(made, steps, origin_title(archive, made)),
        "earlier": _from(request, view.steps[max(view.low - 120, 0)]) if view.low else "",
        "earlier_count": view.low,
        "later": _from(request, view.steps[view.high]) if later else "",
        "later_count": later,
        "outline": outlined(made, view.shown),
        "nothing": _nothing(made, view),
        "ended_at_end": not later,
    }


def _nothing(made: Scene, view: timeline.Window) -> str:
    if view.steps:
        return ""
    return (
        "Nothing went wrong in this session."
        if made.record.steps
        else "Nothing of this session could be read."
    )


def _from(request: Request, step: Step) -> str:
    """The page that begins with a step."""
    kept = {key: value for key, value in request.query_params.items() if key not in ("at", "from", "theme")}
    return f"?{urlencode({**kept, 'from': step.id})}#{quote(step.id)}"


def hits(archive: Archive, made: Scene, request: Request) -> dict[str, Any] | None:
    """The hits of a query in this session, for the find bar; null without a query."""
    from .search import in_session

    query = request.query_params.get("q", "").strip()
    return in_session(archive, made, request, query) if query else None
