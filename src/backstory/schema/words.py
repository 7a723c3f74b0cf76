"""How sizes and paths are written for people, the same everywhere."""

from __future__ import annotations


def megabytes(size: int) -> str:
    """Bytes as people read them: KB below 100,000, else MB."""
    if size < 100_000:
        return f"{size / 1000:.1f} KB"
    return f"{size / 1e6:.1f} MB" if size < 10_000_000 else f"{size / 1e6:,.0f} MB"


def tilde(path: str, home: str) -> str:
    """A path with the home directory written as `~`."""
    base = home.rstrip("/\\")
    return (
        "~" + path[len(base) :]
        if base and (path == base or path[: len(base) + 1] in (base + "/", base + "\\"))
        else path
    )
