"""Where prices come from: the user's settings, then the price library, under one name a model.

The library (`genai-prices`, with its data inside) is imported only by the functions here that need it, when a model
is met for the first time. What they find is kept by the caller as rows, so that no report has to import it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..config import FILE, Config, OwnPrice
from ..errors import BackstoryError
from .names import canonical, renamed
from .price import DAY, Price, Rates, Tier, cost_nano, price_at

if TYPE_CHECKING:
    from genai_prices.types import ConditionalPrice, ModelInfo, ModelPrice, Provider

__all__ = ["Book", "Price", "book", "cost_nano", "lookup", "price_at", "price_rows", "refresh", "schedule"]

LIBRARY = "genai-prices"
REFRESHED = "prices.json"
ROUTES = {
    "azure": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "llama": "meta",
    "moonshot": "moonshotai",
    "novita-ai": "novita",
    "openai-native": "openai",
    "perplexity-agent": "perplexity",
    "vertex": "google",
    "xai": "x-ai",
    "zai-coding-plan": "zai",
    "zhipuai-coding-plan": "zhipuai",
}
"""Cline's providers that the library calls otherwise. All others are looked for by their own name."""
MAKERS = (
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("chatgpt", "openai"),
    ("codex", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("deepseek", "deepseek"),
    ("glm", "zai"),
    ("kimi", "moonshotai"),
    ("moonshot", "moonshotai"),
    ("minimax", "minimax"),
    ("grok", "x-ai"),
    ("muse", "meta"),
    ("command", "cohere"),
    *(
        (word, "mistral")
        for word in ("mistral", "mixtral", "ministral", "magistral", "devstral", "codestral", "pixtral")
    ),
)
"""Who makes a model, by the beginning of its name: the list price where the route has none of its own."""
RESALE = "openrouter"
"""Sells the models of all makers, mostly at the makers' own prices. The library's history of it has errors, such as
two weeks of October 2026 in which kimi-k3 costs a twelfth, so a maker's list price goes first on this route too."""
VARIANTS = (":free", ":batch")
"""Names that stand for another price than the name without them."""
MOVING = "~"
"""OpenRouter's mark for names whose model, and so whose price, changes from day to day."""


class Book(Struct, frozen=True):
    """All prices of the library: `prices` by its providers and the canonical names of their models."""

    version: str
    read_at: str | None
    prices: dict[str, dict[str, tuple[Price, ...]]]


def lookup(
    name: str, route: str | None, at_ms: int, config: Config, home: Path | None = None
) -> Price | None:
    """The price of one model, by its canonical name, at a moment (UTC epoch ms). Null where none is known."""
    return price_at(price_rows([(name, route)], config, home)[name, route], at_ms)


def price_rows(
    pairs: Iterable[tuple[str, str | None]], config: Config, home: Path | None = None
) -> dict[tuple[str, str | None], tuple[Price, ...]]:
    """All prices of (canonical name, route) pairs, for `price_at`. A model that nobody knows has none: unpriced."""
    wanted = dict.fromkeys(pairs)
    known = book(home) if wanted else Book("", None, {})
    return {(name, route): schedule(name, route, config, known) for name, route in wanted}


def schedule(name: str, route: str | None, config: Config, known: Book) -> tuple[Price, ...]:
    """Every price that a model ever had on a route: the user's, else of the route, of the maker, of OpenRouter."""
    target = renamed(name, config)
    for wanted in dict.fromkeys((name, target)):
        for model, own in config.prices.items():
            if canonical(model) == wanted:
                return (_own(name, own),)
    for provider in _providers(target, route):
        found = known.prices.get(provider, {}).get(target)
        if found:
            words = "" if target == name else f" (alias in {FILE})"
            return tuple(
                msgspec.structs.replace(price, model=name, source=price.source + words) for price in found
            )
    return ()


def _own(name: str, own: OwnPrice) -> Price:
    """A price of the user's."""
    read = None if own.cache_read is None else _nano(own.cache_read)
    write = None if own.cache_write is None else _nano(own.cache_write)
    return Price(name, FILE, Rates(_nano(own.input), _nano(own.output), read, write))


def _providers(name: str, route: str | None) -> Iterator[str]:
    """The library's providers to ask for a model, in order."""
    own = (route or "").strip().lower()
    if own != RESALE:
        yield ROUTES.get(own, own)
    yield from (maker for word, maker in MAKERS if name.startswith(word))
    yield RESALE


def book(home: Path | None = None) -> Book:
    """The prices that were refreshed into a home, as long as the library that read them is installed; else its own."""
    from importlib.metadata import version

    installed = version(LIBRARY)
    if home is not None and (home / REFRESHED).exists():
        try:
            kept = msgspec.json.decode((home / REFRESHED).read_bytes(), type=Book)
        except (OSError, msgspec.DecodeError):
            kept = None
        if kept is not None and kept.version == installed:
            return kept
    return _library(installed)


@cache
def _library(installed: str) -> Book:
    """The book that the library brings; read once, for it does not change while the program runs."""
    from genai_prices.data import providers

    return _read(providers, installed, None)


def refresh(home: Path, today: date | None = None, url: str | None = None) -> str:
    """Fetches the newest prices from the library's makers and keeps them in a home; says what came, in a line.

    It is the only thing here that uses the network. Raises `BackstoryError` where they cannot be had or kept.
    """
    from importlib.metadata import version

    from genai_prices import UpdatePrices
    from genai_prices.update_prices import DEFAULT_UPDATE_URL

    try:
        fetched = UpdatePrices(url=url or DEFAULT_UPDATE_URL).fetch()
    except Exception as error:  # the library names neither its own errors nor those of its transport
        raise BackstoryError(
            f"The prices could not be fetched: {error}. Those of before stay in use."
        ) from error
    if fetched is None:
        raise BackstoryError("The prices could not be fetched: nothing came. Those of before stay in use.")
    day = (today or datetime.now(UTC).date()).isoformat()
    read = _read(fetched.providers, version(LIBRARY), day)
    path = home / REFRESHED
    fresh = path.with_suffix(".new")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(read))
        fresh.replace(path)
    except OSError as error:
        raise BackstoryError(f"{path}: {error}. Mend that, then refresh again.") from error
    models = sum(map(len, read.prices.values()))
    return f"Prices of {models:,} models from {len(read.prices)} providers, as of {day}, are in {path}."


def _read(providers: Iterable[Provider], version: str, read_at: str | None) -> Book:
    """The library's data under canonical names."""
    words = f"{LIBRARY} {version}" if read_at is None else f"{LIBRARY}, {read_at},"
    prices = {provider.id: _models(provider, words) for provider in providers}
    return Book(version, read_at, prices)


def _models(provider: Provider, words: str) -> dict[str, tuple[Price, ...]]:
    """The prices of a provider by canonical name; a model's own id goes before other names for it.

    Bedrock's `global.` prices stand back behind those of a region, which cost the most.
    """
    found: dict[str, tuple[Price, ...]] = {}
    others: dict[str, tuple[Price, ...]] = {}
    for model in sorted(provider.models, key=lambda model: model.id.startswith("global.")):
        if model.id.endswith(VARIANTS) or model.id.startswith(MOVING):
            continue
        prices = tuple(_prices(model, f"{words} {provider.id}/{model.id}"))
        if not prices:
            continue
        found.setdefault(canonical(model.id), prices)
        for name in _names(model.match):
            if not name.endswith(VARIANTS):
                others.setdefault(canonical(name), prices)
    return others | found


def _names(clause: Any) -> Iterator[str]:
    """The names in a rule for matching. A pattern has none: what only resembles a model is not that model."""
    for part in (*getattr(clause, "or_", ()), *getattr(clause, "and_", ())):
        yield from _names(part)
    for kind in ("equals", "starts_with", "ends_with", "contains"):
        name = getattr(clause, kind, None)
        if isinstance(name, str):
            yield name


def _prices(model: ModelInfo, source: str) -> Iterator[Price]:
    """What a model costs, earliest first. No price at all, or nothing but zeros, is not known to be a price."""
    from genai_prices.types import ModelPrice

    if isinstance(model.prices, ModelPrice):
        stated: list[tuple[ConditionalPrice | None, ModelPrice]] = [(None, model.prices)]
    else:
        stated = [(conditional, conditional.prices) for conditional in model.prices]
    for conditional, prices in stated:
        bounds = _bounds(prices)
        rates = _rates(prices, 0)
        if rates is not None and (rates.input or rates.output):
            tiers = [(bound, _rates(prices, bound + 1)) for bound in bounds]
            since, hours = _limits(None if conditional is None else conditional.constraint)
            steps = tuple(Tier(bound, tier) for bound, tier in tiers if tier is not None)
            yield Price(canonical(model.id), source, rates, since, hours, steps)


def _limits(constraint: Any) -> tuple[int | None, tuple[int, int] | None]:
    """When a price holds: since when, in ms, and in which minutes of the day."""
    start = getattr(constraint, "start_date", None)
    if start is not None:
        return int(datetime.combine(start, time(), UTC).timestamp()) * 1000, None
    begin, end = getattr(constraint, "start_time", None), getattr(constraint, "end_time", None)
    if begin is None or end is None:
        return None, None
    return None, (_minute(begin), _minute(end))


def _minute(moment: time) -> int:
    """A time of day as minutes of the UTC day."""
    offset = moment.utcoffset()
    shift = 0 if offset is None else int(offset.total_seconds()) // 60
    return (moment.hour * 60 + moment.minute - shift) % DAY


def _bounds(prices: ModelPrice) -> list[int]:
    """The prompt sizes above which another rate begins, in order."""
    keys = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    tiered = [tier for key in keys for tier in getattr(getattr(prices, key), "tiers", ())]
    return sorted({tier.start for tier in tiered})


def _rates(prices: ModelPrice, prompt: int) -> Rates | None:
    """The rates for a prompt of a size; none for what is not priced by tokens of text."""
    given, made = _rate(prices.input_mtok, prompt), _rate(prices.output_mtok, prompt)
    if given is None or made is None:
        return None
    return Rates(given, made, _rate(prices.cache_read_mtok, prompt), _rate(prices.cache_write_mtok, prompt))


def _rate(price: Any, prompt: int) -> int | None:
    """One rate for a prompt of a size: that of the highest tier that it passes."""
    if price is None or isinstance(price, Decimal):
        return None if price is None else _nano(price)
    passed = [tier.price for tier in price.tiers if prompt > tier.start]
    return _nano(passed[-1] if passed else price.base)


def _nano(dollars: Decimal) -> int:
    """Dollars per million tokens as billionths of a dollar per million."""
    return round(dollars * 1_000_000_000)
