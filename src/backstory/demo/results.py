"""What Cline says about commands, refusals and servers: the words of its results."""

from __future__ import annotations

import json
from typing import Any

from .project import Item, done, failed

_QUERY_LIMIT = 200
_REFUSED = "NOT a tool or system failure. Clarify with user before proceeding."


def compact(value: Any) -> str:
    """JSON in one line, as JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ran(command: str, out: str = "", code: int = 0) -> Item:
    """A command that came to its end."""
    if code == 0:
        return done(_query(command), out)
    marker = f"[Command exited with code {code}]"
    result = f"{marker}\n{out}" if out else marker
    return failed(_query(command), f"Command exited with code {code}", result)


def timed_out(command: str, limit: int = 30_000) -> Item:
    """A command that Cline gave up on after `limit` ms; its output is lost."""
    return failed(_query(command), f"Command failed: Command timed out after {limit}ms")


def went_on(command: str, out: str, log: str) -> Item:
    """A command that was left running; the rest of its output goes to `log`."""
    return done(_query(command), f"[Command is still running. Output will continue in {log}]\n{out}")


def left_behind(command: str, out: str) -> Item:
    """A command that ended and left processes running."""
    note = "[Command completed with background processes still running; their output is no longer captured]"
    return done(_query(command), f"{out}\n{note}")


def refused(reason: str) -> str:
    """A call that was not executed because the person said no."""
    return compact({"error": f"{reason} -- {_REFUSED}"})


REJECTED = "This tool call was rejected by the user and not executed."
"""What the command line says when the person answers no."""


def denied_with(feedback: str) -> str:
    """What the extension says when the person writes something along with the no."""
    return (
        "User denied the tool execution The user provided the following feedback:\n"
        f"<feedback>\n{feedback}\n</feedback>"
    )


def from_server(text: str, *, error: bool = False) -> str:
    """The answer of an MCP server, kept as the server gave it."""
    answer: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return compact(answer | {"isError": True} if error else answer)


def _query(command: str) -> str:
    if len(command) <= _QUERY_LIMIT:
        return command
    more = len(command) - _QUERY_LIMIT
    note = f" ... [command truncated: {more} more chars; full command is in the tool call input]"
    return command[:_QUERY_LIMIT] + note
