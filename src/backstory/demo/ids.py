"""Ids as Cline makes them, drawn from a name, so that every load of the samples gives the same ones."""

from __future__ import annotations

import uuid
from hashlib import sha256

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NANO = "-" + _BASE62 + "_"


class Ids:
    """A stream of ids; the same `name` gives the same stream."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._drawn = 0

    def uuid(self) -> str:
        """A person's message: UUIDv4."""
        return str(uuid.UUID(bytes=self._bytes()[:16], version=4))

    def message(self) -> str:
        """A message that the agent made."""
        return f"msg_{self.nano(8)}"

    def nano(self, length: int) -> str:
        return self._text(_NANO, length)

    def base36(self, length: int) -> str:
        return self._text(_BASE36, length)

    def base62(self, length: int) -> str:
        return self._text(_BASE62, length)

    def commit(self, begin: str = "") -> str:
        """A commit hash, 40 hex digits, that may begin with given ones."""
        return (begin + self._bytes().hex())[:40]

    def below(self, limit: int) -> int:
        """A whole number from 0 up to, and without, `limit`."""
        return int.from_bytes(self._bytes()[:8], "big") % limit

    def _text(self, alphabet: str, length: int) -> str:
        return "".join(alphabet[byte % len(alphabet)] for byte in self._bytes()[:length])

    def _bytes(self) -> bytes:
        self._drawn += 1
        return sha256(f"{self._name}/{self._drawn}".encode()).digest()
