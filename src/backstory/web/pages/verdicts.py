"""Verdicts and notes as they are sent, and the form for those of a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..desk import Desk
from ..figures import line
from .frame import missing, resolved
from .sessions import UNTITLED, VERDICTS


def verdict_values(form: Mapping[str, Any], before: Any) -> tuple[str | None, str]:
    """Verdict and note after a form was sent: a verdict that is pressed again is taken back."""
    verdict = before.verdict if before is not None else None
    note = before.note if before is not None else ""
    given = form.get("verdict")
    if given is not None:
        verdict = None if given in (verdict, "") else str(given)
    if "note" in form:
        note = str(form["note"])
    return verdict, note


def judge(desk: Desk, request: Request, form: Mapping[str, str]) -> Response:
    """A verdict or a note was sent. Raises `UnknownSession` and `InputError`."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        turn = form.get("turn") or None
        before = archive.judgements(session_id).get(turn)
        verdict, note = verdict_values(form, before)
        archive.judge(session_id, verdict=verdict, note=note, turn=turn)  # type: ignore[arg-type]
        place = ""
        if turn is not None:
            record = desk.outline(archive, session_id).record
            index = next((one.index for one in record.turns if one.id == turn), None)
            place = f"#turn-{index}" if index is not None else ""
        tab = form.get("tab", "")
        part = f"/{tab}" if tab in ("changes", "cost", "facts") else ""
        return RedirectResponse(f"/s/{quote(session_id)}{part}{place}", 303)


def turn_form(desk: Desk, request: Request) -> Response:
    """The form for a verdict on one prompt: alone for the script, in a page without it."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        record = desk.outline(archive, session_id).record
        turn = next((one for one in record.turns if one.index == request.path_params["n"]), None)
        if turn is None:
            return missing(desk, request, archive, "There is no such prompt in this session.")
        values: dict[str, Any] = {
            "id": session_id,
            "turn": turn,
            "judgement": archive.judgements(session_id).get(turn.id),
            "verdict_words": VERDICTS,
        }
        if "part" in request.query_params:
            return HTMLResponse(desk.draw("_turn_form.html", **values, token=desk.token))
        back = f"/s/{quote(session_id)}#turn-{turn.index}"
        title = line(record.session.title) or UNTITLED
        return desk.page(
            request,
            archive,
            "turn.html",
            title="Verdict",
            section="sessions",
            back=back,
            head_title=title,
            **values,
        )
