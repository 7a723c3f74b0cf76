"""What a price is, which of several holds at a moment, and what a call costs by it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

PER = 1_000_000
"""Rates are for so many tokens."""
DAY = 24 * 60


class Rates(Struct, frozen=True):
    """Billionths of a dollar per million tokens, so that every published price is whole.

    $3 per million is 3,000,000,000. `cache_read` and `cache_write` are null where they are not known.
    """

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None


class Tier(Struct, frozen=True):
    """The rates of a whole call whose prompt, cached tokens included, has more than `above` tokens."""

    above: int
    rates: Rates


class Price(Struct, frozen=True):
    """A price of a model: `source` says where it is from, in words for people.

    `valid_from` is UTC epoch ms, null where it held before any other. `hours` are minutes of the UTC day, from and
    to, for makers whose price depends on the time of day. `tiers` are in order of `above`.
    """

    model: str
    source: str
    rates: Rates
    valid_from: int | None = None
    hours: tuple[int, int] | None = None
    tiers: tuple[Tier, ...] = ()


def price_at(prices: Sequence[Price], at_ms: int) -> Price | None:
    """The price that holds at a moment: the last that does, else the first; null where there is none."""
    for price in reversed(prices):
        if _holds(price, at_ms):
            return price
    return prices[0] if prices else None


def _holds(price: Price, at_ms: int) -> bool:
    """Whether a price is in force at a moment."""
    if price.valid_from is not None and at_ms < price.valid_from:
        return False
    if price.hours is None:
        return True
    minute = at_ms // 60_000 % DAY
    begin, end = price.hours
    return begin <= minute < end if begin <= end else minute >= begin or minute < end


def cost_nano(price: Price, fresh: int, cache_read: int, cache_write: int, output: int) -> int:
    """What a call costs in billionths of a dollar, rounded once, halves up. The four counts are disjoint tokens.

    Where the rate of cached tokens is not known, a read costs as much as fresh input and a write 1.25 times as much,
    as in Cline's own reckoning of writes.
    """
    prompt = fresh + cache_read + cache_write
    rates = price.rates
    for tier in price.tiers:
        if prompt > tier.above:
            rates = tier.rates
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = 5 * rates.input if rates.cache_write is None else 4 * rates.cache_write
    quarters = 4 * (fresh * rates.input + cache_read * read + output * rates.output) + cache_write * write
    return (quarters + 2 * PER) // (4 * PER)
