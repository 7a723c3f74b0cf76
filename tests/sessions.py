"""Sessions as Cline writes them: a small builder in Cline's own layout and key order, for tests only.

A test says what was typed, answered, called and returned; `write` puts the folder on disk the way Cline does:
pretty-printed with two blanks, a final newline, the system prompt last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backstory import Archive, read_session
from backstory.schema.record import Record
from backstory.schema.step import Step

ID = "1796026000000_abcde"
START = 1_796_026_000_000
"""Epoch ms at which every built session begins; each message is one second later than the one before."""

Json = Any
Object = dict[str, Any]


def iso(ms: int) -> str:
    """A time as Cline writes it in manifests: UTC with milliseconds and `Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wrapped(text: str, mode: str = "act") -> str:
    """A prompt in the envelope in which Cline stores it."""
    return f'<user_input mode="{mode}">{text}</user_input>'


def text(value: Json) -> Object:
    return {"type": "text", "text": value}


def thinking(value: Json) -> Object:
    return {"type": "thinking", "thinking": value}


def tool_use(call_id: str, name: str, value: Json) -> Object:
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


def tool_result(call_id: str, content: Json, *, is_error: bool = False) -> Object:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if is_error else block


def item(query: str, result: Json, error: str | None = None) -> Object:
    """One entry of an array result: what Cline echoes, what came of it, and whether it worked."""
    entry = {"query": query, "result": result, "success": error is None}
    return entry if error is None else {**entry, "error": error}


def metrics(
    tokens: Json = 1000, output: Json = 50, read: Json = 0, write: Json = 0, cost: Json = None
) -> Object:
    counts = {
        "inputTokens": tokens,
        "outputTokens": output,
        "cacheReadTokens": read,
        "cacheWriteTokens": write,
    }
    return counts if cost is None else {**counts, "cost": cost}


class Conversation:
    """One messages file in the making."""

    def __init__(self, session_id: str = ID, agent: str = "lead", start: int = START) -> None:
        self.session_id = session_id
        self.agent = agent
        self.start = start
        self.messages: list[Json] = []

    def add(self, role: Json, content: Json, **more: Json) -> Object:
        """Append a message; `more` replaces or adds fields, and a field that is `...` is left out."""
        number = len(self.messages)
        message = {"id": f"msg_{number:08d}", "role": role, "content": content}
        message["ts"] = self.start + (number + 1) * 1000
        message = {key: value for key, value in {**message, **more}.items() if value is not ...}
        self.messages.append(message)
        return message

    def prompt(self, typed: str, mode: str = "act", **more: Json) -> Object:
        """What a person typed, wrapped as Cline stores it."""
        return self.add("user", [text(wrapped(typed, mode))], **more)

    def user(self, raw: str, **more: Json) -> Object:
        """A user-role text exactly as it stands in the file."""
        return self.add("user", [text(raw)], **more)

    def reply(self, *blocks: Json, **more: Json) -> Object:
        """An assistant message; plain strings are text blocks."""
        content = [text(block) if isinstance(block, str) else block for block in blocks]
        model = {"id": "mock-model", "provider": "openai-compatible"}
        return self.add("assistant", content, **{"modelInfo": model, "metrics": metrics(), **more})

    def call(self, name: str, value: Json, call_id: str | None = None, **more: Json) -> str:
        """An assistant message with one call; returns the call's id."""
        call_id = call_id or f"call_{len(self.messages)}"
        self.reply(tool_use(call_id, name, value), **more)
        return call_id

    def result(self, call_id: str, content: Json, *, is_error: bool = False) -> Object:
        """A call's result, in a user message of its own as Cline keeps it."""
        return self.add("user", [tool_result(call_id, content, is_error=is_error)])

    def ran(self, name: str, value: Json, content: Json, *, is_error: bool = False) -> str:
        """A call and its result."""
        call_id = self.call(name, value)
        self.result(call_id, content, is_error=is_error)
        return call_id

    def document(self) -> Object:
        updated = iso(self.start + len(self.messages) * 1000)
        head = {"version": 1, "updated_at": updated, "agent": self.agent, "sessionId": self.session_id}
        origin = {"source": "cli", "mode": "user", "sessionId": self.session_id, "version": "3.0.65"}
        last = {"system_prompt": "You are Cline."} if self.agent == "lead" and self.messages else {}
        return {**head, "origin": origin, "messages": self.messages, **last}

    def data(self) -> bytes:
        return (json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n").encode(
            "utf-8", "surrogatepass"
        )


class Session(Conversation):
    """A session folder in the making; `manifest` may be changed before it is written, null for none at all."""

    def __init__(self, root: Path, session_id: str = ID, start: int = START) -> None:
        super().__init__(session_id, start=start)
        self.root = root
        self.folder = root / session_id
        self.manifest: Object | None = {
            "version": 1,
            "session_id": session_id,
            "source": "cli",
            "pid": 4711,
            "started_at": iso(start),
            "status": "running",
            "interactive": False,
            "provider": "openai-compatible",
            "model": "mock-model",
            "cwd": "/home/dev/work/demo",
            "workspace_root": "/home/dev/work/demo",
            "team_name": "team-abcde",
            "enable_tools": True,
            "enable_spawn": True,
            "enable_teams": True,
            "prompt": "Do something",
            "metadata": {"sessionHistoryOrigin": {"mode": "user", "version": "3.0.65"}},
            "messages_path": str(self.file),
        }
        self.children: dict[str, Conversation] = {}

    @property
    def file(self) -> Path:
        return self.folder / f"{self.session_id}.messages.json"

    @property
    def manifest_file(self) -> Path:
        return self.folder / f"{self.session_id}.json"

    def child(self, stem: str, agent: str = "subagent") -> Conversation:
        """The conversation of a subagent or teammate, in a file of its own."""
        self.children[stem] = Conversation(self.session_id, agent, self.start + len(self.messages) * 1000)
        return self.children[stem]

    def write(self) -> Session:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.manifest is not None:
            data = json.dumps(self.manifest, indent=2, ensure_ascii=False) + "\n"
            self.manifest_file.write_bytes(data.encode("utf-8", "surrogatepass"))
        self.file.write_bytes(self.data())
        for stem, conversation in self.children.items():
            (self.folder / f"{stem}.messages.json").write_bytes(conversation.data())
        return self

    def read(self) -> Record:
        """Write the folder, then read it."""
        return read(self.write().folder)


def environment(home: Path) -> dict[str, str]:
    """An environment in which neither Cline nor Backstory has anything yet."""
    return {"HOME": str(home), "USERPROFILE": str(home), "BACKSTORY_HOME": str(home / "backstory")}


def read(path: Path | str) -> Record:
    """Read a session with no settings of any Cline around."""
    return read_session(path, env=environment(Path(os.sep, "nonexistent")))


def archive(home: Path) -> Archive:
    """A new archive under `home`."""
    return Archive(home / "backstory" / "archive.db", env=environment(home))


def tools(record: Record) -> list[Step]:
    """The steps that are no messages."""
    return [step for step in record.steps if step.type != "message"]


def messages(record: Record) -> list[tuple[str, str]]:
    """Role and text of the steps that are messages."""
    return [(step.payload.role, step.payload.text) for step in record.steps if hasattr(step.payload, "role")]


def picked(payloads: Sequence[Any], *names: str) -> list[tuple[Any, ...]]:
    """Some fields of each payload, to compare at a glance."""
    return [tuple(getattr(payload, name) for name in names) for payload in payloads]


def merged(base: Mapping[str, Any], **changes: Any) -> Object:
    """A copy with changes."""
    return {**base, **changes}
