"""How often each tool, command, MCP server and skill was used, and how that ended."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

from .report import Filter, places

ToolBy = Literal["tool", "command", "mcp", "skill"]

CANONICAL = {
    "run_commands": "Bash",
    "read_files": "Read",
    "editor": "Edit",
    "apply_patch": "Edit",
    "search_codebase": "Grep",
    "fetch_web_content": "WebFetch",
    "skills": "Skill",
    "spawn_agent": "Agent",
    "team_run_task": "Agent",
    "ask_question": "AskUser",
}
"""Names that agents have in common, by Cline's own; every other name stands for itself."""
BY_TYPE = {"command": "run_commands", "read": "read_files", "edit": "editor"}
PATCHES = ("patch", "delete", "move")
EDITS = ("replace", "insert")
SUBCOMMANDS = frozenset(
    {
        *(
            "npm",
            "npx",
            "pnpm",
            "yarn",
            "bun",
            "nx",
            "turbo",
            "pip",
            "pip3",
            "pipx",
            "poetry",
            "uv",
            "conda",
            "tox",
        ),
        *("cargo", "rustup", "go", "gradle", "mvn", "dotnet", "composer", "gem", "rails", "rake", "deno"),
        *("git", "gh", "make", "just", "task", "docker", "kubectl", "helm", "terraform", "systemctl"),
        *("apt", "brew", "aws", "gcloud"),
    }
)
"""Programs whose next word says what they do."""
BEFORE = re.compile(
    r"\s*(?:cd\s+(?:\"[^\"]*\"|'[^']*'|[^\s&;]+)\s*(?:&&|;)\s*|[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+"
    r"|(?:sudo|time|env|nohup|exec|command)\s+|\()"
)
"""What stands before the program: a change of folder, variables, wrappers."""
WORD = re.compile(r"[^\s;&|()<>\"']+")
PLAIN = re.compile(r"[A-Za-z][\w:.-]*")

Key = tuple[str, ...]


class Uses(Struct):
    """How often something was used: steps, of which some failed and some were rejected."""

    keys: dict[str, str]
    uses: int = 0
    failed: int = 0
    rejected: int = 0
    sessions: set[int] = field(default_factory=set)


def tool_uses(connection: sqlite3.Connection, by: ToolBy, which: Filter) -> list[Uses]:
    """The uses by name, the most used first. Copies count once, and imports not at all, as calls do."""
    files, found = places(connection), dict[Key, Uses]()
    patching = _patching(connection)
    for file, kind, name, subject, count, failed, rejected in _steps(connection, by, which):
        place = files[file]
        if not which.holds(place):
            continue
        keys = _keys(by, kind, name, subject, patching=file in patching)
        uses = found.setdefault(tuple(keys.values()), Uses(keys))
        uses.uses += count
        uses.failed += failed
        uses.rejected += rejected
        uses.sessions.add(place.session)
    return sorted(found.values(), key=lambda uses: (-uses.uses, tuple(uses.keys.values())))


def canonical_tool(name: str) -> str:
    """The name that agents have in common for a tool; an unknown one passes through."""
    return CANONICAL.get(name, name)


def program(command: str) -> str:
    """The first words of a command that say what was run: `git push`, `npm test`, `ls`."""
    text = command
    while before := BEFORE.match(text):
        text = text[before.end() :]
    words = WORD.findall(text.strip().partition("\n")[0])
    if not words:
        return command.strip().partition("\n")[0][:20] or "(nothing)"
    name = str(words[0]).replace("\\", "/").rpartition("/")[2] or words[0]
    if name in SUBCOMMANDS:
        rest = next((word for word in words[1:] if not word.startswith("-")), None)
        if rest is not None and PLAIN.fullmatch(rest):
            return f"{name} {rest}"
    return str(name)


def _keys(by: ToolBy, kind: str, name: str | None, subject: str | None, *, patching: bool) -> dict[str, str]:
    """The keys of the group of a step."""
    if by == "command":
        return {"command": program(subject or "")}
    if by == "skill":
        return {"skill": subject or "unknown"}
    if by == "mcp":
        return {"server": (name or "").partition("__")[0]}
    tool = BY_TYPE.get(kind) or name or "unknown"
    if kind == "edit" and (name in PATCHES or (patching and name not in EDITS)):
        tool = "apply_patch"
    return {"tool": tool, "canonical": canonical_tool(tool)}


def _steps(
    connection: sqlite3.Connection, by: ToolBy, which: Filter
) -> Iterator[tuple[int, str, str | None, str | None, int, int, int]]:
    """Steps of tools, summed by file, type, kind and, where it matters, subject."""
    about = "step.subject" if by in ("command", "skill") else "NULL"
    wanted = {
        "tool": "step.type <> 'message' AND instr(coalesce(step.kind, ''), 'block:') <> 1",
        "command": "step.type = 'command'",
        "mcp": "step.type = 'other' AND instr(step.kind, '__') > 1",
        "skill": "step.type = 'other' AND step.kind = 'skills'",
    }[by]
    parts, values = [wanted], list[object]()
    for condition, value in (("step.at >= ?", which.since), ("step.at < ?", which.until)):
        if value is not None:
            parts.append(condition)
            values.append(value)
    sql = (
        f"SELECT step.file, step.type, step.kind, {about}, count(*),"
        " sum(step.outcome = 'failed' AND step.decision <> 'rejected'), sum(step.decision = 'rejected')"
        " FROM step JOIN file ON file.n = step.file JOIN session ON session.n = file.session"
        f" WHERE {' AND '.join(parts)} AND NOT step.superseded"
        " AND instr(' ' || coalesce(step.flags, '') || ' ', ' imported ') = 0"
        " AND (file.actor <> 'root' OR step.msg >= coalesce(session.copied_messages, 0)) GROUP BY 1, 2, 3, 4"
    )
    yield from connection.execute(sql, values)


def _patching(connection: sqlite3.Connection) -> set[int]:
    """The conversations whose edits are patches: there a new file came out of a patch too."""
    sql = (
        "SELECT file FROM step WHERE type = 'edit' GROUP BY file"
        " HAVING sum(kind IN ('patch', 'delete', 'move')) > sum(kind IN ('replace', 'insert'))"
    )
    return {file for (file,) in connection.execute(sql)}
