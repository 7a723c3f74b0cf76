"""The templates, with what every page needs to draw its frame."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..cli.words import counted, duration, number, size, surface, tokens
from . import figures
from .icons import sprite

HERE = Path(__file__).parent
STATIC = HERE / "static"


def environment() -> Environment:
    """The templates of the app; everything that is put into them is escaped unless it is markup of ours."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.globals.update(
        counted=counted,
        duration=duration,
        lines=figures.lines,
        price=figures.price,
        sums=figures.sums,
        sprite=Markup(sprite()),
        version=_version(),
    )
    made.filters.update(
        number=number,
        tokens=tokens,
        size=size,
        line=figures.line,
        surface=surface,
        icon=_icon,
        firstlines=_first_lines,
    )
    return made


def _icon(name: str) -> Markup:
    return Markup('<svg class="i"><use href="#i-{}"/></svg>').format(name)


def _first_lines(text: str) -> str:
    """The beginning of a long message, folded."""
    return "\n".join(figures.line(part) for part in text.strip().split("\n")[:6]) + "\n…"


def _version() -> str:
    """Changes with the style sheet and the script, so that a browser may keep them."""
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(STATIC.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def drawn(env: Environment, template: str, **values: Any) -> str:
    """A page; half characters, which no encoding has, are replaced."""
    return env.get_template(template).render(**values).encode("utf-8", "replace").decode("utf-8")
