"""Starts a server as the agent will, and sees whether it answers: `initialize`, then `tools/list`."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from msgspec import Struct

from .. import __version__
from .program import quiet_flags

PROTOCOL = "2024-11-05"
LIMIT = 10.0
SHOWN = 300


class Answer(Struct, frozen=True):
    """What came of it: seconds to the first answer and the names of the tools, or what went wrong."""

    seconds: float | None = None
    tools: tuple[str, ...] = ()
    problem: str | None = None


def ask(
    words: Sequence[str],
    env: Mapping[str, str],
    *,
    cwd: str | None = None,
    limit: float = LIMIT,
    call: str | None = None,
) -> Answer:
    """Start a command with this whole environment, ask it twice, and end it; at most `limit` seconds.

    `call` is a tool that is called as well, without arguments: it must not fail. The command must start from any
    folder: where none is named, one is taken that holds nothing of ours.
    """
    with tempfile.TemporaryFile() as errors:
        begun = time.monotonic()
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(env),
                cwd=cwd or tempfile.gettempdir(),
                creationflags=quiet_flags(),
            )
        except OSError as error:
            return Answer(problem=f"it cannot be started: {error.strerror or error}")
        except ValueError as error:  # words, variables or a folder that no system takes
            return Answer(problem=f"it cannot be started: {error}")
        try:
            return _talk(process, begun, limit, call)
        except _Failed as failed:
            _end(process)  # only then are its last words all there
            return Answer(problem=str(failed) + _last_words(errors))
        finally:
            _end(process)


class _Failed(Exception):
    """The server did not answer as it should; the text says how."""


def _talk(process: subprocess.Popen[bytes], begun: float, limit: float, call: str | None) -> Answer:
    lines: queue.Queue[bytes | None] = queue.Queue()
    assert process.stdout is not None
    threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
    client = {"name": "backstory setup", "version": __version__}
    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client}
    _say(process, {"id": 1, "method": "initialize", "params": hello})
    _answer(lines, 1, begun, limit)
    seconds = time.monotonic() - begun
    _say(process, {"method": "notifications/initialized"})
    _say(process, {"id": 2, "method": "tools/list", "params": {}})
    listed = _answer(lines, 2, begun, limit).get("tools")
    tools = listed if isinstance(listed, list) else []
    if call is not None:
        _say(process, {"id": 3, "method": "tools/call", "params": {"name": call, "arguments": {}}})
        result = _answer(lines, 3, begun, limit)
        if result.get("isError") is True:
            raise _Failed(f"its tools fail: {_said(result)}")
    return Answer(seconds, tuple(str(tool.get("name")) for tool in tools if isinstance(tool, dict)))


def _say(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    """Ask; where the server has gone already, what it said until then is the answer."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()


def _listen(stream: IO[bytes], lines: queue.Queue[bytes | None]) -> None:
    """Runs in a thread of its own, which alone closes the stream: a child of the server may hold it open."""
    with stream, contextlib.suppress(OSError, ValueError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _answer(lines: queue.Queue[bytes | None], number: int, begun: float, limit: float) -> dict[str, Any]:
    """The result of a request; what comes between and is no answer to it is left aside."""
    while True:
        try:
            line = lines.get(timeout=max(begun + limit - time.monotonic(), 0))
        except queue.Empty:
            raise _Failed(f"no answer in {limit:.0f} s") from None
        if line is None:
            raise _Failed("it ended without an answer")
        try:
            message = json.loads(line)
        except ValueError:
            words = line.decode("utf-8", "replace").strip()[:SHOWN]
            raise _Failed(f"it printed what is no message: {words}") from None
        if not isinstance(message, dict) or message.get("id") != number:
            continue
        result = message.get("result")
        if not isinstance(result, dict):
            raise _Failed(f"it refused: {json.dumps(message.get('error'))[:SHOWN]}")
        return result


def _said(result: Mapping[str, Any]) -> str:
    """The text of a tool's result, on one line."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [str(block.get("text", "")) for block in blocks if isinstance(block, dict)]
    return " ".join(" ".join(texts).split())[:SHOWN]


def _last_words(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(size - 4 * SHOWN, 0))
    said = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f" ({said[-1].strip()[:SHOWN]})" if said else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, as the agent does at the end of a session, and end it where it does not end by itself."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    for patience, end in ((1.0, process.terminate), (1.0, process.kill)):
        try:
            process.wait(patience)
            break
        except subprocess.TimeoutExpired:
            end()
    process.wait()
