"""The MCP server in a session with the official client: the handshake, every tool, errors, both eras."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import memory_server as server
import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client

from backstory.mcp.protocol import ENVELOPE, HANDSHAKE


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return server.learned(tmp_path_factory.mktemp("memory") / "home")


@pytest.fixture
def home(learned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned, tmp_path / "home"))


def parameters(home: Path) -> StdioServerParameters:
    command, *arguments = server.PROGRAM
    return StdioServerParameters(
        command=command, args=[*arguments, "mcp"], env=server.environment(home), cwd=home
    )


def session(home: Path, mode: str, work: Callable[[Client], Awaitable[None]]) -> None:
    """Run something in a session of the official client."""

    async def whole() -> None:
        with anyio.fail_after(server.LIMIT):
            async with Client(parameters(home), mode=mode) as client:
                await work(client)

    anyio.run(whole)


async def said(client: Client, name: str, *, failed: bool = False, **arguments: Any) -> str:
    result: Any = await client.call_tool(name, arguments)
    assert bool(result.is_error) is failed
    assert result.structured_content is None
    (block,) = result.content
    text: str = block.text
    return text


@pytest.mark.parametrize(
    ("mode", "version"), [("auto", ENVELOPE), ("legacy", HANDSHAKE[-1]), (ENVELOPE, ENVELOPE)]
)
def test_a_whole_session(home: Path, mode: str, version: str) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == version
        if mode != ENVELOPE:  # a client that asks for nothing first is told nothing
            assert client.server_info is not None
            assert client.server_info.name == "backstory"
            assert client.instructions is not None
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        assert names == ["recall", "open", "recent", "remember", "forget", "usage"]
        hints = {tool.name: tool.annotations.read_only_hint for tool in listed.tools if tool.annotations}
        assert hints == {name: name not in ("remember", "forget") for name in names}
        found = await said(client, "recall", query=server.ERROR)
        assert found.startswith(server.FIRST_LINE)
        assert "> + a?.quota" in found
        source = f"conversation/{server.MENDED}"
        assert "> Make the limiter tests pass" in await said(client, "open", source=source, position=1)
        assert source in await said(client, "recent", project="demo")
        assert "as fact/1" in await said(client, "remember", text="Tabs, not spaces.")
        assert "> Tabs, not spaces." in await said(client, "recall", query="tabs spaces")
        assert "Forgotten for good" in await said(client, "forget", source="fact/1")
        assert "The figures are of now." in await said(client, "usage", project="*")

    session(home, mode, work)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_errors(home: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        for name, arguments, words in (
            ("recall", {}, "query is missing"),
            ("recall", {"query": "x", "limit": 50}, "limit has to be a whole number from 1 to 20"),
            ("nope", {}, 'there is no tool "nope"'),
        ):
            with pytest.raises(MCPError, match=words) as caught:
                await client.call_tool(name, arguments)
            assert caught.value.error.code == -32602
        assert "has no conversation" in await said(client, "open", failed=True, source="conversation/nope")
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_resources()
        assert "recall" in {tool.name for tool in (await client.list_tools()).tools}

    session(home, mode, work)


def test_a_low_level_session_is_pinged_and_ends_by_itself(home: Path) -> None:
    async def whole() -> None:
        with anyio.fail_after(server.LIMIT):
            async with stdio_client(parameters(home)) as (read, write), ClientSession(read, write) as one:
                started = await one.initialize()
                assert started.protocol_version == HANDSHAKE[-1]
                await one.send_ping()
                answers: list[Any] = []

                async def ask(query: str) -> None:
                    answers.append(await one.call_tool("recall", {"query": query}))

                async with anyio.create_task_group() as group:
                    for query in ("greeting", "limiter", "refactor"):
                        group.start_soon(functools.partial(ask, query))
                assert len(answers) == 3

    anyio.run(whole)
