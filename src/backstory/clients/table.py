"""The clients: what setup writes for each, where its sessions are, here and in a distribution of WSL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import InputError
from ..sources.cline.paths import Resolved
from .jsontext import Value

Place = Callable[[Mapping[str, str], str], Resolved]
Places = Callable[[Mapping[str, str], str], list[str]]


class Inside(NamedTuple):
    """A client inside a distribution: its own folder, and what lies where in it.

    `variable` names the folder, else it is `folder` in the home.
    """

    variable: str
    folder: str
    launcher: str
    settings: str
    rule: str
    store: str


class Client(NamedTuple):
    """A client. Each place is a function of the environment and of the platform, as in `sys.platform`.

    `installed` are places with the rule that names each; one that exists is enough. `old_settings` and `old_rules`
    are places that the client reads no more. `problem` says why the client cannot read an entry.
    """

    name: str
    title: str
    variables: tuple[str, ...]
    settings: Place
    rule: Place
    store: Place
    installed: Callable[[Mapping[str, str], str], list[tuple[str, str]]]
    old_settings: Places
    old_rules: Places
    problem: Callable[[Value], str | None]
    inside: Inside


def clients() -> dict[str, Client]:
    """Every client, by name."""
    from . import cline

    return {found.name: found for found in (cline.client(),)}


def client(name: str) -> Client:
    """The client of that name. Raises `InputError`."""
    known = clients()
    if name not in known:
        raise InputError(f'there is no client "{name}". Known: {", ".join(known)}.')
    return known[name]
