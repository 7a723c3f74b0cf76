"""Uses of tools, commands, MCP servers and skills: names as written and in common, copies once, imports not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import recordings
from ledgers import HOUR, forked, imported
from sessions import START, Session, archive, item, tool_result, tool_use

from backstory import Archive
from backstory.ledger.report import Filter
from backstory.ledger.tooluse import canonical_tool, program, tool_uses


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("npm test -- limiter", "npm test"),
        ("npm --silent run build", "npm run"),
        ("git push --force-with-lease origin x", "git push"),
        ("cd /home/dev/work && ls -la", "ls"),
        ('cd "with blanks" && FOO=1 BAR="a b" python3 -m pytest', "python3"),
        ("sudo /usr/bin/docker compose up", "docker compose"),
        ("git -C /tmp status", "git"),
        ("(time make check)", "make check"),
        ("cat a.txt | sort", "cat"),
        ("ls;pwd", "ls"),
        ("C:\\tools\\rg.exe foo", "rg.exe"),
        ("make", "make"),
        ("echo hi\necho there", "echo"),
        ("", "(nothing)"),
        ("'quoted program' x", "quoted"),
        ("&& x", "x"),
        ("%", "%"),
    ],
)
def test_first_words(command: str, words: str) -> None:
    assert program(command) == words


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("run_commands", "Bash"),
        ("read_files", "Read"),
        ("editor", "Edit"),
        ("apply_patch", "Edit"),
        ("search_codebase", "Grep"),
        ("fetch_web_content", "WebFetch"),
        ("skills", "Skill"),
        ("spawn_agent", "Agent"),
        ("ask_question", "AskUser"),
        ("github__get_issue", "github__get_issue"),
    ],
)
def test_names_in_common(tool: str, name: str) -> None:
    assert canonical_tool(tool) == name


def found(kept: Archive, by: Any, which: Filter | None = None) -> dict[str, tuple[int, int, int, int]]:
    return {
        next(iter(one.keys.values())): (one.uses, one.failed, one.rejected, len(one.sessions))
        for one in tool_uses(kept.connection, by, which or Filter())
    }


def busy(root: Path, session_id: str = "1796026000000_busyy") -> Session:
    session = Session(root, session_id)
    session.prompt("Work", id="work")
    commands = ["npm test", "cd x && npm test", "ls"]
    failed = "Command exited with code 1"
    session.ran(
        "run_commands",
        {"commands": commands},
        [
            item("npm test", "ok"),
            item("cd x && npm test", "[Command exited with code 1]\n", failed),
            item("ls", "a"),
        ],
    )
    session.ran("read_files", {"files": [{"path": "/a"}, {"path": "/b"}]}, [item("/a", "x"), item("/b", "y")])
    session.ran("editor", {"path": "/a", "new_text": "x"}, item("create:/a", "done"))
    session.ran("github__get_issue", {"number": 1}, {"content": [{"type": "text", "text": "x"}]})
    session.ran("skills", {"skill": "release"}, "Do it")
    return session


def test_uses(tmp_path: Path) -> None:
    busy(tmp_path / "sessions").write()
    with archive(tmp_path) as kept:
        kept.sync([tmp_path / "sessions"])
        assert found(kept, "tool") == {
            "run_commands": (3, 1, 0, 1),
            "read_files": (2, 0, 0, 1),
            "editor": (1, 0, 0, 1),
            "github__get_issue": (1, 0, 0, 1),
            "skills": (1, 0, 0, 1),
        }
        assert found(kept, "command") == {"npm test": (2, 1, 0, 1), "ls": (1, 0, 0, 1)}
        assert found(kept, "mcp") == {"github": (1, 0, 0, 1)}
        assert found(kept, "skill") == {"release": (1, 0, 0, 1)}
        assert found(kept, "tool", Filter(until=START)) == {}
        assert found(kept, "tool", Filter(project="elsewhere")) == {}
        assert len(found(kept, "tool", Filter(project="demo"))) == 5


def test_copies_count_once_and_imports_not_at_all(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    origin = busy(root).write()
    fork = forked(origin, "1796029600000_forkd", START + HOUR)
    fork.prompt("On", id="on", ts=START + HOUR + 1)
    fork.ran("run_commands", {"commands": ["ls"]}, [item("ls", "a")])
    for message in fork.messages[-2:]:
        message["ts"] += HOUR
    fork.write()
    taken = imported(root, "1796026000001_taken", START)
    taken.add("user", [{"type": "text", "text": "Question"}])
    taken.reply(tool_use("call_9", "Bash", {"command": "ls"}))
    taken.add("user", [tool_result("call_9", "a")])
    taken.write()
    with archive(tmp_path) as kept:
        kept.sync([root])
        assert found(kept, "command") == {"npm test": (2, 1, 0, 1), "ls": (2, 0, 0, 2)}
        assert "Bash" not in found(kept, "tool")


def test_patches_of_a_recording(tmp_path: Path) -> None:
    """A new file came out of a patch where the other edits are patches."""
    with archive(tmp_path) as kept:
        (own,) = recordings.sessions("apply-patch")
        kept.ingest(str(recordings.session_path("apply-patch", own)))
        tools = found(kept, "tool")
        assert "editor" not in tools
        assert tools["apply_patch"][0] > 2


def test_every_step_of_the_recordings_is_one_use(tmp_path: Path) -> None:
    with archive(tmp_path) as kept:
        for scenario in recordings.scenarios():
            for own in recordings.sessions(scenario):
                kept.ingest(str(recordings.session_path(scenario, own)))
        (commands,) = kept.connection.execute(
            "SELECT count(*) FROM step JOIN file ON file.n = step.file JOIN session ON session.n = file.session"
            " WHERE step.type = 'command' AND NOT step.superseded"
            " AND (file.actor <> 'root' OR step.msg >= coalesce(session.copied_messages, 0))"
        ).fetchone()
        assert sum(uses for uses, *_ in found(kept, "command").values()) == commands > 10
