"""Prices: which holds when, what a call costs by it, and what the user set before the library."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import documents
import pytest
from genai_prices import Usage
from genai_prices.data import providers
from hypothesis import given
from hypothesis import strategies as st

from backstory import config
from backstory.config import Config, OwnPrice
from backstory.errors import BackstoryError, InputError
from backstory.ledger import prices
from backstory.ledger.names import renamed
from backstory.ledger.price import Price, Rates, Tier, cost_nano, price_at

DOLLAR = 1_000_000_000
FIXED = Price("m", "x", Rates(3 * DOLLAR, 15 * DOLLAR, 300_000_000, 3_750_000_000))


def ms(year: int, month: int, day: int, hour: int = 12, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()) * 1000


@pytest.fixture(scope="module")
def known() -> prices.Book:
    return prices.book()


# What a call costs


def test_cached_tokens_are_not_counted_twice() -> None:
    """100,000 tokens in, 95,000 of them cached, 500 out: $0.051."""
    price = prices.lookup("claude-sonnet-4-5", "anthropic", ms(2026, 11, 1), Config())
    assert price is not None
    assert cost_nano(price, 5_000, 95_000, 0, 500) == 51_000_000


def test_the_recorded_call_costs_what_cline_says() -> None:
    """Input 100, cache write 2,000, cache read 3,000, output 400: Cline records $0.0147."""
    price = prices.lookup("claude-sonnet-4-5", "anthropic", ms(2026, 11, 1), Config())
    assert price is not None
    assert cost_nano(price, 100, 3_000, 2_000, 400) == 14_700_000


def test_rates_that_are_not_known() -> None:
    price = Price("m", "x", Rates(2 * DOLLAR, 0))
    assert cost_nano(price, 0, 1_000_000, 0, 0) == 2 * DOLLAR
    assert cost_nano(price, 0, 0, 1_000_000, 0) == 2.5 * DOLLAR


def test_a_rate_of_nothing_is_known() -> None:
    price = Price("m", "x", Rates(2 * DOLLAR, 0, 0, 0))
    assert cost_nano(price, 0, 1_000_000, 1_000_000, 0) == 0


def test_one_rounding_halves_up() -> None:
    assert cost_nano(Price("m", "x", Rates(500_000, 0)), 1, 0, 0, 0) == 1
    assert cost_nano(Price("m", "x", Rates(499_999, 0)), 1, 0, 0, 0) == 0
    assert cost_nano(Price("m", "x", Rates(250_000, 250_000)), 1, 0, 0, 1) == 1


def test_a_tier_is_of_the_whole_prompt_and_call() -> None:
    price = Price("m", "x", Rates(1, 1), tiers=(Tier(200_000, Rates(3, 5, 1, 1)),))
    assert cost_nano(price, 200_000, 0, 0, 0) == 0
    million = Price("m", "x", Rates(DOLLAR, DOLLAR), tiers=(Tier(200_000, Rates(2 * DOLLAR, 4 * DOLLAR)),))
    assert cost_nano(million, 200_000, 0, 0, 10) == 200_010_000
    assert cost_nano(million, 200_001, 0, 0, 10) == 400_042_000
    assert cost_nano(million, 1, 200_000, 0, 10) == 400_042_000


TOKENS = st.integers(0, 2_000_000)


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_a_cost_is_the_exact_sum_of_its_parts(fresh: int, read: int, write: int, output: int) -> None:
    exact = Decimal(3000) * fresh + 300 * read + 3750 * write + 15000 * output
    assert cost_nano(FIXED, fresh, read, write, output) == exact


@pytest.mark.parametrize("shape", [(1_000, 0, 0, 10), (5_000, 95_000, 0, 500), (150_000, 80_000, 0, 9_999)])
@pytest.mark.parametrize("at", [ms(2025, 12, 1, 3), ms(2026, 9, 15, 12), ms(2026, 11, 20, 20)])
def test_the_library_agrees(known: prices.Book, shape: tuple[int, int, int, int], at: int) -> None:
    """For every model priced by text alone; the library takes the whole prompt as input, cached tokens included."""
    fresh, read, _, output = shape
    usage = Usage(input_tokens=fresh + read, cache_read_tokens=read, output_tokens=output)
    moment = datetime.fromtimestamp(at / 1000, UTC)
    rows = {
        found[0].source.rpartition(" ")[2]: found for own in known.prices.values() for found in own.values()
    }
    compared = 0
    for provider in providers:
        for model in provider.models:
            found = rows.get(f"{provider.id}/{model.id}")
            stated = model.get_prices(moment)
            if found and stated.input_mtok and "requests_kcount" not in vars(stated):
                price = price_at(found, at)
                assert price is not None
                theirs = model.calc_price(usage, provider, genai_request_timestamp=moment).total_price
                assert cost_nano(price, *shape) == pytest.approx(float(theirs) * DOLLAR, abs=1)
                compared += 1
    assert compared > 1_500


# Which price holds


def test_the_price_of_the_day(known: prices.Book) -> None:
    """GLM-5.3-Flash doubled on 10 September 2026."""
    rows = prices.schedule("glm-5.3-flash", "zai", Config(), known)
    before, after = price_at(rows, ms(2026, 9, 9, 23, 59)), price_at(rows, ms(2026, 9, 10, 0))
    assert before is not None
    assert after is not None
    assert (before.rates.input, after.rates.input) == (75_000_000, 150_000_000)
    assert after.valid_from == ms(2026, 9, 10, 0)


def test_the_price_of_the_hour(known: prices.Book) -> None:
    """DeepSeek asked half at night: from 16:30 to 00:30 UTC."""
    rows = prices.schedule("deepseek-chat", "deepseek", Config(), known)
    by_day = [price_at(rows, ms(2025, 6, 1, hour, minute)) for hour, minute in ((0, 30), (12, 0), (16, 29))]
    by_night = [
        price_at(rows, ms(2025, 6, 1, hour, minute)) for hour, minute in ((0, 29), (16, 30), (23, 59))
    ]
    assert {price.rates.input for price in by_day if price} == {270_000_000}
    assert {price.rates.input for price in by_night if price} == {135_000_000}


def test_hours_may_pass_midnight() -> None:
    rows = (FIXED, Price("m", "night", Rates(1, 1), hours=(22 * 60, 6 * 60)))
    said = [price_at(rows, ms(2026, 5, 5, hour)) for hour in (21, 22, 23, 0, 5, 6)]
    assert [price.source for price in said if price] == ["x", "night", "night", "night", "night", "x"]


def test_the_last_that_holds_else_the_first() -> None:
    rows = tuple(Price("m", str(day), Rates(1, 1), valid_from=ms(2026, 5, day, 0)) for day in (5, 7, 9))
    said = [price_at(rows, ms(2026, 5, day)) for day in (1, 5, 6, 8, 20)]
    assert [price.source for price in said if price] == ["5", "5", "5", "7", "9"]
    assert price_at((), ms(2026, 5, 1)) is None


def test_long_prompts_of_the_library(known: prices.Book) -> None:
    price = price_at(prices.schedule("claude-sonnet-4-5", "anthropic", Config(), known), ms(2026, 1, 1))
    assert price is not None
    assert price.tiers == (Tier(200_000, Rates(6 * DOLLAR, 22_500_000_000, 600_000_000, 7_500_000_000)),)


def test_the_route_goes_before_the_maker_before_openrouter(known: prices.Book) -> None:
    def source(name: str, route: str | None) -> str:
        return prices.schedule(name, route, Config(), known)[0].source.rpartition(" ")[2]

    assert source("glm-4.7", "cerebras") == "cerebras/zai-glm-4.7"
    assert source("glm-4.7", "zhipuai") == "zhipuai/GLM-4.7"
    assert source("glm-4.7", "my-route") == "zai/GLM-4.7"
    assert source("glm-5.2", "cline") == source("glm-5.2", "openrouter") == "zai/GLM-5.2"
    assert source("glm-4.7", None) == "zai/GLM-4.7"
    assert source("qwen3-max", "my-route") == "openrouter/qwen/qwen3-max"
    assert source("claude-sonnet-4-5", "bedrock").startswith("aws/regional.anthropic.")
    assert source("gpt-5.2", "openai-native") == "openai/gpt-5.2"


def test_no_price_is_nothing(known: prices.Book) -> None:
    """What the library gives away for nothing is no price either: an estimate of $0 would be a claim."""
    assert not [
        price
        for models in known.prices.values()
        for rows in models.values()
        for price in rows
        if not price.rates.input and not price.rates.output
    ]
    assert prices.lookup("in-house-coder", "openai-compatible", ms(2026, 1, 1), Config()) is None


def test_a_source_says_where_a_price_is_from(known: prices.Book) -> None:
    rows = prices.schedule("claude-sonnet-4-5", "anthropic", Config(), known)
    assert [row.source for row in rows] == [f"genai-prices {known.version} anthropic/claude-sonnet-4-5"]


def test_rows_in_bulk(tmp_path: Path) -> None:
    pairs = [("glm-5.2", "cline-pass"), ("in-house-coder", "openai-compatible"), ("glm-5.2", "cline-pass")]
    rows = prices.price_rows(pairs, Config(), tmp_path)
    assert list(rows) == pairs[:2]
    assert rows["in-house-coder", "openai-compatible"] == ()
    assert rows["glm-5.2", "cline-pass"][0].model == "glm-5.2"
    assert prices.price_rows([], Config()) == {}


def test_using_prices_imports_no_library() -> None:
    code = (
        "import sys\n"
        "from backstory.ledger.prices import Price, cost_nano, price_at\n"
        "from backstory.ledger.price import Rates\n"
        "price = price_at([Price('m', 's', Rates(1, 1))], 0); cost_nano(price, 1, 2, 3, 4)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"genai_prices", "pydantic", "httpx2", "importlib.metadata"} & set(done.stdout.split())


# What the user set

SETTINGS = """
idle_minutes = 45
covered = ["my-route", "openai-compatible/in-house-coder"]

[prices."in-house-coder"]
input = 1.0
output = 5
cache_read = 0.1
cache_write = 1.25

[prices."Claude-Opus-4.5"]
input = 0.1
output = 0.2

[aliases]
"My-Name" = "anthropic/claude-sonnet-4.5"
"their-coder" = "in-house-coder"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    (tmp_path / config.FILE).write_text(SETTINGS, "utf-8")
    return config.load(tmp_path)


def test_settings_are_read(settings: Config) -> None:
    assert settings.idle_minutes == 45
    assert settings.covered == ("my-route", "openai-compatible/in-house-coder")
    assert settings.aliases == {"My-Name": "anthropic/claude-sonnet-4.5", "their-coder": "in-house-coder"}
    rates = OwnPrice(Decimal("1.0"), Decimal(5), Decimal("0.1"), Decimal("1.25"))
    assert settings.prices["in-house-coder"] == rates


def test_a_price_of_the_users_goes_first(settings: Config, known: prices.Book) -> None:
    (own,) = prices.schedule("in-house-coder", "openai-compatible", settings, known)
    assert own == Price("in-house-coder", "config.toml", Rates(DOLLAR, 5 * DOLLAR, 10**8, 1_250_000_000))
    (opus,) = prices.schedule("claude-opus-4-5", "anthropic", settings, known)
    assert opus.rates == Rates(100_000_000, 200_000_000)


def test_a_price_of_nothing_may_be_set(tmp_path: Path, known: prices.Book) -> None:
    (tmp_path / config.FILE).write_text('[prices."ours"]\ninput = 0\noutput = 0\n', "utf-8")
    (own,) = prices.schedule("ours", None, config.load(tmp_path), known)
    assert own.rates == Rates(0, 0)


def test_an_alias_has_the_price_of_what_it_stands_for(settings: Config, known: prices.Book) -> None:
    assert renamed("my-name", settings) == "claude-sonnet-4-5"
    assert renamed("gpt-5", settings) == "gpt-5"
    (row,) = prices.schedule("my-name", "my-route", settings, known)
    assert row.model == "my-name"
    assert row.source.endswith(" anthropic/claude-sonnet-4-5 (alias in config.toml)")
    (own,) = prices.schedule("their-coder", None, settings, known)
    assert (own.model, own.source, own.rates.input) == ("their-coder", "config.toml", DOLLAR)


def test_the_example_of_the_document_is_what_these_tests_set(tmp_path: Path, settings: Config) -> None:
    (shown,) = [
        block.text for block in documents.blocks(documents.DOCS / "prices.md") if block.language == "toml"
    ]
    (tmp_path / config.FILE).write_text(shown, "utf-8")
    said = config.load(tmp_path)
    assert said.prices["in-house-coder"] == settings.prices["in-house-coder"]
    assert said.covered == settings.covered
    assert renamed("my-name", said) == renamed("my-name", settings)


def test_no_settings_are_the_defaults(tmp_path: Path) -> None:
    assert config.load(tmp_path) == Config()
    code = (
        f"import sys, pathlib; from backstory import config; config.load(pathlib.Path({str(tmp_path)!r})); "
    )
    done = subprocess.run(
        [sys.executable, "-c", code + "print('tomllib' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prices = 3", "prices has to be a table"),
        ("[prices]\nm = 3", 'prices."m" has to be a table'),
        ("[prices.m]\ninput = 1", 'prices."m".output is missing'),
        ("[prices.m]\noutput = 1", 'prices."m".input is missing'),
        ('[prices.m]\ninput = "1"\noutput = 2', 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = true\noutput = 2", 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = -1\noutput = 2", 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = nan\noutput = 2", 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = inf\noutput = 2", 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = 1e300\noutput = 2", 'prices."m".input has to be dollars'),
        ("[prices.m]\ninput = 1\noutput = 2\ncache = 3", 'prices."m".cache is not known'),
        ("[prices.m]\ninput = 1\noutput = 2\ncache_read = []", 'prices."m".cache_read has to be dollars'),
        ("aliases = []", "aliases has to be a table"),
        ("[aliases]\nm = 3", 'aliases."m" has to be the name'),
        ('[aliases]\nm = " "', 'aliases."m" has to be the name'),
        ('covered = "my-route"', "covered has to be a list"),
        ("covered = [3]", "covered has to be a list"),
        ('covered = [""]', "covered has to be a list"),
        ('editor = "ed"', "editor has to be one of vscode, "),
        ("idle_minutes = 0", "idle_minutes has to be"),
        ("covered = [", "Mend it"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / config.FILE
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as raised:
        config.load(tmp_path)
    assert str(raised.value).startswith(f"{path}: ")
    assert words in str(raised.value)


# Refreshing

NEWER = [
    {
        "id": "openai",
        "name": "OpenAI",
        "api_pattern": "x",
        "models": [
            {
                "id": "gpt-9",
                "match": {"or": [{"equals": "gpt-9"}, {"equals": "gpt-9-2027-01-01"}]},
                "prices": {
                    "input_mtok": 1.5,
                    "output_mtok": {"base": 2, "tiers": [{"start": 1000, "price": 3}]},
                },
            }
        ],
    }
]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """Serves on the loopback what stands under `body`; its address is under `url`."""
    given: dict[str, bytes] = {"body": json.dumps(NEWER).encode()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(given["body"])

        def log_message(self, format: str, *args: object) -> None:
            return

    monkeypatch.setenv("NO_PROXY", "*")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        given["url"] = f"http://127.0.0.1:{server.server_port}/".encode()
        yield given
        server.shutdown()
        thread.join()


def test_refreshed_prices_are_used(tmp_path: Path, served: dict[str, bytes]) -> None:
    said = prices.refresh(tmp_path, date(2026, 11, 30), served["url"].decode())
    path = tmp_path / prices.REFRESHED
    assert said == f"Prices of 1 models from 1 providers, as of 2026-11-30, are in {path}."
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    price = prices.lookup("gpt-9", "openai-native", ms(2026, 12, 1), Config(), tmp_path)
    assert price == Price(
        "gpt-9",
        "genai-prices, 2026-11-30, openai/gpt-9",
        Rates(1_500_000_000, 2 * DOLLAR),
        tiers=(Tier(1000, Rates(1_500_000_000, 3 * DOLLAR)),),
    )
    assert prices.lookup("gpt-9", "openai-native", ms(2026, 12, 1), Config()) is None


@pytest.mark.parametrize("body", [b"", b"{}", b"[3]", b"<html>"])
def test_what_cannot_be_read_changes_nothing(tmp_path: Path, served: dict[str, bytes], body: bytes) -> None:
    prices.refresh(tmp_path, date(2026, 11, 30), served["url"].decode())
    before = (tmp_path / prices.REFRESHED).read_bytes()
    served["body"] = body
    with pytest.raises(BackstoryError, match="could not be fetched"):
        prices.refresh(tmp_path, date(2026, 12, 1), served["url"].decode())
    assert (tmp_path / prices.REFRESHED).read_bytes() == before


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(BackstoryError, match="could not be fetched"):
        prices.refresh(tmp_path, url="http://127.0.0.1:9/")


@pytest.mark.parametrize("kept", [b"", b"{", b'{"version":"0.0.1","read_at":"2026-01-01","prices":{}}'])
def test_refreshed_prices_that_do_not_fit_are_left(tmp_path: Path, known: prices.Book, kept: bytes) -> None:
    (tmp_path / prices.REFRESHED).write_bytes(kept)
    assert prices.book(tmp_path) == known
