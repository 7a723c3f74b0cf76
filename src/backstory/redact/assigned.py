"""Secrets that are given to a name: `password=`, `"clientSecret": `, `--token `, `<password>`."""

from __future__ import annotations

import re
from collections.abc import Callable

from .looks import is_password, is_random, is_secret, is_word
from .words import Look, Span

KINDS: tuple[str, ...] = ("aws-secret", "azure-key", "password", "secret", "token", "api-key")
LONG = 8_192
"""Longest value, in characters."""
_SHORT = 40
"""A value up to this length may be read once more, for a name that stands in it."""

# Of a name: what may stand between its credential word and the value. All of it is bounded.
_SUFFIX = rb"(?:[_.-]?(?:prod|production|dev|test|testing|staging|stage|base|value|old|new|primary|secondary|\d{1,2}))?"
_REST = (
    _SUFFIX
    + rb"(?:\\{0,3}[\"'`]\]?)?(?:\?? {0,2}: {0,2}(?:str|string)(?= {0,2}=))?"
    + rb"(?P<sep>:[ \t]{0,8}(?:[|>][+-]?[ \t]{0,4})?\r?\n[ \t]{1,40}(?=\S)"
    + rb"|[ \t]{0,8}(?:=>|:=|={1,3}|:)[ \t]{0,8}|[ \t]{1,3}is[: \t][ \t]{0,3}|,[ \t]{0,4}(?=\\{0,3}[\"'`])"
    + rb"|>|[ \t]{1,4}(?=\S))"
)
_PASS = re.compile(rb"pass(?P<more>(?:word|wort|wd|phrase|code)s?)?" + _REST)
_PWD = re.compile(rb"pwd" + _REST)
_SECRET = re.compile(
    rb"secret(?:s(?=[\"'\\ :=]))?(?P<more>[ _.-]?(?:access[_.-]?key|key[_.-]?base|key|token))?" + _REST
)
_TOKEN = re.compile(rb"token(?P<more>[_.-]?(?:secret|key))?" + _REST)
_KEY = re.compile(rb"key" + _REST)

_name = re.compile(rb"[a-z0-9_.-]*\Z")
_of_key_left = re.compile(
    rb"(?:api|access|secret|private|account|encryption|encrypt|signing|sign|signature|auth|master|service|storage"
    rb"|subscription|shared|client|app|application|admin|session|webhook|license|hmac|jwt|cookie|deploy|integration|write"
    rb"|ingest|ingestion|consumer|server|crypt|functions?|shared[_.-]?access)[ _.-]?\Z"
)
_no_token = re.compile(
    rb"(?:page|next|prev|previous|cursor|continuation|cancel|cancellation|sync|pagination)[_.-]?\Z"
)
_quote = re.compile(r"(?:[bBrRfFuU]{1,2}(?=[\"'`]))?(\\{0,3}[\"'`])")
_bare = re.compile(rf"[^\s\"'`<>|;,)}}\]\\]{{1,{LONG}}}")
_shell = re.compile(rf"[^\s\"'`]{{1,{LONG}}}")
_query = re.compile(r"&[\w.%-]{1,40}=")
_run = re.compile(rf"[^\s\"'`<>]{{1,{LONG}}}")
_alone = re.compile(r",?[ \t]{0,8}(?:#[^\n]{0,512})?(?:\r?\n|\Z)")
_opens = re.compile(r"(?:\A|\n)([ \t]{0,40})(?:- {1,4})?[\"'`]?[\w.-]{0,80}\Z")
_env = re.compile(r"(?:\A|[\s\"'`;&|(\[,]|-[eD])(?:export |set )?[A-Z][A-Z0-9_]*\Z")
_tag = re.compile(r"<[\w:.-]*\Z")
_netrc = re.compile(r"login \S{1,64} {1,4}\Z")

Judge = Callable[["_Value"], str | None]


class _Value:
    """A value that stands behind a name: text[start:end], and how it stands there."""

    def __init__(self, text: str, low: bytes, name: tuple[int, int], match: re.Match[bytes]) -> None:
        self.text, self.match = text, match
        begin = max(name[0] - _SHORT, 0)
        left = _name.search(low, begin, name[0])
        self.left = left[0] if left else b""
        self.name_at = name[0] - len(self.left)
        self.sep = match["sep"].strip() or b" "
        self.name = text[self.name_at : match.start("sep")].strip("\"'`\\]")
        self._take(text, match.end())
        self.value = text[self.start : self.end]

    def _take(self, text: str, at: int) -> None:
        quote = _quote.match(text, at)
        self._quote = quote[1] if quote is not None else ""
        self.quoted = quote is not None
        if quote is not None:
            self.start = quote.end()
            self.end = _closing(text, quote[1], self.start)
            self.closed = self.end >= 0
            if not self.closed:
                found = _run.match(text, self.start)
                self.end = found.end() if found else self.start
            return
        self.closed = True
        self.start = at
        query = _query.search(text, at, at + 512)
        limit = query.start() if query else len(text)
        found = (_shell if self.is_env and self.sep == b"=" else _bare).match(text, at, limit)
        self.end = found.end() if found else at
        # What closes a sentence or a line of code is not the value's.
        while (
            self.end - 1 > at
            and text[self.end - 1] in ".,:;"
            and text[self.end : self.end + 1] in ("", " ", "\n", "\r")
        ):
            self.end -= 1

    @property
    def is_env(self) -> bool:
        """Whether it is set as a shell does: `NAME=value` with nothing between."""
        head = self.text[max(self.name_at - 12, 0) : self.match.start("sep")]
        return self.match["sep"] in (b"=", b": ") and self.name.isupper() and _env.search(head) is not None

    @property
    def is_option(self) -> bool:
        return self.left.startswith(b"-") or self.text[max(self.name_at - 2, 0) : self.name_at] == "--"

    @property
    def fits(self) -> bool:
        """Whether the sign between name and value can stand there."""
        if self.start >= self.end or (b"\n" in self.match["sep"] and not self._is_next_line):
            return False
        if self.sep == b">":
            opens = _tag.search(self.text, max(self.name_at - 40, 0), self.name_at)
            return opens is not None and self.text.startswith("</", self.end)
        if self.sep == b",":
            return self.text[self.match.start("sep") - 1] in "\"'`"
        if self.sep == b" ":
            return self.is_option or (self.quoted and self.closed) or self._is_config
        return True

    @property
    def _is_next_line(self) -> bool:
        """Whether it is all of the line below its name, further in than that, as YAML has it."""
        opens = _opens.search(self.text, max(self.name_at - 80, 0), self.name_at)
        end = self.end + len(self._quote) if self.closed else self.end
        if opens is None or not _alone.match(self.text, end) or self.value.endswith("?"):
            return False
        return len(self.match["sep"].rpartition(b"\n")[2]) > len(opens[1])

    @property
    def _is_config(self) -> bool:
        if self.name in ("requirepass", "aws_secret_access_key"):
            return True
        return _netrc.search(self.text, max(self.name_at - 80, 0), self.name_at) is not None


def _closing(text: str, quote: str, start: int) -> int:
    """Where a quoted value ends; -1 where its line ends before."""
    end = text.find(quote, start, start + 512)
    while end > 0 and text[end - 1] == "\\" and len(quote) == 1:
        end = text.find(quote, end + 1, start + 512)
    return -1 if end < 0 or "\n" in text[start:end] else end


def _assigned(needle: bytes, pattern: re.Pattern[bytes], judge: Judge) -> Look:
    """What finds the values that are given to names with a word in them."""

    def look(text: str, low: bytes) -> list[Span]:
        found = []
        at = low.find(needle)
        while at >= 0:
            after = at + len(needle)
            match = pattern.match(low, at)
            if match is not None:
                value = _Value(text, low, (at, match.end()), match)
                after = max(after, value.end) if value.end - value.start > _SHORT else after
                kind = judge(value) if value.fits else None
                if kind is not None:
                    found.append(Span(value.start, value.end, kind))
                    after = value.end
            at = low.find(needle, after)
        return found

    return look


def _is_hump(text: str, at: int) -> bool:
    """Whether a word begins inside a name, as in `dbPass`."""
    return text[at].isupper() and text[at - 1].islower()


def _of_password(value: _Value) -> str | None:
    short = value.match.re is _PASS and value.match["more"] is None and value.name != "requirepass"
    if short and value.left[-1:].isalpha() and not _is_hump(value.text, value.name_at + len(value.left)):
        return None
    if short and (value.value.isdigit() or (not value.left and value.sep != b"=")):
        return None
    if value.sep.startswith(b"is") and not any(map(str.isdigit, value.value)):
        return None
    # Where only a value can stand, it may be several words.
    shown = value.value.replace(" ", "") if value.is_env else value.value
    if is_password(shown, value.quoted) or (value.is_env and is_word(value.value)):
        return "password"
    return None


def _of_secret(value: _Value) -> str | None:
    aws = b"access" in (value.match["more"] or b"")
    if is_secret(value.value, value.quoted or value.is_env, 8 if value.quoted or value.is_env else 12):
        return "aws-secret" if aws else "secret"
    return "secret" if value.is_env and is_word(value.value) else None


def _of_token(value: _Value) -> str | None:
    if _no_token.search(value.left) or (value.left and value.sep == b","):
        return None
    return (
        "token" if is_secret(value.value, value.quoted or value.is_env, 12 if value.quoted else 14) else None
    )


def _of_key(value: _Value) -> str | None:
    left = value.left or value.text[max(value.name_at - 8, 0) : value.name_at].lower().encode(
        "latin-1", "replace"
    )
    known = _of_key_left.search(left)
    if known is None and not (value.is_env and value.left.endswith(b"_")):
        return None
    if known is None and (not is_random(value.value) or value.value.lower() == value.value):
        return None
    if not is_secret(value.value, value.quoted or value.is_env, 12 if known else 16):
        return None
    return "azure-key" if value.left.endswith((b"account", b"sharedaccess")) else "api-key"


LOOK: tuple[tuple[bytes, Look], ...] = (
    (b"pass", _assigned(b"pass", _PASS, _of_password)),
    (b"pwd", _assigned(b"pwd", _PWD, _of_password)),
    (b"secret", _assigned(b"secret", _SECRET, _of_secret)),
    (b"token", _assigned(b"token", _TOKEN, _of_token)),
    (b"key", _assigned(b"key", _KEY, _of_key)),
)
