"""Live pages: one stream of server-sent events a page, which catches up from where the page stands."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from ..errors import UnknownSession
from ..store import marks, outline, page
from ..store.database import unless_busy
from . import timeline
from .desk import Desk
from .pages import frame, outlined, sessions, steps

LOOK = 0.4
"""Seconds between two looks at whether anything was written: a read of one number in shared memory."""
AGAIN = 10.0
"""Seconds after which a page is worked out anew without a write: a session that goes quiet stops running."""
PING = 15.0
TAIL = 120
"""Steps at the end of a session that an event carries at most."""

Snapshot = Callable[[str], tuple[str, dict[str, Any]] | None]
"""From the place where a page stands to the new place and what changed; null where nothing did."""


class Pulse:
    """Whether the archive was written since, by any process: SQLite's own number for it."""

    def __init__(self, desk: Desk) -> None:
        with desk.archive() as archive:
            path = archive.path
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)

    def version(self) -> int:
        """A number that moves with every write."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Let the archive's file go."""
        self._connection.close()


def stream(desk: Desk, request: Request, snapshot: Snapshot, start: str) -> StreamingResponse:
    """The events of one page. A browser that comes back says with `Last-Event-ID` where it stands."""
    place = request.headers.get("last-event-id") or request.query_params.get("last") or start

    async def events() -> AsyncIterator[str]:
        nonlocal place
        yield f"retry: 1000\nevent: hello\ndata: {json.dumps(await run_in_threadpool(hello, desk))}\n\n"
        pulse = Pulse(desk)
        try:
            seen, looked, pinged = -1, 0.0, time.monotonic()
            while not desk.stopping:
                version, now = pulse.version(), time.monotonic()
                if version != seen or now - looked > AGAIN:
                    seen, looked = version, now
                    found = await run_in_threadpool(snapshot, place)
                    if found is not None:
                        place, data = found
                        yield f"id: {place}\nevent: change\ndata: {json.dumps(data)}\n\n"
                        pinged = now
                if now - pinged > PING:
                    pinged = now
                    yield ": still here\n\n"
                await asyncio.sleep(LOOK)
        finally:
            pulse.close()

    return StreamingResponse(events(), media_type="text/event-stream")


def hello(desk: Desk) -> dict[str, str]:
    """What a page needs that was open over a restart: the token of this run, and what is captured."""
    with desk.archive() as archive:
        return {"token": desk.token, "capture": desk.draw("_capture.html", **desk.frame(archive))}


def of_session(desk: Desk, request: Request) -> StreamingResponse:
    """The stream of a session's page."""
    session_id = request.path_params["id"]
    last = ""

    def snapshot(place: str) -> tuple[str, dict[str, Any]] | None:
        nonlocal last
        try:
            found = session_change(desk, session_id, place)
        except UnknownSession:
            return None
        text, first = json.dumps(found[1]), not last
        if text == last:
            return None
        last = text
        # A page that is as new as this has all of it.
        return None if first and found[0] == place else found

    return stream(desk, request, snapshot, request.query_params.get("at", ""))


def session_change(desk: Desk, session_id: str, place: str) -> tuple[str, dict[str, Any]]:
    """What a page that stands at a place has to draw anew: the turns from there on, and every figure."""
    generation, turn = (*place.split("."), "", "")[:2]
    with desk.archive() as archive:
        made = frame.scene_of(desk, archive, session_id)
        values = frame.frame(desk, archive, made, "timeline")
        data: dict[str, Any] = {
            "capture": desk.draw("_capture.html", **desk.frame(archive)),
            "facts": desk.draw("_facts_line.html", **values),
            "strip": desk.draw("_strip.html", **values),
            "outline": desk.draw(
                "_outline.html", **values, outline=outlined.outlined(made, made.record.steps[-1:])
            ),
            "steps": f"{made.session.totals.steps:,}",
            "state": made.entry.state,
            "chapters": "",
        }
        if generation != str(made.outline.generation):
            first = int(turn) if turn.isdigit() else 0
            turns = {one.id for one in made.record.turns if one.index >= first}
            shown = [
                step
                for step in made.record.steps
                if not step.superseded and (step.turn_id in turns or (step.turn_id is None and not turns))
            ][-TAIL:]
            whole = outline.whole(archive.connection, made.outline, shown)
            chapters = timeline.chapters(made, whole, steps.draw_body(desk), fold=False)
            data["chapters"] = desk.draw(
                "_chapters.html",
                **{**values, **desk.frame(archive)},
                chapters=chapters,
                digest=steps.digest,
                long=frame.is_long(made),
                marks={},
            )
            data["first"] = shown[0].id if shown else ""
            with unless_busy(archive.connection):
                marks.mark_seen(archive.connection, session_id, made.clock.now)
        return frame.position(made), data


def of_list(desk: Desk, request: Request) -> StreamingResponse:
    """The stream of the list: cards anew, rows in place, how many sessions came."""
    last = ""

    def snapshot(place: str) -> tuple[str, dict[str, Any]] | None:
        nonlocal last
        found = list_change(desk, request)
        text = json.dumps(found)
        if text == last:
            return None
        last = text
        return str(desk.now()), found

    return stream(desk, request, snapshot, "0")


def list_change(desk: Desk, request: Request) -> dict[str, Any]:
    """The list as it is now: its cards, and the rows of the newest sessions by their numbers."""
    with desk.archive() as archive:
        clock = desk.clock()
        wanted = sessions.wanted_of(request, clock)
        found = page.page(archive.connection, clock.now, wanted, sessions.LIMIT)
        running = page.running(archive.connection, clock.now)
        narrowed = "since" in request.query_params or "project" in request.query_params
        shown = [] if narrowed or wanted.before else running[: sessions.CARDS]
        ids = {entry.id for entry in shown}
        around = desk.frame(archive)
        views = [sessions.view(desk, clock, entry) for entry in found.entries if entry.id not in ids]
        cards = [sessions.view(desk, clock, entry) for entry in shown]
        return {
            "capture": desk.draw("_capture.html", **around),
            "counts": desk.draw("_counts.html", **around, in_archive=archive.count()),
            "cards": desk.draw(
                "_cards.html", cards=cards, more_running=max(len(running) - sessions.CARDS, 0)
            ),
            "rows": [[view.entry.n, desk.draw("_row.html", view=view)] for view in views],
        }
