"""Secrets in text: where they stand, and the text with a mark such as `[masked:github-token]` in their place.

`formats` finds what is recognised by itself, `placed` what stands in a header, a URL or a key block, `assigned` what is
given to a name; `looks` judges values.
Everything is anchored at a fixed string that was found, and bounded to the right, so that the time is linear in the
length of the text whatever it holds. Masking a masked text changes nothing.
"""

from __future__ import annotations

import re

from .words import NEEDLES, RUN, RUNS, Span

__all__ = ["MARGIN", "Span", "cut", "is_clean", "kinds", "mask", "mask_value", "masked", "spans", "window"]

MARGIN = 512
"""Characters that are looked at beyond an edge where a text is cut. A run that is longer leaves the text at the cut."""
PEM = 16_384
"""How far before a cut the beginning of a private key is looked for, in characters."""

_PASSES = 8

_LONG = b"a" * RUN
# Letters are folded so that three searches stand for six: `pass` and `pwd` are `paa`, `key` and `token` have `ken`,
# `auth` and `secret` begin with `aecr`.
_FOLD = {
    letter: fold
    for group, fold in (("aswd", "a"), ("eu", "e"), ("ct", "c"), ("hr", "r"), ("ny", "n"))
    for letter in group
}
_FOLDED = bytes(ord(_FOLD.get(chr(n).lower(), chr(n).lower())) if n < 128 else n for n in range(256))
_COMMANDS = tuple(word.translate(_FOLDED) for word in (b"mysql", b"mariadb", b" login "))
_IDENTIFIED = b"identified".translate(_FOLDED)
_statement = re.compile(rb"(?i)identified\s{1,8}(?:by|as|with)\s")
"""Commands and statements in which a password has no name before it."""
_cut_url = re.compile(rb"://[^\s/@:]{0,128}:(?!\d{1,5}(?!\w))[^\s/@:]{6,256}(?=\s|\Z)")
_plain = re.compile(rb"[a-z_-]+")
"""What a run is in words and rules: of one case and without a digit."""
_before_value = re.compile(
    rb"[a-z0-9_.-]{0,24}(?:\\{0,3}[\"'`]\]?)?"
    rb"(?:\?? {0,2}: {0,2}str|[ \t]{0,8}(?:[:=>-]|is\b|\\{0,3}[\"'`])|,[ \t]{0,4}\\{0,3}[\"'`])"
)
_blank_after = re.compile(rb"[a-z0-9_.-]{0,24}[ \t]")
_before_blank = re.compile(rb"-[a-z0-9_.-]{0,40}\Z|login |require\Z|aws_\Z|ssh\Z")
_name_line = re.compile(r"[\w\"'`-]:[ \t]{0,8}(?:[|>][+-]?[ \t]{0,4})?\r?\n\Z")
"""The end of a line whose value may stand on the next one."""
_blank = re.compile(r"[^\w!#$%&*+./:=?@^|~-]", re.ASCII)
_KEY = "PRIVATE KEY-----"
_key_line = re.compile(r"[ \t]{0,16}(?:\d{1,6} ?[|:>\t]? ?)?[ \t\"'+>]{0,8}[A-Za-z0-9+/]{40}")
"""A line as a private key has it, numbered or quoted perhaps."""


def is_clean(text: str) -> bool:
    """Whether nothing in a text can be a secret, by a few fixed strings alone; that settles most texts."""
    raw = text.encode("latin-1", "replace")
    runs = raw.translate(RUNS)
    at = runs.find(_LONG)
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(runs) if end < 0 else end
        plain = _plain.match(raw, at, end)
        if plain is None or plain.end() < end:
            return False
        at = runs.find(_LONG, end)
    if b"://" in raw and (b"@" in raw or b"curl" in raw or _cut_url.search(raw)):
        return False
    if (b"ookie" in raw or b"OOKIE" in raw) and b"=" in raw:
        return False
    folded = raw.translate(_FOLDED)
    if any(command in folded for command in _COMMANDS) and (b" -p" in raw or b"\t-p" in raw):
        return False
    if _IDENTIFIED in folded and _statement.search(raw):
        return False
    if b"paa" not in folded and b"ken" not in folded and b"aecr" not in folded:
        return True
    low = raw.lower()
    return not any(needle in low and _stands(needle, low) for needle in NEEDLES)


def _stands(needle: bytes, low: bytes) -> bool:
    """Whether a string stands somewhere as it does before a secret."""
    at = low.find(needle)
    while at >= 0:
        after = at + len(needle)
        if _before_value.match(low, after):
            return True
        if _blank_after.match(low, after) and _before_blank.search(low, max(at - 80, 0), at):
            return True
        at = low.find(needle, after)
    return False


def mask(text: str) -> str:
    """The text with a mark in place of every secret."""
    return masked(text)[0]


def masked(text: str) -> tuple[str, dict[str, int]]:
    """The text with a mark in place of every secret, and how many there were of each kind."""
    count: dict[str, int] = {}
    # What touches a secret can be one that stands alone once that is gone; more than twice is made up.
    for _ in range(_PASSES):
        found = spans(text)
        if not found:
            break
        for span in found:
            count[span.kind] = count.get(span.kind, 0) + 1
        text = _marked(text, found, 0, len(text))
    return text, count


def mask_value(name: str, value: str) -> str:
    """A value that a structure holds under a name, masked by what both say."""
    low = name.lower().encode("latin-1", "replace")
    if len(name) < MARGIN and any(needle in low for needle in (*NEEDLES, b"cookie")):
        quote = "" if "\n" in value else next((mark for mark in "\"'`" if mark not in value), "")
        lead = f"{name}: {quote}"
        found = [
            Span(one - len(lead), two - len(lead), kind) for one, two, kind in spans(f"{lead}{value}{quote}")
        ]
        if found and found[0].start >= 0 and found[-1].end <= len(value):
            return mask(_marked(value, found, 0, len(value)))
    return mask(value)


def cut(text: str, start: int, stop: int) -> str:
    """text[start:stop] with its secrets masked; of one that lies across an edge no part is left.

    At most `MARGIN` characters beyond each edge are looked at, and a private key is followed back to its beginning. A
    run without a blank that is longer than the margin may be anything, so what of it lies inside goes as well.
    """
    stop = min(stop, len(text))
    if start >= stop:
        return ""
    low, high = _low(text, start), _high(text, stop)
    found = spans(text[low:high])
    if low:
        found = [Span(one + low, two + low, kind) for one, two, kind in found]
    if start - low >= MARGIN and not _blank.search(text, low, start + 1):
        after = _blank.search(text, start, stop)
        start = after.start() if after else stop
    if high - stop >= MARGIN and start < stop and not _blank.search(text, stop - 1, high):
        while stop > start and not _blank.match(text, stop - 1):
            stop -= 1
    return mask(_marked(text, found, start, stop)) if found else text[start:stop]


def window(text: str, start: int, stop: int) -> str:
    """What `cut` looks at for text[start:stop], for `is_clean`."""
    return text[_low(text, start) : _high(text, stop)]


def _low(text: str, start: int) -> int:
    """Where to begin to look, for a text that is cut at `start`: at its line, or at its private key."""
    if start <= 0:
        return 0
    low = _line(text, start)
    if _name_line.search(text, max(low - 80, 0), low):
        low = _line(text, low - 1)
    # Full lines of a key have no blank, and its first line ends in dashes; most lines are told from that.
    before = text[max(low - 25, 0) : max(low - 1, 0)]
    if " " in before and not before.endswith("-----"):
        return low
    if _key_line.match(text, low) or (low and _key_line.match(text, _line(text, low - 1))):
        begin = text.rfind(_KEY, max(low - PEM, 0), start)
        if begin >= 0:
            return max(text.rfind("-----", max(begin - 40, 0), begin), 0)
    return low


def _high(text: str, stop: int) -> int:
    """Where to end to look, for a text that is cut at `stop`: at the end of its line, or of its private key."""
    if stop >= len(text):
        return len(text)
    high = text.find("\n", stop, stop + MARGIN)
    high = high if high >= 0 else min(stop + MARGIN, len(text))
    full = " " not in text[max(high - 24, 0) : high] and _key_line.match(text, _line(text, stop))
    if full or text.find("-----END ", high, high + 20) >= 0:
        end = text.find(_KEY, high, high + PEM)
        return high if end < 0 else end + len(_KEY)
    return high


def _line(text: str, at: int) -> int:
    """Where the line begins that a place is in, or the margin before it."""
    least = max(at - MARGIN, 0)
    return text.rfind("\n", least, at) + 1 or least


def _marked(text: str, found: list[Span], start: int, stop: int) -> str:
    """text[start:stop] with marks; a secret that reaches into it is marked whole."""
    parts: list[str] = []
    at = start
    for span in found:
        if span.end <= start or span.start >= stop:
            continue
        parts += (text[at : max(span.start, at)], f"[masked:{span.kind}]")
        at = span.end
    if at < stop:
        parts.append(text[at:stop])
    return "".join(parts)


def spans(text: str) -> list[Span]:
    """The secrets of a text, in order, none of them over another."""
    if is_clean(text):
        return []
    # Its patterns take milliseconds to compile, and most programs never need them.
    from .looking import find

    return find(text)


def kinds() -> tuple[str, ...]:
    """Every kind that a mark can name."""
    from .looking import KINDS

    return KINDS
