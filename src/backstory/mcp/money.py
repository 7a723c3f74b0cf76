"""How money is written for an agent: each kind by itself, never added up. Amounts are billionths of a dollar."""

from __future__ import annotations

from ..store.results import Cost

DOLLAR = 1_000_000_000
CENT = DOLLAR // 100


def dollars(nano: int) -> str:
    """`$1.92`, `$1,204.50`; what is under a cent is `<$0.01`, and 0 is `$0.00`."""
    if 0 < nano < CENT:
        return "<$0.01"
    cents = (nano + CENT // 2) // CENT
    return f"${cents // 100:,}.{cents % 100:02}"


def counted(value: int, noun: str) -> str:
    """`1 call`, `1,284 calls`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def in_short(cost: Cost | None) -> str:
    """What something cost, in a few words: `$0.53 reported, ~$0.48 estimated, 2 calls without a price`."""
    calls = cost.calls if cost is not None else {}
    found = []
    if cost is not None and calls.get("reported"):
        found.append(f"{dollars(cost.reported)} reported")
    if cost is not None and calls.get("estimated"):
        found.append(f"~{dollars(cost.estimated)} estimated")
    if calls.get("covered"):
        found.append("covered" if not found else f"{counted(calls['covered'], 'call')} covered")
    if calls.get("unpriced"):
        found.append(f"{counted(calls['unpriced'], 'call')} without a price")
    return ", ".join(found) or "not recorded"
