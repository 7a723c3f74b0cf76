"""Connecting and disconnecting a client: the change as it is shown, and made only as it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ..cli.connecting import answered, diff, outline
from ..cli.setup import AFTER, sees, tested, troubles, written
from ..cli.text import UNICODE
from ..clients import disconnect, setup
from ..clients.elsewhere import elsewhere, how_to_leave
from ..clients.health import answer
from ..clients.registration import Here, absolute, look
from ..clients.setup import Change, digest_of
from ..clients.table import Client, client
from ..clients.wsl import records, register
from ..clients.wsl.records import Registration
from ..clients.wsl.register import Host, Steps
from ..errors import ClientError, InputError
from ..redact import mask
from . import looking
from .figures import line

Verb = Literal["connect", "disconnect"]


class Target(NamedTuple):
    """What is to be done with which client; `distribution` is null for this machine."""

    verb: Verb
    client: Client
    distribution: str | None


class File(NamedTuple):
    """One file of a change: the verb, its path, and its lines with `+`, `-` or a blank before them."""

    verb: str
    path: str
    lines: list[tuple[str, str]]


class Shown(NamedTuple):
    """A change as a person sees it; `digest` stands for exactly these bytes. No files: there is nothing to do."""

    title: str
    verb: Verb
    files: list[File]
    notes: list[str]
    nothing: str
    digest: str


def target(key: str) -> Target:
    """What a key such as `connect:cline` or `disconnect:cline@Ubuntu` means. Raises `InputError`."""
    verb, _, rest = key.partition(":")
    name, at, distribution = rest.partition("@")
    if verb not in ("connect", "disconnect"):
        raise InputError("that is nothing that can be changed here.")
    return Target(
        "connect" if verb == "connect" else "disconnect", client(name), distribution if at else None
    )


def path_of(text: str) -> Path:
    """The place that a path of an agent's means."""
    return absolute(text)


def is_wanted(one: Client, where: Here) -> bool:
    """Whether connecting would change anything, or is refused with words worth reading."""
    try:
        return bool(setup.plan(one, where).changes)
    except ClientError:
        return True


def shown(where: Here, what: Target) -> Shown:
    """The change that would be made now. Raises `ClientError` where none may be."""
    if what.distribution is not None:
        return _shown_inside(where, what, what.distribution)
    if what.verb == "connect":
        plan = setup.plan(what.client, where)
        notes = [*troubles(plan, where)]
        if plan.found.rule_state == "edited":
            notes.append(f"{where.short(plan.found.rule_path)} stays: it was edited, and is yours")
        files = [_file(one, where.short(one.path), one is plan.settings) for one in plan.changes]
        return _made(what, files, notes, "Already set up; nothing to change.", plan.changes)
    gone = disconnect.plan(what.client, where)
    notes = [f"{where.short(kept.path)} stays: {kept.why}" for kept in gone.kept]
    notes += [
        f"also connected in {where.short(other.settings)}: {how_to_leave(what.client, other)}"
        for other in elsewhere(what.client, where)
    ]
    rules = disconnect.rule_paths(what.client, gone.found, where)
    files = [_file(one, where.short(one.path), one.path not in rules) for one in gone.changes]
    nothing = f"{what.client.title} is not connected; there is nothing to take back."
    return _made(what, files, notes, nothing, gone.changes)


def carry_out(where: Here, what: Target, digest: str) -> tuple[list[str], str]:
    """Make the change that the digest stands for; returns the words about it and their role.

    Raises `ClientError` with nothing changed, also where the change would be another by now.
    """
    if what.distribution is not None:
        return _carry_out_inside(where, what, what.distribution, digest)
    title = what.client.title
    if what.verb == "disconnect":
        gone = disconnect.disconnect(what.client, where, shown=digest)
        stays = [f"{where.short(kept.path)} stays: {kept.why}" for kept in gone.kept]
        done = f"{title} is disconnected. It starts without Backstory from its next session on."
        return [
            done if gone.changes else f"{title} is not connected; there is nothing to take back.",
            *stays,
        ], ""
    plan = setup.setup(what.client, where, shown=digest)
    got = answer(what.client, look(what.client, where), where)
    words = [f"{title} is connected: {written(plan)}."] if plan.changes else []
    words += [f"{tested(title, got)}.", *troubles(plan, where)]
    words.append(AFTER.format(sees=sees(plan), name=what.client.name))
    return words, "fail" if got.problem is not None else ""


def _made(
    what: Target, files: list[File], notes: list[str], nothing: str, changes: Sequence[Change]
) -> Shown:
    return Shown(
        title=what.client.title + (f" in {line(what.distribution)}" if what.distribution else ""),
        verb=what.verb,
        files=files,
        notes=[line(mask(note)) for note in notes],
        nothing="" if changes else nothing,
        digest=digest_of(changes),
    )


def _file(change: Change, path: str, is_settings: bool) -> File:
    """Of settings the servers in outline, ours whole: the entries of others may hold keys."""
    before, after = (outline(text) if is_settings else _lines(text) for text in (change.before, change.after))
    verb = "Removes" if change.after is None else "Makes" if change.before is None else "Changes"
    found = [(mark, line_of(text)) for mark, text in diff(before, after)]
    return File(verb, line(path), found)


def line_of(text: str) -> str:
    """A line of a file as it is written, masked, and with nothing in it that acts."""
    return UNICODE.safe(mask(text))


def _lines(text: bytes | None) -> list[str]:
    return text.decode("utf-8", "replace").splitlines() if text is not None else []


# The same inside a distribution of WSL.


def _host(where: Here) -> Host:
    found = looking.host(where)
    if found is None:
        raise ClientError("there is no wsl.exe here: this is for Windows with WSL")
    return found


def _registrations(where: Here, host: Host, what: Target, distribution: str) -> list[Registration]:
    mine = records.of(records.registered(where.home), distribution, what.client.name)
    if mine:
        return mine
    probed = register.probe(host, what.client, register.choose(host.wsl, distribution))
    return [probed] if probed is not None else []


def _is_lost(host: Host, mine: Sequence[Registration]) -> bool:
    return bool(mine) and not any(mine[0].context.is_named(one) for one in host.wsl.distributions())


def _shown_inside(where: Here, what: Target, distribution: str) -> Shown:
    host = _host(where)
    if what.verb == "connect":
        steps = [register.plan_setup(host, what.client, register.choose(host.wsl, distribution))]
        nothing = "Already set up; nothing to change."
    else:
        mine = _registrations(where, host, what, distribution)
        if _is_lost(host, mine):
            words = f"{distribution} is not there any more; its registration is forgotten."
            return _made(what, [], [words], "", [])._replace(nothing="")
        steps = [register.plan_removal(host, what.client, one) for one in mine]
        nothing = f"{distribution} is not registered; there is nothing to take back."
    changes = [change for one in steps for change in one.changes]
    files = [
        _file(change, change.path.as_posix(), change.path.as_posix() == one.layout.settings)
        for one in steps
        for change in one.changes
    ]
    return _made(what, files, _notes(steps), nothing, changes)


def _notes(steps: Sequence[Steps]) -> list[str]:
    kept = [f"{one.kept} stays: it was edited, and is yours" for one in steps if one.kept is not None]
    broken = [
        f'the entry "{entry}" {why}, so {one.client.title} loads no server at all. Mend or remove it.'
        for one in steps
        for entry, why in one.broken
    ]
    return [*kept, *broken]


def _carry_out_inside(where: Here, what: Target, distribution: str, digest: str) -> tuple[list[str], str]:
    host = _host(where)
    title = what.client.title
    if what.verb == "connect":
        chosen = register.choose(host.wsl, distribution)
        steps = register.setup(host, what.client, chosen, shown=digest)
        got = register.answer(host, steps)
        said = answered(got) if got.problem is None else f"it did not answer: {got.problem}"
        words = [f"{title} in {chosen} is connected.", f"started it in {chosen}: {said}.", *_notes([steps])]
        return words, "fail" if got.problem is not None else ""
    mine = _registrations(where, host, what, distribution)
    if _is_lost(host, mine):
        for one in mine:
            records.drop(host.home, one)
        return [f"{distribution} is not there any more; its registration is forgotten."], ""
    planned = [register.plan_removal(host, what.client, one) for one in mine]
    setup.agree([change for one in planned for change in one.changes], digest)
    for one, steps in zip(mine, planned, strict=True):
        register.remove(host, what.client, one, shown=digest_of(steps.changes))
    return [f"{title} in {distribution} is disconnected."], ""
