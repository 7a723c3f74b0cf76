"""Failures that were mended: a command that failed, later succeeded, and what was changed between."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Collection, Sequence

from msgspec import Struct

from ..redact import cut, mask
from ..schema.changed import changed_lines
from ..schema.step import Command, Edit, Step
from ..store import read, summary
from ..store.derived import Fact, fates_of, is_answer
from ..store.indexing import plain
from ..store.rows import SUBJECT
from ..store.turns import positions

ERROR_HEAD, ERROR_TAIL = 600, 1_400
COMMAND = 500
DIFF_LINES, DIFF_LINE = 24, 160
RAN = 3
"""Commands between that are kept: the last ones, for a failure that no edit mended (`npm install`)."""


class Mended(Struct, frozen=True):
    """A failed command and what made it pass. Texts are masked.

    `position` is the number of the prompt in which it failed, `mended_position` of the one in which it passed, `after`
    the time between in ms. `changed` has (path, lines added, lines removed) of the edits between, `diff` their first
    changed lines, and `ran` the last commands that succeeded between.
    """

    position: int | None
    mended_position: int | None
    step_id: str
    mended_by: str
    at: int | None
    after: int | None
    command: str
    error: str
    changed: tuple[tuple[str, int, int], ...]
    ran: tuple[str, ...]
    diff: str

    def goes_through(self, positions: Collection[int]) -> bool:
        """Whether it went on in any of these prompts, from the failure to what made it pass."""
        first = self.position or 0
        return any(
            first <= one and (self.mended_position is None or one <= self.mended_position)
            for one in positions
        )


def of_session(connection: sqlite3.Connection, session: int) -> list[Mended]:
    """The mended failures of a session; of equal ones the last, whose fix is the shortest."""
    facts = summary.ordered_facts(connection, session)
    places = {fact.id: place for place, fact in enumerate(facts)}
    fates = {
        facts[places[step_id]]: fate
        for step_id, fate in fates_of(facts).items()
        if fate.mended_by is not None and _is_wanted(facts[places[step_id]])
    }
    if not fates:
        return []
    between = _Between(connection, session, facts)
    ends = {fate.mended_by: facts[places[fate.mended_by]].n for fate in fates.values() if fate.mended_by}
    prompts = positions(connection, session, [*(failed.n for failed in fates), *ends.values()])
    found: dict[tuple[str, str], Mended] = {}
    for failed, fate in fates.items():
        assert fate.mended_by is not None
        step = between.step(failed.n)
        command, error = _command(step), _error(step)
        # `fates_of` goes from the end of the session to its beginning: the first met is the last.
        if not error or (command, error) in found:
            continue
        first, last = places[failed.id] + 1, places[fate.mended_by]
        found[command, error] = Mended(
            position=prompts[failed.n],
            mended_position=prompts[ends[fate.mended_by]],
            step_id=failed.id,
            mended_by=fate.mended_by,
            at=failed.at,
            after=fate.after,
            command=command,
            error=error,
            changed=between.changed(first, last),
            ran=between.ran(first, last),
            diff=between.diff(first, last),
        )
    return sorted(found.values(), key=lambda one: places[one.step_id])


class _Between:
    """What was done between two places of a session; each edit is read once, and only as far as it is shown."""

    def __init__(self, connection: sqlite3.Connection, session: int, facts: Sequence[Fact]) -> None:
        self.connection, self.session, self.facts = connection, session, facts
        done = [(place, fact.type) for place, fact in enumerate(facts) if fact.outcome == "ok"]
        self._edits = [place for place, kind in done if kind == "edit"]
        self._commands = [place for place, kind in done if kind == "command"]
        self._lines: dict[int, list[str]] = {}
        self._paths: dict[int, str] = {}

    def step(self, n: int) -> Step:
        return read.some_steps(self.connection, self.session, [n])[n][0]

    def changed(self, first: int, last: int) -> tuple[tuple[str, int, int], ...]:
        """(path, lines added, lines removed) of the edits, a file once."""
        found: dict[str, tuple[int, int]] = {}
        for place in _within(self._edits, first, last):
            fact = self.facts[place]
            path = self._path(fact)
            added, removed = found.get(path, (0, 0))
            found[path] = (added + (fact.added or 0), removed + (fact.removed or 0))
        return tuple((path, added, removed) for path, (added, removed) in found.items())

    def _path(self, fact: Fact) -> str:
        """The masked path of an edit; a long one is cut in the facts."""
        if fact.n not in self._paths:
            path = fact.subject
            if len(path) >= SUBJECT:
                payload = self.step(fact.n).payload
                assert isinstance(payload, Edit)
                path = payload.path
            self._paths[fact.n] = mask(path)
        return self._paths[fact.n]

    def ran(self, first: int, last: int) -> tuple[str, ...]:
        """The last commands that succeeded."""
        return tuple(
            _command(self.step(self.facts[place].n), SUBJECT)
            for place in _within(self._commands, first, last)[-RAN:]
        )

    def diff(self, first: int, last: int) -> str:
        """The first changed lines of the edits, a file under its name."""
        lines: list[str] = []
        for place in _within(self._edits, first, last):
            if len(lines) > DIFF_LINES:
                break
            lines += self._changed_lines(self.facts[place])
        kept = lines[:DIFF_LINES]
        # Each line is whole where a secret would be; what goes over several lines is seen in all of them.
        return mask("\n".join([*kept, "…"] if len(lines) > len(kept) else kept))

    def _changed_lines(self, fact: Fact) -> list[str]:
        if fact.n not in self._lines:
            payload = self.step(fact.n).payload
            assert isinstance(payload, Edit)
            changed = [line for line in changed_lines(payload, whole=True) if line.sign != " "]
            self._lines[fact.n] = [
                mask(payload.path),
                # One more than is shown says that there are more.
                *(f"{line.sign} {cut(line.text, 0, DIFF_LINE)}" for line in changed[: DIFF_LINES + 1]),
            ]
        return self._lines[fact.n]


def _within(places: Sequence[int], first: int, last: int) -> Sequence[int]:
    return places[bisect_left(places, first) : bisect_left(places, last)]


def _is_wanted(fact: Fact) -> bool:
    return fact.type == "command" and not is_answer(fact) and not _is_imported(fact)


def _is_imported(fact: Fact) -> bool:
    return "imported" in (fact.flags or "").split(" ")


def _command(step: Step, room: int = COMMAND) -> str:
    assert isinstance(step.payload, Command)
    return cut(step.payload.command, 0, room)


def _error(step: Step) -> str:
    """What the failed command printed: its beginning and its end, or why it has no output. Masked where it is cut."""
    assert isinstance(step.payload, Command)
    text = plain(step.payload.stdout or "").strip()
    if not text and step.error is not None:
        text = step.error.message
    if len(text) <= ERROR_HEAD + ERROR_TAIL:
        return mask(text)
    return mask(f"{cut(text, 0, ERROR_HEAD)}\n…\n{cut(text, len(text) - ERROR_TAIL, len(text))}")
