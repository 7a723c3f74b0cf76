"""Sessions to remember: built as Cline writes them, read by the archive, learned by the memory; for tests only."""

from __future__ import annotations

import json
from pathlib import Path

from sessions import START, Session, archive, item

from backstory import Archive
from backstory.memory.recall import Passage, Recall

HOUR = 3_600_000


class Memories:
    """A folder of sessions and the archive that learns it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "sessions"
        self.count = 0
        self.archive: Archive = archive(home)

    def session(
        self, *, cwd: str = "/home/dev/work/demo", title: str | None = None, at: int | None = None
    ) -> Session:
        """A new session, an hour after the one before; `say`, `failed` and `write` fill it."""
        start = START + self.count * HOUR if at is None else at
        made = Session(self.root, f"{start}_m{self.count:04d}", start)
        assert made.manifest is not None
        made.manifest |= {"cwd": cwd, "workspace_root": cwd}
        if title is not None:
            made.manifest["metadata"] = {**made.manifest["metadata"], "title": title}
        self.count += 1
        return made

    def said(
        self, *exchanges: tuple[str, str], cwd: str = "/home/dev/work/demo", title: str | None = None
    ) -> str:
        """Write a session of these prompts and answers; returns its id."""
        made = self.session(cwd=cwd, title=title)
        for asked, answered in exchanges:
            made.prompt(asked)
            made.reply(answered)
        made.write()
        return made.session_id

    def learn(self) -> None:
        self.archive.sync([self.root])
        self.archive.memory.learn()

    def recall(self, query: str, **more: object) -> Recall:
        return self.archive.memory.recall(query, **more)  # type: ignore[arg-type]


def fails(made: Session, command: str, output: str) -> None:
    """A command that fails."""
    result = f"[Command exited with code 1]\n{output}"
    made.ran("run_commands", {"commands": [command]}, [item(command, result, "Command exited with code 1")])


def works(made: Session, command: str) -> None:
    """A command that succeeds."""
    made.ran("run_commands", {"commands": [command]}, [item(command, "ok")])


def edits(made: Session, path: str, old: str, new: str) -> None:
    """An edit that is applied."""
    given = {"path": path, "old_text": old, "new_text": new}
    made.ran("editor", given, json.dumps(item(f"edit:{path}", f"Edited {path}")))


def mended(
    memories: Memories,
    output: str,
    *,
    command: str = "npm test",
    asked: str = "Please make it work",
    cwd: str = "/home/dev/work/demo",
    path: str = "src/app.ts",
) -> Session:
    """Write a session in which a command fails with this output, an edit follows, and the command succeeds."""
    made = memories.session(cwd=cwd)
    made.prompt(asked)
    fails(made, command, output)
    edits(made, path, "old", "new")
    works(made, command)
    made.reply("Done.")
    return made.write()


def answers(found: Recall) -> list[str]:
    return [passage.answered for passage in found.results]


def first(found: Recall) -> Passage:
    """The first result, which has to be there."""
    assert found.results
    return found.results[0]
