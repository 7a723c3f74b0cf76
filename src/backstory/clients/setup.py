"""Puts our entry and our rule into an agent's files, and says before what it will change."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import ClientError
from . import files, lock, receipt, rule, settings
from .entry import HOME, NAME, commands, env_of, is_launcher, started, written
from .program import starter
from .receipt import Receipt, digest
from .registration import Found, Here, installed, look
from .table import Client


class Change(NamedTuple):
    """One file, before and after; null is no file."""

    path: Path
    before: bytes | None
    after: bytes | None


class Plan(NamedTuple):
    """What a setup changes; a null change is none. `found` is what it goes out from."""

    client: Client
    found: Found
    settings: Change | None
    rule: Change | None

    @property
    def changes(self) -> list[Change]:
        """The files that change."""
        return [change for change in (self.settings, self.rule) if change is not None]


def plan(client: Client, here: Here) -> Plan:
    """What setup would do. Raises `ClientError` where it may not, with nothing changed."""
    if not installed(client, here):
        places = client.installed(here.env, here.platform)
        text = f"{client.title} is not installed here: there is no {here.short(places[0][0])}. Nothing was written."
        raise ClientError(f"{text} Install it, or set {client.variables[0]} where it keeps its files.")
    found = look(client, here)
    refuse(client, found, here)
    new = written(found.text, here.program, here.archive, here.env.get("PATH"))
    if why := client.problem(settings.entries(new)[NAME]):
        text = f'{here.short(found.path)}: the entry "{NAME}" {why}, and {client.title} would not read it.'
        raise ClientError(f"{text} Nothing was changed. Mend or remove that part, then run this again.")
    change = Change(found.path, found.text, new) if new != found.text else None
    own = rule.text().encode()
    stays = found.rule_state in ("current", "edited")
    done = Plan(client, found, change, None if stays else Change(found.rule_path, found.rule, own))
    for one in done.changes:
        _refuse_no_folder(one.path.parent, here)
    return done


def _refuse_no_folder(folder: Path, here: Here) -> None:
    """Raise `ClientError` where a folder that is to hold a file cannot be one."""
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if not there.is_dir():
        what = "a link to nothing" if there.is_symlink() and not there.exists() else "no folder"
        text = f"{here.short(there)} is {what}, and a folder is needed there. Nothing was changed."
        raise ClientError(f"{text} Move it away, then run this again.")


def refuse(client: Client, found: Found, here: Here) -> None:
    """Raise `ClientError` for settings that cannot be read and for an entry that is not ours to change."""
    where = here.short(found.path)
    if found.unreadable:
        text = f"{where} {found.unreadable}, so {client.title} cannot read it either. Nothing was changed."
        todo = "Remove it" if found.unreadable == "is empty" else "Mend it, or move it away"
        raise ClientError(f"{text} {todo}, then run this again.")
    if found.owner == "foreign":
        text = f'{where} has an entry "{NAME}" that another program wrote. Nothing was changed.'
        raise ClientError(f"{text} Rename that entry, or remove it, then run this again.")
    if found.owner == "other":
        own = commands(found.entry)[0] or started(found.entry)
        if own is not None and is_launcher(own):
            text = f'{where} has an entry "{NAME}" that Backstory on Windows wrote. Nothing was changed.'
            raise ClientError(f"{text} Take it back there first: backstory wsl remove --target {client.name}")
        other = starter(own) if own is not None else NAME
        text = f'{where} has an entry "{NAME}" of another Backstory ({other}), which still runs.'
        todo = f"Take it back there first: {other} disconnect {client.name}"
        raise ClientError(f"{text} Nothing was changed. {todo}")


def digest_of(changes: Iterable[Change]) -> str:
    """One word for exactly these changes: it differs when any file, before or after, is another."""
    found = hashlib.sha256()
    for change in changes:
        for part in (str(change.path).encode("utf-8", "surrogateescape"), change.before, change.after):
            found.update(b"-" if part is None else b"%d:%b" % (len(part), part))
    return found.hexdigest()


def agree(changes: Iterable[Change], shown: str | None) -> None:
    """Raise `ClientError` where these are not the changes that a person was shown; null was shown nothing."""
    if shown is not None and digest_of(changes) != shown:
        raise ClientError("a file was changed since this was shown. Nothing was written; look at it again.")


def setup(
    client: Client,
    here: Here,
    clock: lock.Clock | None = None,
    *,
    shown: str | None = None,
    waiting: lock.Waiting | None = None,
) -> Plan:
    """Write what has to be written, under the agent's own lock; returns what was changed.

    `shown` is the `digest_of` the changes that a person has agreed to: no others are made. `waiting` is as in
    `lock.held`. Raises `ClientError` where it may not, `OSError` where a file cannot be written; nothing is
    changed then.
    """
    first = plan(client, here)
    agree(first.changes, shown)
    if not first.changes:
        return first
    made: list[Path] = []
    try:
        for change in first.changes:
            made += files.make_folders(change.path.parent)
        if first.settings is None:
            _write(first, here, made)
            return first
        with lock.held(first.found.path, clock, waiting):
            now = plan(client, here)  # others may have written until the lock was ours
            agree(now.changes, shown)
            _write(now, here, made)
            return now
    except BaseException:
        files.remove_empty(made)
        raise


def _write(now: Plan, here: Here, made: list[Path]) -> None:
    """The receipt first, the entry last: what is started for the entry has its rule then."""
    saved = _receipt(now, here, made)
    earlier = receipt.load(here.home, saved.client, saved.settings)
    receipt.save(here.home, saved)
    homes = other_homes(now.found, here)
    try:
        if now.rule is not None:
            files.write(now.rule.path, now.rule.after or b"")
        if now.settings is not None:
            files.write(now.settings.path, now.settings.after or b"")
    except BaseException:
        with contextlib.suppress(OSError):
            _undo(now.rule)
        if earlier is None:
            receipt.drop(here.home, saved.client, saved.settings)
        else:
            receipt.save(here.home, earlier)
        raise
    for home in homes:
        receipt.drop(home, saved.client, saved.settings)


def _undo(change: Change | None) -> None:
    if change is not None and change.before is None:
        files.remove(change.path)
    elif change is not None and change.before is not None:
        files.write(change.path, change.before)


def _receipt(now: Plan, here: Here, made: list[Path]) -> Receipt:
    """The new receipt; what an earlier one says of the time before the first setup stays true."""
    found = now.found
    earlier = earlier_receipt(now.client, found, here)
    after = now.settings.after if now.settings is not None else found.text
    folders = tuple(str(folder) for folder in made)
    if earlier is not None:
        folders = (*earlier.folders, *(one for one in folders if one not in earlier.folders))
    before = before_us(found.text, earlier)
    return Receipt(
        now.client.name, str(found.path), str(found.rule_path), before, digest(after or b""), folders
    )


def earlier_receipt(client: Client, found: Found, here: Here) -> Receipt | None:
    """The receipt of what stands in the settings, kept in this Backstory's folder or in its own one."""
    for home in (here.home, *other_homes(found, here)):
        if (kept := receipt.load(home, client.name, str(found.path))) is not None:
            return kept
    return None


def other_homes(found: Found, here: Here) -> list[Path]:
    """Folders of Backstory, other than this run's, that a receipt may lie in: an entry names the one it was made in."""
    if found.owner not in ("ours", "dead"):
        return []
    named = env_of(found.entry).get(HOME)
    home = Path(named) if named else here.default
    return [home] if home is not None and home.is_absolute() and home != here.home else []


def before_us(text: bytes | None, earlier: Receipt | None) -> bytes | None:
    """The settings as they would be without us; null is no file."""
    if text is None or NAME not in settings.entries(text):
        return text
    if earlier is not None and digest(text) == earlier.after:
        return earlier.before
    plain = settings.take_out(text, NAME, earlier.before if earlier is not None else None)
    if earlier is not None and earlier.before is None and settings.is_bare(plain):
        return None
    return plain
