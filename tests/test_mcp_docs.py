"""The document of the memory server: its examples are what the server answers, its tables name what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import documents
import memory_server as server
import pytest
from documents import DOCS, blocks

from backstory.mcp import protocol
from backstory.mcp.tools import FEWEST_TOKENS, MOST_TOKENS, TOKENS, tools

DOCUMENT = DOCS / "mcp.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return server.learned(tmp_path_factory.mktemp("memory") / "home")


def test_each_example_is_what_the_server_answers(home: Path) -> None:
    examples = [block for block in blocks(DOCUMENT) if block.mark == "mcp"]
    assert {json.loads(block.text)["name"] for block in examples} == {"recall", "open", "usage"}
    for block in examples:
        assert block.output is not None
        (answer,) = server.asked(home, server.request("tools/call", json.loads(block.text)))
        documents.assert_output(block.output, server.text_of(answer), f"mcp.md:{block.line}")


def test_the_entry_starts_a_server(home: Path) -> None:
    (block,) = [block for block in blocks(DOCUMENT) if block.mark == "entry: backstory"]
    entry = json.loads(block.text)["mcpServers"]["backstory"]
    assert entry["command"] == "backstory"
    _, out, _ = server.run(home, server.lines(server.request("initialize")), *entry["args"])
    assert server.frames(out)[0]["result"]["serverInfo"]["name"] == "backstory"


def test_the_table_names_every_tool_and_argument() -> None:
    (table,) = re.findall(r"<!-- tools: mcp -->\n\n((?:\|.*\n)+)", DOCUMENT.read_text("utf-8"))
    rows = [row.split("|") for row in table.splitlines()[2:]]
    shown = {re.findall("`(.+?)`", row[1])[0]: re.findall("`(.+?)`", row[3]) for row in rows}
    assert shown == {tool["name"]: list(tool["inputSchema"]["properties"]) for tool in tools()}


def test_the_text_names_the_budget_and_the_versions() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert f"at most {TOKENS:,} tokens" in text
    assert f"from {FEWEST_TOKENS} to {MOST_TOKENS:,}" in text
    for version in (*protocol.HANDSHAKE, protocol.ENVELOPE):
        assert version in text
