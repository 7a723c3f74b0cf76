"""What a tool's raw input and result say in a few words: one small function a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..schema.step import Other

_FOUND = re.compile(r"Found (\d{1,9}) results? for")
_MATCH = re.compile(r"^(.+?):\d+:\d+$", re.MULTILINE)
_SIZE = re.compile(r"^Size: (.+)$", re.MULTILINE)
_CONTENT = re.compile(r"^--- Content ---\n(.*?)(?:\n--- Analysis Request ---|\Z)", re.MULTILINE | re.DOTALL)
_STATUS = re.compile(r"\bHTTP (\d{3})\b")

KINDS = {
    "search_codebase": "find",
    "fetch_web_content": "fetch",
    "ask_question": "ask",
    "spawn_agent": "agent",
    "team_run_task": "agent",
}
"""Kind words of the tools that have one of their own; every other tool is `tool`."""


class Said(NamedTuple):
    """A tool item in words: what it was asked, how its answer begins, and what the right edge says."""

    subject: str
    tail: str = ""
    state: str = ""


def kind(tool_name: str) -> str:
    """The kind word of a tool."""
    return KINDS.get(tool_name, "tool")


def said(payload: Other) -> Said:
    """The words for one item of any tool."""
    raw = payload.raw if isinstance(payload.raw, Mapping) else {}
    given, result = raw.get("input"), raw.get("result")
    name = kind(payload.tool_name)
    if name == "find":
        return Said(text_of(given), state=_results(text_of(result)))
    if name == "fetch":
        return Said(_address(given), state=_fetched(result, raw.get("error")))
    if name == "ask":
        return _asked(given, result)
    if name == "agent":
        return Said(_task(given))
    if payload.tool_name == "skills" and isinstance(given, Mapping):
        return Said(
            " ".join(filter(None, ("skill", text_of(given.get("skill")), text_of(given.get("args")))))
        )
    if payload.tool_name.startswith("block:"):
        return Said(payload.tool_name, state="kept as it is")
    return Said(_called(payload.tool_name, given), tail=first_line(words_of(result)))


def text_of(value: Any) -> str:
    """The text in a result, else the result as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return words_of(value) or json.dumps(value, ensure_ascii=False, default=str)


def words_of(value: Any) -> str:
    """The text in a result: plain, inside MCP content, or named by a usual key; else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        content = value.get("content")
        if isinstance(content, list):
            return "\n".join(filter(None, map(_content, content)))
        for key in ("error", "message", "text", "result", "status"):
            found = value.get(key)
            if isinstance(found, str) and found:
                return found
    return ""


def first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line for line in text.splitlines() if line.strip()), "")


def last_line(text: str) -> str:
    """The last line that is not blank."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _content(block: Any) -> str:
    if not isinstance(block, Mapping):
        return str(block)
    if isinstance(block.get("text"), str):
        return str(block["text"])
    return str(block.get("type") or "")


def _results(text: str) -> str:
    """`3 results in 3 files`; Cline lists a hundred at most, so these are the files of the listed ones."""
    found = _FOUND.search(text)
    if not found:
        return "no results" if text.startswith("No results") else ""
    count = int(found[1])
    files = len(set(_MATCH.findall(text)))
    words = f"{count:,} result{'' if count == 1 else 's'}"
    return f"{words} in {files:,} file{'' if files == 1 else 's'}" if files else words


def _address(given: Any) -> str:
    if isinstance(given, Mapping):
        return str(given.get("url") or text_of(given))
    return text_of(given)


def _fetched(result: Any, error: Any) -> str:
    if error:
        status = _STATUS.search(str(error))
        return status[1] if status else "failed"
    found = _SIZE.search(text_of(result))
    return found[1].strip() if found else ""


def page_text(result: Any) -> str:
    """What a fetched page said, without Cline's frame around it."""
    text = text_of(result)
    found = _CONTENT.search(text)
    return found[1] if found else text


def _asked(given: Any, result: Any) -> Said:
    if not isinstance(given, Mapping):
        return Said(text_of(given), tail=first_line(text_of(result)))
    options = given.get("options")
    choices = f"  ({', '.join(map(str, options))})" if isinstance(options, list) and options else ""
    return Said(f"{given.get('question') or ''}{choices}", tail=first_line(text_of(result)))


def _task(given: Any) -> str:
    if not isinstance(given, Mapping):
        return text_of(given)
    task = str(given.get("task") or given.get("description") or text_of(given))
    return f"{given['agentId']}: {task}" if given.get("agentId") else task


def _called(tool_name: str, given: Any) -> str:
    """`server tool key=value`: the name and the first argument that has a plain value."""
    name = tool_name.replace("__", " ", 1)
    if isinstance(given, Mapping):
        for key, value in given.items():
            if isinstance(value, str | int | float):
                return f"{name} {key}={value}"
        return name
    argument = text_of(given)
    return f"{name} {argument}" if argument else name
