"""The exchange: what the user typed and what the assistant answered, without tools; the unit of memory."""

from __future__ import annotations

from msgspec import Struct


class Exchange(Struct, frozen=True):
    """One prompt with the answer that followed it, as the record has them.

    `position` is the number of the prompt in its session, from 1, as `show --turn` takes it. `message_id` is that of
    the prompt's message, which forks share, and `step_id` its step. `at` is UTC epoch ms. `paths` are the files that
    the agent read or edited on the way. `asked` is empty where an attachment alone opened the conversation.
    """

    position: int
    message_id: str
    step_id: str
    at: int | None
    asked: str
    answered: str
    paths: tuple[str, ...] = ()
