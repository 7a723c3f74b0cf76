"""Real text for tool outputs: the sources of the interpreter's standard library, and prose from its manual.

What a tree holds depends on the interpreter that made it; a seed gives the same tree on the same interpreter.
"""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from random import Random

DEFINED = re.compile(r"^\s*(?:async )?(?:def|class) (\w{4,})")
LONGEST_LINE = 1000


@dataclass(frozen=True)
class SourceFile:
    """One source; `names` are (line index, name) of what it defines."""

    path: str
    lines: list[str]
    names: list[tuple[int, str]]


@dataclass(frozen=True)
class Project:
    """A folder that sessions work in."""

    name: str
    files: list[SourceFile]


@dataclass(frozen=True)
class Corpus:
    projects: list[Project]
    paragraphs: list[str] = field(repr=False)


def _read(path: Path, root: Path) -> SourceFile | None:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.rstrip("\n").split("\n")
    if len(lines) < 40 or "\r" in text or "\0" in text or max(map(len, lines)) > LONGEST_LINE:
        return None
    names = [(n, m.group(1)) for n, line in enumerate(lines) if (m := DEFINED.match(line))]
    return SourceFile(path.relative_to(root).as_posix(), lines, names) if len(names) > 2 else None


def _projects(root: Path) -> list[Project]:
    """Packages of some size are projects; the single modules are dealt into groups by their first letter."""
    groups: dict[str, list[SourceFile]] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if "site-packages" in parts or parts[0] in ("pydoc_data", "__pycache__"):
            continue
        source = _read(path, root)
        if source is None:
            continue
        if parts[0] == "test":
            name = f"tests-{parts[1][:6].removesuffix('.py').strip('_')}"
        else:
            name = parts[0] if len(parts) > 1 else f"modules-{parts[0][0]}"
        groups.setdefault(name, []).append(source)
    return [Project(name, files) for name, files in sorted(groups.items()) if len(files) >= 4]


def _paragraphs() -> list[str]:
    found = []
    for name in sorted(topics):
        for paragraph in topics[name].split("\n\n"):
            words = " ".join(paragraph.split())
            if 60 < len(words) < 900 and words[0].isalpha():
                found.append(words)
    return found


@cache
def corpus() -> Corpus:
    """Reading 25 MB of sources takes a second, so it is done once."""
    return Corpus(_projects(Path(sysconfig.get_path("stdlib"))), _paragraphs())


def numbered(source: SourceFile, start: int, end: int, whole: bool) -> str:
    """What `read_files` shows: right-aligned numbers, and a tail where lines were left out."""
    width = len(str(end))
    shown = "\n".join(f"{n:>{width}} | {line}" for n, line in enumerate(source.lines[start - 1 : end], start))
    total = len(source.lines)
    if whole and end < total:
        hint = "Use start_line/end_line to read other sections."
        shown += f"\n\n[Showing lines {start}-{end} of {total}. {hint}]"
    return shown


def found(project: Project, source: SourceFile, at: int, pattern: str, folder: str, most: int) -> str:
    """What `search_codebase` shows: each hit with two lines around it."""
    hits = [n for n, line in enumerate(source.lines) if pattern in line][:most] or [at]
    many = "result" if len(hits) == 1 else "results"
    out = [f"Found {len(hits)} {many} for pattern: {pattern}\nSearched {len(project.files)} files.\n"]
    for hit in hits:
        out.append(f"{folder}{source.path}:{hit + 1}:{max(source.lines[hit].find(pattern), 0) + 1}")
        for n in range(max(0, hit - 2), min(len(source.lines), hit + 3)):
            out.append(f"{'>' if n == hit else ' '} {n + 1}: {source.lines[n]}")
        out.append("")
    return "\n".join(out)


def grep(project: Project, rng: Random, lines: int) -> tuple[str, str]:
    """A `grep -rn` and its output, over as many files as it takes."""
    source = rng.choice(project.files)
    pattern = rng.choice(("def ", "import ", "return ", "raise ", "self._", rng.choice(source.names)[1]))
    out: list[str] = []
    for other in [source, *rng.sample(project.files, min(6, len(project.files)))]:
        out.extend(f"{other.path}:{n}:{line}" for n, line in enumerate(other.lines, 1) if pattern in line)
        if len(out) >= lines:
            break
    where = source.path.rpartition("/")[0] or "."
    return f"grep -rn '{pattern.strip()}' {where}", "\n".join(out[:lines]) + "\n"


def test_log(project: Project, rng: Random, lines: int, failing: bool) -> str:
    """A verbose test run; a failing one ends with a traceback through real lines."""
    out: list[str] = []
    while len(out) < lines:
        source = rng.choice(project.files)
        module = source.path.removesuffix(".py").replace("/", ".")
        names = source.names[: lines - len(out)]
        out.extend(f"{name} ({module}.{name}) ... ok" for _, name in names)
    if not failing:
        return "\n".join(out) + f"\n\n{'-' * 70}\nRan {len(out)} tests in {len(out) * 0.013:.3f}s\n\nOK\n"
    source = rng.choice(project.files)
    out.append(f"\n{'=' * 70}\nFAIL: {source.names[0][1]}\n{'-' * 70}\nTraceback (most recent call last):")
    for n, name in rng.sample(source.names, min(5, len(source.names))):
        out.append(f'  File "{source.path}", line {n + 1}, in {name}\n    {source.lines[n].strip()}')
    out.append(f"AssertionError: {rng.randrange(100)} != {rng.randrange(100)}\n\nFAILED (failures=1)")
    return "\n".join(out) + "\n"


def diff(source: SourceFile, rng: Random, lines: int) -> str:
    """A `git diff` of one file: hunks of real lines, some of them changed."""
    out = [f"diff --git a/{source.path} b/{source.path}", f"--- a/{source.path}", f"+++ b/{source.path}"]
    at = rng.randrange(max(1, len(source.lines) - lines))
    while len(out) < lines and at < len(source.lines):
        hunk = source.lines[at : at + 9]
        out.append(f"@@ -{at + 1},{len(hunk)} +{at + 1},{len(hunk)} @@")
        for n, line in enumerate(hunk):
            out.extend([f"-{line}", f"+{changed(line)}"] if n == 4 else [f" {line}"])
        at += 9 + rng.randrange(20)
    return "\n".join(out) + "\n"


def changed(line: str) -> str:
    """A line as an edit might leave it."""
    return line.replace("self.", "self._").replace("(", "( ", 1).rstrip() + "  # checked"
