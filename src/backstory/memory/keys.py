"""By what number an exchange is known: equal for its copies, and the same whatever becomes of its text."""

from __future__ import annotations

import re
import sqlite3

from ..schema.exchange import Exchange
from ..schema.step import ROOT
from ..store.counting import MADE_UP
from ..store.rows import number
from . import exchanges

MANIFEST = "manifest"
"""The message id of a prompt that only the manifest knows; its message comes with the first reply."""

_uuid = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_short = re.compile(r"msg_([A-Za-z0-9_-]{8})(?:_part_|_tool_|~|\Z)")
_kinds = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))


def is_random(message_id: str) -> bool:
    """Whether an id alone tells a message from every other: a UUID, or Cline's `msg_` with 8 random characters.

    Such characters are of three kinds: lower case, upper case and digits. What has only some of them may be a counter.
    """
    if _uuid.search(message_id):
        return True
    found = _short.match(message_id)
    return found is not None and all(kind.search(found[1]) for kind in _kinds)


def key_of(exchange: Exchange, home: str) -> int:
    """The number of an exchange; `home` is its session as `source/session id`.

    An id of its own that is random decides alone: a reader that reads the text differently changes nothing. One that
    may be a counter decides together with the message's time, which forks copy. A message without an id has only its
    place, so its session and its text count.
    """
    if is_made_up(exchange.message_id):
        return number("exchange", home, exchange.message_id, exchange.asked)
    return by_id(exchange.message_id, exchange.at, home)


def by_id(message_id: str, at: int | None, home: str) -> int:
    """The number of an exchange whose message has an id of its own."""
    if is_random(message_id):
        return number("exchange", message_id)
    return number("exchange", message_id, home if at is None else str(at))


def is_made_up(message_id: str) -> bool:
    """Whether an id is the reader's: the message has none of its own."""
    return message_id == MANIFEST or message_id.startswith(MADE_UP)


def in_manifest(exchange: Exchange, home: str) -> int:
    """The number that the same prompt had while only the manifest knew it."""
    return number("exchange", home, MANIFEST, exchange.asked)


def recorded(connection: sqlite3.Connection) -> set[int]:
    """The numbers of every prompt in the archive, learned or not, superseded ones included."""
    found: set[int] = set()
    unnamed: dict[int, str] = {}
    for session, home, message_id, at in connection.execute(
        "SELECT session.n, session.source || '/' || session.id, turn.id, turn.at FROM turn"
        " JOIN file ON file.n = turn.file JOIN session ON session.n = file.session WHERE file.actor = ?",
        (ROOT,),
    ):
        if is_made_up(message_id):
            unnamed[session] = home
        else:
            found.add(by_id(message_id, at, home))
    for session, home in unnamed.items():
        for exchange in exchanges.of_session(connection, session):
            found |= {key_of(exchange, home), in_manifest(exchange, home)}
    return found
