"""`/memory`: what was learned, to search, read, edit and forget; facts; workspaces and their folders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...archive import Archive
from ...cli.recall import DEFAULT_LIMIT, grouped
from ...cli.words import counted
from ...errors import InputError
from ...memory.browse import Conversation, Project
from ...memory.workspaces import DEFAULT
from ...redact import mask
from ...schema.words import tilde
from .. import figures, passages
from ..desk import Desk
from ..figures import Clock, line
from ..passages import View
from .sessions import RANGES, UNTITLED, filter_of

KEPT = ("workspace", "project", "noproject", "q", "since", "limit", "conversation", "from")
"""What of the address a change leads back to."""
EACH = 5
"""Conversations that are shown of each project."""
PROJECTS = 20
PAGE = 50
MORE = 20
FACTS = 200
FACT = 600
"""Characters of a fact that stand beside the conversations; its own page has the rest."""


class Told(NamedTuple):
    """A conversation that was learned, as a row."""

    id: str
    title: str
    href: str
    exchanges: int
    mended: int
    cost: Markup
    when: str
    full: str
    gone: bool


class Shelf(NamedTuple):
    """A project with some of its conversations; `href` shows all of them, `more` says how many are left out."""

    name: str
    href: str
    counts: str
    rows: list[Told]
    more: int


class Folder(NamedTuple):
    """A claim: the folder as it is shown, and a key that says which one is meant without its name."""

    shown: str
    key: str


class Space(NamedTuple):
    """A workspace with its folders."""

    name: str
    href: str
    holds: str
    folders: list[Folder]


def show(desk: Desk, request: Request) -> Response:
    """The page of one workspace: the results of a query, a conversation, a project, or all projects."""
    with desk.archive() as archive:
        clock = desk.clock()
        asked = request.query_params
        workspace, problem = _workspace(archive, asked.get("workspace", ""))
        conversations, facts = archive.memory.counts(workspace)
        values: dict[str, Any] = {
            "workspace": workspace,
            "held": f"{counted(conversations, 'conversation')}, {counted(facts, 'fact')}",
            "nothing": not conversations,
            "selects": _selects(archive, request, workspace),
            "kept": [(key, asked[key]) for key in ("workspace", "project", "since") if asked.get(key)],
            "back": back(request),
            "asked": asked.get("q", "").strip()[:400],
            "notice": desk.jobs.notices.get(asked.get("said", "")),
            "said": asked.get("said", ""),
            "problem": problem,
            "job": desk.jobs.learning,
            "report": desk.jobs.learning.result,
            "clock": clock,
            "facts": _facts(desk, archive, clock, workspace),
            "fact_count": facts,
            "spaces": _spaces(desk, archive, request),
            "results": None,
            "one": None,
            "shelves": [],
            "names": [],
            "pages": [],
        }
        if values["asked"]:
            values["results"] = _results(desk, archive, request, clock, workspace, values["asked"])
        elif asked.get("conversation"):
            values["one"] = _conversation(desk, archive, request, clock, workspace, asked["conversation"])
        else:
            values |= _browse(archive, request, clock, workspace)
        status = 404 if problem else 200
        return desk.page(
            request, archive, "memory.html", title="Memory", section="memory", status=status, **values
        )


def item(desk: Desk, request: Request) -> Response:
    """One exchange or fact, whole, to read and to edit. Raises `InputError` for one that is not there."""
    with desk.archive() as archive:
        one = archive.memory.item(request.path_params["item"])
        return desk.page(
            request,
            archive,
            "memory_item.html",
            title=f"{'Fact' if one.kind == 'fact' else 'Exchange'} {one.id}",
            section="memory",
            one=passages.whole(desk, archive, desk.clock(), one, None),
            kind=one.kind,
            passage=one,
            back=back(request),
        )


def learning(desk: Desk, request: Request) -> Response:
    """How far learning is, as a part of the page; nothing when it is over."""
    job = desk.jobs.learning
    return HTMLResponse(desk.draw("_learning.html", job=job)) if job.running else Response(status_code=204)


def back(request: Request) -> str:
    """The state of this page, for a form that leads back to it."""
    return urlencode({key: request.query_params[key] for key in KEPT if request.query_params.get(key)})


def href(request: Request, *drop: str, **changed: str) -> str:
    """This page with another state."""
    kept = {key: request.query_params[key] for key in KEPT if request.query_params.get(key)}
    kept = {key: value for key, value in {**kept, **changed}.items() if value and key not in drop}
    return f"/memory?{urlencode(kept)}" if kept else "/memory"


def claim_key(path: str) -> str:
    """A word that stands for a claimed folder in a form."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def shown_folder(desk: Desk, path: str) -> str:
    """A folder as it is shown: short, masked, and with nothing in it that acts."""
    return line(tilde(mask(path), desk.home))


def _workspace(archive: Archive, name: str) -> tuple[str, str]:
    """The workspace that is meant; the default one, and why, for a name that is none."""
    try:
        archive.memory.counts(name or DEFAULT)
    except InputError as error:
        return DEFAULT, figures.sentence(str(error))
    return name or DEFAULT, ""


def _selects(
    archive: Archive, request: Request, workspace: str
) -> list[tuple[str, str, list[tuple[str, str]], str]]:
    names = [one.name for one in archive.memory.workspaces()]
    projects = [one.name for one in archive.memory.projects(workspace) if one.name]
    options = [
        (
            "workspace",
            "Workspace",
            [("" if name == DEFAULT else name, f"Workspace {line(name)}") for name in names],
        ),
        ("project", "Project", [("", "All projects"), *((name, line(name)) for name in projects)]),
        ("since", "Time", list(RANGES)),
    ]
    found = []
    for key, label, choices in options:
        value = request.query_params.get(key, "")
        if (key == "workspace" and len(names) < 2) or (key == "since" and not request.query_params.get("q")):
            continue
        if value and all(choice != value for choice, _ in choices):
            choices = [*choices, (value, line(value))]
        found.append((key, label, choices, value))
    return found


def _results(
    desk: Desk, archive: Archive, request: Request, clock: Clock, workspace: str, query: str
) -> dict[str, Any]:
    """What `backstory recall` finds, in its order."""
    asked = request.query_params
    limit = MORE if asked.get("limit") == str(MORE) else DEFAULT_LIMIT
    project = asked.get("project") or None
    since = filter_of(request, clock).since
    found = archive.memory.recall(query, workspace, project=project, since=since, limit=limit)
    groups = grouped(found.results)
    views = [passages.result(desk, archive, clock, group, found.words) for group in groups]
    conversations = sum(group.first.session_id is not None for group in groups)
    counts = f"{conversations:,} of {counted(found.conversations, 'conversation')}"
    if len(groups) > conversations:
        counts += f", {len(groups) - conversations:,} of {counted(found.facts, 'fact')}"
    looked = counted(found.conversations, "conversation")
    looked += f" and {counted(found.facts, 'fact')}" if found.facts else ""
    return {
        "views": views,
        "counts": f"{counts}, best first",
        "looked": looked,
        "repaired": [(line(wrong), line(taken)) for wrong, taken in found.repaired.items()],
        "more": href(request, limit=str(MORE)) if len(found.results) == limit < MORE else "",
    }


def _conversation(
    desk: Desk, archive: Archive, request: Request, clock: Clock, workspace: str, session_id: str
) -> dict[str, Any]:
    found = archive.memory.conversation(session_id, workspace)
    views = [passages.whole(desk, archive, clock, one) for one in found]
    what = archive.memory.forgettable(workspace, session_id=session_id) if found else None
    first = found[0] if found else None
    return {
        "session_id": session_id,
        "title": line(first.title) or UNTITLED if first else "",
        "project": line(first.project) if first else "",
        "cost": figures.price(first.session_cost) if first and first.session_cost else figures.EMPTY,
        "views": views,
        "up": href(request, "conversation"),
        "removal": passages.removal(archive, what) if what else [],
    }


def _browse(archive: Archive, request: Request, clock: Clock, workspace: str) -> dict[str, Any]:
    """One project with all its conversations, page by page; else the projects with the newest of each."""
    asked, memory = request.query_params, archive.memory
    projects = memory.projects(workspace)
    name = asked.get("project") or None
    if name is None and not asked.get("noproject"):
        shelves = [
            _shelf(request, clock, one, memory.conversations(workspace, project=one.name, limit=EACH))
            for one in projects[:PROJECTS]
        ]
        left = [(_named(one), _project_href(request, one)) for one in projects[PROJECTS:]]
        return {"shelves": shelves, "names": left}
    own = next((one for one in projects if (one.name or "").casefold() == (name or "").casefold()), None)
    if own is None:
        return {}
    start = int(asked["from"]) if asked.get("from", "").isdecimal() and len(asked["from"]) < 9 else 0
    found = memory.conversations(workspace, project=own.name, limit=PAGE, offset=start)
    shelf = _shelf(request, clock, own, found)._replace(more=0)
    pages = [(href(request, "from", **{"from": str(start - PAGE)}), "Newer")] if start >= PAGE else []
    if start == PAGE:
        pages = [(href(request, "from"), "Newer")]
    if start + PAGE < own.conversations:
        pages.append((href(request, **{"from": str(start + PAGE)}), "Older conversations"))
    return {"shelves": [shelf], "pages": pages}


def _named(one: Project) -> str:
    return line(one.name) if one.name else "Without a project"


def _project_href(request: Request, one: Project) -> str:
    which = {"project": one.name} if one.name else {"noproject": "1"}
    return href(request, "from", **which)


def _shelf(request: Request, clock: Clock, one: Project, found: Sequence[Conversation]) -> Shelf:
    counts = f"{counted(one.conversations, 'conversation')}, {counted(one.exchanges, 'exchange')}"
    rows = [
        Told(
            id=each.session_id,
            title=line(each.title) or UNTITLED,
            href=href(request, conversation=each.session_id),
            exchanges=each.exchanges,
            mended=each.mended,
            cost=figures.price(each.cost),
            when=clock.when(each.last_at),
            full=clock.full(each.last_at),
            gone=each.gone,
        )
        for each in found
    ]
    return Shelf(_named(one), _project_href(request, one), counts, rows, one.conversations - len(rows))


def _facts(desk: Desk, archive: Archive, clock: Clock, workspace: str) -> list[View]:
    found = archive.memory.items(workspace, facts_only=True, limit=FACTS)
    return [passages.whole(desk, archive, clock, one, FACT) for one in found]


def _spaces(desk: Desk, archive: Archive, request: Request) -> list[Space]:
    return [
        Space(
            name=line(one.name),
            href=f"/memory?{urlencode({'workspace': one.name})}" if one.name != DEFAULT else "/memory",
            holds=(
                f"{counted(one.conversations, 'conversation')}, {counted(one.exchanges, 'exchange')},"
                f" {counted(one.facts, 'fact')}"
            ),
            folders=[Folder(shown_folder(desk, path), claim_key(path)) for path in one.claims],
        )
        for one in archive.memory.workspaces()
    ]
