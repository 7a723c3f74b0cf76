"""`backstory usage reconcile`: Cline's own totals of sessions against the calls in their messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ledger.reconcile import Compared, Difference, by_reason, reconcile
from ..ledger.top import short_ids
from .line import Line, View, spans, width
from .money import CENT, money
from .options import App
from .table import Column, header, layout, row
from .text import wrap
from .usage import Selection
from .usage_words import NOTHING, dollars, signed
from .words import counted

DEFAULT_LIMIT = 10
INDENT = 2
BETWEEN = 3
LEAST_TITLE = 16
FIXED = 30
"""Cells of the columns beside title and reasons."""
REASONS = {
    "subagents": ("subagents, left out by Cline", "child"),
    "copies": ("copies, counted in another session", "call"),
    "retries": ("requests that left no message", "session"),
    "superseded": ("calls whose messages are gone", "call"),
    "pending": ("runs that have not ended", "session"),
    "no_total": ("sessions without a total of Cline's", "session"),
    "rounding": ("rounding", "session"),
    "unexplained": ("unexplained", "session"),
}
SHORT = {
    "subagents": "subagents",
    "copies": "copies",
    "retries": "retries",
    "superseded": "replaced",
    "pending": "not ended",
    "no_total": "no total of Cline's",
    "rounding": "rounding",
    "unexplained": "unexplained",
}
PLURALS = {"child": "children"}


def show_reconcile(app: App, chosen: Selection, options: Mapping[str, Any]) -> None:
    """Print the bridge from Cline's total to the sum here, and the sessions that differ."""
    with app.archive(options) as archive:
        if options["session_id"]:
            own = archive.resolve(options["session_id"])
            found = reconcile(archive.connection, session_id=own)
        else:
            which = chosen.which
            found = reconcile(archive.connection, since=which.since, until=which.until, project=which.project)
        shorts = short_ids(archive.connection)
    if options["json_"]:
        app.json(reconcile_json(found))
    elif all(one.cline is None and not one.here for one in found):
        nothing = "Cline recorded no cost for this session."
        words = nothing if options["session_id"] else "No session here has a cost that Cline recorded."
        app.term.write([spans(words)])
    else:
        limit = options["limit"] or DEFAULT_LIMIT
        if chosen.heading and not options["session_id"]:
            app.term.write([spans((chosen.heading, "title"))])
        app.term.write(draw_reconcile(app.term.view, found, shorts, limit))


def draw_reconcile(
    view: View, found: Sequence[Compared], shorts: Mapping[str, str], limit: int
) -> Iterator[Line]:
    """The bridge between both sums, then the sessions that do not agree."""
    if len(found) == 1:
        own = view.glyphs.one_line(shorts.get(found[0].session_id, found[0].session_id))
        yield spans((f"Cline's own total of {own} against the calls in its messages", "title"))
    else:
        words = f"Cline's own session totals against the calls in its messages, {len(found):,} sessions"
        for line in wrap(words, view.width):
            yield spans((line, "title"))
    yield ()
    yield from _bridge(view, found)
    if len(found) == 1:
        return
    yield ()
    differing = [one for one in found if not one.agrees]
    agree = len(found) - len(differing)
    words = f"  {counted(agree, 'session')} {'agrees' if agree == 1 else 'agree'} to the cent."
    if not differing:
        yield spans(f"{words} Nothing is unexplained.")
        return
    yield spans(
        f"{words} The {f'{len(differing):,} that do' if len(differing) > 1 else 'one that does'} not:"
    )
    yield from _table(view, differing[:limit], shorts)
    left = len(differing) - limit
    unexplained = [one for one in differing if _has(one, "unexplained")]
    more = f"{left:,} more: --limit {len(differing)}. " if left > 0 else ""
    if not unexplained:
        yield spans(f"  {more}Nothing is unexplained.")
        return
    if more:
        yield spans(f"  {more.rstrip()}")
    example = shorts.get(unexplained[0].session_id, unexplained[0].session_id)
    words = f"{counted(len(unexplained), 'session')} unexplained"
    yield spans("  ", (words, "failing"), f": backstory usage reconcile {example}")


def reconcile_json(found: Sequence[Compared]) -> dict[str, Any]:
    """Totals, the differences by reason, and every session; money in dollars."""
    totals = [one.cline for one in found if one.cline is not None]
    return {
        "totals": {
            "sessions": len(found),
            "cline_usd": dollars(sum(totals)) if totals else None,
            "reported_usd": dollars(sum(one.here for one in found)),
            "differences": [_difference_json(one) for one in by_reason(list(found))],
        },
        "sessions": [
            {
                "session": one.session_id,
                "project": one.project,
                "title": one.title,
                "cline_usd": None if one.cline is None else dollars(one.cline),
                "reported_usd": dollars(one.here),
                "agrees": one.agrees,
                "differences": [_difference_json(difference) for difference in one.differences],
            }
            for one in found
        ],
    }


def _bridge(view: View, found: Sequence[Compared]) -> Iterator[Line]:
    with_total = sum(one.cline is not None for one in found)
    rows: list[tuple[str, str, str, str]] = [
        (
            "Cline's session totals" if len(found) > 1 else "Cline's total",
            f"metadata.usage of {counted(with_total, 'manifest')}",
            money(sum(one.cline or 0 for one in found)) if with_total else "none",
            "",
        )
    ]
    for one in by_reason(list(found)):
        if one.reason == "rounding" and abs(one.nano) < CENT:
            continue
        words, noun = REASONS[one.reason]
        role = "failing" if one.reason == "unexplained" else ""
        rows.append((words, counted(one.count, noun, PLURALS.get(noun)), signed(view, one.nano), role))
    last = ("Backstory, reported", "", money(sum(one.here for one in found)), "")
    widths = [max(len(line[at]) for line in (*rows, last)) for at in range(3)]
    whole = sum(widths) + 2 * BETWEEN
    narrow = INDENT + whole > view.width
    if narrow:
        whole -= widths[1] + BETWEEN
    for at, (words, count, amount, role) in enumerate((*rows, last)):
        if at == len(rows):
            yield spans(" " * INDENT, (view.glyphs.rule * whole, "label"))
        middle = "" if narrow else count.ljust(widths[1] + BETWEEN)
        pad = " " * (widths[0] - len(words) + BETWEEN)
        yield spans(" " * INDENT, (words, role), pad, (middle, "label"), amount.rjust(widths[2]))


def _table(view: View, found: Sequence[Compared], shorts: Mapping[str, str]) -> Iterator[Line]:
    columns = [
        Column("ID"),
        Column("TITLE", stretch=True),
        Column("CLINE", right=True),
        Column("HERE", right=True),
        Column("WHY"),
    ]
    rows: list[list[Line]] = [
        [
            spans((view.glyphs.one_line(shorts.get(one.session_id, one.session_id)), "label")),
            spans(view.glyphs.one_line(one.title or "") or "(no prompt)"),
            (NOTHING,) if one.cline is None else spans(money(one.cline)),
            spans(money(one.here)),
            _why(view, one),
        ]
        for one in found
    ]
    if view.cut and FIXED + max(width(cells[-1]) for cells in rows) + LEAST_TITLE > view.width:
        columns = [columns[0], *columns[2:-1], Column("WHY", stretch=True)]
        rows = [[cells[0], *cells[2:]] for cells in rows]
    fit = layout(columns, rows, view.width - INDENT, least=LEAST_TITLE)
    for line in (header(fit), *(row(fit, cells, view) for cells in rows)):
        yield ((" " * INDENT, ""), *line)


def _why(view: View, one: Compared) -> Line:
    parts: list[tuple[str, str]] = []
    for difference in one.differences:
        if difference.reason == "rounding":
            continue
        joint = ", " if parts else ""
        role = "failing" if difference.reason == "unexplained" else ""
        parts += [(joint, ""), (f"{counted_reason(difference)} {signed(view, difference.nano)}", role)]
    return tuple(parts)


def counted_reason(one: Difference) -> str:
    """`subagents`, `3 copies`: a reason in few words."""
    words = SHORT[one.reason]
    return (
        f"{one.count:,} {words}"
        if one.reason in ("copies", "superseded", "subagents") and one.count > 1
        else words
    )


def _has(one: Compared, reason: str) -> bool:
    return any(difference.reason == reason for difference in one.differences)


def _difference_json(one: Difference) -> dict[str, Any]:
    return {"reason": one.reason, "usd": dollars(one.nano), "count": one.count}
