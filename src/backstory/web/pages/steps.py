"""One step by its number: its body on demand, and what of it goes to the clipboard."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from ...archive import Archive
from ...redact import mask
from ...schema.step import Command, Message, Step
from ...store import outline, search
from .. import bodies, rows
from ..desk import Desk
from ..figures import line
from ..marking import Marker
from ..scene import Scene
from ..timeline import Item
from .frame import missing, scene_of
from .sessions import UNTITLED


def draw_body(desk: Desk, *, whole: bool = False) -> Any:
    """A function that draws bodies."""
    template = desk.templates.get_template("_bodies.html")

    def draw(made: bodies.Body, n: int = 0) -> Markup:
        return Markup(template.render(b=made, n=n, whole=whole))

    return draw


def digest(item: Item) -> str:
    """Changes when the drawing of a step changes, but for what only the clock moves."""
    row = item.row._replace(took="") if item.row.state == "running" else item.row
    text = repr(
        (
            row.state,
            row.text,
            row.tail,
            row.took,
            row.title,
            [digest(one) for one in item.children],
            item.html,
        )
    )
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()


def body(desk: Desk, request: Request) -> Response:
    """One step's body: alone for the script, in a page without it."""
    with desk.archive() as archive:
        found = step_by_number(desk, archive, int(request.path_params["n"]))
        if found is None:
            return missing(desk, request, archive, "There is no such step in the archive.")
        made, step = found
        n = made.outline.numbers[step.id]
        payload = step.payload
        if isinstance(payload, Message) and payload.role == "assistant":
            from ..prose import markdown

            drawn = Markup('<div class="body"><div class="prose" dir="auto">{}</div></div>').format(
                markdown(payload.text)
            )
        else:
            # Who asks for a body wants it whole, unless it is a very long one.
            whole = "whole" in request.query_params or not isinstance(payload, Command)
            whole = whole and (step.type != "edit" or "whole" in request.query_params)
            drawn = draw_body(desk, whole=whole)(bodies.body(made, step, whole=whole), n)
        drawn = marker(request)(drawn)
        if "part" in request.query_params:
            return HTMLResponse(str(drawn).encode("utf-8", "replace"))
        back = f"/s/{quote(made.session.id)}?{urlencode({'at': step.id})}#{quote(step.id)}"
        return desk.page(
            request,
            archive,
            "body.html",
            title="Step",
            section="sessions",
            body=drawn,
            back=back,
            head_title=line(made.session.title) or UNTITLED,
            row=rows.row(made, step),
        )


def marker(request: Request) -> Marker:
    """Marks the words of the query in whose session a step was opened."""
    words = search.terms(request.query_params.get("q", "")[:400])
    return Marker(search.pattern(words) if words else None)


def step_by_number(desk: Desk, archive: Archive, n: int) -> tuple[Scene, Step] | None:
    """A step by its number in the archive, with its payload."""
    row = archive.connection.execute(
        "SELECT session.id, step.id FROM step JOIN file ON file.n = step.file JOIN session ON session.n = file.session"
        " WHERE step.n = ? AND NOT step.superseded",
        (n,),
    ).fetchone()
    if row is None:
        return None
    made = scene_of(desk, archive, row[0])
    step = made.by_id.get(row[1])
    return None if step is None else (made, outline.whole(archive.connection, made.outline, [step])[0])


def copy(desk: Desk, request: Request) -> Response:
    """What goes to the clipboard: a failed command for Cline, or an output. Secrets are masked."""
    with desk.archive() as archive:
        found = step_by_number(desk, archive, int(request.path_params["n"]))
        if found is None:
            return PlainTextResponse("There is no such step in the archive.\n", 404)
        _, step = found
        payload = step.payload
        if request.query_params.get("what") == "output" and isinstance(payload, Command):
            from ..ansi import colourless

            text = colourless(payload.stdout or "")
        else:
            text = bodies.copied_text(step)
        return PlainTextResponse(mask(text).encode("utf-8", "replace"))
