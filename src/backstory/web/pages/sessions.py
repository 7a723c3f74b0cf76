"""`/`: the list of sessions by day, those that run on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ...archive import Archive
from ...cli import dates
from ...cli.words import MONTHS, WEEKDAYS, counted, duration, local, surface
from ...schema.words import tilde
from ...store import page, read
from ...store.glance import Bar, bucketed, with_running
from ...store.page import Entry, Wanted
from ...store.read import Filter
from ...store.results import Day
from ...story import tools
from .. import figures, rows, strip
from ..desk import Desk
from ..figures import Clock, line

CARDS = 4
LIMIT = 50
UNTITLED = figures.UNTITLED
VERDICTS = {"good": "Good", "needs_work": "Needs work", "bad": "Bad"}
RANGES = (
    ("", "Any time"),
    ("today", "Today"),
    ("7d", "Last 7 days"),
    ("30d", "Last 30 days"),
    ("90d", "Last 90 days"),
)
OUTCOMES = (
    ("", "Any outcome"),
    ("ok", "Ended well"),
    ("failing", "Still failing"),
    ("failed", "With failures"),
    ("rejected", "With rejections"),
    ("error", "Ended by an error"),
    ("interrupted", "Interrupted"),
    ("running", "Running"),
    ("idle", "Idle"),
)
KEYS = (
    ("message", "message"),
    ("read", "read"),
    ("command", "command"),
    ("edit", "edit"),
    ("agent", "subagent"),
    ("failed", "failed"),
    ("failing", "still failing"),
    ("rejected", "rejected by you"),
    ("running", "running"),
)


class View(NamedTuple):
    """A session as the list draws it."""

    entry: Entry
    title: str
    new: bool
    badges: list[tuple[str, str, str]]
    project: str
    place: str
    model: str
    route: str
    shape: Markup
    card: Markup
    length: str
    last: str
    when: str
    work: str = ""
    work_icon: str = "say"
    work_time: str = ""
    since: int | None = None


class DayView(NamedTuple):
    """A day of the list: its name, its figures, its sessions."""

    name: str
    words: str
    entries: list[View]


def show(desk: Desk, request: Request) -> Response:
    """The page."""
    with desk.archive() as archive:
        clock = desk.clock()
        wanted = wanted_of(request, clock)
        found = page.page(archive.connection, clock.now, wanted, LIMIT)
        running = page.running(archive.connection, clock.now)
        narrowed = wanted.filter != Filter() or wanted.outcome is not None
        cards = [] if narrowed or wanted.before else running[:CARDS]
        ids = {entry.id for entry in cards}
        entries = [entry for entry in found.entries if entry.id not in ids]
        older = found.entries[-1] if found.older else None
        return desk.page(
            request,
            archive,
            "sessions.html",
            title="Sessions",
            section="sessions",
            in_archive=archive.count(),
            roots=_roots(archive, desk),
            cards=[view(desk, clock, entry) for entry in cards],
            more_running=0 if narrowed or wanted.before else max(len(running) - CARDS, 0),
            days=list(_days(desk, archive, clock, wanted, entries)),
            key=[(strip.sample(kind), words) for kind, words in KEYS],
            first=found.newer + 1,
            last=found.newer + len(found.entries),
            total=found.total,
            older=_href(request, f"{older.last_at or 0}~{older.id}") if older else "",
            newest=_href(request, "") if wanted.before else "",
            filtered=narrowed,
            selects=_selects(archive, request),
            live_query=f"?{request.url.query}" if request.url.query else "",
        )


def look(desk: Desk, request: Request, form: Mapping[str, str]) -> Response:
    """Read what Cline has by now, unless a pass of this process does so already."""
    before = desk.status.capture
    if before != "reading":
        desk.status.capture = "reading"
        try:
            with desk.archive(patient=True) as archive:
                archive.sync(desk.sessions_dirs, desk.status.progress)
        finally:
            desk.status.capture = before
    return RedirectResponse("/", 303)


def load_samples(desk: Desk, request: Request, form: Mapping[str, str]) -> Response:
    """Sample sessions, and the way to them."""
    address = desk.samples.address(desk)
    with desk.archive() as archive:
        return desk.page(request, archive, "samples.html", title="Sample sessions", address=address)


def _roots(archive: Archive, desk: Desk) -> list[dict[str, str]]:
    return [
        {"path": tilde(str(root.path), desk.home), "rule": root.rule}
        for root in archive.roots(desk.sessions_dirs)
    ]


def filter_of(request: Request, clock: Clock) -> Filter:
    """The filter that the address names; a value that cannot be used narrows nothing."""
    asked = request.query_params
    verdict = asked.get("verdict")
    return Filter(
        project=asked.get("project") or None,
        since=_moment(asked.get("since"), clock, end=False),
        until=_moment(asked.get("until"), clock, end=True),
        surface=asked.get("source") or None,
        model=asked.get("model") or None,
        verdict=verdict if verdict in VERDICTS else None,  # type: ignore[arg-type]
    )


def wanted_of(request: Request, clock: Clock) -> Wanted:
    """Which sessions the address asks for."""
    outcome = request.query_params.get("outcome")
    at, _, session_id = request.query_params.get("before", "").partition("~")
    before = (int(at), session_id) if at.isdigit() and len(at) < 16 else None
    return Wanted(filter_of(request, clock), outcome if page.is_outcome(outcome) else None, before)  # type: ignore[arg-type]


def _moment(text: str | None, clock: Clock, *, end: bool) -> int | None:
    if not text:
        return None
    try:
        return dates.parse(text, clock.now, end=end, tz=clock.tz)
    except dates.NotADate:
        return None


def _href(request: Request, before: str) -> str:
    kept = {name: value for name, value in request.query_params.items() if value and name != "before"}
    if before:
        kept["before"] = before
    return f"/?{urlencode(kept)}" if kept else "/"


def _selects(archive: Archive, request: Request) -> list[tuple[str, str, list[tuple[str, str]], str]]:
    """The filters as lists to choose from; what the address names beyond them is among the choices."""
    asked = request.query_params
    projects = [("", "All projects"), *((name, line(name)) for name, _ in page.projects(archive.connection))]
    models = [("", "Any model"), *((name, line(name)) for name in page.models(archive.connection))]
    surfaces = archive.connection.execute(
        "SELECT surface FROM session WHERE surface IS NOT NULL GROUP BY surface ORDER BY count(*) DESC LIMIT 20"
    )
    sources = [("", "Any source"), *((name, line(surface(name) or name)) for (name,) in surfaces)]
    found = []
    for name, label, options in (
        ("project", "Project", projects),
        ("since", "Time", list(RANGES)),
        ("outcome", "Outcome", list(OUTCOMES)),
        ("model", "Model", models),
        ("source", "Source", sources),
        ("verdict", "Verdict", [("", "Any verdict"), *VERDICTS.items()]),
    ):
        value = asked.get(name, "")
        if name == "source" and len(options) < 3 and not value:
            continue
        if value and all(key != value for key, _ in options):
            options = [*options, (value, line(value))]
        found.append((name, label, options, value))
    return found


def _days(
    desk: Desk, archive: Archive, clock: Clock, wanted: Wanted, entries: Sequence[Entry]
) -> list[DayView]:
    by_day: dict[date | None, list[Entry]] = {}
    for entry in entries:
        day = None if entry.last_at is None else local(entry.last_at, clock.tz).date()
        by_day.setdefault(day, []).append(entry)
    known = [day for day in by_day if day is not None]
    sums: dict[date, Day] = {}
    if known:
        since, _ = dates.day_bounds(min(known), clock.tz)
        _, until = dates.day_bounds(max(known), clock.tz)
        which = wanted.filter
        # Whole days, but no more than the filter lets through.
        since, until = max(since, which.since or since), min(until, which.until or until)
        narrowed = Filter(
            which.project, since, until, which.surface, which.model, which.failing, which.verdict
        )
        sums = read.days(archive.connection, clock.now, narrowed, clock.tz)
    return [
        DayView(
            *_day_words(day, clock, None if wanted.outcome or day is None else sums.get(day), len(own)),
            [view(desk, clock, entry) for entry in own],
        )
        for day, own in by_day.items()
    ]


def _day_words(day: date | None, clock: Clock, found: Day | None, count: int) -> tuple[str, str]:
    """`Today` and `Monday 30 November · 9 sessions · $4.61 reported · ~$0.48 estimated · 26 files`."""
    if day is None:
        return "Without a time", counted(count, "session")
    today = local(clock.now, clock.tz).date()
    year = "" if day.year == today.year else f" {day.year}"
    words = f"{day.day} {MONTHS[day.month - 1]}{year}"
    name = WEEKDAYS[day.weekday()]
    if today - day in (timedelta(0), timedelta(1)):
        words = f"{name} {words}"
        name = "Today" if day == today else "Yesterday"
    parts = [words, counted(found.sessions if found else count, "session")]
    if found is not None:
        parts += [str(part.striptags()) for part in _money(found)]
        if found.files:
            parts.append(counted(found.files, "file"))
    return name, " · ".join(parts)


def _money(day: Day) -> list[Markup]:
    cost = day.cost
    found = []
    for kind, calls in cost.calls.items():
        if calls and kind in ("reported", "estimated"):
            alone = type(cost)(**{kind: getattr(cost, kind)}, calls={kind: calls})
            found.append(figures.sums(alone))
    if day.covered:
        found.append(Markup("{:,} covered").format(day.covered))
    return found


def view(desk: Desk, clock: Clock, entry: Entry) -> View:
    """A session as a row and as a card draw it."""
    glance = entry.glance
    bars = with_running(glance.bars) if entry.state == "running" else list(glance.bars)
    models = glance.models or ((entry.model,) if entry.model else ())
    more = f" +{len(models) - 1}" if len(models) > 1 else ""
    place = " · ".join(
        filter(None, (tilde(entry.cwd or "", desk.home), glance.branch, surface(entry.surface)))
    )
    made = View(
        entry,
        title=line(entry.title) or UNTITLED,
        new=entry.unseen > 0 and entry.state != "running",
        badges=badges(entry),
        project=line(entry.project),
        place=line(place),
        model=f"{line(models[0])}{more}" if models else "",
        route=line(" ".join(filter(None, (glance.provider, entry.model)))),
        shape=strip.mini(_fewer(bars)),
        card=strip.card(bars) if entry.state == "running" else figures.EMPTY,
        length="" if entry.length is None else duration(entry.length),
        last=clock.minute(entry.last_at),
        when=clock.full(entry.last_at),
    )
    return _at_work(made, clock, desk) if entry.state == "running" else made


def _fewer(bars: Sequence[Bar]) -> list[Bar]:
    return bucketed(bars, 74)


def _at_work(made: View, clock: Clock, desk: Desk) -> View:
    """The step at work and since when."""
    brief = made.entry.last_step
    if brief is None:
        return made
    if brief.type == "other":
        kind, text = tools.kind(brief.kind or ""), brief.subject
        text = f"{(brief.kind or '').replace('__', ' ', 1)} {text}" if kind == "tool" else text
    else:
        kinds = {"thinking": "think", "system": "note"}
        kind = {"command": "run", "edit": "edit", "read": "read"}.get(
            brief.type, kinds.get(brief.kind or "", "say")
        )
        text = brief.subject
    if kind in ("edit", "read"):
        text = figures.path(text, (made.entry.cwd,), desk.home).striptags()
    at_work = brief.outcome == "unknown" and brief.type != "message"
    time = "" if brief.at is None else duration(clock.now - brief.at)
    words = (f"running for {time}" if at_work else f"{time} ago") if time else ""
    return made._replace(
        work=rows.command_line(text)[:160],
        work_icon=kind,
        work_time=words,
        since=brief.at if at_work else None,
    )


def badges(entry: Entry) -> list[tuple[str, str, str]]:
    """What makes a session special, in words, with the kind of its badge and a title."""
    glance = entry.glance
    found: list[tuple[str, str, str]] = []
    if entry.judgement is not None:
        verdict, note = entry.judgement.verdict, line(entry.judgement.note)
        found.append((VERDICTS[verdict], f"v-{verdict}", note) if verdict else ("Note", "", note))
    if glance.modes == ("plan",):
        found.append(("Plan", "m-plan", "plan mode only"))
    if entry.copied_kind:
        found.append((entry.copied_kind.capitalize(), "", "it begins as a copy of another session"))
    if glance.imported:
        found.append(("Imported", "", f"from {line(glance.imported)}, which keeps it"))
    if glance.subagents:
        found.append((counted(glance.subagents, "subagent"), "agent", ""))
    if glance.teammates:
        found.append((f"Team of {glance.teammates}", "agent", ""))
    if glance.origin_mode == "automation":
        found.append(("Automation", "", ""))
    if entry.gone:
        found.append(("gone", "", "Cline no longer has this session"))
    return found
