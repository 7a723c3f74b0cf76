"""Cline's terminal interface on a terminal of its own: only there Cline takes up a session again."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from types import TracebackType

from .home import MODEL, ClineHome

PATIENCE = 30.0
"""Seconds to wait for something to appear."""

TRIES = 10

CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].")

CTRL_C = b"\x03"


class Terminal:
    """An interactive run of Cline. It is ended, whatever happened, when the block is left."""

    def __init__(self, cline: ClineHome, *flags: str) -> None:
        self._cline = cline
        self._arguments = ["-P", "openai", "-m", MODEL, *flags]
        self._seen = ""

    def __enter__(self) -> Terminal:
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        try:
            self._process = subprocess.Popen(
                [str(self._cline.binary), *self._arguments],
                cwd=self._cline.project,
                env={**self._cline.env, "TERM": "xterm-256color"},
                stdin=inner,
                stdout=inner,
                stderr=inner,
                start_new_session=True,
            )
        finally:
            os.close(inner)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)
        os.close(self._fd)

    def wait_for(self, text: str) -> None:
        """Wait till a text, without its blanks, is on the screen."""
        wanted = re.sub(r"\s", "", text)
        self._wait(
            lambda: wanted in re.sub(r"\s", "", CONTROL.sub("", self._seen)), f"{text!r} on the screen"
        )

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        self._wait(holds, what)

    def prompt(self, text: str, taken: Callable[[], bool]) -> None:
        """Type a prompt and send it off, again while nothing comes of it: Cline drops a key when it is busy."""
        self._seen = ""
        os.write(self._fd, text.encode())
        self.wait_for(text)
        for _ in range(TRIES):
            os.write(self._fd, b"\r")
            if self._holds_within(taken, PATIENCE / TRIES):
                return
        raise AssertionError(f"Cline did not take the prompt; the screen: {self._seen[-2000:]}")

    def quit(self) -> int:
        """Leave the way a person does; returns the exit code."""
        os.write(self._fd, CTRL_C)
        self._wait(lambda: self._process.poll() is not None, "the end of the interactive run")
        return self._process.returncode

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        if not self._holds_within(holds, PATIENCE):
            raise AssertionError(f"waited in vain for {what}; the screen: {self._seen[-2000:]}")

    def _holds_within(self, holds: Callable[[], bool], patience: float) -> bool:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if holds():
                return True
            self._read()
        return False

    def _read(self) -> None:
        """Take what Cline writes; a terminal that nobody reads would stop it."""
        ready, _, _ = select.select([self._fd], [], [], 0.1)
        if ready:
            try:
                self._seen += os.read(self._fd, 65536).decode(errors="replace")
            except OSError:
                time.sleep(0.05)
