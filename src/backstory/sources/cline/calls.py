"""Model calls: the metrics of one assistant message as disjoint token counts (FORMAT.md section 4)."""

from __future__ import annotations

from typing import Any

from ...schema.call import CallRow
from ...schema.session import Session
from .state import State

MAX_TOKENS = 100_000_000
MAX_DOLLARS = 10_000.0
_NUMBERS = (int, float)
_COUNTS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def call(
    state: State,
    file: str,
    key: str,
    message_id: str,
    at: int | None,
    metrics: dict[str, Any],
    model: dict[str, Any] | None,
    *,
    net: bool = False,
) -> CallRow | None:
    """One call, or null where the message counted nothing. Implausible values are refused one by one.

    `net` says that the prompt was counted without its cached part.
    """
    counts = [_count(state, file, name, metrics.get(name)) for name in _COUNTS]
    total, output, read, write = counts
    nano = _nano(state, file, f"/messages/{state.msg}/metrics/cost", metrics.get("cost"))
    if not any(counts):
        return None
    flags = []
    fresh = total - read - write
    if net or fresh < 0:
        # The prompt is counted without its cached part, as Claude Code and OpenCode do and Cline's importer keeps.
        fresh = total
        flags.append("net_input")
    if state.importing:
        flags.append("imported")
    info = model or {}
    return CallRow(
        key=key,
        message_id=message_id,
        msg=state.msg,
        fresh=fresh,
        cache_read=read,
        cache_write=write,
        output=output,
        at=at,
        turn_id=state.turn.id if state.turn else None,
        route=_word(info.get("provider")),
        model=_word(info.get("id")),
        nano=nano,
        flags=tuple(flags),
    )


def _count(state: State, file: str, name: str, value: Any) -> int:
    if type(value) is int and 0 <= value <= MAX_TOKENS:
        return value
    if value is None:
        return 0
    plain = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if plain and 0 <= value <= MAX_TOKENS:
        return int(value)
    state.refuse(file, f"/messages/{state.msg}/metrics/{name}", str(value))
    return 0


def _nano(state: State, file: str, where: str, value: Any) -> int | None:
    if value is None:
        return None
    plain = isinstance(value, _NUMBERS) and not isinstance(value, bool)
    if plain and 0 <= value <= MAX_DOLLARS:
        nano: int = round(value * 1e9)
        return nano
    state.refuse(file, where, str(value))
    return None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def rollup(session_id: str, manifest: dict[str, Any] | None, session: Session) -> CallRow | None:
    """Cline's own sum of a session, from `metadata.usage` alone: the aggregates fold in other agents.

    A total of 0 there says nothing: Cline writes it for what it could not price, too.
    """
    metadata = (manifest or {}).get("metadata")
    usage = metadata.get("usage") if isinstance(metadata, dict) else None
    if not isinstance(usage, dict):
        return None
    state = State()
    total, output, read, write = (_count(state, "", name, usage.get(name)) for name in _COUNTS)
    if not (total or output or read or write):
        return None
    fresh = total - read - write
    nano = _nano(state, "", "", usage.get("totalCost"))
    return CallRow(
        key=f"cline-cli:{session_id}:usage",
        message_id="usage",
        msg=-1,
        fresh=fresh if fresh >= 0 else total,
        cache_read=read,
        cache_write=write,
        output=output,
        at=session.ended_at or session.updated_at or session.started_at,
        route=session.provider,
        model=session.model,
        nano=nano or None,
        flags=("rollup", "imported") if session.imported else ("rollup",),
    )
