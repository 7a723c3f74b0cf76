"""`backstory learn`: keeps what was asked and answered, and says what was refused and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..memory.learn import Learned, Outcome
from ..memory.workspaces import DEFAULT
from ..store.derived import short_id
from .bare import show_empty
from .line import Line, View, flow, spans, width
from .options import App, Verb, json_option, pass_app, reading_options, workspace_option
from .progress import Progress
from .table import Column, header, layout, row
from .text import cut, wrap
from .words import counted, number

if TYPE_CHECKING:
    from ..archive import Archive

REASONS = {
    "imported": "imported",
    "no_evidence": "without evidence of a folder",
    "empty": "without a prompt",
    "forgotten": "forgotten",
}
UNCLAIMED = "claimed by nobody"
"""Why a session was learned that any workspace could have learned."""
DRY = "Nothing was written."
NO_PROMPT = "(no prompt)"
COLUMNS = (
    Column(""),
    Column("ID"),
    Column("PROJECT", leaves=2),
    Column("TITLE", leaves=3),
    Column("EXCHANGES", right=True, leaves=1),
    Column("WHY", stretch=True),
)
TITLE_CELLS = 30
LEAST_WHY = 30
ENDLESS = 10_000
LABEL = 9


def draw_learned(view: View, report: Learned) -> Iterator[Line]:
    """`12 conversations learned, 40 known, 3 refused   workspace default`, then the reasons and the masked secrets."""
    words = counted(len(report.learned), "conversation")
    done = "learned" if report.written else "would be learned"
    counts = f"{words} {done}, {number(len(report.known))} known, {number(len(report.refused))} refused"
    place = spans((f"workspace {view.glyphs.one_line(report.workspace)}", "label"))
    yield from flow(view, [spans(counts), place])
    if report.refused:
        yield from _labelled(view, "refused", ", ".join(_reasons(view, report.refused)))
    free = sum(one.why == UNCLAIMED for one in report.learned)
    if free and report.workspace != DEFAULT:
        yield from _labelled(view, "among", f"{number(free)} {UNCLAIMED}")
    if report.masked:
        kinds = ", ".join(f"{number(count)} {kind}" for kind, count in sorted(report.masked.items()))
        count = counted(sum(report.masked.values()), "secret")
        yield from _labelled(view, "masked", f"{count}: {view.glyphs.one_line(kinds)}")


def _labelled(view: View, word: str, words: str) -> Iterator[Line]:
    for at, line in enumerate(wrap(words, view.width - LABEL) if view.cut else [words]):
        yield spans((word.ljust(LABEL) if at == 0 else " " * LABEL, "label"), line)


def _reasons(view: View, refused: Sequence[Outcome]) -> Iterator[str]:
    """`2 claimed by work`, `1 imported`: the most frequent first."""
    for reason, count in Counter(one.reason or "" for one in refused).most_common():
        word, colon, workspace = reason.partition(":")
        words = f"claimed by {workspace}" if colon else REASONS[word]
        yield f"{number(count)} {view.glyphs.one_line(words)}"


def draw_explained(view: View, report: Learned) -> Iterator[Line]:
    """A line a session: what became of it and why."""
    states = (("learned", report.learned), ("known", report.known), ("refused", report.refused))
    rows = [_cells(view, state, one) for state, group in states for one in group]
    if not rows:
        return
    longest = max(width(cells[-1]) for cells in rows)
    # Where the output is no terminal, nothing is left out.
    fit = layout(COLUMNS, rows, view.width if view.cut else ENDLESS, least=min(longest, LEAST_WHY))
    yield header(fit)
    for cells in rows:
        yield row(fit, cells, view)
    yield ()


def _cells(view: View, state: str, one: Outcome) -> list[Line]:
    title = view.glyphs.one_line(one.title or "") or NO_PROMPT
    role = "rejected" if state == "refused" else "label" if state == "known" else ""
    return [
        spans((state, role)),
        spans((view.glyphs.one_line(short_id(one.session_id)), "label")),
        spans(view.glyphs.one_line(one.project or "")),
        spans(cut(title, TITLE_CELLS, view.glyphs) if view.cut else title),
        spans(number(one.exchanges) if one.exchanges else ""),
        spans(view.glyphs.one_line(one.why)),
    ]


@click.command("learn", cls=Verb, short_help="Keep what was asked and answered, to recall it later.")
@workspace_option
@click.option("--dry-run", is_flag=True, help="Say what would be learned; write nothing in the memory.")
@click.option("--explain", is_flag=True, help="Say of every session what became of it and why.")
@json_option
@reading_options
@pass_app
def command(app: App, /, workspace: str, dry_run: bool, explain: bool, json_: bool, **options: Any) -> None:
    """Keep what was asked and answered, to recall it later.

    A session belongs to the workspace that claims its folder; one that nobody claims, to the workspace that learns
    it. Secrets are masked before anything is kept.

    \b
    Examples:
      backstory learn
      backstory learn --dry-run --explain
      backstory learn --workspace work
    """
    with app.archive(options) as archive:
        report = _learn(app, archive, workspace, not dry_run, options)
        if not json_ and _synced(app, options) and not archive.count():
            show_empty(app, archive, options["sessions_dirs"] or app.sessions_dirs)
            return
    if json_:
        from .memory_documents import learned_json

        app.json(learned_json(report))
        return
    if explain:
        app.term.write(draw_explained(app.term.view, report))
    app.term.write(draw_learned(app.term.view, report))
    if dry_run:
        app.term.write([spans(DRY)])
    elif report.learned:
        app.term.hint("backstory recall WORDS finds it again.")


def _synced(app: App, options: Mapping[str, Any]) -> bool:
    """Whether this run looks at the agent's folders."""
    return bool(app.up_to_date and options.get("sync", True))


def _learn(app: App, archive: Archive, workspace: str, write: bool, options: Mapping[str, Any]) -> Learned:
    """Learn, after the sessions of distributions were read too."""
    if _synced(app, options) and not (options["sessions_dirs"] or app.sessions_dirs):
        _read_distributions(app, archive)
    with Progress(app.term, "Learning conversations") as progress:
        return archive.memory.learn(workspace, write=write, progress=progress.update)


def _read_distributions(app: App, archive: Archive) -> None:
    """Read the sessions of registered distributions too. No other verb does: looking into one starts it."""
    from ..clients.wsl import records
    from ..memory.workspaces import know_drives
    from ..store.database import home

    registered = records.registered(home(archive.env))
    know_drives(archive.connection, {one.distribution: one.drives for one in registered})
    folders = tuple(Path(one.sessions) for one in registered)
    if folders:
        app.sync(archive, folders)
