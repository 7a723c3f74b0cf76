"""What `backstory memory` shows: a row an item, what forgetting takes, and an item as a text to edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import InputError
from ..memory.memory import Forgettable
from ..memory.recall import Passage
from .line import Line, View, cut_line, joined, spans
from .table import Column, header, layout, row
from .text import wrap
from .words import clock, counted, short_day

COLUMNS = (
    Column("ID"),
    Column("WHEN", leaves=1),
    Column("PROJECT", leaves=2),
    Column("FROM", leaves=3),
    Column("TEXT", stretch=True),
)
LEAST_TEXT = 30
SHOWN = 50
"""Items that are named before a removal."""
TEXT = 9
BORDER = "----- the answer; leave this line -----"


def draw_items(view: View, found: Sequence[Passage]) -> Iterator[Line]:
    """A row an item: where it is from, and its first words."""
    rows = [_cells(view, one) for one in found]
    fit = layout(COLUMNS, rows, view.width, least=LEAST_TEXT)
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)


def _cells(view: View, one: Passage) -> list[Line]:
    when = "" if one.at is None else f"{short_day(one.at, view.now, view.tz)} {clock(one.at, view.tz)}"
    place = f"{one.short_id} prompt {one.position}" if one.session_id else "fact"
    return [
        spans((one.id, "label")),
        spans((when, "label")),
        spans(view.glyphs.one_line(one.project or "")),
        spans((view.glyphs.one_line(place), "label")),
        spans(view.glyphs.one_line(one.asked or one.answered)),
    ]


def removed_words(what: Forgettable) -> str:
    """`2 exchanges, 1 fact`, and what becomes of a session that goes as a whole."""
    facts = sum(one.kind == "fact" for one in what.items)
    prompts = len(what.items) - facts
    parts = [counted(prompts, "exchange")] if prompts or not (facts or what.sessions) else []
    if facts:
        parts.append(counted(facts, "fact"))
    if what.sessions:
        parts.append(
            f"{counted(len(what.sessions), 'session')} as a whole: what is typed there later is not learned"
        )
    return ", ".join(parts)


def copies_words(copies: int) -> str:
    """What goes besides."""
    return f"{counted(copies, 'copy', 'copies')} of them in other conversations or workspaces"


KEPT = "the sessions in the archive, with all their steps"


def draw_told(view: View, text: str) -> Iterator[Line]:
    """A sentence in as many lines as it takes."""
    text = view.glyphs.one_line(text)
    yield from (spans(line) for line in (wrap(text, view.width) if view.cut else [text]))


def draw_removal(view: View, what: Forgettable, *, all_of_it: bool) -> Iterator[Line]:
    """What goes: how much, its first words, its copies; and what stays."""
    yield from _paragraph(view, "removes", removed_words(what))
    shown = what.items if all_of_it else what.items[:SHOWN]
    for one in shown:
        text, place = (view.glyphs.one_line(word or "") for word in (one.asked or one.answered, one.project))
        line = joined([spans(" " * TEXT, (one.id, "label")), spans((place, "label")), spans(text)], gap=2)
        yield cut_line(line, view.width, view.glyphs) if view.cut else line
    if len(what.items) > len(shown):
        yield spans(" " * TEXT, (f"{len(what.items) - len(shown):,} more; --dry-run lists them", "label"))
    if what.copies:
        yield from _paragraph(view, "also", copies_words(what.copies))
    if what.sessions or any(one.kind != "fact" for one in what.items):
        yield from _paragraph(view, "keeps", f"{KEPT}; backstory forget ID removes one")


def _paragraph(view: View, word: str, words: str) -> Iterator[Line]:
    for at, line in enumerate(wrap(words, view.width - TEXT) if view.cut else [words]):
        yield spans((word.ljust(TEXT) if at == 0 else " " * TEXT, "label"), line)


def editing(passage: Passage) -> str:
    """An item as a text to edit."""
    if passage.kind == "fact":
        return passage.answered + "\n"
    return f"{passage.asked}\n\n{BORDER}\n\n{passage.answered}\n"


def edited(passage: Passage, written: str) -> dict[str, str | None]:
    """The new texts of an item that was edited. Raises `InputError` where question and answer run together."""
    if passage.kind == "fact":
        return {"text": written.strip()}
    asked, border, answered = written.partition(BORDER)
    if not border:
        raise InputError("the line between question and answer is gone. Nothing was changed.")
    return {"asked": asked.strip(), "answered": answered.strip()}
