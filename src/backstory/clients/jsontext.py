"""Where the parts of a JSON text stand, read as strictly as `JSON.parse` reads it.

Nothing is decoded and nothing is built anew, so a part can be changed while every other byte stays. Works on bytes:
what stands inside a string need not be valid UTF-8, as it need not be for Cline.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple

Kind = Literal["object", "array", "string", "number", "literal"]

_BLANK = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LITERAL = re.compile(rb"true|false|null")
_CLOSERS = {"object": b"}", "array": b"]"}
DEEPEST = 8
"""Levels that `value` decodes; nothing that is asked of an entry stands deeper."""


class NotJson(ValueError):
    """The text is not JSON; `at` is the offset of what does not fit."""

    def __init__(self, at: int) -> None:
        super().__init__(f"not JSON at byte {at}")
        self.at = at


class Node:
    """A value in the text: from `start` up to `end`, with its members or items."""

    __slots__ = ("end", "items", "kind", "members", "start")

    def __init__(self, kind: Kind, start: int, end: int) -> None:
        self.kind: Kind = kind
        self.start = start
        self.end = end
        self.members: list[Member] = []
        self.items: list[Node] = []

    def last(self, key: str) -> Node | None:
        """The member of that name; of several the last, which is the one that `JSON.parse` takes."""
        return next((member.node for member in reversed(self.members) if member.key == key), None)


class Member(NamedTuple):
    """A member of an object; `start` and `key_end` are where its quoted name stands."""

    key: str
    start: int
    key_end: int
    node: Node


class Deep:
    """Stands for a value that lies deeper than anybody looks."""


Value = None | bool | float | str | list["Value"] | dict[str, "Value"] | Deep


def parse(text: bytes) -> Node:
    """The root value. Raises `NotJson`. Depth costs no recursion."""
    scanner = _Scanner(text)
    return scanner.run()


def value(text: bytes, node: Node, depth: int = DEEPEST) -> Value:
    """A node as a Python value. Numbers are floats; what lies deeper than `depth` is a `Deep`."""
    raw = text[node.start : node.end]
    if node.kind == "string":
        return string(raw)
    if node.kind == "number":
        return float(raw)
    if node.kind == "literal":
        return {b"true": True, b"false": False}.get(raw)
    if depth <= 0:
        return Deep()
    if node.kind == "array":
        return [value(text, item, depth - 1) for item in node.items]
    return {member.key: value(text, member.node, depth - 1) for member in node.members}


def string(raw: bytes) -> str:
    """A quoted string, bytes that are no UTF-8 replaced as Cline's runtime replaces them."""
    found: str = json.loads(raw.decode("utf-8", "replace"))
    return found


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def run(self) -> Node:
        self._blank()
        root = node = self._value()
        opened: list[Node] = []
        while True:
            if node.end < 0:  # just opened
                opened.append(node)
                self._blank()
                if not self._closes(node):
                    node = self._child(node)
                    continue
                opened.pop()
            self._blank()
            if not opened:
                break
            if self._take(b","):
                self._blank()
                node = self._child(opened[-1])
            elif self._closes(opened[-1]):
                node = opened.pop()
            else:
                raise NotJson(self.at)
        if self.at != len(self.text):
            raise NotJson(self.at)
        return root

    def _blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _take(self, what: bytes) -> bool:
        if not self.text.startswith(what, self.at):
            return False
        self.at += len(what)
        return True

    def _closes(self, node: Node) -> bool:
        if not self._take(_CLOSERS[node.kind]):
            return False
        node.end = self.at
        return True

    def _child(self, parent: Node) -> Node:
        """The next item, or the next member with its name, of a container that is open."""
        if parent.kind == "array":
            item = self._value()
            parent.items.append(item)
            return item
        start = self.at
        found = _STRING.match(self.text, start)
        if found is None:
            raise NotJson(start)
        self.at = found.end()
        self._blank()
        if not self._take(b":"):
            raise NotJson(self.at)
        self._blank()
        node = self._value()
        parent.members.append(Member(string(found[0]), start, found.end(), node))
        return node

    def _value(self) -> Node:
        """A scalar, or a container that is only opened: its end is then -1."""
        start = self.at
        if self._take(b"{"):
            return Node("object", start, -1)
        if self._take(b"["):
            return Node("array", start, -1)
        kinds: tuple[tuple[Kind, re.Pattern[bytes]], ...] = (
            ("string", _STRING),
            ("number", _NUMBER),
            ("literal", _LITERAL),
        )
        for kind, pattern in kinds:
            if found := pattern.match(self.text, start):
                self.at = found.end()
                return Node(kind, start, self.at)
        raise NotJson(start)
