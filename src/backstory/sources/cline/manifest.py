"""The manifest `<id>.json` and the compaction file as facts of a session (FORMAT.md sections 2 and 8)."""

from __future__ import annotations

from typing import Any

from ...schema.session import Agent, Checkpoint, Compaction, Fidelity, Imported, Refused, Session
from . import paths, prompt
from .results import count_images
from .times import epoch_ms

TITLE_LIMIT = 120


def session(
    session_id: str,
    manifest: dict[str, Any] | None,
    refused: tuple[Refused, ...] = (),
    *,
    data_dir: str | None = None,
) -> Session:
    """A session's facts. Without a manifest everything but the id is unknown, which is no error."""
    if manifest is None:
        return Session(id=session_id, agent=Agent("cline"), fidelity=Fidelity(notes=("no manifest",)))
    meta = _dict(manifest.get("metadata"))
    origin = _dict(meta.get("sessionHistoryOrigin"))
    cwd = _text(manifest.get("cwd"))
    root = _text(manifest.get("workspace_root"))
    chat = cwd is not None and paths.is_chat_workspace(cwd, data_dir)
    git = _dict(meta.get("git"))
    typed = prompt.read(_text(manifest.get("prompt")) or "", None)
    if typed.runtime is not None:
        typed = prompt.Typed("")
    return Session(
        id=session_id,
        agent=Agent("cline", _text(origin.get("version")), _int(manifest.get("version"))),
        surface=_text(manifest.get("source")),
        title=_title(_text(meta.get("title")), typed.text),
        prompt=typed.text or None,
        cwd=cwd,
        workspace_root=root,
        project=None if chat else paths.project_name(cwd),
        repo=paths.project_name(root) if git and root and not chat else None,
        branch=_branch(git),
        model=_text(manifest.get("model")),
        provider=_text(manifest.get("provider")),
        status=_text(manifest.get("status")),
        interactive=_bool(manifest.get("interactive")),
        exit_code=_int(manifest.get("exit_code")),
        terminal_marker=_text(meta.get("terminal_marker")),
        origin_mode=_text(origin.get("mode")),
        started_at=epoch_ms(manifest.get("started_at")),
        ended_at=epoch_ms(manifest.get("ended_at")),
        imported=_imported(meta, origin),
        checkpoints=_checkpoints(_dict(meta.get("checkpoint"))),
        fidelity=Fidelity(refused=refused),
        manifest=count_images(manifest),
    )


def prompt_mode(manifest: dict[str, Any] | None) -> str | None:
    """The mode in which the manifest's prompt was typed, where its wrapper says so."""
    raw = _text((manifest or {}).get("prompt"))
    return prompt.read(raw, None).mode if raw else None


def fork_of(manifest: dict[str, Any] | None) -> tuple[str, int | None] | None:
    """The session that a fork was made from, and when in ms; null where Cline recorded none."""
    fork = _dict(_dict((manifest or {}).get("metadata")).get("fork"))
    source = _text(fork.get("forkedFromSessionId"))
    return (source, epoch_ms(fork.get("forkedAt"))) if source else None


def compaction(value: dict[str, Any] | None) -> Compaction | None:
    """What the model still sees: the summary, and how many messages were kept beside it."""
    messages = (value or {}).get("messages")
    if value is None or not isinstance(messages, list):
        return None
    summary = None
    for message in messages:
        meta = _dict(_dict(message).get("metadata"))
        if str(meta.get("kind", "")).startswith("compaction"):
            summary = _text(meta.get("summary"))
            break
    kept = len(messages) - (1 if summary is not None else 0)
    return Compaction(
        _int(value.get("source_message_count")), kept, summary, epoch_ms(value.get("updated_at"))
    )


def _title(recorded: str | None, typed: str) -> str | None:
    shown = prompt.display(recorded) if recorded else ""
    first = next((line.strip() for line in typed.splitlines() if line.strip()), "")
    return shown or first[:TITLE_LIMIT] or None


def _branch(git: dict[str, Any]) -> str | None:
    branch = _text(git.get("branch"))
    # A detached worktree is recorded as `(no`, the first word of git's own notice.
    return None if branch is None or branch.startswith("(") else branch


def _imported(meta: dict[str, Any], origin: dict[str, Any]) -> Imported | None:
    record = _dict(meta.get("importedFrom"))
    if record:
        return Imported(
            _text(record.get("tool")),
            _text(record.get("sourceSessionId")),
            epoch_ms(record.get("importedAt")),
        )
    if origin.get("mode") == "import":
        return Imported(_text(origin.get("trigger")))
    return None


def _checkpoints(value: dict[str, Any]) -> tuple[Checkpoint, ...]:
    history = value.get("history")
    entries = history if isinstance(history, list) else [value.get("latest")]
    found = []
    for entry in entries:
        point = _dict(entry)
        ref = _text(point.get("ref"))
        if ref:
            found.append(
                Checkpoint(
                    ref,
                    _text(point.get("kind")),
                    _int(point.get("runCount")),
                    epoch_ms(point.get("createdAt")),
                )
            )
    return tuple(found)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53 else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
