"""Malformed and hostile input to the MCP server: it answers what comes next, and writes nothing but frames."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memory_server as server
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_server import call, frames, lines, request, run
from timelimit import within

from backstory.mcp.frames import Reader, framed
from backstory.mcp.protocol import Server

CODES = {-32700, -32600, -32601, -32602, -32022}
SOUND = [
    request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x"}}),
    request("tools/list", {}, "two"),
    call("recall", 3, query="greeting", limit=2),
    call("open", 4, source="conversation/x", position=1),
    request("tools/call", {"name": "usage", "arguments": {}}, 5),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]

Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def answers_of(data: bytes, read: Callable[[bytes], list[int]] | None = None) -> list[Any]:
    """What the server answers to an input, without a process around it; every answer is one sound message."""
    one = Server(lambda name, arguments: f"{name} {sorted(arguments)}")
    pieces = [data] if read is None else [data[start : start + 1] for start in range(len(data))]
    pieces.reverse()
    found = []
    with within(30):
        for frame in Reader(lambda _: pieces.pop() if pieces else b""):
            answer = one.fault(frame.fault) if frame.fault else one.answer(frame.data)
            if answer is not None:
                assert b"\n" not in answer
                found.append(json.loads(answer))
    return found


def check(answer: Any) -> None:
    """An answer is what the protocol knows."""
    for each in answer if isinstance(answer, list) else [answer]:
        assert each["jsonrpc"] == "2.0"
        assert "id" in each
        assert ("result" in each) != ("error" in each)
        if "error" in each:
            assert each["error"]["code"] in CODES
            assert each["error"]["message"].isprintable()


PING = request("ping", id_="after")
PONG = {"jsonrpc": "2.0", "id": "after", "result": {}}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.binary(max_size=80).filter(lambda data: b":" not in data), max_size=5))
def test_any_bytes_are_survived(parts: list[bytes]) -> None:
    answers = answers_of(b"\n".join(parts) + b"\n" + lines(PING))
    for answer in answers:
        check(answer)
    assert answers[-1] == PONG


@settings(max_examples=300, deadline=None)
@given(st.lists(Json, max_size=4))
def test_any_json_is_survived(values: list[Any]) -> None:
    answers = answers_of(lines(*values, PING))
    for answer in answers:
        check(answer)
    assert answers[-1] == PONG


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        ["initialize", "ping", "tools/list", "tools/call", "server/discover", "x\u2028\ud800", ""]
    ),
    Json,
    Json,
)
def test_any_id_and_any_params_are_survived(method: str, id_: Any, params: Any) -> None:
    answers = answers_of(lines(request(method, params, id_), PING))
    for answer in answers:
        check(answer)
    assert answers[-1] == PONG


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["recall", "open", "recent", "remember", "forget", "usage"]),
    st.dictionaries(
        st.sampled_from(["query", "source", "position", "limit", "since", "max_tokens", "text", "x"]),
        Json,
        max_size=5,
    ),
)
def test_any_arguments_are_taken_or_refused(name: str, arguments: dict[str, Any]) -> None:
    (answer, pong) = answers_of(lines(call(name, 1, **arguments), PING))
    check(answer)
    assert pong == PONG


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SOUND), st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_a_cut_or_changed_message_costs_itself_alone(message: Any, place: int, junk: bytes) -> None:
    whole = json.dumps(message).encode()
    place %= len(whole)
    cut = whole[:place]
    changed = whole[:place] + junk.replace(b"\n", b" ") + whole[place:]
    answers = answers_of(cut + b"\n" + changed + b"\n" + lines(PING))
    for answer in answers:
        check(answer)
    assert answers[-1] == PONG


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 9999999999999999999999999\r\n\r\n",
        b"Content-Length: 20\r\n",
        b"Content-Type: application/json\r\n\r\n",
        b"content-length : 0\r\nContent-Length: nine\r\n\r\n",
    ],
    ids=repr,
)
def test_a_broken_header_costs_itself_alone(head: bytes) -> None:
    refused, pong = answers_of(head + lines(PING))
    assert (refused["error"]["code"], pong) == (-32700, PONG)


def test_a_stream_that_ends_within_a_message_is_answered_and_ends() -> None:
    for data in (b"Content-Length: 50\r\n\r\n{}", b"Content-Length: 5", b"Content-Length: 5\r\n"):
        (refused,) = answers_of(data)
        assert refused["error"]["code"] == -32700


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SOUND), st.booleans()), max_size=6))
def test_frames_are_the_same_in_one_piece_and_byte_by_byte(messages: list[tuple[Any, bool]]) -> None:
    data = b"".join(framed(json.dumps(message).encode(), headed) for message, headed in messages)
    assert answers_of(data) == answers_of(data, lambda whole: list(whole))
    kinds = [frame.headed for frame in Reader(_at_once(data))]
    assert kinds == [headed for _, headed in messages]


def _at_once(data: bytes) -> Callable[[int], bytes]:
    left = [data]
    return lambda _: left.pop() if left else b""


def hostile(chance: random.Random) -> bytes:
    """One malformed line of a kind."""
    sound = json.dumps(chance.choice(SOUND)).encode()
    return chance.choice(
        [
            sound[: chance.randrange(len(sound))],
            bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
            .replace(b"\n", b"")
            .replace(b":", b""),
            b"\x00" * chance.randrange(1, 50),
            b'{"a":' * chance.choice((10, 5_000, 100_000)),
            b"[" * chance.choice((10, 5_000, 100_000)),
            b'{"jsonrpc":"2.0","id":' + b"9" * chance.choice((30, 5_000)) + b',"method":"ping"}',
            b'{"jsonrpc":"2.0","id":"' + b"i" * 100_000 + b'","method":"ping"}',
            sound.replace(b'"', b"'"),
            sound.replace(b"2.0", b"\xff\xfe"),
            sound + sound,
            b"Content-Length: nonsense\r\n\r",
            json.dumps([json.loads(sound)] * chance.randrange(30)).encode(),
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_process_answers_every_ping_between_hostile_lines(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    data, pings = b"", 60
    for number in range(pings):
        data += hostile(chance) + b"\n" + lines(request("ping", id_=f"ping {number}"))
    status, out, err = run(tmp_path, data)
    answers = frames(out)
    for answer in answers:
        check(answer)
    told = [each["id"] for each in answers if isinstance(each, dict) and str(each["id"]).startswith("ping ")]
    assert (status, err) == (0, b"")
    assert told == [f"ping {number}" for number in range(pings)]


def test_a_message_of_five_megabytes_is_answered(tmp_path: Path) -> None:
    long = request("ping", {"padding": "x" * 5_000_000}, 1)
    refused = call("remember", 2, text="x" * 5_000_000)
    status, out, _ = run(tmp_path, lines(long, refused, request("ping", id_=3)))
    first, second, third = frames(out)
    assert (status, first["result"], third["result"]) == (0, {}, {})
    assert second["error"]["code"] == -32602
    assert len(json.dumps(second)) < 500


def test_hostile_texts_reach_the_memory_and_are_searched_for_as_words(tmp_path: Path) -> None:
    queries = [
        '"',
        "'; DROP TABLE exchange; --",
        "a AND",
        "NEAR(",
        "*",
        "\x00",
        "a" * 4000,
        "ⓐ\u202e\ud800",
        "( OR )",
    ]
    status, out, _ = run(tmp_path, lines(*(call("recall", n, query=text) for n, text in enumerate(queries))))
    answers = frames(out)
    assert (status, len(answers)) == (0, len(queries))
    for answer in answers:
        assert server.text_of(answer).startswith(server.FIRST_LINE)
