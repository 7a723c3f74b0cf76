"""One conversation as Cline keeps it, message by message, with the counts that it adds up to."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from . import tools, wire
from .corpus import Corpus, Project
from .models import Meter, Model
from .totals import Ledger, Record

FOREIGN = (
    "请先看一下这个函数，再改。",
    "Можно ли это упростить? ",
    "Corrige também o café ☕ — obrigado. ",
    "テストも追加してください。",
    "שלום 👋 ",
)
ASKS = (
    "Why does {name} in {file} return the wrong value when it is called twice?",
    "Rename {name} to something clearer and update the callers in {file}.",
    "Add a test for {name}. It should cover the empty case as well.",
    "{file} is hard to follow around {name}. Split it, without changing behaviour.",
    "Find out where {name} is used and whether we can drop it.",
    "The last run failed in {name}. Please look at {file} and fix it.",
)
CONTEXT_AT_START = 9_000
CONTEXT_LIMIT = 170_000


@dataclass
class State:
    """What has to be remembered at a prompt, so that another session can begin as a copy up to there."""

    messages: int
    record: Record
    meter: Meter
    runs: int


@dataclass
class Talk:
    """Builds the messages of one file. `clock` is ms since the epoch and moves on by itself.

    `scale` stretches tool outputs. `counted` is false for imports, whose calls belong to another tool.
    """

    rng: Random
    corpus: Corpus
    project: Project
    model: Model
    clock: int
    scale: float = 1.0
    counted: bool = True
    metered: bool = True
    folder: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    record: Record = field(default_factory=Record)
    ledger: Ledger = field(default_factory=Ledger)
    meter: Meter = field(default_factory=Meter)
    states: list[State] = field(default_factory=list)
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    context: int = CONTEXT_AT_START
    seen: int = 0
    runs: int = 0

    def wait(self, low: int, high: int) -> None:
        self.clock += self.rng.randrange(low, high)

    def state(self) -> State:
        return State(len(self.messages), self.record.copy(), copy(self.meter), self.runs)

    def _put(self, message: dict[str, Any], size: int) -> None:
        self.messages.append(message)
        self.record.messages += 1
        self.context += size // 4

    def ask(self) -> str:
        """Something a person might type; every prompt carries a word that occurs nowhere else."""
        source = self.rng.choice(self.project.files)
        said = self.rng.choice(ASKS).format(name=self.rng.choice(source.names)[1], file=source.path)
        if self.rng.random() < 0.05:
            said = self.rng.choice(FOREIGN) + said
        if self.rng.random() < 0.3:
            said += "\n\n" + "\n".join(self.rng.choices(self.corpus.paragraphs, k=2))
        return f"{said} (ticket T{self.rng.getrandbits(48):012x})"

    def prompt(self, said: str, mode: str = "act", wrapped: bool = True) -> None:
        """A turn begins; Cline makes a checkpoint before the first reply."""
        self.states.append(self.state())
        words = f'<user_input mode="{mode}">{said}</user_input>' if wrapped else said
        ident = wire.uuid4(self.rng)
        self._put(wire.message(ident, "user", [wire.text(words)], self.clock), len(words))
        self.record.message += 1
        self.record.turns += 1
        self.runs += 1
        ref = f"{self.rng.getrandbits(160):040x}"
        at = self.clock + 60
        self.checkpoints.append({"ref": ref, "createdAt": at, "runCount": self.runs, "kind": "stash"})
        self.wait(1500, 9000)

    def task(self, said: str) -> None:
        """What a child was asked: a message, but no turn."""
        ident = wire.uuid4(self.rng)
        self._put(wire.message(ident, "user", [wire.text(said)], self.clock), len(said))
        self.record.message += 1
        self.wait(800, 4000)

    def think(self, most: int = 4) -> str:
        return "\n\n".join(self.rng.choices(self.corpus.paragraphs, k=self.rng.randrange(1, most + 1)))

    def _metrics(self, said: int) -> dict[str, Any] | None:
        """One call: the whole context goes in, and what stood in the last call is read from the cache."""
        if not self.metered:
            return None
        if self.context > CONTEXT_LIMIT:
            self.context, self.seen = CONTEXT_LIMIT // 6, 0
        given = self.context + 8
        metrics = self.meter.charge(self.model, given, said // 4 + 12, self.seen)
        self.seen = given - 4
        if self.counted:
            self._count(metrics)
        return metrics

    def _count(self, metrics: dict[str, Any]) -> None:
        read, write = metrics["cacheReadTokens"], metrics["cacheWriteTokens"]
        self.ledger.calls += 1
        self.ledger.fresh += metrics["inputTokens"] - read - write
        self.ledger.cache_read += read
        self.ledger.cache_write += write
        self.ledger.output += metrics["outputTokens"]
        if "cost" in metrics:
            self.ledger.reported += 1
            self.ledger.nano += round(metrics["cost"] * 1e9)

    def reply(self, uses: list[tools.Use], words: str | None = None) -> list[str]:
        """An assistant message with its calls; gives the ids of the calls."""
        blocks, size = [], 0
        if self.rng.random() < 0.35:
            thought = self.think(2)
            blocks.append({"type": "thinking", "thinking": thought})
            size += len(thought)
        if words is None and (not uses or self.rng.random() < 0.6):
            words = self.think(5 if not uses else 1)
        if words is not None:
            blocks.append(wire.text(words))
            size += len(words)
        self.record.message += len(blocks)
        prefix, length = self.model.call_prefix()
        idents = [prefix + wire.nanoid(self.rng, length) for _ in uses]
        for ident, use in zip(idents, uses, strict=True):
            blocks.append(wire.tool_use(ident, use.name, use.given))
            size += 60 + sum(len(str(value)) for value in use.given.values())
        metrics = self._metrics(size)
        made = wire.message(
            wire.message_id(self.rng),
            "assistant",
            blocks,
            self.clock,
            modelInfo=self.model.info(),
            metrics=metrics,
        )
        self._put(made, size)
        self.wait(40, 6000)
        return idents

    def results(self, idents: list[str], uses: list[tools.Use]) -> None:
        """Each result is a user message of its own, in the order of the calls."""
        for ident, use in zip(idents, uses, strict=True):
            block = wire.tool_result(ident, use.name, use.result, use.is_error)
            whole = isinstance(use.result, str)
            size = len(use.result) if whole else sum(len(one["result"]) for one in use.result)
            self._put(wire.message(wire.message_id(self.rng), "user", [block], self.clock), size)
            kind = use.type
            setattr(self.record, kind, getattr(self.record, kind) + use.steps)
            self.record.failed += use.failed
            if use.is_error:
                self.record.rejected += use.steps
            self.wait(20, 1200)
        self.wait(200, 4000)

    def hook(self, ident: str, name: str) -> None:
        """What a hook added, as a message that nobody typed."""
        named, called = name.replace("_", "__"), ident.replace("_", "__")
        head = f'<hook_context source="PostToolUse" tool_name="{named}" tool_call_id="{called}">'
        words = f"{head}\n{self.think(1)}\n</hook_context>"
        shown = {"userRunSpan": 0, "displayRole": "system"}
        made = wire.message(wire.message_id(self.rng), "user", [wire.text(words)], self.clock, metadata=shown)
        self._put(made, len(words))
        self.record.message += 1

    def error(self, words: str) -> None:
        """A provider error, shown to the person and never sent to the model."""
        shown = {"displayOnly": True, "displayRole": "error"}
        ident = f"error_{wire.uuid4(self.rng)}"
        info = self.model.info()
        made = wire.message(
            ident, "assistant", [wire.text(words)], self.clock, metadata=shown, modelInfo=info
        )
        self._put(made, 0)
        self.record.message += 1
        self.record.failed += 1

    def use(self) -> tools.Use:
        """A tool call as agents make them: mostly reads and commands, then edits and searches."""
        rng, project = self.rng, self.project
        kind = rng.random()
        if kind < 0.34:
            return tools.read_files(project, self.folder, rng, self.scale)
        if kind < 0.66:
            return tools.run_commands(project, rng, self.scale)
        if kind < 0.86:
            return (
                tools.apply_patch(project, rng)
                if self.model.patches
                else tools.editor(project, self.folder, rng)
            )
        if kind < 0.96:
            return tools.search_codebase(project, rng, self.scale)
        return tools.elsewhere(self.corpus.paragraphs, rng)

    def round(self, deny: bool = False) -> None:
        """One call with its tools and their results."""
        uses = [self.use() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        if deny:
            uses[0] = tools.denied(uses[0])
        idents = self.reply(uses)
        self.results(idents, uses)
        if self.rng.random() < 0.01:
            self.hook(idents[-1], uses[-1].name)

    def turn(self, calls: int, mode: str = "act", wrapped: bool = True, deny: bool = False) -> None:
        """A prompt and `calls` model requests; the last one is the answer."""
        self.prompt(self.ask(), mode, wrapped)
        for n in range(calls - 1):
            self.round(deny=deny and n == 0)
        self.reply([], self.think(3))
        self.wait(500, 2000)
