"""What setup found and what it left: kept in Backstory's folder, so that disconnect can give the same bytes back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from . import files

FOLDER = "clients"


class Receipt(Struct, frozen=True):
    """One registration. Paths are absolute.

    `before` are the bytes of the settings without an entry of ours, null where there was no file; `after` is the
    digest of what setup left. `folders` were made by setup, outermost first.
    """

    client: str
    settings: str
    rule: str
    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def path_of(home: Path, client: str, settings: str) -> Path:
    """Where the receipt of a settings file lies."""
    return home / FOLDER / f"{client}-{digest(settings.encode('utf-8', 'surrogateescape'))[:16]}.json"


def load(home: Path, client: str, settings: str) -> Receipt | None:
    """The receipt of a settings file; null where there is none, or none that can be read."""
    return _load(path_of(home, client, settings))


def every(home: Path, client: str) -> Iterator[Receipt]:
    """The receipts of a client, whatever settings file they are of."""
    for path in sorted((home / FOLDER).glob(f"{client}-*.json")):
        found = _load(path)
        if found is not None:
            yield found


def save(home: Path, receipt: Receipt) -> None:
    """Keep a receipt, readable by its owner alone: settings may hold keys of other servers."""
    path = path_of(home, receipt.client, receipt.settings)
    files.make_folders(path.parent, 0o700)
    files.write(path, msgspec.json.encode(receipt), 0o600)


def drop(home: Path, client: str, settings: str) -> None:
    """Forget a receipt; the last one takes the folders along that hold nothing else."""
    files.remove(path_of(home, client, settings))
    files.remove_empty([home, home / FOLDER])


def _load(path: Path) -> Receipt | None:
    try:
        data = files.read(path)
        return msgspec.json.decode(data, type=Receipt) if data is not None else None
    except (OSError, ValueError):
        return None
