"""The stem of a word, equal to what SQLite's `porter` tokenizer keeps of it, so that Python can ask for it."""

from __future__ import annotations

from itertools import pairwise

SHORTEST, LONGEST = 3, 64
"""Letters of a word that is stemmed; others stay as they are."""

# The longest that fits is taken, so the longest stand first.
_STEP_2 = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"),
    ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("logi", "log"), ("alli", "al"), ("ator", "ate"), ("bli", "ble"), ("eli", "e"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""),
    ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a lower-case word without diacritics."""
    data = word if word.isascii() else word.encode().decode("latin-1")  # SQLite looks at bytes
    if not SHORTEST <= len(data) <= LONGEST:
        return word
    found = _ends(_inflected(data))
    return found if found.isascii() else found.encode("latin-1").decode("utf-8", "replace")


def _inflected(word: str) -> str:
    """Without plural, past and gerund; a final y as i."""
    if word.endswith("es"):
        long = (len(word) > 4 and word.endswith("sses")) or (len(word) > 3 and word.endswith("ies"))
        word = word[:-2] if long else word[:-1]
    elif word.endswith("s") and word[-2] != "s":
        word = word[:-1]
    if len(word) > 3 and word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for suffix in ("ed", "ing"):
            if len(word) > len(suffix) and word.endswith(suffix) and _has_vowel(word[: -len(suffix)]):
                word = _mended(word[: -len(suffix)])
                break
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    return word


def _mended(word: str) -> str:
    """The end of a word whose `ed` or `ing` was cut."""
    if len(word) > 2 and word.endswith(("at", "bl", "iz")):
        return word + "e"
    last = word[-1]
    if len(word) > 1 and last == word[-2] and last not in "aeioulsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _ends(word: str) -> str:
    """Without the endings that make nouns and adjectives."""
    for step in (_STEP_2, _STEP_3):
        for suffix, instead in step:
            if len(word) > len(suffix) and word.endswith(suffix):
                if _measure(word[: -len(suffix)]) > 0:
                    word = word[: -len(suffix)] + instead
                break
    for suffix in _STEP_4:
        if len(word) > len(suffix) and word.endswith(suffix):
            rest = word[: -len(suffix)]
            if _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if len(word) > 1 and word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _consonants(word: str) -> list[bool]:
    found: list[bool] = []
    consonant = False
    for letter in word:
        consonant = letter not in "aeiou" and not (letter == "y" and consonant)
        found.append(consonant)
    return found


def _measure(word: str) -> int:
    """How often a consonant follows a vowel."""
    kinds = _consonants(word)
    return sum(1 for before, now in pairwise(kinds) if now and not before)


def _has_vowel(word: str) -> bool:
    return any(letter in "aeiou" or (letter == "y" and place > 0) for place, letter in enumerate(word))


def _is_short(word: str) -> bool:
    """Whether a word ends with consonant, vowel, consonant, the last none of w, x and y."""
    return word[-1:] not in ("w", "x", "y", "") and _consonants(word)[-3:] == [True, False, True]
