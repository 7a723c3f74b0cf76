"""The ledger as a test sees it: calls of an archive with their kinds settled, sums over those that count."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct
from sessions import START, Session, metrics, text

from backstory import Archive, config
from backstory.ledger import pricing

ANTHROPIC = {"id": "claude-sonnet-4-5", "provider": "anthropic"}
UNKNOWN = {"id": "in-house-coder", "provider": "openai-compatible"}
CENT = 10_000_000
"""Billionths of a dollar."""
HOUR = 3_600_000


class Row(Struct, frozen=True):
    """A call as the archive holds it, whether it counts or not."""

    session_id: str
    actor_id: str
    key: str
    message_id: str
    at: int | None
    route: str | None
    model: str | None
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    nano: int | None
    flags: str | None
    superseded: int
    counted: int
    name: str | None
    kind: str | None
    amount: int | None
    price: str | None

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.fresh, self.cache_read, self.cache_write, self.output


class Total(Struct, frozen=True):
    """What a report adds up: the amounts stay apart, and `unpriced` are calls."""

    calls: int = 0
    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reported: int = 0
    estimated: int = 0
    covered: int = 0
    unpriced: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.cache_read + self.cache_write


def settle(kept: Archive) -> None:
    """Give every call its kind, under the settings that stand beside the archive."""
    home = kept.path.parent
    pricing.settle(kept.connection, config.load(home), home)


def stored(kept: Archive) -> list[Row]:
    """All calls in a fixed order, as they stand in the archive."""
    columns = ", ".join(Row.__struct_fields__)
    return [
        Row(*row)
        for row in kept.connection.execute(f"SELECT {columns} FROM calls ORDER BY session_id, actor_id, key")
    ]


def rows(kept: Archive) -> list[Row]:
    """All calls, settled."""
    settle(kept)
    return stored(kept)


def counted(kept: Archive) -> list[Row]:
    """The calls that count, settled."""
    return [row for row in rows(kept) if row.counted]


def summed(found: Iterable[Row]) -> Total:
    """The sum of those of the calls that count."""
    own = [row for row in found if row.counted]

    def amount(kind: str) -> int:
        return sum(row.amount or 0 for row in own if row.kind == kind)

    return Total(
        calls=len(own),
        fresh=sum(row.fresh for row in own),
        cache_read=sum(row.cache_read for row in own),
        cache_write=sum(row.cache_write for row in own),
        output=sum(row.output for row in own),
        reported=amount("reported"),
        estimated=amount("estimated"),
        covered=amount("covered"),
        unpriced=sum(row.kind == "unpriced" for row in own),
    )


def total(kept: Archive) -> Total:
    """What a report would say now, without a look at the disk."""
    return summed(rows(kept))


def spend(kept: Archive) -> tuple[int, int]:
    """How many calls count, and what was recorded for them; needs no prices."""
    (found,) = kept.connection.execute("SELECT count(*), coalesce(sum(nano), 0) FROM call WHERE counted")
    return int(found[0]), int(found[1])


def paid(dollars: Any, tokens: int = 1000, output: int = 50, **more: Any) -> dict[str, Any]:
    """The counts of a reply for which Cline recorded a cost."""
    return metrics(tokens, output, **more, cost=dollars)


def talk(root: Path, session_id: str, start: int, calls: int, dollars: float = 0.01) -> Session:
    """A session with a prompt and so many replies, not yet written; ids differ from those of other sessions."""
    session = Session(root, session_id, start)
    session.prompt(f"Prompt of {session_id}", id=f"{session_id}-prompt")
    for number in range(calls):
        session.reply(f"Answer {number}", id=f"{session_id}-{number}", metrics=paid(dollars))
    return session


def copied(origin: Session, session_id: str, start: int, messages: int | None = None) -> Session:
    """A session that begins with another's messages, ids and times and all, and says nothing about it."""
    session = Session(origin.root, session_id, start)
    session.messages = list(origin.messages[:messages])
    return session


def forked(origin: Session, session_id: str, start: int) -> Session:
    """A fork as Cline makes it: the same messages, and a mark."""
    session = copied(origin, session_id, start)
    assert session.manifest is not None
    about = {"forkedFromSessionId": origin.session_id, "forkedAt": start - 2, "source": "cli"}
    session.manifest["metadata"]["fork"] = about
    return session


def imported(root: Path, session_id: str, start: int, tool: str = "claude-code") -> Session:
    """A session that Cline took over from another agent: no envelope, a cost of 0, marked for ever."""
    session = Session(root, session_id, start)
    assert session.manifest is not None
    session.manifest |= {"source": "desktop", "pid": 0, "status": "completed"}
    session.manifest["metadata"] = {
        "sessionHistoryOrigin": {"mode": "import", "trigger": tool},
        "importedFrom": {"tool": tool, "sourceSessionId": "x", "importedAt": start + HOUR},
    }
    return session


def spoken(session: Session, number: int, **more: Any) -> None:
    """One exchange of an imported session, with ids such as the importer makes."""
    session.add("user", [text(f"Question {number}")], id=f"{session.session_id}_q{number}", **more)
    session.reply(
        f"Answer {number}",
        **{
            "id": f"{session.session_id}_a{number}",
            "modelInfo": ANTHROPIC,
            "metrics": paid(0, 400, 20, read=9000),
            **more,
        },
    )


def rewritten(session: Session, second: int) -> Session:
    """Write a session so that a pass sees the change, however fast it comes after the one before."""
    session.write()
    for path in session.folder.iterdir():
        os.utime(path, (second, second))
    return session


def forest(root: Path, seed: int) -> list[Session]:
    """A few sessions that begin with each other's messages, imports and their forks among them."""
    rng = random.Random(seed)
    grown: list[Session] = []
    for number in range(rng.randrange(2, 7)):
        start = START + rng.randrange(3) * HOUR
        session_id = f"179602600000{number}_{rng.choice('abcxyz')}tree"
        kind = rng.choice(["talk", "copy", "copy", "fork", "import"]) if grown else "talk"
        if kind == "talk":
            session = talk(root, session_id, start, rng.randrange(1, 5))
        elif kind == "import":
            session = imported(root, session_id, start)
            spoken(session, 0)
        else:
            origin = rng.choice(grown)
            begun = forked if kind == "fork" else copied
            session = begun(origin, session_id, start)
            del session.messages[rng.randrange(1, len(session.messages) + 1) :]
        for own in range(rng.randrange(3)):
            session.prompt(f"More {own}", id=f"{session_id}-more-{own}", ts=start + 60_000 + own)
            counts = paid(0.01 * rng.randrange(3), rng.randrange(100, 103))
            reply = session.reply(
                "Yes", id=f"msg_{rng.randrange(4)}", ts=start + 61_000 + own, metrics=counts
            )
            if rng.random() < 0.2:
                del reply[rng.choice(["id", "ts"])]
        if rng.random() < 0.2:
            session.manifest = None
        grown.append(session)
    return grown
