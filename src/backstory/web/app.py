"""The app: its addresses, and the guard before them."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..errors import ArchiveError, InputError, UnknownSession
from ..store import database
from . import guard, live, topbar
from .desk import Desk
from .html import STATIC
from .pages import (
    changes,
    cost,
    export,
    facts,
    frame,
    memory,
    memory_writes,
    search,
    session,
    sessions,
    setup,
    steps,
    usage,
    verdicts,
)
from .sheet import script, sheet
from .status import Status

Page = Callable[[Desk, Request], Response]
Write = Callable[[Desk, Request, Mapping[str, str]], Response]
FORM_BYTES = 1_000_000
"""An exchange of the memory that is edited: two texts of 20,000 characters, each up to 12 bytes in a form."""
BUSY = "Another program writes to the archive at this moment. Nothing was changed; go back and try again.\n"
SHEET = "app.css"
SCRIPT = "app.js"
ICON = "icon.svg"


def create_app(
    path: Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    status: Status | None = None,
    tz: tzinfo | None = None,
    sessions_dirs: tuple[Path, ...] = (),
) -> Starlette:
    """The app over an archive. `status` is written by whoever captures in the same process."""
    env = os.environ if env is None else env
    desk = Desk(
        path,
        env,
        now=now,
        status=status or Status(),
        token=guard.new_token(),
        tz=tz,
        sessions_dirs=sessions_dirs,
    )

    app = Starlette(
        routes=_routes(desk),
        middleware=[Middleware(guard.Guard, home=database.home(env), person=desk.home)],
    )
    app.state.desk = desk
    return app


def _routes(desk: Desk) -> list[Route]:
    """Every address; what is none of them is said to be missing."""

    def get(address: str, page: Page) -> Route:
        return Route(address, _answering(desk, page), methods=["GET"])

    def post(address: str, write: Write) -> Route:
        return Route(address, _writing(desk, write), methods=["POST"])

    return [
        get("/", sessions.show),
        post("/look", sessions.look),
        post("/samples", sessions.load_samples),
        get("/search", search.show),
        get("/help", _help),
        get("/keys", _keys),
        get("/usage", usage.show),
        get("/usage.csv", usage.csv),
        get("/memory", memory.show),
        get("/memory/learning", memory.learning),
        get("/memory/{item}", memory.item),
        post("/memory/learn", memory_writes.learn),
        post("/memory/add", memory_writes.add),
        post("/memory/edit", memory_writes.edit),
        post("/memory/forget", memory_writes.forget),
        post("/memory/undo", memory_writes.undo),
        post("/memory/workspace", memory_writes.workspace),
        get("/setup", setup.show),
        get("/setup/looking", setup.looking),
        post("/setup/look", setup.look_again),
        post("/setup/change", setup.change),
        get("/s/{id}", session.show),
        get("/s/{id}/export", export.export),
        get("/s/{id}/turn/{n:int}", verdicts.turn_form),
        get("/s/{id}/changes", changes.show),
        get("/s/{id}/cost", cost.show),
        get("/s/{id}/facts", facts.show),
        Route("/s/{id}/live", _streaming(desk, live.of_session), methods=["GET"]),
        Route("/live", _streaming(desk, live.of_list), methods=["GET"]),
        Route("/live/bar", _streaming(desk, topbar.of_bar), methods=["GET"]),
        post("/s/{id}/verdict", verdicts.judge),
        get("/b/{n:int}", steps.body),
        get("/c/{n:int}", steps.copy),
        get("/static/{name}", _static),
        get("/{rest:path}", _later),
    ]


def _answering(desk: Desk, page: Page) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that runs a page in a thread of its own, and says in words what is not there."""

    def answer(request: Request) -> Response:
        try:
            return page(desk, request)
        except UnknownSession as error:
            with desk.archive() as archive:
                return frame.missing(desk, request, archive, str(error))
        except InputError as error:
            return PlainTextResponse(f"{error}\n", 400)
        except ArchiveError as error:
            return PlainTextResponse(f"{error}\n", 503)
        except sqlite3.OperationalError as error:
            if not guard.is_busy(error):
                raise
            return PlainTextResponse(BUSY, 503, {"retry-after": "5"})

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer, request)

    return endpoint


def _writing(desk: Desk, write: Write) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a form of ours: it carries the token of this run."""

    async def endpoint(request: Request) -> Response:
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > FORM_BYTES:
                return PlainTextResponse("That is more than a form of Backstory sends.\n", 413)
        text = data.decode("utf-8", "replace")
        form = {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}
        if not guard.same(desk.token, form.get("token") or request.headers.get(guard.TOKEN_HEADER)):
            return await run_in_threadpool(_stale, desk, request)
        return await _answering(desk, lambda desk, request: write(desk, request, form))(request)

    return endpoint


def _stale(desk: Desk, request: Request) -> Response:
    """For a form without the token of this run: nothing of it was done."""
    with desk.archive() as archive:
        return desk.page(
            request,
            archive,
            "stale.html",
            title="An earlier page",
            status=403,
            up=request.url.path.rpartition("/")[0] or "/",
        )


def _streaming(
    desk: Desk, stream: Callable[[Desk, Request], Response]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return stream(desk, request)

    return endpoint


def _help(desk: Desk, request: Request) -> Response:
    with desk.archive() as archive:
        return desk.page(request, archive, "help.html", title="Keys and words", section="")


def _keys(desk: Desk, request: Request) -> Response:
    return HTMLResponse(desk.draw("keys_sheet.html"))


def _later(desk: Desk, request: Request) -> Response:
    with desk.archive() as archive:
        return frame.missing(desk, request, archive, "There is no such page.")


def _static(desk: Desk, request: Request) -> Response:
    name = request.path_params["name"]
    headers = {"cache-control": "public, max-age=31536000, immutable"} if "v" in request.query_params else {}
    if name == SHEET:
        return Response(sheet(), media_type="text/css", headers=headers)
    if name == SCRIPT:
        return Response(script(), media_type="text/javascript", headers=headers)
    if name == ICON:
        return FileResponse(STATIC / ICON, media_type="image/svg+xml", headers=headers)
    return PlainTextResponse("There is no such file.\n", 404)
