"""How sums over calls are written: differences, estimates and shares; amounts are billionths of a dollar."""

from __future__ import annotations

import re
from decimal import Decimal

from ..ledger.report import Figures
from .line import Line, Span, View, spans
from .money import DOLLAR, money
from .text import cut

NOTHING: Span = ("–", "label")
_AMOUNT = re.compile(r"\$?((?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|\.\d+)")
"""A comma parts thousands only: `5,50` is no amount, for it could be meant as 5.50."""
LARGEST = 1_000_000_000
NAME_CELLS = 28


def named(view: View, value: str | None, nothing: str = "") -> str:
    """A name of a session's as a cell: in one line, cut on a terminal."""
    name = view.glyphs.one_line(value or "") or nothing
    return cut(name, NAME_CELLS, view.glyphs) if view.cut else name


def signed(view: View, nano: int) -> str:
    """A difference: `+$4.18`, `−$0.13`."""
    return f"{'+' if nano >= 0 else view.glyphs.minus}{money(abs(nano))}"


def estimate(nano: int) -> str:
    """`~$0.48`."""
    return f"~{money(nano)}"


def dollars(nano: int) -> float:
    """The amount as documents have it."""
    return nano / DOLLAR


def nano_of(text: str) -> int:
    """The amount that a person wrote: `5`, `$5`, `12.50`. Raises `ValueError`."""
    found = _AMOUNT.fullmatch(text.strip())
    amount = Decimal(found[1].replace(",", "")) if found else Decimal(0)
    if not Decimal("0.01") <= amount <= LARGEST:
        raise ValueError(text)
    return int(amount * DOLLAR)


def cached(figures: Figures) -> str:
    """The share of the input that came from the cache, nothing where there was no input."""
    return f"{100 * figures.cache_read / figures.input:.0f}%" if figures.input else ""


def cost(figures: Figures) -> Line:
    """What a group came to, each kind apart: `$4.61`, `~$0.48`, `$4.61 +~$0.48`, `covered`, `no price`."""
    if figures.reported_calls or figures.estimated_calls:
        reported = money(figures.reported) if figures.reported_calls else ""
        if not figures.estimated_calls:
            return spans(reported)
        joint = " +" if reported else ""
        return spans(reported, (f"{joint}{estimate(figures.estimated)}", "estimated"))
    if figures.covered_calls:
        return spans(("covered", "covered"))
    return spans(("no price", "rejected")) if figures.unpriced_calls else ()
