"""The documents of `--json` about the memory: what was learned, recalled, listed and forgotten."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from ..memory.learn import Learned, Outcome
from ..memory.mended import Mended
from ..memory.recall import Passage, Recall
from ..redact import mask
from ..schema.document import iso
from .money import cost_json


def learned_json(report: Learned) -> dict[str, Any]:
    """What a run of `learn` did, session by session."""
    return {
        "workspace": report.workspace,
        "dry_run": not report.written,
        "learned": [_kept_json(one) for one in report.learned],
        "known": [_kept_json(one) for one in report.known],
        "refused": [
            {"source": one.source, "session_id": one.session_id, "reason": one.reason, "why": one.why}
            for one in report.refused
        ],
        "masked": report.masked,
    }


def _kept_json(one: Outcome) -> dict[str, Any]:
    return {
        "source": one.source,
        "session_id": one.session_id,
        "project": one.project,
        "title": one.title,
        "exchanges": one.exchanges,
        "why": one.why,
    }


def recalled_json(found: Recall) -> dict[str, Any]:
    """The answer to a query, best first."""
    return {
        "query": mask(found.query),
        "workspace": found.workspace,
        "conversations": found.conversations,
        "facts": found.facts,
        "words": list(found.words),
        "repaired": found.repaired,
        "results": [{**passage_json(one), "score": one.score} for one in found.results],
    }


def passage_json(one: Passage) -> dict[str, Any]:
    """A passage of the memory; costs are null for a fact."""
    return {
        "kind": one.kind,
        "id": one.id,
        "source": one.source,
        "session_id": one.session_id,
        "short_id": one.short_id,
        "position": one.position,
        "step_id": one.step_id,
        "project": one.project,
        "title": one.title,
        "at": iso(one.at),
        "asked": one.asked,
        "answered": one.answered,
        "paths": list(one.paths),
        "cost": cost_json(one.cost) if one.cost is not None else None,
        "session_cost": cost_json(one.session_cost) if one.session_cost is not None else None,
        "failure": _failure_json(one.failure) if one.failure is not None else None,
        "gone": one.gone,
    }


def _failure_json(one: Mended) -> dict[str, Any]:
    built: dict[str, Any] = to_builtins(one)
    return {**built, "at": iso(one.at), "after_ms": built.pop("after")}
