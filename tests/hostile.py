"""Values that no reader expects, a small session to put them into, and ways to look at what came of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from sessions import Session, item, read, text, tool_use, wrapped

from backstory.schema.document import record_json
from backstory.schema.record import Record
from backstory.schema.step import Step

SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck))


def document(record: Record) -> Any:
    """A record as strict JSON, which refuses NaN and half characters."""
    printed = json.dumps(record_json(record), allow_nan=False, ensure_ascii=False)
    return json.loads(printed.encode("utf-8"))


def small(root: Path) -> Session:
    """A session with a bit of everything, other scripts included."""
    session = Session(root)
    session.prompt("Prüfe das 日本 😀")
    session.call("run_commands", {"commands": ["ls", "make"]}, "call_1")
    failed = item("make", "[Command exited with code 2]\nnein", "Command exited with code 2")
    session.result("call_1", [item("ls", "a.py"), failed])
    activity = {"toolCallId": "srv_1", "toolName": "web_search", "input": {}, "output": {"a": [1]}}
    invalid = {"toolCallId": "call_4", "toolName": "lab__x", "input": {"rawInputText": "{"}, "reason": "json"}
    session.reply(
        {"type": "thinking", "thinking": "Hm."},
        "Ich sehe.",
        tool_use("call_2", "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}),
        tool_use("call_3", "read_files", {"files": [{"path": "a.py", "start_line": 1}]}),
        tool_use("call_4", "lab__x", {}),
        {"type": "citation", "quote": "q"},
        metadata={"modelToolActivities": [activity], "invalidToolCalls": [invalid]},
    )
    session.result("call_2", json.dumps(item("edit:a.py", "Edited a.py")))
    session.result("call_3", [item("a.py:1-EOF", "1 | b")])
    session.result("call_4", [text("x")])
    session.add(
        "user", [text(wrapped("Und dies?")), {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}]
    )
    session.reply("Fertig.")
    return session


def by_message(record: Record) -> dict[int, list[Step]]:
    """The steps by the message in which they stand."""
    found: dict[int, list[Step]] = {}
    for step in record.steps:
        pointer = re.match(r"/messages/(\d+)", step.origin.pointer)
        if pointer:
            found.setdefault(int(pointer[1]), []).append(step)
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but its root."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*at, key)
        yield from places(child, (*at, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a place."""
    changed = json.loads(json.dumps(value))
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return changed


VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "huge": 1e308,
    "40 digits": 10**40,
    "400 digits": 10**400,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "empty text": "",
    "text": "a/b ~1 #0",
    "superscript two": "²",
    "digits": "1796026000000",
    "a lone surrogate": "x\ud800y",
    "NUL": "a\0b",
    "escape": "\x1b[2J\u202e",
    "empty array": [],
    "arrays": [[[]], [None]],
    "mixed array": [1, None, "x", {"type": "text"}],
    "empty object": {},
    "object": {"type": "tool_use", "id": {"a": [1]}, "": 10**30},
    "list of a list as id": [{"toolCallId": [], "toolName": {}, "type": [], "text": []}],
    "deep": json.loads("[" * 300 + "]" * 300),
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["text", "tool_use", "tool_result", "call_1", "msg_00000001", "user", "assistant"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "id", "text", "content", "input", "role", "ts", "metadata", "query", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def strings(value: Any) -> Iterator[str]:
    """Every part of a string in a JSON value that is marked as one to find again."""
    if isinstance(value, str):
        yield from re.findall(r"<<\w+>>", value)
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


def faults(label: object, folder: Path, ids: list[str]) -> list[str]:
    """What is wrong with the reading of a folder, which has to give these steps: nothing, or one line."""
    try:
        record = read(folder)
        document(record)
    except Exception as error:
        return [f"{label}: {type(error).__name__}: {str(error)[:200]}"]
    found = [step.id for step in record.steps]
    return [] if found == ids else [f"{label}: {found}"]
