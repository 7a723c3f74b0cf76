"""What every request has to pass, and what every answer carries: hosts, origins, the token, the content policy."""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import traceback
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..schema.words import tilde

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LOG = "app.log"
LOG_BYTES = 1_000_000
TOKEN_HEADER = "x-backstory-token"
NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names under which this machine reaches itself; any other in `Host` is somebody else's page."""

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # `no-referrer` would take the origin off our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def new_token() -> str:
    """A token for the forms of one run."""
    return secrets.token_urlsafe(24)


def same(token: str, given: str | None) -> bool:
    """Whether a form or the script sent our token."""
    return given is not None and hmac.compare_digest(token.encode(), given.encode("utf-8", "replace"))


class Guard:
    """Refuses what does not come from a page of ours, and turns a fault of ours into a plain 500."""

    def __init__(self, app: ASGIApp, home: Path, person: str) -> None:
        self.app = app
        self.home = home
        self.person = person

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = refusal(scope["method"], Headers(scope=scope))
        if refused is not None:
            answer = PlainTextResponse(refused[1], refused[0], HEADERS)
            await answer(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, guarded)
        except Exception:
            write_log(self.home, traceback.format_exc())
            if started:
                raise
            words = broken(self.home, self.person)
            await PlainTextResponse(f"{words}\n", 500, HEADERS)(scope, receive, send)


def refusal(method: str, headers: Headers) -> tuple[int, str] | None:
    """The status and the words for a request that is turned away; null for one that may pass."""
    host = headers.get("host", "")
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit():
        name = host
    if name not in NAMES:
        return 421, "Backstory answers on this machine alone: open http://127.0.0.1 with its port.\n"
    if method in ("GET", "HEAD"):
        return None
    if method != "POST":
        return 405, "Backstory knows GET and POST.\n"
    if urlsplit(headers.get("origin", "")).netloc != host or not headers["origin"].startswith("http://"):
        return 403, "Only a page of Backstory's own may change something.\n"
    return None


def broken(home: Path, person: str) -> str:
    """What a page says of a fault of ours; `person` is the home that is shown as `~`."""
    log = tilde(str(home / LOG), person)
    return f"Something broke in Backstory. Your sessions are untouched. The details are in {log}."


def is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether another writer held the archive for longer than a page waits."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def write_log(home: Path, text: str) -> None:
    """Put a fault into the log, which nobody else may read and which starts anew when it gets long."""
    path = home / LOG
    try:
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.unlink()
        with os.fdopen(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "a") as file:
            file.write(text + "\n")
    except OSError:
        return
