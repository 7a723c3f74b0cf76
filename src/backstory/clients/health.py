"""Whether an agent's way to the memory server holds, in words for the doctor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from ..errors import ClientError
from . import selftest
from .elsewhere import elsewhere, has_ours, how_to_leave, rule_at
from .entry import HOME, NAME, env_of, more_args, started
from .registration import Found, Here, absolute, installed, look
from .selftest import Answer
from .table import Client

ANSWER_LIMIT = 5.0
Level = Literal["ok", "note", "look", "broken"]


class Remark(NamedTuple):
    """One thing to say; `advice` is the next step."""

    level: Level
    text: str
    details: tuple[str, ...] = ()
    advice: str | None = None


def remarks(client: Client, here: Here) -> list[Remark]:
    """Everything about one client; empty where it is not installed and nothing of us is there."""
    try:
        found = look(client, here)
    except ClientError as error:
        return [Remark("broken", f"{client.title}: {error}")]
    about = [*_entry(client, found, here), *_siblings(client, found, here)]
    other = [*_elsewhere(client, here), *_leftovers(client, here)]
    there = bool(installed(client, here)) or found.owner != "nobody" or found.rule_state != "absent"
    return [*(about if there else []), *other]


def answer(client: Client, found: Found, here: Here, limit: float = selftest.LIMIT) -> Answer:
    """Start the entry that is in place as the client will."""
    command = started(found.entry)
    if command is None:
        return Answer(problem="there is no entry")
    cwd = found.entry.get("cwd") if isinstance(found.entry, dict) else None
    env = {**here.env, **env_of(found.entry)}
    # Arguments that a person added may be such that it starts, and no call of a tool goes well.
    call = "recent" if more_args(command) else None
    return selftest.ask(command.words, env, cwd=cwd if isinstance(cwd, str) else None, limit=limit, call=call)


def _entry(client: Client, found: Found, here: Here) -> Iterator[Remark]:
    title, where, again = client.title, here.short(found.path), f"backstory setup {client.name}"
    if found.unreadable:
        yield Remark(
            "broken", f"{title}: {where} {found.unreadable}", advice=f"{title} loads no server then; mend it"
        )
    elif found.owner == "nobody":
        yield Remark("note", f"{title}: not connected", advice=f"{again} does it")
    elif found.owner == "foreign":
        yield Remark(
            "look", f'{title}: the entry "{NAME}" in {where} is another program\'s', advice="rename it"
        )
    elif found.owner == "other":
        yield Remark("note", f"{title}: connected to another Backstory: {started(found.entry)}")
    elif found.owner == "dead":
        text = f"{title}: the program of its entry is not there any more: {started(found.entry)}"
        yield Remark("broken", text, advice=f"{again} writes the present one")
    elif why := client.problem(found.entry):
        yield Remark(
            "broken", f'{title}: the entry "{NAME}" in {where} {why}', advice=f"mend it, then {again}"
        )
    else:
        yield from _ours(client, found, here)
    if found.rule_state == "edited" and found.owner in ("ours", "dead"):
        yield Remark("note", f"{title}: {here.short(found.rule_path)} was edited, and stays as it is")


def _ours(client: Client, found: Found, here: Here) -> Iterator[Remark]:
    title, again = client.title, f"backstory setup {client.name}"
    entry = found.entry if isinstance(found.entry, dict) else {}
    if "transport" in entry:
        text = f'{title}: a "transport" in the entry goes before its command'
        yield Remark("look", text, advice=f"{again} removes it")
    if found.rule_state in ("absent", "older"):
        what = "missing" if found.rule_state == "absent" else "of an earlier version"
        yield Remark("look", f"{title}: the rule {here.short(found.rule_path)} is {what}", advice=again)
    archive = env_of(entry).get(HOME)
    if archive != here.archive:
        told = archive or "the default archive"
        yield Remark(
            "look", f"{title}: its server reads {told}, and this is {here.short(here.home)}", advice=again
        )
    if entry.get("disabled") is True:
        yield Remark("note", f"{title}: the entry is switched off in {title}, so it starts no server")
        return
    got = answer(client, found, here, ANSWER_LIMIT)
    if got.problem is not None:
        yield Remark(
            "broken", f"{title}: the server did not answer: {got.problem}", advice=f"try it: {started(entry)}"
        )
        return
    whole = found.rule_state in ("current", "edited")
    what = "entry and rule are in place" if whole else "the entry is in place"
    yield Remark("ok", f"{title}: {what}; answered in {got.seconds or 0:.2f} s")


def _siblings(client: Client, found: Found, here: Here) -> Iterator[Remark]:
    for name, why in found.broken:
        level: Level = "broken" if found.owner in ("ours", "dead") else "look"
        text = f'{client.title}: the entry "{name}" {why}, so no server is loaded at all'
        yield Remark(level, text, (here.short(found.path),), "mend or remove that entry")


def _elsewhere(client: Client, here: Here) -> Iterator[Remark]:
    for other in elsewhere(client, here):
        details = (here.short(other.rule),) if other.rule is not None else ()
        text = f"{client.title}: also connected in {here.short(other.settings)}, which the environment does not name"
        yield Remark("note", text, details, how_to_leave(client, other))


def _leftovers(client: Client, here: Here) -> Iterator[Remark]:
    """What earlier ways of registering left behind."""
    old = [absolute(place) for place in client.old_settings(here.env, here.platform)]
    left = [path for path in old if has_ours(path, here)]
    for place in client.old_rules(here.env, here.platform):
        if rule_at(absolute(place), here) in ("current", "older"):
            left.append(absolute(place))
    if left:
        where = tuple(here.short(path) for path in left)
        text = f"{client.title}: left over, and not read any more"
        yield Remark("note", text, where, f"backstory disconnect {client.name} removes it")
