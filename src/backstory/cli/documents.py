"""The documents of `--json`: what the archive answers with, times as ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from ..schema.document import iso, record_json, session_json
from ..schema.record import Record
from ..store.results import Fate, Finding, Found, Hit, Judgement, Listed
from .money import cost_json, tokens_json


def listed_json(listed: Listed) -> dict[str, Any]:
    """A session of a list: its own fields, without the raw manifest, and the derived words beside them."""
    built = session_json(listed.session)
    built.pop("manifest", None)
    last = None
    if listed.last_step is not None:
        last = {**to_builtins(listed.last_step), "at": iso(listed.last_step.at)}
    return {
        **built,
        "short_id": listed.short_id,
        "state": listed.state,
        "last_at": iso(listed.last_at),
        "length_ms": listed.length,
        "unseen": listed.unseen,
        "last_step": last,
        "error": listed.error,
        "judgement": judgement_json(listed.judgement),
        "cost": cost_json(listed.cost),
        "tokens": tokens_json(listed.cost),
    }


def judgement_json(judgement: Judgement | None) -> dict[str, Any] | None:
    """A person's word about a session or a turn; null where nothing was said."""
    return None if judgement is None else {**to_builtins(judgement), "at": iso(judgement.at)}


def shown_json(
    record: Record,
    listed: Listed,
    fates: dict[str, Fate],
    turn: int | None,
    judgements: Mapping[str | None, Judgement],
) -> dict[str, Any]:
    """One session with its steps, the derived words beside its own fields; of one prompt only, when asked."""
    built = record_json(record)
    words = listed_json(listed)
    built["session"].update({name: words[name] for name in words if name not in built["session"]})
    for one in built["turns"]:
        one["judgement"] = judgement_json(judgements.get(one["id"]))
    for step in built["steps"]:
        if step["id"] in fates:
            step["fate"] = _fate_json(fates[step["id"]])
    if turn is not None:
        turn_id = record.turns[turn - 1].id
        built["turns"] = [one for one in built["turns"] if one["id"] == turn_id]
        for name in ("steps", "calls"):
            built[name] = [one for one in built[name] if one["turn_id"] == turn_id]
    return built


def found_json(found: Found) -> dict[str, Any]:
    """The answer to a search."""
    return {
        "query": found.query,
        "total": found.total,
        "session_count": found.session_count,
        "searched": found.searched,
        "newest_only": found.newest_only,
        "widened": found.widened,
        "repaired": found.repaired,
        "sessions": [
            {
                "session": listed_json(group.listed),
                "hits": [_hit_json(hit) for hit in group.hits],
                "more": group.more,
            }
            for group in found.sessions
        ],
    }


def findings_json(findings: list[Finding]) -> dict[str, Any]:
    """The doctor's report."""
    return {
        "broken": sum(finding.level == "broken" for finding in findings),
        "look": sum(finding.level == "look" for finding in findings),
        "findings": [to_builtins(finding) for finding in findings],
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    step = hit.step
    return {
        "step_id": step.id,
        "type": step.type,
        "actor_id": step.actor_id,
        "turn_index": hit.turn_index,
        "at": iso(step.at),
        "outcome": step.outcome,
        "part": hit.part,
        "text": hit.text,
        "spans": [list(span) for span in hit.spans],
        "line": hit.line,
        "lines": hit.lines,
        "fate": _fate_json(hit.fate),
    }


def _fate_json(fate: Fate | None) -> dict[str, Any] | None:
    if fate is None:
        return None
    built: dict[str, Any] = to_builtins(fate)
    built["after_ms"] = built.pop("after")
    return built
