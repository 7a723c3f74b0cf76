"""What a generated tree holds: the figures that a reader must arrive at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

STEP_TYPES = ("message", "command", "read", "edit", "other")


@dataclass
class Record:
    """Counts over the steps of a session, copies included: each session has a record of its own.

    `failed` leaves out what was rejected, as the product's words do.
    """

    messages: int = 0
    message: int = 0
    command: int = 0
    read: int = 0
    edit: int = 0
    other: int = 0
    turns: int = 0
    failed: int = 0
    rejected: int = 0

    def copy(self) -> Record:
        return Record(**asdict(self))

    def steps(self) -> int:
        return sum(getattr(self, kind) for kind in STEP_TYPES)


@dataclass
class Ledger:
    """Counts over the calls that count: a copy counts once, an import not at all.

    The four token counts are disjoint; `nano` is the cost that Cline recorded, in billionths of a dollar.
    """

    calls: int = 0
    reported: int = 0
    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    nano: int = 0


def add(total: Record | Ledger, part: Record | Ledger) -> None:
    for one in fields(total):
        setattr(total, one.name, getattr(total, one.name) + getattr(part, one.name))


@dataclass
class Totals:
    """The figures of a whole tree; `record` and `ledger` as above, bytes of all files."""

    seed: int
    sessions: int = 0
    files: int = 0
    bytes: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    record: Record = field(default_factory=Record)
    ledger: Ledger = field(default_factory=Ledger)

    def count(self, kind: str, record: Record, ledger: Ledger, files: int, size: int) -> None:
        self.sessions += 1
        self.files += files
        self.bytes += size
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        add(self.record, record)
        add(self.ledger, ledger)

    def as_dict(self) -> dict[str, Any]:
        """The document beside a tree: plain names, steps by type."""
        record = asdict(self.record)
        return {
            "seed": self.seed,
            "sessions": self.sessions,
            "sessions_by_kind": dict(sorted(self.kinds.items())),
            "files": self.files,
            "bytes": self.bytes,
            "messages": record["messages"],
            "steps": self.record.steps(),
            "steps_by_type": {kind: record[kind] for kind in STEP_TYPES},
            "turns": record["turns"],
            "failed": record["failed"],
            "rejected": record["rejected"],
            **asdict(self.ledger),
        }
