"""The texts of the samples: the files of their projects and the outputs of their commands.

They live beside the code in plain text files, each cut into sections by lines such as `==> src/app.ts <==`.
`␛` stands for the escape character of terminal colours.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEAD = re.compile(r"^==> (.+) <==\n", re.MULTILINE)


@cache
def sections(folder: str, name: str) -> dict[str, str]:
    """The sections of one file, by their heads, in the order in which they stand."""
    file = files("backstory.demo") / folder / f"{name}.txt"
    text = file.read_text(encoding="utf-8").replace("\r\n", "\n").replace("␛", "\x1b")
    parts = _HEAD.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def output(name: str, section: str) -> str:
    """What a command printed."""
    return sections("outputs", name)[section]
