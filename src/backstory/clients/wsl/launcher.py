"""The script in a distribution that starts Backstory on Windows. Pure text."""

from __future__ import annotations

MARK = "# Written by backstory wsl setup."


def text(interpreter: str, archive: str | None = None) -> str:
    """The launcher for an interpreter of Windows; `archive` is Backstory's folder where it is not the default one.

    The interpreter takes no variables of Python from the distribution, and writes UTF-8. It starts in its own
    folder, since a Windows program may hang in one of Linux; the session's folder goes along in `BACKSTORY_CWD`.
    """
    variables = ["BACKSTORY_CWD", *(["BACKSTORY_HOME"] if archive is not None else [])]
    home = f"export BACKSTORY_HOME={quoted(archive)}\n" if archive is not None else ""
    return (
        f"#!/bin/sh\n{MARK}\n"
        "# It starts Backstory on Windows; what it is asked and answers goes through unchanged.\n"
        f"program=$(wslpath -u {quoted(interpreter)}) || exit 127\n"
        'export BACKSTORY_CWD="$PWD"\n'
        f"{home}"
        f"export WSLENV={':'.join(variables)}${{WSLENV:+:$WSLENV}}\n"
        'cd "$(dirname "$program")" || exit 127\n'
        'exec "$program" -E -P -X utf8 -m backstory mcp\n'
    )


def is_ours(found: bytes) -> bool:
    """Whether a file is a launcher that we wrote, for whatever installation."""
    return found.startswith(f"#!/bin/sh\n{MARK}\n".encode())


def quoted(word: str) -> str:
    """A word for `sh`."""
    return "'" + word.replace("'", "'\\''") + "'"
