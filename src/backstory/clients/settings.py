"""An agent's settings file as text: what of it the agent can read, and our entry put in or taken out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from . import edits
from .jsontext import Node, NotJson, Value, parse, value

SERVERS = "mcpServers"
BOMS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Unreadable(ValueError):
    """The agent cannot read the file; the text says why, as an end of a sentence."""


class Spec(NamedTuple):
    """What an entry has to hold: `fixed` members are set, and removed where their value is null; `wanted` ones only
    where there are none. All others stay as they are."""

    fixed: Mapping[str, edits.Json | None]
    wanted: Mapping[str, edits.Json]


def check(text: bytes) -> Node:
    """The root of the settings. Raises `Unreadable` for what Cline's `JSON.parse` refuses, or takes for no settings."""
    if mark := next((mark for mark in BOMS if text.startswith(mark)), None):
        raise Unreadable(f"begins with a byte order mark ({BOMS[mark]})")
    if not text.strip(b" \t\r\n"):
        raise Unreadable("is empty")
    try:
        root = parse(text)
    except NotJson as error:
        before = text[: error.at]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        raise Unreadable(f"is not JSON: line {line}, column {column}") from error
    if root.kind != "object":
        raise Unreadable("is no JSON object")
    servers = root.last(SERVERS)
    if servers is not None and servers.kind != "object":
        raise Unreadable(f'has "{SERVERS}" that is no object')
    return root


def entries(text: bytes) -> dict[str, Value]:
    """The entries by name, in their order; of two with one name the last, as `JSON.parse` has it."""
    servers = check(text).last(SERVERS)
    members = servers.members if servers is not None else []
    return {member.key: value(text, member.node) for member in members}


def every(text: bytes, name: str) -> list[Value]:
    """All entries of that name, those included that a later one hides."""
    servers = check(text).last(SERVERS)
    members = servers.members if servers is not None else []
    return [value(text, member.node) for member in members if member.key == name]


def put(text: bytes | None, name: str, spec: Spec) -> bytes:
    """The text with our entry as the spec wants it; null is no file yet."""
    whole = {key: own for key, own in (*spec.fixed.items(), *spec.wanted.items()) if own is not None}
    if text is None:
        text = b"{}\n"
    if edits.find(text, [SERVERS]) is None:
        return edits.put(text, [SERVERS], {name: whole})
    entry = edits.find(text, [SERVERS, name])
    if entry is None or entry.kind != "object":
        return edits.put(text, [SERVERS, name], whole)
    for key, own in spec.fixed.items():
        path = [SERVERS, name, key]
        if own is None:
            text = edits.drop(text, path)
        elif edits.find(text, path) is None or _differs(text, path, own):
            text = edits.put(text, path, own)
    for key, own in spec.wanted.items():
        if edits.find(text, [SERVERS, name, key]) is None:
            text = edits.put(text, [SERVERS, name, key], own)
    return text


def _differs(text: bytes, path: list[str], wanted: edits.Json) -> bool:
    node = edits.find(text, path)
    assert node is not None
    return value(text, node) != wanted


def take_out(text: bytes, name: str, before: bytes | None = None) -> bytes:
    """The text without our entry. `before` is what stood there once: blanks and a missing `mcpServers` come back."""
    old = parse(before) if before is not None else None
    servers = old.last(SERVERS) if old is not None else None
    blank = edits.inner(before, servers) if before and servers is not None and not servers.members else b""
    text = edits.drop(text, [SERVERS, name], blank)
    left = edits.find(text, [SERVERS])
    if old is not None and before and servers is None and left is not None and not left.members:
        text = edits.drop(text, [SERVERS], edits.inner(before, old) if not old.members else b"")
    return text


def is_bare(text: bytes) -> bool:
    """Whether nothing is left but an empty `mcpServers`."""
    root = check(text)
    servers = root.last(SERVERS)
    return all(member.key == SERVERS for member in root.members) and not (servers and servers.members)


def lines(text: bytes | None, name: str) -> list[str]:
    """Our entry as it stands, line by line with its own indent; none where there is none."""
    node = edits.find(text, [SERVERS, name]) if text is not None else None
    if text is None or node is None:
        return []
    shown = edits.show(text, node)
    return [f'"{name}": {shown[0]}', *shown[1:]]
