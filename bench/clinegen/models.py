"""Models that sessions run on, and what one call of them costs as Cline would record it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Model:
    """`prices` are dollars a million tokens: input, output, cache read, cache write; absent if unknown.

    `cache` says whether the route reports cache reads, and cache writes as well.
    """

    provider: str
    name: str
    family: str | None = None
    prices: tuple[float, float, float, float] | None = None
    cache: str = "none"
    patches: bool = False

    def info(self) -> dict[str, str]:
        made = {"id": self.name, "provider": self.provider}
        if self.family:
            made["family"] = self.family
        return made

    def call_prefix(self) -> tuple[str, int]:
        """How the provider begins a tool call's id, and how many characters follow."""
        return ("toolu_01", 22) if self.provider == "anthropic" else ("call_", 24)


MODELS = (
    (30, Model("anthropic", "claude-sonnet-4-5", "claude-sonnet", (3, 15, 0.3, 3.75), "both")),
    (6, Model("anthropic", "claude-opus-4-5", "claude-opus", (5, 25, 0.5, 6.25), "both")),
    (12, Model("openai-native", "gpt-5-codex", "gpt-codex", (1.25, 10, 0.125, 1.25), "read", True)),
    (14, Model("openrouter", "z-ai/glm-4.6", None, (0.5, 1.75, 0.11, 0.5), "read")),
    (8, Model("openrouter", "google/gemini-2.5-pro", None, (1.25, 10, 0.31, 1.25), "read")),
    (14, Model("cline-pass", "cline-pass/glm-5.2", None, None, "read")),
    (8, Model("openai-compatible", "qwen3-coder-480b", None, None, "read")),
    (4, Model("deepseek", "deepseek-chat", None, None, "read")),
    (4, Model("ollama", "qwen2.5-coder:32b", None, None, "none")),
)


def pick(rng: Random) -> Model:
    return rng.choices([m for _, m in MODELS], [w for w, _ in MODELS])[0]


@dataclass
class Meter:
    """The running totals of one agent. A message's cost is a difference of them, float noise and all."""

    inputs: int = 0
    outputs: int = 0
    reads: int = 0
    writes: int = 0
    cost: float = 0.0

    def charge(self, model: Model, given: int, said: int, seen: int) -> dict[str, Any]:
        """The `metrics` of a call that was `given` tokens, of which `seen` stood in the call before."""
        read = seen if model.cache != "none" else 0
        write = given - read - 4 if model.cache == "both" else 0
        made: dict[str, Any] = {
            "inputTokens": given,
            "outputTokens": said,
            "cacheReadTokens": read,
            "cacheWriteTokens": write,
        }
        self.inputs += given
        self.outputs += said
        self.reads += read
        self.writes += write
        if model.prices:
            price_in, price_out, price_read, price_write = model.prices
            fresh = max(0, given - read - write)
            spent = fresh * price_in + said * price_out + read * price_read + write * price_write
            before, self.cost = self.cost, self.cost + spent / 1e6
            made["cost"] = self.cost - before
        return made

    def usage(self) -> dict[str, Any]:
        """A `usage` block of the manifest."""
        return {
            "inputTokens": self.inputs,
            "outputTokens": self.outputs,
            "cacheReadTokens": self.reads,
            "cacheWriteTokens": self.writes,
            "totalCost": self.cost or 0,
        }
