"""The prices that hold now for the models of the archive."""

from __future__ import annotations

import sqlite3

import msgspec
from msgspec import Struct

from .price import Price, price_at

_schedule = msgspec.json.Decoder(tuple[Price, ...])


class Listing(Struct, frozen=True):
    """A model on a route, and its price; null where none is known."""

    name: str
    route: str | None
    price: Price | None


def listings(connection: sqlite3.Connection, now: int) -> list[Listing]:
    """Every model and route that was ever called, by name."""
    sql = "SELECT name, route, schedule FROM price ORDER BY name, route"
    return [
        Listing(name, route or None, price_at(_schedule.decode(schedule), now))
        for name, route, schedule in connection.execute(sql)
    ]
