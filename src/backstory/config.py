"""The user's settings: `config.toml` in Backstory's folder. All are optional."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from .errors import InputError

FILE = "config.toml"


class Config(Struct, frozen=True):
    """`idle_minutes`: silence before a prompt that makes it the start of a new sitting."""

    idle_minutes: int = 30


def load(folder: Path) -> Config:
    """The settings of a folder. Raises `InputError` that names the file and the line or key."""
    path = folder / FILE
    if not path.exists():
        return Config()
    import tomllib

    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}. Mend it, or move it away.") from error
    minutes = values.get("idle_minutes", 30)
    if not isinstance(minutes, int) or isinstance(minutes, bool) or not 1 <= minutes <= 10_000:
        raise InputError(f"{path}: idle_minutes has to be a whole number from 1 to 10,000.")
    return Config(minutes)
