"""Tool calls of an agent and what Cline stores for them: the input, the result, and the steps they make."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from . import corpus, wire
from .corpus import Project, SourceFile

QUERY_LENGTH = 200


@dataclass(frozen=True)
class Use:
    """One call and its result: the `steps` of `type` that it makes, and how many of them failed."""

    name: str
    given: dict[str, Any]
    result: Any
    type: str
    steps: int = 1
    failed: int = 0
    is_error: bool = False


DENIED = (
    "This tool call was rejected by the user and not executed."
    " -- NOT a tool or system failure. Clarify with user before proceeding."
)
TIMED_OUT = "Command failed: Command timed out after 30000ms"


def _lines(rng: Random, scale: float) -> int:
    """How long an output is: many short ones, a few of a thousand lines and more."""
    return max(3, min(1800, int(rng.lognormvariate(3.6, 1.1) * scale)))


def _excerpt(source: SourceFile, rng: Random, scale: float) -> tuple[int, int]:
    size = min(_lines(rng, scale * 1.6), len(source.lines))
    start = rng.randrange(len(source.lines) - size + 1) + 1
    return start, start + size - 1


def read_files(project: Project, folder: str, rng: Random, scale: float) -> Use:
    files: list[dict[str, Any]] = []
    results, failed = [], 0
    for source in rng.choices(project.files, k=rng.choice((1, 1, 1, 2, 3))):
        path = folder + source.path
        if rng.random() < 0.04:
            path = path.replace(".py", "_old.py")
            error = f"Error reading file: ENOENT: no such file or directory, statx '{path}'"
            files.append({"path": path})
            results.append(wire.item(path, "", error))
            failed += 1
        elif rng.random() < 0.35:
            end = min(len(source.lines), _lines(rng, scale * 2.2))
            files.append({"path": path})
            results.append(wire.item(path, corpus.numbered(source, 1, end, True)))
        else:
            start, end = _excerpt(source, rng, scale)
            files.append({"path": path, "start_line": start, "end_line": end})
            results.append(wire.item(f"{path}:{start}-{end}", corpus.numbered(source, start, end, False)))
    return Use("read_files", {"files": files}, results, "read", len(files), failed)


def _command(project: Project, rng: Random, scale: float) -> tuple[str, str, str | None]:
    """A command line, its output, and its error if it failed."""
    lines, kind = _lines(rng, scale), rng.randrange(20)
    source = rng.choice(project.files)
    if kind < 5:
        return *corpus.grep(project, rng, lines), None
    if kind < 12:
        failing = rng.random() < 0.3
        name = source.path.removesuffix(".py").replace("/", ".")
        log = corpus.test_log(project, rng, lines, failing)
        return f"python -m unittest -v {name}", log, "Command exited with code 1" if failing else None
    if kind < 15:
        return f"git diff {source.path}", corpus.diff(source, rng, lines), None
    if kind < 18:
        start, end = _excerpt(source, rng, scale)
        body = "\n".join(source.lines[start - 1 : end])
        return f"sed -n '{start},{end}p' {source.path}", body + "\n", None
    if kind < 19:
        return f"wc -l {source.path}", f"{len(source.lines)} {source.path}\n", None
    if rng.random() < 0.3:
        return "python -m http.server --bind 127.0.0.1", "", TIMED_OUT
    err = f"/bin/bash: line 1: {source.names[0][1]}: command not found\n"
    return source.names[0][1], f"\n\n[stderr]\n{err}", "Command exited with code 127"


def run_commands(project: Project, rng: Random, scale: float) -> Use:
    commands, results, failed = [], [], 0
    for _ in range(rng.choice((1, 1, 1, 2))):
        line, out, error = _command(project, rng, scale)
        if line in commands:
            continue
        query = line
        if len(line) > QUERY_LENGTH:
            hint = "more chars; full command is in the tool call input]"
            query = f"{line[:QUERY_LENGTH]} ... [command truncated: {len(line) - QUERY_LENGTH} {hint}"
        if error and error.startswith("Command exited"):
            out = f"[{error}]\n{out.removeprefix(chr(10))}"
        commands.append(line)
        results.append(wire.item(query, out, error))
        failed += error is not None
    return Use("run_commands", {"commands": commands}, results, "command", len(commands), failed)


def _snippet(source: SourceFile, rng: Random) -> tuple[int, list[str], list[str]]:
    size = rng.choice((1, 2, 3, 4, 6, 9, 14))
    at = rng.randrange(max(1, len(source.lines) - size))
    old = source.lines[at : at + size]
    return (
        at,
        old,
        [corpus.changed(line) if rng.random() < 0.5 or n == 0 else line for n, line in enumerate(old)],
    )


def editor(project: Project, folder: str, rng: Random) -> Use:
    source, kind = rng.choice(project.files), rng.random()
    path = folder + source.path
    at, old, new = _snippet(source, rng)
    given: dict[str, Any] = {"path": path}
    if kind < 0.12:
        given["path"] = path = path.replace(".py", f"_{rng.randrange(1000)}.py")
        given["new_text"] = "\n".join(source.lines[: rng.randrange(20, 80)])[:5900] + "\n"
        query, done = f"edit:{path}", f"File created successfully at: {path}"
    elif kind < 0.2:
        given |= {"insert_line": at + 1, "new_text": "\n".join(new) + "\n"}
        query, done = f"insert:{path}", f"Inserted content at line {at + 1} in {path}."
    else:
        given |= {"old_text": "\n".join(old), "new_text": "\n".join(new)}
        shown = [f"-{at + n}: {line}" for n, line in enumerate(old, 1)]
        shown += [f"+{at + n}: {line}" for n, line in enumerate(new, 1)]
        query, done = f"edit:{path}", f"Edited {path}\n```diff\n" + "\n".join(shown) + "\n```"
        if kind < 0.26:
            given["old_text"] = corpus.changed(given["old_text"])
            why = f"Editor operation failed: No replacement performed: text not found in {path}."
            return Use("editor", given, wire.compact(wire.item(query, "", why)), "edit", failed=1)
    return Use("editor", given, wire.compact(wire.item(query, done)), "edit")


def apply_patch(project: Project, rng: Random) -> Use:
    body, done = ["*** Begin Patch"], []
    for source in rng.sample(project.files, rng.choice((1, 1, 2))):
        _, old, new = _snippet(source, rng)
        body += [f"*** Update File: {source.path}", "@@"]
        body += [f"-{line}" for line in old] + [f"+{line}" for line in new]
        done.append(source.path)
    given = {"input": "\n".join([*body, "*** End Patch"])}
    if rng.random() < 0.05:
        why = "apply_patch failed: Patch could not be applied because 1 hunk did not match the current file."
        failed = wire.compact(wire.item("apply_patch", "", why))
        return Use("apply_patch", given, failed, "edit", len(done), len(done))
    said = "Successfully applied patch to the following files:\n" + "\n".join(done)
    return Use("apply_patch", given, wire.compact(wire.item("apply_patch", said)), "edit", len(done))


def search_codebase(project: Project, rng: Random, scale: float) -> Use:
    source = rng.choice(project.files)
    at, name = rng.choice(source.names)
    most = max(1, int(_lines(rng, scale) / 6))
    results = [wire.item(name, corpus.found(project, source, at, name, "", most))]
    if rng.random() < 0.2:
        missing = name[::-1]
        none = f"No results found for pattern: {missing}\nSearched {len(project.files)} files."
        results.append(wire.item(missing, none))
    queries = [one["query"] for one in results]
    return Use("search_codebase", {"queries": queries}, results, "other", len(queries))


def elsewhere(paragraphs: list[str], rng: Random) -> Use:
    """A page of the web, or an MCP server's answer."""
    said = "\n\n".join(rng.choices(paragraphs, k=rng.randrange(2, 12)))
    if rng.random() < 0.5:
        url = f"https://docs.example.org/{rng.randrange(100_000)}.html"
        head = f"URL: {url}\nContent-Type: text/html\nSize: {len(said)} bytes\n\n--- Content ---\n"
        page = f"{head}{said}\n\n--- Analysis Request ---\nPrompt: summarize"
        given = {"requests": [{"url": url, "prompt": "summarize"}]}
        return Use("fetch_web_content", given, [wire.item(url, page)], "other")
    wrong = rng.random() < 0.15
    answer: dict[str, Any] = {"content": [{"type": "text", "text": said[:200] if wrong else said}]}
    if wrong:
        answer["isError"] = True
    asked = {"query": paragraphs[0][:30], "page": rng.randrange(9)}
    return Use("tracker__search_issues", asked, wire.compact(answer), "other", failed=int(wrong))


def denied(use: Use) -> Use:
    """The same call, when the user said no: one error for the whole batch."""
    return Use(use.name, use.given, wire.compact({"error": DENIED}), use.type, use.steps, 0, True)
