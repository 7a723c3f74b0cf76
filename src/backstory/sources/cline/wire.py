"""What Cline writes, as structs: the messages document, its messages and blocks (FORMAT.md sections 2 and 3).

Fields are as loose as the files are: what matters is typed, the rest stays raw. A message that does not fit
goes through `loose_message`, which keeps every value that can be kept and names the others.
"""

from __future__ import annotations

import json
import math
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

EMPTY = Raw(b"")


class Item(Struct, gc=False):
    """One item of an array result: what Cline echoes in `query`, and what came of it."""

    query: str | None = None
    result: Any = None
    success: bool | None = None
    error: Any = None


C = TypeVar("C")


class AnyBlock(Struct, Generic[C], gc=False):
    """One content block of any type; which fields are set depends on `type`."""

    type: str
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = EMPTY
    tool_use_id: str | None = None
    content: C = None  # type: ignore[assignment]  # A union with `Raw` would not be kept raw.
    is_error: bool | None = None
    path: str | None = None
    data: Raw = EMPTY
    mediaType: str | None = None


class AnyMessage(Struct, Generic[C], gc=False):
    """One message of a conversation."""

    role: str
    content: list[AnyBlock[C]] | str
    id: str | None = None
    ts: Any = None
    metadata: dict[str, Any] | None = None
    modelInfo: dict[str, Any] | None = None
    metrics: dict[str, Any] | None = None


Usual = list[Item] | str | None
"""What nearly every block's `content` is: it is decoded along with its message, everything else stays raw."""

Block = AnyBlock[Usual | Raw]
Wire = AnyMessage[Usual | Raw]


class Document(Struct):
    """A messages file. `messages` are views into the file's bytes."""

    messages: list[Raw]
    version: Any = None
    updated_at: Any = None
    agent: Any = None
    sessionId: Any = None
    taskType: Any = None
    origin: Any = None


_document = msgspec.json.Decoder(Document)
_usual: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyMessage[Usual])
_unusual: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyMessage[Raw])
_items = msgspec.json.Decoder(list[Item])
_any = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode

JSON_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError, ValueError)
"""What decoding may raise on bad input; msgspec's validation errors are among them."""

_NESTS = (dict, list)
MAX_DEPTH = 60
"""Levels of nesting up to which a value is kept as a value; a deeper one is kept as text."""


def decode_document(data: bytes) -> Document:
    """A messages file, strictly. Raises one of `JSON_ERRORS`."""
    return _document.decode(data)


def decode_wire(raw: Raw | bytes) -> Wire:
    """One message, strictly. Raises one of `JSON_ERRORS`, also where a value in it is nested too deeply."""
    try:
        message: Wire = _usual.decode(raw)
        usual = isinstance(message.content, str) or all(map(_is_usual, message.content))
    except JSON_ERRORS:
        usual = False
    if not usual:
        message = _unusual.decode(raw)
    if is_deep(message.metadata, message.metrics, message.modelInfo, message.ts):
        raise RecursionError("nested too deeply")
    return message


def _is_usual(block: Block) -> bool:
    """Whether an array in a block, if there is one, holds nothing but query items."""
    return not isinstance(block.content, list) or (not block.is_error and _are_whole(block.content))


def _are_whole(items: list[Item]) -> bool:
    """Whether all of them are query items; a result that is nested too deeply becomes its own text."""
    for item in items:
        if item.query is None or item.success is None:
            return False
        if type(item.result) is not str and is_deep(item.result):
            item.result = encode(item.result).decode()
    return True


def decode_items(raw: Raw) -> list[Item] | None:
    """An array result that stayed raw, or null where it is something else than query items."""
    try:
        items = _items.decode(raw)
    except JSON_ERRORS:
        return None
    return items if _are_whole(items) else None


def decode_any(raw: Raw | bytes | str) -> Any:
    """Any JSON value. Raises one of `JSON_ERRORS`."""
    return _any.decode(raw)


def encode(value: Any) -> bytes:
    """Compact JSON bytes of plain values."""
    return _encode(value)


def clean(value: Any, refused: list[str] | None = None, where: str = "") -> Any:
    """A value that any JSON reader takes: lone surrogates become U+FFFD, NaN and infinities become null."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        if refused is not None:
            refused.append(f"{where}={value}")
        return None
    if isinstance(value, dict):
        return {clean(str(key)): clean(item, refused, f"{where}/{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item, refused, f"{where}/{index}") for index, item in enumerate(value)]
    return value


def loads(text: str, refused: list[str] | None = None) -> Any:
    """JSON as Python's own reader takes it: NaN, control characters and lone surrogates are allowed, then cleaned.

    Raises `ValueError` or `RecursionError`.
    """
    return clean(json.loads(text, strict=False), refused)


def is_deep(*values: Any) -> bool:
    """Whether a value is nested so deeply that walking through it could end in a recursion error."""
    level = [value for value in values if type(value) in _NESTS]
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in _NESTS
        ]
    return bool(level)


def any_value(data: bytes) -> Any:
    """JSON bytes as a value, as strictly as they allow; what is no JSON, or nested too deeply, is its own text."""
    try:
        value = decode_any(data)
    except JSON_ERRORS:
        try:
            value = loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return clean(data.decode("utf-8", "replace"))
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and is_deep(value):
        return data.decode("utf-8", "replace")
    return value
