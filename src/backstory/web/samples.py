"""Sample sessions to look at: written to a throw-away folder, served beside the app from an archive of their own."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import Archive

if TYPE_CHECKING:
    from .desk import Desk


class Samples:
    """Served at most once, until the app stops. The user's archive and Cline's folder are not touched."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = ExitStack()
        self._address = ""

    def address(self, desk: Desk) -> str:
        """Where the samples are served; they are made when that is first asked."""
        with self._lock:
            if not self._address:
                self._address = self._serve(desk)
            return self._address

    def _serve(self, desk: Desk) -> str:
        from ..demo import load, settings
        from .server import bind, serving
        from .status import Status

        folder = Path(
            self._held.enter_context(
                tempfile.TemporaryDirectory(prefix="backstory-demo-", ignore_cleanup_errors=True)
            )
        )
        data = folder / "cline" / "data"
        settings(data)
        load(data / "sessions", desk.now())
        # Cline's other variables would point out of the samples.
        own = ("CLINE_", "BACKSTORY_")
        env = {name: value for name, value in desk.env.items() if not name.startswith(own)}
        env |= {"CLINE_DIR": str(folder / "cline"), "BACKSTORY_HOME": str(folder)}
        with Archive(env=env, now=desk.now) as archive:
            archive.sync()
            archive.memory.learn()
        served = serving(bind(0), None, env=env, status=Status("off"), now=desk.now)
        return self._held.enter_context(served)

    def stop(self) -> None:
        """Let the samples go, and remove them."""
        with self._lock:
            self._held.close()
            self._address = ""
