"""Serving the app on this machine alone, in a thread beside whatever else the process does."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from ..errors import BackstoryError
from .app import create_app
from .status import Status

HOST = "127.0.0.1"
PORT = 8737
STOP_SECONDS = 3


class PortTaken(BackstoryError):
    """Another program has the port."""


def bind(port: int) -> socket.socket:
    """A socket on the loopback. Raises `BackstoryError`, of which `PortTaken` is one, for a port that cannot be had."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where two programs could share a port otherwise
            found.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except OSError as error:
        found.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES) and port >= 1024:
            raise PortTaken(
                f"Port {port} is in use, perhaps by another Backstory. Name another: --port {_other(port)}."
            ) from error
        raise BackstoryError(
            f"Port {port} cannot be used: {error.strerror}. Name another with --port."
        ) from error
    return found


def _other(port: int) -> int:
    return port + 1 if port < 65535 else port - 1


@contextmanager
def serving(
    listening: socket.socket,
    path: Path | None,
    *,
    env: Mapping[str, str] | None = None,
    status: Status | None = None,
    sessions_dirs: tuple[Path, ...] = (),
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
) -> Iterator[str]:
    """Serve while the block runs; gives the address. Open pages are let go when it ends."""
    app = create_app(path, env=env, status=status, sessions_dirs=sessions_dirs, now=now)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    server = uvicorn.Server(config)
    # Signals belong to the main thread, which watches; uvicorn takes none in another one.
    thread = threading.Thread(target=server.run, args=([listening],), name="backstory-app", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{listening.getsockname()[1]}"
    finally:
        app.state.desk.stopping = True
        app.state.desk.jobs.stop()
        app.state.desk.samples.stop()
        server.should_exit = True
        thread.join(STOP_SECONDS + 2)
        listening.close()
