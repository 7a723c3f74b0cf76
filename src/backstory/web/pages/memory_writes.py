"""What the Memory page changes: learning, facts and exchanges, forgetting and its undoing, workspaces."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...archive import Archive
from ...cli.words import counted
from ...cli.workspace import claimed_words, released_words
from ...errors import ArchiveError, InputError
from ...memory.workspaces import DEFAULT
from .. import figures
from .. import learning as runs
from ..desk import Desk
from . import memory

Form = Mapping[str, str]
WAIT = 1.5
"""Seconds that a form waits for the end of learning before the page shows how far it is."""
BUSY = "Learning goes on already."
LATE = "It is too late to undo that: it is forgotten for good."


def learn(desk: Desk, request: Request, form: Form) -> Response:
    """Begin to learn; a short run is over when the page is drawn again."""
    workspace = form.get("workspace") or DEFAULT
    try:
        begun = runs.start(desk, workspace)
    except InputError as error:
        return leave(desk, form, str(error), role="fail")
    desk.jobs.learning.wait(WAIT)
    return leave(desk, form, *(() if begun else (BUSY,)), place="#learned")


def add(desk: Desk, request: Request, form: Form) -> Response:
    """Add a fact."""

    def act(archive: Archive) -> str:
        project = form.get("project", "").strip() or None
        one = archive.memory.remember(form.get("text", ""), form.get("workspace") or DEFAULT, project=project)
        return f"Kept as {one.id}."

    return _changed(desk, form, act)


def edit(desk: Desk, request: Request, form: Form) -> Response:
    """Give an exchange or a fact other texts. A text that the form left as it was stays untouched."""
    item_id = form.get("item", "")

    def act(archive: Archive) -> str:
        before = archive.memory.item(item_id)
        if before.kind == "fact":
            archive.memory.edit(item_id, text=_text(form, "text"))
            return f"Changed: {item_id}."
        new = {name: _text(form, name) for name in ("asked", "answered")}
        old = {"asked": before.asked or "", "answered": before.answered}
        changed = {name: text for name, text in new.items() if text is not None and text != _same(old[name])}
        if not changed:
            return "Nothing was changed."
        archive.memory.edit(item_id, **changed)
        return f"Changed: {item_id}. Learning again keeps your text."

    return _changed(desk, form, act)


def _text(form: Form, name: str) -> str | None:
    """A text of a form, with the line ends that it had: browsers send CRLF."""
    text = form.get(name)
    return _same(text) if text is not None else None


def _same(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def forget(desk: Desk, request: Request, form: Form) -> Response:
    """Forget an item or a session, for good but for the moments in which the page offers to undo it."""
    with desk.archive() as archive:
        workspace = form.get("workspace") or DEFAULT
        try:
            what = archive.memory.forgettable(
                workspace,
                item_ids=[form["item"]] if form.get("item") else (),
                session_id=form.get("session") or None,
            )
        except InputError as error:
            return leave(desk, form, str(error), role="fail")
        if not what.items and not what.sessions:
            return leave(desk, form, "The memory holds nothing of that. Nothing was removed.")
        taken = archive.memory.forget(what)
    key = desk.jobs.notices.add(f"Forgotten: {counted(len(what.items), 'item')}.", taken=taken)
    return _to(form, said=key)


def undo(desk: Desk, request: Request, form: Form) -> Response:
    """Put back what was forgotten a moment ago."""
    taken = desk.jobs.notices.take(form.get("undo", ""))
    if taken is None:
        return leave(desk, form, LATE, role="fail")
    try:
        with desk.archive() as archive:
            archive.memory.put_back(taken)
    except (sqlite3.Error, ArchiveError):
        desk.jobs.notices.give_back(form["undo"], taken)
        raise
    return leave(desk, form, "Undone: it is in the memory as it was.")


def workspace(desk: Desk, request: Request, form: Form) -> Response:
    """Create a workspace, claim a folder for one, or release a folder."""

    def act(archive: Archive) -> str:
        what = form.get("what", "")
        name = form.get("name", "").strip()
        if what == "create":
            archive.memory.create_workspace(name)
            return f"Created: {name}. Claim a folder for it."
        if what == "claim":
            path = f"{desk.home}{name[1:]}" if name == "~" or name.startswith(("~/", "~\\")) else name
            claimed = archive.memory.claim(path, form.get("owner") or DEFAULT)
            return claimed_words(memory.shown_folder(desk, path), claimed)
        if what == "release":
            claims = [path for one in archive.memory.workspaces() for path in one.claims]
            meant = next((path for path in claims if memory.claim_key(path) == form.get("claim")), None)
            if meant is None:
                raise InputError("nobody claims that folder.")
            return released_words(memory.shown_folder(desk, meant), archive.memory.release(meant))
        raise InputError("that is nothing that a workspace does.")

    return _changed(desk, form, act, "#workspaces")


def _changed(desk: Desk, form: Form, act: Callable[[Archive], str], place: str = "") -> Response:
    """Make a change, and say on the page what came of it."""
    with desk.archive() as archive:
        try:
            words = act(archive)
        except InputError as error:
            return leave(desk, form, str(error), role="fail")
    return leave(desk, form, words, place=place)


def leave(desk: Desk, form: Form, *words: str, role: str = "", place: str = "") -> Response:
    """Back to the page that the form stood on, which says these words."""
    key = desk.jobs.notices.add(*map(figures.sentence, words), role=role) if words else ""
    return _to(form, said=key, place=place)


def _to(form: Form, *, said: str, place: str = "") -> Response:
    kept = [(key, value) for key, value in parse_qsl(form.get("back", "")) if key in memory.KEPT]
    query = urlencode([*kept, *([("said", said)] if said else [])])
    return RedirectResponse(f"/memory{'?' if query else ''}{query}{place}", 303)
