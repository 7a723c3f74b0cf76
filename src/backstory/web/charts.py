"""The drawings of the Usage page: money by day, bars of tokens, budgets and shares.

All are elements with classes, so that the style sheet colours them; widths are shares of whatever there is, heights
are pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import svg
from markupsafe import Markup

from ..cli.money import CENT, DOLLAR

HATCH = "url(#hatch)"
"""An attribute, for in a style sheet the address would be sought in that file."""
ABOVE = 18
PITCH = 44
TALL = 232
LABELS = 24
GAP = 2.5
LINES = 6
AXIS = 40
TOKENS = 150
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'


class Day(NamedTuple):
    """A day, a week or a month of the chart. Amounts are billionths of a dollar; `label` stands under it."""

    title: str
    label: str
    today: bool
    reported: int
    estimated: int
    covered: int
    unpriced: bool


class Scale(NamedTuple):
    """The same above and below: dollars a line (in billionths), pixels a line, lines above, lines or parts below."""

    step: int
    pitch: float
    above: int
    below: float

    @property
    def zero(self) -> float:
        """Where the axis lies."""
        return ABOVE + self.above * self.pitch

    @property
    def height(self) -> float:
        """The whole drawing."""
        return round(self.zero + self.below * self.pitch + LABELS, 1)

    def tall(self, nano: int) -> float:
        """An amount in pixels; what is not nothing is seen."""
        return round(max(nano / self.step * self.pitch, 1.0), 1) if nano else 0.0


def scale(days: Sequence[Day]) -> Scale:
    """Lines at 1, 2 or 5 of some power of ten, at most six of them."""
    above = max((day.reported + day.estimated for day in days), default=0)
    below = max((day.covered for day in days), default=0)
    step = CENT
    factors = (2, 5, 10)
    power, place = CENT, 0
    while -(-above // step) + -(-below // step) > LINES:
        step = power * factors[place]
        place += 1
        if place == len(factors):
            power, place = power * 10, 0
    if not above and not below:
        step = DOLLAR
    lines = max(-(-above // step), 1)
    part = below / step
    pitch = min(PITCH, TALL / (lines + part))
    return Scale(step, pitch, lines, part)


def by_day(days: Sequence[Day]) -> Markup:
    """The chart and, left of it, the amounts of its lines. It says nothing by itself: a label and a table do."""
    made = scale(days)
    return Markup("{}{}").format(_axis(made), _plot(days, made))


def _axis(made: Scale) -> Markup:
    elements: list[svg.Element] = []
    for line in _lines(made):
        words = _dollars(abs(line) * made.step)
        y = round(made.zero - line * made.pitch + 4, 1)
        elements.append(svg.Text(x=AXIS - 8, y=y, text=words, text_anchor="end"))
    return _drawn(AXIS, made.height, "axis", elements)


def _plot(days: Sequence[Day], made: Scale) -> Markup:
    elements: list[svg.Element] = []
    for line in _lines(made):
        y = round(made.zero - line * made.pitch) + 0.5
        elements.append(
            svg.Line(x1=0, x2=_share(1), y1=y, y2=y, class_=["grid" if line else "zero"]),
        )
    slot = 1 / max(len(days), 1)
    wide = min(slot * 0.64, 0.06)
    for place, day in enumerate(days):
        middle = (place + 0.5) * slot
        bars = _bars(day, made, middle, wide)
        if bars:
            elements.append(svg.G(elements=[svg.Title(elements=[], text=day.title), *bars]))
        if day.label:
            elements.append(_label(day, made, place, middle, len(days)))
    return _drawn(_share(1), made.height, "plot", elements)


def _bars(day: Day, made: Scale, middle: float, wide: float) -> list[svg.Element]:
    """Reported, and estimated on it, above the axis; covered below it; a mark over what has no price."""
    x, width = _share(middle - wide / 2), _share(wide)
    zero = round(made.zero) + 0.5
    top = round(zero - made.tall(day.reported), 1)
    found: list[svg.Element] = []
    if day.reported:
        tall = made.tall(day.reported)
        found.append(svg.Rect(x=x, y=top, width=width, height=tall, class_=["rep"]))
    if day.estimated:
        tall = made.tall(day.estimated)
        top = round(top - tall, 1)
        found.append(svg.Rect(x=x, y=top, width=width, height=tall, class_=["est"], fill=HATCH))
    if day.covered:
        tall = made.tall(day.covered)
        found.append(svg.Rect(x=x, y=zero + GAP, width=width, height=tall, class_=["cov"]))
    if day.unpriced:
        found.append(
            svg.Text(x=_share(middle), y=round(top - 5, 1), text="?", class_=["unp"], text_anchor="middle")
        )
    return found


def _label(day: Day, made: Scale, place: int, middle: float, count: int) -> svg.Element:
    """The words under a bar; those of the last stay inside of the drawing."""
    x, anchor = _share(middle), "middle"
    if count > 8 and place == count - 1:
        x, anchor = _share(1), "end"
    return svg.Text(
        x=x,
        y=made.height - 4,
        text=day.label,
        text_anchor=anchor,  # type: ignore[arg-type]
        class_=["today"] if day.today else None,
    )


def _lines(made: Scale) -> range:
    return range(-int(made.below), made.above + 1)


def _dollars(nano: int) -> str:
    """`$2`, `$0.50`, `0`."""
    if not nano:
        return "0"
    return f"${nano // DOLLAR:,}" if nano % DOLLAR == 0 else f"${nano / DOLLAR:,.2f}"


def token_bar(fresh: int, cache_write: int, cache_read: int, output: int, most: int) -> Markup:
    """The four counts side by side; the row with the most tokens fills the bar."""
    x, elements = 0.0, list[svg.Element]()
    counts = ((fresh, "t-fresh"), (cache_write, "t-write"), (cache_read, "t-read"), (output, "t-out"))
    for count, name in counts:
        if not count:
            continue
        wide = max(count / max(most, 1) * TOKENS, 0.6)
        elements.append(svg.Rect(x=round(x, 1), y=0, width=round(wide, 1), height=8, class_=[name]))
        x += wide
    return _drawn(TOKENS + 3, 8, "chart", elements)


def share_bar(reported: int, estimated: int, most: int) -> Markup:
    """An amount as a share of the largest, on a track; the estimated part is hatched."""
    elements = [_track()]
    solid = reported / most if most else 0
    if reported:
        elements.append(svg.Rect(x=0, y=0, width=_share(solid), height=9, rx=2, class_=["rep"]))
    if estimated:
        wide = _share(estimated / most)
        elements.append(svg.Rect(x=_share(solid), y=0, width=wide, height=9, class_=["est"], fill=HATCH))
    return _drawn(_share(1), 9, "share", elements)


def budget_bar(spent: int, projected: int, limit: int) -> Markup:
    """What was spent of a budget, and paler where it will end; one that is passed is full and has another class."""
    used = min(spent / limit, 1)
    later = min(projected / limit, 1)
    elements = [_track()]
    if later > used:
        elements.append(svg.Rect(x=0, y=0, width=_share(later), height=9, rx=2, class_=["later"]))
    if used:
        name = "over" if spent > limit else "rep"
        elements.append(svg.Rect(x=0, y=0, width=_share(used), height=9, rx=2, class_=[name]))
    return _drawn(_share(1), 9, "share", elements)


def key(kind: str, hatching: bool = True) -> Markup:
    """The small square that stands for a kind of money.

    That of `estimated` brings the hatching for all drawings of a page, and so it does once.
    """
    elements: list[svg.Element] = []
    if kind == "estimated" and hatching:
        line = svg.Line(x1=0, y1=0, x2=0, y2=5, class_=["stripe"])
        pattern = svg.Pattern(
            id="hatch",
            patternUnits="userSpaceOnUse",
            width=5,
            height=5,
            patternTransform=[svg.Rotate(45)],
            elements=[line],
        )
        elements.append(svg.Defs(elements=[pattern]))
    name = {"reported": "rep", "estimated": "est", "covered": "cov"}[kind]
    fill = HATCH if kind == "estimated" else None
    elements.append(svg.Rect(x=0.5, y=0.5, width=11, height=11, rx=2, class_=[name], fill=fill))
    return _drawn(12, 12, "key-box", elements)


def _track() -> svg.Element:
    return svg.Rect(x=0, y=0, width=_share(1), height=9, rx=2, class_=["track"])


def _share(part: float) -> svg.Length:
    return svg.Length(round(100 * part, 2), "%")


def _drawn(width: float | svg.Length, height: float, name: str, elements: list[svg.Element]) -> Markup:
    drawn = svg.SVG(
        width=width, height=height, class_=[name], elements=elements, extra={"aria-hidden": "true"}
    )
    return Markup(drawn.as_str().replace(_NAMESPACE, ""))
