"""The files of a session as Cline writes them: manifest, messages, children, compaction."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .conversation import Block
from .ids import Ids
from .models import plain
from .moments import iso
from .session import Child, Session

_VERSIONS = {"cli": "3.0.65", "vscode": "4.1.0"}
_INSTRUCTIONS = "(The instructions that Cline gives to the model are left out of the samples.)"
_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def write(session: Session, sessions_dir: Path) -> None:
    """Write a session's folder; the files' times are those of the story."""
    session.flush()
    folder = sessions_dir / session.id
    folder.mkdir(parents=True, exist_ok=True)
    last = _last_write(session)
    for name, document in _documents(session, last).items():
        path = folder / name
        path.write_text(
            json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n"
        )
        os.utime(path, (last / 1000, last / 1000))


def _documents(session: Session, last: int) -> dict[str, Block]:
    documents = {
        f"{session.id}.json": _manifest(session),
        f"{session.id}.messages.json": _lead(session, last),
    }
    for child in session.children:
        documents[f"{child.stem}.messages.json"] = _child(session, child)
    if session.compaction:
        documents[f"{session.id}.compaction.json"] = session.compaction
    return documents


def _last_write(session: Session) -> int:
    """Shortly after the last message, and never later than the end or the moment of the telling."""
    limit = session.moments.now if session.facts.ended is None else session.facts.ended
    return min(session.clock + 140, limit)


def _lead(session: Session, last: int) -> Block:
    origin = {"source": session.facts.surface, "mode": session.facts.mode, "sessionId": session.id}
    document = {
        "version": 1,
        "updated_at": iso(last),
        "agent": "lead",
        "sessionId": session.id,
        "origin": origin | _client(session),
        "messages": session.messages,
    }
    document["system_prompt"] = _INSTRUCTIONS
    return document


def _child(session: Session, child: Child) -> Block:
    marker = "__" if child.kind == "subagent" else "__teamtask__"
    own = f"{session.id}{marker}{child.stem}"
    return {
        "version": 1,
        "updated_at": iso(child.talk.clock + 20),
        "agent": child.kind,
        "sessionId": own,
        "taskType": "subagent_task" if child.kind == "subagent" else "team",
        "origin": {
            "source": session.facts.surface,
            "mode": "subagent" if child.kind == "subagent" else "team",
            "sessionId": own,
            "parentThreadId": session.id,
            "subagent": child.agent,
            **_client(session),
        },
        "messages": child.talk.messages,
    }


def _client(session: Session) -> dict[str, str]:
    facts = session.facts
    if facts.trigger:
        return {"trigger": facts.trigger}
    return {"version": _VERSIONS[facts.surface]} if facts.surface in _VERSIONS else {}


def _manifest(session: Session) -> Block:
    facts, ids = session.facts, Ids(f"{session.id}/manifest")
    manifest: Block = {
        "version": 1,
        "session_id": session.id,
        "source": facts.surface,
        "pid": 0 if facts.trigger else 4000 + ids.below(40_000),
        "started_at": iso(facts.started),
    }
    if facts.ended is not None:
        manifest["ended_at"] = iso(facts.ended)
        manifest["exit_code"] = int(facts.status == "failed")
    elif session.settled:
        manifest["exit_code"] = None
    manifest |= {
        "status": facts.status,
        "interactive": facts.interactive,
        "provider": session.model.provider,
        "model": session.model.id,
        "cwd": session.project.root,
        "workspace_root": session.project.root,
    }
    if facts.surface == "cli":
        manifest["team_name"] = f"team-{ids.nano(5)}"
    manifest |= {
        "enable_tools": True,
        "enable_spawn": facts.spawn,
        "enable_teams": facts.surface == "cli",
        "prompt": facts.prompt,
        "metadata": _metadata(session),
        "messages_path": _place(session, "messages"),
    }
    if session.compaction:
        manifest["compaction_path"] = _place(session, "compaction")
    return manifest


def _metadata(session: Session) -> Block:
    facts = session.facts
    origin: Block = {"sessionHistoryOrigin": {"mode": facts.mode, **_client(session)}}
    git: Block = {"git": {"branch": facts.branch}} if facts.branch else {}
    title: Block = {"title": facts.title}
    if facts.trigger:
        metadata = title | git | origin | facts.more  # An import is written in one go, in another order.
    else:
        points = facts.checkpoints
        seen: Block = {"checkpoint": {"latest": points[-1], "history": points}} if points else {}
        metadata = origin | git | seen | title
    settled = session.messages[: session.settled]
    if settled:
        mates = [child.talk.messages for child in session.children if child.kind == "teammate"]
        usage = _usage(settled)
        together = _usage(message for messages in (settled, *mates) for message in messages)
        metadata |= {
            "totalCost": usage["totalCost"],
            "aggregatedAgentsCost": together["totalCost"],
            "usage": usage,
            "aggregateUsage": together,
        }
    return metadata | facts.more


def _usage(messages: Iterable[Block]) -> dict[str, Any]:
    requests = [message["metrics"] for message in messages if "metrics" in message]
    usage: dict[str, Any] = {key: sum(request[key] for request in requests) for key in _COUNTS}
    return usage | {"totalCost": plain(sum(request.get("cost", 0) for request in requests))}


def _place(session: Session, kind: str) -> str:
    """Where Cline itself would have kept the file; the samples may be anywhere."""
    if session.project.separator == "\\":
        return f"C:\\Users\\dev\\.cline\\data\\sessions\\{session.id}\\{session.id}.{kind}.json"
    return f"/home/dev/.cline/data/sessions/{session.id}/{session.id}.{kind}.json"
