"""Sessions as Cline writes them: a small builder in Cline's own layout and key order, for tests only.

A test says what was typed, answered, called and returned; `write` puts the folder on disk the way Cline does:
pretty-printed with two blanks, a final newline, the system prompt last.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backstory import Archive, read_session
from backstory.schema.record import Record
from backstory.schema.step import Message, Step

ID = "1796026000000_abcde"
START = 1_796_026_000_000
"""Epoch ms at which every built session begins; each message is one second later than the one before."""

MODEL = {"id": "mock-model", "provider": "openai-compatible"}
Json = Any
Object = dict[str, Any]


def iso(ms: int) -> str:
    """A time as Cline writes it in manifests: UTC with milliseconds and `Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def pretty(value: Json) -> bytes:
    """JSON as JavaScript prints it: non-ASCII as it is, a lone surrogate as an escape."""
    printed = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", printed).encode()


def wrapped(text: str, mode: str = "act") -> str:
    """A prompt in the envelope in which Cline stores it."""
    return f'<user_input mode="{mode}">{text}</user_input>'


def text(value: Json) -> Object:
    return {"type": "text", "text": value}


def tool_use(call_id: str, name: str, value: Json) -> Object:
    return {"type": "tool_use", "id": call_id, "name": name, "input": value}


def tool_result(call_id: str, content: Json, *, is_error: bool = False) -> Object:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if is_error else block


def item(query: str, result: Json, error: str | None = None) -> Object:
    """One entry of an array result: what Cline echoes, what came of it, and whether it worked."""
    entry = {"query": query, "result": result, "success": error is None}
    return entry if error is None else {**entry, "error": error}


def metrics(tokens: Json = 1000, output: Json = 50, read: Json = 0, write: Json = 0, **more: Json) -> Object:
    cached = {"cacheReadTokens": read, "cacheWriteTokens": write}
    return {"inputTokens": tokens, "outputTokens": output, **cached, **more}


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
        ts = self.start + (number + 1) * 1000
        own = {"id": f"msg_{number:08d}", "role": role, "content": content, "ts": ts}
        message = {key: value for key, value in {**own, **more}.items() if value is not ...}
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
        return self.add("assistant", content, **{"modelInfo": MODEL, "metrics": metrics(), **more})

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
        return pretty(self.document())


class Session(Conversation):
    """A session folder in the making; `manifest` may be changed before it is written, null for none at all."""

    def __init__(self, root: Path, session_id: str = ID, start: int = START) -> None:
        super().__init__(session_id, start=start)
        self.root = root
        self.folder = root / session_id
        head = {"version": 1, "session_id": session_id, "source": "cli", "pid": 4711}
        run = {"started_at": iso(start), "status": "running", "interactive": False}
        model = {"provider": "openai-compatible", "model": "mock-model"}
        place = {"cwd": "/home/dev/work/demo", "workspace_root": "/home/dev/work/demo"}
        meta = {"sessionHistoryOrigin": {"mode": "user", "version": "3.0.65"}}
        last = {"prompt": "Do something", "metadata": meta, "messages_path": str(self.file)}
        self.manifest: Object | None = {**head, **run, **model, **place, **last}
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
            self.manifest_file.write_bytes(pretty(self.manifest))
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
    return read_session(path, env=environment(Path("nowhere")))


def archive(home: Path) -> Archive:
    """A new archive under `home`."""
    return Archive(home / "backstory" / "archive.db", env=environment(home))


def tools(record: Record) -> list[Step]:
    """The steps that are no messages."""
    return [step for step in record.steps if step.type != "message"]


def messages(record: Record) -> list[tuple[str, str]]:
    """Role and text of the steps that are messages."""
    said = [step.payload for step in record.steps if isinstance(step.payload, Message)]
    return [(message.role, message.text) for message in said]


def read_prompt(tmp_path: Path, raw: str, metadata: Object | None = None) -> Record:
    """A session whose first message is this user-role text, followed by an answer."""
    session = Session(tmp_path)
    session.user(raw, **({"metadata": metadata} if metadata is not None else {}))
    session.reply("Done.")
    return session.read()


def first(record: Record) -> tuple[Step, Message]:
    """The first step, which has to be a message."""
    step = record.steps[0]
    assert isinstance(step.payload, Message)
    return step, step.payload
