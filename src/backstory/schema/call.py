"""The call: one model request with its tokens, as the agent recorded it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Settled(Struct, frozen=True):
    """What the ledger made of a call.

    `counted` is false for a copy of a call that counts elsewhere, and for an import. `kind` is null until the call is
    priced; `amount` is in billionths of a dollar: recorded, estimated, or, of a covered call, its list value. `name` is
    the canonical name of the model, and `price` says which price was used.
    """

    counted: bool
    kind: Literal["reported", "covered", "estimated", "unpriced"] | None = None
    amount: int | None = None
    name: str | None = None
    price: str | None = None


class CallRow(Struct, frozen=True):
    """One request. The four counts are disjoint tokens; `nano` is the recorded cost in billionths of a dollar.

    `nano` is null where the agent recorded no cost. `route` is the upstream provider and `model` its name for
    the model, both as written. `message_id` is the assistant message that carries the counts.
    """

    key: str
    message_id: str
    msg: int
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    at: int | None = None
    turn_id: str | None = None
    route: str | None = None
    model: str | None = None
    nano: int | None = None
    flags: tuple[str, ...] = ()
    settled: Settled | None = None


class Call(Struct, frozen=True):
    """A call in its session; `actor_id` is who made it."""

    key: str
    session_id: str
    actor_id: str
    turn_id: str | None
    message_id: str
    at: int | None
    provider: str
    route: str | None
    model: str | None
    fresh: int
    cache_read: int
    cache_write: int
    output: int
    nano: int | None
    flags: tuple[str, ...]
    settled: Settled | None = None
