"""A scripted model on loopback: speaks the streaming chat completions that Cline asks for, and serves pages.

A script is a list of replies, given out in order. Several scripts may stand beside each other; the first
whose `when` occurs in the request's system prompt or in its first user text answers, so that a subagent
can have replies of its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

STALL_LIMIT = 60.0
"""Seconds after which a stalled stream ends by itself, so that no thread outlives a broken test for long."""


@dataclass(frozen=True)
class ToolCall:
    """One tool call of a reply; a text stands for arguments exactly as the model wrote them, valid or not."""

    id: str
    name: str
    arguments: dict[str, Any] | str

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply. `prompt` is the whole prompt, the cached part included."""

    prompt: int
    completion: int
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt, self.completion + other.completion, self.cached + other.cached
        )

    def wire(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }


@dataclass(frozen=True)
class Reply:
    """One answer of the model. `stalls` stops the stream after the text, before anything ends it.

    `refusal` is the text of an error with status 400 that stands in place of an answer.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage(1000, 50)
    stalls: bool = False
    refusal: str = ""


@dataclass
class Script:
    """Replies in order. `when` chooses the script; an empty one answers whoever no other script knows."""

    replies: Sequence[Reply]
    when: str = ""
    served: int = field(default=0, init=False)


class Model:
    """The server. `served` are the replies that went out whole, in order; `requests` what was asked."""

    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self.pages: dict[str, str] = {}
        self.served: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.unscripted: list[str] = []
        self.stalled = threading.Event()
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def play(self, *scripts: Script) -> None:
        """Forget what was, and take these scripts; those that name a `when` come first."""
        with self._lock:
            self.scripts = sorted(scripts, key=lambda script: not script.when)
            self.served, self.requests, self.unscripted = [], [], []
            self.stalled.clear()

    def spent(self) -> Usage:
        """The tokens of every reply that went out whole."""
        return sum((reply.usage for reply in self.served), Usage(0, 0))

    def next_reply(self, request: dict[str, Any]) -> Reply | None:
        """The reply whose turn it is; null where no script has one left."""
        seen = _opening(request)
        with self._lock:
            self.requests.append(request)
            for script in self.scripts:
                if script.when in seen and script.served < len(script.replies):
                    script.served += 1
                    return script.replies[script.served - 1]
            self.unscripted.append(seen[-200:])
        return None

    def finished(self, reply: Reply) -> None:
        with self._lock:
            self.served.append(reply)

    def stall(self) -> None:
        self.stalled.set()
        self._released.wait(STALL_LIMIT)


def _opening(request: dict[str, Any]) -> str:
    """The system prompt and the first user text of a request."""
    texts: list[str] = []
    for role in ("system", "user"):
        first = next((item for item in request.get("messages", []) if item.get("role") == role), None)
        content = first.get("content") if first else ""
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [str(part.get("text", "")) for part in parts]
    return "\n".join(texts)


def _chunks(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    """A reply as the chunks of a stream, up to the point where it stalls."""
    frame = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if reply.thinking:
        yield chunk({"reasoning_content": reply.thinking})
    for word in reply.text.splitlines(keepends=True):
        yield chunk({"content": word})
    if reply.stalls:
        return
    for index, call in enumerate(reply.calls):
        head = {"index": index, "id": call.id, "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": call.name, "arguments": ""}}]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": call.text}}]})
    yield chunk({}, "tool_calls" if reply.calls else "stop")
    yield {**frame, "choices": [], "usage": reply.usage.wire()}


def _handler_of(model: Model) -> type[BaseHTTPRequestHandler]:
    """A request handler that is bound to one model."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's own output clean."""

        def do_GET(self) -> None:
            page = model.pages.get(self.path)
            self._send(200 if page is not None else 404, page or "no such page", "text/html")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if not self.path.endswith("/chat/completions"):
                return self._send(404, "{}", "application/json")
            request = json.loads(body)
            reply = model.next_reply(request) or Reply(refusal="the script has no reply left")
            if reply.refusal:
                error = {"message": reply.refusal, "type": "invalid_request_error"}
                return self._send(400, json.dumps({"error": error}), "application/json")
            return self._stream(reply, str(request.get("model", "")))

        def _stream(self, reply: Reply, name: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                for chunk in _chunks(reply, name):
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                    self.wfile.flush()
                if reply.stalls:
                    return model.stall()
                model.finished(reply)
                self.wfile.write(b"data: [DONE]\n\n")
            except (BrokenPipeError, ConnectionResetError):
                """The client went away in the middle: that is what some tests are about."""

        def _send(self, status: int, text: str, kind: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
