"""The samples of the terminal's specification for `usage`, drawn from sums made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from test_terminal_story import VIEW, lines

from backstory.cli.line import width
from backstory.cli.usage_line import draw_line
from backstory.cli.usage_models import draw_models
from backstory.cli.usage_table import draw_meaning, draw_usage
from backstory.cli.usage_tools import draw_tools
from backstory.cli.usage_top import draw_top
from backstory.cli.usage_words import cost, nano_of, signed
from backstory.ledger.models import Used
from backstory.ledger.report import Figures, Place, Report, Row
from backstory.ledger.tooluse import Uses
from backstory.ledger.top import Asked, Costly, Prompt, Top

CENT = 10_000_000
KINDS = ("reported", "covered", "estimated", "unpriced")


def figures(
    sessions: int, calls: int, tokens: tuple[int, int, int], money: tuple[Any, Any, Any], unpriced: int = 0
) -> Figures:
    """Sums: input, of it read from the cache, output; cents reported, estimated, covered, null where none."""
    whole, read, output = tokens
    reported, estimated, covered = money
    return Figures(
        calls=calls,
        fresh=whole - read,
        cache_read=read,
        output=output,
        reported=round((reported or 0) * CENT),
        estimated=round((estimated or 0) * CENT),
        covered=round((covered or 0) * CENT),
        reported_calls=int(reported is not None),
        estimated_calls=int(estimated is not None),
        covered_calls=int(covered is not None),
        listed=int(bool(covered)),
        unpriced_calls=unpriced,
        unpriced_tokens=unpriced * 12_886,
        sessions=set(range(sessions)),
    )


DAYS = Report(
    "day",
    figures(48, 1341, (25_300_000, 21_758_000, 637_000), (1564, 143, 1552), 7),
    [
        Row({"day": "2026-11-24"}, figures(11, 318, (5_900_000, 5_192_000, 141_000), (307, 55, 422))),
        Row({"day": "2026-11-25"}, figures(9, 287, (5_200_000, 4_524_000, 127_000), (279, None, 436))),
        Row({"day": "2026-11-30"}, figures(9, 243, (4_900_000, 4_214_000, 119_000), (461, 48, 142), 7)),
    ],
)


def test_days() -> None:
    assert lines(draw_usage(VIEW, DAYS, "7 days", {})) == [
        "DAY         SESSIONS  CALLS  INPUT  CACHED  OUTPUT  REPORTED  ESTIMATED  COVERED  UNPRICED",
        "Tue 24 Nov        11    318   5.9M     88%  141.0k     $3.07     ~$0.55    $4.22",
        "Wed 25 Nov         9    287   5.2M     87%  127.0k     $2.79          –    $4.36",
        "Mon 30 Nov         9    243   4.9M     86%  119.0k     $4.61     ~$0.48    $1.42         7",
        "──────────────────────────────────────────────────────────────────────────────────────────",
        "7 days            48  1,341  25.3M     86%  637.0k    $15.64     ~$1.43   $15.52         7",
    ]


def test_meaning() -> None:
    text = " ".join(lines(draw_meaning(VIEW, DAYS, "Europe/Berlin", ["in-house-coder"])))
    assert text == (
        "Reported: Cline recorded it. Estimated: list price of the day, no cost was recorded. Covered: list value of"
        " calls on subscriptions, free routes and local models, not money you paid. Unpriced: 7 calls on"
        " in-house-coder, 90.2k tokens; see backstory usage models --unpriced. Zone: Europe/Berlin."
    )
    many = " ".join(lines(draw_meaning(VIEW, DAYS, "UTC", ["a", "b", "c", "d", "e"])))
    assert "on a, b, c and 2 more, " in many


MODELS = Report(
    "model",
    figures(9, 3458, (69_500_000, 58_555_000, 1_490_000), (3281, None, 6208), 41),
    [
        Row(
            {"model": "claude-sonnet-4-5", "route": "anthropic"},
            figures(9, 2104, (46_700_000, 41_096_000, 940_000), (3281, None, None)),
        ),
        Row(
            {"model": "glm-5.2", "route": "cline-pass"},
            figures(1, 1215, (21_700_000, 17_360_000, 510_000), (None, None, 6208)),
        ),
        Row(
            {"model": "qwen3-coder-30b", "route": "ollama"},
            figures(1, 98, (800_000, 0, 20_000), (None, None, 0)),
        ),
        Row(
            {"model": "in-house-coder", "route": None},
            figures(1, 41, (300_000, 99_000, 20_000), (None, None, None), 41),
        ),
    ],
)


def test_models() -> None:
    """Nothing is $0 that is not known: no price, no list value, no such call."""
    assert lines(draw_usage(VIEW, MODELS, "November", {})) == [
        "MODEL              ROUTE       CALLS   INPUT  CACHED  REPORTED  ESTIMATED   COVERED  UNPRICED",
        "claude-sonnet-4-5  anthropic   2,104   46.7M     88%    $32.81          –         –",
        "glm-5.2            cline-pass  1,215   21.7M     80%         –          –    $62.08",
        "qwen3-coder-30b    ollama         98  800.0k      0%         –          –   no list",
        "in-house-coder     unknown        41  300.0k     33%  no price   no price  no price        41",
        "─────────────────────────────────────────────────────────────────────────────────────────────",
        "November                       3,458   69.5M     84%    $32.81          –    $62.08        41",
    ]


@pytest.mark.parametrize(
    ("by", "keys", "first"),
    [
        ("month", {"month": "2026-11"}, "November"),
        ("month", {"month": "2025-11"}, "November 2025"),
        ("week", {"week": "2026-11-23"}, "Mon 23 Nov"),
        ("day", {"day": None}, "no time"),
        ("source", {"source": "vscode"}, "VS Code"),
        ("project", {"project": None}, "no project"),
        ("mode", {"mode": None}, "unknown"),
        ("actor", {"actor": "subagent"}, "subagent"),
    ],
)
def test_keys_in_words(by: Any, keys: dict[str, str | None], first: str) -> None:
    own = figures(1, 1, (1000, 0, 10), (5, None, None))
    drawn = lines(draw_usage(VIEW, Report(by, own, [Row(keys, own)]), "all", {}))
    assert drawn[1].startswith(f"{first}  ")


def test_sessions_are_cut_to_the_terminal_and_not_elsewhere() -> None:
    own = figures(1, 10, (1000, 500, 10), (5, None, None))
    title = "Find every place that still reads the old config file, and move it to the new one; then tell me"
    row = Row({"session": "1796040242318_k3v9q", "project": "api-gateway", "title": title}, own)
    found = Report("session", own, [row])
    shorts = {"1796040242318_k3v9q": "k3v9q"}
    drawn = lines(draw_usage(VIEW, found, "all", shorts))
    assert drawn[1].startswith("k3v9q  api-gateway  Find every")
    assert all(len(line) <= 100 for line in drawn)
    assert title in lines(draw_usage(VIEW._replace(cut=False), found, "all", shorts))[1]


@pytest.mark.parametrize("cells", range(60, 121))
@pytest.mark.parametrize("found", [DAYS, MODELS], ids=["day", "model"])
def test_money_never_leaves(cells: int, found: Report) -> None:
    drawn = list(draw_usage(VIEW._replace(width=cells), found, "7 days", {}))
    head = lines(drawn[:1])[0].split()
    assert {"REPORTED", "ESTIMATED", "COVERED", "UNPRICED"} <= set(head)
    if found.by == "day":
        assert all(width(line) <= cells for line in drawn)
    order = [name for name in ("OUTPUT", "CACHED", "CALLS") if name not in head]
    assert order == ["OUTPUT", "CACHED", "CALLS"][: len(order)]


@pytest.mark.parametrize(
    ("money", "unpriced", "words"),
    [
        ((461, None, None), 0, "$4.61"),
        ((None, 48, None), 0, "~$0.48"),
        ((461, 48, 99), 0, "$4.61 +~$0.48"),
        ((0, None, None), 0, "$0.00"),
        ((0.3, None, None), 0, "<$0.01"),
        ((None, None, 142), 0, "covered"),
        ((None, None, None), 3, "no price"),
        ((None, None, None), 0, ""),
    ],
)
def test_cost_in_words(money: tuple[Any, Any, Any], unpriced: int, words: str) -> None:
    assert "".join(text for text, _ in cost(figures(1, 1, (1, 0, 1), money, unpriced))) == words


def test_amounts_as_people_write_them() -> None:
    assert [nano_of(text) for text in ("5", "$5", " 12.50 ", "1,000")] == [
        5 * 10**9,
        5 * 10**9,
        12_500_000_000,
        10**12,
    ]
    for wrong in ("", "five", "0", "-1", "nan", "inf", "0.001", "1e12"):
        with pytest.raises(ValueError):  # noqa: PT011
            nano_of(wrong)
    assert (signed(VIEW, 418 * CENT), signed(VIEW, -13 * CENT)) == ("+$4.18", "−$0.13")


def test_line() -> None:
    session = figures(1, 9, (100, 86, 1), (53, None, None))
    today = figures(9, 243, (4_900_000, 4_214_000, 119_000), (461, 48, 142), 7)
    assert lines([draw_line(VIEW, ("api-gateway", session), today, passed=True)]) == [
        "api-gateway $0.53 · today $4.61 +~$0.48 · budget passed · 86% cached"
    ]
    assert lines([draw_line(VIEW, None, Figures(), passed=False)]) == ["today –"]


def place(short: str, project: str) -> Place:
    return Place(1, f"1796040242318_{short}", project, None, None, "cli", "root", "root")


def test_top() -> None:
    gateway, jobs = place("t5d2k", "web-console"), place("w0c4r", "billing-worker")
    top = Top(
        [
            Row(
                {"session": gateway.session_id, "project": "web-console", "title": "Port the date helpers"},
                figures(1, 148, (1, 0, 0), (274, None, None)),
            ),
            Row(
                {"session": jobs.session_id, "project": "billing-worker", "title": None},
                figures(1, 1, (1, 0, 0), (None, 98, None)),
            ),
        ],
        [Prompt(gateway, "x", 2, "port them\nfirst", figures(1, 31, (1, 0, 0), (161, None, None)))],
        [
            Costly(
                gateway, 2, tuple(Asked("read", None, f"src/{n}.ts") for n in range(12)), "a", None, "claude",
                "reported", 39 * CENT, 71_136, 2964, 0, 10,
            ),
            Costly(jobs, None, (Asked("command", None, "git log"),), "b", None, "glm", "covered", 5, 52_700, 0, 0, 1),
            Costly(jobs, 1, (Asked("other", "github__get", "482"),), "c", None, "x", "unpriced", None, 9, 0, 0, 1),
            Costly(jobs, 1, (), "d", None, "x", "estimated", 17 * CENT, 0, 0, 0, 1),
        ],
    )  # fmt: skip
    shorts = {gateway.session_id: "t5d2k", jobs.session_id: "w0c4r"}
    assert lines(draw_top(VIEW, top, shorts)) == [
        "Costliest sessions",
        "  t5d2k  web-console     Port the date helpers                                    148 calls    $2.74",
        "  w0c4r  billing-worker  (no prompt)                                                 1 call   ~$0.98",
        "",
        "Costliest prompts",
        "  t5d2k 2  port them first                                                          31 calls   $1.61",
        "",
        "Costliest calls",
        "  t5d2k 2  after  read  src/0.ts and 11 more                          74.1k in, 4% cached      $0.39",
        "  w0c4r  after  run  git log                                          52.7k in, 0% cached    covered",
        "  w0c4r 1  after  tool  github__get 482                                   9 in, 0% cached   no price",
        "  w0c4r 1  at the beginning                                                          0 in     ~$0.17",
    ]


def test_models_and_their_prices() -> None:
    calls = dict.fromkeys(KINDS, 0)
    found = [
        Used("claude-sonnet-4-5", "anthropic", "claude-sonnet-4.5", {**calls, "reported": 9}, 5_600_000),
        Used(
            "glm-5.2",
            "cline-pass",
            "glm-5.2",
            {**calls, "covered": 3},
            900,
            prices=["genai-prices 0.2.3 zai/GLM-5.2"],
        ),
        Used(
            "mine", None, "mine", {**calls, "estimated": 1, "unpriced": 6}, 700, 600, prices=["config.toml"]
        ),
    ]
    assert lines(draw_models(VIEW, found)) == [
        "MODEL              AS WRITTEN         ROUTE       CALLS  TOKENS  PRICE",
        "claude-sonnet-4-5  claude-sonnet-4.5  anthropic       9    5.6M  recorded by Cline",
        "glm-5.2            glm-5.2            cline-pass      3     900  covered, genai-prices 0.2.3 zai/GL…",
        "mine               mine                               7     700  config.toml, no price",
    ]
    assert lines(draw_models(VIEW, found[2:], unpriced=True)) == [
        "MODEL  AS WRITTEN  ROUTE  CALLS  TOKENS  PRICE",
        "mine   mine                   6     600  config.toml, no price",
    ]


def test_tools() -> None:
    found = [
        Uses({"tool": "run_commands", "canonical": "Bash"}, 1105, 17, 3, set(range(15))),
        Uses({"tool": "github__get_issue", "canonical": "github__get_issue"}, 1, 0, 0, {1}),
    ]
    assert lines(draw_tools(VIEW, "tool", found)) == [
        "TOOL               IN COMMON           USES  FAILED  REJECTED  SESSIONS",
        "run_commands       Bash               1,105      17         3        15",
        "github__get_issue  github__get_issue      1                           1",
    ]
    many = [Uses({"command": f"x{n}"}, 1) for n in range(50)]
    assert lines(draw_tools(VIEW, "command", many))[-1] == "10 more: --csv"
    assert len(lines(draw_tools(VIEW._replace(cut=False), "command", many))) == 51


HOSTILE = [
    "\x1b]0;owned\x07\x1b[2J",
    "right\u202eto left",
    "a\tb\nc",
    "会话列表翻译成中文和希伯来文 עברית " * 3,
    "x" * 300,
    "",
    "\x9b\ud83d",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("cells", [60, 80, 100, 120])
def test_no_name_acts_or_is_too_wide(name: str, cells: int) -> None:
    """Names of models, routes, projects, tools and titles are those of sessions: nothing in them reaches a terminal."""
    view = VIEW._replace(width=cells)
    own = figures(1, 9, (1000, 500, 10), (5, 3, 7))
    at = place("t5d2k", name)
    drawn = [
        *draw_usage(view, Report("project", own, [Row({"project": name}, own)]), "all", {}),
        *draw_usage(
            view,
            Report("session", own, [Row({"session": "x", "project": name, "title": name}, own)]),
            "all",
            {},
        ),
        *draw_top(
            view,
            Top(
                [Row({"session": "x", "project": name, "title": name}, own)],
                [Prompt(at, "x", 2, name, own)],
                [Costly(at, 2, (Asked("other", name, name),), "a", None, name, "reported", 5, 10, 5, 0, 1)],
            ),
            {"x": "t5d2k"},
        ),
        *draw_models(
            view, [Used("glm-5.2", "cline-pass", "glm-5.2", dict.fromkeys(KINDS, 1), prices=[name])]
        ),
        draw_line(view._replace(width=400), (name, own), own, passed=True),
    ]
    for line in drawn[:-1]:
        assert width(line) <= cells, lines([line])
    for line in drawn:
        assert all(text.isprintable() for text, _ in line), lines([line])
