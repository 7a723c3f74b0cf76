"""Takes our entry and our rule out of an agent's files again, and leaves everything else."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from . import files, lock, receipt, rule, settings
from .elsewhere import elsewhere
from .entry import NAME, every_owner
from .receipt import Receipt
from .registration import Found, Here, absolute, look, read
from .setup import Change, agree, before_us, earlier_receipt, other_homes, refuse
from .table import Client

STAYS = {"other": "belongs to another Backstory, which still runs", "foreign": "is another program's"}


class Kept(NamedTuple):
    """A file of ours, or with an entry of our name, that stays, and why."""

    path: Path
    why: str


class Removal(NamedTuple):
    """What a disconnect changes. `changes` begins with the settings where these change."""

    client: Client
    found: Found
    changes: tuple[Change, ...]
    kept: tuple[Kept, ...]

    @property
    def settings(self) -> Change | None:
        """The change of the settings; null is none."""
        return next((change for change in self.changes if change.path == self.found.path), None)


def plan(client: Client, here: Here) -> Removal:
    """What disconnect would do. Raises `ClientError` where the settings cannot be read."""
    found = look(client, here)
    if found.unreadable:
        refuse(client, found, here)
    changes: list[Change] = []
    kept: list[Kept] = []
    if found.owner in ("ours", "dead"):
        earlier = earlier_receipt(client, found, here)
        changes.append(Change(found.path, found.text, before_us(found.text, earlier)))
    elif found.owner in STAYS:
        kept.append(Kept(found.path, f'its entry "{NAME}" {STAYS[found.owner]}'))
    shared = {one.rule for one in elsewhere(client, here)}
    for path in rule_paths(client, found, here):
        _rule(path, here, found.owner in STAYS or path in shared, changes, kept)
    for place in client.old_settings(here.env, here.platform):
        _old_settings(absolute(place), here, changes, kept)
    return Removal(client, found, tuple(changes), tuple(kept))


def disconnect(
    client: Client,
    here: Here,
    clock: lock.Clock | None = None,
    *,
    shown: str | None = None,
    waiting: lock.Waiting | None = None,
) -> Removal:
    """Take back what is ours, the settings under the agent's own lock; returns what was changed.

    `shown` is the `digest_of` the changes that a person has agreed to: no others are made. `waiting` is as in
    `lock.held`. Raises `ClientError` where the settings cannot be read, `OSError` where a file cannot be written.
    """
    first = plan(client, here)
    agree(first.changes, shown)
    rules = rule_paths(client, first.found, here)
    locked = {change.path for change in first.changes if change.path not in rules}
    with contextlib.ExitStack() as locks:
        for path in sorted(locked):
            locks.enter_context(lock.held(path, clock, waiting))
        now = plan(client, here) if locked else first  # others may have written until the locks were ours
        agree(now.changes, shown)
        for change in now.changes:
            if change.path in locked or change.path in rules:
                _apply(change)
    if now.found.owner not in STAYS:
        for home in (here.home, *other_homes(now.found, here)):
            earlier = receipt.load(home, client.name, str(now.found.path))
            if earlier is not None:
                _close(earlier, home)
    return now


def _close(done: Receipt, home: Path) -> None:
    """End a receipt: folders that setup made go where they are empty, else with the last that shares the rule."""
    folders = [Path(folder) for folder in done.folders]
    gone = {str(folder) for folder in files.remove_empty(folders)}
    left = [folder for folder in done.folders if folder not in gone]
    receipt.drop(home, done.client, done.settings)
    for other in receipt.every(home, done.client):
        if left and other.rule == done.rule:
            folders_of_both = tuple(dict.fromkeys((*left, *other.folders)))
            receipt.save(home, structs.replace(other, folders=folders_of_both))
            break


def rule_paths(client: Client, found: Found, here: Here) -> list[Path]:
    """Where a rule of ours may lie: the present place and the old ones."""
    return [found.rule_path, *map(absolute, client.old_rules(here.env, here.platform))]


def _apply(change: Change) -> None:
    if change.after is None:
        files.remove(change.path)
    else:
        files.write(change.path, change.after)


def _rule(path: Path, here: Here, shared: bool, changes: list[Change], kept: list[Kept]) -> None:
    """A rule goes while it holds a text of ours, and nobody else needs it."""
    found = read(path, here)
    if found is None:
        return
    if not rule.is_generated(found):
        kept.append(Kept(path, "it was edited, and is yours"))
    elif shared:
        kept.append(Kept(path, "an entry that stays may need it"))
    else:
        changes.append(Change(path, found, None))


def _old_settings(path: Path, here: Here, changes: list[Change], kept: list[Kept]) -> None:
    """Entries of ours in a file that the agent reads no more; one that cannot be read is left, and named."""
    text = read(path, here)
    if text is None:
        return
    try:
        owner = every_owner(text, here.program, here.lives, here.env.get("PATH"))
    except settings.Unreadable as error:
        kept.append(Kept(path, f"it {error}; whether an entry of ours is in it cannot be told"))
        return
    if owner in ("ours", "dead"):
        changes.append(Change(path, text, settings.take_out(text, NAME)))
    elif owner in STAYS:
        kept.append(Kept(path, f'its entry "{NAME}" {STAYS[owner]}'))
