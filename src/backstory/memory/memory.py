"""The face of the memory: learn, recall, open, remember, edit, forget and export, for every other face to call."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from msgspec import Struct

from ..errors import InputError
from ..store.database import snapshot
from . import browse, change, export, holding, opening, undo, workspaces
from .change import Author, Item
from .folders import Place, with_parents
from .learn import CONVERSATION, Learned, Progress, behind, by_owner, learn
from .opening import Opened
from .rank import Scope
from .recall import Passage, Recall, Sessions, counts, exchanges, fact, numbered, recall
from .recent import recent
from .undo import Taken
from .workspaces import DEFAULT, Claimed, Owner, Owners, Workspace

P = ParamSpec("P")
R = TypeVar("R")


def _of_one_moment(method: Callable[Concatenate[Memory, P], R]) -> Callable[Concatenate[Memory, P], R]:
    """Has all readings of a method see the memory as it is when it begins."""

    @functools.wraps(method)
    def reading(self: Memory, /, *values: P.args, **named: P.kwargs) -> R:
        with snapshot(self.connection):
            return method(self, *values, **named)

    return reading


class Forgettable(Struct, frozen=True):
    """What forgetting would take: items, and whole sessions (`source`, `session id`); `copies` counts other places.

    `missing` are the words of a query that stand nowhere, where nothing holds all of it.
    """

    items: tuple[Passage, ...]
    sessions: tuple[tuple[str, str], ...]
    copies: int
    missing: tuple[str, ...] = ()


class Memory:
    """The memory in an archive. `now` gives UTC epoch ms. Folders are paths of this machine, as a person writes them.

    Every text that goes in is masked, so everything that comes out is.
    """

    def __init__(self, connection: sqlite3.Connection, now: Callable[[], int]) -> None:
        self.connection = connection
        self.now = now

    # Workspaces

    def workspaces(self) -> list[Workspace]:
        """All workspaces with their claims and what they hold."""
        return workspaces.listed(self.connection)

    def create_workspace(self, name: str) -> None:
        """Make a workspace. Raises `InputError` for a bad or taken name."""
        workspaces.create(self.connection, name, self.now())

    def delete_workspace(self, name: str) -> None:
        """Take out a workspace that holds and claims nothing. Raises `InputError` that says what it has."""
        workspaces.delete(self.connection, name)

    def claim(self, path: str, workspace: str = DEFAULT) -> Claimed:
        """Give a folder, and all below it, to a workspace. Raises `InputError`."""
        return workspaces.claim(self.connection, path, workspace)

    def release(self, path: str) -> str:
        """Take a claim back; returns whose it was. Raises `InputError`."""
        return workspaces.release(self.connection, path)

    def owner(self, folder: str) -> str | None:
        """The workspace that claims a folder; null where nobody does."""
        return Owners(self.connection).of(folder)

    def claim_on(self, folder: str) -> Owner | None:
        """The workspace that claims a folder with the claim that decides it; null where nobody does."""
        return Owners(self.connection).claim_on(folder)

    # Learning

    def learn(
        self,
        workspace: str = DEFAULT,
        *,
        write: bool = True,
        only: Collection[str] | None = None,
        progress: Progress | None = None,
    ) -> Learned:
        """Keep the exchanges of the archive's sessions that belong to a workspace; `only` names some by their ids.

        Raises `InputError` for an unknown workspace.
        """
        return learn(self.connection, workspace, self.now(), write=write, only=only, progress=progress)

    def keep_current(
        self, session_ids: Collection[str] | None = None, progress: Progress | None = None
    ) -> list[Learned]:
        """Learn sessions each by its own workspace, the default one where nobody claims its folder.

        Without ids it is every session that was not learned as the archive has it now.
        """
        todo = by_owner(self.connection, behind(self.connection) if session_ids is None else session_ids)
        return [self.learn(workspace, only=set(ids), progress=progress) for workspace, ids in todo.items()]

    # Recalling

    @_of_one_moment
    def recall(
        self,
        query: str,
        workspace: str = DEFAULT,
        *,
        folder: str | None = None,
        project: str | None = None,
        since: int | None = None,
        limit: int = 5,
    ) -> Recall:
        """The passages that fit a query, best first.

        `folder` is that of the project at hand, which counts a little more; `project` limits to one by name.
        `since` is UTC epoch ms. Raises `InputError` for an unknown workspace.
        """
        return recall(
            self.connection, query, workspace, self._scope(workspace, folder, project, since), limit
        )

    def _scope(self, workspace: str, folder: str | None, project: str | None, since: int | None) -> Scope:
        number = workspaces.number(self.connection, workspace)
        return Scope(number, self.now(), Place(folder).folder if folder else None, project, since)

    @_of_one_moment
    def open(
        self, source: str, position: int | None = None, *, around: int = 1, workspace: str = DEFAULT
    ) -> Opened:
        """A passage by its source and position, with `around` exchanges before and after it.

        `source` is `conversation/<session id>` or `fact/<number>`; a bare session id, a short id or an item's id
        (`e12`, `f3`) will do. Without a position the conversation's first exchange is opened. Raises `InputError`
        for what is not in this workspace.
        """
        number = workspaces.number(self.connection, workspace)
        return opening.open(self.connection, number, workspace, source, position, around)

    @_of_one_moment
    def recent(
        self,
        workspace: str = DEFAULT,
        *,
        folder: str | None = None,
        project: str | None = None,
        since: int | None = None,
        limit: int = 10,
    ) -> list[Passage]:
        """The newest exchanges, newest first: of the project in `folder`, or of the one that is named, or of all.

        Copies of one show once, for the session that began first.
        """
        scope = self._scope(workspace, folder, project, since)
        return recent(self.connection, scope, limit)

    def projects(self, workspace: str = DEFAULT) -> list[browse.Project]:
        """The projects of what was learned, the one that was worked in last first."""
        return browse.projects(self.connection, workspaces.number(self.connection, workspace))

    @_of_one_moment
    def conversations(
        self, workspace: str = DEFAULT, *, project: str | None, limit: int = 50, offset: int = 0
    ) -> list[browse.Conversation]:
        """What was learned of one project, null being what has none, newest conversation first."""
        number = workspaces.number(self.connection, workspace)
        return browse.conversations(self.connection, number, project, limit=limit, offset=offset)

    @_of_one_moment
    def conversation(self, session_id: str, workspace: str = DEFAULT) -> list[Passage]:
        """The exchanges of a session, in order; empty where a workspace has none of it."""
        number = workspaces.number(self.connection, workspace)
        condition = "conversation.workspace = ? AND session.id = ? ORDER BY exchange.position"
        return [passage for passage, _ in exchanges(self.connection, condition, number, session_id)]

    def counts(self, workspace: str = DEFAULT) -> tuple[int, int]:
        """How many conversations and facts a workspace holds."""
        return counts(self.connection, workspaces.number(self.connection, workspace))

    def project_at(self, folder: str, workspace: str = DEFAULT) -> str | None:
        """The project of a folder, or of the nearest one above it, that a workspace knows; null where it knows none."""
        number = workspaces.number(self.connection, workspace)
        for known in with_parents(Place(folder).folder):
            found = self.connection.execute(
                "SELECT project FROM conversation WHERE workspace = ? AND folder = ? AND project IS NOT NULL"
                " ORDER BY learned_at DESC, n DESC LIMIT 1",
                (number, known),
            ).fetchone()
            if found is not None:
                return str(found[0])
        return None

    # Changing

    def remember(
        self,
        text: str,
        workspace: str = DEFAULT,
        *,
        folder: str | None = None,
        project: str | None = None,
        author: Author = "person",
    ) -> Passage:
        """Add a fact, to a project where one is named. Raises `InputError` for no text, or a forgotten one."""
        place = Place(folder) if folder else None
        added = change.add_fact(
            self.connection,
            text,
            workspace=workspaces.number(self.connection, workspace),
            project=project,
            folder=place.folder if place else None,
            author=author,
            now=self.now(),
        )
        return self._passage(added)

    @_of_one_moment
    def items(
        self,
        workspace: str = DEFAULT,
        *,
        project: str | None = None,
        facts_only: bool = False,
        limit: int | None = None,
    ) -> list[Passage]:
        """What a workspace holds, newest first: facts and exchanges."""
        number = workspaces.number(self.connection, workspace)
        rows = self.connection.execute(
            "SELECT kind, n FROM ("
            " SELECT 'fact' AS kind, n, at, project, workspace FROM fact UNION ALL"
            " SELECT 'exchange', exchange.n, exchange.at, project, workspace FROM exchange"
            " JOIN conversation ON conversation.n = exchange.conversation)"
            " WHERE workspace = ? AND (? IS NULL OR project = ? COLLATE NOCASE) AND (kind = 'fact' OR NOT ?)"
            " ORDER BY at DESC, kind, n DESC LIMIT ?",
            (number, project, project, facts_only, -1 if limit is None else limit),
        ).fetchall()
        own = numbered(self.connection, [n for kind, n in rows if kind == "exchange"])
        found = {passage.id: passage for passage, _ in own}
        for kind, n in rows:
            if kind == "fact":
                found[f"f{n}"] = self._passage(Item("fact", n))
        return [found[f"{kind[0]}{n}"] for kind, n in rows]

    def count_items(
        self, workspace: str = DEFAULT, *, project: str | None = None, facts_only: bool = False
    ) -> int:
        """How many of them `items` would give."""
        number = workspaces.number(self.connection, workspace)
        project_is = "workspace = ?1 AND (?2 IS NULL OR project = ?2 COLLATE NOCASE)"
        (facts,) = self.connection.execute(
            f"SELECT count(*) FROM fact WHERE {project_is}", (number, project)
        ).fetchone()
        if facts_only:
            return int(facts)
        (learned,) = self.connection.execute(
            "SELECT count(*) FROM conversation JOIN exchange ON exchange.conversation = conversation.n"
            f" WHERE {project_is}",
            (number, project),
        ).fetchone()
        return int(facts + learned)

    def _passage(self, item: Item, sessions: Sessions | None = None) -> Passage:
        if item.kind == "fact":
            found = fact(self.connection, item.n)
        else:
            own = exchanges(self.connection, "exchange.n = ?", item.n, sessions=sessions)
            found = next((passage for passage, _ in own), None)
        if found is None:
            raise InputError(f"{item.id} was forgotten meanwhile.")
        return found

    @_of_one_moment
    def item(self, text: str) -> Passage:
        """The exchange or fact of an id (`e12`, `f3`). Raises `InputError`."""
        return self._passage(change.item(self.connection, text))

    def edit(
        self, item_id: str, *, text: str | None = None, asked: str | None = None, answered: str | None = None
    ) -> Passage:
        """Give a fact another `text`, or an exchange another question or answer. Raises `InputError`."""
        found = change.item(self.connection, item_id)
        if found.kind == "fact":
            if text is None:
                raise InputError(f"{item_id} is a fact: it has a text, no question and no answer.")
            change.edit_fact(self.connection, found.n, text, self.now())
        else:
            if asked is None and answered is None:
                raise InputError(f"{item_id} is an exchange: give another question or another answer.")
            change.edit_exchange(self.connection, found.n, asked, answered, self.now())
        return self._passage(found)

    def forget(self, what: Forgettable) -> Taken:
        """Forget what was shown, for good, with its copies; returns what `put_back` needs to undo it."""
        items = [change.item(self.connection, passage.id) for passage in what.items]
        return change.forget(self.connection, items, what.sessions, self.now())

    def put_back(self, taken: Taken) -> None:
        """Undo a forgetting: what it took out is there again, with its numbers."""
        undo.put_back(self.connection, taken)

    @_of_one_moment
    def forgettable(
        self,
        workspace: str = DEFAULT,
        *,
        item_ids: Sequence[str] = (),
        session_id: str | None = None,
        project: str | None = None,
        query: str | None = None,
    ) -> Forgettable:
        """What forgetting by ids, by a session, by a project or by a query would take; of copies one is named.

        A query takes what itself holds all its words, in the project where one is named too. What is forgotten
        already is left out. Raises `InputError`.
        """
        number = workspaces.number(self.connection, workspace)
        known = Sessions(self.connection)
        found = [self._passage(change.item(self.connection, text), known) for text in item_ids]
        sessions: list[tuple[str, str]] = []
        missing: tuple[str, ...] = ()
        if session_id is not None:
            sessions += self._sessions("session.id = ?", session_id)
        if query is not None:
            held, missing = holding.holding(self.connection, query, number, project)
            found += [self._passage(Item("fact" if is_fact else "exchange", n), known) for is_fact, n in held]
        elif project is not None:
            sessions += self._sessions(
                "session.n IN (SELECT session FROM conversation WHERE workspace = ? AND project = ? COLLATE NOCASE)",
                number,
                project,
            )
            found += [one for one in self.items(workspace, project=project) if one.kind == "fact"]
        unique: dict[str | int, Passage] = {passage.id: passage for passage in found}
        for _, own in sessions:
            ordered = "session.id = ? ORDER BY conversation.workspace != ?, exchange.n"
            for passage, key in exchanges(self.connection, ordered, own, number):
                unique.setdefault(key, passage)
        items = tuple(unique.values())
        return Forgettable(items, tuple(sessions), self.copies([one.id for one in items]), missing)

    def _sessions(self, condition: str, *values: object) -> list[tuple[str, str]]:
        return self.connection.execute(
            f"SELECT source, id FROM session WHERE {condition} AND NOT EXISTS (SELECT 1 FROM tombstone"
            f" WHERE kind = '{CONVERSATION}' AND key = source || '/' || id)",
            values,
        ).fetchall()

    def copies(self, ids: Sequence[str]) -> int:
        """How many other exchanges are copies of these items, by their ids."""
        numbers = [int(text[1:]) for text in ids if text.startswith("e")]
        (count,) = self.connection.execute(
            "WITH own (n) AS (SELECT value FROM json_each(?)) SELECT count(*) FROM exchange"
            " WHERE key IN (SELECT key FROM exchange WHERE n IN own) AND n NOT IN own",
            (json.dumps(numbers),),
        ).fetchone()
        return int(count)

    def export(self) -> Iterator[export.Part]:
        """Everything that the memory holds, part by part; nothing is held in memory but the part at hand."""
        return export.parts(self.connection)
