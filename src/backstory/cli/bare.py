"""Bare `backstory`: is anything running, and does anything need me?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..store.results import Day, Listed
from .dates import day_bounds
from .line import Line, View, beside, spans
from .listing import brief_line, error_words, failures, figures, mark, new_words, project, title
from .options import App
from .text import cells, cut
from .words import counted, duration, local, moment, tilde

MOST_RUNNING = 4
MOST_LOOKS = 5
LOOK_BACK = 7 * 24 * 3600 * 1000
ERROR_CELLS = 32

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
    """What the overview draws: how many sessions where, those that run, those that need a look, today."""

    sessions: int
    home: str
    running: Sequence[Listed]
    looks: Sequence[Listed]
    today: Day | None
    synced: bool = True


def draw_overview(view: View, found: Overview) -> Iterator[Line]:
    """What is it, what is wrong, the figures."""
    place = view.glyphs.one_line(tilde(found.home, view.home))
    state = "up to date" if found.synced else "not brought up to date"
    yield spans(f"{counted(found.sessions, 'session')} in {place}, {state}")
    names = _Names.of(view, (*found.running[:MOST_RUNNING], *found.looks[:MOST_LOOKS]))
    if found.running:
        yield from ((), spans(("Running now", "title")))
        yield from _running(view, found.running, names)
    if found.looks:
        yield from ((), spans(("Needs a look", "title")))
        yield from _looks(view, found.looks, names)
    if found.today is not None and found.today.sessions:
        yield ()
        yield spans(("Today", "title"), f"  {figures(found.today.sessions, found.today.files)}")


def draw_empty(view: View, roots: Sequence[tuple[str, str]]) -> Iterator[Line]:
    """What it says before the first session."""
    yield spans("No sessions yet.")
    yield ()
    if roots:
        looked = " and ".join(f"{tilde(path, view.home)} ({rule})" for path, rule in roots)
        yield spans(view.glyphs.one_line(f"Backstory looked in {looked} and found none."))
    yield spans("Use Cline once, or set CLINE_DIR where your sessions are.")


class _Names(NamedTuple):
    """Widths that both lists share, so that ids, projects and titles stand one below the other."""

    ids: int
    projects: int

    @classmethod
    def of(cls, view: View, rows: Sequence[Listed]) -> _Names:
        ids = max((cells(listed.short_id) for listed in rows), default=0)
        projects = max((cells(project(view, listed.session)) for listed in rows), default=0)
        return cls(ids, min(projects, 20))

    def start(self, view: View, listed: Listed) -> Line:
        name = project(view, listed.session)
        name = cut(name, self.projects, view.glyphs) if view.cut else name
        symbol = mark(view, listed) or spans(" ")
        ident = view.glyphs.one_line(listed.short_id)
        return (
            *spans("  "),
            *symbol,
            *spans(" ", (ident, "label"), " " * (self.ids - cells(ident) + 2)),
            *spans(name + " " * max(self.projects - cells(name), 0), "  " if self.projects else ""),
        )

    @property
    def indent(self) -> str:
        return " " * (4 + self.ids + 2)


def _running(view: View, rows: Sequence[Listed], names: _Names) -> Iterator[Line]:
    shown = rows[:MOST_RUNNING]
    lengths = [duration(listed.length) if listed.length is not None else "" for listed in shown]
    longest = max(map(cells, lengths), default=0)
    for listed, length in zip(shown, lengths, strict=True):
        left = (*names.start(view, listed), (title(view, listed.session), ""))
        yield beside(view, left, spans(length.rjust(longest)) if length else ())
        step = brief_line(view, listed.last_step, listed.session) if listed.last_step else ()
        right = failures(listed)
        if step or right:
            yield beside(view, (*spans(names.indent), *step), right)
    yield from _more(len(rows) - len(shown))


def _looks(view: View, rows: Sequence[Listed], names: _Names) -> Iterator[Line]:
    shown = rows[:MOST_LOOKS]
    news = max((cells(new_words(listed)) for listed in shown), default=0)
    for listed in shown:
        left = (*names.start(view, listed), (title(view, listed.session), ""))
        yield beside(view, left, _why(view, listed, news))
    yield from _more(len(rows) - len(shown))


def _why(view: View, listed: Listed, news: int) -> Line:
    """`2 failing   9 new  10:41`, `401 from anthropic  09:12`."""
    when = moment(listed.last_at, view.now, view.tz) if listed.last_at is not None else ""
    clock = spans((when.rjust(5), "label"))
    if listed.state == "error":
        room = ERROR_CELLS if view.width >= 100 else view.width // 4
        words = error_words(view, listed)
        return (*spans(cut(words, room, view.glyphs) if view.cut else words), ("  ", ""), *clock)
    new = new_words(listed).rjust(news)
    return (*failures(listed), (f"  {new}  " if news else "  ", ""), *clock)


def _more(count: int) -> Iterator[Line]:
    if count > 0:
        yield spans((f"    and {count:,} more", "label"))


def hint_lines(hints: Sequence[tuple[str, str]]) -> list[str]:
    """What to type next, in two columns."""
    room = max(len(typed) for typed, _ in hints) + 2
    return [f"  {typed.ljust(room)}{words}" for typed, words in hints]


def show_overview(app: App) -> None:
    """Draw it: the newest sessions that run, the unseen ones that failed, and the day."""
    view = app.term.view
    with app.archive({}) as archive:
        count = archive.count()
        if not count:
            roots = [(str(root.path), root.rule) for root in archive.roots()]
            app.term.write(draw_empty(view, roots))
            app.term.hint(*hint_lines(FIRST_HINTS))
            return
        since = view.now - LOOK_BACK
        running = archive.sessions(state="running", since=since)
        failing = archive.sessions(failing=True, since=since, limit=None)
        stopped = archive.sessions(state="error", since=since, limit=None)
        today = local(view.now, view.tz).date()
        day = archive.days(since=day_bounds(today, view.tz)[0], tz=view.tz).get(today)
        home = str(archive.path.parent if archive.path.name == "archive.db" else archive.path)
    at_work = {listed.session.id for listed in running}
    looks = {
        listed.session.id: listed
        for listed in (*failing, *stopped)
        if listed.unseen and listed.session.id not in at_work
    }
    newest = sorted(looks.values(), key=lambda listed: listed.last_at or 0, reverse=True)
    app.term.write(draw_overview(view, Overview(count, home, running, newest, day)))
    app.term.hint(*hint_lines(HINTS))
