"""A session that grows as Cline lets it grow: every change rewrites the whole file in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from . import tools, wire
from .tree import large_session

STAMP_AT = len(b'{\n  "version": 1,\n  "updated_at": "')


def chunk(message: Any) -> bytes:
    """One message as it stands inside the document. Raw newlines occur only between tokens."""
    return b"    " + msgspec.json.format(msgspec.json.encode(message), indent=2).replace(b"\n", b"\n    ")


class Grower:
    """A session of about so many megabytes in `root`, and the ways in which its lead file changes.

    Every method rewrites the file once and leaves a document that Cline could have written.
    """

    def __init__(self, root: Path, megabytes: float, seed: int = 1) -> None:
        made = large_session(root, megabytes, seed)
        assert made.talk is not None
        self.id = made.id
        self.folder = root / made.id
        self.path = self.folder / f"{made.id}.messages.json"
        self._talk = made.talk
        self._chunks = [chunk(message) for message in made.talk.messages]
        empty = wire.pretty(made.lead | {"messages": []})
        before, after = empty.split(b'"messages": []', 1)
        self._head, self._tail = before + b'"messages": [\n', b"\n  ]" + after
        self._open: tuple[list[str], list[tools.Use]] = ([], [])

    def _save(self) -> None:
        """Bun's way: no truncation first, one write, then the new length."""
        talk = self._talk
        self._chunks += [chunk(message) for message in talk.messages[len(self._chunks) :]]
        stamp = wire.iso(talk.clock).encode()
        head = self._head[:STAMP_AT] + stamp + self._head[STAMP_AT + len(stamp) :]
        data = head + b",\n".join(self._chunks) + self._tail
        with self.path.open("r+b") as file:
            file.write(data)
            file.truncate(len(data))
        talk.wait(20, 400)

    def size(self) -> int:
        return self.path.stat().st_size

    def prompt(self) -> None:
        """What a person typed. Cline itself writes it together with the first reply."""
        self._talk.prompt(self._talk.ask())
        self._save()

    def reply(self) -> None:
        """An assistant message with two calls that have no result yet."""
        uses = [self._talk.use(), self._talk.use()]
        self._open = (self._talk.reply(uses), uses)
        self._save()

    def results(self) -> None:
        """The results of those calls, each a message."""
        self._talk.results(*self._open)
        self._open = ([], [])
        self._save()

    def answer(self, metered: bool = True) -> None:
        """A reply without tools; without `metered` its counts come later."""
        self._talk.metered = metered
        self._talk.reply([], self._talk.think(3))
        self._talk.metered = True
        self._save()

    def late_metrics(self) -> None:
        """The last message gains its counts: a change inside what was written before."""
        zero = {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0}
        self._talk.messages[-1]["metrics"] = zero
        self._chunks[-1] = chunk(self._talk.messages[-1])
        self._save()

    def splice(self) -> None:
        """Hook context lands before the last message, which holds calls still open."""
        self._talk.hook(self._open[0][-1], self._open[1][-1].name)
        messages = self._talk.messages
        messages[-2], messages[-1] = messages[-1], messages[-2]
        self._chunks[-1:] = [chunk(messages[-2]), chunk(messages[-1])]
        self._save()

    def touch(self) -> None:
        """The end of a run: the same size, and only `updated_at` is new."""
        self._save()

    def document(self) -> bytes:
        """The whole file again, from its messages."""
        return wire.pretty(msgspec.json.decode(self.path.read_bytes()))
