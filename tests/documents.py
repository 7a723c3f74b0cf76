"""The documents as data: their fenced blocks, their marked tables, and the home in which their examples run."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import recordings

from backstory import demo
from backstory.demo.moments import TOLD_AT
from backstory.sources.cline.times import epoch_ms

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FORMAT = ROOT / "src/backstory/sources/cline/FORMAT.md"
PATTERNS = ("*.md", "docs/*.md", "bench/*.md", "tests/**/README.md")
DOCUMENTS = sorted([FORMAT, *(path for pattern in PATTERNS for path in ROOT.glob(pattern))])
DAY = 24 * 3600
EARLIER = ("fork", "killed-mid-run", "plan-switch-to-act-tool", "tui-idle-between-turns")
"""Recordings of sessions that another recording holds at a later moment."""


class Block(NamedTuple):
    """A fenced block: its language, text and line, the comment before it, and the output that follows it."""

    language: str
    text: str
    line: int
    mark: str
    output: str | None


def name(path: Path) -> str:
    """A document as it is called from the top of the project."""
    return path.relative_to(ROOT).as_posix()


@cache
def blocks(path: Path) -> tuple[Block, ...]:
    """The fenced blocks of a document."""
    found: list[Block] = []
    mark, begin, language, lines = "", 0, "", list[str]()
    fresh = False  # only blank lines since the last block
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if begin and line.startswith("```"):
            text = "\n".join(lines)
            if language == "text" and fresh:
                found[-1] = found[-1]._replace(output=text)
            found.append(Block(language, text, begin + 1, mark, None))
            mark, begin, fresh, lines = "", 0, True, []
        elif begin:
            lines.append(line)
        elif line.startswith("```"):
            begin, language = number, line.strip("`").strip()
        elif comment := re.fullmatch(r"<!-- (.*) -->", line):
            mark = comment[1]
        elif line.strip():
            mark, fresh = "", False
    return tuple(found)


def each(*languages: str) -> list[Any]:
    """The documents that hold such blocks, as parameters of a test."""
    return [
        pytest.param(path, id=name(path))
        for path in DOCUMENTS
        if any(block.language in languages for block in blocks(path))
    ]


def calls(text: str) -> Iterator[tuple[str, str]]:
    """The prompt lines of a console block, each with what is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        call, _, shown = part.partition("\n")
        yield call, shown.strip("\n")


def tables(path: Path, kind: str) -> dict[str, list[str]]:
    """The names in the first columns of the tables that are marked so, by the mark's own name."""
    found = {}
    for own, table in re.findall(rf"<!-- {kind}: (.+?) -->\n\n((?:\|.*\n)+)", path.read_text("utf-8")):
        cells = [row.split("|")[1] for row in table.splitlines()[2:]]
        found[own] = [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]
    return found


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def make_home(path: Path) -> Path:
    """A home in which Cline has kept the recordings, each written last when it was recorded."""
    sessions = path / ".cline/data/sessions"
    for scenario in recordings.scenarios():
        if scenario not in EARLIER:
            for own in recordings.sessions(scenario):
                shutil.copytree(recordings.session_path(scenario, own), sessions / own)
    for file in sessions.rglob("*.messages.json"):
        written = epoch_ms(json.loads(file.read_text("utf-8"))["updated_at"])
        assert written is not None
        for own_file in file.parent.iterdir():
            os.utime(own_file, (written / 1000, written / 1000))
    return path


def tell_samples(home: Path) -> str:
    """Put the sample sessions in place of the recordings; returns the zone whose clock stands where they are told."""
    now = int(time.time())
    hours, minutes, seconds = map(int, TOLD_AT.split(":"))
    east = (hours * 3600 + minutes * 60 + seconds - now + DAY // 2) % DAY - DAY // 2
    shutil.rmtree(home / ".cline")
    demo.settings(home / ".cline/data")
    demo.load(home / ".cline/data/sessions", now * 1000)
    hours, rest = divmod(abs(east), 3600)
    return f"TOLD{'-' if east >= 0 else '+'}{hours:02}:{rest // 60:02}:{rest % 60:02}"


def environment(home: Path, zone: str = "UTC") -> dict[str, str]:
    """What a program sees that runs in that home."""
    kept = {own: os.environ[own] for own in ("PATH", "SYSTEMROOT", "PYTHONPATH") if own in os.environ}
    place = {"HOME": str(home), "USERPROFILE": str(home)}
    return {**kept, **place, "TZ": zone, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


def assert_output(shown: str, printed: str, where: str) -> None:
    """Compare what a document shows with what was printed.

    `…` stands for any lines, or for any text of a line; how wide the blanks between columns are does not matter.
    """
    patterns = [
        r"(?:.*\n)*?"
        if line == "…"
        else re.sub(r"(?:\\ ){2,}", " {2,}", re.escape(line)).replace("…", ".*") + "\n"
        for line in map(str.rstrip, shown.splitlines())
    ]
    found = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    if not re.fullmatch("".join(patterns), found):
        pytest.fail(f"{where}\nshown:\n{shown}\nprinted:\n{found}", pytrace=False)
