"""How sizes and paths are written for people, the same everywhere."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath


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


def relative(path: str, roots: tuple[str | None, ...], home: str) -> str:
    """A path as seen from the first of the roots that holds it, else with `~` for the home folder."""
    for root in roots:
        if not root:
            continue
        kind = PureWindowsPath if "\\" in root else PurePosixPath
        inside = kind(path)
        if inside.is_absolute() and inside.is_relative_to(root) and inside != kind(root):
            return str(inside.relative_to(root))
    return tilde(path, home)
