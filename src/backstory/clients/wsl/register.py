"""Registers a client inside a distribution, and takes that back: launcher, entry and rule, by one layout."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import ClientError, InputError
from .. import rule, selftest, settings
from ..entry import NAME, TIMEOUT, commands
from ..selftest import Answer
from ..setup import Change, agree
from ..table import Client, clients
from . import launcher, records, scripts
from .exe import Wsl
from .paths import DRIVES
from .records import Registration


class Host(NamedTuple):
    """This computer: its `wsl.exe`, Backstory's folder, the interpreter that launchers start, and the archive's
    folder where it is not the default one."""

    wsl: Wsl
    home: Path
    interpreter: str
    archive: str | None = None


class Layout(NamedTuple):
    """Where everything of a client lies in a distribution."""

    launcher: str
    settings: str
    rule: str


class Inside(NamedTuple):
    """What stands in a distribution now; a null file is none."""

    registration: Registration
    layout: Layout
    launcher: bytes | None
    settings: bytes | None
    rule: bytes | None


class Steps(NamedTuple):
    """What is changed in a distribution, in this order; `kept` is a rule that was edited."""

    client: Client
    registration: Registration
    layout: Layout
    changes: tuple[Change, ...]
    kept: str | None
    broken: tuple[tuple[str, str], ...] = ()


def target(name: str | None) -> Client:
    """The client that is meant. Raises `InputError` before anything is looked at."""
    known = clients()
    if name not in known:
        wrong = f', not "{name}"' if name is not None else ": write --target"
        hint = "" if name is not None else f" {next(iter(known))}"
        raise InputError(f"target must be {' or '.join(known)}{wrong}{hint}.")
    return known[name]


def choose(wsl: Wsl, name: str | None) -> str:
    """The distribution of that name, whatever its case; without a name the default one. Raises `ClientError`."""
    found = wsl.distributions()
    if not found:
        raise ClientError("WSL has no distribution yet. Install one: wsl --install")
    if name is None:
        return found[0]
    for one in found:
        if one.casefold() == name.casefold():
            return one
    raise ClientError(f'there is no distribution "{name}". There is {", ".join(found)}.')


def probe(host: Host, client: Client, distribution: str) -> Registration | None:
    """Where the client keeps its files in there; null where it does not exist. Raises `ClientError`."""
    script = scripts.probe(client.name, client.inside.variable, client.inside.folder)
    done = host.wsl.script(distribution, script)
    pairs = (part.partition("=") for part in done.out.decode("utf-8", "surrogateescape").split("\0"))
    said = {name: text for name, _, text in pairs}
    if done.code != 0 or "home" not in said:
        raise ClientError(f"{distribution} did not say where its home is (exit {done.code})")
    own = said.get(f"{client.name}_home")
    if own is None:
        return None
    drive = said.get("drive", "").strip().rstrip("/")
    drives = drive[:-1] if drive.endswith("/c") else DRIVES
    return Registration(distribution, client.name, own.rstrip("/") or "/", said["home"], drives)


def layout(client: Client, client_home: str) -> Layout:
    """The one description of what is written, read and removed."""
    inside = client.inside
    return Layout(*(f"{client_home}/{part}" for part in (inside.launcher, inside.settings, inside.rule)))


def look(host: Host, client: Client, registration: Registration) -> Inside:
    """Read the three files. Raises `ClientError` for one that cannot be read."""
    where = layout(client, registration.client_home)
    done = host.wsl.script(registration.distribution, scripts.READ, *where)
    return Inside(registration, where, *_files(done.out, where, registration.distribution))


def _files(out: bytes, paths: Sequence[str], distribution: str) -> list[bytes | None]:
    found: list[bytes | None] = []
    for path in paths:
        head, _, out = out.partition(b"\n")
        if head == b"absent":
            found.append(None)
            continue
        word, _, size = head.partition(b" ")
        if word != b"file" or not size.isdigit() or int(size) > len(out):
            raise ClientError(f"{distribution}: {path} cannot be read. Nothing was changed.")
        found.append(out[: int(size)])
        out = out[int(size) :]
    return found


def plan_setup(host: Host, client: Client, distribution: str) -> Steps:
    """What a registration changes. Raises `ClientError` where it may not, with nothing changed."""
    registration = probe(host, client, distribution)
    if registration is None:
        text = (
            f"{client.title} is not installed in {distribution}: there is no ~/{client.inside.folder} in it."
        )
        raise ClientError(f"{text} Nothing was written.")
    found = look(host, client, registration)
    where = found.layout
    _refuse(found, distribution, client)
    if found.launcher is not None and not launcher.is_ours(found.launcher):
        raise ClientError(f"{distribution}: {where.launcher} is another program's. Nothing was changed.")
    spec = settings.Spec({"command": where.launcher, "transport": None}, {"timeout": TIMEOUT})
    new = settings.put(found.settings, NAME, spec)
    entries = settings.entries(new)
    if why := client.problem(entries[NAME]):
        raise ClientError(
            f'{distribution}: the entry "{NAME}" in {where.settings} {why}. Nothing was changed.'
        )
    edited = found.rule is not None and not rule.is_generated(found.rule)
    script = launcher.text(host.interpreter, host.archive).encode()
    wanted = [
        Change(Path(where.launcher), found.launcher, script),
        Change(Path(where.rule), found.rule, found.rule if edited else rule.text().encode()),
        Change(Path(where.settings), found.settings, new),
    ]
    broken = tuple((name, why) for name, one in entries.items() if (why := client.problem(one)))
    changes = tuple(change for change in wanted if change.before != change.after)
    return Steps(client, registration, where, changes, where.rule if edited else None, broken)


def plan_removal(host: Host, client: Client, registration: Registration) -> Steps:
    """What a removal changes. Raises `ClientError` where the entry does not start our launcher any more."""
    found = look(host, client, registration)
    where = found.layout
    _refuse(found, registration.distribution, client)
    changes: list[Change] = []
    if found.settings is not None and NAME in settings.entries(found.settings):
        left = settings.take_out(found.settings, NAME)
        changes.append(Change(Path(where.settings), found.settings, left))
    edited = found.rule is not None and not rule.is_generated(found.rule)
    if found.rule is not None and not edited:
        changes.append(Change(Path(where.rule), found.rule, None))
    if found.launcher is not None and launcher.is_ours(found.launcher):
        changes.append(Change(Path(where.launcher), found.launcher, None))
    return Steps(client, registration, where, tuple(changes), where.rule if edited else None)


def _refuse(found: Inside, distribution: str, client: Client) -> None:
    """Raise `ClientError` for settings that cannot be read, and for an entry that starts anything else."""
    if found.settings is None:
        return
    where = f"{distribution}: {found.layout.settings}"
    try:
        entries = settings.every(found.settings, NAME)
    except settings.Unreadable as error:
        text = f"{where} {error}, so {client.title} cannot read it either. Nothing was changed."
        raise ClientError(f"{text} Mend it, or move it away, then run this again.") from error
    for entry in entries:
        named = [command.command for command in commands(entry) if command is not None]
        if not named or any(one != found.layout.launcher for one in named):
            text = f'{where} has an entry "{NAME}" that starts something else. Nothing was changed.'
            raise ClientError(f"{text} Rename that entry, or remove it, then run this again.")


def carry_out(host: Host, steps: Steps) -> None:
    """Make the changes, each by a script inside. Raises `ClientError` that names the file."""
    for change in steps.changes:
        _carry_out(host, steps, change)


def _carry_out(host: Host, steps: Steps, change: Change) -> None:
    path = change.path.as_posix()
    before = _sum(change.before)
    if change.after is None:
        done = host.wsl.script(steps.registration.distribution, scripts.DELETE, path, before)
    else:
        mode = "755" if path == steps.layout.launcher else "keep"
        lock = "lock" if path == steps.layout.settings else "free"
        args = (path, mode, before, _sum(change.after), lock)
        done = host.wsl.script(steps.registration.distribution, scripts.WRITE, *args, data=change.after)
    if done.code != 0:
        said = done.err.decode("utf-8", "replace").strip().splitlines()
        why = {
            scripts.CHANGED: "it was changed meanwhile; run this again",
            scripts.LOCKED: f"another program has its lock ({path}.lock); run this again",
            scripts.TORN: "not all of it arrived; run this again",
        }.get(done.code, said[-1] if said else f"exit {done.code}")
        raise ClientError(f"{steps.registration.distribution}: {path} could not be written: {why}.")


def _sum(data: bytes | None) -> str:
    return "absent" if data is None else hashlib.sha256(data).hexdigest()


def setup(host: Host, client: Client, distribution: str, *, shown: str | None = None) -> Steps:
    """Register a client in a distribution; returns what was changed. Raises `ClientError`.

    `shown` is the `digest_of` the changes that a person has agreed to: no others are made.
    """
    steps = plan_setup(host, client, distribution)
    agree(steps.changes, shown)
    carry_out(host, steps)
    records.add(host.home, steps.registration)
    return steps


def answer(host: Host, steps: Steps) -> Answer:
    """Start the launcher inside, as the client will, and ask it."""
    words = host.wsl.words(steps.registration.distribution, steps.layout.launcher)
    return selftest.ask(words, host.wsl.env, limit=host.wsl.limit)


def remove(host: Host, client: Client, registration: Registration, *, shown: str | None = None) -> Steps:
    """Take a registration back; returns what was changed. `shown` as for `setup`. Raises `ClientError`."""
    steps = plan_removal(host, client, registration)
    agree(steps.changes, shown)
    carry_out(host, steps)
    records.drop(host.home, registration)
    return steps
