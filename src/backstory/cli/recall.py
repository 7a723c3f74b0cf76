"""`backstory recall`: what was said about something before, where it is and what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..memory import terms
from ..memory.mended import Mended
from ..memory.recall import Passage, Recall
from ..memory.snippet import Snippet, around
from ..schema.words import relative, tilde
from .line import Line, Span, View, beside, cut_line, flow, joined, spans, width
from .money import price
from .options import App, Count, Verb, day_option, json_option, pass_app, workspace_option
from .text import cells, cut, wrap
from .words import clock, counted, duration, local, short_day

if TYPE_CHECKING:
    from ..archive import Archive
    from ..memory.memory import Memory

DEFAULT_LIMIT = 5
INDENT, LABEL = 3, 10
ANSWER_LINES = 2
_names_error = re.compile(
    r"(?i:error|exception|expected|cannot|can't|fatal|denied|refused|not found|undefined)|\bE[A-Z]{4,}"
)
_begins_error = re.compile(r"(?:E\s+)?[\w.$]*(?:Error|Exception)\b|error(?:\[\w+\])?:|fatal:", re.ASCII)
_place = re.compile(r"File \"|at |Traceback \(|-->|\^+$|~*\^+~*$|from |in <")
_BLANK = re.compile(r"\s")
QUERY_CELLS = 60
"""Of a query that found nothing, to be told again."""
PROJECTS = 10
"""Projects that are named where another one was asked for."""
CODE_HITS = 3
"""Words that a line which names no error can be chosen for."""
LEXICAL = "Lexical search, no model was called."


class Group(NamedTuple):
    """The results of one conversation, or one fact: the best in full, the prompts of the others beside it."""

    first: Passage
    others: tuple[int, ...]


def grouped(results: Sequence[Passage]) -> list[Group]:
    """Results by their conversation, in the order in which each is met first."""
    found: dict[str, list[Passage]] = {}
    for one in results:
        found.setdefault(one.session_id or one.id, []).append(one)
    return [
        Group(own[0], tuple(sorted(one.position for one in own[1:] if one.position is not None)))
        for own in found.values()
    ]


def draw_recalled(
    view: View, found: Recall, groups: Sequence[Group], folders: Mapping[str, str | None], scope: str
) -> Iterator[Line]:
    """The count, then each conversation with its best passage. `folders` has those of sessions, to shorten paths.

    The count is that of the passages found and of the conversations that they are in, of all that were searched.
    """
    shown = sum(group.first.session_id is not None for group in groups)
    facts = len(groups) - shown
    parts = []
    if shown:
        passages = counted(len(found.results) - facts, "passage")
        parts.append(f"{passages} in {shown:,} of {counted(found.conversations, 'conversation')}")
    if facts:
        parts.append(f"{facts:,} of {counted(found.facts, 'fact')}")
    count = ", ".join(parts)
    yield from flow(view, [spans(f"{count}, best first"), spans((view.glyphs.one_line(scope), "label"))])
    for misspelt, taken in found.repaired.items():
        words = f'"{misspelt}" stands nowhere; looked for "{taken}" instead.'
        yield spans((view.glyphs.one_line(words), "label"))
    for number, group in enumerate(groups, 1):
        yield ()
        yield from _result(view, found, number, group, folders)


def draw_nothing(view: View, found: Recall, filters: str, owner: str | None) -> Iterator[Line]:
    """Where was looked in vain; `owner` is the workspace of the folder at hand where that is another one."""
    if filters:
        where = filters
    else:
        where = f"in {counted(found.conversations, 'conversation')}"
        where += f" and {counted(found.facts, 'fact')}" if found.facts else ""
    query = cut(view.glyphs.one_line(found.query), QUERY_CELLS, view.glyphs)
    text = view.glyphs.one_line(f'Nothing found for "{query}" {where}.{_elsewhere(owner)}')
    yield from (spans(line) for line in (wrap(text, view.width) if view.cut else [text]))


def _elsewhere(owner: str | None) -> str:
    if owner is None:
        return ""
    return f" This folder belongs to the workspace {owner}: --workspace {owner} looks there."


def hint(view: View, groups: Sequence[Group]) -> str:
    """How to open the first result; nothing more where that fills the line."""
    first = groups[0].first
    if first.short_id is None:
        return LEXICAL
    turn = f" --turn {first.position}" if first.position is not None else ""
    opens = f"backstory show {first.short_id}{turn} opens the first."
    whole = f"{opens} {LEXICAL}"
    return whole if cells(whole) <= view.width else opens


def _result(
    view: View, found: Recall, number: int, group: Group, folders: Mapping[str, str | None]
) -> Iterator[Line]:
    one = group.first
    when = _when(view, one.at)
    place = ", ".join(filter(None, (view.glyphs.one_line(one.project or ""), when)))
    if one.session_id is None:
        yield beside(view, spans((f"{number}".ljust(INDENT), "label"), place), spans((one.id, "label")))
        yield from _quoted(view, "fact", one.answered, found.words, ANSWER_LINES)
        return
    where = f"{view.glyphs.one_line(one.short_id or '')}, prompt {one.position}"
    right = joined([spans((where, "label")), price(one.cost) if one.cost else ()])
    yield beside(view, spans((f"{number}".ljust(INDENT), "label"), place), right)
    if one.failure is not None and one.kind == "mended":
        yield from _failed(view, one, one.failure, found.words, folders)
    if one.asked:
        yield from _quoted(view, "asked", one.asked, found.words, 1)
    if one.answered:
        yield from _quoted(view, "answered", one.answered, found.words, ANSWER_LINES)
    if one.failure is not None and one.kind != "mended":
        yield from _failed(view, one, one.failure, found.words, folders)
    if group.others:
        noun = "prompt" if len(group.others) == 1 else "prompts"
        yield spans(" " * INDENT, (f"also {noun} {', '.join(map(str, group.others))}", "label"))


def _when(view: View, at: int | None) -> str:
    """`today 12:09`, `12 Nov 16:20`; nothing where no time was recorded."""
    if at is None:
        return ""
    today = local(at, view.tz).date() == local(view.now, view.tz).date()
    return f"{'today' if today else short_day(at, view.now, view.tz)} {clock(at, view.tz)}"


def _label(word: str) -> Line:
    return spans(" " * INDENT, (word.ljust(LABEL), "label"))


def _quoted(view: View, word: str, text: str, words: Sequence[str], lines: int) -> Iterator[Line]:
    """A text around the words that were looked for, in at most so many lines, the words marked."""
    room = view.width - INDENT - LABEL
    text = " ".join(text.split())
    snippet = around(text, words, room * lines)
    # Wide characters and broken lines take more cells than characters; a shorter part of the text then fits.
    length = room * lines
    while len(_wrapped(view, snippet, room)) > lines and length > 2:
        length -= max(length // 20, 1)
        snippet = around(text, words, length)
    for at, line in enumerate(_wrapped(view, snippet, room)[:lines]):
        yield (*(_label(word) if at == 0 else spans(" " * (INDENT + LABEL))), *line)


def _wrapped(view: View, snippet: Snippet, room: int) -> list[Line]:
    """A snippet in lines of so many cells."""
    safe, marks = _safe(view, snippet)
    found: list[Line] = []
    at = 0
    for line in wrap(safe, room):
        # Only blanks are left out at the ends of lines.
        at = safe.index(line, at)
        found.append(_marked(line, at, marks))
        at += len(line)
    return found


def _safe(view: View, snippet: Snippet) -> tuple[str, list[tuple[int, int]]]:
    """A snippet in one line that cannot act on the terminal, with the places of its words moved along."""
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    edges = [0, *(edge for span in snippet.spans for edge in span), len(snippet.text)]
    length = 0
    for place, (start, end) in enumerate(pairwise(edges)):
        piece = view.glyphs.safe(_BLANK.sub(" ", snippet.text[start:end]))
        if place % 2:
            marks.append((length, length + len(piece)))
        parts.append(piece)
        length += len(piece)
    return "".join(parts), marks


def _marked(line: str, offset: int, marks: Sequence[tuple[int, int]]) -> Line:
    """One line of a text with the parts of it that are marked."""
    found: list[Span] = []
    at = 0
    for start, end in marks:
        begin, stop = max(start - offset, at), min(end - offset, len(line))
        if begin < stop:
            found += [(line[at:begin], ""), (line[begin:stop], "hit")]
            at = stop
    return (*found, (line[at:], ""))


def _failed(
    view: View, one: Passage, failure: Mended, words: Sequence[str], folders: Mapping[str, str | None]
) -> Iterator[Line]:
    """What failed in the exchange, and what made it pass."""
    room = view.width - INDENT - LABEL
    command = view.glyphs.one_line(failure.command)
    if cells(command) > room // 2:
        command = cut_line(spans(command), room // 2, view.glyphs)[0][0]
    start = (*_label("failed"), (f"{command}: ", ""))
    rest = view.width - width(start)
    told = around(telling(failure.error, words), words, rest)
    yield cut_line((*start, *_marked(*_safe_line(view, told))), view.width, view.glyphs)
    fixed = view.glyphs.one_line(_fixed(view, failure, folders.get(one.session_id or "")))
    yield cut_line((*_label("fixed by"), (fixed, "")), view.width, view.glyphs)


def _safe_line(view: View, snippet: Snippet) -> tuple[str, int, list[tuple[int, int]]]:
    safe, marks = _safe(view, snippet)
    return safe, 0, marks


def telling(error: str, words: Sequence[str]) -> str:
    """The line of an error that says what went wrong and has most of the words; of equals the last.

    A pasted error has the words of all its lines, so the places in the code and the code itself count for little.
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    low = [word.casefold() for word in words]

    def rank(line: str) -> int:
        if _place.match(line):
            return -1
        hits = sum(word in line.casefold() for word in low)
        if not _names_error.search(line):
            return min(hits, CODE_HITS)
        return hits + CODE_HITS + (2 if _begins_error.match(line) else 0)

    return max(reversed(lines), key=rank, default="")


def _fixed(view: View, failure: Mended, folder: str | None) -> str:
    """`src/limiter/log-once.ts +1`; where no edit came between, the commands that ran, or the time that passed."""
    files = []
    for path, added, removed in failure.changed[:3]:
        lines = [f"+{added}" if added else "", f"{view.glyphs.minus}{removed}" if removed else ""]
        shown = relative(path, (folder,), view.home) if folder else tilde(path, view.home)
        files.append(" ".join(filter(None, (shown, *lines))))
    if files:
        more = len(failure.changed) - 3
        return ", ".join(files) + (f", +{more} more" if more > 0 else "")
    if failure.ran:
        return ", ".join(failure.ran)
    return (
        f"nothing that is known, {duration(failure.after)} later"
        if failure.after
        else "nothing that is known"
    )


@click.command("recall", cls=Verb, short_help="Find what was said about something before.")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@workspace_option
@click.option("--project", metavar="NAME", help="Only conversations and facts of this project, by its name.")
@day_option("--since", "Only what was asked since then: today, yesterday, 24nov, 7d, 2026-11-24.")
@click.option(
    "--limit",
    type=Count(),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="N",
    help="At most so many passages.",
)
@json_option
@pass_app
def command(
    app: App, /, words: tuple[str, ...], workspace: str, project: str | None, json_: bool, **options: Any
) -> None:
    """Find what was said about something before.

    Looks in what was learned, by words alone; no model is called. The project at hand counts a little more.

    \b
    Examples:
      backstory recall why did redis take the gateway down
      backstory recall "expected log.warn to be called 1 time" --project api
      backstory recall migration --since 30d --json
    """
    since, folder, query = options["since"], str(Path.cwd()), " ".join(words)
    if not terms.terms(query):
        raise click.UsageError("the query has no word to look for.")
    with app.archive({"sync": False}) as archive:
        memory = archive.memory
        found = memory.recall(
            query,
            workspace,
            folder=folder,
            project=project,
            since=since and since.at,
            limit=options["limit"],
        )
        if json_:
            from .memory_documents import recalled_json

            app.json(recalled_json(found))
            return
        groups = grouped(found.results)
        if not groups:
            owner = memory.owner(folder)
            other = owner if owner != workspace else None
            filters = _filters(memory, workspace, project, since.said if since else None)
            app.term.write(_in_vain(app.term.view, found, filters, other))
            return
        scope = _scope(workspace, project, memory.project_at(folder, workspace))
        folders = _folders(archive, groups)
    app.term.write(draw_recalled(app.term.view, found, groups, folders, scope))
    app.term.hint(hint(app.term.view, groups))


def _in_vain(view: View, found: Recall, filters: str, owner: str | None) -> Iterator[Line]:
    if found.conversations or found.facts:
        yield from draw_nothing(view, found, filters, owner)
        return
    option = "" if found.workspace == "default" else f" --workspace {found.workspace}"
    yield spans(
        f"Nothing is learned yet in the workspace {found.workspace}. backstory learn{option} does it."
        f"{_elsewhere(owner)}"
    )


def _filters(memory: Memory, workspace: str, project: str | None, since: str | None) -> str:
    """`of project shop since 7d in the workspace default`, and the projects that there are where it is none of them."""
    if project is None and since is None:
        return ""
    parts = (f"of project {project}" if project else "", f"since {since}" if since else "")
    told = f"{' '.join(filter(None, parts))} in the workspace {workspace}"
    names = [one.name for one in memory.projects(workspace) if one.name is not None]
    if project is None or project.casefold() in map(str.casefold, names):
        return told
    facts = memory.count_items(workspace, project=project, facts_only=True)
    return told if facts else f"{told}, which knows no such project; it knows {_some(names) or 'none'}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - PROJECTS:,} more" if len(names) > PROJECTS else ""
    return f"{', '.join(names[:PROJECTS])}{more}"


def _scope(workspace: str, project: str | None, here: str | None) -> str:
    """`workspace default, project api-gateway first`."""
    if project is not None:
        return f"workspace {workspace}, project {project} alone"
    return f"workspace {workspace}" + (f", project {here} first" if here else "")


def _folders(archive: Archive, groups: Sequence[Group]) -> dict[str, str | None]:
    """The folders of the sessions whose failures are shown with paths."""
    wanted = [group.first for group in groups if group.first.failure and group.first.failure.changed]
    ids = [one.session_id for one in wanted if one.session_id is not None]
    return {session_id: archive.listed(session_id).session.cwd for session_id in ids}
