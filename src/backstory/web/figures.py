"""How money, lines, paths and times are drawn: small pieces of markup that several pages share."""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple

from markupsafe import Markup

from ..cli.money import money
from ..cli.text import UNICODE
from ..cli.words import MONTHS, WEEKDAYS, clock, counted, duration, local, tokens
from ..schema.words import relative
from ..store.results import Cost

EMPTY = Markup("")
UNTITLED = "(no prompt)"


class Clock(NamedTuple):
    """The time at which a page is made, in ms, and the zone in which it writes times; null is this machine's."""

    now: int
    tz: tzinfo | None = None

    def full(self, at: int | None) -> str:
        """The whole time with its zone, for a title."""
        if at is None:
            return ""
        moment = local(at, self.tz)
        moment = moment if moment.tzinfo else moment.astimezone()
        return moment.isoformat(sep=" ", timespec="milliseconds")

    def minute(self, at: int | None) -> str:
        """`12:07`."""
        return "" if at is None else clock(at, self.tz)

    def second(self, at: int | None) -> str:
        """`12:07:31`."""
        return "" if at is None else local(at, self.tz).strftime("%H:%M:%S")

    def day(self, at: int | None) -> str:
        """`30 November`, with the year where it is another."""
        if at is None:
            return ""
        day = local(at, self.tz)
        year = "" if day.year == local(self.now, self.tz).year else f" {day.year}"
        return f"{day.day} {MONTHS[day.month - 1]}{year}"

    def when(self, at: int | None) -> str:
        """`today 12:33`, `yesterday 21:44`, `12 November`."""
        if at is None:
            return ""
        days = (local(self.now, self.tz).date() - local(at, self.tz).date()).days
        if days in (0, 1):
            return f"{('today', 'yesterday')[days]} {clock(at, self.tz)}"
        return self.day(at)

    def weekday(self, at: int) -> str:
        """`Monday`."""
        return WEEKDAYS[local(at, self.tz).weekday()]


def line(text: str | None) -> str:
    """Text in one line, with nothing in it that acts."""
    return UNICODE.one_line(text or "")


def price(cost: Cost) -> Markup:
    """A cost in a column: `$0.53`, `~$0.48`, `covered`, `no price`; nothing without a call."""
    parts = []
    if cost.calls.get("reported"):
        parts.append(Markup("<span>{}</span>").format(money(cost.reported)))
    if cost.calls.get("estimated"):
        parts.append(
            Markup('<span class="q" title="estimated">{}~{}</span>').format(
                " + " if parts else "", money(cost.estimated)
            )
        )
    unpriced = cost.calls.get("unpriced", 0)
    if unpriced and parts:
        title = f"{counted(unpriced, 'call')} without a known price"
        parts.append(Markup('<span class="deny" title="{}"> + ?</span>').format(title))
    elif unpriced:
        parts.append(Markup('<span class="q">no price</span>'))
    elif not parts and cost.calls.get("covered"):
        title = f"list value {money(cost.covered)}, not paid" if cost.covered else "no list value is known"
        parts.append(Markup('<span class="q" title="{}">covered</span>').format(title))
    return Markup("").join(parts)


def sums(cost: Cost) -> Markup:
    """`$4.61 reported`, `~$0.48 estimated`, `covered`, `7 calls without a price`: kept apart, never added up."""
    parts = []
    if cost.calls.get("reported"):
        parts.append(Markup("<span><b>{}</b> reported</span>").format(money(cost.reported)))
    if cost.calls.get("estimated"):
        parts.append(Markup("<span><b>~{}</b> estimated</span>").format(money(cost.estimated)))
    if cost.calls.get("covered"):
        title = f"list value {money(cost.covered)}, not paid" if cost.covered else "no list value is known"
        parts.append(Markup('<span title="{}"><b>covered</b></span>').format(title))
    if cost.calls.get("unpriced"):
        words = counted(cost.calls["unpriced"], "call")
        parts.append(Markup('<span class="deny">{} without a price</span>').format(words))
    return Markup(" ").join(parts)


def lines(added: int, removed: int) -> Markup:
    """`+7 −2`; what is nothing is left out."""
    parts = []
    if added:
        parts.append(Markup('<span class="add">+{:,}</span>').format(added))
    if removed:
        parts.append(Markup('<span class="del">−{:,}</span>').format(removed))
    return Markup(" ").join(parts)


def path(text: str, roots: tuple[str | None, ...], home: str) -> Markup:
    """A path as seen from the session's folder; its folder part stands back."""
    shown = line(relative(text, roots, home))
    at = max(shown.rfind("/"), shown.rfind("\\")) + 1
    if not at:
        return Markup("{}").format(shown)
    return Markup('<span class="dir">{}</span>{}').format(shown[:at], shown[at:])


def token_words(cost: Cost) -> str:
    """`37.1k tokens, 41% cached`."""
    whole = cost.fresh + cost.cache_read + cost.cache_write
    if not whole + cost.output:
        return ""
    share = f", {100 * cost.cache_read / whole:.0f}% cached" if cost.cache_read and whole else ""
    return f"{tokens(whole + cost.output)} tokens{share}"


def took(ms: int | None) -> str:
    """A duration, or nothing where none is known."""
    return "" if ms is None else duration(ms)


def sentence(text: str) -> str:
    """The words of an error as a sentence of its own, with nothing in it that acts."""
    shown = line(text)
    return shown[:1].upper() + shown[1:]
