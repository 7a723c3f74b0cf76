"""Secrets that are recognised by the place where they stand: a private key's block, a header, a URL, an option."""

from __future__ import annotations

import base64
import binascii
import re
import string

from .looks import is_password, is_random, is_word
from .words import Look, Span

KINDS: tuple[str, ...] = ("private-key", "url-password", "authorization", "cookie")
PEM = 16_384
"""Longest private key, in characters."""

_pem = re.compile(r"-----(BEGIN|END) (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_follows = re.compile(
    r"[^A-Za-z0-9]{0,40}(?:\w[\w-]{1,20}: [^\n]{0,80}[\s\\nr]{1,8}){0,3}"
    r"[^A-Za-z0-9]{0,12}\d{0,6}[^A-Za-z0-9]{0,6}[\\nr\s\"]{0,8}([A-Za-z0-9+/=]+)"
)
"""From the first line of a key to its first base64: headers and line numbers may stand between."""
_body = re.compile(r"[A-Za-z0-9+/=]{40}")
_body_line = re.compile(r"[\s\d|:+>#*\"',-]{0,24}[A-Za-z0-9+/=]{1,}[\\nr\s\"',+]*\Z")
_prefix = re.compile(r"[\s\d|:+>#*\"',-]{0,24}")
_LINE = 256
_ESCAPED = string.ascii_letters + string.digits + "+/=\\"

_authorization = re.compile(
    r"authorization(?:\\{0,3}[\"'`]\]?)?\s{0,4}[:=,]\s{0,4}(?:f?\\{0,3}[\"'`])?"
    r"(?:(basic|bearer|token|apikey|api-key|bot|negotiate|splunk|key)[ :=]{1,3})?([^\s\"'`,;<>\\]{6,8192})",
    re.IGNORECASE,
)
_auth = re.compile(
    r"_?auth(?:\\{0,3}[\"'`])?\s{0,4}[:=]\s{0,4}(?:\\{0,3}[\"'`])?([A-Za-z0-9+/]{8,2000}={0,2})",
    re.IGNORECASE,
)
_cookie = re.compile(r"cookie2?(?:\\{0,3}[\"'`])?\s{0,4}[:=,]\s{0,4}(?:\\{0,3}[\"'`])?", re.IGNORECASE)
_pair = re.compile(r"([\w.$-]{1,64})=([^;\s\"'`,\\]{0,4096})(?:; ?)?")
_long = re.compile(r"[\w-]{14}", re.ASCII)
_userinfo = re.compile(r"[^\s/@:\"'`<>\\?#]{0,128}:([^\s/\"'`<>\\]{1,256})@(?=[\w.\[$%{-])")
_bare_user = re.compile(r"([A-Za-z0-9_-]{20,256})@(?=[\w\[])", re.ASCII)
"""A token in the user's place with no password, as git takes it."""
_cut_url = re.compile(
    r"[^\s/@:\"'`<>\\?#()]{0,128}:(?!\d{1,5}(?!\w))([^\s/@:\"'`<>\\()\[\],]{6,256})(?=[ \t]{0,8}(?:[\r\n]|\Z))"
)
"""User and password where the line ends before the host: whoever cut the text left the password behind."""
_images = re.compile(
    r"(?:docker|docker-daemon|docker-archive|containers?-storage|container|oci|oci-archive|image)\Z"
)
"""Schemes of addresses in which a tag follows the name."""
_option = re.compile(r"\s(?:-u|--user|--proxy-user|-U)(?:\s{1,4}|=)?[\"']?[^\s:\"'$]{1,64}:([^\s\"']{1,128})")
_sshpass = re.compile(r"sshpass\s{1,4}-p\s{0,4}[\"']?([^\s\"'$][^\s\"']{3,128})")
_client_password = re.compile(r"[ \t]-p(?:'([^'\n]{1,128})'|\"([^\"\n]{1,128})\"|([^\s\"'`|;&<>\\]{1,128}))")
_login_password = re.compile(
    r"[ \t]-p(?:=|[ \t]{1,4})(?:'([^'\n]{1,128})'|\"([^\"\n]{1,128})\"|([^\s\"'`|;&<>\\]{1,128}))"
)
_as_user = re.compile(r"[ \t](?:-u|--user)")
_login = re.compile(r"(?:docker|podman|nerdctl|buildah|skopeo|oras|helm registry|crane auth|az|oc|cf)\Z")
"""Commands of which `login` takes a password as `-p`; for others that is a profile or a port."""
_identified = re.compile(
    r"identified\s{1,8}(?:with\s{1,8}[\w'\"`]{1,40}\s{1,8})?(?:by|as)\s{1,8}(?:password\s{1,8})?\\{0,3}(['\"])"
    r"([^'\"\n\\]{1,256})\\{0,3}\1",
    re.IGNORECASE,
)
_statement = re.compile(r"(?:create|alter)\s{1,8}(?:or\s{1,8}replace\s{1,8})?user\b|\bgrant\s", re.IGNORECASE)
_variable = re.compile(r"\$|<|\{|%[A-Za-z({]|\*+\Z|x+\Z|\.+\Z|\[masked:", re.IGNORECASE)
_ends = re.compile(r"[\n|;&]")
_word = re.compile(r"[A-Za-z_]+(?:[._-][A-Za-z_]+)*\W*\Z")


def _keys(text: str, low: bytes) -> list[Span]:
    """Private keys, whole or cut: without its end one reaches to the end of the text, without its beginning it goes
    back as far as its lines do.
    """
    found: list[Span] = []
    opened: re.Match[str] | None = None
    done = 0
    for match in _pem.finditer(text):
        if match[1] == "BEGIN":
            # A second beginning: the first one is only spoken of, or was cut.
            found += _cut_key(text, opened, match.start())
            opened = match
        elif opened is not None:
            if _body.search(text, opened.end(), match.start()):
                found.append(Span(opened.start(), match.end(), "private-key"))
            opened, done = None, match.end()
        else:
            start = _lines_before(text, match.start(), max(done, match.start() - PEM))
            if start < match.start():
                found.append(Span(start, match.end(), "private-key"))
            done = match.end()
    return found + _cut_key(text, opened, len(text))


def _cut_key(text: str, opened: re.Match[str] | None, end: int) -> list[Span]:
    """A key that begins and does not end: all up to `end`, where what follows is a key's text."""
    if opened is None:
        return []
    match = _follows.match(text, opened.end(), min(end, opened.end() + PEM))
    if match is None or (len(match[1]) < 40 and match.end() < end):
        return []
    return [Span(opened.start(), end, "private-key")]


def _lines_before(text: str, end: int, least: int) -> int:
    """Where the base64 begins that ends at `end`: in the same line, or in the lines before it."""
    start = text.rfind("\n", least, end) + 1 or least
    own = text[start:end]
    escaped = len(own) - len(own.rstrip(_ESCAPED))
    if escaped >= 40:
        return end - escaped
    if not _prefix.fullmatch(own):
        return end
    lines = 0
    while start > least:
        at = text.rfind("\n", least, start - 1) + 1 or least
        # The last line is as long as it comes, the others are full.
        if start - at > _LINE or not _body_line.match(text, at, start):
            break
        if lines and not _body.search(text, at, start):
            break
        start = at
        lines += 1
    return start if lines else end


def _headers(text: str, low: bytes) -> list[Span]:
    """What an `Authorization` header holds, and user and password in base64 under the name `auth`."""
    found = []
    at = low.find(b"auth")
    while at >= 0:
        after = at + 4
        if low.startswith(b"orization", after):
            match = _authorization.match(text, at)
            if match:
                after = match.end()
                if _is_credential((match[1] or "").lower(), match[2]):
                    found.append(Span(*match.span(2), "authorization"))
        else:
            match = _auth.match(text, at)
            if match:
                after = match.end()
                if _is_pair(match[1]):
                    found.append(Span(*match.span(1), "authorization"))
        at = low.find(b"auth", after)
    return found


def _is_credential(scheme: str, value: str) -> bool:
    if _variable.match(value) or _word.match(value) or re.search(r"[(){}]|\$\{|\[masked", value):
        return False
    if scheme == "basic":
        return _is_pair(value) or is_random(value)
    if scheme:
        return any(map(str.isdigit, value)) or is_random(value)
    return len(value) >= 16 and is_random(value)


def _is_pair(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    if len(value) < 8 or len(value) % 4 == 1:
        return False
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return ":" in plain[1:] and plain.isprintable()


def _cookies(text: str, low: bytes) -> list[Span]:
    """Values in a cookie header that a machine drew."""
    found = []
    at = low.find(b"cookie")
    while at >= 0:
        after = at + 6
        match = _cookie.match(text, at)
        pair = _pair.match(text, match.end()) if match else None
        while pair is not None:
            value = pair[2]
            if _long.search(value) and is_random(value) and not _variable.match(value):
                found.append(Span(*pair.span(2), "cookie"))
            after = pair.end()
            pair = _pair.match(text, after) if pair[0].endswith((";", " ")) else None
        at = low.find(b"cookie", after)
    return found


def _urls(text: str, low: bytes) -> list[Span]:
    """The password in `scheme://user:password@host`, the token in `scheme://token@host`; user and host stay.

    The line may end before the host of a password.
    """
    found = []
    at = low.find(b"://")
    while at >= 0:
        after = at + 3
        match = _userinfo.match(text, after)
        if match:
            after = match.end()
            if at and text[at - 1].isalnum() and not _variable.match(match[1]) and "[masked:" not in match[0]:
                found.append(Span(*match.span(1), "url-password"))
        elif (bare := _bare_user.match(text, after)) and at and text[at - 1].isalnum():
            after = bare.end()
            if is_random(bare[1]):
                found.append(Span(*bare.span(1), "url-password"))
        elif short := _cut_url.match(text, after):
            image = _images.search(text, max(at - 24, 0), at)
            if at and text[at - 1].isalnum() and not image and is_password(short[1], quoted=False):
                found.append(Span(*short.span(1), "url-password"))
                after = short.end()
        at = low.find(b"://", after)
    return found


def _curl(text: str, low: bytes) -> list[Span]:
    """The password in `curl -u user:password`."""
    found = []
    at = low.find(b"curl") if b"://" in low else -1
    while at >= 0:
        end = low.find(b"\n", at, at + 512)
        end = min(at + 512, len(text)) if end < 0 else end
        match = _option.search(text, at, end)
        if match and not _variable.match(match[1]) and not _word.match(match[1]):
            found.append(Span(*match.span(1), "password"))
        at = low.find(b"curl", max(end, at + 4))
    return found


def _ssh(text: str, low: bytes) -> list[Span]:
    return [
        Span(*match.span(1), "password")
        for match in _sshpass.finditer(text)
        if is_password(match[1], quoted=True)
    ]


def _client(name: bytes) -> Look:
    """What finds the password in `mysql -ume -psecret`, and of the programs beside it."""

    def look(text: str, low: bytes) -> list[Span]:
        found = []
        at = low.find(name)
        while at >= 0:
            end = _command_end(text, at)
            match = _client_password.search(text, at, end)
            sure = match is not None and _as_user.search(text, at, end) is not None
            if match and _is_given(match[match.lastindex or 0], sure=sure):
                found.append(Span(*match.span(match.lastindex or 0), "password"))
            at = low.find(name, max(end, at + 1))
        return found

    return look


def _logins(text: str, low: bytes) -> list[Span]:
    """The password in `docker login -u me -p secret`."""
    found = []
    at = low.find(b" login ")
    while at >= 0:
        end = _command_end(text, at)
        if _login.search(text, max(at - 16, 0), at):
            match = _login_password.search(text, at, end)
            if match and _is_given(match[match.lastindex or 0], sure=True):
                found.append(Span(*match.span(match.lastindex or 0), "password"))
        at = low.find(b" login ", max(end, at + 1))
    return found


def _command_end(text: str, at: int) -> int:
    """Where the command ends that a place is in, as far as it is looked at."""
    end = _ends.search(text, at, at + 512)
    return end.start() if end else min(at + 512, len(text))


def _is_given(value: str, *, sure: bool) -> bool:
    """Whether a value is a password; where nothing else can stand it may be a word or a number."""
    if _variable.match(value):
        return False
    return (is_password(value, quoted=True) and (sure or not value.isdigit())) or (sure and is_word(value))


def _statements(text: str, low: bytes) -> list[Span]:
    """The password in `CREATE USER me IDENTIFIED BY 'secret'`."""
    found = []
    at = low.find(b"identified")
    while at >= 0:
        after = at + 10
        match = _identified.match(text, at)
        if match is not None:
            after = match.end()
            said = _statement.search(text, max(at - 200, 0), at) is not None
            if (said or text[at].isupper()) and _is_given(match[2], sure=said):
                found.append(Span(*match.span(2), "password"))
        at = low.find(b"identified", after)
    return found


LOOK: tuple[tuple[bytes, Look], ...] = (
    (b" private key", _keys),
    (b"auth", _headers),
    (b"cookie", _cookies),
    (b"://", _urls),
    (b"curl", _curl),
    (b"sshpass", _ssh),
    (b"mysql", _client(b"mysql")),
    (b"mariadb", _client(b"mariadb")),
    (b" login ", _logins),
    (b"identified", _statements),
)
