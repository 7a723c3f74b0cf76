"""One tool call with its result, read, and the parts of the steps that came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sessions import Session, tools

from backstory.schema.step import Command, Edit, Other, Step


def steps(tmp_path: Path, name: str, value: Any, content: Any, *, is_error: bool = False) -> list[Step]:
    """The steps of one call with its result; `...` as content leaves the call without one."""
    session = Session(tmp_path)
    session.prompt("Do it")
    if content is ...:
        session.call(name, value)
    else:
        session.ran(name, value, content, is_error=is_error)
    return tools(session.read())


def one(tmp_path: Path, name: str, value: Any, content: Any, *, is_error: bool = False) -> Step:
    (step,) = steps(tmp_path, name, value, content, is_error=is_error)
    return step


def command(step: Step) -> Command:
    assert isinstance(step.payload, Command)
    return step.payload


def edit(step: Step) -> Edit:
    assert isinstance(step.payload, Edit)
    return step.payload


def other(step: Step) -> Other:
    assert isinstance(step.payload, Other)
    return step.payload


def error(step: Step) -> tuple[str, str]:
    assert step.error is not None
    assert step.outcome == "failed"
    assert step.error.type == "cline_tool_error"
    return step.error.kind, step.error.message


def thrown(message: str) -> str:
    """What Cline writes when a tool throws; the block has `is_error` beside it."""
    return json.dumps({"error": message})
