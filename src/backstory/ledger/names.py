"""Model names as agents write them, brought to one name a model; it needs nothing but `re`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import Config

NAMELESS = "unknown"
SIGN_INS = frozenset({"claude-code", "openai-codex", "openai-codex-cli", "codex"})
"""Cline's providers that run on the sign-in of Claude Code or ChatGPT."""
FREE = frozenset({"cline-pass", "cline-free", *SIGN_INS})
LOCAL = frozenset(
    {
        *("ollama", "lmstudio", "lm-studio", "atomic-chat", "llama.cpp", "llamacpp", "llama-cpp"),
        *("llama-server", "llamafile", "mlx", "vllm", "local", "localhost", "127.0.0.1"),
    }
)
LOCAL_ADDRESS = re.compile(r"^https?://(localhost|127\.0\.0\.1|\[::1\])(?=[:/]|$)")
PLAN = re.compile(r"-plan(-|$)")
"""Subscriptions are named so in Cline's list of providers: `zai-coding-plan`, `xiaomi-token-plan-sgp`."""

REGION = r"(?:(?:us|eu|apac|global|jp|au|ca|in|us-gov|regional)\.)?"
VENDOR = (
    r"(?:anthropic|amazon|meta|mistral|cohere|ai21|openai|qwen|moonshotai|moonshot|minimax|zai|google|nvidia"
    r"|writer|xai)"
)
BEDROCK = re.compile(rf"^{REGION}{VENDOR}\.(?=[a-z])")
BEDROCK_DEEPSEEK = re.compile(rf"^{REGION}deepseek\.(?:deepseek-)?(?=[rv]\d)")
RESELLER = re.compile(r"^(?:(?:databricks|zai)-(?=[a-z])|[a-z0-9]+--(?=[a-z]))")
AT = re.compile(r"(?<=.)@[^@]*$")
BEDROCK_VERSION = re.compile(r"(?<=.)-(?:v\d+|1):\d+(?::\w+)?$")
VARIANT = re.compile(
    r"(?<=.):(?:free|batch|beta|nitro|floor|online|exacto|thinking|latest|flex|priority|standard|default|1m|cloud)$"
)
WINDOW = re.compile(r"(?<=.)\[\w*\]$")
TAG = re.compile(r"(?<=\w):(?=\d)")
DATE = re.compile(r"(?<=.)-20\d\d(?:-?)(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])(?=$|:)")
DATED = frozenset({"gpt-4o-2024-05-13"})
"""A dated name that stands for another price than the name without the date."""
ENDING = re.compile(r"(?<=.)-(?:fp8|fp4|nvfp4|mxfp4|bf16|awq|int4|int8|maas|tee|cloud)$")
POINT = re.compile(r"(?<=\d)p(?=\d)")
DASHED = re.compile(r"^((?:gpt|glm|gemini|grok|llama)-|kimi-k|minimax-m|deepseek-v|qwen)(\d)-(\d)(?=-|$)")
DEEPSEEK_CHAT = re.compile(r"^deepseek-chat-(?=v\d)")
QWEN = re.compile(r"^qwen-(?=\d)")
KIMI = re.compile(r"^kimi-k2-instruct(?=-|$)")
LLAMA = re.compile(r"^llama-?v?(?=\d)")
CLAUDE_POINT = re.compile(r"(?<=\d)\.(?=\d)")
CLAUDE_LATER = re.compile(r"^claude-([4-9])(?:-(\d))?-(opus|sonnet|haiku)(?=-|$)")
CLAUDE_EARLIER = re.compile(r"^claude-(opus|sonnet|haiku)-3(?:-(\d))?(?=-|$)")
CLAUDE_ZERO = re.compile(r"^(claude-(?:opus|sonnet|haiku)-\d)-0(?=-|$)")
CLAUDE_ENDING = re.compile(r"(?<=.)-(?:latest|v\d|thinking(?:-\w+)?)$")
OTHERWISE = {"qwen3-coder-480b-a35b-instruct": "qwen3-coder", "qwen3-coder-480b-a35b": "qwen3-coder"}
"""Models that go by two names which no rule brings together."""


@lru_cache(maxsize=4096)
def canonical(model: str, route: str | None = None) -> str:
    """One name a model, whatever the route: `z-ai/glm-5.2`, `cline-pass/glm-5.2` and `GLM-5.2` are `glm-5.2`.

    It is in lower case, without the names of routes and vendors, dates and variants of delivery. Claude's versions are
    written with dashes, all others with dots, as their makers do. A name of nothing is `unknown`.
    """
    name = re.sub(r"\s+", "-", model.strip().lower())
    before = ""
    while name != before:
        before, name = name, _narrower(name)
    if route is not None and route.strip().lower() == "claude-code" and name in ("opus", "sonnet", "haiku"):
        return f"claude-{name}"
    return name or NAMELESS


def _narrower(name: str) -> str:
    """The name with one layer of each kind taken off."""
    name = name.strip("/").rpartition("/")[2].strip("-")
    name = BEDROCK_DEEPSEEK.sub("deepseek-", BEDROCK.sub("", name))
    name = RESELLER.sub("", name)
    for pattern in (AT, BEDROCK_VERSION, VARIANT, WINDOW):
        name = pattern.sub("", name)
    if name not in DATED:
        name = DATE.sub("", name)
    name = ENDING.sub("", TAG.sub("-", name))
    return _claude(name) if name.startswith("claude") else _others(name)


def _others(name: str) -> str:
    """Versions with dots: `gpt-5-2`, `glm-4p7` and `qwen-2.5-coder` are `gpt-5.2`, `glm-4.7`, `qwen2.5-coder`."""
    name = DEEPSEEK_CHAT.sub("deepseek-", POINT.sub(".", name))
    name = LLAMA.sub("llama-", QWEN.sub("qwen", KIMI.sub("kimi-k2", name)))
    name = DASHED.sub(r"\1\2.\3", name)
    return OTHERWISE.get(name, name)


def _claude(name: str) -> str:
    """Anthropic's order of the words: `claude-4.5-sonnet` is `claude-sonnet-4-5`; before 4 the number came first."""
    name = CLAUDE_ENDING.sub("", CLAUDE_POINT.sub("-", name))
    later = CLAUDE_LATER.match(name)
    if later:
        version = "-".join(part for part in later.groups()[:2] if part)
        name = f"claude-{later[3]}-{version}{name[later.end() :]}"
    earlier = CLAUDE_EARLIER.match(name)
    if earlier:
        version = f"3-{earlier[2]}" if earlier[2] else "3"
        name = f"claude-{version}-{earlier[1]}{name[earlier.end() :]}"
    return CLAUDE_ZERO.sub(r"\1", name)


def renamed(name: str, config: Config) -> str:
    """A canonical name under the user's aliases, one step; both sides of an alias may be written in any form."""
    for alias, model in config.aliases.items():
        if canonical(alias) == name:
            return canonical(model)
    return name


def is_local(route: str | None) -> bool:
    """Whether a route leads to a model on the user's own machine."""
    own = (route or "").strip().lower()
    return own in LOCAL or LOCAL_ADDRESS.match(own) is not None


def is_covered(route: str | None, model: str | None, config: Config) -> bool:
    """Whether a subscription, a free offer or the user's own machine pays for a call.

    The user's `covered` lists more: a route, `route/model`, or a model.
    """
    own = (route or "").strip().lower()
    name = (model or "").strip().lower()
    if own in FREE or is_local(own) or PLAN.search(own):
        return True
    vendor, slash, _ = name.partition("/")
    if name.endswith(":free") or (slash and vendor in FREE):
        return True
    short = canonical(name, own)
    forms = {own, name, short, f"{own}/{name}", f"{own}/{short}"}
    return any(entry.strip().lower() in forms for entry in config.covered if entry.strip())
