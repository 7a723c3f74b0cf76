"""The agents that Backstory reads. A new one is a folder here, a line in `REGISTRY`, and recordings to hold it to."""

from __future__ import annotations

import importlib

from ..errors import InputError
from .base import Source

REGISTRY = {"cline": ("backstory.sources.cline.source", "ClineSource")}
"""By name: the module and the class of a source, loaded when it is asked for."""


def load(name: str) -> Source:
    """The source of that name. Raises `InputError` for one that is not known."""
    if name not in REGISTRY:
        raise InputError(f'There is no agent "{name}". Known: {", ".join(sorted(REGISTRY))}.')
    module, kind = REGISTRY[name]
    source: Source = getattr(importlib.import_module(module), kind)()
    return source
