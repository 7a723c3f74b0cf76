"""Messages files that grow: a session folder that is rewritten state by state, as Cline does."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parent / "recordings"


class GrowingSession:
    """A session folder whose messages file takes one state after the other, in place."""

    def __init__(
        self, root: Path, session_id: str = "1796026921000_grow1", manifest: dict[str, Any] | None = None
    ):
        self.id = session_id
        self.folder = root / session_id
        self.folder.mkdir(parents=True)
        self.messages = self.folder / f"{session_id}.messages.json"
        self._clock = 1_796_026_921_000_000_000
        if manifest is not None:
            self.write_manifest(manifest)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Put a manifest beside the messages."""
        self._write(self.folder / f"{self.id}.json", json.dumps(manifest, indent=2).encode())

    def put(self, data: bytes, name: str | None = None) -> None:
        """Rewrite the messages file, or another file of the folder, with a newer modification time."""
        self._write(self.folder / name if name else self.messages, data)

    def document(self, messages: list[dict[str, Any]], name: str | None = None) -> None:
        """Rewrite a messages file with these messages."""
        self._clock += 1
        document = {
            "version": 1,
            "updated_at": "2026-11-30T08:10:52.462Z",
            "agent": "lead",
            "sessionId": self.id,
        }
        self.put(
            json.dumps({**document, "messages": messages}, indent=2, ensure_ascii=False).encode() + b"\n",
            name,
        )

    def _write(self, path: Path, data: bytes) -> None:
        self._clock += 1_000_000_000
        path.write_bytes(data)
        os.utime(path, ns=(self._clock, self._clock))


def growing_states() -> list[bytes]:
    """The 64 states of a messages file that a tight reader saw during a run of 30 tool calls."""
    folder = RECORDINGS / "growing"
    return [path.read_bytes() for path in sorted(folder.glob("[0-9]*.json"))]


def conversation(rng: random.Random, prompts: int) -> list[dict[str, Any]]:
    """A conversation with batched and parallel calls, failures, repeated ids and runtime messages."""
    messages: list[dict[str, Any]] = []
    at = 1_796_026_000_000
    calls = 0

    def add(role: str, content: Any, **more: Any) -> None:
        nonlocal at
        at += rng.randrange(1, 40_000)
        identity = {} if rng.random() < 0.05 else {"id": f"msg_{len(messages)}"}
        messages.append({**identity, "role": role, "content": content, "ts": at, **more})

    for number in range(prompts):
        mode = rng.choice(["act", "plan"])
        add("user", [{"type": "text", "text": f'<user_input mode="{mode}">prompt {number}</user_input>'}])
        for _ in range(rng.randrange(1, 5)):
            blocks: list[dict[str, Any]] = [{"type": "text", "text": f"reply {len(messages)}"}]
            asked = []
            for _ in range(rng.randrange(0, 4)):
                calls += 1
                # Weak providers start their ids anew, so that they come again within a session.
                call_id = f"call_{calls % 7}"
                commands = [f"echo {calls}-{i}" for i in range(rng.randrange(1, 4))]
                asked.append((call_id, commands))
                blocks.append(
                    {
                        "type": "tool_use",
                        "id": call_id,
                        "name": "run_commands",
                        "input": {"commands": commands},
                    }
                )
            counts = {"inputTokens": 100, "outputTokens": 5, "cacheReadTokens": 40, "cacheWriteTokens": 0}
            add("assistant", blocks, metrics=counts, modelInfo={"id": "m", "provider": "p"})
            for call_id, commands in asked:
                if rng.random() < 0.1:
                    continue
                items = [_item(command, rng) for command in commands]
                add(
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": call_id,
                            "name": "run_commands",
                            "content": items,
                        }
                    ],
                )
    return messages


def _item(command: str, rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.2:
        error = "Command exited with code 2"
        return {"query": command, "result": f"[{error}]\nno", "error": error, "success": False}
    return {"query": command, "result": command.removeprefix("echo ") + "\n", "success": True}
