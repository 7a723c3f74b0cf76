"""Why a prompt stands out among the costliest: test runs that failed on the way, an end that was cut off."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from ..store.derived import state
from .tooluse import BEFORE

_JOINT = re.compile(r"&&|\|\||[;|\n]")
_WRAPPED = re.compile(
    r"(?:(?:npx|bunx|uvx|pnpm exec|pnpm dlx|yarn dlx|bundle exec|(?:uv|poetry|pipenv|pdm|hatch) run"
    r"|python[\d.]* -m)\s+)"
)
_TESTER = re.compile(
    r"(?:[\w.-]*/)*(?:pytest|py\.test|unittest|nose2|tox|nox|vitest|jest|mocha|ava|playwright\s+test|cypress\s+run"
    r"|rspec|phpunit|pest|ctest|gotestsum|nextest)(?![\w./-])"
)
_RUNNER = re.compile(
    r"(?:\./)?(?:npm|pnpm|yarn|bun|deno|node|cargo|go|make|just|task|mvn|mvnw|gradle|gradlew|dotnet|mix|swift|zig"
    r"|bazel|nx|turbo|rails|rake|composer|meson|lein|sbt|stack|cabal|flutter|dart)\s+"
    r"(?:(?:-\S+|run|run-script)\s+)*(?:--)?(?:test|tests|e2e|spec|t)(?![\w./-])"
)


class Why(Struct, frozen=True):
    """What a prompt's cost went into besides the work, of the lead alone.

    `failed_tests` are failed test runs, `failed_commands` all failed commands; neither counts what a person refused.
    `before_pass` is the share of the prompt's cost, from 0 to 1, that lies before the first test run which passed
    after a failed one; null where none did, or nothing is known to have been paid. `passed` says whether one did.
    `interrupted`: the session was cut off in this prompt. `fork`: the id of a session that went on from its end.
    """

    failed_tests: int = 0
    failed_commands: int = 0
    passed: bool = False
    before_pass: float | None = None
    interrupted: bool = False
    fork: str | None = None


def is_test_run(command: str) -> bool:
    """Whether a command line runs tests: `npm test`, `cd app && pytest -q`, `go test ./...`."""
    for part in _JOINT.split(command):
        text = part
        while before := BEFORE.match(text):
            text = text[before.end() :]
        text = text.strip()
        if _RUNNER.match(text) or _TESTER.match(_WRAPPED.sub("", text, count=1)):
            return True
    return False


def why(connection: sqlite3.Connection, file: int, turn: str, children: Sequence[int]) -> Why:
    """Why a prompt, by its file and id, stands out; `children` are the files of the agents that it spawned."""
    failed_tests = failed_commands = 0
    passing: tuple[int, int | None] | None = None
    steps = connection.execute(
        "SELECT subject, outcome, step.msg, step.at FROM step JOIN turn ON turn.n = step.turn WHERE turn.file = ?"
        " AND turn.id = ? AND step.type = 'command' AND NOT step.superseded AND decision <> 'rejected'"
        " ORDER BY step.msg, step.sub",
        (file, turn),
    )
    for subject, outcome, msg, at in steps:
        failed_commands += outcome == "failed"
        if not is_test_run(subject or ""):
            continue
        failed_tests += outcome == "failed"
        if outcome == "ok" and failed_tests and passing is None:
            passing = msg, at
    interrupted, fork = _end(connection, file, turn)
    share = None if passing is None else _share(connection, file, turn, children, passing)
    return Why(failed_tests, failed_commands, passing is not None, share, interrupted, fork)


def _share(
    connection: sqlite3.Connection,
    file: int,
    turn: str,
    children: Sequence[int],
    passing: tuple[int, int | None],
) -> float | None:
    """The part of what a prompt cost that had been spent when its tests first passed."""
    msg, at = passing
    before = whole = 0
    paid = "counted AND kind IN ('reported', 'estimated') AND amount > 0"
    own = f"SELECT msg, amount FROM call WHERE file = ? AND turn = ? AND {paid}"
    for its_msg, amount in connection.execute(own, (file, turn)):
        whole += amount
        before += amount if its_msg <= msg else 0
    for child in children:
        for its_at, amount in connection.execute(
            f"SELECT at, amount FROM call WHERE file = ? AND {paid}", (child,)
        ):
            whole += amount
            before += amount if at is not None and its_at is not None and its_at <= at else 0
    return before / whole if whole else None


def _end(connection: sqlite3.Connection, file: int, turn: str) -> tuple[bool, str | None]:
    """Whether the session was interrupted in this prompt, and the fork that took it up at its end."""
    session, status, ended_at, marker, error, own = connection.execute(
        "SELECT session.id, status, ended_at, terminal_marker, error, file.session FROM session"
        " JOIN file ON file.session = session.n WHERE file.n = ?",
        (file,),
    ).fetchone()
    turns = connection.execute(
        "SELECT id, msg FROM turn WHERE file = ? AND NOT superseded ORDER BY msg", (file,)
    ).fetchall()
    place = next((at for at, (its_id, _) in enumerate(turns) if its_id == turn), None)
    if place is None:
        return False, None
    last = place == len(turns) - 1
    stands = state(
        status=status,
        ended_at=ended_at,
        terminal_marker=marker,
        error=error,
        changed_at=None,
        open_call=False,
        gone=False,
        now=0,
    )
    first, after = turns[place][1], None if last else turns[place + 1][1]
    fork = connection.execute(
        "SELECT id FROM session WHERE copied_from = ? AND copied_kind = 'fork' AND copied_messages > ?"
        " AND copied_messages <= coalesce(?, copied_messages) AND n <> ? ORDER BY started_at, id LIMIT 1",
        (session, first, after, own),
    ).fetchone()
    return last and stands == "interrupted", fork[0] if fork else None
