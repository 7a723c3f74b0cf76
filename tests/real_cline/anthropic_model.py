"""A model that follows a script and speaks Anthropic's Messages API: it counts what it wrote to its cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from .model import Model, Reply, Usage

NAME = "claude-sonnet-4-5"
"""A model whose prices Cline knows, so that it records a cost."""


@dataclass(frozen=True)
class CacheUsage(Usage):
    """Tokens of one reply with prompt caching; `prompt` is the whole prompt, the parts read and written included."""

    written: int = 0

    @property
    def fresh(self) -> int:
        return self.prompt - self.cached - self.written

    def wire(self) -> dict[str, Any]:
        """As Anthropic counts: input without what was read from the cache or written to it."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.cached,
            "output_tokens": self.completion,
        }


class AnthropicModel(Model):
    """The same server with the replies of another API. Every usage of its scripts is a `CacheUsage`."""

    def __init__(self) -> None:
        super().__init__()
        self._server.RequestHandlerClass = _handler_of(self)

    def next_reply(self, request: dict[str, Any]) -> Reply | None:
        """The reply whose turn it is; here the system prompt stands beside the messages."""
        system = {"role": "system", "content": request.get("system", "")}
        return super().next_reply({**request, "messages": [system, *request.get("messages", [])]})

    def usages(self) -> list[CacheUsage]:
        """The tokens of every reply that went out whole, in order."""
        return [reply.usage for reply in self.served if isinstance(reply.usage, CacheUsage)]


def _events(reply: Reply, name: str) -> Iterator[dict[str, Any]]:
    """A reply as the events of a stream."""
    begun = {**reply.usage.wire(), "output_tokens": 1}
    message = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": name, "content": []}
    ends = {"stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**message, **ends, "usage": begun}}
    for index, (block, deltas) in enumerate(_blocks(reply)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": reply.usage.wire()}
    yield {"type": "message_stop"}


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each content block as it begins, and what then comes of it."""
    if reply.thinking:
        signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
        thought = {"type": "thinking_delta", "thinking": reply.thinking}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
    if reply.text:
        lines = reply.text.splitlines(keepends=True)
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": line} for line in lines]
    for call in reply.calls:
        begin = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield begin, [{"type": "input_json_delta", "partial_json": call.text}]


def _handler_of(model: AnthropicModel) -> type[BaseHTTPRequestHandler]:
    """A request handler that is bound to one model."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's own output clean."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            if not self.path.partition("?")[0].endswith("/messages"):
                return self._refuse(404, "no such path")
            reply = model.next_reply(request) or Reply(refusal="the script has no reply left")
            if reply.refusal:
                return self._refuse(400, reply.refusal)
            return self._stream(reply, str(request.get("model", "")))

        def _stream(self, reply: Reply, name: str) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for event in _events(reply, name):
                if event["type"] == "message_stop":
                    model.finished(reply)
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

        def _refuse(self, status: int, message: str) -> None:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            body = json.dumps(error).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
