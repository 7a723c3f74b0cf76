"""The user's settings: `config.toml` in Backstory's folder. All are optional."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from .errors import InputError

FILE = "config.toml"
LEARN = ("auto", "demand")
EDITORS = {
    "vscode": "VS Code",
    "vscode-insiders": "VS Code Insiders",
    "vscodium": "VSCodium",
    "cursor": "Cursor",
    "windsurf": "Windsurf",
}
"""Editors that open `<name>://file/<path>:<line>`, and what they are called."""
RATES = ("input", "output", "cache_read", "cache_write")


class OwnPrice(Struct, frozen=True):
    """A price that the user set, in dollars per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


class Config(Struct, frozen=True):
    """What the user set.

    `idle_minutes`: silence before a prompt that makes it the start of a new sitting. `prices`: by model, before any
    other price. `aliases`: from a name to the model that it stands for. `covered`: routes, `route/model` or models
    that cost nothing a call. `learn`: `auto` where capturing keeps the memory current, else
    `demand`. `editor`: the one of `EDITORS` in which the app opens files, or `none`.
    """

    idle_minutes: int = 30
    prices: dict[str, OwnPrice] = {}
    aliases: dict[str, str] = {}
    covered: tuple[str, ...] = ()
    learn: str = "demand"
    editor: str = "vscode"


KEYS = Config.__struct_fields__


def load(folder: Path) -> Config:
    """The settings of a folder. Raises `InputError` that names the file and the line or key."""
    path = folder / FILE
    if not path.exists():
        return Config()
    import tomllib

    try:
        values = tomllib.loads(path.read_text("utf-8"), parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}. Mend it, or move it away.") from error
    for key in values:
        if key not in KEYS:
            raise InputError(f"{path}: {key} is not known. It can have {', '.join(KEYS)}.")
    minutes = values.get("idle_minutes", 30)
    if not isinstance(minutes, int) or isinstance(minutes, bool) or not 1 <= minutes <= 10_000:
        raise InputError(f"{path}: idle_minutes has to be a whole number from 1 to 10,000.")
    learn = values.get("learn", LEARN[1])
    if learn not in LEARN:
        raise InputError(f"{path}: learn has to be one of {', '.join(LEARN)}, in quotes.")
    editor = values.get("editor", "vscode")
    if editor not in (*EDITORS, "none"):
        raise InputError(f"{path}: editor has to be one of {', '.join(EDITORS)} or none, in quotes.")
    covered = _covered(path, values)
    return Config(minutes, _prices(path, values), _aliases(path, values), covered, learn, editor)


def _table(path: Path, values: dict[str, Any], key: str) -> dict[str, Any]:
    """A table of the file, empty where it is not there."""
    table = values.get(key, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {key} has to be a table: [{key}].")
    return table


def _prices(path: Path, values: dict[str, Any]) -> dict[str, OwnPrice]:
    """The table `prices`, one table a model."""
    return {model: _price(path, model, rates) for model, rates in _table(path, values, "prices").items()}


def _price(path: Path, model: str, rates: Any) -> OwnPrice:
    """The price of one model; input and output are needed, and what is not known is refused."""
    place = f'{path}: prices."{model}"'
    if not isinstance(rates, dict):
        raise InputError(f'{place} has to be a table: [prices."{model}"].')
    for key, rate in rates.items():
        if key not in RATES:
            raise InputError(f"{place}.{key} is not known. It can have {', '.join(RATES)}.")
        plain = isinstance(rate, (int, Decimal)) and not isinstance(rate, bool)
        if not plain or not Decimal(rate).is_finite() or not 0 <= rate <= 1_000_000:
            raise InputError(f"{place}.{key} has to be dollars per million tokens, from 0 to 1,000,000.")
    for key in RATES[:2]:
        if key not in rates:
            raise InputError(f"{place}.{key} is missing: dollars per million tokens.")
    return OwnPrice(**{key: Decimal(rate) for key, rate in rates.items()})


def _aliases(path: Path, values: dict[str, Any]) -> dict[str, str]:
    """The table `aliases`."""
    aliases = _table(path, values, "aliases")
    for name, model in aliases.items():
        if not isinstance(model, str) or not model.strip():
            raise InputError(f'{path}: aliases."{name}" has to be the name of a model, in quotes.')
    return aliases


def _covered(path: Path, values: dict[str, Any]) -> tuple[str, ...]:
    """The list `covered`."""
    listed = values.get("covered", [])
    if not isinstance(listed, list) or not all(isinstance(entry, str) and entry.strip() for entry in listed):
        raise InputError(f'{path}: covered has to be a list of routes, such as ["my-route"].')
    return tuple(listed)
