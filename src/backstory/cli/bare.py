"""Bare `backstory`: is anything running, does anything need me, and what did today cost?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..schema.words import tilde
from ..store.results import Cost, Day, Listed
from .dates import day_bounds
from .line import Line, View, beside, flow, joined, spans, width
from .listing import brief_line, error_words, failures, figures, mark, new_words, project, title
from .money import DOLLAR, KINDS, money, price, sums
from .options import App
from .text import cells, cut, wrap
from .words import counted, duration, local, moment

if TYPE_CHECKING:
    from ..archive import Archive
    from ..ledger.budget import Standing

TODAY = "Today"
MOST_RUNNING = 4
MOST_LOOKS = 5
LOOK_BACK = 7 * 24 * 3600 * 1000
ERROR_CELLS = 32
LEAST_TITLE = 20
LEAST_NAME = 4

HINTS = (
    ("backstory show last", "the newest session; any ID above works too"),
    ("backstory search WORD", "everything said, run, printed and changed"),
    ("backstory up", "keep the archive up to date while you work"),
    ("backstory --help", "all verbs"),
)
FIRST_HINTS = (
    ("backstory doctor", "which folders were looked at, and by which rule"),
    ("backstory demo", "load sample sessions and look around"),
)


class Overview(NamedTuple):
    """What the overview draws: how many sessions where, those that run, those that need a look, today.

    `spent` is the cost of the calls that were made today, whichever session made them; `passed` are the budgets that
    are used up.
    """

    sessions: int
    home: str
    running: Sequence[Listed]
    looks: Sequence[Listed]
    today: Day | None
    synced: bool = True
    spent: Cost = Cost()
    passed: Sequence[Standing] = ()


def draw_overview(view: View, found: Overview) -> Iterator[Line]:
    """What is it, what is wrong, the figures."""
    state = "up to date" if found.synced else "not brought up to date"
    words = f"{counted(found.sessions, 'session')} in {tilde(found.home, view.home)}, {state}"
    yield from _sentence(view, words)
    whys = _whys(view, found.looks[:MOST_LOOKS])
    rows = (*found.running[:MOST_RUNNING], *found.looks[:MOST_LOOKS])
    edges = [*whys, *_works(found.running[:MOST_RUNNING])]
    names = _Names.of(view, rows, max(map(width, edges), default=0))
    if found.running:
        yield from ((), spans(("Running now", "title")))
        yield from _running(view, found.running, names)
    if found.looks:
        yield from ((), spans(("Needs a look", "title")))
        yield from _looks(view, found.looks, whys, names)
    if found.today is not None and found.today.sessions:
        yield ()
        yield from _today(view, found, found.today)


def _today(view: View, found: Overview, today: Day) -> Iterator[Line]:
    """The figures of the day and its money; at the edge, a budget that is passed."""
    left = spans((TODAY, "title"), f"  {figures(today.sessions, today.files)}")
    passed = [spans((_passed(view, one), "rejected")) for one in found.passed]
    aside = passed[0] if passed and width(left) + 2 + width(passed[0]) <= view.width else ()
    yield beside(view, left, aside)
    indent = len(TODAY) + 2
    yield from flow(view, sums(found.spent), indent, gap=2)
    yield from flow(view, passed[1:] if aside else passed, indent)


def _passed(view: View, one: Standing) -> str:
    """`budget of the day passed: $5.09 of $5`."""
    budget = one.budget
    limit = money(budget.nano)
    limit = limit.removesuffix(".00") if budget.nano >= DOLLAR else limit
    start, end = f"budget of the {budget.period}", f" passed: {money(one.spent)} of {limit}"
    if not budget.name:
        return start + end
    name, room = view.glyphs.one_line(budget.name), view.width - len(f"{TODAY}  {start} for {end}")
    return f"{start} for {cut(name, max(room, LEAST_NAME), view.glyphs) if view.cut else name}{end}"


def draw_empty(view: View, roots: Sequence[tuple[str, str]]) -> Iterator[Line]:
    """What it says before the first session."""
    yield spans("No sessions yet.")
    yield ()
    if roots:
        looked = " and ".join(f"{tilde(path, view.home)} ({rule})" for path, rule in roots)
        yield from _sentence(view, f"Backstory looked in {looked} and found none.")
    yield spans("Use Cline once, or set CLINE_DIR where your sessions are.")


def _sentence(view: View, words: str) -> Iterator[Line]:
    """A sentence, on a terminal in as many lines as it needs."""
    safe = view.glyphs.one_line(words)
    yield from (spans(line) for line in (wrap(safe, view.width) if view.cut else [safe]))


class _Names(NamedTuple):
    """Widths that both lists share, so that ids, projects and titles stand one below the other."""

    ids: int
    projects: int

    @classmethod
    def of(cls, view: View, rows: Sequence[Listed], edge: int) -> _Names:
        """The widths for these rows; projects leave where titles would get too little beside them."""
        ids = max((cells(view.glyphs.one_line(listed.short_id)) for listed in rows), default=0)
        projects = max((cells(project(view, listed.session)) for listed in rows), default=0)
        left = view.width - len(cls(ids, 0).indent) - projects - 2 - edge - 2
        return cls(ids, projects if left >= LEAST_TITLE else 0)

    def start(self, view: View, listed: Listed) -> Line:
        """The mark, the id and the project."""
        ident = view.glyphs.one_line(listed.short_id)
        found = spans("  ", *(mark(view, listed) or spans(" ")), " ", (ident, "label"))
        found = (*found, (" " * (self.ids - cells(ident) + 2), ""))
        if not self.projects:
            return found
        name = project(view, listed.session)
        return (*found, (name + " " * max(self.projects - cells(name), 0) + "  ", ""))

    @property
    def indent(self) -> str:
        """Where the second line of a row begins: below the project."""
        return " " * (4 + self.ids + 2)


def _running(view: View, rows: Sequence[Listed], names: _Names) -> Iterator[Line]:
    shown = rows[:MOST_RUNNING]
    for listed, work in zip(shown, _works(shown), strict=True):
        left = (*names.start(view, listed), (title(view, listed.session), ""))
        yield beside(view, left, work)
        step = brief_line(view, listed.last_step, listed.session) if listed.last_step else ()
        right = failures(listed)
        if step or right:
            yield beside(view, (*spans(names.indent), *step), right)
    yield from _more(len(rows) - len(shown))


def _works(rows: Sequence[Listed]) -> list[Line]:
    """`$0.53  31 min`: what each has cost so far, and how long it has been at work."""
    lengths = [duration(listed.length) if listed.length is not None else "" for listed in rows]
    longest = max(map(cells, lengths), default=0)
    return [
        joined([price(listed.cost), spans(length.rjust(longest))], gap=2)
        for listed, length in zip(rows, lengths, strict=True)
    ]


def _looks(view: View, rows: Sequence[Listed], whys: Sequence[Line], names: _Names) -> Iterator[Line]:
    for listed, why in zip(rows, whys, strict=False):
        yield beside(view, (*names.start(view, listed), (title(view, listed.session), "")), why)
    yield from _more(len(rows) - len(whys))


def _whys(view: View, rows: Sequence[Listed]) -> list[Line]:
    """`2 failing   9 new  10:41`, `401 from anthropic  09:12`: what is wrong, what is new, when."""
    news = max((cells(new_words(listed)) for listed in rows), default=0)
    whens = [
        moment(listed.last_at, view.now, view.tz) if listed.last_at is not None else "" for listed in rows
    ]
    longest = max(map(cells, whens), default=0)
    found: list[Line] = []
    for listed, when in zip(rows, whens, strict=True):
        clock: Line = spans("  ", (when.rjust(longest), "label"))
        if listed.state == "error":
            words = error_words(view, listed)
            room = ERROR_CELLS if view.width >= 100 else view.width // 3
            found.append((*spans(cut(words, room, view.glyphs) if view.cut else words), *clock))
        else:
            new = f"  {new_words(listed).rjust(news)}" if news else ""
            found.append((*failures(listed), (new, ""), *clock))
    return found


def _more(count: int) -> Iterator[Line]:
    if count > 0:
        yield spans((f"    and {count:,} more", "label"))


def hint_lines(hints: Sequence[tuple[str, str]]) -> list[str]:
    """What to type next, in two columns."""
    room = max(len(typed) for typed, _ in hints) + 2
    return [f"  {typed.ljust(room)}{words}" for typed, words in hints]


def show_empty(app: App, archive: Archive, sessions_dirs: Sequence[Path]) -> None:
    """Say where was looked, and what to do next, when there is no session."""
    roots = [(str(root.path), root.rule) for root in archive.roots(sessions_dirs)]
    app.term.write(draw_empty(app.term.view, roots))
    app.term.hint(*hint_lines(FIRST_HINTS))


def show_overview(app: App) -> None:
    """Draw it: the newest sessions that run, the unseen ones that failed, and the day."""
    from ..ledger.budget import standings

    view = app.term.view
    with app.archive({}) as archive:
        count = archive.count()
        if not count:
            show_empty(app, archive, app.sessions_dirs)
            return
        since = view.now - LOOK_BACK
        running = archive.sessions(state="running", since=since)
        failing = archive.sessions(failing=True, since=since, limit=None)
        stopped = archive.sessions(state="error", since=since, limit=None)
        today = local(view.now, view.tz).date()
        since, until = day_bounds(today, view.tz)
        day = archive.days(since=since, tz=view.tz).get(today)
        spent = _spent(archive, since, until)
        passed = [one for one in standings(archive.connection, view.now, view.tz) if one.passed]
        home = str(archive.path.parent if archive.path.name == "archive.db" else archive.path)
    at_work = {listed.session.id for listed in running}
    looks = {
        listed.session.id: listed
        for listed in (*failing, *stopped)
        if listed.unseen and listed.session.id not in at_work
    }
    newest = sorted(looks.values(), key=lambda listed: listed.last_at or 0, reverse=True)
    found = Overview(count, home, running, newest, day, app.up_to_date, spent, passed)
    app.term.write(draw_overview(view, found))
    app.term.hint(*hint_lines(HINTS))


def _spent(archive: Archive, since: int, until: int) -> Cost:
    """What the calls of a time came to; a session of many days costs each day what it made on it."""
    from ..ledger.report import Filter, total

    found = total(archive.connection, Filter(since, until))
    calls = {kind: getattr(found, f"{kind}_calls") for kind in KINDS}
    return Cost(found.reported, found.estimated, found.covered, calls)
