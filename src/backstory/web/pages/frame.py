"""What stands around every tab of a session: its head, its tabs, its strip."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from ...archive import Archive
from ...cli.words import counted, duration, local, surface
from ...errors import UnknownSession
from ...schema.session import Totals, Turn
from ...schema.words import tilde
from ...store import marks, page
from ...store.derived import RUNNING_MS
from ...store.glance import bucketed
from ...store.results import Cost
from .. import figures, scene, strip, timeline
from ..desk import Desk
from ..figures import line
from ..marking import Marker
from ..scene import Scene
from .banners import banners
from .sessions import UNTITLED, VERDICTS

BANDS = 40


LONG = 1_000
"""Steps from which a page spares: fewer bars in its strip, fewer prompts in its outline, no titles on times."""


READ_MS = 2_000
"""Until then a change of Cline's files is on its way into the archive."""


STATES = {
    "running": ("running", "live", ""),
    "idle": ("idle", "", "open, waiting for you"),
    "no_end": ("no end recorded", "dashed", "It went quiet without a recorded end."),
    "interrupted": ("interrupted", "dashed", "according to Cline"),
    "error": ("ended by an error", "fail", ""),
    "ended": ("", "", ""),
}


class Head(NamedTuple):
    """What stands over every tab of a session."""

    title: str
    project: str
    state: str
    state_role: str
    state_title: str
    plain: list[tuple[str, str]]
    totals: Totals
    cost: Cost
    verdict: str
    note: str
    resume: str


def scene_of(desk: Desk, archive: Archive, session_id: str) -> Scene:
    """Everything about a session but the bodies. Raises `UnknownSession`."""
    found = desk.outline(archive, session_id)
    clock = desk.clock()
    entry = page.entry(archive.connection, clock.now, session_id)
    if entry is None:
        raise UnknownSession(session_id)
    said = marks.judgements(archive.connection, found.n)
    new = marks.first_new(archive.connection, found.n)
    seen = marks.seen_at(archive.connection, found.n)
    return scene.scene(found, entry, clock, desk.home, said, new, seen)


def resolved(archive: Archive, text: str) -> str:
    """The full id for what stands in the address. Raises `UnknownSession`."""
    return archive.resolve(text)


def frame(desk: Desk, archive: Archive, made: Scene, tab: str) -> dict[str, Any]:
    """What every tab of a session draws around itself."""
    session_id = made.session.id
    base = f"/s/{quote(session_id)}"
    totals = made.session.totals
    return {
        "id": session_id,
        "tab": tab,
        "head": head(desk, made),
        "banners": list(banners(made, origin_title(archive, made))),
        "tabs": [
            ("timeline", base, "Timeline", f"{totals.steps:,}"),
            ("changes", f"{base}/changes", "Changes", f"{totals.files:,}" if totals.files else ""),
            ("cost", f"{base}/cost", "Cost", figures.price(made.entry.cost)),
            ("facts", f"{base}/facts", "Facts", ""),
        ],
        "choices": [],
        "choice": "",
        "verdict_words": VERDICTS,
        "behind": behind(archive, made),
        "scene": made,
        "mark": Marker(None),
        "hits": None,
        "position": position(made),
        "ended_at_end": True,
        **strip_values(made, base if tab != "timeline" else ""),
    }


def origin_title(archive: Archive, made: Scene) -> str:
    """The title of the session that this one begins as a copy of, else its id."""
    copied = made.session.copied_from
    if copied is None:
        return ""
    found = archive.connection.execute(
        "SELECT title FROM session WHERE id = ?", (copied.session_id,)
    ).fetchone()
    return line(found[0]) if found and found[0] else copied.session_id


def behind(archive: Archive, made: Scene) -> str:
    """As of when a session is shown that Cline has written on since, in a form that could not be read; else empty.

    What was written a moment ago is being read, and what has rested for long is the doctor's.
    """
    for name, root, size, mtime_ns in archive.connection.execute(
        "SELECT file.name, session.root, size, mtime_ns FROM file JOIN session ON session.n = file.session"
        " WHERE session.n = ? AND file.actor IS NOT NULL AND session.gone_at IS NULL",
        (made.outline.n,),
    ):
        try:
            found = Path(root, made.session.id, name).stat()
        except OSError:
            continue
        rested = made.clock.now - found.st_mtime_ns // 1_000_000
        if (found.st_size, found.st_mtime_ns) != (size, mtime_ns) and READ_MS < rested < RUNNING_MS:
            return made.clock.second(mtime_ns // 1_000_000)
    return ""


def position(made: Scene) -> str:
    """Where a page stands: the session's writes, its last turn, its state. Live events go on from there."""
    turns = made.record.turns
    return f"{made.outline.generation}.{turns[-1].index if turns else 0}.{made.entry.state}"


def head(desk: Desk, made: Scene) -> Head:
    """Title, state and figures."""
    session, entry = made.session, made.entry
    words, role, title = STATES[entry.state]
    judgement = made.judgements.get(None)
    branch = line(session.branch)
    plain = [
        (entry.glance.models[0] if entry.glance.models else line(session.model), _route(made)),
        (branch, line(tilde(session.cwd or "", desk.home))),
        (line(surface(session.surface)), ""),
        _when(made),
    ]
    cli = session.surface in (None, "cli") and session.agent.kind == "cline"
    return Head(
        title=line(session.title) or UNTITLED,
        project=line(session.project),
        state=words,
        state_role=role,
        state_title=title,
        plain=[(text, title) for text, title in plain if text],
        totals=session.totals,
        cost=entry.cost,
        verdict=(judgement.verdict or "") if judgement else "",
        note=judgement.note if judgement else "",
        resume=f"cline -i --id {session.id}" if cli else "",
    )


def _route(made: Scene) -> str:
    session = made.session
    return line(" ".join(filter(None, (session.provider, session.model))))


def _when(made: Scene) -> tuple[str, str]:
    """`12:04 to now, 31 min`, and what that means."""
    span, length = _span(made), made.entry.length
    title = made.clock.full(made.session.started_at)
    if length is None:
        return span, title
    worked = Markup("<b>{}</b>").format(duration(length))
    shown = Markup("{}, {}").format(span, worked) if span else worked
    return shown, f"{title}; time at work, without idle gaps"


def _span(made: Scene) -> str:
    """`12:04 to now`; with the day where it was not today."""
    session, clock = made.session, made.clock
    started, ended = session.started_at, session.ended_at or made.entry.last_at
    if started is None:
        return ""
    today = local(clock.now, clock.tz).date() == local(started, clock.tz).date()
    begin = clock.minute(started) if today else f"{clock.day(started)} {clock.minute(started)}"
    until = "now" if made.entry.state == "running" else _end(made, started, ended)
    return f"{begin} to {until}" if until and until != clock.minute(started) else begin


def _end(made: Scene, started: int, ended: int | None) -> str:
    if ended is None:
        return ""
    clock = made.clock
    same = local(started, clock.tz).date() == local(ended, clock.tz).date()
    return clock.minute(ended) if same else f"{clock.day(ended)} {clock.minute(ended)}"


def strip_values(made: Scene, base: str) -> dict[str, Any]:
    """The strip, and what it says in a sentence."""
    all_bars = scene.bars(made)
    totals = made.session.totals
    parts = [counted(totals.steps, "step"), f"{totals.failed:,} failed", f"{totals.failing:,} still failing"]
    parts.append(f"{totals.rejected:,} rejected")
    return {
        "strip": strip.strip(
            bucketed(all_bars, 200 if is_long(made) else 400), _bands(made, len(all_bars), base)
        ),
        "strip_words": ", ".join(parts),
        "strip_steps": len(all_bars),
    }


def is_long(made: Scene) -> bool:
    """Whether a session has so many steps that its page has to spare bytes."""
    return len(made.record.steps) > LONG


def _bands(made: Scene, count: int, base: str) -> list[strip.Band]:
    """The turns as shares of the strip; many of them in runs."""
    starts: list[tuple[Turn, int]] = []
    for turn in made.record.turns:
        first = next((made.ordinals[one] for one in turn.step_ids if one in made.ordinals), None)
        if first is not None:
            starts.append((turn, first - 1))
    run = -(-len(starts) // BANDS) if starts else 1
    found = []
    for at in range(0, len(starts), run):
        turn, low = starts[at]
        high = starts[at + run][1] if at + run < len(starts) else count
        last = starts[min(at + run, len(starts)) - 1][0]
        label = f"{turn.index}" if run == 1 else f"{turn.index}–{last.index}"
        plan = run == 1 and turn.mode == "plan"
        label += " · plan" if plan else ""
        href = f"{base}{turn_href(made, turn)}"
        found.append(strip.Band(href, label, plan, low / max(count, 1), high / max(count, 1)))
    return found


def turn_href(made: Scene, turn: Turn) -> str:
    """The link to a turn; in a long session it names the step, so that the page begins near it."""
    anchor = f"#turn-{turn.index}"
    if len(made.record.steps) <= timeline.WINDOW or not turn.step_ids:
        return anchor
    return f"?{urlencode({'at': turn.step_ids[0]})}{anchor}"


def missing(desk: Desk, request: Request, archive: Archive, words: str) -> Response:
    """A page for what is not there."""
    return desk.page(request, archive, "missing.html", title="Not found", words=words, status=404)
