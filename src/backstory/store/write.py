"""One session into the archive: bodies are packed first, then everything is written in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec
import zstandard
from msgspec import Struct, field
from msgspec.structs import astuple, replace

from ..schema.link import Spawn, link
from ..schema.record import IDLE_GAP, reading_order
from ..schema.session import Actor, Session
from ..schema.step import ROOT, StepRow
from . import blocks, copies, indexing, rows
from .database import transaction
from .derived import Fact, active_length, totals
from .rows import COLUMNS, Columns
from .stored import NewFile, StoredSession, StoredStep

_json = msgspec.json.Encoder()
_session_decoder = msgspec.json.Decoder(Session)


class Draft(Struct):
    """A step ready to be written: its columns, its body and where it was packed, and its words."""

    columns: Columns
    place: tuple[int, int, int]
    given: str
    came: str
    body: bytes | None = None


class FileDraft(Struct):
    """A file ready to be written."""

    file: NewFile
    inserts: list[Draft] = field(default_factory=list)
    completes: list[tuple[StoredStep, Draft]] = field(default_factory=list)
    replaced: list[StoredStep] = field(default_factory=list)
    moved: list[tuple[StoredStep, Columns]] = field(default_factory=list)
    left: list[StoredStep] = field(default_factory=list)
    packed: list[tuple[int, bytes]] = field(default_factory=list)
