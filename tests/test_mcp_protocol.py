"""The MCP server as a client meets it: frames in, frames out, against the real process over the recordings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import memory_server as server
import pytest
from memory_server import FIRST_LINE, Live, asked, call, lines, ours, request, run, text_of
from test_layers import modules_after

from backstory import Archive
from backstory.mcp.protocol import ENVELOPE, HANDSHAKE
from backstory.mcp.text import tokens
from backstory.mcp.tools import tools

NAMES = ["recall", "open", "recent", "remember", "forget", "usage"]
TALE = "conversation/1796027822662_klx20"
"""A recording with three exchanges."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that no test changes."""
    return server.learned(tmp_path_factory.mktemp("memory") / "home")


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(home, tmp_path / "home"))


def code_of(answer: dict[str, Any]) -> int:
    code: int = answer["error"]["code"]
    return code


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


# The tools


def test_the_tools_are_what_a_client_expects(home: Path) -> None:
    (answer,) = asked(home, request("tools/list"))
    assert answer["result"]["tools"] == tools()
    for tool in tools():
        assert set(tool) == {"name", "description", "inputSchema", "annotations"}
        assert len(tool["description"]) < 700
        assert tool["inputSchema"]["type"] == "object"
        for schema in tool["inputSchema"]["properties"].values():
            assert schema["description"]
    assert [tool["name"] for tool in tools() if not tool["annotations"]["readOnlyHint"]] == [
        "remember",
        "forget",
    ]


@pytest.mark.parametrize("name", ["recall", "open", "recent", "remember", "forget", "usage"])
def test_a_description_says_when_to_call_the_tool(name: str) -> None:
    words = next(tool["description"] for tool in tools() if tool["name"] == name)
    assert "Call it" in words


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("recall", {}, "query is missing"),
        ("recall", {"query": None}, "query is missing"),
        ("recall", {"query": "  "}, "query has to be a text"),
        ("recall", {"query": 5}, "query has to be a text"),
        ("recall", {"query": "x" * 4001}, "query has to be a text of 1 to 4,000"),
        ("recall", {"query": "x", "limit": 0}, "limit has to be a whole number from 1 to 20"),
        ("recall", {"query": "x", "limit": True}, "limit has to be"),
        ("recall", {"query": "x", "limit": 2.5}, "limit has to be"),
        ("recall", {"query": "x", "limit": "5"}, "limit has to be"),
        (
            "recall",
            {"query": "x", "max_tokens": 199},
            "max_tokens has to be a whole number from 200 to 20,000",
        ),
        ("recall", {"query": "x", "since": "soon"}, "since has to be a date"),
        ("recall", {"querry": "x"}, '"querry" is not known. There is query'),
        ("recall", {"a\x1b[31m\n": 1}, '"a?[31m?" is not known'),
        ("open", {}, "source is missing"),
        ("forget", {"source": TALE}, "position is missing"),
        ("forget", {"source": "klx20", "position": 1}, "source has to be as cited"),
        ("usage", {"project": "a", "session": "b"}, "session and project exclude each other"),
    ],
)
def test_a_bad_argument_is_refused_by_its_name(
    home: Path, name: str, arguments: dict[str, Any], named: str
) -> None:
    (answer,) = asked(home, request("tools/call", {"name": name, "arguments": arguments}))
    assert code_of(answer) == -32602
    assert named in answer["error"]["message"]


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": "nope"}, {"name": "recall", "arguments": [1]}])
def test_a_call_of_no_tool_is_refused(home: Path, params: Any) -> None:
    (answer,) = asked(home, request("tools/call", params))
    assert code_of(answer) == -32602


def test_whole_numbers_may_come_as_floats_and_what_is_null_was_left_out(home: Path) -> None:
    (answer,) = asked(home, call("recall", query="greeting", limit=1.0, since=None))
    assert "1. conversation/" in text_of(answer)
    assert "2. conversation/" not in text_of(answer)


def test_recall_quotes_each_passage_with_its_source(home: Path) -> None:
    (answer,) = asked(home, call("recall", query="Rename the greeting in hello.py"))
    text = text_of(answer)
    assert text.startswith(f"{FIRST_LINE}\n")
    head = next(line for line in ours(text) if line.startswith("1. "))
    assert head.startswith(
        '1. conversation/1796026012127_2js90 position 1, project "basic", 2026-11-30 08:06'
    )
    assert "conversation cost: 7 calls without a price" in head
    assert "> Rename the greeting in hello.py" in text
    assert tokens(text) <= 1500


def test_an_error_that_was_mended_comes_with_what_made_it_pass(home: Path) -> None:
    (answer,) = asked(home, call("recall", query=server.ERROR))
    first = text_of(answer).partition("\n2. ")[0]
    assert f"conversation/{server.MENDED} position 1" in first
    assert "this failed before:\n> npm test\n" in first
    assert f"> {server.ERROR}" in first
    assert (
        "this made it pass, 4 s later, changed files:\n> /home/dev/work/demo/src/limiter.ts +1 -1\n" in first
    )
    assert "> - a.quota\n> + a?.quota" in first


def test_what_is_asked_for_limits_what_is_found(home: Path) -> None:
    one, none, future, other = asked(
        home,
        call("recall", 1, query="greeting", limit=1),
        call("recall", 2, query="zzyzx"),
        call("recall", 3, query="greeting", since="2099-01-01"),
        call("recall", 4, query="greeting", project="plan"),
    )
    assert text_of(one).count("conversation/") == 1
    assert text_of(none).startswith(f"{FIRST_LINE}\nNothing fits. 51 conversations are kept.")
    assert "Nothing fits" in text_of(future)
    assert text_of(other).count("conversation/") == text_of(other).count('project "plan"') == 1


def test_before_anything_is_learned_the_command_is_named(tmp_path: Path) -> None:
    recalled, recent = asked(tmp_path, call("recall", 1, query="x"), call("recent", 2))
    for answer in (recalled, recent):
        assert "Nothing is learned yet in the workspace default." in text_of(answer)
        assert "backstory learn" in text_of(answer)


def test_open_shows_a_passage_with_its_surroundings(home: Path) -> None:
    around, alone, first = asked(
        home,
        call("open", 1, source=TALE, position=2),
        call("open", 2, source=TALE, position=2, around=0),
        call("open", 3, source=TALE, around=5),
    )
    heads = [line for line in ours(text_of(around)) if "position" in line]
    assert [head.partition(":")[0] for head in heads] == ["Before it", "Opened", "After it"]
    assert "backstory show klx20 --turn 2" in text_of(around)
    assert "> plan the refactor" in text_of(alone)
    assert "Before it" not in text_of(alone)
    heads = [line for line in ours(text_of(first)) if "position" in line]
    assert [head.partition(",")[0].rpartition(" ")[2] for head in heads] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "source",
    [
        "conversation/nope",
        "fact/1",
        "fact/99999999999999999999",
        "e99999999999999999999",
        "f1",
        "%",
        "\x00",
        "🦀",
    ],
)
def test_what_is_not_there_is_an_error_for_the_agent_to_read(home: Path, source: str) -> None:
    opened, pong = asked(home, call("open", source=source), request("ping", id_=2))
    assert text_of(opened, failed=True)
    assert pong["result"] == {}


def test_recent_is_about_the_folder_of_the_client(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "shop"
    place.mkdir()
    session = server.mended(tmp_path / "sessions", "1796050000000_shop1")
    assert session.manifest is not None
    session.manifest.update(cwd=str(place), workspace_root=str(place))
    session.write()
    with Archive(env=server.environment(tmp_path)) as archive:
        archive.sync([tmp_path / "sessions"])
        archive.memory.learn()
    here, elsewhere, everywhere, named = (
        asked(tmp_path, call("recent"), folder=place)[0],
        asked(home, call("recent"))[0],
        asked(home, call("recent", project="*", limit=2))[0],
        asked(home, call("recent", project="VSM"))[0],
    )
    assert "conversation/1796050000000_shop1" in text_of(here)
    assert "Nothing of the folder" in text_of(elsewhere)
    assert 'project "*" shows all of them' in text_of(elsewhere)
    assert text_of(everywhere).count("conversation/") == 2
    assert text_of(named).count(TALE) == 3


def test_a_fact_is_kept_found_and_forgotten(own: Path) -> None:
    with Live(own) as live:
        assert live.tool("remember", text="The gateway speaks HTTP/2 only.", project="demo").startswith(
            'Kept in the workspace default as fact/1, project "demo", '
        )
        found = live.tool("recall", query="gateway HTTP/2")
        assert 'fact/1, project "demo"' in found
        assert "kept as a fact:\n> The gateway speaks HTTP/2 only." in found
        assert "> The gateway speaks HTTP/2 only." in live.tool("open", source="fact/1")
        assert live.tool("forget", source="fact/1").startswith("Forgotten for good: fact/1")
        assert "There is no fact" in live.tool("open", source="fact/1", failed=True)
        assert "forgotten" in live.tool("remember", text="the gateway speaks http/2 only.", failed=True)


def test_forgetting_takes_one_exchange_and_learning_does_not_bring_it_back(own: Path) -> None:
    with Live(own) as live:
        done = live.tool("forget", source=TALE, position=2)
        assert done.startswith(f"Forgotten for good: {TALE} position 2")
        assert "> plan the refactor" in done
        assert "has no exchange 2" in live.tool("open", source=TALE, position=2, failed=True)
        with Archive(env=server.environment(own)) as archive:
            archive.memory.learn()
        assert "refactor" not in live.tool("recall", query="plan the refactor")
        assert TALE in live.tool("open", source=TALE, position=1)


def test_a_source_that_is_a_pattern_forgets_nothing(own: Path) -> None:
    with Live(own) as live:
        for source in ("conversation/%", f"{TALE[:-1]}%", "conversation/%klx20"):
            live.tool("forget", source=source, position=1, failed=True)
        assert "position 1" in live.tool("open", source=TALE, position=1)


def test_the_workspace_is_that_of_the_folder_or_the_one_that_is_named(own: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    place.mkdir()
    with Archive(env=server.environment(own)) as archive:
        archive.memory.create_workspace("work")
        archive.memory.claim(str(place), "work")
    (there,) = asked(own, call("recall", query="greeting"), folder=place)
    assert "Nothing is learned yet in the workspace work." in text_of(there)
    _, out, _ = run(own, lines(call("recall", query="greeting")), "mcp", "--workspace", "work")
    assert "workspace work" in text_of(server.frames(out)[0])
    _, out, _ = run(own, lines(call("recall", query="greeting")), "mcp", "--workspace", "nope")
    assert 'There is no workspace "nope"' in text_of(server.frames(out)[0], failed=True)


def test_usage_keeps_the_kinds_apart_and_says_how_current_it_is(own: Path) -> None:
    every, session, folder, newest = asked(
        own,
        call("usage", 1, project="*"),
        call("usage", 2, session="2js90"),
        call("usage", 3),
        call("usage", 4, project="basic"),
    )
    assert "reported: $0.02 for 2 calls" in text_of(every)
    assert "unpriced: " in text_of(every)
    assert "give each by itself, not their sum" in text_of(every)
    assert text_of(every).endswith("The figures are of now.")
    assert text_of(session).startswith('Session 1796026012127_2js90, project "basic", begun 2026-11-30')
    assert "No call to a model is recorded." in text_of(folder)
    assert "newest session: 1796026012127_2js90" in text_of(newest)


def test_usage_reads_what_is_new_unless_told_otherwise(own: Path) -> None:
    new = server.mended(own / ".cline/data/sessions", "1796050000000_newer")
    _, out, _ = run(own, lines(call("usage", session="newer")), "--no-sync")
    assert text_of(server.frames(out)[0], failed=True)
    (answer,) = asked(own, call("usage", session="newer"))
    assert text_of(answer).startswith(f"Session {new.session_id}")


# When something is wrong


def test_a_locked_archive_is_read_and_says_that_it_cannot_be_written(own: Path) -> None:
    holder = sqlite3.connect(own / "backstory/archive.db", isolation_level=None)
    server.mended(own / ".cline/data/sessions", "1796050000000_newer")
    try:
        with Live(own) as live:
            assert "conversation/" in live.tool("recall", query="greeting")
            holder.execute("BEGIN IMMEDIATE")
            assert "another process is writing" in live.tool("remember", text="A fact.", failed=True)
            assert "conversation/" in live.tool("recall", query="greeting")
            usage = live.tool("usage", project="*")
            assert "those of the last pass, not of now" in usage
            holder.execute("ROLLBACK")
            assert "fact/1" in live.tool("remember", text="A fact.")
    finally:
        holder.close()


def test_a_broken_archive_is_an_error_and_a_mended_one_is_used_again(own: Path) -> None:
    path = own / "backstory/archive.db"
    sound = path.read_bytes()
    with Live(own) as live:
        for beside in path.parent.glob("archive.db-*"):
            beside.unlink()
        path.write_bytes(b"no database at all" * 1000)
        assert "archive" in live.tool("recall", query="greeting", failed=True)
        assert live.ask(request("ping"))["result"] == {}
        path.write_bytes(sound)
        assert "conversation/" in live.tool("recall", query="greeting")


def test_an_archive_that_breaks_while_it_is_open_is_an_error(own: Path) -> None:
    path = own / "backstory/archive.db"
    with Live(own) as live:
        assert "conversation/" in live.tool("recall", query="greeting")
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (path.stat().st_size - 4096))
        os.utime(path)
        assert "disk image is malformed" in live.tool("open", source=TALE, failed=True)
        assert "archive" in live.tool("open", source=TALE, failed=True)
        assert live.ask(request("ping"))["result"] == {}


def test_an_archive_that_was_replaced_is_opened_anew(own: Path, tmp_path: Path) -> None:
    path = own / "backstory/archive.db"
    with Live(own) as live:
        assert "conversation/" in live.tool("recall", query="greeting")
        for file in path.parent.glob("archive.db*"):
            file.rename(tmp_path / file.name)
        assert "Nothing is learned yet" in live.tool("recall", query="greeting")


def test_a_home_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "backstory").write_text("a file where the folder belongs")
    answer, pong = asked(tmp_path, call("recall", query="x"), request("ping", id_=2))
    assert "archive" in text_of(answer, failed=True)
    assert pong["id"] == 2


@pytest.mark.skipif(os.name != "posix", reason="limits of a process are set the POSIX way")
def test_a_full_disk_is_an_error_and_reading_goes_on(own: Path) -> None:
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "from backstory.cli.main import main\nmain(['mcp'])"
    )
    with Live(own, [sys.executable, "-c", code]) as live:
        text = " ".join(f"fact{number}" for number in range(2000))
        assert "disk" in live.tool("remember", text=text, failed=True)
        assert "conversation/" in live.tool("recall", query="greeting")
        assert "Nothing fits" in live.tool("recall", query="fact17")


def test_settings_that_are_broken_are_named(own: Path) -> None:
    (own / "backstory/config.toml").write_text("idle_minutes = 'soon'")
    (answer,) = asked(own, call("recall", query="x"))
    assert "config.toml" in text_of(answer, failed=True)


def test_a_fault_of_ours_is_an_error_and_the_server_lives_on(own: Path) -> None:
    """Brought about by an archive that somebody changed by hand."""
    with sqlite3.connect(own / "backstory/archive.db") as connection:
        connection.execute("UPDATE exchange SET asked = x'00', paths = x'01'")
    connection.close()
    broken, pong = asked(own, call("open", source=TALE), request("ping", id_=2))
    assert "Something broke in Backstory (" in text_of(broken, failed=True)
    assert pong["id"] == 2


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the working folder of a process cannot go")
def test_the_folder_of_the_client_may_be_gone(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()
    code = f"import os\nos.rmdir({str(place)!r})\nfrom backstory.cli.main import main\nmain(['mcp'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=lines(call("recall", query="greeting")),
        capture_output=True,
        cwd=place,
        env=server.environment(home),
        timeout=server.LIMIT,
        check=True,
    )
    assert "conversation/" in text_of(server.frames(done.stdout)[0])


def test_a_client_that_works_nowhere_is_told_of_all_projects(home: Path) -> None:
    recent, usage = asked(home, call("recent", 1, limit=1), call("usage", 2), folder=Path(home.anchor))
    assert "The newest exchanges of all projects" in text_of(recent)
    assert text_of(usage).startswith("All projects, ")


def test_two_servers_share_an_archive(own: Path) -> None:
    with Live(own) as one, Live(own) as other:
        one.tool("remember", text="Shared between both.")
        assert "fact/1" in other.tool("recall", query="shared between")
        other.tool("forget", source="fact/1")
        assert "fact/1" not in one.tool("recall", query="shared between")
