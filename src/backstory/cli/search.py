"""`backstory search`: everything that was said, run, printed and changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from msgspec.structs import replace

from ..schema.session import Session
from ..schema.step import ROOT, Message, Step
from ..store.results import Found, Hit, SessionHits
from ..story.states import kind_of
from .line import Line, Span, View, beside, cut_line, joined, spans, width
from .listing import project, title
from .money import price
from .options import App, Count, Verb, day_option, json_option, pass_app, reading_options
from .rows import Scene, command_line, path_spans, row_of
from .text import cells
from .timeline import KIND
from .words import counted, duration, moment, number

SCOPES = ("everything", "prompts", "answers", "commands", "outputs", "files")
DEFAULT_LIMIT = 10
LEAST_TITLE = 20
PROSE = ("say", "you", "think", "note")


def draw_found(view: View, found: Found) -> Iterator[Line]:
    """The count, then each session with its hits."""
    quoted = view.glyphs.one_line(found.query)
    if not found.sessions:
        yield spans(f'Nothing found for "{quoted}" in {counted(found.searched, "session")}.')
        return
    count = f"{counted(found.total, 'hit')} in {counted(found.session_count, 'session')}, best first"
    yield spans(count)
    if found.widened:
        yield spans((f'Nothing for "{quoted}" as whole words; these begin with them.', "label"))
    for wrong, taken in found.repaired.items():
        said = f'Nothing for "{view.glyphs.one_line(wrong)}"; showing "{view.glyphs.one_line(taken)}".'
        yield spans((said, "label"))
    if found.newest_only is not None:
        words = f"A common word: only its newest {number(found.newest_only)} places were compared."
        yield spans((words, "label"))
    for group in found.sessions:
        yield ()
        yield from _session(view, group)


def hint(found: Found) -> str | None:
    """How to open the first hit."""
    if not found.sessions or not found.sessions[0].hits:
        return None
    first = found.sessions[0]
    turn = first.hits[0].turn_index
    where = f" --turn {turn}" if turn is not None else ""
    return f"backstory show {first.listed.short_id}{where} opens the first."


def _session(view: View, group: SessionHits) -> Iterator[Line]:
    listed = group.listed
    when = moment(listed.last_at, view.now, view.tz) if listed.last_at is not None else ""
    short = view.glyphs.one_line(listed.short_id)
    figures = joined([spans((when, "label")), price(listed.cost)], gap=2)
    right = joined([spans(project(view, listed.session)), figures], gap=2)
    if view.cut and cells(short) + 2 + LEAST_TITLE + 2 + width(right) > view.width:
        right = figures
    left = spans((short, "label"), "  ", (title(view, listed.session), "title"))
    yield beside(view, left, right)
    digits = max((len(str(hit.turn_index or "")) for hit in group.hits), default=1) or 1
    for hit in group.hits:
        yield from _hit(view, listed.session, hit, digits)
    if group.more:
        yield spans((f"{' ' * (digits + 4)}{counted(group.more, 'more hit')}", "label"))


def _hit(view: View, session: Session, hit: Hit, digits: int) -> Iterator[Line]:
    step = hit.step
    scene = Scene(view, session, {step.id: hit.fate} if hit.fate else {})
    kind = _kind(step)
    turn = "" if hit.turn_index is None else str(hit.turn_index)
    start: Line = spans("  ", (turn.rjust(digits), "label"), "  ", (kind.ljust(KIND), "label"))
    if hit.fate is not None and hit.fate.mended_by is not None and step.type == "command":
        yield from _mended(view, hit, scene, start)
        return
    right = _state(scene, hit)
    subject = _subject(scene, hit)
    room = view.width - width(start) - (width(right) + 2 if right else 0)
    if kind in PROSE:
        room -= 4
    if subject:
        subject = cut_line(subject, room // 2, view.glyphs) if view.cut else subject
        subject = (*subject, (f" {view.glyphs.arrow} ", ""))
    passage = _passage(view, _shortened(scene, hit), room - width(subject))
    yield beside(view, (*start, *subject, *passage), right)


def _kind(step: Step) -> str:
    """The kind word; what a person typed is told from what the agent said."""
    if isinstance(step.payload, Message) and step.payload.role == "user":
        return "you" if step.actor_id == ROOT else "agent"
    return kind_of(step)


def _shortened(scene: Scene, hit: Hit) -> Hit:
    """A hit in a path, with the path as the rest of the program writes it."""
    path = getattr(hit.step.payload, "path", None)
    if hit.part != "in" or path is None or hit.text != path:
        return hit
    short = scene.path(path)
    dropped = len(path) - len(short)
    if not path.endswith(short):
        return hit
    moved = [(max(start - dropped, 0), end - dropped) for start, end in hit.spans if end > dropped]
    return replace(hit, text=short, spans=tuple(moved))


def _mended(view: View, hit: Hit, scene: Scene, start: Line) -> Iterator[Line]:
    """An error that was mended: the command, then what it failed with and what made it pass."""
    payload = hit.step.payload
    command = command_line(view, getattr(payload, "command", ""))
    yield beside(view, (*start, (command, "")), spans(("exit 0", "label")))
    after = _passed(scene, hit)
    indent = " " * width(start)
    words = "failed before with "
    room = view.width - len(indent) - len(words)
    passage = _passage(view, hit, max(room - cells(after), room * 3 // 5))
    line = spans(indent, (words, "label"), *passage, (after, "label"))
    yield cut_line(line, view.width, view.glyphs) if view.cut else line


def _passed(scene: Scene, hit: Hit) -> str:
    """`; passed after compose.yaml +6`: what changed between the failure and the success."""
    fate = hit.fate
    assert fate is not None
    if fate.changed:
        minus = scene.view.glyphs.minus
        files = []
        for path, added, removed in fate.changed[:3]:
            counts = " ".join(
                filter(None, (f"+{added}" if added else "", f"{minus}{removed}" if removed else ""))
            )
            files.append(f"{scene.view.glyphs.one_line(scene.path(path))} {counts}".rstrip())
        more = f", +{len(fate.changed) - 3} more" if len(fate.changed) > 3 else ""
        return f"; passed after {', '.join(files)}{more}"
    if fate.edits:
        return f"; passed after {counted(fate.edits, 'edit')}"
    return f"; passed {duration(fate.after)} later" if fate.after is not None else "; passed later"


def _state(scene: Scene, hit: Hit) -> Line:
    """How the step ended, where that is worth a word."""
    step = hit.step
    if step.type != "command" and step.outcome == "ok" and step.decision != "rejected":
        return ()
    right = row_of(scene, step).right
    return right[0] if right else ()


def _subject(scene: Scene, hit: Hit) -> Line:
    """What a hit in an output belongs to; nothing where the passage speaks for itself."""
    step = hit.step
    if step.type == "message" or (hit.part == "in" and step.type in ("command", "other")):
        return ()
    row = row_of(scene, step)
    if step.type in ("edit", "read"):
        own = getattr(step.payload, "path", "")
        path = scene.path(own)
        if hit.part == "in" and hit.text == own:
            return ()
        extra = row.subject[2:3] if step.type == "read" else ()
        return (*path_spans(scene.view, path), *extra)
    return row.subject


def _passage(view: View, hit: Hit, room: int) -> Line:
    """The text around the first match, its matches marked; cut at both sides where it must be."""
    pieces: list[Span] = []
    at = 0
    for start, end in hit.spans:
        pieces.append((_piece(view, hit.text[at:start]), ""))
        pieces.append((_piece(view, hit.text[start:end]), "hit"))
        at = end
    pieces.append((_piece(view, hit.text[at:]), ""))
    pieces[0] = (pieces[0][0].lstrip(), pieces[0][1])
    pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
    if not view.cut or width(pieces) <= room:
        return tuple(pieces)
    if len(pieces) > 1:
        # Whatever else is cut, the first match is seen whole where it fits.
        before = min(room // 3, room - cells(pieces[1][0]) - len(view.glyphs.cut))
        before = max(before, room - width(pieces[1:]), 0)
        pieces[0] = (_tail(view, pieces[0][0], before), "")
    return cut_line(pieces, max(room, 1), view.glyphs, at_word=True)


def _tail(view: View, text: str, room: int) -> str:
    """The end of a text in `room` cells, from a word on."""
    if cells(text) <= room:
        return text
    if room <= len(view.glyphs.cut):
        return view.glyphs.cut[:room]
    kept = text
    while kept and cells(kept) > room - len(view.glyphs.cut):
        blank = kept.find(" ")
        kept = kept[blank + 1 :] if 0 <= blank < len(kept) - 1 else kept[1:]
    return view.glyphs.cut + kept


def _piece(view: View, text: str) -> str:
    """Safe text in one line that keeps a blank at its ends, because it is a part of a line."""
    inner = view.glyphs.one_line(text)
    if not inner:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + inner + (" " if text[-1].isspace() else "")


@click.command("search", cls=Verb, short_help="Search everything said, run, printed and changed.")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@click.option("--in", "scope", type=click.Choice(SCOPES[1:]), help="Look only there.")
@click.option("--project", metavar="NAME", help="Only sessions of this folder: its name or its path.")
@day_option("--since", "Only what happened since then: today, yesterday, 24nov, 7d, 2026-11-24.")
@click.option("--failing", is_flag=True, help="Only in sessions in which something is still failing.")
@click.option(
    "--limit",
    type=Count(),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="N",
    help="At most so many sessions.",
)
@json_option
@reading_options
@pass_app
def command(app: App, /, words: tuple[str, ...], json_: bool, since: Any, **options: Any) -> None:
    """Search everything said, run, printed and changed.

    \b
    Examples:
      backstory search ECONNREFUSED
      backstory search "rate limit" --in commands --since 7d
      backstory search migration --project api-gateway
    """
    with app.archive(options) as archive:
        found = archive.search(
            " ".join(words),
            scope=options["scope"] or "everything",
            project=options["project"],
            since=since and since.at,
            failing=options["failing"],
            limit=options["limit"],
        )
    if json_:
        from .documents import found_json

        app.json(found_json(found))
        return
    app.term.write(draw_found(app.term.view, found))
    following = hint(found)
    if following:
        app.term.hint(following)
