"""A sample project in memory: files that can be read, searched and edited, with Cline's own words for it.

Results are what Cline 3.0 returns for one item of a tool call: `{query, result, success, error?}`.
"""

from __future__ import annotations

import re
from typing import Any

from .patch import PatchError, apply_patch
from .texts import sections

Item = dict[str, Any]
"""One item of a tool's result."""

_SPEC = re.compile(r"^(?P<path>.*?)(?::(?P<start>\d+)-(?P<end>\d+))?$")


class Project:
    """The files below one folder; `home` is the folder that holds it."""

    def __init__(self, name: str, home: str = "/home/dev/work") -> None:
        self.name = name
        self.separator = "\\" if "\\" in home else "/"
        self.root = home + self.separator + name
        self.files = dict(sections("projects", name))
        self.version = 0

    def copy(self) -> Project:
        """A second project with the files as they are now."""
        other = Project.__new__(Project)
        other.__dict__.update(self.__dict__, files=dict(self.files))
        return other

    def path(self, relative: str) -> str:
        return self.root + self.separator + relative.replace("/", self.separator)

    def read(self, spec: str) -> tuple[dict[str, Any], Item]:
        """Read `path` or `path:from-to`; returns the item of the input and that of the result."""
        found = _SPEC.match(spec)
        assert found is not None
        relative, path = found["path"], self.path(found["path"])
        asked: dict[str, Any] = {"path": path}
        query = path
        start, end = 1, None
        if found["start"]:
            start, end = int(found["start"]), int(found["end"])
            asked |= {"start_line": start, "end_line": end}
            query += f":{start}-{end}"
        if relative not in self.files:
            missing = f"Error reading file: ENOENT: no such file or directory, statx '{path}'"
            return asked, failed(query, missing)
        return asked, done(query, numbered(self.files[relative], start, end))

    def find(self, pattern: str) -> Item:
        """Search all files, without regard to case, with two lines around every match."""
        matcher = re.compile(pattern, re.IGNORECASE)
        matches: list[str] = []
        for path, text in sorted(self.files.items()):
            lines = text.split("\n")
            for row, line in enumerate(lines):
                for match in matcher.finditer(line):
                    matches += [f"{path}:{row + 1}:{match.start() + 1}", *_around(lines, row), ""]
        count = sum(1 for line in matches if line == "")
        searched = f"Searched {len(self.files)} files."
        if not count:
            return done(pattern, f"No results found for pattern: {pattern}\n{searched}")
        head = f"Found {count} result{'' if count == 1 else 's'} for pattern: {pattern}"
        return done(pattern, "\n".join([head, searched, "", *matches]))

    def create(self, relative: str, text: str) -> Item:
        assert relative not in self.files, relative
        self._write(relative, text)
        path = self.path(relative)
        return done(f"edit:{path}", f"File created successfully at: {path}")

    def edit(self, relative: str, old: str, new: str) -> Item:
        """Replace the one place where `old` stands; a text that does not stand there is an error."""
        path, text = self.path(relative), self.files[relative]
        if text.count(old) == 0:
            reason = f"No replacement performed: text not found in {path}."
            return failed(f"edit:{path}", f"Editor operation failed: {reason}")
        assert text.count(old) == 1, (relative, old)
        changed = text.replace(old, new)
        self._write(relative, changed)
        return done(f"edit:{path}", f"Edited {path}\n{_line_diff(text, changed)}")

    def insert(self, relative: str, line: int, text: str) -> Item:
        path = self.path(relative)
        lines = self.files[relative].split("\n")
        lines[line - 1 : line - 1] = text.split("\n")
        self._write(relative, "\n".join(lines))
        return done(f"insert:{path}", f"Inserted content at line {line} in {path}.")

    def patch(self, patch: str) -> Item:
        """Apply a patch of several files, all of it or nothing."""
        try:
            changed, touched = apply_patch(self.files, patch)
        except PatchError as error:
            return failed("apply_patch", f"apply_patch failed: {error}")
        self.files = changed
        self.version += 1
        return done(
            "apply_patch", "\n".join(["Successfully applied patch to the following files:", *touched])
        )

    def _write(self, relative: str, text: str) -> None:
        self.files[relative] = text
        self.version += 1


def done(query: str, result: str) -> Item:
    return {"query": query, "result": result, "success": True}


def failed(query: str, error: str, result: str = "") -> Item:
    return {"query": query, "result": result, "error": error, "success": False}


def numbered(text: str, start: int = 1, end: int | None = None) -> str:
    """Lines with their numbers, as the agent sees a file."""
    lines = text.removesuffix("\n").split("\n")
    last = min(end or len(lines), len(lines))
    width = len(str(last))
    return "\n".join(f"{row:>{width}} | {lines[row - 1]}" for row in range(start, last + 1))


def _around(lines: list[str], row: int) -> list[str]:
    first, last = max(0, row - 2), min(len(lines) - 1, row + 2)
    return [f"{'>' if at == row else ' '} {at + 1}: {lines[at]}" for at in range(first, last + 1)]


def _line_diff(before: str, after: str) -> str:
    """Cline's diff: one block of removed, then added lines between the common head and tail."""
    old, new = before.split("\n"), after.split("\n")
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    removed = [f"-{at + 1}: {old[at]}" for at in range(head, len(old) - tail)]
    added = [f"+{at + 1}: {new[at]}" for at in range(head, len(new) - tail)]
    return "\n".join(["```diff", *removed, *added, "```"])
