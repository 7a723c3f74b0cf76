"""Frames of a stream of bytes: one message a line, or behind a `Content-Length` header; what is neither is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

CHUNK = 65_536
LONGEST = 32 * 1024 * 1024
"""Bytes of one message that are taken; a longer one is left out and answered with an error."""

_header = re.compile(rb"\s*(content-length|content-type)\s*:\s*(.*)", re.IGNORECASE | re.DOTALL)
_length = re.compile(rb"\d{1,15}")


class Frame(NamedTuple):
    """One message as bytes. `headed` says that it came behind a header; `fault` says why it is none."""

    data: bytes
    headed: bool
    fault: str | None = None


def framed(data: bytes, headed: bool) -> bytes:
    """A message as it goes out, in the framing that the client uses. It has no line end of its own."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data) if headed else data + b"\n"


class Reader:
    """The frames of a stream. `read` gives at most so many bytes, as soon as there are any, and none at the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._buffer = bytearray()
        self._ended = False
        self._headed = False

    def __iter__(self) -> Iterator[Frame]:
        first = True
        while (line := self._line()) is not None:
            if first:
                line, first = line.removeprefix(b"\xef\xbb\xbf"), False
            while line is not None and _header.match(line):
                frame, line = self._behind(line)
                if frame is not None:
                    yield frame
            if line is None:
                return
            if len(line) > LONGEST:
                yield self._fault(f"the message is longer than {LONGEST:,} bytes")
            elif line.strip():
                self._headed = False
                yield Frame(line, False)

    def _fault(self, why: str) -> Frame:
        """A fault is answered in the framing of the last sound frame, as its own cannot be known."""
        return Frame(b"", self._headed, why)

    def _fill(self) -> bool:
        """Read on; says whether there was anything."""
        chunk = b"" if self._ended else self._read(CHUNK)
        self._ended = not chunk
        self._buffer += chunk
        return bool(chunk)

    def _line(self) -> bytes | None:
        """The next line with its end; the rest of the stream where it has none; null at the end.

        Of a line that is too long only the beginning is kept, still longer than `LONGEST`.
        """
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > LONGEST + CHUNK:
                del self._buffer[LONGEST + 1 :]
                searched = LONGEST + 1
            if not self._fill():
                end = len(self._buffer) - 1
                if end < 0:
                    return None
                break
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return line

    def _behind(self, line: bytes) -> tuple[Frame | None, bytes | None]:
        """The frame behind a header, and the next line to look at: empty behind a body, null at the end.

        A header that another line follows at once was cut: that line is looked at by itself.
        """
        length: int | None = None
        following: bytes | None = line
        while following is not None and (found := _header.match(following)):
            if found[1].lower() == b"content-length":
                said = found[2].strip()
                length = int(said) if _length.fullmatch(said) else None
            following = self._line()
        if following is None or following.strip():
            return self._fault("the header is not followed by an empty line"), following
        if length is None or length > LONGEST:
            return self._fault(f"Content-Length has to be a number of bytes up to {LONGEST:,}"), b""
        while len(self._buffer) < length and self._fill():
            pass
        if len(self._buffer) < length:
            self._buffer.clear()
            return self._fault("the stream ended within a message"), None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._headed = True
        return Frame(body, True), b""
