"""`backstory usage line`: one short line for a prompt or a status bar."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..ledger import ranges
from ..ledger.budget import standings
from ..ledger.report import Figures, Filter, places, total
from .line import Line, View, spans
from .options import App
from .usage import Selection
from .usage_export import figures_json
from .usage_words import cached, cost


def show_line(app: App, chosen: Selection, options: Mapping[str, Any]) -> None:
    """Print the newest session's project and cost, today's cost, a budget that is passed, and the cache's share."""
    now = int(time.time() * 1000)
    with app.archive(options) as archive:
        session = _newest(archive.connection, chosen.which)
        since, until = ranges.bounds(now, "day", chosen.tz)
        which = Filter(since, until, chosen.which.project, chosen.which.model)
        today = total(archive.connection, which)
        passed = any(one.passed for one in standings(archive.connection, now, chosen.tz))
    if options["json_"]:
        newest = None if session is None else {"session": session[0], "project": session[1]}
        own = None if newest is None or session is None else {**newest, **figures_json(session[2])}
        app.json({"session": own, "today": figures_json(today), "budget_passed": passed})
        return
    drawn = draw_line(app.term.view, session and (session[1], session[2]), today, passed=passed)
    app.term.write([drawn])


def draw_line(
    view: View, session: tuple[str | None, Figures] | None, today: Figures, *, passed: bool
) -> Line:
    """`api-gateway $0.53 · today $4.61 +~$0.48 · budget passed · 86% cached`."""
    parts: list[Line] = []
    if session is not None:
        name = view.glyphs.one_line(session[0] or "") or "no project"
        parts.append((*spans(f"{name} "), *(cost(session[1]) or spans("–"))))
    parts.append((*spans("today "), *(cost(today) or spans("–"))))
    if passed:
        parts.append(spans(("budget passed", "rejected")))
    if today.input:
        parts.append(spans(f"{cached(today)} cached"))
    line: list[tuple[str, str]] = []
    for part in parts:
        line += [(" · ", "label"), *part] if line else part
    return tuple(line)


def _newest(connection: Any, which: Filter) -> tuple[str, str | None, Figures] | None:
    """The session of the last call, whole."""
    files = places(connection)
    sql = "SELECT file FROM call WHERE counted AND at IS NOT NULL ORDER BY at DESC, n DESC"
    for (file,) in connection.execute(sql):
        place = files[file]
        if Filter(project=which.project).holds(place):
            return place.session_id, place.project, total(connection, Filter(session=place.session))
    return None
