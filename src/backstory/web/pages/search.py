"""`/search`: the best places for a query, and the hits of an opened session."""

from __future__ import annotations

import time
from typing import Any, NamedTuple, get_args
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...cli.words import counted
from ...schema.step import Command, Read
from ...store import page, search
from ...store.results import Fate, Found, Hit, Scope, SessionHits
from ...story import states, tools
from .. import figures, rows
from ..desk import Desk
from ..figures import EMPTY, Clock, line
from ..marking import Marker
from ..scene import Scene
from .sessions import RANGES, UNTITLED, filter_of

SCOPES: tuple[tuple[Scope, str], ...] = (
    ("everything", "Everything"),
    ("prompts", "Prompts"),
    ("answers", "Answers"),
    ("commands", "Commands"),
    ("outputs", "Outputs"),
    ("files", "Files"),
)
SESSIONS = 20
PER_SESSION = 3
ALL = 1000


class HitView(NamedTuple):
    """A place that matches, as it is drawn."""

    icon: str
    word: str
    text: Markup
    mono: bool
    where: str
    href: str
    state: str
    role: str
    mended: Markup


class GroupView(NamedTuple):
    """The hits of one session."""

    title: str
    href: str
    project: str
    when: str
    cost: Markup
    total: str
    hits: list[HitView]
    more: str
    more_href: str


def show(desk: Desk, request: Request) -> Response:
    """The page of results."""
    with desk.archive() as archive:
        clock = desk.clock()
        query = request.query_params.get("q", "").strip()
        scope = scope_of(request)
        which = filter_of(request, clock)
        failing = request.query_params.get("outcome") == "failing"
        if failing:
            from msgspec.structs import replace

            which = replace(which, failing=True)
        only = request.query_params.get("session", "")
        began = time.perf_counter()
        found = search.search(
            archive.connection,
            query[:400],
            clock.now,
            scope=scope,
            which=which,
            limit=ALL if only else SESSIONS,
            per_session=ALL if only else PER_SESSION,
        )
        took = round((time.perf_counter() - began) * 1000)
        groups = [group for group in found.sessions if not only or group.listed.session.id == only]
        return desk.page(
            request,
            archive,
            "search.html",
            title=query or "Search",
            section="sessions",
            searched=counted(found.searched, "session"),
            found=found,
            words=_words(found, took) if query else "",
            groups=[_group(desk, clock, group, query, request) for group in groups],
            scopes=[(key, _href(request, **{"in": key}), words) for key, words in SCOPES],
            scope=scope,
            selects=_selects(archive, request),
            asked=query,
            repaired=[(line(wrong), line(taken)) for wrong, taken in found.repaired.items()],
        )


def scope_of(request: Request) -> Scope:
    """In which texts the address asks to look."""
    scope = request.query_params.get("in", "everything")
    return scope if scope in get_args(Scope) else "everything"  # type: ignore[return-value]


def _words(found: Found, took: int) -> str:
    if not found.total:
        return ""
    parts = f"{counted(found.total, 'hit')} in {counted(found.session_count, 'session')}, best first"
    if found.newest_only:
        parts += f", the newest {found.newest_only:,} ranked"
    return f"{parts} · {took} ms"


def _href(request: Request, **changed: str) -> str:
    kept = {key: value for key, value in request.query_params.items() if value and key != "theme"}
    kept.update(changed)
    if kept.get("in") == "everything":
        del kept["in"]
    return f"/search?{urlencode(kept)}"


def _selects(archive: Archive, request: Request) -> list[tuple[str, str, list[tuple[str, str]], str]]:
    projects = [("", "All projects"), *((name, line(name)) for name, _ in page.projects(archive.connection))]
    outcomes = [("", "Any outcome"), ("failing", "Still failing")]
    found = []
    for name, label, options in (
        ("project", "Project", projects),
        ("since", "Time", list(RANGES)),
        ("outcome", "Outcome", outcomes),
    ):
        value = request.query_params.get(name, "")
        if value and all(key != value for key, _ in options):
            options = [*options, (value, line(value))]
        found.append((name, label, options, value))
    return found


def _group(desk: Desk, clock: Clock, group: SessionHits, query: str, request: Request) -> GroupView:
    listed = group.listed
    session = listed.session
    count = len(group.hits) + group.more
    shown = "best one shown" if count > 1 and len(group.hits) == 1 else ""
    return GroupView(
        title=line(session.title) or UNTITLED,
        href=_session_href(session.id, request, ""),
        project=line(session.project),
        when=clock.when(listed.last_at),
        cost=figures.price(listed.cost),
        total=", ".join(filter(None, (counted(count, "hit"), shown))),
        hits=[
            _hit(desk, session.id, hit, request, (session.workspace_root, session.cwd)) for hit in group.hits
        ],
        more=f"{group.more:,} more" if group.more else "",
        more_href=_href(request, session=session.id),
    )


def _session_href(session_id: str, request: Request, step_id: str) -> str:
    """A session opened at a hit: the address keeps the query, and what narrowed the search."""
    kept = {
        key: value
        for key, value in request.query_params.items()
        if value and key in ("q", "in", "project", "since", "until", "outcome")
    }
    if step_id:
        kept["at"] = step_id
    return f"/s/{quote(session_id)}?{urlencode(kept)}" + (f"#{quote(step_id)}" if step_id else "")


def marked(text: str, spans: tuple[tuple[int, int], ...]) -> Markup:
    """A passage with its matches marked."""
    parts = []
    at = 0
    for start, end in spans:
        if start < at:
            continue
        parts += [
            Markup("{}").format(_safe(text[at:start])),
            Markup("<mark>{}</mark>").format(_safe(text[start:end])),
        ]
        at = end
    parts.append(Markup("{}").format(_safe(text[at:])))
    return Markup("").join(parts)


def _safe(text: str) -> str:
    from ...cli.text import UNICODE

    return UNICODE.safe(text.replace("\t", " "))


def _hit(desk: Desk, session_id: str, hit: Hit, request: Request, roots: tuple[str | None, ...]) -> HitView:
    step, payload = hit.step, hit.step.payload
    kind = states.kind_of(step)
    icon, word = rows._ICONS[kind]
    passage = marked(hit.text.strip(), _shifted(hit))
    text, mended = passage, EMPTY
    if step.type == "message":
        text = text.replace("`", "")
    if hit.part == "out" and isinstance(payload, Command) and (words := _mended(hit.fate)):
        text = Markup("{}").format(rows.command_line(payload.command)[:160])
        mended = Markup("failed before with <code>{}</code>{}").format(passage, words)
    elif hit.part == "out" and isinstance(payload, Command):
        text = Markup("{} <i>→</i> {}").format(rows.command_line(payload.command)[:120], passage)
    elif hit.part == "out" and isinstance(payload, Read):
        text = Markup("{} <i>→</i> {}").format(figures.path(payload.path, roots, desk.home), passage)
    elif hit.part == "out":
        said = tools.said(payload) if step.type == "other" else None  # type: ignore[arg-type]
        text = Markup("{} <i>→</i> {}").format(line(said.subject)[:120] if said else "", passage)
    fates = {step.id: hit.fate} if hit.fate is not None else {}
    state, role = "", ""
    if isinstance(payload, Command):
        state, role = states.command_state(step, payload, fates, None)
    elif step.outcome == "failed":
        state, role = states.failure(step, fates, "failed")
    return HitView(
        icon=icon,
        word=word,
        text=text,
        mono=step.type != "message",
        where=_where(hit),
        href=_session_href(session_id, request, step.id),
        state=state.partition(": ")[0],
        role=role,
        mended=mended,
    )


def _shifted(hit: Hit) -> tuple[tuple[int, int], ...]:
    """The matches in the passage without the blanks before it."""
    cut = len(hit.text) - len(hit.text.lstrip())
    return tuple((start - cut, end - cut) for start, end in hit.spans if start >= cut)


def _where(hit: Hit) -> str:
    """`output, line 214 of 231 · prompt 4`."""
    payload, part = hit.step.payload, hit.part
    words = {"message": "", "command": "command", "read": "path", "edit": "edit", "other": "input"}
    if hit.step.type == "message":
        words["message"] = {"user": "prompt", "assistant": "answer"}.get(
            getattr(payload, "role", ""), "thinking"
        )
    name = words[hit.step.type]
    if part == "out":
        name = "what the agent saw" if isinstance(payload, Read) else "output"
        if hit.lines > 1:
            name += ", last line" if hit.line == hit.lines else f", line {hit.line:,} of {hit.lines:,}"
    turn = f" · prompt {hit.turn_index}" if hit.turn_index is not None else ""
    return name + turn


def _mended(fate: Fate | None) -> str:
    """What made a failed command pass."""
    if fate is None or fate.mended_by is None:
        return ""
    changed = ", ".join(
        f"{path.replace(chr(92), '/').rpartition('/')[2]} "
        + " ".join(filter(None, (f"+{added}" if added else "", f"−{removed}" if removed else "")))
        for path, added, removed in fate.changed[:4]
    )
    return f", and this made it pass: {changed}" if changed else ", and the same command succeeded later"


def in_session(archive: Archive, made: Scene, request: Request, query: str) -> dict[str, Any] | None:
    """The find bar: which of this session's hits is open, the ones beside it, and the way back."""
    found = search.search(
        archive.connection,
        query[:400],
        made.clock.now,
        scope=scope_of(request),
        which=filter_of(request, made.clock),
        limit=ALL,
        per_session=ALL,
    )
    own = next((group for group in found.sessions if group.listed.session.id == made.session.id), None)
    if own is None:
        return None
    ids = sorted((hit.step.id for hit in own.hits), key=lambda one: _seq(made, one))
    at = request.query_params.get("at", "")
    place = ids.index(at) if at in ids else 0
    kept = {
        key: value
        for key, value in request.query_params.items()
        if value and key in ("q", "in", "project", "since", "until", "outcome")
    }
    return {
        "mark": Marker(search.pattern(found.words, widened=found.widened)),
        "query": urlencode({"q": " ".join(f'"{word}"' for word in found.words)}),
        "place": place + 1,
        "count": len(ids),
        "total": found.total,
        "before": _session_href(made.session.id, request, ids[place - 1]) if place else "",
        "after": _session_href(made.session.id, request, ids[place + 1]) if place + 1 < len(ids) else "",
        "back": f"/search?{urlencode(kept)}#{quote(made.session.id)}",
    }


def _seq(made: Scene, step_id: str) -> int:
    step = made.by_id.get(step_id)
    return step.seq if step is not None else 0
