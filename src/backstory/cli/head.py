"""The head of a session: what it is, how it stands, its figures, and what one should know of the record."""

from __future__ import annotations

from collections.abc import Iterator

from ..schema.record import Record
from ..schema.session import Session
from ..store.results import Cost, Listed
from .line import Line, View, flow, joined, paragraphs, spans
from .listing import TITLE, error_words
from .money import cached, sums
from .rows import lines_spans
from .words import MONTHS, clock, counted, duration, local, short_day, surface

STATES = {
    "running": "running",
    "idle": "idle",
    "no_end": "no end recorded",
    "interrupted": "interrupted, according to Cline",
    "error": "stopped by an error",
    "ended": "",
}


def head(view: View, record: Record, listed: Listed, origin: Listed | None = None) -> Iterator[Line]:
    """The title, then three lines of facts, then a line for each thing that limits the record.

    `origin` is the session that this one begins as a copy of.
    """
    session = record.session
    for line in paragraphs(view, session.title or TITLE, 0) or [TITLE]:
        yield spans((line, "title"))
    yield from flow(view, _where(view, session))
    yield from flow(view, _how(view, record, listed))
    yield from flow(view, _figures(view, session, listed.cost))
    for text in banners(view, record, listed, origin):
        for line in paragraphs(view, text, 0):
            yield spans((line, "label"))


def banners(view: View, record: Record, listed: Listed, origin: Listed | None = None) -> Iterator[str]:
    """What one should know before reading: gone, cut, a copy, compacted, unanswered."""
    session = record.session
    if listed.state == "error":
        yield _sentence(f"Stopped by an error of the provider: {error_words(view, listed)}")
    answered = any(step.type != "message" or _answers(step.payload) for step in record.steps)
    if not answered and listed.state not in ("running", "idle"):
        yield "Cline had received no answer when this session ended. The prompt is all there is."
    if session.gone:
        when = f" This copy was complete on {_when(view, session.updated_at)}." if session.updated_at else ""
        yield f"Cline no longer has this session.{when}"
    for salvage in session.fidelity.salvaged:
        name = "Cline's file" if salvage.file == f"{session.id}.messages.json" else salvage.file
        yield f"{name} ends in the middle. Everything up to message {salvage.messages:,} is here."
    if session.copied_from is not None:
        yield _copied(record, origin)
    if session.imported is not None:
        yield f"It was imported from {session.imported.tool or 'another tool'}, which keeps it."
    if session.compaction is not None:
        kept = counted(session.compaction.kept_messages, "message")
        yield f"Compacted: the model sees a summary and {kept} of what stands here."
    unknown = session.fidelity.unknown
    if unknown:
        kinds = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(unknown.items()))
        yield f"Kept as it was written, because it is not known: {kinds}."
    if session.fidelity.refused:
        count = counted(len(session.fidelity.refused), "value")
        yield f"{count} could not be used; backstory doctor names them."


def _sentence(words: str) -> str:
    """Words of somebody else with one full stop at their end, unless they end a sentence by themselves."""
    words = words.rstrip(" .,:;")
    return words if words.endswith(("!", "?", "…")) else f"{words}."


def _answers(payload: object) -> bool:
    return getattr(payload, "role", "") in ("assistant", "thinking", "system")


def _copied(record: Record, origin: Listed | None) -> str:
    """`This session begins as a copy of "Plan the thing" (170vw); its first 14 steps are counted there.`"""
    assert record.session.copied_from is not None
    name = record.session.copied_from.session_id
    if origin is not None:
        name = f'"{origin.session.title or TITLE}" ({origin.short_id})'
    count = sum("copied" in step.flags for step in record.steps)
    steps = (
        f"its first {counted(count, 'step')} {'is' if count == 1 else 'are'} counted there" if count else ""
    )
    return f"This session begins as a copy of {name}{'; ' if steps else ''}{steps}."


def _where(view: View, session: Session) -> list[Line]:
    """Folder and branch, model, where it ran, the whole id."""
    glyphs = view.glyphs
    place = ", ".join(filter(None, (session.project, session.branch)))
    groups = [place, session.model or "", surface(session.surface) or "", session.id]
    found = [spans(glyphs.one_line(group)) for group in groups[:-1]]
    return [*found, spans((glyphs.one_line(session.id), "label"))]


def _how(view: View, record: Record, listed: Listed) -> list[Line]:
    """From when to when and how it stands; prompts and steps; what failed."""
    totals = record.session.totals
    counts = [counted(totals.turns, "prompt"), counted(totals.steps, "step")]
    failed: list[Line] = []
    if totals.failed:
        failed.append(spans((f"{totals.failed:,} failed", "label")))
    if totals.failing:
        failed.append(spans((f"{totals.failing:,} still failing", "failing")))
    groups = [_span(view, record.session, listed), spans(", ".join(counts)), _commas(failed)]
    if totals.rejected:
        groups.append(spans((f"{totals.rejected:,} rejected", "rejected")))
    return groups


def _commas(parts: list[Line]) -> Line:
    found: list[tuple[str, str]] = []
    for part in parts:
        if found:
            found.append((", ", ""))
        found.extend(part)
    return tuple(found)


def _span(view: View, session: Session, listed: Listed) -> Line:
    """`30 Nov 12:04 to now, 31 min, running`."""
    started, ended = session.started_at, session.ended_at or listed.last_at
    parts: list[Line] = []
    if started is not None:
        day = short_day(started, view.now, view.tz)
        until = "now" if listed.state == "running" else _end(view, started, ended)
        if until == clock(started, view.tz):
            until = ""
        parts.append(spans(f"{day} ", (clock(started, view.tz), "label"), f" to {until}" if until else ""))
    if listed.length:
        parts.append(spans(duration(listed.length)))
    words = STATES.get(listed.state, listed.state)
    if words:
        roles = {"running": "live", "error": "failing"}
        parts.append(spans((words, roles.get(listed.state, ""))))
    return _commas(parts)


def _end(view: View, started: int, ended: int | None) -> str:
    if ended is None:
        return ""
    same = local(started, view.tz).date() == local(ended, view.tz).date()
    return clock(ended, view.tz) if same else f"{short_day(ended, view.now, view.tz)} {clock(ended, view.tz)}"


def _when(view: View, at: int) -> str:
    day = local(at, view.tz).date()
    return f"{day.day} {MONTHS[day.month - 1]}, {clock(at, view.tz)}"


def _figures(view: View, session: Session, cost: Cost) -> list[Line]:
    """What it changed and what it cost."""
    totals = session.totals
    groups: list[Line] = []
    if totals.files:
        lines = lines_spans(view, totals.added, totals.removed)
        groups.append(joined([spans(counted(totals.files, "file")), lines], gap=1))
    if totals.child_steps:
        groups.append(spans(f"{counted(totals.child_steps, 'step')} by subagents"))
    return [*groups, *sums(cost), spans(cached(cost))]
