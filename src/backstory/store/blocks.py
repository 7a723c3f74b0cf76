"""Bodies packed into compressed blocks: written once they are full, read one at a time."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict

import zstandard

BLOCK = 128 * 1024
LEVEL = 1
OPEN_BLOCKS = 8
"""Decompressed blocks that a reader keeps: a page of steps lies in few of them."""


class Packer:
    """Collects bodies and compresses them block by block. `place` is (block index, offset, size)."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, bytes]] = []
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)
        self._open: list[bytes] = []
        self._size = 0

    def add(self, body: bytes) -> tuple[int, int, int]:
        """Put a body at the end and say where it lies."""
        size = len(body)
        if self._size and self._size + size > BLOCK:
            self.flush()
        place = (len(self.blocks), self._size, size)
        self._open.append(body)
        self._size += size
        return place

    def flush(self) -> None:
        """Close the open block."""
        if self._open:
            self.blocks.append((self._size, self._compressor.compress(b"".join(self._open))))
            self._open, self._size = [], 0


def append(
    connection: sqlite3.Connection, file: int, packed: list[tuple[int, bytes]]
) -> list[tuple[int, int]]:
    """Store blocks of a file; returns for each of them (block number, offset at which it begins).

    The first goes into the file's last block while that has room, so that a session followed live is packed
    as well as one read at once.
    """
    places: list[tuple[int, int]] = []
    last = connection.execute("SELECT max(n) FROM block WHERE file = ?", (file,)).fetchone()[0]
    for size, data in packed:
        if last is not None and not places:
            have, old = connection.execute("SELECT size, zstd FROM block WHERE n = ?", (last,)).fetchone()
            if have + size <= BLOCK:
                joined = unpack(old) + unpack(data)
                packed_again = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress(joined)
                connection.execute(
                    "UPDATE block SET size = ?, zstd = ? WHERE n = ?", (len(joined), packed_again, last)
                )
                places.append((last, have))
                continue
        cursor = connection.execute(
            "INSERT INTO block (file, size, zstd) VALUES (?, ?, ?)", (file, size, data)
        )
        places.append((int(cursor.lastrowid or 0), 0))
    return places


def unpack(data: bytes) -> bytes:
    """The bytes of a block."""
    return zstandard.ZstdDecompressor().decompress(data)


class BlockReader:
    """Reads bodies, keeping the last few blocks open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._open: OrderedDict[int, bytes] = OrderedDict()

    def body(self, block: int, offset: int, size: int) -> bytes:
        """One body by its place."""
        data = self._open.get(block)
        if data is None:
            (packed,) = self._connection.execute("SELECT zstd FROM block WHERE n = ?", (block,)).fetchone()
            data = self._open[block] = unpack(packed)
            if len(self._open) > OPEN_BLOCKS:
                self._open.popitem(last=False)
        else:
            self._open.move_to_end(block)
        return data[offset : offset + size]
