"""Sessions that Cline imported from another agent: no wrapper, foreign tools, calls that do not count."""

from __future__ import annotations

from typing import Any

from . import wire
from .kinds import Made, Wish
from .talk import Talk

TOOLS = {"claude-code": ("anthropic", "claude-sonnet-4-5"), "codex": ("openai-native", "gpt-5-codex")}


def _put(talk: Talk, role: str, content: list[dict[str, Any]], **rest: Any) -> None:
    """The importer writes `id` last."""
    made: dict[str, Any] = {"role": role, "content": content, "ts": talk.clock} | rest
    made["id"] = wire.nanoid(talk.rng)
    talk.messages.append(made)
    talk.record.messages += 1
    talk.wait(900, 8000)


def _call(talk: Talk, tool: str, info: dict[str, str]) -> None:
    """One request of the other agent, with one tool call and its result."""
    source = talk.rng.choice(talk.project.files)
    start = talk.rng.randrange(max(1, len(source.lines) - 120))
    body = "\n".join(source.lines[start : start + talk.rng.randrange(5, 120)])
    if tool == "claude-code":
        name, given = "Read", {"file_path": talk.folder + source.path, "offset": start + 1}
    else:
        name, given = "shell", {"command": ["sed", "-n", f"{start + 1},$p", source.path]}
    ident = "toolu_" + wire.nanoid(talk.rng, 12)
    blocks = [wire.text(talk.think(1)), wire.tool_use(ident, name, given)]
    _put(talk, "assistant", blocks, modelInfo=info, metrics=_metrics(talk, tool))
    _put(talk, "user", [wire.tool_result(ident, name, body)])
    talk.record.message += 1
    talk.record.other += 1


def _metrics(talk: Talk, tool: str) -> dict[str, Any]:
    """Claude Code's input leaves out what was cached, Codex's contains it."""
    read = talk.rng.randrange(1_000, 90_000)
    fresh = talk.rng.randrange(4, 900)
    return {
        "inputTokens": fresh if tool == "claude-code" else fresh + read,
        "outputTokens": talk.rng.randrange(20, 900),
        "cacheReadTokens": read,
        "cacheWriteTokens": 400 if tool == "claude-code" else 0,
        "cost": 0,
    }


def _manifest(ident: str, talk: Talk, wish: Wish, prompt: str, tool: str, importedat: int) -> dict[str, Any]:
    provider, model = TOOLS[tool]
    folder = talk.folder.rstrip("/")
    return {
        "version": 1,
        "session_id": ident,
        "source": "desktop",
        "pid": 0,
        "started_at": wire.iso(wish.started),
        "ended_at": wire.iso(talk.clock),
        "exit_code": 0,
        "status": "completed",
        "interactive": True,
        "provider": provider,
        "model": model,
        "cwd": folder,
        "workspace_root": folder,
        "enable_tools": True,
        "enable_spawn": False,
        "enable_teams": False,
        "prompt": prompt,
        "metadata": {
            "title": prompt.partition("\n")[0][:120],
            "git": {"branch": "main"},
            "sessionHistoryOrigin": {"mode": "import", "trigger": tool},
            "importedFrom": {
                "tool": tool,
                "sourceSessionId": wire.uuid4(talk.rng),
                "sourcePath": f"{wire.HOME}/.{tool}/{ident}.jsonl",
                "importedAt": wire.iso(importedat),
                "sourceProvider": provider,
                "sourceModel": model,
            },
        },
        "messages_path": wire.messages_path(ident),
    }


def imported(wish: Wish) -> Made:
    tool = wish.rng.choice(sorted(TOOLS))
    provider, model = TOOLS[tool]
    talk = wish.talk(counted=False)
    info = {"id": model, "provider": provider}
    prompt = talk.ask()
    _put(talk, "user", [wire.text(prompt)])
    talk.record.message += 1
    talk.record.turns += 1
    for _ in range(max(1, wish.calls - 1)):
        _call(talk, tool, info)
    _put(talk, "assistant", [wire.text(talk.think(3))], modelInfo=info, metrics=_metrics(talk, tool))
    talk.record.message += 1
    ident = wire.imported_id(wish.rng, wish.started)
    at = talk.clock + 86_400_000
    about = _manifest(ident, talk, wish, prompt, tool, at + 10)
    lead = wire.document(ident, talk.messages, at, source="desktop", trigger=tool)
    return Made("imported", ident, about, lead, at, talk.record, talk.ledger)
