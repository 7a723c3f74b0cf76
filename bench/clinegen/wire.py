"""Cline's own layout: key order, ids, times, and the two-space pretty print of its two documents.

Key order and ids follow the recordings of Cline 3.0.65; `FORMAT.md` of the reader has the sources.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import msgspec

HOME = "/home/dev"
VERSION = "3.0.65"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
NANO = "useandom-26T198340PX75pxJACKVERYMINDBUSHWOLF_GQZbfghjklqvwyzrict"

Json = dict[str, Any]


def iso(ms: int) -> str:
    """UTC with milliseconds and `Z`, always 24 characters."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def session_id(rng: Random, ms: int) -> str:
    return f"{ms}_" + "".join(rng.choices(BASE36, k=5))


def imported_id(rng: Random, ms: int) -> str:
    return f"{ms}_" + "".join(rng.choices(NANO, k=5))


def agent_id(rng: Random, ms: int) -> str:
    return f"agent_{ms}_" + "".join(rng.choices(BASE36, k=6))


def uuid4(rng: Random) -> str:
    """What a prompt is called; `uuid.uuid4` cannot be seeded."""
    text = f"{rng.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) % 4]}{text[17:20]}-{text[20:]}"


def message_id(rng: Random) -> str:
    return "msg_" + "".join(rng.choices(NANO, k=8))


def nanoid(rng: Random, size: int = 21) -> str:
    return "".join(rng.choices(NANO, k=size))


def message(ident: str, role: str, content: list[Json], ts: int, **rest: Any) -> Json:
    """A message as Cline orders it; `rest` is metadata, modelInfo and metrics, where they stand."""
    made: Json = {"id": ident, "role": role, "content": content, "ts": ts}
    for key in ("metadata", "modelInfo", "metrics"):
        if rest.get(key) is not None:
            made[key] = rest[key]
    return made


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_use(ident: str, name: str, given: Json) -> Json:
    return {"type": "tool_use", "id": ident, "name": name, "input": given}


def tool_result(ident: str, name: str, content: Any, is_error: bool = False) -> Json:
    block = {"type": "tool_result", "tool_use_id": ident, "name": name, "content": content}
    if is_error:
        block["is_error"] = True
    return block


def item(query: str, result: str, error: str | None = None) -> Json:
    """One result of a batch tool; Cline puts `error` before `success`."""
    if error is None:
        return {"query": query, "result": result, "success": True}
    return {"query": query, "result": result, "error": error, "success": False}


def compact(value: Any) -> str:
    """What `JSON.stringify` gives: single-operation tools keep their result as such a string."""
    return msgspec.json.encode(value).decode()


def pretty(document: Any) -> bytes:
    """Two spaces, non-ASCII raw, a final newline: byte for byte what Cline writes."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def document(
    session: str,
    messages: list[Json],
    updated: int,
    *,
    source: str = "cli",
    system_prompt: str | None = None,
    trigger: str | None = None,
) -> Json:
    """The lead's messages file. An import has a trigger instead of a version."""
    origin: Json = {"source": source, "mode": "import" if trigger else "user", "sessionId": session}
    if trigger:
        origin["trigger"] = trigger
    elif source == "cli":
        origin["version"] = VERSION
    made: Json = {
        "version": 1,
        "updated_at": iso(updated),
        "agent": "lead",
        "sessionId": session,
        "origin": origin,
        "messages": messages,
    }
    if system_prompt is not None:
        made["system_prompt"] = system_prompt
    return made


def child_document(session: str, agent: str, messages: list[Json], updated: int) -> Json:
    """The messages file of a `spawn_agent` child: it has a task type and a parent, and no system prompt."""
    ident = f"{session}__{agent}"
    return {
        "version": 1,
        "updated_at": iso(updated),
        "agent": "subagent",
        "sessionId": ident,
        "taskType": "subagent_task",
        "origin": {
            "source": "cli",
            "mode": "subagent",
            "sessionId": ident,
            "parentThreadId": session,
            "subagent": agent,
            "version": VERSION,
        },
        "messages": messages,
    }


def messages_path(session: str) -> str:
    return f"{HOME}/.cline/data/sessions/{session}/{session}.messages.json"


def write_session(
    root: Path, session: str, manifest: Json, files: Iterable[tuple[str, Json, int]], stamp: int
) -> int:
    """Write a session's folder; every file's mtime is its last rewrite. Gives the bytes written."""
    folder = root / session
    folder.mkdir(parents=True)
    size = 0
    for stem, content, ms in [(session, manifest, stamp), *files]:
        name = f"{stem}.json" if content is manifest else f"{stem}.messages.json"
        data = pretty(content)
        path = folder / name
        path.write_bytes(data)
        os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))
        size += len(data)
    return size
