"""What stands of us in an agent's files at this moment: entry, rule, and what keeps the agent from reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import ClientError
from ..schema.words import tilde
from . import files, rule, settings
from .entry import NAME, Owner, every_owner
from .jsontext import Value
from .program import Command, Life, life
from .table import Client

RuleState = Literal["absent", "current", "older", "edited", "unread"]
"""`unread` is one that cannot be read, as `look_anyway` has it."""


class Here(NamedTuple):
    """Where this run stands: the environment, Backstory's own folder, and the program that an entry starts.

    `archive` is that folder where the server has to be told it, because it is not the default one, which is
    `default`.
    """

    env: Mapping[str, str]
    platform: str
    home: Path
    program: Command
    archive: str | None = None
    default: Path | None = None

    def lives(self, command: Command) -> Life:
        """Whether another command of ours starts anything."""
        return life(command, self.env)

    def short(self, path: Path | str) -> str:
        """A path as people read it."""
        return tilde(str(path), self.env.get("HOME") or self.env.get("USERPROFILE") or "")


class Found(NamedTuple):
    """What was found. `unreadable` says why the agent cannot read its settings; `text` is null without a file.

    `broken` are other entries that the agent cannot read, each with the reason.
    """

    path: Path
    named_by: str
    text: bytes | None
    unreadable: str | None
    entry: Value
    owner: Owner
    broken: tuple[tuple[str, str], ...]
    rule_path: Path
    rule: bytes | None
    rule_state: RuleState


def installed(client: Client, here: Here) -> list[tuple[str, str]]:
    """The places of the client that exist, each with the rule that names it."""
    found = [
        (place, named) for place, named in client.installed(here.env, here.platform) if Path(place).is_dir()
    ]
    return list(dict(found).items())


def look(client: Client, here: Here) -> Found:
    """What stands there now. Raises `ClientError` for a file that cannot be read at all."""
    path, rule_path = _places(client, here)
    return _found(client, here, read(path, here), read(rule_path, here))


def look_anyway(client: Client, here: Here) -> Found:
    """What stands there, where a file may be one that cannot be read at all: then the state says so."""
    (text, problem), (own, why) = map(_read_or_why, _places(client, here))
    found = _found(client, here, text, own)
    if problem is not None:
        found = found._replace(unreadable=problem)
    return found if why is None else found._replace(rule_state="unread")


def _places(client: Client, here: Here) -> tuple[Path, Path]:
    """Where settings and rule lie."""
    named = client.settings(here.env, here.platform), client.rule(here.env, here.platform)
    return absolute(named[0].path), absolute(named[1].path)


def _found(client: Client, here: Here, text: bytes | None, own: bytes | None) -> Found:
    path, rule_path = _places(client, here)
    problem, entry = None, None
    owner: Owner = "nobody"
    broken: tuple[tuple[str, str], ...] = ()
    if text is not None:
        try:
            entries = settings.entries(text)
            entry = entries.get(NAME)
            owner = every_owner(text, here.program, here.lives, here.env.get("PATH"))
            broken = troubles(client, entries)
        except settings.Unreadable as error:
            problem = str(error)
    named_by = client.settings(here.env, here.platform).rule
    return Found(path, named_by, text, problem, entry, owner, broken, rule_path, own, rule_state(own))


def _read_or_why(path: Path) -> tuple[bytes | None, str | None]:
    """A file's bytes, and why it cannot be read at all."""
    try:
        return files.read(path), None
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"


def troubles(client: Client, entries: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """Entries of others that the client cannot read, for which it loads no server at all."""
    checked = ((name, client.problem(one)) for name, one in entries.items() if name != NAME)
    return tuple((name, why) for name, why in checked if why is not None)


def rule_state(found: bytes | None) -> RuleState:
    """What a rule file holds."""
    if found is None:
        return "absent"
    if found == rule.text().encode():
        return "current"
    return "older" if rule.is_generated(found) else "edited"


def absolute(path: str) -> Path:
    """The place that a path means from the working folder; links in it stay."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def read(path: Path, here: Here) -> bytes | None:
    """A file's bytes, null where there is none. Raises `ClientError` that names it."""
    try:
        return files.read(path)
    except OSError as error:
        text = f"{here.short(path)} cannot be read: {error.strerror}. Nothing was changed."
        raise ClientError(text) from error
