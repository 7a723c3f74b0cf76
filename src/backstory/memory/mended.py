"""Failures that were mended: a command that failed, later succeeded, and what was changed between."""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from ..redact import mask
from ..schema.changed import changed_lines
from ..schema.step import Command, Edit, Step
from ..store import read, summary
from ..store.derived import Fact, fates_of, is_answer
from ..store.indexing import plain

ERROR_HEAD, ERROR_TAIL = 600, 1_400
COMMAND = 500
DIFF_LINES, DIFF_LINE = 24, 160
RAN = 3
"""Commands between that are kept: the last ones, for a failure that no edit mended (`npm install`)."""


class Mended(Struct, frozen=True):
    """A failed command and what made it pass. Texts are masked.

    `position` is the number of the prompt in which it failed, `after` the time to the success in ms. `changed` has
    (path, lines added, lines removed) of the edits between, `diff` their first changed lines, and `ran` the last
    commands that succeeded between.
    """

    position: int | None
    step_id: str
    mended_by: str
    at: int | None
    after: int | None
    command: str
    error: str
    changed: tuple[tuple[str, int, int], ...]
    ran: tuple[str, ...]
    diff: str


def of_session(connection: sqlite3.Connection, session: int) -> list[Mended]:
    """The mended failures of a session; of equal ones the last, whose fix is the shortest."""
    facts = summary.ordered_facts(connection, session)
    places = {fact.id: place for place, fact in enumerate(facts)}
    found: dict[tuple[str, str], Mended] = {}
    for step_id, fate in fates_of(facts).items():
        failed = facts[places[step_id]]
        if fate.mended_by is None or failed.type != "command" or is_answer(failed) or _is_imported(failed):
            continue
        between = facts[places[step_id] + 1 : places[fate.mended_by]]
        edits = [fact for fact in between if fact.type == "edit" and fact.outcome == "ok"]
        ran = [fact for fact in between if fact.type == "command" and fact.outcome == "ok"]
        steps = read.some_steps(connection, session, [failed.n, *(edit.n for edit in edits)])
        step, position = steps[failed.n]
        mended = Mended(
            position=position,
            step_id=step_id,
            mended_by=fate.mended_by,
            at=failed.at,
            after=fate.after,
            command=_command(step),
            error=mask(_error(step)),
            changed=tuple((mask(path), added, removed) for path, added, removed in fate.changed),
            ran=tuple(mask(fact.subject) for fact in ran[-RAN:]),
            diff=mask(_diff([steps[edit.n][0] for edit in edits])),
        )
        if mended.error and (mended.command, mended.error) not in found:
            # `fates_of` goes from the end of the session to its beginning: the first met is the last.
            found[mended.command, mended.error] = mended
    return sorted(found.values(), key=lambda one: places[one.step_id])


def _is_imported(fact: Fact) -> bool:
    return "imported" in (fact.flags or "").split(" ")


def _command(step: Step) -> str:
    assert isinstance(step.payload, Command)
    return mask(step.payload.command)[:COMMAND]


def _error(step: Step) -> str:
    """What the failed command printed: its beginning and its end, or why it has no output."""
    assert isinstance(step.payload, Command)
    text = plain(step.payload.stdout or "").strip()
    if not text and step.error is not None:
        text = step.error.message
    if len(text) <= ERROR_HEAD + ERROR_TAIL:
        return text
    return f"{text[:ERROR_HEAD]}\n…\n{text[-ERROR_TAIL:]}"


def _diff(edits: list[Step]) -> str:
    """The first changed lines of the edits, a file under its name."""
    lines: list[str] = []
    for step in edits:
        if len(lines) >= DIFF_LINES:
            break
        assert isinstance(step.payload, Edit)
        changed = changed_lines(step.payload, whole=True)
        lines.append(step.payload.path)
        lines += [f"{line.sign} {line.text[:DIFF_LINE]}" for line in changed if line.sign != " "]
    kept = lines[:DIFF_LINES]
    return "\n".join([*kept, "…"] if len(lines) > len(kept) else kept)
