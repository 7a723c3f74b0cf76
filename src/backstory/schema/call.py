"""The call: one model request with its tokens, as the agent recorded it."""

from __future__ import annotations

from msgspec import Struct


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
