"""The floors under an ingest: what no program that reads the same files can go below.

    python bench/floor.py read|metrics|msgspec|orjson SESSIONS_DIR

`read` reads every byte and digests it, `metrics` decodes the token counts into typed structs and nothing
else, `msgspec` and `orjson` decode everything into plain objects.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

DIGEST_BYTES = 16


def message_files(root: Path) -> Iterator[Path]:
    for folder in sorted(root.iterdir()):
        if folder.is_dir():
            yield from sorted(folder.glob("*.messages.json"))


def digest(data: bytes) -> bytes:
    """BLAKE2b of 128 bits."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def read(root: Path) -> int:
    total = 0
    for path in message_files(root):
        data = path.read_bytes()
        digest(data)
        total += len(data)
    return total


def metrics(root: Path) -> int:
    import msgspec

    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    counts = msgspec.defstruct("Counts", [*((name, int, 0) for name in names), ("cost", float | None, None)])
    fields = [("id", str | None, None), ("ts", int | None, None), ("metrics", counts | None, None)]
    message = msgspec.defstruct("Message", fields)
    document = msgspec.defstruct("Document", [("messages", list[message])])  # type: ignore[valid-type]
    decoder = msgspec.json.Decoder(document)
    total = 0
    for path in message_files(root):
        total += sum(m.metrics is not None for m in decoder.decode(path.read_bytes()).messages)  # type: ignore[attr-defined]
    return total


def _everything(root: Path, decode: Callable[[bytes], object]) -> int:
    return sum(decode(path.read_bytes()) is not None for path in message_files(root))


def with_msgspec(root: Path) -> int:
    import msgspec

    return _everything(root, msgspec.json.Decoder().decode)


def with_orjson(root: Path) -> int:
    import orjson  # type: ignore[import-not-found,unused-ignore]

    return _everything(root, orjson.loads)


FLOORS: dict[str, Callable[[Path], int]] = {
    "read": read,
    "metrics": metrics,
    "msgspec": with_msgspec,
    "orjson": with_orjson,
}

if __name__ == "__main__":
    print(FLOORS[sys.argv[1]](Path(sys.argv[2])))
