"""The kinds of sessions that a tree is made of: how each one begins, ends, and what its manifest says."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from . import corpus, models, tools, wire
from .talk import State, Talk
from .totals import Ledger, Record, add

SYSTEM_PROMPT_SIZE = 4_000


@dataclass
class Made:
    """A finished session: its two documents, its children, and what to count."""

    kind: str
    id: str
    manifest: dict[str, Any]
    lead: dict[str, Any]
    stamp: int
    record: Record
    ledger: Ledger
    children: list[tuple[str, dict[str, Any], int]] = field(default_factory=list)
    talk: Talk | None = None

    def parts(self) -> list[tuple[str, dict[str, Any], int]]:
        """Stem, document and time of last writing of every messages file."""
        return [(self.id, self.lead, self.stamp), *self.children]


@dataclass
class Wish:
    """What a session should become. `parent` is the session that a fork or a rewind starts from."""

    rng: Random
    started: int
    calls: int
    scale: float
    parent: Made | None = None

    def talk(self, source: str = "cli", **more: Any) -> Talk:
        texts = corpus.corpus()
        project = self.rng.choice(texts.projects)
        folder = f"{wire.HOME}/{project.name}/"
        model = models.pick(self.rng)
        clock = self.started + self.rng.randrange(300, 1500)
        return Talk(self.rng, texts, project, model, clock, self.scale, folder=folder, **more)


def system_prompt() -> str:
    """Of the length that Cline's own has, the same in every session."""
    return "\n\n".join(corpus.corpus().paragraphs[:200])[:SYSTEM_PROMPT_SIZE]


def _title(prompt: str) -> str:
    return prompt.partition("\n")[0][:120]


def _typed(talk: Talk, at: int = 0) -> str:
    words: str = talk.messages[at]["content"][0]["text"]
    return words


def _shown(words: str) -> str:
    return words.partition(">")[2].removesuffix("</user_input>") if words.startswith("<user_input") else words


def _base(
    ident: str, talk: Talk, started: int, source: str, prompt: str, interactive: bool
) -> dict[str, Any]:
    cli = source == "cli"
    made: dict[str, Any] = {
        "version": 1,
        "session_id": ident,
        "source": source,
        "pid": talk.rng.randrange(2_000, 400_000),
        "started_at": wire.iso(started),
        "ended_at": "",
        "exit_code": 0,
        "status": "completed",
        "interactive": interactive,
        "provider": talk.model.provider,
        "model": talk.model.name,
        "cwd": talk.folder.rstrip("/"),
        "workspace_root": talk.folder.rstrip("/"),
    }
    if cli:
        made["team_name"] = "team-" + wire.nanoid(talk.rng, 5)
    made |= {"enable_tools": True, "enable_spawn": cli, "enable_teams": cli, "prompt": prompt}
    return made


def manifest(
    ident: str, talk: Talk, started: int, *, source: str = "cli", interactive: bool = False, first: int = 0
) -> dict[str, Any]:
    """A session that ended well. `first` is the message index of the first prompt that is not a copy."""
    words = _typed(talk, first)
    made = _base(ident, talk, started, source, words if interactive else _shown(words), interactive)
    made["ended_at"] = wire.iso(talk.clock + 250)
    origin = {"mode": "user"} | ({"version": wire.VERSION} if source == "cli" else {})
    usage = talk.meter.usage()
    about: dict[str, Any] = {"sessionHistoryOrigin": origin, "git": {"branch": "main"}}
    if source == "cli" and talk.checkpoints:
        about["checkpoint"] = {"latest": talk.checkpoints[-1], "history": talk.checkpoints}
    about["title"] = _title(_shown(_typed(talk)))
    about |= {"totalCost": usage["totalCost"], "aggregatedAgentsCost": usage["totalCost"]}
    about |= {"usage": usage, "aggregateUsage": usage}
    made["metadata"] = about
    made["messages_path"] = wire.messages_path(ident)
    return made


def _finish(kind: str, ident: str, talk: Talk, started: int, **how: Any) -> Made:
    about = manifest(ident, talk, started, **how)
    source = how.get("source", "cli")
    lead = wire.document(ident, talk.messages, talk.clock, source=source, system_prompt=system_prompt())
    return Made(kind, ident, about, lead, talk.clock, talk.record, talk.ledger, talk=talk)


def oneshot(wish: Wish) -> Made:
    talk = wish.talk()
    talk.turn(wish.calls)
    return _finish("oneshot", wire.session_id(wish.rng, wish.started), talk, wish.started)


def _turns(talk: Talk, calls: int, deny: bool = False) -> None:
    """Prompts of an open conversation: five to fifteen calls each, the first one sometimes in plan mode."""
    while calls > 0:
        part = min(calls, talk.rng.randrange(3, 16))
        talk.turn(part, "plan" if not talk.runs and talk.rng.random() < 0.3 else "act", deny=deny)
        talk.wait(4_000, 240_000 if talk.rng.random() < 0.9 else 9_000_000)
        calls -= part


def interactive(wish: Wish) -> Made:
    talk = wish.talk()
    _turns(talk, wish.calls)
    ident = wire.session_id(wish.rng, wish.started)
    return _finish("interactive", ident, talk, wish.started, interactive=True)


def vscode(wish: Wish) -> Made:
    talk = wish.talk()
    _turns(talk, wish.calls)
    ident = wire.session_id(wish.rng, wish.started)
    return _finish("vscode", ident, talk, wish.started, source="vscode", interactive=True)


def denied(wish: Wish) -> Made:
    talk = wish.talk()
    _turns(talk, max(2, wish.calls), deny=True)
    ident = wire.session_id(wish.rng, wish.started)
    return _finish("denied", ident, talk, wish.started, interactive=True)


def subagents(wish: Wish) -> Made:
    """A lead that hands out work: one or two children, each with a file of its own."""
    talk = wish.talk()
    ident = wire.session_id(wish.rng, wish.started)
    talk.prompt(talk.ask())
    count = wish.rng.choice((1, 2))
    own = max(2, wish.calls // (1 + count))
    for _ in range(own // 2):
        talk.round()
    tasks = [f"{talk.ask()} Report file names only." for _ in range(count)]
    spawns = [
        tools.Use("spawn_agent", {"systemPrompt": "You report what you find.", "task": task}, "", "other")
        for task in tasks
    ]
    idents = talk.reply(spawns)
    children, filled = [], []
    for task, spawn in zip(tasks, spawns, strict=True):
        child, answer = _child(talk, task, max(2, wish.calls // (1 + count)))
        agent = wire.agent_id(wish.rng, talk.clock)
        children.append((agent, wire.child_document(ident, agent, child.messages, child.clock), child.clock))
        filled.append(tools.Use(spawn.name, spawn.given, answer, spawn.type))
        talk.clock = child.clock + 20
        add(talk.record, child.record)
        add(talk.ledger, child.ledger)
    talk.results(idents, filled)
    for _ in range(own - own // 2):
        talk.round()
    talk.reply([], talk.think(3))
    made = _finish("subagents", ident, talk, wish.started)
    made.children = children
    return made


def _child(lead: Talk, task: str, calls: int) -> tuple[Talk, str]:
    child = Talk(
        lead.rng, lead.corpus, lead.project, lead.model, lead.clock + 15, lead.scale, folder=lead.folder
    )
    child.task(task)
    for _ in range(calls - 1):
        child.round()
    words = child.think(2)
    child.reply([], words)
    tokens = {"inputTokens": child.meter.inputs, "outputTokens": child.meter.outputs}
    answer = {"text": words, "iterations": calls, "finishReason": "completed", "usage": tokens}
    return child, wire.compact(answer)


def _copy(wish: Wish, state: State) -> Talk:
    """A conversation that begins with the parent's messages, ids and all; only what follows is counted."""
    assert wish.parent is not None
    old = wish.parent.talk
    assert old is not None
    talk = wish.talk()
    talk.project, talk.folder, talk.model = old.project, old.folder, old.model
    talk.messages = old.messages[: state.messages]
    talk.record, talk.meter, talk.runs = state.record.copy(), copy(state.meter), state.runs
    talk.checkpoints = old.checkpoints[: state.runs]
    return talk


def fork(wish: Wish) -> Made:
    parent = wish.parent
    assert parent is not None
    assert parent.talk is not None
    state = parent.talk.state()
    talk = _copy(wish, state)
    before = list(talk.checkpoints)
    _turns(talk, max(1, wish.calls // 3))
    ident = wire.session_id(wish.rng, wish.started)
    made = _finish("fork", ident, talk, wish.started, interactive=True, first=state.messages)
    about = made.manifest["metadata"]
    about["title"] += " (fork)"
    about["fork"] = {
        "forkedFromSessionId": parent.id,
        "forkedAt": wire.iso(wish.started - 2),
        "source": "cli",
        "checkpoints": {"latest": before[-1], "history": before},
    }
    return made


def rewind(wish: Wish) -> Made:
    """The same conversation up to a chosen prompt, then another one; nothing marks it."""
    assert wish.parent is not None
    assert wish.parent.talk is not None
    states = wish.parent.talk.states
    state = wish.rng.choice(states[1:] or [wish.parent.talk.state()])
    talk = _copy(wish, state)
    _turns(talk, max(1, wish.calls // 3))
    ident = wire.session_id(wish.rng, wish.started)
    return _finish("rewind", ident, talk, wish.started, interactive=True, first=state.messages)


def unmetered(wish: Wish) -> Made:
    """A provider that reports no usage: the run's last reply gets the totals, which are zero."""
    talk = wish.talk(metered=False)
    talk.model = models.Model("openai-compatible", "local-model")
    talk.turn(wish.calls)
    zero = {"inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0}
    talk.messages[-1]["metrics"] = zero
    return _finish("unmetered", wire.session_id(wish.rng, wish.started), talk, wish.started)


def provider_error(wish: Wish) -> Made:
    talk = wish.talk()
    talk.prompt(talk.ask())
    for _ in range(wish.calls):
        talk.round()
    talk.error(f"429 Too many requests: {talk.model.name} is over capacity")
    made = _finish("provider-error", wire.session_id(wish.rng, wish.started), talk, wish.started)
    made.manifest |= {"exit_code": 1, "status": "failed"}
    return made


def killed_early(wish: Wish) -> Made:
    """Killed before the first reply: no message at all, and the prompt only in the manifest."""
    talk = wish.talk()
    talk.prompt(talk.ask())
    talk.checkpoints.clear()
    ident = wire.session_id(wish.rng, wish.started)
    about = manifest(ident, talk, wish.started)
    for key in ("totalCost", "aggregatedAgentsCost", "usage", "aggregateUsage"):
        del about["metadata"][key]
    about |= {"exit_code": 1, "status": "failed"}
    about["metadata"] |= {
        "terminal_marker": "failed_external_process_exit",
        "terminal_marker_at": about["ended_at"],
        "terminal_marker_pid": about["pid"],
        "terminal_marker_source": "stale_session_reconciler",
    }
    talk.record.messages = 0
    lead = wire.document(ident, [], wish.started + 5)
    return Made("killed-early", ident, about, lead, wish.started + 5, talk.record, talk.ledger)


def killed_midway(wish: Wish) -> Made:
    """Killed while it ran: no end, no usage, and the manifest still says `running`."""
    talk = wish.talk()
    talk.prompt(talk.ask())
    for _ in range(max(1, wish.calls)):
        talk.round()
    ident = wire.session_id(wish.rng, wish.started)
    made = _finish("killed-midway", ident, talk, wish.started)
    about = made.manifest
    for key in ("ended_at", "exit_code"):
        del about[key]
    about["status"] = "running"
    for key in ("totalCost", "aggregatedAgentsCost", "usage", "aggregateUsage"):
        del about["metadata"][key]
    return made


KINDS: tuple[tuple[int, Callable[[Wish], Made]], ...] = (
    (38, oneshot),
    (28, interactive),
    (9, vscode),
    (7, subagents),
    (4, fork),
    (3, rewind),
    (2, denied),
    (2, provider_error),
    (2, unmetered),
    (1, killed_early),
    (1, killed_midway),
)
COPIES = (fork, rewind)
