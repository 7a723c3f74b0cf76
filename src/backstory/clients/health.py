"""Whether an agent's way to the memory server holds, in words for the doctor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import ClientError
from . import receipt, selftest, settings
from .entry import HOME, NAME, env_of, every_owner, started
from .registration import Found, Here, absolute, installed, look, read, rule_state
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


class Elsewhere(NamedTuple):
    """A registration that the present environment does not name; `rule` is null where none of ours lies there."""

    settings: Path
    rule: Path | None


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


def elsewhere(client: Client, here: Here) -> Iterator[Elsewhere]:
    """Registrations under other values of the environment: at the default places, and those with a receipt."""
    own = absolute(client.settings(here.env, here.platform).path)
    plain = {name: text for name, text in here.env.items() if name not in client.variables}
    default = [
        (
            absolute(client.settings(plain, here.platform).path),
            absolute(client.rule(plain, here.platform).path),
        )
    ]
    # Each variable by itself may have been set when setup ran.
    for variable in client.variables:
        if variable in here.env:
            env = {**plain, variable: here.env[variable]}
            places = (client.settings(env, here.platform), client.rule(env, here.platform))
            default.append((absolute(places[0].path), absolute(places[1].path)))
    kept = [(Path(one.settings), Path(one.rule)) for one in receipt.every(here.home, client.name)]
    seen = {own}
    for path, rule_path in (*default, *kept):
        if path in seen:
            continue
        seen.add(path)
        if _has_ours(path, here):
            generated = _rule_at(rule_path, here) in ("current", "older")
            yield Elsewhere(path, rule_path if generated else None)


def answer(client: Client, found: Found, here: Here, limit: float = selftest.LIMIT) -> Answer:
    """Start the entry that is in place as the client will."""
    command = started(found.entry)
    if command is None:
        return Answer(problem="there is no entry")
    cwd = found.entry.get("cwd") if isinstance(found.entry, dict) else None
    env = {**here.env, **env_of(found.entry)}
    return selftest.ask(command.words, env, cwd=cwd if isinstance(cwd, str) else None, limit=limit)


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


def how_to_leave(client: Client, other: Elsewhere) -> str:
    """The call that takes a registration of another environment back."""
    named = f"CLINE_MCP_SETTINGS_PATH={other.settings}"
    folder = f" CLINE_DIR={other.rule.parent.parent}" if other.rule is not None else ""
    return f"{named}{folder} backstory disconnect {client.name}"


def _leftovers(client: Client, here: Here) -> Iterator[Remark]:
    """What earlier ways of registering left behind."""
    old = [absolute(place) for place in client.old_settings(here.env, here.platform)]
    left = [path for path in old if _has_ours(path, here)]
    for place in client.old_rules(here.env, here.platform):
        if _rule_at(absolute(place), here) in ("current", "older"):
            left.append(absolute(place))
    if left:
        where = tuple(here.short(path) for path in left)
        text = f"{client.title}: left over, and not read any more"
        yield Remark("note", text, where, f"backstory disconnect {client.name} removes it")


def _has_ours(path: Path, here: Here) -> bool:
    try:
        text = read(path, here)
        path_value = here.env.get("PATH")
        return text is not None and every_owner(text, here.program, here.lives, path_value) in (
            "ours",
            "dead",
        )
    except (ClientError, settings.Unreadable):
        return False


def _rule_at(path: Path, here: Here) -> str:
    try:
        return rule_state(read(path, here))
    except ClientError:
        return "absent"
