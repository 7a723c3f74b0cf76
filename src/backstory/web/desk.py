"""What every page works with: the request, the archive opened for it, the time, and the templates."""

from __future__ import annotations

import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ..archive import Archive
from ..cli.words import clock, size
from ..errors import ArchiveError
from ..schema.words import tilde
from ..store import database, outline, page
from ..store.outline import Outline
from . import guard, html
from .figures import Clock
from .jobs import Jobs
from .samples import Samples
from .status import Status

THEMES = ("light", "dark")
BUSY_MS = 5_000
"""How long a page or a form waits for another writer before it says so."""
KEPT = 4
"""Outlines that are kept between requests; a session that is read live is asked for again and again."""


class Desk:
    """The app's own state. Each request opens the archive anew, so nothing is shared between threads but this."""

    def __init__(
        self,
        path: Path | None,
        env: Mapping[str, str],
        *,
        now: Callable[[], int],
        status: Status,
        token: str,
        tz: tzinfo | None = None,
        sessions_dirs: tuple[Path, ...] = (),
    ) -> None:
        self.path = path
        self.env = env
        self.now = now
        self.status = status
        self.token = token
        self.tz = tz
        self.sessions_dirs = sessions_dirs
        self.templates: Environment = html.environment()
        self.home = env.get("HOME") or env.get("USERPROFILE") or str(Path.home())
        self.jobs = Jobs()
        self.samples = Samples()
        self.stopping = False
        self._opened = False
        self._lock = threading.Lock()
        self._outlines: OrderedDict[tuple[str, int], Outline] = OrderedDict()

    @contextmanager
    def archive(self, *, patient: bool = False) -> Iterator[Archive]:
        """The archive, for one request in one thread; `patient` is work that may wait long for other writers.

        Raises `ArchiveError` where it cannot be opened, and where it is gone that was there: an empty one in its place
        would say that nobody has any sessions.
        """
        path = self.path or database.default_path(self.env)
        if self._opened and not path.exists():
            raise ArchiveError(
                f"{tilde(str(path), self.home)}: the archive is gone. Stop Backstory and start it again:"
                " it reads your sessions anew."
            )
        with Archive(self.path, env=self.env, now=self.now) as opened:
            self._opened = True
            if not patient:
                opened.connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            yield opened

    def broke(self) -> str:
        """Note the fault at hand in the log; returns what a page says of it."""
        home = database.home(self.env)
        guard.write_log(home, traceback.format_exc())
        return guard.broken(home, self.home)

    def clock(self) -> Clock:
        """The time of a page."""
        return Clock(self.now(), self.tz)

    def outline(self, archive: Archive, session_id: str) -> Outline:
        """A session without bodies; read again only when it was written since. Raises `UnknownSession`."""
        row = archive.connection.execute(
            "SELECT generation FROM session WHERE id = ?", (session_id,)
        ).fetchone()
        key = (session_id, row[0] if row else -1)
        with self._lock:
            found = self._outlines.get(key)
        if found is None:
            found = outline.outline(archive.connection, session_id)
            with self._lock:
                self._outlines[key] = found
                while len(self._outlines) > KEPT:
                    self._outlines.popitem(last=False)
        return found

    def page(
        self,
        request: Request,
        archive: Archive,
        template: str,
        *,
        title: str,
        section: str = "",
        status: int = 200,
        **values: Any,
    ) -> HTMLResponse:
        """A page in its frame."""
        theme = theme_of(request)
        text = html.drawn(
            self.templates,
            template,
            **self.frame(archive),
            title=title,
            section=section,
            page=template.partition(".")[0],
            theme=theme,
            # The memory has a field of its own, with results of its own.
            query="" if section == "memory" else request.query_params.get("q", ""),
            **values,
        )
        answer = HTMLResponse(text, status)
        asked = request.query_params.get("theme")
        if asked in THEMES:
            answer.set_cookie("theme", asked, max_age=400 * 86400, samesite="strict", httponly=True)
        elif asked == "system":
            answer.delete_cookie("theme")
        return answer

    def frame(self, archive: Archive) -> dict[str, Any]:
        """What the frame of a page says."""
        made = self.clock()
        return {
            "token": self.token,
            "capture": self.status,
            "running": len(page.running(archive.connection, made.now)),
            "archive_path": tilde(str(archive.path), self.home),
            "archive_size": size(file_size(archive.path)),
            "made_at": clock(made.now, made.tz),
        }

    def draw(self, template: str, **values: Any) -> str:
        """A part of a page."""
        return html.drawn(self.templates, template, **values)


def file_size(path: Path) -> int:
    """Bytes of the archive with what lies beside it."""
    found = 0
    for name in (path, Path(f"{path}-wal")):
        try:
            found += name.stat().st_size
        except OSError:
            continue
    return found


def theme_of(request: Request) -> str:
    """`light`, `dark`, or nothing where the system decides."""
    asked = request.query_params.get("theme")
    if asked in THEMES:
        return asked
    kept = request.cookies.get("theme")
    return kept if asked is None and kept in THEMES else ""
