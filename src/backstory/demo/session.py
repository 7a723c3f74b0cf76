"""A sample session: the lead's conversation, with the person's turns, the other agents, and what Cline adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from .conversation import Block, Conversation
from .ids import Ids
from .models import Model, Tokens
from .moments import Moments, iso
from .project import Project
from .results import compact

_MODE_NOTICE = "<mode_notice>The mode is {mode} now.</mode_notice>\n"


@dataclass
class Child:
    """The file of a subagent or a teammate; `agent` is its name inside the session."""

    stem: str
    agent: str
    kind: str
    talk: Conversation


@dataclass
class Facts:
    """What the manifest says beside the conversation.

    `prompt` is the first prompt as the manifest keeps it, `typed` that text where Cline keeps another than it sent.
    `status` is Cline's word; `ended` stays none while the session is open. `more` goes into the metadata.
    """

    branch: str | None
    surface: str
    interactive: bool
    title: str | None
    typed: str | None
    started: int
    prompt: str | None = None
    status: str = "running"
    ended: int | None = None
    spawn: bool = True
    mode: str = "user"
    trigger: str | None = None
    checkpoints: list[Block] = field(default_factory=list)
    more: Block = field(default_factory=dict)


class Session(Conversation):
    """One session, told as `Conversation` tells it; `short` is the end of its id."""

    def __init__(
        self,
        moments: Moments,
        short: str,
        start: str,
        *,
        project: Project,
        model: Model,
        branch: str | None = "main",
        surface: str = "cli",
        interactive: bool = True,
        title: str | None = None,
        typed: str | None = None,
        base: int = 11_000,
        tokens: Sequence[Tokens] = (),
    ) -> None:
        ids = Ids(short)
        begun = moments(start) + (0 if "." in start else ids.below(1000))
        super().__init__(
            model=model, project=project, ids=ids, moments=moments, start=begun, base=base, tokens=tokens
        )
        self.id = f"{begun}_{short}"
        self.facts = Facts(branch, surface, interactive, title, typed, begun + 6)
        self.children: list[Child] = []
        self.compaction: Block | None = None
        self.settled = 0
        self._runs = 0
        self._mode: str | None = None
        self._snapshot_of = -1

    # What the person does

    def prompt(
        self,
        text: str,
        mode: str = "act",
        *,
        blocks: Sequence[Block] = (),
        checkpoint: str | None = "",
    ) -> Self:
        """A turn that was typed.

        Cline takes a snapshot when files have changed; `checkpoint` forces one whose hash begins so, or none at all.
        """
        self.flush()
        self.settled = len(self.messages)
        self.clock = self._next_time()
        notice = _MODE_NOTICE.format(mode=mode) if self._mode not in (None, mode) else ""
        wrapped = f'<user_input mode="{mode}">{notice}{text}</user_input>' if text else ""
        self._mode = mode
        self.user([{"type": "text", "text": wrapped}, *blocks], message_id=self.ids.uuid())
        self._runs += 1
        facts = self.facts
        if facts.prompt is None:
            facts.prompt = wrapped if facts.interactive else facts.typed or text
            facts.title = facts.title or text.split("\n")[0][:120]
        if facts.branch and (checkpoint or (checkpoint == "" and self.project.version != self._snapshot_of)):
            self._snapshot(checkpoint)
        return self

    def file(self, path: str) -> Block:
        """A file that comes along with a prompt."""
        sent = self.project.path(path).replace("\\", "/")
        return {"type": "file", "path": sent, "content": self.project.files[path]}

    def end(self, status: str, at: str) -> Self:
        """Cline closes the session."""
        self.flush()
        self.settled = len(self.messages)
        self.facts.status = status
        self.facts.ended = self._moment(at)
        assert self.facts.ended >= self.clock, (self.id, self.facts.ended - self.clock)
        return self

    def idle(self) -> Self:
        """The turn is over, and the session waits for the person."""
        self.flush()
        self.settled = len(self.messages)
        self.facts.status = "idle"
        return self

    def fork(self, short: str, start: str) -> Session:
        """A second session that begins with the messages so far."""
        self.flush()
        facts = self.facts
        other = Session(
            self.moments,
            short,
            start,
            project=self.project.copy(),
            model=self.model,
            branch=facts.branch,
            surface=facts.surface,
            interactive=facts.interactive,
            title=f"{facts.title} (fork)",
        )
        other.messages = deepcopy(self.messages)
        other.meter = copy(self.meter)
        other._runs = self._runs
        other._mode = self._mode
        other._snapshot_of = self._snapshot_of
        other.facts.checkpoints = deepcopy(facts.checkpoints)
        other.facts.more["fork"] = {
            "forkedFromSessionId": self.id,
            "forkedAt": iso(other.clock - 2),
            "source": facts.surface,
            "checkpoints": _checkpoints(deepcopy(facts.checkpoints)),
        }
        return other

    # What Cline adds

    def injected(self, text: str, mode: str = "act") -> Self:
        """A turn that Cline sends by itself, wrapped like a typed one."""
        self.flush()
        self.clock = self._next_time()
        wrapped = f'<user_input mode="{mode}">{text}</user_input>'
        self.user([{"type": "text", "text": wrapped}], message_id=self.ids.uuid())
        return self

    def hook(self, text: str, event: str, tool: str) -> Self:
        """What a person's hook told the model about the last tool call."""
        self.flush()
        call = self.messages[-1]["content"][0]["tool_use_id"].replace("_", "__")
        name = tool.replace("_", "__")
        head = f'<hook_context source="{event}" tool_name="{name}" tool_call_id="{call}">'
        self.clock += 1
        self.user(
            [{"type": "text", "text": f"{head}\n{text}\n</hook_context>"}],
            message_id=self._made_id(),
            metadata={"userRunSpan": 0, "displayRole": "system"},
        )
        return self

    def provider_error(self, text: str) -> Self:
        """The provider's refusal, shown to the person and never sent to the model."""
        self.flush()
        self.clock = self._next_time()
        self.messages.append(
            {
                "id": f"error_{self.ids.uuid()}",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "ts": self.clock,
                "metadata": {"displayOnly": True, "displayRole": "error"},
                "modelInfo": self.model.info(),
            }
        )
        return self

    def compacted(self, summary: str, *, keep: int, read: Sequence[str], modified: Sequence[str]) -> Self:
        """The model sees a summary and the last `keep` messages from here on; the messages file stays whole."""
        self.flush()
        metadata = {
            "kind": "compaction_summary",
            "displayRole": "system",
            "userRunSpan": self._runs,
            "summary": summary,
            "details": {"readFiles": list(read), "modifiedFiles": list(modified)},
            "tokensBefore": self.meter.context,
            "generatedAt": self.clock + 4100,
        }
        text = f"Context summary:\n\n{summary}"
        first = {"role": "user", "content": [{"type": "text", "text": text}], "metadata": metadata}
        self.compaction = {
            "version": 1,
            "updated_at": iso(self.clock + 4102),
            "conversation_id": self.id,
            "source_message_count": len(self.messages),
            "source_prefix_hash": f"sha256:{sha256(compact(self.messages).encode()).hexdigest()}",
            "source_last_message_key": f"id:{self.messages[-1]['id']}",
            "messages": [first, *deepcopy(self.messages[-keep:])],
        }
        self.meter.compact(compact(self.compaction["messages"]))
        self.clock += 4200
        return self

    # Other agents

    @contextmanager
    def agent(
        self, task: str, system: str, *, base: int = 1800, tokens: Sequence[Tokens] = ()
    ) -> Iterator[Conversation]:
        """A subagent; the call returns when its conversation ends."""
        call, name = self._call_id(), "spawn_agent"
        self._add(
            {"type": "tool_use", "id": call, "name": name, "input": {"systemPrompt": system, "task": task}}
        )
        start = self._opened + 40 + 2 * len(self.children)
        talk = self._child(f"agent_{start}_{self.ids.base36(6)}", "subagent", task, start, base, tokens)
        yield talk
        talk.flush()
        requests = [message["metrics"] for message in talk.messages if "metrics" in message]
        answer = {
            "text": talk.last_text,
            "iterations": len(requests),
            "finishReason": "completed",
            "usage": {key: sum(r[key] for r in requests) for key in ("inputTokens", "outputTokens")},
        }
        block = {"type": "tool_result", "tool_use_id": call, "name": name, "content": compact(answer)}
        self._results.append((block, talk.clock + 25 - self._opened))
        if not self._together:
            self.flush()

    @contextmanager
    def teammate(self, name: str, task: str, *, waited_for: bool) -> Iterator[Conversation]:
        """A run of a teammate: the call returns with the answer, or at once with the number of the run."""
        call, tool = self._call_id(), "team_run_task"
        asked = {"agentId": name, "task": task, "runMode": "sync" if waited_for else "async"}
        self._add({"type": "tool_use", "id": call, "name": tool, "input": asked})
        took = max([took for _, took in self._results], default=24)
        talk = self._child(
            f"{name}__{self.ids.base62(6)}", "teammate", task, self._opened + took + 20, base=1800
        )
        yield talk
        talk.flush()
        answer: dict[str, Any] = {"agentId": name, "mode": asked["runMode"]}
        if waited_for:
            message = f"Task dispatched to {name} and completed in sync mode."
            answer |= {"status": "running", "dispatched": True, "message": message, "text": talk.last_text}
            answer["iterations"] = sum("metrics" in message for message in talk.messages)
            took = talk.clock + 25 - self._opened
        else:
            run = "run_00001"
            message = f"Task dispatched to {name} and queued as {run}."
            answer |= {"status": "queued", "dispatched": True, "message": message, "runId": run}
        block = {"type": "tool_result", "tool_use_id": call, "name": tool, "content": compact(answer)}
        self._results.append((block, took))
        if not self._together:
            self.flush()

    def _child(
        self, stem: str, kind: str, task: str, start: int, base: int, tokens: Sequence[Tokens] = ()
    ) -> Conversation:
        talk = Conversation(
            model=self.model,
            project=self.project,
            ids=Ids(f"{self.id.split('_', 1)[1]}/{len(self.children)}"),
            moments=self.moments,
            start=start,
            base=base,
            tokens=tokens,
        )
        talk.user([{"type": "text", "text": task}], message_id=talk.ids.uuid())
        self.children.append(Child(stem, stem.split("__")[0], kind, talk))
        return talk

    def _snapshot(self, begin: str) -> None:
        self._snapshot_of = self.project.version
        points = self.facts.checkpoints
        points.append(
            {
                "ref": self.ids.commit(begin),
                "createdAt": self.clock + 90,
                "runCount": self._runs,
                "kind": "stash" if points else "commit",
            }
        )


def _checkpoints(points: list[Block]) -> dict[str, Any]:
    return {"latest": points[-1], "history": points}
