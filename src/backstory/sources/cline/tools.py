"""The inputs of Cline's own tools, normalised as Cline does before it runs them (FORMAT.md section 5).

Each function takes the raw arguments of a call and gives its items in order, each with the `query` that Cline
will echo in the result; an empty list means that no item can be read from the arguments.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from msgspec import Struct

from . import wire

QUERY_LIMIT = 200
"""Characters of a command that Cline echoes, counted in UTF-16 units as JavaScript does."""

_heredoc = re.compile(r"""(?<!<)<<-?\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_./-]+))""")
_number = re.compile(r"\s*-?[0-9]{1,9}\s*")
_blank_or_quote = re.compile(r'[\s"]')


class CommandItem(Struct, frozen=True):
    """One command as Cline runs it, and the query it echoes."""

    query: str
    command: str


class ReadItem(Struct, frozen=True):
    """One file to read; lines count from 1 and a null end means to the end of the file."""

    query: str
    path: str
    start: int | None = None
    end: int | None = None


class AskItem(Struct, frozen=True):
    """One search pattern or one page to fetch; `input` is what the model wrote for it."""

    query: str
    input: Any


def commands(value: Any) -> list[CommandItem]:
    """The commands of `run_commands`, heredoc pieces joined."""
    pieces = _command_pieces(value)
    items: list[CommandItem] = []
    plain: list[str] = []

    def flush() -> None:
        for command in join_heredocs(plain):
            items.append(CommandItem(echoed(command), command))
        plain.clear()

    for piece in pieces:
        if isinstance(piece, str):
            plain.append(piece)
            continue
        flush()
        line = _structured(piece)
        if line is not None:
            items.append(CommandItem(echoed(line), line))
    flush()
    return items


def _command_pieces(value: Any) -> list[Any]:
    if isinstance(value, str):
        return _json_list(value) or [value]
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    if "commands" in value:
        inner = value["commands"]
        if isinstance(inner, str):
            return _json_list(inner) or [inner]
        return inner if isinstance(inner, list) else [inner]
    if "command" in value:
        if "args" in value:
            return [value]
        inner = value["command"]
        return inner if isinstance(inner, list) else [inner]
    return [value["cmd"]] if "cmd" in value else []


def _structured(piece: Any) -> str | None:
    """A `{command, args}` on one line: arguments with blanks or quotes as JSON strings, as Cline prints them."""
    if not isinstance(piece, dict):
        return None
    command = piece.get("command", piece.get("cmd"))
    if not isinstance(command, str):
        return None
    args = piece.get("args")
    if not isinstance(args, list) or not args:
        return command
    shown = [_argument(arg if isinstance(arg, str) else json.dumps(arg)) for arg in args]
    return " ".join([command, *shown])


def _argument(text: str) -> str:
    return json.dumps(text, ensure_ascii=False) if _blank_or_quote.search(text) else text


def join_heredocs(lines: list[str]) -> list[str]:
    """Put a heredoc back together that a model sent as separate commands; Cline runs it as one."""
    if len(lines) < 2:
        return list(lines)
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(index)
    joined: list[str] = []
    at = 0
    while at < len(lines):
        opened = _heredoc.search(lines[at])
        end = None
        if opened:
            ends = places.get(opened[1] or opened[2] or opened[3], [])
            later = bisect_right(ends, at)
            end = ends[later] if later < len(ends) else None
        if end is None:
            joined.append(lines[at])
            at += 1
        else:
            joined.append("\n".join(lines[at : end + 1]))
            at = end + 1
    return joined


def echoed(command: str) -> str:
    """A command as the result's `query` shows it: cut after 200 characters, with the number of those left out."""
    if len(command) <= QUERY_LIMIT and command.isascii():
        return command
    units = command.encode("utf-16-le", "surrogatepass")
    over = len(units) // 2 - QUERY_LIMIT
    if over <= 0:
        return command
    head = units[: QUERY_LIMIT * 2].decode("utf-16-le", "replace")
    return f"{head} ... [command truncated: {over} more chars; full command is in the tool call input]"


def reads(value: Any) -> list[ReadItem]:
    """The files of `read_files`, ranges folded into the file that they follow."""
    items: list[ReadItem] = []
    for entry in _read_entries(value):
        if isinstance(entry, str):
            items.append(_read_item(entry, None, None))
            continue
        if not isinstance(entry, dict):
            continue
        path = _path(entry)
        start, end = line_number(entry.get("start_line")), line_number(entry.get("end_line"))
        if path is not None:
            items.append(_read_item(path, start, end))
        elif items and (start is not None or end is not None):
            items.append(_read_item(items.pop().path, start, end))
    return items


def _path(entry: dict[str, Any]) -> str | None:
    for key in ("path", "file_path", "filePath"):
        path = entry.get(key)
        if isinstance(path, str):
            return path
    return None


def _read_entries(value: Any) -> list[Any]:
    if isinstance(value, dict):
        for key in ("files", "file_paths", "paths"):
            if key in value:
                value = value[key]
                break
    if isinstance(value, str):
        return _json_list(value) or [value]
    return value if isinstance(value, list) else [value]


def _read_item(path: str, start: int | None, end: int | None) -> ReadItem:
    query = path if start is None and end is None else f"{path}:{start or 1}-{'EOF' if end is None else end}"
    return ReadItem(query, path, start, end)


def line_number(value: Any) -> int | None:
    """A line number as a number or a digit string; anything else is absent."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _number.fullmatch(value):
        return int(value)
    return None


def searches(value: Any) -> list[AskItem]:
    """The patterns of `search_codebase`."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("queries", "query", "pattern") if key in value), None)
    if isinstance(value, str):
        value = _json_list(value) or [value]
    if not isinstance(value, list):
        return []
    return [AskItem(entry, entry) for entry in value if isinstance(entry, str)]


def fetches(value: Any) -> list[AskItem]:
    """The pages of `fetch_web_content`."""
    if isinstance(value, dict):
        value = value.get("requests", [value])
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return []
    found = []
    for entry in value:
        if isinstance(entry, dict) and isinstance(entry.get("url"), str):
            found.append(AskItem(entry["url"], entry))
        elif isinstance(entry, str):
            found.append(AskItem(entry, {"url": entry}))
    return found


def _json_list(text: str) -> list[Any] | None:
    """A JSON-encoded array of strings or objects, which weak models send in place of an array."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = wire.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) and value else None
