"""How money is written in the terminal: each kind by itself, never added up. Amounts are billionths of a dollar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..schema.call import Call
from ..store.results import Cost
from .line import Line, Span, joined, spans
from .words import counted

CENT = 10_000_000
DOLLAR = 1_000_000_000
KINDS = ("reported", "estimated", "covered", "unpriced")


def money(nano: int) -> str:
    """`$1.92`, `$1,204.50`; what is under a cent is `<$0.01`, and 0 is `$0.00`."""
    if 0 < nano < CENT:
        return "<$0.01"
    cents = (nano + CENT // 2) // CENT
    return f"${cents // 100:,}.{cents % 100:02}"


def price(cost: Cost) -> Line:
    """A cost in a column: `$0.53`, `~$0.48`, `$0.53 +~$0.48`, `covered`, `no price`; nothing without a call.

    `+?` after an amount says that there are calls besides whose price nobody knows.
    """
    amounts: list[Span] = []
    if cost.calls.get("reported"):
        amounts.append((money(cost.reported), ""))
    if cost.calls.get("estimated"):
        amounts.append((f"{' +' if amounts else ''}~{money(cost.estimated)}", "estimated"))
    unpriced = cost.calls.get("unpriced", 0)
    if amounts:
        return (*amounts, (" +?", "rejected")) if unpriced else tuple(amounts)
    if unpriced:
        return spans(("no price", "rejected"))
    return spans(("covered", "covered")) if cost.calls.get("covered") else ()


def sums(cost: Cost) -> list[Line]:
    """`$4.61 reported`, `~$0.48 estimated`, `$1.42 covered`, `7 calls without a price`: what there is of them."""
    calls = cost.calls
    found = spending(cost)
    if calls.get("covered"):
        # The list value of a local model is not known; that is no amount.
        value = money(cost.covered) if cost.covered else counted(calls["covered"], "call")
        found.append(spans(f"{value} ", ("covered", "covered")))
    if calls.get("unpriced"):
        found.append(spans((f"{counted(calls['unpriced'], 'call')} without a price", "rejected")))
    return found


def spending(cost: Cost) -> list[Line]:
    """The part of the sums that was paid: `$4.61 reported`, `~$0.48 estimated`."""
    found: list[Line] = []
    if cost.calls.get("reported"):
        found.append(spans(f"{money(cost.reported)} reported"))
    if cost.calls.get("estimated"):
        found.append(spans((f"~{money(cost.estimated)}", "estimated"), " estimated"))
    return found


def day_money(cost: Cost, covered: int) -> Line:
    """The money of a day in a list: what was paid, else how many sessions were covered, or lack a price."""
    found = spending(cost)
    if covered and len(found) < 2:
        found.append(spans(f"{covered:,} ", ("covered", "covered")))
    if not found and cost.calls.get("unpriced"):
        found.append(spans(("no price", "rejected")))
    return joined(found, gap=2)


def cached(cost: Cost) -> str:
    """`86 % of the input cached`; nothing where there was no input."""
    whole = cost.fresh + cost.cache_read + cost.cache_write
    return f"{100 * cost.cache_read / whole:.0f} % of the input cached" if whole else ""


def cost_of(calls: Iterable[Call]) -> Cost:
    """What some calls of a record came to; copies and imports count elsewhere."""
    counts = dict.fromkeys(KINDS, 0)
    amounts = dict.fromkeys(KINDS, 0)
    tokens = dict.fromkeys(("fresh", "cache_read", "cache_write", "output"), 0)
    for call in calls:
        if call.settled is None or not call.settled.counted:
            continue
        kind = call.settled.kind or "unpriced"
        counts[kind] += 1
        amounts[kind] += call.settled.amount or 0
        for name in tokens:
            tokens[name] += getattr(call, name)
    del amounts["unpriced"]
    return Cost(**amounts, calls=counts, **tokens)


def cost_json(cost: Cost) -> dict[str, Any]:
    """The cost as documents have it: dollars, their kinds apart."""
    return {
        "reported_usd": cost.reported / DOLLAR,
        "estimated_usd": cost.estimated / DOLLAR,
        "covered_list_usd": cost.covered / DOLLAR,
        "unpriced_calls": cost.calls.get("unpriced", 0),
    }


def tokens_json(cost: Cost) -> dict[str, int]:
    """The tokens as documents have them: `input` is the whole prompts, `total` is input and output."""
    whole = cost.fresh + cost.cache_read + cost.cache_write
    return {
        "fresh": cost.fresh,
        "cache_read": cost.cache_read,
        "cache_write": cost.cache_write,
        "input": whole,
        "output": cost.output,
        "total": whole + cost.output,
    }
