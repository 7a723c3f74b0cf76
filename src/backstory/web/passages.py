"""Passages of the memory as the pages show them: what was asked and answered, where, and what it mended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ..archive import Archive
from ..cli.memory_rows import KEPT, copies_words, removed_words
from ..cli.recall import Group, telling
from ..cli.words import duration
from ..memory.memory import Forgettable
from ..memory.mended import Mended
from ..memory.recall import Passage
from ..memory.snippet import around
from . import figures, prose
from .desk import Desk
from .figures import Clock, line
from .pages.search import marked

ASKED, ANSWERED = 240, 420
"""Characters of a result that are shown around the words that were looked for."""
LONG = 1_600
"""Characters of an exchange that are shown of each of its texts; the whole is on its own page."""


class View(NamedTuple):
    """An exchange or a fact, as it is drawn."""

    id: str
    title: str
    project: str
    when: str
    full: str
    prompt: str
    cost: Markup
    href: str
    asked: Markup
    answered: Markup
    more: bool
    command: str
    error: Markup
    fixed: Markup
    first: bool
    gone: bool
    others: list[tuple[str, str]]
    removal: list[tuple[str, str]]


def href(one: Passage, position: int | None = None) -> str:
    """Where a passage stands in its session: at its prompt."""
    if one.session_id is None:
        return ""
    place = one.position if position is None else position
    at = f"?{urlencode({'at': one.step_id})}" if one.step_id and position is None else ""
    return f"/s/{quote(one.session_id)}{at}#turn-{place}"


def result(desk: Desk, archive: Archive, clock: Clock, group: Group, words: Sequence[str]) -> View:
    """A result of recall, each text around the words that were looked for."""
    one = group.first
    return _view(
        desk,
        archive,
        clock,
        one,
        words,
        _excerpt(one.asked or "", words, ASKED),
        _excerpt(one.answered, words, ANSWERED),
        more=False,
        others=[(str(place), href(one, place)) for place in group.others],
    )


def _excerpt(text: str, words: Sequence[str], room: int) -> Markup:
    """A text around the words that were looked for, in one line."""
    found = around(text, words, room)
    # One blank for each, so that the words stay where they are.
    return marked(re.sub(r"\s", " ", found.text), found.spans)


def whole(desk: Desk, archive: Archive, clock: Clock, one: Passage, limit: int | None = LONG) -> View:
    """An exchange or a fact with its texts, each up to `limit` characters."""
    asked, answered = (one.asked or "")[:limit], one.answered[:limit]
    return _view(
        desk,
        archive,
        clock,
        one,
        (),
        prose.markdown(asked),
        prose.markdown(answered),
        more=limit is not None and max(len(one.asked or ""), len(one.answered)) > limit,
        others=[],
    )


def _view(
    desk: Desk,
    archive: Archive,
    clock: Clock,
    one: Passage,
    words: Sequence[str],
    asked: Markup,
    answered: Markup,
    *,
    more: bool,
    others: list[tuple[str, str]],
) -> View:
    failure = one.failure
    return View(
        id=one.id,
        title=line(one.title),
        project=line(one.project),
        when=clock.when(one.at),
        full=clock.full(one.at),
        prompt=f"prompt {one.position}" if one.position is not None else "",
        cost=figures.price(one.cost) if one.cost else figures.EMPTY,
        href=href(one),
        asked=asked,
        answered=answered,
        more=more,
        command=line(failure.command)[:160] if failure is not None else "",
        error=_excerpt(telling(failure.error, words), words, ASKED) if failure is not None else figures.EMPTY,
        fixed=fixed(desk, archive, one, failure) if failure is not None else figures.EMPTY,
        first=one.kind == "mended",
        gone=one.gone,
        others=others,
        removal=removal(archive, Forgettable((one,), (), archive.memory.copies([one.id]))),
    )


def fixed(desk: Desk, archive: Archive, one: Passage, failure: Mended) -> Markup:
    """`compose.yaml +6`; where no edit came between, the commands that ran, or the time that passed."""
    if failure.changed:
        folder = archive.listed(one.session_id).session.cwd if one.session_id else None
        parts = [
            Markup("{} {}").format(figures.path(path, (folder,), desk.home), figures.lines(added, removed))
            for path, added, removed in failure.changed[:3]
        ]
        more = len(failure.changed) - 3
        return Markup(", ").join(parts) + (f", +{more} more" if more > 0 else "")
    if failure.ran:
        return Markup(", ").join(Markup("<code>{}</code>").format(line(command)) for command in failure.ran)
    later = f", {duration(failure.after)} later" if failure.after else ""
    return Markup("nothing that is known{}").format(later)


def removal(archive: Archive, what: Forgettable) -> list[tuple[str, str]]:
    """What forgetting takes, in the words of `backstory memory forget`."""
    found = [("Removes", removed_words(what))]
    if what.copies:
        found.append(("Also", copies_words(what.copies)))
    if what.sessions or any(one.kind != "fact" for one in what.items):
        found.append(("Keeps", KEPT))
    return found
