"""The tools at work: each call takes checked arguments, asks the archive, and answers with one text."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BackstoryError, InputError
from ..memory.workspaces import DEFAULT
from .arguments import BadArgument
from .holding import Holding
from .money import counted
from .passages import MARK, heading, page
from .protocol import ToolFailed
from .since import moment_of
from .spent import brought_up_to_date, of_project, of_session
from .text import UNITS, cited, fitted, held, named, one_line, tokens, units
from .tools import HITS, TOKENS

if TYPE_CHECKING:
    from ..archive import Archive
    from ..memory.recall import Passage, Recall

LEARN = "Ask the user to run: backstory learn"
_cited = re.compile(r"\S*[/\d]")
"""How a message begins that begins with a source or an id."""
_overlong = re.compile(r"(?:fact/|[ef])\d{19,}")

Arguments = dict[str, Any]


class Calls:
    """The tools, on one archive.

    `folder` is where the client works, `workspace` null its owner, else the default one. With `sync` false the
    archive is taken as it is.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        workspace: str | None,
        folder: str | None,
        sessions_dirs: Sequence[Path],
        sync: bool,
        env: Mapping[str, str],
    ) -> None:
        self._holding = Holding(path, env)
        self._workspace = workspace
        self._folder = folder
        self._sessions_dirs = sessions_dirs
        self._sync = sync
        self._env = env
        self._tools = {
            "recall": self._recall,
            "open": self._open,
            "recent": self._recent,
            "remember": self._remember,
            "forget": self._forget,
            "usage": self._usage,
        }

    def __call__(self, name: str, arguments: Arguments) -> str:
        """Run a tool. Raises `BadArgument`, and `ToolFailed` for whatever else goes wrong."""
        try:
            return self._holding.use(lambda archive: self._tools[name](archive, arguments))
        except BadArgument:
            raise
        except BackstoryError as error:
            words = one_line(str(error), 600)
            # A source is copied back as it is written.
            raise ToolFailed(words if _cited.match(words) else words[:1].upper() + words[1:]) from error
        except Exception as error:
            self._holding.close()
            if self._env.get("BACKSTORY_DEBUG"):
                import traceback

                traceback.print_exc()
            what = one_line(f"{type(error).__name__}: {error}", 300)
            raise ToolFailed(f"Something broke in Backstory ({what}). Other calls still work.") from error

    def close(self) -> None:
        """Close the archive."""
        self._holding.close()

    def _place(self, archive: Archive) -> str:
        """The workspace that is asked."""
        if self._workspace is not None:
            return self._workspace
        return (archive.memory.owner(self._folder) if self._folder else None) or DEFAULT

    def _recall(self, archive: Archive, arguments: Arguments) -> str:
        workspace = self._place(archive)
        found = archive.memory.recall(
            arguments["query"],
            workspace,
            folder=self._folder,
            project=_project(arguments),
            since=_since(arguments),
            limit=arguments.get("limit", HITS),
        )
        if not found.results:
            narrowed = _project(arguments) is not None or "since" in arguments
            return _nothing(found, narrowed=narrowed)
        head = f"{_searched(found)}, best first. open takes a source and a position.{_repaired(found)}"
        return page(head, found.results, _room(arguments), words=found.words)

    def _open(self, archive: Archive, arguments: Arguments) -> str:
        around = arguments.get("around", 1)
        opened = archive.memory.open(
            _source(arguments), arguments.get("position"), around=around, workspace=self._place(archive)
        )
        place = opened.around.index(opened.passage)
        titles = [
            "Opened:" if at == place else "Before it:" if at < place else "After it:"
            for at in range(len(opened.around))
        ]
        head = "A fact that was kept."
        if opened.passage.kind != "fact":
            kept = f"{counted(opened.total, 'exchange')} of this conversation {_are(opened.total)} kept"
            head = (
                f"{kept}. A person opens it with: backstory show {cited(opened.passage.short_id or '', 80)}"
            )
            head += f" --turn {opened.passage.position}"
        return page(head, opened.around, _room(arguments), titles=titles, first=place)

    def _recent(self, archive: Archive, arguments: Arguments) -> str:
        workspace, project = self._place(archive), arguments.get("project")
        everywhere = project == "*"
        folder = self._folder if project is None else None
        found = archive.memory.recent(
            workspace,
            folder=folder,
            project=None if everywhere else project,
            since=_since(arguments),
            limit=arguments.get("limit", HITS),
        )
        where = f"the project {named(project)}" if project and not everywhere else "all projects"
        if folder is not None:
            where = f"the folder {named(folder, 200)}"
        if not found:
            return f"{MARK}\n{_none_recent(archive, workspace, where, everywhere=everywhere)}"
        return page(f"The newest exchanges of {where}, newest first.", found, _room(arguments))

    def _remember(self, archive: Archive, arguments: Arguments) -> str:
        workspace = self._place(archive)
        kept = archive.memory.remember(
            arguments["text"], workspace, project=_project(arguments), author="agent"
        )
        return _said(f"Kept in the workspace {one_line(workspace)} as {heading(kept)}:", kept)

    def _forget(self, archive: Archive, arguments: Arguments) -> str:
        memory, source = archive.memory, _source(arguments)
        if not source.startswith(("conversation/", "fact/")):
            raise BadArgument("source", "has to be as cited: conversation/<id> or fact/<number>.")
        if source.startswith("conversation/") and "position" not in arguments:
            raise BadArgument("position", "is missing: one exchange is forgotten, not a conversation.")
        opened = memory.open(
            source, arguments.get("position"), around=0, workspace=self._place(archive)
        ).passage
        if opened.source != source:
            raise InputError(f"forget takes the source as cited, and that is {opened.source}.")
        what = memory.forgettable(self._place(archive), item_ids=[opened.id])
        memory.forget(what)
        copies = f", with {counted(what.copies, 'copy in another conversation')}" if what.copies == 1 else ""
        if what.copies > 1:
            copies = f", with {what.copies:,} copies in other conversations"
        record = (
            "" if opened.kind == "fact" else " The record of the session stays; backstory forget removes it."
        )
        return _said(f"Forgotten for good{copies}: {heading(opened)}.{record} It was:", opened)

    def _usage(self, archive: Archive, arguments: Arguments) -> str:
        since, session, project = _since(arguments), arguments.get("session"), arguments.get("project")
        if session is not None and project is not None:
            raise BadArgument("session", "and project exclude each other.")
        state = "The figures are those of the last pass."
        if self._sync:
            state = brought_up_to_date(archive, self._sessions_dirs)
        if session is not None:
            text = of_session(archive, session, since)
        else:
            chosen = self._folder if project is None else None if project == "*" else project
            text = of_project(archive, chosen, since, _now())
        return f"{held(text, TOKENS - tokens(state) - 1)}\n{state}"


def _now() -> int:
    return time.time_ns() // 1_000_000


def _room(arguments: Arguments) -> int:
    found: int = arguments.get("max_tokens", TOKENS)
    return found


def _project(arguments: Arguments) -> str | None:
    """The project by its name; null for all."""
    found: str | None = arguments.get("project")
    return None if found == "*" else found


def _since(arguments: Arguments) -> int | None:
    return moment_of(arguments["since"], _now()) if "since" in arguments else None


def _source(arguments: Arguments) -> str:
    source: str = arguments["source"]
    if _overlong.fullmatch(source):
        raise InputError("there is nothing of that number in the memory.")
    return source


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _searched(found: Recall) -> str:
    """`3 passages from 1,240 conversations and 4 facts`."""
    facts = f" and {counted(found.facts, 'fact')}" if found.facts else ""
    return (
        f"{counted(len(found.results), 'passage')} from {counted(found.conversations, 'conversation')}{facts}"
    )


def _repaired(found: Recall) -> str:
    pairs = [f"{one_line(wrong, 24)} as {one_line(right, 24)}" for wrong, right in found.repaired.items()][:3]
    return f" Read {', '.join(pairs)}." if pairs else ""


def _nothing(found: Recall, *, narrowed: bool) -> str:
    """Why a search gave nothing: nothing is learned, or nothing fits."""
    if not found.conversations and not found.facts:
        return f"{MARK}\nNothing is learned yet in the workspace {one_line(found.workspace)}. {LEARN}"
    facts = f" and {counted(found.facts, 'fact')}" if found.facts else ""
    searched = f"{counted(found.conversations, 'conversation')}{facts}"
    hint = (
        " Leave out project and since to look everywhere." if narrowed else " Try other names or error text."
    )
    return f"{MARK}\nNothing fits. {searched} {_are(found.conversations + found.facts)} kept.{hint}"


def _none_recent(archive: Archive, workspace: str, where: str, *, everywhere: bool) -> str:
    conversations, _ = archive.memory.counts(workspace)
    if not conversations:
        return f"Nothing is learned yet in the workspace {one_line(workspace)}. {LEARN}"
    hint = "" if everywhere else ' project "*" shows all of them.'
    return f"Nothing of {where} is kept among {counted(conversations, 'conversation')}.{hint}"


def _said(line: str, passage: Passage) -> str:
    """A line of ours about a passage, and what the passage says."""
    text = passage.answered if passage.kind == "fact" else passage.asked or passage.answered
    room = TOKENS * UNITS - units(line) - UNITS
    return f"{line}\n{fitted(text, (), room)}"


def client_folder(env: Mapping[str, str]) -> str | None:
    """Where the client works: as its shell names it where that is the same place, else as the system does.

    Null for the top of a file system, where clients start that work nowhere.
    """
    try:
        own = os.getcwd()  # noqa: PTH109
        if os.path.dirname(own) == own:  # noqa: PTH120
            return None
        named = env.get("PWD", "")
        return named if named and os.path.samefile(named, own) else own  # noqa: PTH121
    except OSError:
        return None
