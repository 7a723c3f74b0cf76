"""Whether a value looks like a secret, or like code, a placeholder, a path or a word."""

from __future__ import annotations

import re

LOOKED_AT = 200
"""Characters of a value that are judged; a longer one is no more random than its beginning."""

_piece = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_digits = re.compile(r"[0-9]+")
_placeholder = re.compile(
    r"(?i)[\W_]*(?:your|insert|enter|replace|change|example|sample|dummy|fake|placeholder|redacted|masked|hidden|todo"
    r"|tbd|x{3,}|null|none|nil|undefined|true|false)(?![a-z0-9])|.*(?:example|placeholder|your[-_]|changeme|xxxx|\*\*\*"
    r"|\.\.\.|…|redacted|masked|-here\b|_here\b)"
)
_kept = re.compile(r"[^\w]*$")
_code = re.compile(
    r".*[()\[\]{}<>`|]|\$|%[A-Za-z_(]|[&@!#*](?=[\w$]+)|.*(?:::|->|=>|={3}|!=|\$\{|\$\()|.*\w=\w+;"
)
_template = re.compile(
    r"\A(?:[$<{\[]|%[(s]|\s*[+,]\s*\w)|\$\{|\{\{|\{\w*\}|<[\w -]+>|\w\(|\)[;{.,]|\[masked:"
)
"""Of a quoted text: a place to be filled, or the code between two strings."""
_path = re.compile(
    r"(?:~|\.{1,2})?/[\w./ -]*$|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]*:|\w+(?:/[\w.-]+)+\.\w{1,5}$|\w[\w-]*\.\w{2,4}$"
)
_dotted = re.compile(r"[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$")
_words = re.compile(r"[A-Za-z]+(?:[\s_./:-]+[A-Za-z]+)*[.:!?]?$")
_known = re.compile(
    r"(?i)(?:(?:scram-)?sha-?(?:1|2|3|224|256|384|512)|md[45]|[hre]s(?:256|512)|aes-?\d+.*|rsa-?\d+|ed25519|x509"
    r"|pbkdf2|argon2\w*|utf-?(?:8|16|32)|base-?(?:32|64|58)|oauth-?[12](?:\.\d)?|http[/-]?[12](?:\.\d)?|v?\d+(?:\.\d+)+"
    r"|(?:str|int|uint|float|char|varchar|arg|param|value|field|user|text|line|string|test)[_-]?\d{1,2}"
    r"|(?:pass|passwd|password|pwd|token|secret|key)[_-]?\d{1,2}|\w+\d?[_-](?:id|name|key|url|file|path))$"
)
"""Algorithms, versions, numbered names, and names of other things."""
_uuid = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
_cluster = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{6}")
_hex = re.compile(r"(?:0x)?[0-9a-fA-F]+$")
_symbol = re.compile(r"[!@#$%^&*+=?~]")


def is_random(value: str) -> bool:
    """Whether letters and digits change as often as in what a machine drew: an identifier's pieces are longer."""
    value = value[:LOOKED_AT]
    pieces = _piece.findall(value)
    if not pieces:
        return False
    mean = sum(map(len, pieces)) / len(pieces)
    numbers = len(_digits.findall(value))
    if numbers and len(value) >= 16 and _hex.match(value) and len(pieces) > 1:
        return True
    if numbers >= 2 and _cluster.search(value):
        return True
    if numbers >= 2:
        return mean <= 3.2 and any(piece.isalpha() for piece in pieces)
    mixed = value != value.lower() and value != value.upper()
    return mixed and len(value) >= 16 and mean <= (2.7 if numbers else 2.2)


def is_secret(value: str, quoted: bool, least: int) -> bool:
    """Whether a value that is named a token, a key or a secret looks like one that a machine made."""
    if len(value) < least or not _plain(value, quoted):
        return False
    if _known.match(value):
        return False
    if _uuid.match(value):
        return True
    if not is_random(value):
        return quoted and least < 12 and _is_typed(value)
    return True


def is_password(value: str, quoted: bool) -> bool:
    """Whether a value that is named a password looks like one that a person typed: no word, no code, no placeholder."""
    if len(value) < 4 or not _plain(value, quoted) or any(map(str.isspace, value)):
        return False
    if value.isdigit():
        return True
    if len(value) < 6 or _known.match(value):
        return False
    return _is_typed(value) if quoted or "_" not in value else _is_typed(value) and is_random(value + value)


def is_word(value: str) -> bool:
    """Whether a value may be a password that is a plain word; only where nothing but a value can stand."""
    return (
        5 <= len(value) <= 64
        and value.isalpha()
        and value.isascii()
        and not value.istitle()
        and not _type.match(value)
        and _is_free(value)
    )


_type = re.compile(
    r"(?i)(?:string|bytes|number|object|value|password|passwd|secret|token|required|optional|getpass|input|prompt|empty|"
    r"missing|invalid|default|reset\w*|change\w*|forgot\w*|text|boolean|unknown|stdin|false|undefined|never)$"
)


def _is_typed(value: str) -> bool:
    """Letters with a digit or a symbol among them."""
    if not any(map(str.isalpha, value)):
        return False
    return any(map(str.isdigit, value)) or _symbol.search(value) is not None


def _plain(value: str, quoted: bool) -> bool:
    """Neither code nor path nor placeholder nor words."""
    head = value[:LOOKED_AT]
    if not _is_free(head) or (_template.search(head) if quoted else _code.match(head) or _dotted.match(head)):
        return False
    return not (_words.match(head) and not is_random(head)) and not (_path.match(head) and not _base64(value))


def _is_free(head: str) -> bool:
    """No placeholder, no mere punctuation, and not one character over and over."""
    return not (_placeholder.match(head) or _kept.match(head) or len(set(head)) < 3)


def _base64(value: str) -> bool:
    return (
        len(value) >= 32
        and "." not in value
        and is_random(value)
        and re.fullmatch(r"[\w+/=-]+", value) is not None
    )
