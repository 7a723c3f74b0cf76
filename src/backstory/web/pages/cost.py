"""`/s/ID/cost`: what each prompt and each call of a session came to, and how the context grew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import svg
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ...archive import Archive
from ...cli.money import KINDS, cost_of, money
from ...cli.words import counted, tokens
from ...ledger.limits import context_window
from ...ledger.reconcile import reconcile
from ...schema.call import Call
from ...schema.step import ROOT
from ...store.results import Cost
from ..desk import Desk
from ..figures import line
from ..scene import Scene
from ..turns import prompt_text
from .frame import frame, resolved, scene_of

BARS = 200
TURNS = 60
CALLS = 200
TALL = 150
REASONS = {
    "subagents": "Calls of subagents and teammates, which Cline's total leaves out",
    "copies": "Calls that count in the session they were copied from",
    "retries": "Requests that left no message",
    "superseded": "Calls whose messages have left the conversation",
    "pending": "Calls of a run that has not ended; Cline writes its total then",
    "no_total": "Cline wrote no total",
    "rounding": "Rounding",
    "unexplained": "Unexplained",
}


class Line(NamedTuple):
    """A row of figures: of a prompt, an agent or a call."""

    name: str
    href: str
    calls: int
    cost: Cost
    input: int
    share: str
    turn: int
    price: str
    text: str
    expandable: bool


def show(desk: Desk, request: Request) -> Response:
    """The page; with `turn` and `part` the calls of one prompt alone."""
    with desk.archive() as archive:
        session_id = resolved(archive, request.path_params["id"])
        made = scene_of(desk, archive, session_id)
        asked = request.query_params.get("turn", "")
        if asked.isdigit() and "part" in request.query_params:
            rows = _calls_of(made, int(asked[:9]))
            return HTMLResponse(desk.draw("_calls.html", rows=rows[:CALLS], rest=max(len(rows) - CALLS, 0)))
        values = frame(desk, archive, made, "cost")
        first = int(request.query_params.get("from", "0")[:9]) if _is_number(request, "from") else 0
        turns = _turns(made)
        return desk.page(
            request,
            archive,
            "cost.html",
            title=values["head"].title,
            section="sessions",
            **values,
            chart=chart(made),
            turns=turns[first : first + TURNS],
            first=first,
            more=first + TURNS if first + TURNS < len(turns) else 0,
            agents=_agents(made),
            whole=_line("Whole session", "", list(made.record.calls), made),
            limit=_round(_limit(made) or 0) if _limit(made) else "",
            totals=_totals(made.entry.cost),
            compared=_compared(archive, session_id),
            compaction=made.session.compaction,
        )


def _is_number(request: Request, name: str) -> bool:
    return request.query_params.get(name, "").isdigit()


def _limit(made: Scene) -> int | None:
    models = made.entry.glance.models or ((made.session.model,) if made.session.model else ())
    return context_window(models[0]) if models else None


def _totals(cost: Cost) -> list[tuple[str, str]]:
    """The three kinds of money apart, and the calls without a price."""
    found = []
    for kind in KINDS:
        calls = cost.calls.get(kind, 0)
        if not calls:
            continue
        if kind == "unpriced":
            found.append(("No price known", counted(calls, "call")))
            continue
        amount = getattr(cost, kind)
        sign = "~" if kind == "estimated" else ""
        words = {
            "reported": "Cline recorded it",
            "estimated": "by list prices",
            "covered": "list value, not paid",
        }
        shown = f"{sign}{money(amount)}" if amount or kind != "covered" else "no list value"
        found.append((kind.capitalize(), f"{shown}, {counted(calls, 'call')}; {words[kind]}"))
    return found


def _line(name: str, href: str, calls: Sequence[Call], made: Scene, turn: int = 0, text: str = "") -> Line:
    cost = cost_of(calls)
    whole = cost.fresh + cost.cache_read + cost.cache_write
    prices = {call.settled.price for call in calls if call.settled is not None and call.settled.price}
    return Line(
        name,
        href,
        sum(cost.calls.values()),
        cost,
        whole,
        f"{100 * cost.cache_read / whole:.0f}%" if whole else "",
        turn,
        line(next(iter(prices))) if len(prices) == 1 else (f"{len(prices)} prices" if prices else ""),
        text,
        bool(calls),
    )


def _turns(made: Scene) -> list[Line]:
    by_turn: dict[str | None, list[Call]] = {}
    for call in made.record.calls:
        by_turn.setdefault(call.turn_id, []).append(call)
    base = f"/s/{quote(made.session.id)}"
    found = []
    if by_turn.get(None):
        found.append(_line("no prompt", "", by_turn[None], made))
    for turn in made.record.turns:
        at = f"?{urlencode({'at': turn.step_ids[0]})}" if turn.step_ids else ""
        href = f"{base}{at}#turn-{turn.index}"
        text = line(prompt_text(made, turn))[:160]
        found.append(_line(str(turn.index), href, by_turn.get(turn.id, []), made, turn.index, text))
    return found


def _agents(made: Scene) -> list[Line]:
    """Subagents and teammates as rows of their own; these calls are in their prompts' rows, too."""
    found = []
    for actor in made.record.actors:
        if actor.id == ROOT:
            continue
        calls = [call for call in made.record.calls if call.actor_id == actor.id]
        href = ""
        if actor.parent_step_id is not None:
            query = urlencode({"at": actor.parent_step_id})
            href = f"/s/{quote(made.session.id)}?{query}#{quote(actor.parent_step_id)}"
        name = "Subagent" if actor.type == "subagent" else line(actor.label)
        found.append(_line(name, href, calls, made, text=line(actor.task)[:160]))
    return found


def _calls_of(made: Scene, index: int) -> list[Line]:
    turn = next((one for one in made.record.turns if one.index == index), None)
    found = []
    for call in made.record.calls:
        if turn is None or call.turn_id != turn.id:
            continue
        step = next((one for one in turn.step_ids if one.startswith(f"{call.message_id}#")), "")
        href = f"/s/{quote(made.session.id)}?{urlencode({'at': step})}#{quote(step)}" if step else ""
        who = "" if call.actor_id == ROOT else "agent"
        found.append(_line(made.clock.second(call.at) or "call", href, [call], made, text=who))
    return found


def _compared(archive: Archive, session_id: str) -> dict[str, Any] | None:
    """Cline's own total of this session against ours, with the reasons of the difference."""
    found = reconcile(archive.connection, session_id=session_id)
    if not found or (found[0].cline is None and not found[0].here):
        return None
    one = found[0]
    return {
        "cline": "none" if one.cline is None else money(one.cline),
        "here": money(one.here),
        "agrees": one.agrees,
        "reasons": [
            (REASONS[each.reason], f"{'−' if each.nano < 0 else '+'}{money(abs(each.nano))}", each.count)
            for each in one.differences
        ],
    }


def chart(made: Scene) -> Markup:
    """A bar a call of the root: fresh, cache write, cache read, output; above it how full the context is."""
    calls = [call for call in made.record.calls if call.actor_id == ROOT]
    if not calls:
        return Markup("")
    run = -(-len(calls) // BARS)
    # A bar of several calls is the largest of them: the context is what counts here.
    bars = [max(calls[at : at + run], key=_size) for at in range(0, len(calls), run)]
    limit = _limit(made)
    top = max(max(map(_size, bars)), 1)
    scale = max(limit or 0, top)
    wide = 100 / len(bars)
    elements: list[svg.Element] = []
    for share in (0.25, 0.5, 0.75, 1.0):
        y = round(TALL + 14 - TALL * share, 1)
        elements.append(svg.Line(x1=0, x2=_share(100), y1=y, y2=y, class_=["grid"]))
        # Left of the drawing, where no line and no bar is.
        elements.append(svg.Text(x=-8, y=y + 4, text=_round(scale * share)))
    for place, call in enumerate(bars):
        elements += _stack(call, place * wide, wide, scale)
    if limit and limit <= scale:
        y = round(TALL + 14 - TALL * limit / scale, 1)
        elements.append(svg.Line(x1=0, x2=_share(100), y1=y, y2=y, class_=["cut"]))
    words = f"Context of {counted(len(calls), 'call')}, at most {tokens(top)} tokens" + (
        f" of {tokens(limit)}" if limit else ""
    )
    extra = {"role": "img", "aria-label": words}
    drawn = svg.SVG(
        width=_share(100), height=TALL + 16, class_=["chart", "calls"], elements=elements, extra=extra
    )
    return Markup(drawn.as_str())


def _stack(call: Call, x: float, wide: float, scale: int) -> list[svg.Element]:
    """A call as one bar of its four counts."""
    found: list[svg.Element] = []
    y = float(TALL + 14)
    for name, amount in (
        ("read", call.cache_read),
        ("write", call.cache_write),
        ("fresh", call.fresh),
        ("out", call.output),
    ):
        high = TALL * amount / scale
        if high < 0.2:
            continue
        y -= high
        left, width = _share(x + wide * 0.15), _share(wide * 0.7)
        found.append(
            svg.Rect(x=left, y=round(y, 1), width=width, height=round(high, 1), class_=[f"t-{name}"])
        )
    return found


def _round(value: float) -> str:
    """`200k` where the figure is round."""
    return tokens(round(value)).replace(".0", "")


def _size(call: Call) -> int:
    return call.fresh + call.cache_read + call.cache_write + call.output


def _share(part: float) -> svg.Length:
    return svg.Length(round(part, 2), "%")
