"""The gold set: conversations, and queries whose right answer is known, read from the files in `gold/`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec

FOLDER = Path(__file__).parent / "gold"

Kind = Literal["keyword", "paraphrase", "identifier", "error", "typo", "cjk"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Exchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn: what the developer asked, and what the agent said in the end."""

    asked: str
    answered: str


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One session. `at` is when it began, in UTC; `files` are the paths that the agent touched."""

    id: str
    project: str
    at: datetime
    title: str
    exchanges: tuple[Exchange, ...]
    files: tuple[str, ...] = ()


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody looks for. Each index in `exchange`, from 0, is a right answer; the first is the best."""

    kind: Kind
    query: str
    conversation: str
    exchange: tuple[int, ...]


class Theme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    conversations: tuple[Conversation, ...]
    queries: tuple[Query, ...]


class Gold(msgspec.Struct, frozen=True):
    """All files together, in the order of their names."""

    conversations: tuple[Conversation, ...]
    queries: tuple[Query, ...]

    def of_kind(self, kind: Kind) -> tuple[Query, ...]:
        return tuple(query for query in self.queries if query.kind == kind)


def load(folder: Path = FOLDER) -> Gold:
    """Every theme in the folder; `msgspec.ValidationError` names the place of what does not fit the format."""
    themes = [msgspec.toml.decode(path.read_bytes(), type=Theme) for path in sorted(folder.glob("*.toml"))]
    return Gold(
        conversations=tuple(one for theme in themes for one in theme.conversations),
        queries=tuple(one for theme in themes for one in theme.queries),
    )
