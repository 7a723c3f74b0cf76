"""Derived words, defined once: failed, still failing, mended, running, idle, interrupted, short id.

Terminal, app and `--json` all take them from here. The definitions stand in `docs/schema.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ..schema.session import Totals
from ..schema.step import ROOT, Command, Edit, Message, Step
from .results import Fate, State
from .rows import number

RUNNING_MS = 2 * 60 * 1000
"""A session that changed within this time and has no recorded end is running."""
OPEN_CALL_MS = 24 * 60 * 60 * 1000
"""A call without a result keeps its session running for this long; a killed one would run for ever."""
ANSWERING = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "["})
"""Commands whose exit code 1 is an answer, not a failure that waits to be mended."""


class Fact(Struct, frozen=True, gc=False):
    """What the rules need to know of a step, in reading order."""

    id: str
    actor_id: str
    msg: int
    sub: int
    type: str
    kind: str | None
    subject: str
    same: int | None
    at: int | None
    ended_at: int | None
    outcome: str
    decision: str
    exit_code: int | None
    added: int | None
    removed: int | None
    flags: str | None
    n: int = 0

    @property
    def failed(self) -> bool:
        return self.outcome == "failed" and self.decision != "rejected"

    @property
    def is_error(self) -> bool:
        return self.failed and self.type == "message" and "error" in (self.flags or "").split(" ")


def fates(steps: Sequence[Step]) -> dict[str, Fate]:
    """What became of each failed command, edit and provider error, by step id; `steps` in order of `seq`."""
    return fates_of([_fact(step) for step in steps if not step.superseded])


def _fact(step: Step) -> Fact:
    payload = step.payload
    same = exit_code = added = removed = None
    kind: str | None = None
    subject = ""
    if isinstance(payload, Command):
        subject, exit_code = payload.command, payload.exit_code
        same = number("command", payload.command, payload.cwd or "")
    elif isinstance(payload, Edit):
        kind, subject, added, removed = payload.operation, payload.path, payload.added, payload.removed
        same = number("edit", payload.path)
    elif isinstance(payload, Message):
        kind = payload.role
    return Fact(
        step.id,
        step.actor_id,
        step.seq,
        0,
        step.type,
        kind,
        subject,
        same,
        step.at,
        step.ended_at,
        step.outcome,
        step.decision,
        exit_code,
        added,
        removed,
        " ".join(step.flags) or None,
    )


def fates_of(facts: Sequence[Fact]) -> dict[str, Fate]:
    """The same from facts."""
    found: dict[str, Fate] = {}
    later_ok: dict[int, tuple[Fact, int]] = {}
    edits: list[Fact] = []  # applied edits that follow, the nearest last
    last_root = next((fact for fact in reversed(facts) if fact.actor_id == ROOT), None)
    for fact in reversed(facts):
        if fact.outcome == "ok" and fact.same is not None:
            later_ok[fact.same] = (fact, len(edits))
            if fact.type == "edit":
                edits.append(fact)
        elif fact.is_error:
            found[fact.id] = Fate(failing=fact is last_root)
        elif fact.failed and fact.type in ("command", "edit"):
            success, known = later_ok.get(fact.same or 0, (None, 0))
            found[fact.id] = _fate(fact, success, edits[known:])
    return found


def still_failing(facts: Sequence[Fact], last_root: Fact | None) -> int:
    """How many of the same are still failing, without what became of the others; from telling facts alone."""
    later_ok: set[int] = set()
    count = int(last_root is not None and last_root.is_error)
    for fact in reversed(facts):
        if fact.same is None:
            continue
        if fact.outcome == "ok":
            later_ok.add(fact.same)
        elif fact.failed and fact.same not in later_ok and not is_answer(fact):
            count += 1
    return count


def _fate(fact: Fact, success: Fact | None, between: Sequence[Fact]) -> Fate:
    if success is None:
        return Fate(failing=not is_answer(fact))
    edits = [edit for edit in reversed(between) if edit is not success]
    start, end = fact.ended_at or fact.at, success.ended_at or success.at
    after = max(end - start, 0) if start is not None and end is not None else None
    changed: dict[str, tuple[int, int]] = {}
    for edit in edits:
        added, removed = changed.get(edit.subject, (0, 0))
        changed[edit.subject] = (added + (edit.added or 0), removed + (edit.removed or 0))
    lines = tuple((path, added, removed) for path, (added, removed) in changed.items())
    return Fate(failing=False, mended_by=success.id, after=after, edits=len(edits), changed=lines)


def is_answer(fact: Fact) -> bool:
    """Whether exit code 1 was the command's answer, as it is of `grep`."""
    words = fact.subject.split(None, 1)
    return fact.exit_code == 1 and bool(words) and words[0].rpartition("/")[2] in ANSWERING


TELLING = "(step.same IS NOT NULL OR step.outcome = 'failed' OR step.decision = 'rejected')"
"""The steps that `totals` looks at one by one, as a condition of a query; of all others only the number counts."""


def totals(telling: Sequence[Fact], last_root: Fact | None, *, turns: int, root: int, others: int) -> Totals:
    """Counts over a session's current steps: of its telling facts, and of the root's and the others' steps."""
    failed = rejected = edits = added = removed = 0
    files: set[int | None] = set()
    for fact in telling:
        if fact.decision == "rejected":
            rejected += 1
        elif fact.outcome == "failed":
            failed += 1
        if fact.type == "edit" and fact.outcome == "ok":
            edits += 1
            files.add(fact.same)
            added += fact.added or 0
            removed += fact.removed or 0
    return Totals(
        turns=turns,
        steps=root,
        child_steps=others,
        failed=failed,
        failing=still_failing(telling, last_root),
        rejected=rejected,
        edits=edits,
        files=len(files),
        added=added,
        removed=removed,
    )


def active_length(
    first: int | None, last: int | None, quiet: Iterable[int | None], idle_gap: int
) -> int | None:
    """Time from the first step to the last in ms, without the gaps before prompts that were idle."""
    if first is None or last is None:
        return None
    idle = sum(gap for gap in quiet if gap is not None and gap >= idle_gap)
    return max(last - first - idle, 0)


def state(
    *,
    status: str | None,
    ended_at: int | None,
    terminal_marker: str | None,
    error: str | None,
    changed_at: int | None,
    open_call: bool,
    gone: bool,
    now: int,
) -> State:
    """Where a session stands at `now`. What Cline says of itself is believed only where nothing better is known."""
    if ended_at is not None:
        if error is not None:
            return "error"
        return "interrupted" if status == "cancelled" or terminal_marker is not None else "ended"
    if gone:
        return "no_end"
    if status == "idle":
        return "idle"
    age = now - changed_at if changed_at is not None else None
    if age is not None and (age < RUNNING_MS or (open_call and age < OPEN_CALL_MS)):
        return "running"
    return "error" if error is not None else "no_end"


def short_id(session_id: str) -> str:
    """The part after the last `_`, which Cline makes of five characters; the whole id where there is none."""
    head, _, tail = session_id.rpartition("_")
    return tail if head.isdigit() and tail else session_id
