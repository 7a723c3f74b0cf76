"""Patches in the form that GPT models write: several files added, updated, moved or deleted at once."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_SECTION = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_MOVE = "*** Move to: "


class PatchError(Exception):
    """The patch does not fit the files; its text is Cline's."""


def apply_patch(files: dict[str, str], patch: str) -> tuple[dict[str, str], list[str]]:
    """The files after the patch, and one line a touched file as Cline reports it."""
    changed = dict(files)
    touched: list[str] = []
    for kind, path, body in _split(patch):
        if kind == "Add":
            changed[path] = "\n".join(line.removeprefix("+") for line in body) + "\n"
            touched.append(path)
        elif path not in changed:
            raise PatchError(f"File not found: {path}")
        elif kind == "Delete":
            del changed[path]
            touched.append(f"{path}: [deleted]")
        else:
            target = body.pop(0).removeprefix(_MOVE) if body[0].startswith(_MOVE) else path
            text = _update(path, changed.pop(path), body)
            changed[target] = text
            touched.append(path if target == path else f"{path} -> {target}")
    return changed, touched


def _split(patch: str) -> list[tuple[str, str, list[str]]]:
    parts: list[tuple[str, str, list[str]]] = []
    for line in patch.split("\n"):
        if line in ("*** Begin Patch", "*** End Patch"):
            continue
        head = _SECTION.match(line)
        if head:
            parts.append((head[1], head[2], []))
        else:
            parts[-1][2].append(line)
    return parts


def _update(path: str, text: str, body: list[str]) -> str:
    lines = text.split("\n")
    for number, hunk in enumerate(_hunks(body), 1):
        old = [line[1:] for line in hunk if line[:1] in (" ", "-")]
        new = [line[1:] for line in hunk if line[:1] in (" ", "+")]
        starts = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
        if not starts:
            raise PatchError(_mismatch(path, number, lines, old))
        lines[starts[0] : starts[0] + len(old)] = new
    return "\n".join(lines)


def _hunks(body: list[str]) -> list[list[str]]:
    hunks: list[list[str]] = []
    for line in body:
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line)
    return hunks


def _mismatch(path: str, number: int, lines: list[str], old: list[str]) -> str:
    wanted = "\n".join(old)
    windows = ["\n".join(lines[at : at + len(old)]) for at in range(len(lines))]
    best = max(SequenceMatcher(None, window, wanted).ratio() for window in windows)
    return (
        "Patch could not be applied because 1 hunk did not match the current file content.\n"
        f"{path}: hunk {number}: Could not find matching context (similarity: {best:.2f}). Chunk skipped.\n"
        f"Context:\n{wanted}"
    )
