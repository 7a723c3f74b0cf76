"""JSON-RPC 2.0 as bytes: messages decoded, requests told from notifications, answers and errors written."""

from __future__ import annotations

import math
from typing import Any

import msgspec

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

Object = dict[str, Any]


class Refused(Exception):
    """A request that is answered with an error: its code, a message, and data where the code has some."""

    def __init__(self, code: int, message: str, data: Object | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Request:
    """One call: its method and params. `id` is JSON text; null where it is a notification, which gets no answer."""

    def __init__(self, id_: bytes | None, method: str, params: Any) -> None:
        self.id, self.method, self.params = id_, method, params


def decoded(data: bytes) -> Any:
    """The value of a message. Raises `Refused` for what is no JSON.

    A bad byte or half a surrogate pair costs the character that it stands in, not the message.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass
    import json

    try:
        return json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
    except RecursionError:
        raise Refused(PARSE_ERROR, "Parse error: the message is nested too deeply") from None
    except ValueError as error:
        raise Refused(PARSE_ERROR, f"Parse error: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def id_of(message: Any) -> bytes:
    """The id of a message as JSON text, for an answer; `null` where it has none that can be one."""
    found = message.get("id") if isinstance(message, dict) else None
    if found is None or not is_id(found):
        return b"null"
    if isinstance(found, int):
        return str(found).encode()
    try:
        return msgspec.json.encode(found)
    except (msgspec.MsgspecError, ValueError):
        import json

        return json.dumps(found).encode()  # half a surrogate pair goes back as the escape that it came as


def is_id(value: Any) -> bool:
    """Whether a value can be the id of a request: a string, a number, or null."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def request_of(message: Any) -> Request | None:
    """The call that a message makes; null for an answer, as nothing was asked. Raises `Refused`."""
    if not isinstance(message, dict):
        raise Refused(INVALID_REQUEST, "Invalid request: a message has to be an object")
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if message.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'Invalid request: jsonrpc has to be "2.0"')
    if not isinstance(message.get("method"), str):
        raise Refused(INVALID_REQUEST, "Invalid request: method has to be a string")
    if not is_id(message.get("id")):
        raise Refused(INVALID_REQUEST, "Invalid request: id has to be a string or a number")
    own = id_of(message) if "id" in message else None
    return Request(own, message["method"], message.get("params"))


def result(id_: bytes, value: Any) -> bytes:
    """An answer."""
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + msgspec.json.encode(value) + b"}"


def failure(id_: bytes, error: Refused) -> bytes:
    """An answer that is an error."""
    words = error.message.encode("utf-8", "replace").decode()
    value: Object = {"code": error.code, "message": words}
    if error.data is not None:
        value["data"] = error.data
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"error":' + msgspec.json.encode(value) + b"}"
