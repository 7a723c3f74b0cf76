"""Conversations on disk as Cline keeps them, learned by the memory: what recall is measured on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from clinegen import wire
from clinegen.corpus import corpus

from backstory import Archive

Json = wire.Json


def write(
    root: Path,
    session: str,
    at: int,
    project: str,
    title: str,
    exchanges: Sequence[tuple[str, str]],
    read: Sequence[str] = (),
) -> None:
    """Write a session whose prompts and answers these are, a minute apart; an empty answer is none.

    `at` is UTC epoch ms; `read` are files that the agent read in the first exchange.
    """
    rng = Random(session)
    messages: list[Json] = []
    for n, (asked, answered) in enumerate(exchanges):
        ts = at + n * 60_000
        typed = f'<user_input mode="act">{asked}</user_input>'
        messages.append(wire.message(wire.uuid4(rng), "user", [wire.text(typed)], ts))
        if n == 0 and read:
            call = "call_" + wire.nanoid(rng)
            given = wire.tool_use(call, "read_files", {"files": [{"path": path} for path in read]})
            came = wire.tool_result(call, "read_files", [wire.item(path, "1 | pass") for path in read])
            messages.append(wire.message(wire.message_id(rng), "assistant", [given], ts + 1000))
            messages.append(wire.message(wire.message_id(rng), "user", [came], ts + 2000))
        if answered:
            reply = wire.message(wire.message_id(rng), "assistant", [wire.text(answered)], ts + 5000)
            messages.append(reply)
    end = at + len(exchanges) * 60_000
    manifest: Json = {
        "version": 1,
        "session_id": session,
        "source": "cli",
        "pid": 4711,
        "started_at": wire.iso(at),
        "ended_at": wire.iso(end),
        "status": "completed",
        "interactive": True,
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "cwd": project,
        "workspace_root": project,
        "prompt": exchanges[0][0],
        "metadata": {"title": title, "sessionHistoryOrigin": {"mode": "user", "version": wire.VERSION}},
        "messages_path": wire.messages_path(session),
    }
    said = wire.document(session, messages, end, system_prompt="You are Cline.")
    wire.write_session(root, session, manifest, [(session, said, end)], end)


def talk(root: Path, sessions: int, exchanges: int, seed: int = 1) -> None:
    """Fill a sessions folder with conversations of real prose and real names, some of each only once."""
    rng = Random(seed)
    texts = corpus()
    sentences = [one for text in texts.paragraphs for one in text.split(". ") if 30 < len(one) < 300]
    for number in range(sessions):
        project = rng.choice(texts.projects)
        said = []
        for place in range(exchanges):
            file = rng.choice(project.files)
            line, name = rng.choice(file.names)
            asked = f"{rng.choice(sentences)}. Look at {name} in {file.path}, ticket T{number:05d}x{place}."
            code = "\n".join(file.lines[line : line + rng.randint(3, 12)])
            answered = [*rng.sample(sentences, rng.randint(3, 9)), f"It is in `{name}`:", code]
            said.append((asked, "\n\n".join(answered)))
        at = 1_760_000_000_000 + number * 3_600_000
        name = wire.session_id(rng, at)
        write(
            root, name, at, f"{wire.HOME}/work/{project.name}", rng.choice(sentences)[:60], said, [file.path]
        )


def learned(root: Path, home: Path) -> Archive:
    """An archive under `home` that has read a sessions folder, and whose memory has learned all of it."""
    env = {"HOME": str(home), "USERPROFILE": str(home), "BACKSTORY_HOME": str(home)}
    archive = Archive(home / "archive.db", env=env)
    archive.sync([root])
    archive.memory.learn()
    return archive
