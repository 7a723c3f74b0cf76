"""The colours of a command's output as classes of ours: nothing else of an escape sequence has an effect."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from ..cli.text import UNICODE

_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_NAMES = ("k", "r", "g", "y", "b", "m", "c", "w")
"""The eight colours by their first letters (`k` is black); a bright one is written in capitals."""
_LEVELS = (0, 95, 135, 175, 215, 255)
_SIXTEEN = (
    (0, 0, 0),
    (170, 0, 0),
    (0, 140, 0),
    (170, 100, 0),
    (0, 70, 200),
    (150, 0, 150),
    (0, 140, 140),
    (190, 190, 190),
    (110, 110, 110),
    (255, 85, 85),
    (85, 255, 85),
    (255, 255, 85),
    (90, 140, 255),
    (255, 85, 255),
    (85, 255, 255),
    (255, 255, 255),
)


class Style(NamedTuple):
    """How the next characters are drawn; a colour is a place among the sixteen."""

    colour: int | None = None
    back: int | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    under: bool = False
    inverse: bool = False

    def classes(self) -> str:
        """Class names; a background is drawn for inverse text alone."""
        found = []
        if self.inverse or self.back is not None:
            ground = self.colour if self.inverse else self.back
            found.append("v" + (_letter(ground) if ground is not None else ""))
        elif self.colour is not None:
            found.append("f" + _letter(self.colour))
        for on, name in ((self.bold, "bo"), (self.dim, "di"), (self.italic, "it"), (self.under, "un")):
            if on:
                found.append(name)
        return " ".join(found)


def _letter(colour: int) -> str:
    return _NAMES[colour % 8].upper() if colour >= 8 else _NAMES[colour]


def colourless(text: str) -> str:
    """The text without its colours."""
    return _SGR.sub("", text)


def drawn(lines: list[str]) -> list[Markup]:
    """Lines of an output; a colour that is not taken back goes on in the next line."""
    style = Style()
    found = []
    for line in lines:
        parts = []
        at = 0
        for match in _SGR.finditer(line):
            parts.append(_span(line[at : match.start()], style))
            style = _after(style, match[1])
            at = match.end()
        parts.append(_span(line[at:], style))
        found.append(Markup("").join(parts))
    return found


def _span(text: str, style: Style) -> Markup:
    if not text:
        return Markup("")
    safe = escape(UNICODE.safe(text))
    classes = style.classes()
    return Markup('<span class="{}">{}</span>').format(classes, safe) if classes else safe


def _after(style: Style, codes: str) -> Style:
    """The style after a sequence of codes."""
    numbers = [int(code[:4]) if code.isdigit() else 0 for code in re.split("[;:]", codes)] if codes else [0]
    while numbers:
        code = numbers.pop(0)
        if code in (38, 48):
            colour = _extended(numbers)
            style = _with(style, "colour" if code == 38 else "back", colour)
        else:
            style = _simple(style, code)
    return style


def _simple(style: Style, code: int) -> Style:
    if code == 0:
        return Style()
    on = {1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse"}.get(code)
    if on is not None:
        return _with(style, on, True)
    if code == 22:
        return style._replace(bold=False, dim=False)
    off = {23: "italic", 24: "under", 27: "inverse"}.get(code)
    if off is not None:
        return _with(style, off, False)
    for base, name, bright in ((30, "colour", 0), (40, "back", 0), (90, "colour", 8), (100, "back", 8)):
        if base <= code < base + 8:
            return _with(style, name, code - base + bright)
    if code in (39, 49):
        return _with(style, "colour" if code == 39 else "back", None)
    return style


def _with(style: Style, name: str, value: Any) -> Style:
    return style._replace(**{name: value})


def _extended(numbers: list[int]) -> int | None:
    """A colour of 256 or a true one as the nearest of the sixteen; takes its numbers off the front."""
    kind = numbers.pop(0) if numbers else 0
    if kind == 5 and numbers:
        number = min(numbers.pop(0), 255)
        if number < 16:
            return number
        if number >= 232:
            return _nearest((8 + 10 * (number - 232),) * 3)
        number -= 16
        return _nearest((_LEVELS[number // 36], _LEVELS[number // 6 % 6], _LEVELS[number % 6]))
    if kind == 2 and len(numbers) >= 3:
        red, green, blue = numbers[:3]
        del numbers[:3]
        return _nearest((red, green, blue))
    return None


def _nearest(colour: tuple[int, int, int]) -> int:
    def far(place: int) -> int:
        return sum((a - b) ** 2 for a, b in zip(colour, _SIXTEEN[place], strict=True))

    return min(range(16), key=far)
