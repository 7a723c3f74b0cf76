"""How changes of an agent's files are shown: the servers in outline, with what comes and goes marked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import click

from ..clients import program, settings
from ..clients.edits import find
from ..clients.entry import NAME
from ..clients.jsontext import value
from ..clients.registration import Here
from ..clients.selftest import Answer
from ..clients.setup import Change
from ..clients.table import Client, client, clients
from ..store.database import home
from .line import Line, View, spans
from .options import App
from .text import wrap
from .words import counted

ROLES = {"+": "live", "-": "removed", " ": ""}


def here(env: Mapping[str, str] = os.environ) -> Here:
    """Where this run stands. The server is told of an archive that is not at the default place."""
    own = Path(os.path.abspath(home(env)))  # noqa: PTH100
    default = Path(os.path.abspath(home({})))  # noqa: PTH100
    command = program.here(sys.argv[0], sys.executable)
    return Here(env, sys.platform, own, command, None if own == default else str(own), default)


def waiting(app: App, where: Here) -> Callable[[Path], None]:
    """What says that a lock is waited for."""

    def say(lock: Path) -> None:
        if not app.term.quiet:
            text = f"Waiting: another program holds {where.short(lock)} …"
            click.echo(app.term.view.glyphs.one_line(text), err=True)

    return say


def refuse_db(app: App) -> None:
    """`--db` names an archive that a server would not find."""
    if app.db is not None:
        raise click.UsageError("the server finds its archive by BACKSTORY_HOME; set that in place of --db.")


def named(name: str | None) -> list[Client]:
    """The client that was named, else every one."""
    return [client(name)] if name is not None else list(clients().values())


def outline(text: bytes | None) -> list[str]:
    """The servers of a settings file: ours whole, others by name."""
    if text is None:
        return []
    servers = find(text, [settings.SERVERS])
    if servers is None:
        return []
    found = [f'"{settings.SERVERS}": {{']
    for at, member in enumerate(servers.members):
        comma = "," if at < len(servers.members) - 1 else ""
        if member.key == NAME:
            own = settings.lines(text, NAME)
            found += [f"  {line}" for line in (*own[:-1], own[-1] + comma)]
        else:
            kind = {"object": "{ … }", "array": "[ … ]"}.get(member.node.kind)
            shown = kind if kind is not None else "…"
            found.append(f"  {_quoted(member.key)}: {shown}{comma}")
    return [*found, "}"]


def _quoted(key: str) -> str:
    import json

    return json.dumps(key, ensure_ascii=False)


def diff(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Lines with `+`, `-` or a blank; a comma that a line gains or loses at its end is no change of it."""
    old, new = ([line.removesuffix(",") for line in lines] for lines in (before, after))
    found: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found += [(" ", line) for line in after[c:d]]
        else:
            found += [*(("-", line) for line in before[a:b]), *(("+", line) for line in after[c:d])]
    return found


def draw_change(view: View, change: Change, where: Here, *, is_settings: bool, dry: bool) -> Iterator[Line]:
    """One file: what is done with it, and, of settings, which lines."""
    verb = "remove" if change.after is None else "write"
    word = f"would {verb}" if dry else verb
    indent = 15 if dry else 9
    path = view.glyphs.one_line(where.short(change.path))
    size = ""
    if not is_settings and change.after is not None:
        count = change.after.count(b"\n")
        size = f"   ({counted(count, 'line')})"
    yield spans("  ", (word.ljust(indent - 2), "label"), path, (size, "label"))
    if is_settings and change.after is not None:
        for mark, line in diff(outline(change.before), outline(change.after)):
            text = view.glyphs.safe(f"{mark} {line}").rstrip()
            yield spans(" " * indent, (text, ROLES[mark]))


def draw_word(view: View, word: str, text: str, role: str = "label") -> Iterator[Line]:
    """A line that begins with a word such as `done`, wrapped behind it."""
    lines = wrap(view.glyphs.safe(text), view.width - 9 - 4, break_words=view.cut)
    for at, line in enumerate(lines):
        yield spans("  ", (word.ljust(7) if at == 0 else " " * 7, role), line)


def answered(answer: Answer) -> str:
    """`answered in 0.11 s, 6 tools`."""
    return f"answered in {answer.seconds or 0:.2f} s, {counted(len(answer.tools), 'tool')}"


def change_json(change: Change, *, is_settings: bool) -> dict[str, Any]:
    """A change for programs. Of settings only our own entry is shown: others may hold keys."""
    found: dict[str, Any] = {
        "path": str(change.path),
        "action": "remove" if change.after is None else "create" if change.before is None else "write",
    }
    if is_settings:
        lines = diff(outline(change.before), outline(change.after))
        found["diff"] = [f"{mark} {line}".rstrip() for mark, line in lines]
        found["entry"] = _entry(change.after)
    return found


def _entry(text: bytes | None) -> Any:
    node = find(text, [settings.SERVERS, NAME]) if text is not None else None
    return value(text, node) if text is not None and node is not None else None


def answer_json(answer: Answer | None) -> dict[str, Any] | None:
    """What the self-test came to, for programs; null where there was none."""
    if answer is None:
        return None
    return {"seconds": answer.seconds, "tools": list(answer.tools), "problem": answer.problem}
