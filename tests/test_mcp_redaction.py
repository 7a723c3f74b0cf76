"""Nothing that the MCP server says holds a secret, wherever in a session it stood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import memory_server as server
import pytest
from memory_server import asked, call

from backstory import Archive

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
SOURCE = f"conversation/{server.MENDED}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one session that has a secret in its folder, title, prompt and answer."""
    made = tmp_path_factory.mktemp("memory")
    session = server.mended(made / ".cline/data/sessions")
    assert session.manifest is not None
    session.manifest["cwd"] = session.manifest["workspace_root"] = f"/home/dev/work/{SECRET}"
    session.manifest["metadata"]["title"] = f"Use {SECRET}"
    session.prompt(f"my token is {SECRET}")
    session.reply(f"ok {SECRET}")
    session.write()
    with Archive(env=server.environment(made)) as archive:
        archive.sync()
        archive.memory.learn()
    return made


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "my token limiter"}),
        ("open", {"source": SOURCE, "position": 2}),
        ("open", {"source": f"conversation/{SECRET}"}),
        ("recent", {"project": "*"}),
        ("recent", {"project": SECRET}),
        ("remember", {"text": f"The key is {SECRET}."}),
        ("usage", {"session": "last"}),
        ("usage", {"project": f"/home/dev/work/{SECRET}"}),
        ("usage", {"session": SECRET}),
    ],
)
def test_no_result_and_no_error_holds_a_secret(home: Path, tool: str, arguments: dict[str, Any]) -> None:
    (answer,) = asked(home, call(tool, **arguments))
    assert SECRET not in str(answer)
    assert "[masked:" in str(answer)
