"""The outline of a session: its prompts, and what the whole of it says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...cli.words import counted, tokens
from ...ledger.limits import context_window
from ...schema.step import ROOT, Step
from ...store.results import Cost
from .. import turns
from ..figures import line
from ..scene import Scene
from ..turns import TurnFacts
from .frame import is_long, turn_href

OUTLINE = 40
"""Prompts in the outline; of more, those around the page."""


class Prompt(NamedTuple):
    """A turn in the outline."""

    number: int
    href: str
    text: str
    facts: TurnFacts
    current: bool


class Outlined(NamedTuple):
    """The outline at the left: prompts, and what the whole session says of itself below."""

    total: int
    turns: list[Prompt]
    before: int
    before_href: str
    after: int
    after_href: str
    context: str
    hits: str
    fidelity: str
    fidelity_link: bool


def outlined(made: Scene, shown: Sequence[Step]) -> Outlined:
    """The prompts around the page."""
    own = made.record.turns
    here = {step.turn_id for step in shown}
    first = next((at for at, turn in enumerate(own) if turn.id in here), 0)
    most = OUTLINE // 2 if is_long(made) else OUTLINE
    low = max(min(first - 5, len(own) - most), 0)
    part = own[low : low + most]
    prompts = []
    for turn in part:
        text = turns.prompt_text(made, turn)
        prompts.append(
            Prompt(
                turn.index,
                turn_href(made, turn),
                line(text)[:110] or "(no text)",
                turns.facts(made, turn),
                False,
            )
        )
    after = len(own) - low - len(part)
    fidelity, link = fidelity_words(made)
    return Outlined(
        total=len(own),
        turns=prompts,
        before=low,
        before_href=turn_href(made, own[max(low - most + 5, 0)]) if low else "",
        after=after,
        after_href=turn_href(made, own[low + most]) if after else "",
        context=_context(made),
        hits=_hit_rate(made.entry.cost),
        fidelity=fidelity,
        fidelity_link=link,
    )


def _context(made: Scene) -> str:
    """What the root's last call sent and got: the context as it is now."""
    last = next((call for call in reversed(made.record.calls) if call.actor_id == ROOT), None)
    if last is None:
        return ""
    used = last.fresh + last.cache_read + last.cache_write + last.output
    models = made.entry.glance.models
    limit = context_window(models[0]) if models else None
    return tokens(used) + (f" of {tokens(limit).replace('.0', '')}" if limit else "")


def _hit_rate(cost: Cost) -> str:
    whole = cost.fresh + cost.cache_read + cost.cache_write
    return f"{100 * cost.cache_read / whole:.0f}%" if whole and cost.cache_read else ""


def fidelity_words(made: Scene) -> tuple[str, bool]:
    """How completely Cline's files could be read, and whether there is more to say on the facts' page."""
    fidelity = made.session.fidelity
    unknown = sum(fidelity.unknown.values())
    parts = []
    if unknown:
        parts.append(counted(unknown, "unknown block"))
    if fidelity.refused:
        parts.append(counted(len(fidelity.refused), "value") + " not used")
    if fidelity.salvaged:
        parts.append("a file that is cut")
    if parts:
        return ", ".join(parts), True
    if not fidelity.whole:
        return "Cline's files: not whole", True
    return "Cline's files: whole, nothing skipped", False
