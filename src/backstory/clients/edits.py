"""Changes of single members in a JSON text, in the manner of what stands around them. Pure; every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .jsontext import DEEPEST, Member, Node, parse

Json = str | int | Sequence[str] | Mapping[str, "Json"]
UNIT = b"  "


class Manner(NamedTuple):
    """How a new member is written: `line` is the line end and indent before it, empty on one line."""

    line: bytes
    unit: bytes
    colon: bytes
    comma: bytes


def find(text: bytes, path: Sequence[str]) -> Node | None:
    """The value at a path of names, as `JSON.parse` sees it."""
    node: Node | None = parse(text)
    for key in path:
        node = node.last(key) if node is not None and node.kind == "object" else None
    return node


def put(text: bytes, path: Sequence[str], value: Json) -> bytes:
    """Set the member at the path; its object must be there. A new member comes last."""
    *parents, key = path
    holder = find(text, parents)
    if holder is None or holder.kind != "object":
        raise KeyError(".".join(parents))
    there = holder.last(key)
    manner = _manner(text, parents)
    if there is not None:
        new = _render(value, manner._replace(line=_line_of(text, holder) or manner.line))
        return text[: there.start] + new + text[there.end :]
    member = _quoted(key) + manner.colon + _render(value, manner)
    if holder.members:
        end = holder.members[-1].node.end
        return text[:end] + b"," + (manner.line or manner.comma) + member + text[end:]
    closing = manner.line.removesuffix(manner.unit)
    return text[: holder.start] + b"{" + manner.line + member + closing + b"}" + text[holder.end :]


def drop(text: bytes, path: Sequence[str], blank: bytes = b"") -> bytes:
    """Remove every member of that name at the path; `blank` is left in an object that becomes empty."""
    *parents, key = path
    while (holder := find(text, parents)) is not None:
        names = [member.key for member in holder.members]
        if key not in names:
            break
        text = _without(text, holder, names.index(key), blank)
    return text


def _without(text: bytes, holder: Node, at: int, blank: bytes) -> bytes:
    members = holder.members
    if len(members) == 1:
        return text[: holder.start + 1] + blank + text[holder.end - 1 :]
    if at == len(members) - 1:
        return text[: members[at - 1].node.end] + text[members[at].node.end :]
    return text[: members[at].start] + text[members[at + 1].start :]


def inner(text: bytes, node: Node) -> bytes:
    """What stands between the braces."""
    return text[node.start + 1 : node.end - 1]


def _manner(text: bytes, parents: Sequence[str]) -> Manner:
    """The manner of a new member of the object at that path."""
    root = parse(text)
    chain = [root]
    for key in parents:
        node = chain[-1].last(key)
        assert node is not None
        chain.append(node)
    holder = chain[-1]
    unit = _unit(text, chain)
    colon = _colon(text, chain)
    if holder.members:
        lead = _lead(text, holder, len(holder.members) - 1)
        comma = lead if len(holder.members) > 1 else _comma(text, chain, colon)
        return Manner(_line(lead), unit, colon, comma)
    outer = next((node for node in reversed(chain[:-1]) if node.members), None)
    if outer is None or any(_line_of(text, node) for node in chain[:-1]):
        base = _line_of(text, outer) if outer is not None else b""
        line_end = b"\r\n" if b"\r\n" in text else b"\n"
        return Manner((base or line_end) + unit, unit, colon, b" ")
    return Manner(b"", unit, colon, _comma(text, chain, colon))


def _lead(text: bytes, holder: Node, at: int) -> bytes:
    """The blanks before a member's name."""
    start = holder.members[at].start
    before = holder.start + 1 if at == 0 else holder.members[at - 1].node.end
    return text[before:start].replace(b",", b"", 1) if at else text[before:start]


def _line(lead: bytes) -> bytes:
    """The last line end of some blanks, with the indent behind it; empty where there is none."""
    found = re.search(rb"(\r\n|\n|\r)([ \t]*)\Z", lead)
    return found[0] if found else b""


def _line_of(text: bytes, holder: Node) -> bytes:
    return _line(_lead(text, holder, len(holder.members) - 1)) if holder.members else b""


def _unit(text: bytes, chain: Sequence[Node]) -> bytes:
    """One step of indent: what a level has more than the level around it."""
    before = b""
    for node in chain:
        line = _line_of(text, node)
        indent = line.lstrip(b"\r\n")
        if line and len(indent) > len(before) and indent.startswith(before):
            return indent[len(before) :]
        before = indent or before
    return UNIT


def _colon(text: bytes, chain: Sequence[Node]) -> bytes:
    member: Member | None = next((node.members[-1] for node in reversed(chain) if node.members), None)
    found = text[member.key_end : member.node.start] if member is not None else b": "
    return found if not re.search(rb"[\r\n]", found) else b": "


def _comma(text: bytes, chain: Sequence[Node], colon: bytes) -> bytes:
    """The blanks after a comma on one line."""
    node = next((node for node in reversed(chain) if len(node.members) > 1), None)
    lead = _lead(text, node, 1) if node is not None else b" " if colon.endswith(b" ") else b""
    return lead if not re.search(rb"[\r\n]", lead) else b" "


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8")


def _render(value: Json, manner: Manner) -> bytes:
    """A value as text; objects over several lines where the manner has lines, lists on one."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value).encode()
    comma = b"," + (manner.comma if not manner.line else b" ")
    if not isinstance(value, Mapping):
        return b"[" + comma.join(map(_quoted, value)) + b"]"
    deeper = manner._replace(line=manner.line + manner.unit if manner.line else b"")
    members = [_quoted(key) + manner.colon + _render(own, deeper) for key, own in value.items()]
    if not members:
        return b"{}"
    if not manner.line:
        return b"{" + comma.join(members) + b"}"
    return b"{" + deeper.line + (b"," + deeper.line).join(members) + manner.line + b"}"


def show(text: bytes, node: Node, indent: str = "") -> list[str]:
    """An object with a line a member, as it is shown to people; deeper values stay on one line."""
    if node.kind != "object" or not node.members:
        return [_flat(text, node)]
    last = len(node.members) - 1
    found = ["{"]
    for at, member in enumerate(node.members):
        comma = "," if at < last else ""
        found.append(
            f"{indent}  {json.dumps(member.key, ensure_ascii=False)}: {_flat(text, member.node)}{comma}"
        )
    return [*found, indent + "}"]


def _flat(text: bytes, node: Node, depth: int = DEEPEST) -> str:
    """A value on one line."""
    if node.kind not in ("array", "object"):
        return text[node.start : node.end].decode("utf-8", "replace")
    if depth <= 0:
        return "…"
    if node.kind == "array":
        return "[" + ", ".join(_flat(text, item, depth - 1) for item in node.items) + "]"
    members = [
        f"{json.dumps(member.key, ensure_ascii=False)}: {_flat(text, member.node, depth - 1)}"
        for member in node.members
    ]
    return "{" + ", ".join(members) + "}"
