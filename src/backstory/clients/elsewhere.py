"""Registrations that the present environment does not name, as far as they can be seen from here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import ClientError
from . import receipt, settings
from .entry import every_owner
from .registration import Here, RuleState, absolute, read, rule_state
from .table import Client


class Elsewhere(NamedTuple):
    """A registration that the present environment does not name; `rule` is null where none of ours lies there."""

    settings: Path
    rule: Path | None


def elsewhere(client: Client, here: Here) -> Iterator[Elsewhere]:
    """Registrations under other values of the environment: at the default places, and those with a receipt."""
    own = absolute(client.settings(here.env, here.platform).path)
    plain = {name: text for name, text in here.env.items() if name not in client.variables}
    default = [
        (
            absolute(client.settings(plain, here.platform).path),
            absolute(client.rule(plain, here.platform).path),
        )
    ]
    # Each variable by itself may have been set when setup ran.
    for variable in client.variables:
        if variable in here.env:
            env = {**plain, variable: here.env[variable]}
            places = (client.settings(env, here.platform), client.rule(env, here.platform))
            default.append((absolute(places[0].path), absolute(places[1].path)))
    kept = [(Path(one.settings), Path(one.rule)) for one in receipt.every(here.home, client.name)]
    seen = {own}
    for path, rule_path in (*default, *kept):
        if path in seen:
            continue
        seen.add(path)
        if has_ours(path, here):
            generated = rule_at(rule_path, here) in ("current", "older")
            yield Elsewhere(path, rule_path if generated else None)


def how_to_leave(client: Client, other: Elsewhere) -> str:
    """The call that takes a registration of another environment back."""
    named = f"CLINE_MCP_SETTINGS_PATH={other.settings}"
    folder = f" CLINE_DIR={other.rule.parent.parent}" if other.rule is not None else ""
    return f"{named}{folder} backstory disconnect {client.name}"


def has_ours(path: Path, here: Here) -> bool:
    """Whether a settings file has an entry of this installation, or a dead one."""
    try:
        text = read(path, here)
        path_value = here.env.get("PATH")
        return text is not None and every_owner(text, here.program, here.lives, path_value) in (
            "ours",
            "dead",
        )
    except (ClientError, settings.Unreadable):
        return False


def rule_at(path: Path, here: Here) -> RuleState:
    """What a rule file holds; one that cannot be read counts as none."""
    try:
        return rule_state(read(path, here))
    except ClientError:
        return "absent"
