"""Which distributions are registered: kept in Backstory's folder, and told apart by the client's own folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ...errors import ClientError
from .. import files
from ..table import client
from .paths import DRIVES, PathContext

FILE = "wsl.json"


class Registration(Struct, frozen=True, omit_defaults=True):
    """One client in one distribution. Paths are those of the distribution."""

    distribution: str
    client: str
    client_home: str
    home: str = ""
    drives: str = DRIVES

    def is_same(self, other: Registration) -> bool:
        """Whether both mean one registration, whatever else a probe has found out since."""
        mine = (self.distribution.casefold(), self.client, self.client_home)
        return mine == (other.distribution.casefold(), other.client, other.client_home)

    @property
    def context(self) -> PathContext:
        """How its paths are written on both sides."""
        return PathContext(self.distribution, self.drives)

    @property
    def sessions(self) -> str:
        """Its sessions folder, as it is opened from Windows."""
        return self.context.to_host(f"{self.client_home}/{client(self.client).inside.store}")


def registered(home: Path) -> list[Registration]:
    """Every registration. Raises `ClientError` for a record that cannot be read."""
    path = home / FILE
    try:
        data = files.read(path)
        return msgspec.json.decode(data, type=list[Registration]) if data is not None else []
    except (OSError, ValueError) as error:
        raise ClientError(f"{path} cannot be read: {error}. Move it away, and register again.") from error


def of(found: Sequence[Registration], distribution: str, name: str) -> list[Registration]:
    """The registrations of a client in one distribution."""
    return [one for one in found if one.client == name and one.context.is_named(distribution)]


def add(home: Path, new: Registration) -> None:
    """Keep a registration, in place of what is known of the same one."""
    known = registered(home)
    if new not in known:
        _save(home, [*(one for one in known if not one.is_same(new)), new])


def drop(home: Path, gone: Registration) -> None:
    """Forget a registration; the last one takes the file along."""
    known = registered(home)
    left = [one for one in known if not one.is_same(gone)]
    if left:
        _save(home, left)
    elif known:
        files.remove(home / FILE)


def _save(home: Path, kept: list[Registration]) -> None:
    files.make_folders(home, 0o700)
    files.write(home / FILE, msgspec.json.format(msgspec.json.encode(kept)), 0o600)
