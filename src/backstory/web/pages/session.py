"""`/s/ID`: a session step by step, and the bodies of steps on demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from ...archive import Archive
from ...cli.words import counted, duration, local, surface, tokens
from ...errors import UnknownSession
from ...ledger.limits import context_window
from ...redact import mask
from ...schema.session import Totals, Turn
from ...schema.step import ROOT, Command, Message, Step
from ...schema.words import tilde
from ...store import marks, outline, page
from ...store.glance import bucketed
from ...store.results import Cost
from .. import bodies, figures, rows, scene, strip, timeline
from ..desk import Desk
from ..figures import line
from ..scene import Scene
from ..timeline import Item, Show, TurnFacts
from .banners import banners
from .sessions import UNTITLED, VERDICTS

OUTLINE = 40
"""Prompts in the outline; of more, those around the page."""
BANDS = 40
LIGHT = 98_000
"""Bytes of a page; with more than that its window is made smaller."""
LEAST = 10
ROOMS = (timeline.BODIES, 16_000, 3_000)
"""Bytes of bodies that are tried before the window is made smaller."""
LONG = 1_000
"""Steps from which a page spares: fewer bars in its strip, fewer prompts in its outline, no titles on times."""
CHOICES: tuple[tuple[Show, str], ...] = (
    ("everything", "Everything"),
    ("problems", "Problems"),
    ("changes", "Changes"),
    ("talk", "Talk"),
)
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


class Prompt(NamedTuple):
    """A turn in the outline."""

    number: int
    href: str
    text: str
    facts: TurnFacts
    current: bool


class Outlined(NamedTuple):
    """The outline at the left: prompts, and what the whole session says of itself below."""

    total: int
    turns: list[Prompt]
    before: int
    before_href: str
    after: int
    after_href: str
    context: str
    hits: str
    fidelity: str
    fidelity_link: bool


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
        "banners": list(banners(made, _origin_title(archive, made))),
        "tabs": [
            ("timeline", base, "Timeline", f"{totals.steps:,}"),
            ("changes", f"{base}/changes", "Changes", f"{totals.files:,}" if totals.files else ""),
            ("cost", f"{base}/cost", "Cost", figures.price(made.entry.cost)),
            ("facts", f"{base}/facts", "Facts", ""),
        ],
        "choices": [],
        "choice": "",
        "verdict_words": VERDICTS,
        "scene": made,
        "position": position(made),
        "ended_at_end": True,
        **strip_values(made, base if tab != "timeline" else ""),
    }


def _origin_title(archive: Archive, made: Scene) -> str:
    """The title of the session that this one begins as a copy of, else its id."""
    copied = made.session.copied_from
    if copied is None:
        return ""
    found = archive.connection.execute(
        "SELECT title FROM session WHERE id = ?", (copied.session_id,)
    ).fetchone()
    return line(found[0]) if found and found[0] else copied.session_id


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
        (_span(made), made.clock.full(session.started_at)),
        (
            duration(made.entry.length) if made.entry.length is not None else "",
            "time at work, without idle gaps",
        ),
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


def _span(made: Scene) -> str:
    """`12:04 to now, 31 min`; with the day where it was not today."""
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
        href = f"{base}{_turn_href(made, turn)}"
        found.append(strip.Band(href, label, plan, low / max(count, 1), high / max(count, 1)))
    return found


def _turn_href(made: Scene, turn: Turn) -> str:
    """The link to a turn; in a long session it names the step, so that the page begins near it."""
    anchor = f"#turn-{turn.index}"
    if len(made.record.steps) <= timeline.WINDOW or not turn.step_ids:
        return anchor
    return f"?{urlencode({'at': turn.step_ids[0]})}{anchor}"


def show(desk: Desk, request: Request) -> Response:
    """The timeline."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        asked = request.query_params.get("show", "everything")
        choice: Show = asked if asked in dict(CHOICES) else "everything"
        chosen = timeline.chosen(made, choice)
        values = {**frame(desk, archive, made, "timeline"), **_choices(made, request, choice)}
        values["hits"] = hits(archive, made, request)
        size, first = timeline.WINDOW, request.query_params.get("from")
        room = list(ROOMS)
        while True:
            view = timeline.window(chosen, first or _anchor(made, request), size, exactly=first is not None)
            text = desk.page(
                request,
                archive,
                "session.html",
                title=values["head"].title,
                section="sessions",
                **{**values, **_window_values(desk, archive, made, request, view, room[0])},
            )
            if len(text.body) <= LIGHT or size <= LEAST:
                break
            # Rows before bodies: what is folded is one key away, what is not there is a page away.
            if len(room) > 1:
                room.pop(0)
            else:
                size = max(min(size * LIGHT // len(text.body), size - 20) - 5, LEAST)
        if request.headers.get("sec-fetch-site") != "cross-site":
            marks.mark_seen(archive.connection, session_id, made.clock.now)
        return text


def _anchor(made: Scene, request: Request) -> str | None:
    """The step around which the page is: its id, or its number among the root's steps."""
    at = request.query_params.get("at")
    if at and at.isdigit() and at not in made.by_id:
        wanted = int(at[:9])
        return next((step for step, number in made.ordinals.items() if number == wanted), None)
    return at


def _choices(made: Scene, request: Request, choice: Show) -> dict[str, Any]:
    kept = {
        key: value
        for key, value in request.query_params.items()
        if key not in ("show", "at", "from", "theme")
    }
    links = []
    for key, words in CHOICES:
        query = {**kept, **({"show": key} if key != "everything" else {})}
        links.append((key, f"?{urlencode(query)}" if query else f"/s/{quote(made.session.id)}", words))
    return {"choices": links, "choice": choice}


def _window_values(
    desk: Desk, archive: Archive, made: Scene, request: Request, view: timeline.Window, room: int
) -> dict[str, Any]:
    steps = outline.whole(archive.connection, made.outline, view.shown)
    found = timeline.chapters(made, steps, draw_body(desk), room=room)
    later = len(view.steps) - view.high
    return {
        "chapters": found,
        "digest": digest if made.entry.state in ("running", "idle") else None,
        "long": is_long(made),
        "marks": timeline.marks_of(made, steps, _origin_title(archive, made)),
        "earlier": _from(request, view.steps[max(view.low - 120, 0)]) if view.low else "",
        "earlier_count": view.low,
        "later": _from(request, view.steps[view.high]) if later else "",
        "later_count": later,
        "outline": outlined(made, view.shown),
        "nothing": _nothing(made, view),
        "ended_at_end": not later,
    }


def _nothing(made: Scene, view: timeline.Window) -> str:
    if view.steps:
        return ""
    return (
        "Nothing went wrong in this session."
        if made.record.steps
        else "Nothing of this session could be read."
    )


def _from(request: Request, step: Step) -> str:
    """The page that begins with a step."""
    kept = {key: value for key, value in request.query_params.items() if key not in ("at", "from", "theme")}
    return f"?{urlencode({**kept, 'from': step.id})}#{quote(step.id)}"


def draw_body(desk: Desk, *, whole: bool = False) -> Any:
    """A function that draws bodies."""
    template = desk.templates.get_template("_bodies.html")

    def draw(made: bodies.Body, n: int = 0) -> Markup:
        return Markup(template.render(b=made, n=n, whole=whole))

    return draw


def digest(item: Item) -> str:
    """Changes when the drawing of a step changes, but for what only the clock moves."""
    row = item.row._replace(took="") if item.row.state == "running" else item.row
    text = repr(
        (
            row.state,
            row.text,
            row.tail,
            row.took,
            row.title,
            [digest(one) for one in item.children],
            item.html,
        )
    )
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=3).hexdigest()


def outlined(made: Scene, shown: Sequence[Step]) -> Outlined:
    """The prompts around the page."""
    turns = made.record.turns
    here = {step.turn_id for step in shown}
    first = next((at for at, turn in enumerate(turns) if turn.id in here), 0)
    most = OUTLINE // 2 if is_long(made) else OUTLINE
    low = max(min(first - 5, len(turns) - most), 0)
    part = turns[low : low + most]
    prompts = []
    for turn in part:
        text = timeline.prompt_text(made, turn)
        prompts.append(
            Prompt(
                turn.index,
                _turn_href(made, turn),
                line(text)[:110] or "(no text)",
                timeline.facts(made, turn),
                False,
            )
        )
    after = len(turns) - low - len(part)
    fidelity, link = fidelity_words(made)
    return Outlined(
        total=len(turns),
        turns=prompts,
        before=low,
        before_href=_turn_href(made, turns[max(low - most + 5, 0)]) if low else "",
        after=after,
        after_href=_turn_href(made, turns[low + most]) if after else "",
        context=_context(made),
        hits=_hit_rate(made.entry.cost),
        fidelity=fidelity,
        fidelity_link=link,
    )


def _context(made: Scene) -> str:
    """What the root's last call sent and got: the context as it is now."""
    last = next((call for call in reversed(made.record.calls) if call.actor_id == ROOT), None)
    if last is None:
        return ""
    used = last.fresh + last.cache_read + last.cache_write + last.output
    models = made.entry.glance.models
    limit = context_window(models[0]) if models else None
    return tokens(used) + (f" of {tokens(limit).replace('.0', '')}" if limit else "")


def _hit_rate(cost: Cost) -> str:
    whole = cost.fresh + cost.cache_read + cost.cache_write
    return f"{100 * cost.cache_read / whole:.0f}%" if whole and cost.cache_read else ""


def fidelity_words(made: Scene) -> tuple[str, bool]:
    """How completely Cline's files could be read, and whether there is more to say on the facts' page."""
    fidelity = made.session.fidelity
    unknown = sum(fidelity.unknown.values())
    parts = []
    if unknown:
        parts.append(counted(unknown, "unknown block"))
    if fidelity.refused:
        parts.append(counted(len(fidelity.refused), "value") + " not used")
    if fidelity.salvaged:
        parts.append("a file that is cut")
    if parts:
        return ", ".join(parts), True
    if not fidelity.whole:
        return "Cline's files: not whole", True
    return "Cline's files: whole, nothing skipped", False


def hits(archive: Archive, made: Scene, request: Request) -> dict[str, Any] | None:
    """The hits of a query in this session, for the find bar; null without a query."""
    from .search import in_session

    query = request.query_params.get("q", "").strip()
    return in_session(archive, made, request, query) if query else None


def body(desk: Desk, request: Request) -> Response:
    """One step's body: alone for the script, in a page without it."""
    with desk.archive() as archive:
        found = step_by_number(desk, archive, int(request.path_params["n"]))
        if found is None:
            return missing(desk, request, archive, "There is no such step in the archive.")
        made, step = found
        n = made.outline.numbers[step.id]
        payload = step.payload
        if isinstance(payload, Message) and payload.role == "assistant":
            from ..prose import markdown

            drawn = Markup('<div class="body"><div class="prose" dir="auto">{}</div></div>').format(
                markdown(payload.text)
            )
        else:
            # Who asks for a body wants it whole, unless it is a very long one.
            whole = "whole" in request.query_params or not isinstance(payload, Command)
            whole = whole and (step.type != "edit" or "whole" in request.query_params)
            drawn = draw_body(desk, whole=whole)(bodies.body(made, step, whole=whole), n)
        if "part" in request.query_params:
            return HTMLResponse(str(drawn).encode("utf-8", "replace"))
        back = f"/s/{quote(made.session.id)}?{urlencode({'at': step.id})}#{quote(step.id)}"
        return desk.page(
            request,
            archive,
            "body.html",
            title="Step",
            section="sessions",
            body=drawn,
            back=back,
            head_title=line(made.session.title) or UNTITLED,
            row=rows.row(made, step),
        )


def step_by_number(desk: Desk, archive: Archive, n: int) -> tuple[Scene, Step] | None:
    """A step by its number in the archive, with its payload."""
    row = archive.connection.execute(
        "SELECT session.id, step.id FROM step JOIN file ON file.n = step.file JOIN session ON session.n = file.session"
        " WHERE step.n = ? AND NOT step.superseded",
        (n,),
    ).fetchone()
    if row is None:
        return None
    made = scene_of(desk, archive, row[0])
    step = made.by_id.get(row[1])
    return None if step is None else (made, outline.whole(archive.connection, made.outline, [step])[0])


def copy(desk: Desk, request: Request) -> Response:
    """What goes to the clipboard: a failed command for Cline, or an output. Secrets are masked."""
    with desk.archive() as archive:
        found = step_by_number(desk, archive, int(request.path_params["n"]))
        if found is None:
            return PlainTextResponse("There is no such step in the archive.\n", 404)
        _, step = found
        payload = step.payload
        if request.query_params.get("what") == "output" and isinstance(payload, Command):
            from ..ansi import colourless

            text = colourless(payload.stdout or "")
        else:
            text = bodies.copied_text(step)
        return PlainTextResponse(mask(text).encode("utf-8", "replace"))


def missing(desk: Desk, request: Request, archive: Archive, words: str) -> Response:
    """A page for what is not there."""
    return desk.page(request, archive, "missing.html", title="Not found", words=words, status=404)


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


def export(desk: Desk, request: Request) -> Response:
    """The whole record as the document of `show --json`, with secrets masked."""
    from ...cli.documents import shown_json
    from ...store.derived import fates

    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        record = archive.record(session_id)
        said = archive.judgements(session_id)
        document = shown_json(record, archive.listed(session_id), fates(record.steps), None, said)
        text = mask(json.dumps(document, ensure_ascii=False, indent=2))
        name = quote(f"{session_id}.json")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=headers)
