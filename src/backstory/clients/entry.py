"""Our entry among an agent's servers: whose it is, and the text of the settings with it and without it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

from ..errors import ClientError
from . import edits, settings
from .jsontext import Value
from .program import Command, Lives, names_us, same

NAME = "backstory"
LAUNCHER = "backstory-wsl"
HOME = "BACKSTORY_HOME"
TIMEOUT = 60
"""Seconds; without it Cline gives a server three to answer its first request, and drops it without a word."""

Owner = Literal["nobody", "ours", "dead", "other", "foreign"]
"""`ours` starts this installation; `dead` named a program of ours that is not there; `other` starts another
installation; `foreign` is another program's."""


def commands(entry: Value) -> tuple[Command | None, Command | None]:
    """The command of the flat form and the one of the nested `transport`."""
    if not isinstance(entry, dict):
        return None, None
    return _command(entry), _command(entry.get("transport"))


def started(entry: Value) -> Command | None:
    """The command that Cline starts: the nested one, where there is one."""
    flat, nested = commands(entry)
    return nested or flat


def env_of(entry: Value) -> dict[str, str]:
    """The variables that Cline adds when it starts the entry."""
    _, nested = commands(entry)
    found = entry.get("transport") if nested is not None and isinstance(entry, dict) else entry
    added = found.get("env") if isinstance(found, dict) else None
    return {key: one for key, one in added.items() if isinstance(one, str)} if isinstance(added, dict) else {}


def owner(entry: Value, program: Command, lives: Lives, path: str | None) -> Owner:
    """Whose an entry is; a null entry is nobody's. `path` is `PATH`."""
    if entry is None:
        return "nobody"
    flat, nested = commands(entry)
    own = flat or nested
    if own is not None and is_launcher(own):
        return "other"
    if own is None or not names_us(own):
        return "foreign"
    found: Owner = "ours"
    for command in (one for one in (nested, flat) if one is not None and names_us(one)):
        if same(command, program, path):
            continue
        life = lives(command)
        if life != "dead":
            return "other" if life == "alive" else "foreign"
        found = "dead" if command is own else found
    return found


def is_launcher(command: Command) -> bool:
    """Whether a command is the launcher that `backstory wsl setup` puts into a distribution."""
    return re.split(r"[/\\]", command.command)[-1] == LAUNCHER


def every_owner(text: bytes, program: Command, lives: Lives, path: str | None) -> Owner:
    """Whose the entries of our name are; of several that disagree the one that forbids most."""
    found = [owner(one, program, lives, path) for one in settings.every(text, NAME) if one is not None]
    if any(one is None for one in settings.every(text, NAME)):
        found.append("foreign")
    order: tuple[Owner, ...] = ("foreign", "other", "dead", "ours")
    return next((one for one in order if one in found), "nobody")


def written(text: bytes | None, program: Command, home: str | None, path: str | None) -> bytes:
    """The settings with our entry for this program. `home` is the archive's folder where it is not the default.

    A flat command that starts this installation by another name stays; `path` is `PATH`.
    """
    there = settings.entries(text).get(NAME) if text is not None else None
    flat, nested = commands(there)
    if flat is not None and os.path.isabs(flat.command) and same(flat, program, path):  # noqa: PTH117
        program = Command(flat.command, flat.args[: len(flat.args) - len(more_args(flat))])
    fixed: dict[str, edits.Json | None] = {
        "command": program.command,
        "args": [*program.args, *more_args(flat or nested)],
    }
    if isinstance(there, dict):
        fixed["transport"] = None
        fixed.update(
            {key: None for key in ("type", "transportType") if key in there and there[key] != "stdio"}
        )
        if flat is None:
            fixed.update(_carried(there))
    elif home is not None:
        fixed["env"] = {HOME: home}
    try:
        new = settings.put(text, NAME, settings.Spec(fixed, {"timeout": TIMEOUT}))
        return _with_home(new, home)
    except UnicodeEncodeError as error:
        raise ClientError(f"{program}: a settings file cannot hold this path; it is no UTF-8") from error


def _with_home(text: bytes, home: str | None) -> bytes:
    path = [settings.SERVERS, NAME, "env"]
    env = settings.entries(text)[NAME]
    there = env.get("env") if isinstance(env, dict) else None
    if home is None:
        if isinstance(there, dict) and HOME in there:
            text = edits.drop(text, path if len(there) == 1 else [*path, HOME])
        return text
    if there is None:
        return edits.put(text, path, {HOME: home})
    if isinstance(there, dict) and there.get(HOME) != home:
        return edits.put(text, [*path, HOME], home)
    return text


def _carried(there: Mapping[str, Value]) -> dict[str, edits.Json | None]:
    """What a person gave the nested form and the flat one would lose."""
    transport = there.get("transport")
    found: dict[str, edits.Json | None] = {}
    if isinstance(transport, dict):
        env, cwd = transport.get("env"), transport.get("cwd")
        if isinstance(env, dict) and env and "env" not in there:
            found["env"] = {key: one for key, one in env.items() if isinstance(one, str)}
        if isinstance(cwd, str) and cwd and "cwd" not in there:
            found["cwd"] = cwd
    return found


def more_args(command: Command | None) -> tuple[str, ...]:
    """Arguments behind `mcp` that a person added."""
    if command is None or not names_us(command):
        return ()
    words = command.words
    return words[words.index("mcp") + 1 :]


def _command(found: Value) -> Command | None:
    if not isinstance(found, dict):
        return None
    command, args = found.get("command"), found.get("args")
    if not isinstance(command, str) or not command:
        return None
    listed = args if isinstance(args, list) else []
    return Command(command, tuple(one if isinstance(one, str) else "" for one in listed))
