"""The MCP server as a client meets it: frames in, frames out, against the real process over the recordings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import memory_server as server
import pytest
from memory_server import asked, call, code_of, lines, request, run, text_of
from test_layers import modules_after

from backstory.mcp.protocol import ENVELOPE, HANDSHAKE

NAMES = ["recall", "open", "recent", "remember", "forget", "usage"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that no test changes."""
    return server.learned(tmp_path_factory.mktemp("memory") / "home")


# The handshake


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_known_version_is_answered_with_itself(home: Path, version: str) -> None:
    (answer,) = asked(home, request("initialize", {"protocolVersion": version, "capabilities": {}}))
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["capabilities"] == {"tools": {}}
    assert answer["result"]["serverInfo"]["name"] == "backstory"


@pytest.mark.parametrize(
    "params", [{"protocolVersion": "2099-01-01"}, {"protocolVersion": ENVELOPE}, {}, None]
)
def test_any_other_version_is_answered_with_the_newest_that_has_a_handshake(home: Path, params: Any) -> None:
    (answer,) = asked(home, request("initialize", params))
    assert answer["result"]["protocolVersion"] == HANDSHAKE[-1]


def test_requests_before_the_handshake_are_answered(home: Path) -> None:
    pong, listed = asked(home, request("ping", id_=1), request("tools/list", id_=2))
    assert pong == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert [tool["name"] for tool in listed["result"]["tools"]] == NAMES


def test_the_version_without_a_handshake_is_spoken_where_a_request_says_so(home: Path) -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": ENVELOPE}}
    found, listed, called, bare = asked(
        home,
        request("server/discover", meta, 1),
        request("tools/list", meta, 2),
        request("tools/call", {**meta, "name": "recent", "arguments": {"project": "*"}}, 3),
        request("tools/list", None, 4),
    )
    assert found["result"]["supportedVersions"] == [*HANDSHAKE, ENVELOPE]
    for answer in (found, listed, called):
        assert answer["result"]["resultType"] == "complete"
        assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "backstory"
    assert listed["result"]["ttlMs"] > 0
    assert set(bare["result"]) == {"tools"}


def test_an_unknown_version_in_a_request_is_refused_with_those_that_are_known(home: Path) -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
    (answer,) = asked(home, request("tools/list", meta))
    assert code_of(answer) == -32022
    assert answer["error"]["data"] == {"supported": [*HANDSHAKE, ENVELOPE], "requested": "2099-01-01"}


# JSON-RPC


@pytest.mark.parametrize(
    "id_", ["a", "", 'Ω"\\\n', 0, -1, 2**40, 10**40, 1.5, None, "\ud800"], ids=lambda value: repr(value)[:12]
)
def test_an_id_comes_back_as_it_was_given(home: Path, id_: Any) -> None:
    (answer,) = asked(home, request("ping", id_=id_))
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)


@pytest.mark.parametrize("id_", [True, [1], {"a": 1}], ids=str)
def test_what_cannot_be_an_id_is_refused(home: Path, id_: Any) -> None:
    (answer,) = asked(home, request("ping", id_=id_))
    assert (code_of(answer), answer["id"]) == (-32600, None)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"nonsense\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"\n', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}\n', -32700),
        (b"[" * 200_000 + b"\n", -32700),
        (b"17\n", -32600),
        (b"[]\n", -32600),
        (b"[" + b"1," * 1000 + b"1]\n", -32600),
        (b"{}\n", -32600),
        (b'{"id":1,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}\n', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}\n', -32602),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_wrong_message_gets_the_code_of_its_fault_and_the_next_one_its_answer(
    home: Path, data: bytes, code: int
) -> None:
    status, out, _ = run(home, data + lines(request("ping", id_="next")))
    answer, pong = server.frames(out)
    assert (status, code_of(answer)) == (0, code)
    assert pong == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_notifications_and_answers_get_no_answer(home: Path) -> None:
    silent = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "nobody/knows"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    ]
    assert asked(home, *silent, silent, request("ping", id_=9)) == [{"jsonrpc": "2.0", "id": 9, "result": {}}]


def test_a_batch_is_answered_as_a_batch(home: Path) -> None:
    batch = [request("ping", id_=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 5]
    (answers,) = asked(home, batch)
    assert [answer["id"] for answer in answers] == [1, None]
    assert code_of(answers[1]) == -32600


def test_a_bad_byte_or_half_a_surrogate_costs_a_character_and_not_the_message(home: Path) -> None:
    broken = lines(call("recall", query="gXreeting")).replace(b"X", b"\xff")
    half = lines(call("recall", 2, query="greeting \ud83d"))
    status, out, _ = run(home, broken + half)
    assert (status, [answer["id"] for answer in server.frames(out)]) == (0, [1, 2])


# Framing


def headed(message: Any, *, ends: str = "\r\n") -> bytes:
    body = json.dumps(message).encode()
    return f"content-length: {len(body)}{ends}Content-Type: application/json{ends}{ends}".encode() + body


def unheaded(out: bytes) -> list[Any]:
    """The messages of an output in which each stands behind a header."""
    found = []
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        length = int(head.removeprefix(b"Content-Length: "))
        found.append(json.loads(rest[:length]))
        out = rest[length:]
    return found


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_a_client_that_frames_by_length_is_answered_so(home: Path, ends: str) -> None:
    data = headed(request("ping", id_=1), ends=ends) + headed(request("tools/list", id_=2), ends=ends)
    status, out, _ = run(home, data)
    assert (status, [answer["id"] for answer in unheaded(out)]) == (0, [1, 2])


def test_each_message_is_answered_in_its_own_framing(home: Path) -> None:
    _, out, _ = run(
        home, b"\xef\xbb\xbf\r\n\n" + lines(request("ping", id_=1)) + headed(request("ping", id_=2))
    )
    line, _, rest = out.partition(b"\n")
    assert json.loads(line)["id"] == 1
    assert unheaded(rest)[0]["id"] == 2


def test_a_last_message_without_a_line_end_is_answered(home: Path) -> None:
    _, out, _ = run(home, lines(request("ping")).rstrip(b"\n"))
    assert [answer["id"] for answer in server.frames(out)] == [1]


def test_a_message_that_is_far_too_long_is_refused_and_the_next_one_answered(home: Path) -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (33 * 1024 * 1024) + b'"}\n'
    _, out, _ = run(home, data + lines(request("ping", id_=2)))
    refused, pong = server.frames(out)
    assert (code_of(refused), pong["id"]) == (-32700, 2)


# The process


def test_it_ends_when_its_input_ends(home: Path) -> None:
    assert run(home, b"") == (0, b"", b"")


def test_it_ends_quietly_when_nobody_reads_its_answers(home: Path) -> None:
    process = subprocess.Popen(
        [*server.PROGRAM, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server.environment(home),
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(lines(*(request("ping", id_=n) for n in range(5000))), timeout=server.LIMIT)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_an_interrupt_ends_it_quietly(home: Path) -> None:
    process = subprocess.Popen(
        [*server.PROGRAM, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server.environment(home),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines(request("ping")))
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=server.LIMIT)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_what_anything_else_prints_goes_to_standard_error(home: Path) -> None:
    """Also what is written past Python, as a library in C does."""
    code = (
        "import os\n"
        "from backstory.mcp.serve import serve\n"
        "def call(name, arguments):\n"
        "    print('stray')\n"
        "    os.write(1, b'straight\\n')\n"
        "    return 'text'\n"
        "serve(call)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=lines(call("recent")),
        capture_output=True,
        timeout=server.LIMIT,
        check=True,
    )
    (answer,) = server.frames(done.stdout)
    assert text_of(answer) == "text"
    assert sorted(done.stderr.split()) == [b"straight", b"stray"]


def test_the_handshake_and_the_list_of_tools_load_neither_the_archive_nor_a_reader(home: Path) -> None:
    data = lines(request("initialize"), request("tools/list", id_=2))
    script = (
        "import os\nread, write = os.pipe()\n"
        f"os.write(write, {data!r})\nos.close(write)\nos.dup2(read, 0)\n"
        "from backstory.cli.main import run\nassert run(['mcp']) == 0\nos.dup2(2, 1)\n"
        "sys.stdout = sys.stderr = open(os.environ.get('MODULES', os.devnull), 'w')"
    )
    place = home.parent / "modules"
    os.environ["MODULES"] = str(place)
    try:
        modules_after(script)
    finally:
        del os.environ["MODULES"]
    loaded = set(place.read_text().split())
    assert "backstory.mcp.serve" in loaded
    heavy = {
        "sqlite3",
        "zstandard",
        "json",
        "rich",
        "watchfiles",
        "subprocess",
        "asyncio",
        "backstory.archive",
    }
    assert not loaded & heavy
    assert not {name for name in loaded if name.startswith(("backstory.sources", "backstory.memory"))}


def test_nothing_is_made_on_disk_before_a_tool_needs_it(tmp_path: Path) -> None:
    asked(tmp_path, request("initialize"), request("tools/list", id_=2))
    assert not (tmp_path / "backstory").exists()
