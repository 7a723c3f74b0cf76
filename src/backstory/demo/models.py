"""The models of the samples: who serves them, what Cline's catalogue charges, how they count tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

CACHE_LIFE = 5 * 60 * 1000
"""Milliseconds without a request after which a provider has dropped its cache."""


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens."""

    fresh: float
    output: float
    cache_read: float
    cache_write: float


@dataclass(frozen=True)
class Model:
    """A model on its route; `price` is none where Cline records no cost.

    `cache` says what the provider reports: `both` reads and writes, `reads` alone, or nothing.
    """

    id: str
    provider: str
    family: str | None = None
    price: Price | None = None
    cache: Literal["both", "reads", "none"] = "reads"

    def with_price(self, price: Price) -> Model:
        return replace(self, price=price)

    def info(self) -> dict[str, str]:
        info = {"id": self.id, "provider": self.provider}
        return info | {"family": self.family} if self.family else info


SONNET = Model("claude-sonnet-4-5", "anthropic", "claude-sonnet", Price(3, 15, 0.3, 3.75), "both")
HAIKU = Model("claude-haiku-4-5", "anthropic", "claude-haiku", Price(1, 5, 0.1, 1.25), "both")
OPUS = Model("anthropic/claude-opus-4.5", "openrouter", "claude-opus", Price(5, 25, 0.5, 6.25), "both")
CODEX = Model("gpt-5.2-codex", "openai-compatible")
GLM = Model("glm-5.2", "cline-pass")
DEEPSEEK = Model("deepseek-chat", "openai-compatible")
IN_HOUSE = Model("in-house-coder", "openai-compatible")
QWEN = Model("qwen3-coder:30b", "ollama", cache="none")


@dataclass(frozen=True)
class Tokens:
    """What one request took, as Cline counts it: `input` is the whole prompt, cached parts included."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0

    def metrics(self, price: Price | None) -> dict[str, float]:
        counts: dict[str, float] = {
            "inputTokens": self.input,
            "outputTokens": self.output,
            "cacheReadTokens": self.cache_read,
            "cacheWriteTokens": self.cache_write,
        }
        if price is not None:
            counts["cost"] = self._cost(price)
        return counts

    def _cost(self, price: Price) -> float:
        fresh = max(0, self.input - self.cache_read - self.cache_write)
        dollars = fresh * price.fresh + self.output * price.output
        dollars += self.cache_read * price.cache_read + self.cache_write * price.cache_write
        return plain(dollars / 1_000_000)


class Meter:
    """Counts the tokens of a conversation as it grows, from `base` tokens of instructions and tools."""

    def __init__(self, model: Model, base: int) -> None:
        self.model = model
        self.base = base
        self.context = base
        self._cached = 0
        self._last = 0

    def add(self, text: str) -> None:
        """Something that the next request will send along."""
        self.context += estimate(text)

    def compact(self, text: str) -> None:
        """From here on the model sees `text` in place of all that was."""
        self.context = self.base + estimate(text)
        self._cached = self.base

    def request(self, at: int, output: str) -> Tokens:
        """One request at the time `at`, answered with `output`."""
        sent = self.context
        warm = self._cached if at - self._last < CACHE_LIFE else 0
        self._cached, self._last = sent, at
        self.context += estimate(output)
        if self.model.cache == "both":
            fresh = min(4, sent - warm)
            return Tokens(sent, estimate(output), warm, sent - warm - fresh)
        read = warm // 128 * 128 if self.model.cache == "reads" else 0
        return Tokens(sent, estimate(output), read)


def plain(number: float) -> float:
    """A sum of dollars without the noise of floats, whole numbers without a point, as JavaScript writes them."""
    rounded = round(number, 8)
    return int(rounded) if rounded == int(rounded) else rounded


def estimate(text: str) -> int:
    """About how many tokens a text has."""
    return len(text) * 10 // 36 + 12
