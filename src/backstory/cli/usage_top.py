"""`backstory usage top`: the costliest sessions, prompts and calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ledger.report import Figures
from ..ledger.top import Asked, Costly, Prompt, Top, short_ids, top
from ..ledger.why import Why
from ..schema.document import iso
from ..story.tools import KINDS
from .line import Line, View, beside, spans, width
from .money import money
from .options import App
from .rows import command_line
from .text import wrap
from .usage import Selection, nothing_matches
from .usage_export import figures_json
from .usage_words import cached, cost, dollars, estimate
from .words import counted, tokens

DEFAULT_LIMIT = 5
PROJECT_CELLS = 20
LEAST_WHY = 30


def show_top(app: App, chosen: Selection, options: Mapping[str, Any]) -> None:
    """Print the costliest of each."""
    with app.archive(options) as archive:
        found = top(archive.connection, chosen.which, options["limit"] or DEFAULT_LIMIT)
        shorts = short_ids(archive.connection)
    if options["json_"]:
        app.json(top_json(found))
    elif not found.sessions:
        app.term.write([spans(nothing_matches(chosen))])
    else:
        if chosen.heading:
            app.term.write([spans((chosen.heading, "title")), ()])
        app.term.write(draw_top(app.term.view, found, shorts))


def draw_top(view: View, found: Top, shorts: Mapping[str, str]) -> Iterator[Line]:
    """Three lists, the costliest first in each."""
    yield spans(("Costliest sessions", "title"))
    names = [view.glyphs.one_line(row.keys["project"] or "") for row in found.sessions]
    longest = min(max(map(len, names), default=0), PROJECT_CELLS)
    edges = _edges([row.figures for row in found.sessions])
    for row, name, edge in zip(found.sessions, names, edges, strict=True):
        title = view.glyphs.one_line(row.keys["title"] or "") or "(no prompt)"
        left = spans(
            "  ",
            (_short(shorts, row.keys["session"]), "label"),
            f"  {name[:longest].ljust(longest)}  {title}",
        )
        yield beside(view, left, edge)
    if found.prompts:
        yield ()
        yield spans(("Costliest prompts", "title"))
    for prompt, edge in zip(found.prompts, _edges([prompt.figures for prompt in found.prompts]), strict=True):
        left = (
            *_place(shorts, prompt.place.session_id, prompt.number),
            (view.glyphs.one_line(prompt.text), ""),
        )
        yield beside(view, left, edge)
        words = why_words(prompt.why, shorts)
        if words:
            indent = " " * (width(left) - width(left[-1:]))
            for line in wrap(
                view.glyphs.one_line("; ".join(words)), max(view.width - len(indent), LEAST_WHY)
            ):
                yield spans(indent, (line, "label"))
    if found.calls:
        yield ()
        yield spans(("Costliest calls", "title"))
    for call in found.calls:
        left = (*_place(shorts, call.place.session_id, call.number), *_after(view, call.after))
        yield beside(view, left, _call_edge(call))


def why_words(why: Why, shorts: Mapping[str, str]) -> list[str]:
    """What makes a prompt stand out, the most telling first; `shorts` has the short ids of sessions."""
    found = []
    if why.failed_tests:
        words = f"{counted(why.failed_tests, 'failed test run')} on the way"
        if why.before_pass is not None:
            words += f", {100 * why.before_pass:.0f}% of the prompt's cost lies before the first pass"
        found.append(words if why.passed else f"{words}, none passed after")
    elif why.failed_commands:
        found.append(f"{counted(why.failed_commands, 'failed command')} on the way")
    if why.interrupted:
        found.append("interrupted")
    if why.fork is not None:
        found.append(f"the fork {_short(shorts, why.fork)} went on from here")
    return found


def top_json(found: Top) -> dict[str, Any]:
    """The three lists; `turn` is the prompt's number in its session."""
    return {
        "sessions": [{**row.keys, **figures_json(row.figures)} for row in found.sessions],
        "prompts": [_prompt_json(prompt) for prompt in found.prompts],
        "calls": [_call_json(call) for call in found.calls],
    }


def _short(shorts: Mapping[str, str], session_id: str | None) -> str:
    return shorts.get(session_id or "", session_id or "")


def _place(shorts: Mapping[str, str], session_id: str, number: int | None) -> Line:
    """`t5d2k 2`: a session and the prompt's number in it."""
    return spans("  ", (f"{_short(shorts, session_id)} {number or ''}".rstrip(), "label"), "  ")


def _edges(found: Sequence[Figures]) -> list[Line]:
    """Calls and cost of each, in columns."""
    calls = [counted(figures.calls, "call") for figures in found]
    amounts = [cost(figures) for figures in found]
    longest = max(map(len, calls), default=0)
    widest = max(map(width, amounts), default=0)
    return [
        (*spans(f"{count.rjust(longest)}{' ' * (widest - width(amount) + 3)}"), *amount)
        for count, amount in zip(calls, amounts, strict=True)
    ]


def _after(view: View, asked: tuple[Asked, ...]) -> Line:
    """`after  run  git log, and 2 more`: what the model was sent last."""
    if not asked:
        return spans(("at the beginning", "label"))
    first = asked[0]
    if first.type == "message":
        return spans(("after  ", "label"), view.glyphs.one_line(first.subject))
    word = KINDS.get(first.kind or "", "tool") if first.type == "other" else first.type
    word = "run" if word == "command" else word
    subject = command_line(view, first.subject) if word == "run" else view.glyphs.one_line(first.subject)
    if word == "tool":
        subject = f"{view.glyphs.one_line(first.kind or '')} {subject}"
    more = f" and {len(asked) - 1:,} more" if len(asked) > 1 else ""
    return spans((f"after  {word}  ", "label"), f"{subject}{more}")


def _call_edge(call: Costly) -> Line:
    one = Figures(calls=1, fresh=call.fresh, cache_read=call.cache_read, cache_write=call.cache_write)
    words = f"{tokens(one.input)} in"
    if one.input:
        words += f", {cached(one)} cached"
    if call.kind == "reported":
        amount = spans(money(call.amount or 0))
    elif call.kind == "estimated":
        amount = spans((estimate(call.amount or 0), "estimated"))
    else:
        amount = spans(("covered", "covered") if call.kind == "covered" else ("no price", "rejected"))
    return (*spans(f"{words}{' ' * max(11 - width(amount), 2)}"), *amount)


def _prompt_json(prompt: Prompt) -> dict[str, Any]:
    return {
        "session": prompt.place.session_id,
        "project": prompt.place.project,
        "turn_id": prompt.turn,
        "turn": prompt.number,
        "text": prompt.text,
        "at": iso(prompt.at),
        **figures_json(prompt.figures),
        "why": {
            "failed_test_runs": prompt.why.failed_tests,
            "failed_commands": prompt.why.failed_commands,
            "passed_after": prompt.why.passed,
            "share_before_pass": None if prompt.why.before_pass is None else round(prompt.why.before_pass, 4),
            "interrupted": prompt.why.interrupted,
            "fork": prompt.why.fork,
        },
    }


def _call_json(call: Costly) -> dict[str, Any]:
    prompt = call.fresh + call.cache_read + call.cache_write
    return {
        "session": call.place.session_id,
        "actor_id": call.place.actor,
        "key": call.key,
        "turn": call.number,
        "at": iso(call.at),
        "name": call.name,
        "kind": call.kind,
        "amount_usd": None if call.amount is None else dollars(call.amount),
        "tokens": {
            "fresh": call.fresh,
            "cache_read": call.cache_read,
            "cache_write": call.cache_write,
            "input": prompt,
            "output": call.output,
            "total": prompt + call.output,
        },
        "after": [{"type": one.type, "kind": one.kind, "subject": one.subject} for one in call.after],
    }
