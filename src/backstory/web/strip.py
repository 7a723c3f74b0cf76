"""The shape of a session: a bar a step, drawn small in the list and large over its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import svg
from markupsafe import Markup

from ..store.glance import Bar

HEIGHT = 36
MINI_WIDTH = 148
MINI_HEIGHT = 20
CARD_PITCH = 12
_HEIGHTS = {
    "message": 4,
    "read": 8,
    "command": 14,
    "agent": 20,
    "running": 26,
    "failed": 34,
    "rejected": 34,
    "failing": 35,
}
OUTLINED = ("failed", "rejected")


def height(bar: Bar) -> float:
    """Pixels of 36; an edit grows with the logarithm of its lines."""
    if bar.kind == "edit":
        return min(10 + 6 * math.log10(max(bar.lines, 1)), 30)
    return _HEIGHTS[bar.kind]


class Band(NamedTuple):
    """A turn in the strip, or a run of them: its link, its label, whether it was a plan, its share from and to."""

    href: str
    label: str
    plan: bool
    start: float
    end: float


def strip(bars: Sequence[Bar], bands: Sequence[Band]) -> Markup:
    """The strip over a session: bars over bands that lead to their turns. Widths are shares of whatever there is."""
    wide = 100 / max(len(bars), 1)
    elements: list[svg.Element] = []
    for number, band in enumerate(bands):
        x, share = _share(band.start), band.end - band.start
        name = "plan" if band.plan else "act"
        inner: list[svg.Element] = [
            svg.Rect(x=x, y=16, width=_share(share), height=HEIGHT + 2, class_=[name])
        ]
        if number:
            inner.append(svg.Line(x1=x, x2=x, y1=2, y2=HEIGHT + 18, class_=["tick"]))
        if share > 0.022 or len(bands) == 1:
            inner.append(svg.Text(x=x, dx=6, y=11, text=band.label))
        elements.append(svg.A(href=band.href, tabindex=-1, elements=inner))
    base = HEIGHT + 16.5
    elements.append(svg.Line(x1=0, x2=_share(1), y1=base, y2=base, class_=["base"]))
    elements += [_bar(bar, number * wide, wide) for number, bar in enumerate(bars)]
    extra = {"aria-hidden": "true", "data-bars": str(len(bars))}
    drawn = svg.SVG(width=_share(1), height=HEIGHT + 20, class_=["strip"], elements=elements, extra=extra)
    return Markup(drawn.as_str())


def _share(part: float) -> svg.Length:
    return svg.Length(round(100 * part, 2), "%")


def _bar(bar: Bar, x: float, wide: float) -> svg.Element:
    tall = round(height(bar), 1)
    gap = 0.22 if wide > 1 else 0.12
    return svg.Rect(
        x=_share((x + wide * gap) / 100),
        y=round(HEIGHT + 16 - tall, 1),
        width=_share(wide * (1 - 2 * gap) / 100),
        height=tall,
        class_=[_CLASSES[bar.kind]],
        rx=1 if wide > 1 else None,
    )


_CLASSES = {
    "message": "m",
    "read": "r",
    "command": "c",
    "agent": "a",
    "running": "l",
    "failed": "f",
    "rejected": "x",
    "failing": "F",
    "edit": "e",
}


def mini(bars: Sequence[Bar]) -> Markup:
    """The small shape of a list's row, decorative: the columns say it in words."""
    pitch = min(MINI_WIDTH / max(len(bars), 1), 6)
    return _paths(bars, pitch, MINI_WIDTH, MINI_HEIGHT)


def card(bars: Sequence[Bar], most: int = 60) -> Markup:
    """The shape of a running session at a fixed pitch, so that it grows; the newest bars where there are many."""
    shown = bars[-most:]
    return _paths(shown, CARD_PITCH, CARD_PITCH * max(len(shown), 1), MINI_HEIGHT)


def sample(kind: str) -> Markup:
    """One bar, for the key below a list."""
    return _paths([Bar(kind, 8)], 8, 8, MINI_HEIGHT)


def _paths(bars: Sequence[Bar], pitch: float, width: float, tall: int) -> Markup:
    """One path a kind: lines for filled bars, boxes for outlined ones, hairlines where a turn begins."""
    thick = round(max(min(pitch * 0.68, 8 if pitch > 6 else 4), 0.6), 1)
    solid: dict[str, list[svg.PathData]] = {}
    boxes: dict[str, list[svg.PathData]] = {}
    ticks: list[svg.PathData] = []
    for place, bar in enumerate(bars):
        x = round(place * pitch + pitch / 2, 1)
        high = round(height(bar) * (tall - 2) / HEIGHT, 1)
        if bar.turn and place and pitch > 1.5:
            ticks += [svg.M(x, 1), svg.V(tall)]
        if bar.kind in OUTLINED and pitch > 2:
            half = round(thick / 2 - 0.6, 1)
            box = [svg.M(round(x - half, 1), tall), svg.v(-high), svg.h(2 * half), svg.v(high), svg.Z()]
            boxes.setdefault(bar.kind, []).extend(box)
        else:
            solid.setdefault(bar.kind, []).extend([svg.M(x, tall), svg.v(-max(high, 1.5))])
    elements: list[svg.Element] = [svg.Path(d=[svg.M(0, tall - 0.5), svg.H(round(width))], class_=["base"])]
    if ticks:
        elements.append(svg.Path(d=ticks, class_=["tick"]))
    for kind, data in solid.items():
        elements.append(svg.Path(d=data, class_=["s", _CLASSES[kind]]))
    for kind, data in boxes.items():
        elements.append(svg.Path(d=data, class_=[_CLASSES[kind]]))
    drawn = svg.SVG(
        width=round(width),
        height=tall,
        class_=["mini"],
        elements=elements,
        extra={"stroke-width": str(thick), "aria-hidden": "true"},
    )
    return Markup(drawn.as_str().replace(' xmlns="http://www.w3.org/2000/svg"', ""))
