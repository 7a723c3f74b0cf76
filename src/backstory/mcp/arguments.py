"""Arguments of a tool held against its schema; what does not fit is refused by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
_lone = re.compile("[\ud800-\udfff]")
"""Half of a pair: JSON can say it, and no file can hold it."""


class BadArgument(Exception):
    """An argument that cannot be taken; the text names it and says what it has to be."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(f"{name} {words}")
        self.name = name


def checked(schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool takes them; null is the same as left out, and texts are whole. Raises `BadArgument`."""
    properties: dict[str, Schema] = schema["properties"]
    for name in given:
        if name not in properties:
            raise BadArgument(shown(name), f"is not known. There is {', '.join(properties)}.")
    found = {
        name: _value(name, properties[name], value) for name, value in given.items() if value is not None
    }
    for name in schema.get("required", ()):
        if name not in found:
            raise BadArgument(name, f"is missing: {_what(properties[name])}.")
    return found


def shown(name: str) -> str:
    """A name that a client made up, fit for a message."""
    printable = "".join(char if char.isprintable() else "?" for char in name[:60])
    return f'"{printable}"'


def _value(name: str, schema: Schema, value: Any) -> Any:
    if schema["type"] == "integer":
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadArgument(name, f"has to be {_what(schema)}.")
        if not schema["minimum"] <= value <= schema["maximum"]:
            raise BadArgument(name, f"has to be {_what(schema)}.")
        return value
    if isinstance(value, str):
        value = _lone.sub("\ufffd", value)
    if not isinstance(value, str) or not value.strip() or len(value) > schema.get("maxLength", len(value)):
        raise BadArgument(name, f"has to be {_what(schema)}.")
    return value.strip()


def _what(schema: Schema) -> str:
    """What a value has to be, in words."""
    if schema["type"] == "integer":
        return f"a whole number from {schema['minimum']:,} to {schema['maximum']:,}"
    if "maxLength" not in schema:
        return "a text that is not empty"
    return f"a text of 1 to {schema['maxLength']:,} characters"
