"""A conversation told step by step, and turned into the messages that Cline would have written.

`think`, `say` and the tools add to the assistant message that is being written; a tool call ends it, unless it
stands in `with story.together():`. Every result is a user message of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from .ids import Ids
from .models import Meter, Model, Tokens
from .moments import Moments
from .project import Item, Project
from .results import compact, ran

Block = dict[str, Any]


class Conversation:
    """The messages of one agent. `tokens` are the counts of its requests where they are not estimated."""

    def __init__(
        self,
        *,
        model: Model,
        project: Project,
        ids: Ids,
        moments: Moments,
        start: int,
        base: int,
        tokens: Sequence[Tokens] = (),
    ) -> None:
        self.model = model
        self.project = project
        self.ids = ids
        self.moments = moments
        self.messages: list[Block] = []
        self.clock = start
        self.meter = Meter(model, base)
        self.foreign = False
        """Whether another tool made the messages: Cline then gives them ids of its own form."""
        self._tokens = list(tokens)
        self._blocks: list[Block] = []
        self._results: list[tuple[Block, int]] = []
        self._metadata: Block = {}
        self._opened = 0
        self._at: int | None = None
        self._together = False

    # When

    def at(self, moment: str) -> Self:
        """The next message is stamped with this time."""
        self._at = self._moment(moment)
        return self

    @contextmanager
    def together(self) -> Iterator[None]:
        """Tool calls of one message, run side by side."""
        self._together = True
        yield
        self._together = False
        self.flush()

    # What the model says

    def think(self, text: str) -> Self:
        return self._add({"type": "thinking", "thinking": text})

    def say(self, text: str) -> Self:
        return self._add({"type": "text", "text": text})

    def block(self, block: Block) -> Self:
        """Any other block."""
        return self._add(block)

    # What the model does

    def read(self, *specs: str) -> Self:
        """Read files, `path` or `path:from-to`, in one call."""
        pairs = [self.project.read(spec) for spec in specs]
        asked = {"files": [pair[0] for pair in pairs]}
        return self.tool("read_files", asked, [pair[1] for pair in pairs], took=0.08)

    def find(self, *patterns: str) -> Self:
        items = [self.project.find(pattern) for pattern in patterns]
        return self.tool("search_codebase", {"queries": list(patterns)}, items, took=0.2)

    def run(self, command: str, out: str = "", code: int = 0, *, took: float = 1.2) -> Self:
        """Run one command that ends with `code` after `took` seconds."""
        return self.run_all({command: ran(command, out, code)}, took=took)

    def run_all(self, commands: dict[str, Item], *, took: float) -> Self:
        """Run commands in one call; each with its result."""
        return self.tool("run_commands", {"commands": list(commands)}, list(commands.values()), took=took)

    def create(self, path: str, text: str, *, took: float = 0.4) -> Self:
        asked = {"path": self.project.path(path), "new_text": text}
        return self.tool("editor", asked, compact(self.project.create(path, text)), took=took)

    def edit(self, path: str, old: str, new: str, *, took: float = 0.4) -> Self:
        asked = {"path": self.project.path(path), "old_text": old, "new_text": new}
        return self.tool("editor", asked, compact(self.project.edit(path, old, new)), took=took)

    def insert(self, path: str, line: int, text: str, *, took: float = 0.4) -> Self:
        asked = {"path": self.project.path(path), "insert_line": line, "new_text": text}
        return self.tool("editor", asked, compact(self.project.insert(path, line, text)), took=took)

    def patch(self, patch: str, *, took: float = 0.5) -> Self:
        return self.tool("apply_patch", {"input": patch}, compact(self.project.patch(patch)), took=took)

    def tool(
        self, name: str, asked: Any, result: str | list[Any] | None, *, took: float = 0.3, error: bool = False
    ) -> Self:
        """Any tool. Without a `result` the call is still running."""
        call = self._call_id()
        self._add({"type": "tool_use", "id": call, "name": name, "input": asked})
        if result is not None:
            block = {"type": "tool_result", "tool_use_id": call, "name": name, "content": result}
            self._results.append((block | {"is_error": True} if error else block, round(took * 1000)))
        if not self._together:
            self.flush()
        return self

    # How it is written

    def flush(self) -> None:
        """End the assistant message that is being written, and let its results come in."""
        if not self._blocks:
            return
        self._write_reply()
        opened = self.clock
        for block, took in self._results:
            self.clock = max(self.clock + 1, opened + took)
            self.user([block], message_id=self._made_id())
        self._results = []

    def user(self, content: list[Block], *, message_id: str, metadata: Block | None = None) -> None:
        """A message with the role `user`, whoever made it."""
        message: Block = {"id": message_id, "role": "user", "content": content, "ts": self.clock}
        if metadata is not None:
            message["metadata"] = metadata
        self.messages.append(message)
        self.meter.add(compact(content))

    @property
    def last_text(self) -> str:
        """The last thing that the agent said."""
        texts = [b["text"] for m in self.messages for b in m["content"] if b["type"] == "text"]
        return str(texts[-1])

    def _write_reply(self) -> None:
        self.clock = self._opened
        said = compact(self._blocks)
        message: Block = {
            "id": self._made_id(),
            "role": "assistant",
            "content": self._blocks,
            "ts": self.clock,
        }
        if self._metadata:
            message["metadata"] = self._metadata
        message["modelInfo"] = self.model.info()
        counted = self.meter.request(self.clock, said)
        tokens = self._tokens.pop(0) if self._tokens else counted
        message["metrics"] = tokens.metrics(self.model.price)
        self.messages.append(message)
        self._blocks, self._metadata = [], {}

    def _add(self, block: Block) -> Self:
        if not self._blocks:
            self._opened = self._next_time()
        self._blocks.append(block)
        return self

    def _next_time(self) -> int:
        at, self._at = self._at, None
        if at is None:
            return self.clock + 2400 + self.ids.below(5200)
        assert at > self.clock, (at - self.clock, self.messages[-1])
        return at

    def _moment(self, text: str) -> int:
        jitter = 0 if "." in text else self.ids.below(1000)
        return self.moments(text) + jitter

    def _made_id(self) -> str:
        return self.ids.nano(21) if self.foreign else self.ids.message()

    def _call_id(self) -> str:
        if self.model.family:
            return f"toolu_01{self.ids.base62(22)}"
        return f"call_{self.ids.base62(24)}"
