"""What the archive answers with: listed sessions, search hits, the fate of failures. Structs only.

The words follow one set of rules for terminal, app and `--json`; they are computed in `derived.py`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..schema.session import Session
from ..schema.step import Step

State = Literal["running", "idle", "no_end", "interrupted", "error", "ended"]
"""`running` at work now; `idle` open, waiting for a prompt; `no_end` went quiet without a recorded end;
`interrupted` cancelled or killed, according to the agent; `error` ended by a provider error; `ended` otherwise."""

Verdict = Literal["good", "needs_work", "bad"]
"""What a person thinks of a session or a turn."""

Scope = Literal["everything", "prompts", "answers", "commands", "outputs", "files"]


class Brief(Struct, frozen=True):
    """One step in a line: `subject` is its command, path, or the first words of its text.

    `kind` is a message's role, an edit's operation, or another tool's name.
    """

    id: str
    type: str
    kind: str | None
    subject: str
    outcome: str
    at: int | None


class Cost(Struct, frozen=True):
    """Money in billionths of a dollar, kept apart by kind and never added up; `covered` is list value, not spent.

    `calls` counts the calls of each kind, `unpriced` among them. The four counts are disjoint tokens of all of them.
    """

    reported: int = 0
    estimated: int = 0
    covered: int = 0
    calls: dict[str, int] = {}
    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Both together, each kind by itself."""
        kinds = {**self.calls, **other.calls}
        return Cost(
            self.reported + other.reported,
            self.estimated + other.estimated,
            self.covered + other.covered,
            {kind: self.calls.get(kind, 0) + other.calls.get(kind, 0) for kind in kinds},
            self.fresh + other.fresh,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
        )


class Judgement(Struct, frozen=True):
    """A person's word about a session or a turn: a verdict, a note, or both. `at` is when it was last changed."""

    verdict: Verdict | None
    note: str
    at: int


class Listed(Struct, frozen=True):
    """A session in a list. `length` is active time in ms, idle gaps left out; `unseen` steps are new to the reader.

    `error` is the text of the provider error that ended it.
    """

    session: Session
    short_id: str
    state: State
    last_at: int | None
    length: int | None
    unseen: int
    last_step: Brief | None
    error: str | None = None
    cost: Cost = Cost()
    judgement: Judgement | None = None


class Fate(Struct, frozen=True):
    """What became of a failed step: `mended_by` is the later success, or it is still `failing`, or neither.

    `after` is the time in ms from the failure to the success; `edits` counts the applied edits between them and
    `changed` names their files with the lines added and removed.
    """

    failing: bool
    mended_by: str | None = None
    after: int | None = None
    edits: int = 0
    changed: tuple[tuple[str, int, int], ...] = ()


class Hit(Struct, frozen=True):
    """A place that matches. `text` is the passage, `spans` the matches in it as (start, end) offsets.

    `part` says which side of the step: what went `in` or what came `out`; `line` of `lines` is where in that text.
    """

    step: Step
    turn_index: int | None
    part: Literal["in", "out"]
    text: str
    spans: tuple[tuple[int, int], ...]
    line: int
    lines: int
    fate: Fate | None = None


class SessionHits(Struct, frozen=True):
    """The hits in one session, best first; `more` counts those that were left out."""

    listed: Listed
    hits: tuple[Hit, ...]
    more: int


class Found(Struct, frozen=True):
    """The answer to a search: `total` places in `session_count` sessions, of which the best are here.

    `newest_only` is set when only that many of the newest matches of a common query were ranked; `session_count`
    then counts these. `widened` says that nothing matched the words, and beginnings of words were taken instead.
    `words` are those that were looked for, as the index has them; `repaired` has the typed ones that stand nowhere,
    each with the word that was taken for it.
    """

    query: str
    total: int
    session_count: int
    sessions: tuple[SessionHits, ...]
    searched: int
    newest_only: int | None = None
    widened: bool = False
    words: tuple[str, ...] = ()
    repaired: dict[str, str] = {}


class Day(Struct, frozen=True):
    """Figures of the sessions that were last active on one day: `cost` is all that these sessions cost.

    `covered` counts those of them in which every call was covered.
    """

    sessions: int
    files: int
    cost: Cost = Cost()
    covered: int = 0


Level = Literal["ok", "note", "look", "broken"]


class Finding(Struct, frozen=True):
    """One line of the doctor's report: what was seen, and, where something can be done, the next step."""

    group: str
    level: Level
    text: str
    details: tuple[str, ...] = ()
    advice: str | None = None
