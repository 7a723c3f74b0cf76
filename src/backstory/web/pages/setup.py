"""`/setup`: the agents that can ask the memory, connected and disconnected with the change shown first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ...cli.clients import connected
from ...cli.connecting import here
from ...cli.doctor import verdict
from ...cli.words import counted
from ...clients.registration import Here, installed, look
from ...clients.table import Client, clients
from ...errors import BackstoryError, ClientError
from ...sources import load
from ...sources.base import Root
from ...store import database
from .. import figures, wiring
from .. import looking as looks
from ..desk import Desk
from ..figures import line
from ..wiring import Shown

WAIT = 1.2
"""Seconds that a page waits for a look to end before it says that one goes on."""
ROLES = {"ok": "live", "note": "", "look": "deny", "broken": "failing"}
BUSY = "Another change is being made at this moment. Nothing was changed; try again."
OTHER_ARCHIVE = (
    "This app shows an archive that an agent's server would not find: it finds its archive by BACKSTORY_HOME."
    " Start backstory with that set in place of --db to connect an agent."
)


class Row(NamedTuple):
    """A client in one place, as it is drawn. `links` are words and addresses of what can be shown for it."""

    title: str
    where: str
    installed: str
    connected: str
    role: str
    store: str
    sessions: str
    links: list[tuple[str, str]]
    key: str


def looking(desk: Desk, request: Request) -> Response:
    """Says that a look goes on; nothing when it is over."""
    if desk.jobs.looking.running:
        return HTMLResponse("<p>Looking at what is there.</p>")
    return Response(status_code=204)


def look_again(desk: Desk, request: Request, form: Mapping[str, str]) -> Response:
    """Look anew."""
    looks.start(desk, anew=True)
    desk.jobs.looking.wait(WAIT)
    return RedirectResponse("/setup#findings", 303)


def change(desk: Desk, request: Request, form: Mapping[str, str]) -> Response:
    """Make the change that was shown, and no other; what became another meanwhile is shown again."""
    key = form.get("show", "")
    if other_archive(desk):
        return _back(desk, "", OTHER_ARCHIVE, role="fail")
    if not desk.jobs.changing.acquire(blocking=False):
        return _back(desk, key, BUSY, role="fail")
    try:
        words, role = wiring.carry_out(here(desk.env), wiring.target(key), form.get("digest", ""))
    except BackstoryError as error:
        return _back(desk, key, str(error), role="fail")
    except OSError as error:
        text = f"{error.filename or 'A file'} could not be written: {error.strerror}. Nothing was changed."
        return _back(desk, key, text, role="fail")
    finally:
        desk.jobs.changing.release()
    looks.start(desk, anew=True)
    return _back(desk, "", *words, role=role)


def _back(desk: Desk, key: str, *words: str, role: str) -> Response:
    """The page again, with these words, and the change that is possible now."""
    said = desk.jobs.notices.add(*map(figures.sentence, words), role=role)
    shown = {"show": key} if key else {}
    return RedirectResponse(f"/setup?{urlencode({**shown, 'said': said})}", 303)


def other_archive(desk: Desk) -> bool:
    """Whether this app shows an archive that is not the one in Backstory's folder."""
    return desk.path is not None and desk.path.absolute() != database.default_path(desk.env).absolute()


def _shown(where: Here, key: str) -> tuple[Shown | None, str]:
    """The change that a key names, as it would be made now; else why there is none."""
    try:
        return (wiring.shown(where, wiring.target(key)) if key else None), ""
    except BackstoryError as error:
        return None, figures.sentence(str(error))


def show(desk: Desk, request: Request) -> Response:
    """The page; `show` names the change that is asked for, such as `connect:cline`."""
    looks.start(desk, anew=False)
    desk.jobs.looking.wait(WAIT)
    where = here(desk.env)
    key = request.query_params.get("show", "")
    shown, problem = _shown(where, key)
    notice = desk.jobs.notices.get(request.query_params.get("said", ""))
    if notice is not None and problem in notice.words:
        problem = ""  # it was said of what was sent already
    job = desk.jobs.looking
    seen = job.result
    rows = [_row(desk, where, client) for client in clients().values()]
    if seen is not None:
        rows += [_distribution(each) for each in seen.distributions]
        rows += [_lost(one.client, one.distribution) for one in seen.lost]
    groups: dict[str, list[Any]] = {}
    for finding in seen.findings if seen is not None else []:
        groups.setdefault(finding.group, []).append(finding)
    with desk.archive() as archive:
        return desk.page(
            request,
            archive,
            "setup.html",
            title="Setup",
            section="setup",
            rows=rows,
            shown=shown,
            key=key,
            problem=problem or (OTHER_ARCHIVE if other_archive(desk) else ""),
            may_change=not other_archive(desk),
            notice=notice,
            said="",
            back="",
            groups=groups,
            verdict=verdict(seen.findings) if seen is not None else "",
            looked=desk.clock().when(seen.at) if seen is not None else "",
            job=job,
            roles=ROLES,
        )


def _row(desk: Desk, where: Here, client: Client) -> Row:
    """A client on this machine."""
    places = ", ".join(where.short(place) for place, _ in installed(client, where))
    store = client.store(where.env, where.platform)
    try:
        found = look(client, where)
        state = connected(client, found)
        wanted = wiring.is_wanted(client, where)
        ours = found.owner in ("ours", "dead") or found.rule_state in ("current", "older")
    except ClientError as error:
        state, wanted, ours = f"no: {error}", True, False
    links = [("Show the change", f"connect:{client.name}")] if wanted and places else []
    if ours:
        links.append(("Show what goes", f"disconnect:{client.name}"))
    return Row(
        title=client.title,
        where="This machine",
        installed=line(places) or "no",
        connected=line(state),
        role=_role(state),
        store=line(where.short(store.path)),
        sessions=_sessions(client, Root(wiring.path_of(store.path), store.rule)),
        links=links,
        key=client.name,
    )


def _role(state: str) -> str:
    return "live" if state == "yes" else "deny" if ":" in state else ""


def _sessions(client: Client, root: Root) -> str:
    """How many sessions the client's folder has; where it has none yet, that."""
    if not root.path.is_dir():
        return "no folder yet"
    listing = load(client.name).look(root)
    return counted(len(listing.sessions), "session") if listing.readable else "cannot be read"


def _distribution(each: Mapping[str, Any]) -> Row:
    """A client in a distribution of WSL."""
    client = clients()[each["client"]]
    registered = bool(each["registered"])
    key = f"{client.name}@{each['distribution']}"
    state = f"unknown: {each['problem']}" if each["problem"] else "yes" if registered else "no"
    there = each["client_home"] or ("no" if each["looked_at"] else "not running, not looked into")
    links = [("Show the change", f"connect:{key}")] if each["client_home"] or not each["looked_at"] else []
    if registered:
        links.append(("Show what goes", f"disconnect:{key}"))
    return Row(
        title=client.title,
        where=f"WSL {line(each['distribution'])}",
        installed=line(there),
        connected=line(state),
        role=_role(state),
        store=line(", ".join(each["sessions"])) or f"~/{client.inside.folder}/{client.inside.store}",
        sessions=", ".join(
            _sessions(client, Root(wiring.path_of(folder), "WSL")) for folder in each["sessions"]
        ),
        links=links,
        key=key,
    )


def _lost(name: str, distribution: str) -> Row:
    """A registration whose distribution is gone."""
    key = f"{name}@{distribution}"
    title = clients()[name].title
    links = [("Show what goes", f"disconnect:{key}")]
    return Row(
        title, f"WSL {line(distribution)}", "not there any more", "registered", "deny", "", "", links, key
    )
