"""Messages that do not fit their types: every value that can be kept is, the others are named."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from . import wire
from .state import State

_TEXTS = ("text", "thinking", "id", "name", "tool_use_id", "path", "mediaType")
_RAWS = ("input", "content", "data")


def loose_message(raw: bytes, state: State, file: str, index: int) -> wire.Wire:
    """Read a message value by value. What is no object at all becomes one block of its own text."""
    where = f"/messages/{index}"
    refused: list[str] = []
    try:
        value = wire.loads(raw.decode("utf-8", "replace"), refused)
    except (ValueError, RecursionError):
        value = None
    if wire.is_deep(value):
        value = None
    for entry in refused:
        state.refuse(file, where, entry)
    if not isinstance(value, dict):
        state.refuse(file, where, "not a message")
        text = raw.decode("utf-8", "replace")
        return wire.Wire("unknown", [wire.Block(type="unreadable_message", text=text)])
    message = wire.Wire(
        role=_typed(value, "role", str, state, file, where) or "unknown",
        content=[],
        id=_typed(value, "id", str, state, file, where),
        ts=value.get("ts"),
        metadata=_typed(value, "metadata", dict, state, file, where),
        modelInfo=_typed(value, "modelInfo", dict, state, file, where),
        metrics=_typed(value, "metrics", dict, state, file, where),
    )
    content = value.get("content")
    if isinstance(content, str):
        message.content = content
    elif isinstance(content, list):
        message.content = [
            _block(entry, state, file, f"{where}/content/{number}") for number, entry in enumerate(content)
        ]
    elif content is not None:
        message.content = [_block(content, state, file, f"{where}/content")]
    return message


def _typed(value: dict[str, Any], key: str, kind: type, state: State, file: str, where: str) -> Any:
    found = value.get(key)
    if found is None or isinstance(found, kind):
        return found
    state.refuse(file, f"{where}/{key}", repr(found))
    return None


def _block(value: Any, state: State, file: str, where: str) -> wire.Block:
    """One block. What is no block, or has a value of another kind where a text should stand, is kept raw as a whole."""
    if not isinstance(value, dict):
        return wire.Block(type="no object")
    kind = value.get("type")
    if not isinstance(kind, str):
        return wire.Block(type="untyped")
    if any(not isinstance(value.get(key), str | None) for key in _TEXTS):
        return wire.Block(type=f"malformed {kind}")
    block = wire.Block(type=kind)
    for key in _TEXTS:
        setattr(block, key, value.get(key))
    for key in _RAWS:
        if key in value:
            setattr(block, key, Raw(wire.encode(value[key])))
    block.is_error = _typed(value, "is_error", bool, state, file, where)
    return block
