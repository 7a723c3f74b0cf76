"""The process side of the server: frames from standard input, frames to standard output, and nothing else there."""

from __future__ import annotations

import contextlib
import os
import sys

from .frames import Reader, framed
from .protocol import Call, Server

INPUT, OUTPUT, ERRORS = 0, 1, 2


def serve(call: Call) -> None:
    """Answer messages until the client closes our input, or no longer reads our output."""
    server = Server(call)
    out = _taken_over()
    with contextlib.suppress(BrokenPipeError, ConnectionError, KeyboardInterrupt):
        for frame in Reader(_read):
            answer = server.fault(frame.fault) if frame.fault else server.answer(frame.data)
            if answer is not None:
                _write(out, framed(answer, frame.headed))


def _taken_over() -> int:
    """Our own way to the client. Whatever else writes to standard output writes to standard error from here on."""
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (INPUT, OUTPUT):
            msvcrt.setmode(descriptor, os.O_BINARY)
    if sys.stdout is not None:
        sys.stdout.flush()
    out = os.dup(OUTPUT)
    try:
        os.dup2(ERRORS, OUTPUT)
    except OSError:  # there is no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), OUTPUT)
    return out


def _read(size: int) -> bytes:
    try:
        return os.read(INPUT, size)
    except OSError:
        return b""


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
