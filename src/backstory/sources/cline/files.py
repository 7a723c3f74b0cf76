"""Cline's files as bytes: read without following links out, split into raw messages, salvaged when cut.

Cline rewrites a messages file in place, so a reader may meet it half written (FORMAT.md section 3).
"""

from __future__ import annotations

import json
import os
import re
import stat as statmod
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field

from ...errors import ReadError, TornFile
from ...schema.reading import FileStat
from . import wire

MAX_BYTES = 1 << 30
"""Larger files are named, not read: they would not fit into memory beside their messages."""

BOM = b"\xef\xbb\xbf"
_space = re.compile(r"[ \t\r\n]*")
_structure = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_decoder = json.JSONDecoder(strict=False)


class Split(Struct):
    """A messages file, taken apart. `raws` are the messages' own bytes; `whole` is false for a salvaged file."""

    raws: list[Raw]
    head: dict[str, Any]
    whole: bool = True
    notes: list[str] = field(default_factory=list)


def file_stat(entry: os.stat_result) -> FileStat:
    """The marks of a file by which a change is seen."""
    return FileStat(entry.st_size, entry.st_mtime_ns, entry.st_ino)


def read_bytes(path: Path, folder: Path) -> tuple[bytes, FileStat]:
    """The bytes of a file in a session folder and its marks before reading. Raises `ReadError`.

    A link that leads out of the folder, a device or a pipe is refused: opening one could block or leak.
    """
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise ReadError(f"{path}: a link that leads out of the session folder; it was not read")
        before = path.stat()
        if not statmod.S_ISREG(before.st_mode):
            raise ReadError(f"{path}: not a regular file; it was not read")
        if before.st_size > MAX_BYTES:
            raise ReadError(f"{path}: {before.st_size:,} bytes is more than Backstory reads ({MAX_BYTES:,})")
        return path.read_bytes(), file_stat(before)
    except OSError as error:
        raise ReadError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def split(data: bytes, name: str) -> Split:
    """Split a whole messages document into raw messages. Raises `TornFile` when it does not parse."""
    notes = []
    if data.startswith(BOM):
        data = data[len(BOM) :]
        notes.append("byte order mark")
    try:
        document = wire.decode_document(data)
    except wire.JSON_ERRORS:
        scanned = _scan(data)
        if not scanned.whole:
            raise TornFile(f"{name}: does not parse") from None
        scanned.notes = [*notes, "not strict JSON, read leniently"]
        return scanned
    head = {
        key: value
        for key in ("version", "updated_at", "agent", "sessionId", "taskType", "origin")
        if (value := getattr(document, key)) is not None
    }
    return Split(document.messages, head, notes=notes)


def salvage(data: bytes) -> Split:
    """Every whole message of a file that does not parse; `whole` is false."""
    scanned = _scan(data.removeprefix(BOM))
    scanned.whole = False
    return scanned


def _scan(data: bytes) -> Split:
    """Read a document value by value, as far as it goes.

    Decoding as Latin-1 keeps offsets equal to bytes, and JSON's own characters are ASCII, so that the message
    slices are Cline's own bytes whatever else is wrong with them.
    """
    text = data.decode("latin-1")
    found = Split([], {}, whole=False)
    listed = False
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return found
    at = _skip(text, at + 1)
    try:
        while text[at : at + 1] != "}":
            key, at = _decoder.raw_decode(text, at)
            at = _expect(text, _skip(text, at), ":")
            if key == "messages" and text[at : at + 1] == "[":
                at = _scan_messages(data, text, at, found.raws)
                listed = True
            else:
                end = _end(text, at)
                if isinstance(key, str) and key != "system_prompt":
                    found.head[key] = wire.any_value(data[at:end])
                at = end
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
            elif text[at : at + 1] != "}":
                return found
    except (ValueError, RecursionError):
        return found
    # Without its list of messages it is no messages document, whatever else it is.
    found.whole = listed and _skip(text, at + 1) == len(text)
    return found


def _scan_messages(data: bytes, text: str, at: int, raws: list[Raw]) -> int:
    """Collect the elements of the array that opens at `at`; returns the offset after its end."""
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        end = _end(text, at)
        raws.append(Raw(data[at:end]))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError(f"no end of the array at {at}")
    return at + 1


def _end(text: str, at: int) -> int:
    """Where the value that begins at `at` ends; also of one that is nested too deeply to be decoded."""
    try:
        return _decoder.raw_decode(text, at)[1]
    except RecursionError:
        depth = 0
        for match in _structure.finditer(text, at):
            if match[0] in "[{":
                depth += 1
            elif match[0] in "]}":
                depth -= 1
                if depth == 0:
                    return match.end()
        raise ValueError(f"no end of the value at {at}") from None


def _skip(text: str, at: int) -> int:
    match = _space.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, char: str) -> int:
    if text[at : at + 1] != char:
        raise ValueError(f"expected {char!r} at {at}")
    return _skip(text, at + 1)


def read_json(path: Path, folder: Path, refused: list[str]) -> tuple[dict[str, Any] | None, FileStat]:
    """A small JSON file (manifest, compaction, settings) leniently; null when it is no object.

    Raises `ReadError` for a file that cannot be read, `TornFile` for one that does not parse.
    """
    data, marks = read_bytes(path, folder)
    try:
        value = wire.loads(data.removeprefix(BOM).decode("utf-8", "replace"), refused)
    except (ValueError, RecursionError):
        raise TornFile(f"{path}: does not parse") from None
    return (value if isinstance(value, dict) else None), marks
