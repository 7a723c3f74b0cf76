"""Text for an agent: its length in tokens, foreign text made harmless, quoted, and cut to the room there is."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from itertools import islice

from ..redact import mask
from ..store.indexing import plain

UNITS = 14
"""Parts of a token in which lengths are summed, so that no rounding adds up."""
QUOTE = "> "
CUT = " […] "
LEAST_WINDOW = 40
"""Characters of a cut text under which it is not moved to the words that were looked for."""
MATCHES = 2_000
"""Places of those words that are looked at."""
NAME = 80
"""Characters of a name in a line of ours, were they all Latin letters."""

# Everything that ends a line for somebody, so that no line of a quotation goes without its mark.
_ends = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# C0 and C1 controls, marks that reorder, hide or join nothing, tags. U+200C and U+200D stay, for scripts and emoji.
_hidden = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_lone = re.compile("[\ud800-\udfff]")
_quotes = re.compile('["\u201c-\u201f\u2033\u2036\u301d-\u301f\uff02]')
_plain_id = re.compile(r"[\w./@:+-]+")
_blank_lines = re.compile(r"\n(?:[ \t]*\n){2,}")


def units(text: str) -> int:
    """The length of a text in parts of a token, rather too long than too short.

    3.5 bytes make a token, a character of three bytes (CJK among them) makes one, and one of four makes two.
    """
    count = len(text)
    if text.isascii():
        return 4 * count
    ascii_ = len(text.encode("ascii", "ignore"))
    four = len(text.encode("utf-16-le", "surrogatepass")) // 2 - count
    three = len(text.encode("utf-8", "surrogatepass")) - ascii_ - 4 * four - 2 * (count - ascii_ - four)
    two = count - ascii_ - three - four
    return 4 * ascii_ + 8 * two + 14 * three + 28 * four


def tokens(text: str) -> int:
    """The length of a text in tokens, by our own count."""
    return -(-units(text) // UNITS)


def safe(text: str) -> str:
    """Text without escapes, controls and direction marks; every line end is a plain one."""
    if not text.isascii() or not text.isprintable():
        text = _hidden.sub("", _ends.sub("\n", plain(text)))
        text = _lone.sub("�", text)
    return text


def one_line(text: str, longest: int = NAME) -> str:
    """A name or an error in a line of ours: masked, harmless, without line ends, as long as so many Latin letters."""
    line = " ".join(safe(mask(text)).split())
    if units(line) <= 4 * longest:
        return line
    kept = line[: longest - 1]
    while units(kept) > 4 * (longest - 4):
        kept = kept[: len(kept) * 9 // 10]
    return f"{kept}…"


def named(text: str, longest: int = NAME) -> str:
    """A name that is not ours in a line of ours: in quotation marks that nothing in it can close."""
    line = _quotes.sub("'", one_line(text, longest))
    return f'"{line}"'


def cited(text: str, longest: int) -> str:
    """An id in a line of ours, to be given back as it is; in quotation marks where it has more than an id has."""
    line = one_line(text, longest)
    return line if _plain_id.fullmatch(line.rstrip("…")) else named(text, longest)


def held(text: str, max_tokens: int) -> str:
    """A text without the last lines that a budget has no room for."""
    while tokens(text) > max_tokens and "\n" in text:
        text = text.rpartition("\n")[0]
    return text


def quoted(text: str) -> str:
    """A text that is not ours, each of its lines behind the mark of a quotation."""
    clean = _blank_lines.sub("\n\n", safe(text).strip())
    return "\n".join(f"{QUOTE}{line.rstrip()}".rstrip() for line in clean.split("\n"))


def excerpt(text: str, words: Sequence[str], longest: int) -> str:
    """A text cut to so many characters, lines and all: around the words that were looked for where they stand in it.

    Else its beginning and its end. The one place where texts are cut.
    """
    if len(text) <= longest:
        return text
    room = longest - 2 * len(CUT)
    best = _densest(text, words, room) if room >= LEAST_WINDOW else None
    if best is None or best <= room // 4:
        room = max(longest - len(CUT), 0)
        tail = room // 3 if best is None else 0
        return f"{text[: room - tail]}{CUT}{text[len(text) - tail :] if tail else ''}"
    begin = min(max(best - room // 4, 0), len(text) - room)
    begin = _fresh_start(text, begin, best)
    end = begin + room
    return f"{CUT.lstrip()}{text[begin:end]}{CUT if end < len(text) else ''}"


def _densest(text: str, words: Sequence[str], room: int) -> int | None:
    """Where the stretch of a text begins that has the most different ones of some words; null where it has none."""
    # Short words count at the beginning of a word only; `in` stands in too many.
    marks = [(r"\b" if len(word) < 4 and word.isascii() else "") + re.escape(word) for word in words if word]
    if not marks:
        return None
    found: deque[tuple[int, str]] = deque()
    counts: Counter[str] = Counter()
    best, most = None, 0
    for match in islice(re.finditer("|".join(marks), text, re.IGNORECASE), MATCHES):
        found.append((match.start(), match[0].lower()))
        counts[match[0].lower()] += 1
        while counts[found[0][1]] > 1 or found[0][0] < match.start() - room * 3 // 4:
            _, gone = found.popleft()
            counts[gone] -= 1
        different = sum(count > 0 for count in counts.values())
        if different > most:
            best, most = found[0][0], different
    return best


def _fresh_start(text: str, begin: int, best: int) -> int:
    """The first beginning of a line, else of a word, from a place on and not behind another."""
    for end in ("\n", " "):
        found = text.find(end, begin, best)
        if found >= 0:
            return found + 1
    return begin


def fitted(text: str, words: Sequence[str], room: int) -> str:
    """A text quoted, and cut so that it takes at most `room` units; empty where not even a few words fit."""
    clean = safe(text).strip()
    whole = quoted(clean)
    if units(whole) <= room:
        return whole
    longest = len(clean)
    while longest > 8:
        longest = min(longest * room // units(whole), longest - 1)
        whole = quoted(excerpt(clean, words, longest))
        if units(whole) <= room:
            return whole
    return ""


def shares(needs: Sequence[int], room: int) -> list[int]:
    """How much of a room each gets: none more than it needs, and what one leaves goes to the others."""
    given = [0] * len(needs)
    order = sorted(range(len(needs)), key=lambda at: needs[at])
    for place, at in enumerate(order):
        given[at] = min(needs[at], room // (len(order) - place))
        room -= given[at]
    return given
