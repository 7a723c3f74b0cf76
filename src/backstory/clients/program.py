"""The command that starts this Backstory from any working directory, and what another command is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

NAME = "backstory"
ARGUMENT = "mcp"
MODULE = ("-m", NAME)
RUNNERS = frozenset({"uvx", "uv", "pipx", "env"})
"""Programs that start another one that they are given the name of."""
CACHES = re.compile(
    r"[/\\](?:uv[/\\](?:cache[/\\])?(?:archive|builds|environments)-v\d+|pipx[/\\]\.cache)[/\\]"
)
ANSWER_LIMIT = 5.0
"""Seconds in which a program says its version."""

Life = Literal["alive", "dead", "foreign"]


class Command(NamedTuple):
    """A program with its arguments, as a settings entry names it."""

    command: str
    args: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Program and arguments in one."""
        return (self.command, *self.args)

    def __str__(self) -> str:
        return " ".join(self.words)


def here(started_as: str, interpreter: str, *, windows: bool = os.name == "nt") -> Command:
    """How an agent starts the memory server of this installation.

    The script that this run was started by, since that name outlives what it links to; else the one beside the
    interpreter; else the interpreter with the module.
    """
    suffixes = ("", ".exe") if windows else ("",)
    own = Path(os.path.abspath(started_as)) if started_as else None  # noqa: PTH100 - links are kept
    beside = Path(interpreter).parent / NAME
    for script in filter(None, (own if own is not None and _stem(str(own)) == NAME else None, beside)):
        for suffix in suffixes:
            found = str(script) if str(script).endswith(suffix) else f"{script}{suffix}"
            if os.path.isfile(found) and (suffix or not windows or found.endswith(".exe")):  # noqa: PTH113
                return Command(found, (ARGUMENT,))
    return Command(interpreter, (*MODULE, ARGUMENT))


def is_kept(command: Command) -> bool:
    """Whether the program stays where it is; a runner's cache is cleaned away some day."""
    return CACHES.search(command.command) is None


def names_us(command: Command) -> bool:
    """Whether a command ends in our program, with `mcp` as its argument."""
    return _place(command) is not None


def starter(command: Command) -> str:
    """The words of a command up to our program: how its other verbs are called."""
    place = _place(command)
    return " ".join(command.words[: (place or 0) + 1])


def same(one: Command, other: Command, path: str | None) -> bool:
    """Whether two commands of ours start one installation, by whatever name."""
    return one == other or (_folder(one, path) is not None and _folder(one, path) == _folder(other, path))


def life(command: Command, env: Mapping[str, str]) -> Life:
    """Whether a command that names our program starts one. It is asked for its version.

    A runner that may fetch what it runs is not started: that it is there is enough.
    """
    place = _place(command)
    program = shutil.which(command.command, path=env.get("PATH"))
    if place is None or program is None:
        return "dead"
    if _stem(command.command) in RUNNERS:
        return "alive"
    words = [program, *command.words[1 : place + 1], "--version"]
    try:
        done = run(words, env)
    except subprocess.TimeoutExpired:
        return "alive"
    except OSError:
        return "dead"
    if done.returncode != 0:
        return "dead"
    return "alive" if done.stdout.startswith(f"{NAME} ".encode()) else "foreign"


def run(words: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """A program to its end, without a console of its own on Windows."""
    return subprocess.run(
        words,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=ANSWER_LIMIT,
        creationflags=quiet_flags(),
        check=False,
    )


def quiet_flags() -> int:
    """Flags of a process that opens no console window; 0 where there is no such thing."""
    return 0x08000000 if os.name == "nt" else 0


def _place(command: Command) -> int | None:
    """Which word is our program; null where none is, or where it is not followed by `mcp`."""
    words = command.words
    for at, word in enumerate(words[:-1]):
        if _stem(word) != NAME or words[at + 1] != ARGUMENT:
            continue
        module = at == 2 and words[1] == "-m"
        if at == 0 or module or _stem(words[0]) in RUNNERS:
            return at
    return None


def _stem(word: str) -> str:
    """`C:\\x\\Backstory.exe` is `backstory`."""
    last = re.split(r"[/\\]", word)[-1]
    return re.sub(r"\.(?:exe|cmd|bat)$", "", last, flags=re.IGNORECASE).lower()


def _folder(command: Command, path: str | None) -> str | None:
    """The folder of an installation's scripts and interpreter; null where the program is not there."""
    place = _place(command)
    program = shutil.which(command.command, path=path)
    if place is None or program is None or _stem(command.command) in RUNNERS:
        return None
    # An interpreter of an environment is a link to one that many share, a script is linked from elsewhere.
    own = program if place else os.path.realpath(program)
    return os.path.normcase(os.path.realpath(Path(own).parent))


Lives = Callable[[Command], Life]
