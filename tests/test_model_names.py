"""Model names as Cline writes them: the name each is brought to, whether it is covered, whether it has a price."""

from __future__ import annotations

import re
import subprocess
import sys

import documents
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.config import Config
from backstory.ledger import names, prices

AUTUMN = 1_793_534_400_000  # 2026-11-01T12:00Z
PRICED, UNPRICED = True, False

NAMES = [
    # as written, route, canonical, priced
    ("z-ai/glm-5.2", "cline", "glm-5.2", PRICED),
    ("cline-pass/glm-5.2", "cline-pass", "glm-5.2", PRICED),
    ("z-ai/glm-5.2", "cline-pass", "glm-5.2", PRICED),
    ("GLM-5.2", "zai", "glm-5.2", PRICED),
    ("openrouter/z-ai/glm-5.2", "litellm", "glm-5.2", PRICED),
    ("databricks-glm-5-2", "databricks", "glm-5.2", PRICED),
    ("zai-glm-4.7", "cerebras", "glm-4.7", PRICED),
    ("glm-4.7", "zai-coding-plan", "glm-4.7", PRICED),
    ("anthropic/claude-sonnet-4.5", "openrouter", "claude-sonnet-4-5", PRICED),
    ("anthropic/claude-sonnet-4.5:batch", "openrouter", "claude-sonnet-4-5", PRICED),
    ("anthropic/claude-sonnet-4.5:1m", "cline", "claude-sonnet-4-5", PRICED),
    ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5", PRICED),
    ("claude-sonnet-4-5[1m]", "anthropic", "claude-sonnet-4-5", PRICED),
    ("claude-sonnet-4-5-20250929", "anthropic", "claude-sonnet-4-5", PRICED),
    ("claude-sonnet-4-5@20250929", "vertex", "claude-sonnet-4-5", PRICED),
    ("claude-opus-5-5@default", "vertex", "claude-opus-5-5", PRICED),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "claude-sonnet-4-5", PRICED),
    ("global.anthropic.claude-opus-4-6-v1", "bedrock", "claude-opus-4-6", PRICED),
    ("anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock", "claude-3-5-sonnet", PRICED),
    ("anthropic--claude-4.5-sonnet", "sapaicore", "claude-sonnet-4-5", PRICED),
    ("claude-opus-4-5", "anthropic", "claude-opus-4-5", PRICED),
    ("claude-sonnet-4-20250514", "anthropic", "claude-sonnet-4", PRICED),
    ("claude-sonnet-4-0", "anthropic", "claude-sonnet-4", PRICED),
    ("claude-3-5-haiku-latest", "anthropic", "claude-3-5-haiku", PRICED),
    ("anthropic/claude-3.7-sonnet:thinking", "openrouter", "claude-3-7-sonnet", PRICED),
    ("anthropic/claude-opus-4.8-fast", "openrouter", "claude-opus-4-8-fast", PRICED),
    ("sonnet", "claude-code", "claude-sonnet", UNPRICED),
    ("gpt-5", "openai-native", "gpt-5", PRICED),
    ("gpt-5.1", "openai-native", "gpt-5.1", PRICED),
    ("gpt-5.2", "openai-native", "gpt-5.2", PRICED),
    ("openai/gpt-5.2", "openrouter", "gpt-5.2", PRICED),
    ("gpt-5.2-2025-12-11", "openai-native", "gpt-5.2", PRICED),
    ("gpt-5.2-codex", "openai-codex", "gpt-5.2-codex", PRICED),
    ("gpt-5-mini", "openai-native", "gpt-5-mini", PRICED),
    ("gpt-5.6-sol", "openai-codex-cli", "gpt-5.6-sol", PRICED),
    ("databricks-gpt-5-6-sol", "databricks", "gpt-5.6-sol", PRICED),
    ("gpt-4o", "openai-compatible", "gpt-4o", PRICED),
    ("gpt-4o-2024-08-06", "openai-native", "gpt-4o", PRICED),
    ("gpt-4o-2024-05-13", "openai-native", "gpt-4o-2024-05-13", PRICED),
    ("o3", "openai-native", "o3", PRICED),
    ("openai/gpt-oss-120b", "groq", "gpt-oss-120b", PRICED),
    ("openai.gpt-oss-120b-1:0", "bedrock", "gpt-oss-120b", PRICED),
    ("deepseek-chat", "deepseek", "deepseek-chat", PRICED),
    ("deepseek-reasoner", "deepseek", "deepseek-reasoner", PRICED),
    ("deepseek/deepseek-chat-v3.1", "openrouter", "deepseek-v3.1", PRICED),
    ("deepseek/deepseek-r1-0528:free", "openrouter", "deepseek-r1-0528", PRICED),
    ("us.deepseek.r1-v1:0", "bedrock", "deepseek-r1", PRICED),
    ("accounts/fireworks/models/deepseek-v3p2", "fireworks", "deepseek-v3.2", PRICED),
    ("deepseek-v4-flash:0731", "ollama", "deepseek-v4-flash-0731", PRICED),
    ("x-ai/grok-code-fast-1", "cline", "grok-code-fast-1", PRICED),
    ("grok-4.5", "xai", "grok-4.5", PRICED),
    ("grok-4-1-fast-reasoning", "xai", "grok-4.1-fast-reasoning", PRICED),
    ("moonshotai/kimi-k2-0905", "openrouter", "kimi-k2-0905", PRICED),
    ("moonshotai/Kimi-K2-Instruct-0905", "huggingface", "kimi-k2-0905", PRICED),
    ("accounts/fireworks/models/kimi-k2p5", "fireworks", "kimi-k2.5", PRICED),
    ("kimi-k3", "moonshot", "kimi-k3", PRICED),
    ("minimax/minimax-m2", "cline", "minimax-m2", PRICED),
    ("MiniMaxAI/MiniMax-M2.7", "huggingface", "minimax-m2.7", PRICED),
    ("qwen/qwen3-coder:free", "openrouter", "qwen3-coder", PRICED),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "together", "qwen3-coder", PRICED),
    ("qwen-3-max", "alibaba", "qwen3-max", PRICED),
    ("gemini-2.5-pro", "gemini", "gemini-2.5-pro", PRICED),
    ("google/gemini-2.5-flash", "openrouter", "gemini-2.5-flash", PRICED),
    ("models/gemini-2.5-flash-lite", "gemini", "gemini-2.5-flash-lite", PRICED),
    ("gemini-3.1-pro-preview", "vertex", "gemini-3.1-pro-preview", PRICED),
    ("mistralai/devstral-2512", "openrouter", "devstral-2512", PRICED),
    ("gpt-oss:20b", "ollama", "gpt-oss-20b", PRICED),
    ("llama3.1:8b", "ollama", "llama-3.1-8b", UNPRICED),
    ("qwen2.5-coder:32b", "ollama", "qwen2.5-coder-32b", UNPRICED),
    ("qwen3:latest", "ollama", "qwen3", UNPRICED),
    (
        "lmstudio-community/Qwen2.5-7B-Instruct-GGUF",
        "lmstudio",
        "qwen2.5-7b-instruct-gguf",
        UNPRICED,
    ),
    ("stealth/space-bunny-alpha", "cline", "space-bunny-alpha", UNPRICED),
    ("mock-model", "openai-compatible", "mock-model", UNPRICED),
    ("gpt-5-mock", "openai-compatible", "gpt-5-mock", UNPRICED),
    ("claude-sonnet-4-5-mock", "anthropic", "claude-sonnet-4-5-mock", UNPRICED),
    ("in-house-coder", "openai-compatible", "in-house-coder", UNPRICED),
    ("openrouter/auto", "openrouter", "auto", UNPRICED),
    ("kimi-for-coding", "kimi-code-plan-global", "kimi-for-coding", UNPRICED),
    ("glm-latest", "fireworks", "glm-latest", UNPRICED),
    ("", "openai-compatible", "unknown", UNPRICED),
    (" / ", None, "unknown", UNPRICED),
]


@pytest.fixture(scope="module")
def known() -> prices.Book:
    return prices.book()


@pytest.mark.parametrize(("written", "route", "name", "priced"), NAMES)
def test_names(written: str, route: str | None, name: str, priced: bool, known: prices.Book) -> None:
    assert names.canonical(written, route) == name
    price = prices.price_at(prices.schedule(name, route, Config(), known), AUTUMN)
    assert (price is not None) == priced
    if price is not None:
        assert price.model == name
        assert price.rates.input + price.rates.output > 0


def test_the_names_of_the_document() -> None:
    text = (documents.DOCS / "prices.md").read_text("utf-8")
    table = re.search(r"\| written \| name \|\n\|.*\n((?:\|.*\n)+)", text)
    assert table is not None
    for row in table[1].splitlines():
        written, name = (re.findall(r"`([^`]+)`", cell) for cell in row.split("|")[1:3])
        assert {names.canonical(form) for form in written} == set(name)


WORDS = st.sampled_from(
    [
        *(
            "claude",
            "sonnet",
            "opus",
            "3",
            "4",
            "4.5",
            "5",
            "gpt",
            "glm",
            "qwen",
            "llama",
            "kimi",
            "k2",
            "v3",
        ),
        *(
            "instruct",
            "deepseek",
            "chat",
            "latest",
            "thinking",
            "20250929",
            "2025-08-07",
            "v1:0",
            "free",
            "fp8",
        ),
        *("us", "anthropic", "databricks", "zai", "p", "1m", "[1m]", "batch", "r1", "32b", "0", " ", "İ"),
    ]
)
MADE = st.lists(st.tuples(WORDS, st.sampled_from(["-", ".", "/", ":", "@", "--", "", "p"])), max_size=8).map(
    lambda parts: "".join(word + mark for word, mark in parts)
)


@given(st.one_of(st.text(), MADE), st.one_of(st.none(), st.text(), st.just("claude-code")))
def test_a_name_is_never_empty_and_stays_what_it_is(written: str, route: str | None) -> None:
    name = names.canonical(written, route)
    assert name.strip()
    assert "/" not in name
    assert names.canonical(name, route) == name
    assert names.canonical(written.upper().lower(), route) == names.canonical(written.upper(), route)


@given(
    st.sampled_from([written for written, *_ in NAMES if written.strip(" /")]),
    st.sampled_from(["openrouter/", "my-route/", "a/b/"]),
)
def test_a_route_before_a_name_changes_nothing(written: str, before: str) -> None:
    assert names.canonical(before + written) == names.canonical(written)


@pytest.mark.parametrize(
    ("route", "model", "covered"),
    [
        ("cline-pass", "z-ai/glm-5.2", True),
        ("cline", "cline-pass/glm-5.2", True),
        ("cline", "cline-free/deepseek-v4.1-flash", True),
        ("openrouter", "qwen/qwen3-coder:free", True),
        ("ollama", "llama3.1:8b", True),
        ("LMStudio", "openai/gpt-oss-20b", True),
        ("llama.cpp", "qwen", True),
        ("localhost", "qwen", True),
        ("http://localhost:1234/v1", "qwen", True),
        ("http://127.0.0.1:8080", "qwen", True),
        ("https://localhost.example.com/v1", "qwen", False),
        ("claude-code", "sonnet", True),
        ("openai-codex", "gpt-5.2-codex", True),
        ("openai-codex-cli", "gpt-5.6-sol", True),
        ("zai-coding-plan", "glm-4.7", True),
        ("kimi-code-plan-global", "kimi-for-coding", True),
        ("xiaomi-token-plan-sgp", "mimo-v2.5", True),
        ("cline", "z-ai/glm-5.2", False),
        ("anthropic", "claude-sonnet-4-5", False),
        ("openai-native", "codex", False),
        ("openai-compatible", "in-house-coder", False),
        (None, "gpt-5", False),
        (None, None, False),
    ],
)
def test_covered(route: str | None, model: str | None, covered: bool) -> None:
    assert names.is_covered(route, model, Config()) is covered


@pytest.mark.parametrize(
    "entry", ["My-Route", "my-route/team/coder-7", "my-route/coder-7", "coder-7", " my-route "]
)
def test_what_the_user_lists_is_covered(entry: str) -> None:
    config = Config(covered=(entry,))
    assert names.is_covered("my-route", "team/Coder-7", config)
    assert not names.is_covered("other", "gpt-5", config)


def test_an_empty_entry_covers_nothing() -> None:
    assert not names.is_covered(None, None, Config(covered=("", " ")))


def test_names_are_cheap_to_import() -> None:
    code = "import sys; import backstory.ledger.names; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"msgspec", "genai_prices", "pydantic", "decimal"} & set(done.stdout.split())
