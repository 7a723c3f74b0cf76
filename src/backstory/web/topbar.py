"""The state of capture on the pages that show nothing else live."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from . import live
from .desk import Desk


def of_bar(desk: Desk, request: Request) -> StreamingResponse:
    """The stream of a page whose top bar alone changes."""
    last = ""

    def snapshot(place: str) -> tuple[str, dict[str, Any]] | None:
        nonlocal last
        with desk.archive() as archive:
            text = desk.draw("_capture.html", **desk.frame(archive))
        if text == last:
            return None
        last = text
        return str(desk.now()), {"capture": text}

    return live.stream(desk, request, snapshot, "0")
