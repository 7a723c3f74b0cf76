"""The record as a JSON document: what `show --json` prints. Times are ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins

from .call import Call
from .record import Record
from .session import Session
from .step import Step


def iso(at: int | None) -> str | None:
    """Epoch milliseconds as ISO 8601 in UTC; null stays null, and so does what no calendar holds."""
    if at is None:
        return None
    try:
        moment = datetime.fromtimestamp(at / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _timed(value: Any, *keys: str) -> dict[str, Any]:
    """A struct as a dict whose named keys are ISO times."""
    built: dict[str, Any] = to_builtins(value)
    for key in keys:
        built[key] = iso(built.get(key))
    return built


def session_json(session: Session) -> dict[str, Any]:
    """A session with ISO times, as `--json` prints it; `docs/schema.md` documents each field."""
    built = _timed(session, "started_at", "ended_at", "updated_at")
    if built["copied_from"]:
        built["copied_from"]["at"] = iso(built["copied_from"]["at"])
    if built["imported"]:
        built["imported"]["at"] = iso(built["imported"]["at"])
    if built["compaction"]:
        built["compaction"]["updated_at"] = iso(built["compaction"]["updated_at"])
    for point in built["checkpoints"]:
        point["created_at"] = iso(point["created_at"])
    return built


def step_json(step: Step) -> dict[str, Any]:
    """A step with ISO times; `raw` is left out of a payload that needed none."""
    built = _timed(step, "at", "ended_at")
    if step.type != "other" and built["payload"].get("raw") is None:
        built["payload"].pop("raw", None)
    return built


def call_json(call: Call) -> dict[str, Any]:
    """A call with its tokens grouped, and its recorded cost in dollars."""
    built = _timed(call, "at")
    counts = {name: built.pop(name) for name in ("fresh", "cache_read", "cache_write", "output")}
    counts["input"] = counts["fresh"] + counts["cache_read"] + counts["cache_write"]
    counts["total"] = counts["input"] + counts["output"]
    nano = built.pop("nano")
    settled = built.pop("settled")
    if settled is not None:
        amount = settled.pop("amount")
        settled["amount_usd"] = None if amount is None else amount / 1e9
    return {
        **built,
        "tokens": counts,
        "reported_usd": None if nano is None else nano / 1e9,
        "settled": settled,
    }


def record_json(record: Record) -> dict[str, Any]:
    """The document of `show --json`."""
    turns = []
    for turn in record.turns:
        built = _timed(turn, "started_at")
        if built["checkpoint"]:
            built["checkpoint"]["created_at"] = iso(built["checkpoint"]["created_at"])
        turns.append(built)
    return {
        "session": session_json(record.session),
        "segments": [_timed(segment, "started_at", "ended_at") for segment in record.segments],
        "actors": [_timed(actor, "started_at") for actor in record.actors],
        "turns": turns,
        "steps": [step_json(step) for step in record.steps],
        "calls": [call_json(call) for call in record.calls],
    }
