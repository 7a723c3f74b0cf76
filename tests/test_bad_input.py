"""Bad input costs the value it stands in, never the session: cuts, wrong values, wrong order, wrong ids."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sessions import (
    Conversation,
    Session,
    archive,
    item,
    pretty,
    read,
    text,
    tool_result,
    tool_use,
    tools,
    wrapped,
)
from timelimit import within

from backstory.errors import InputError, ReadError
from backstory.schema.record import Record, record_json
from backstory.schema.step import Step

SLOW = settings(deadline=None, suppress_health_check=list(HealthCheck))


def document(record: Record) -> Any:
    """A record as strict JSON, which refuses NaN and half characters."""
    printed = json.dumps(record_json(record), allow_nan=False, ensure_ascii=False)
    return json.loads(printed.encode("utf-8"))


def small(root: Path) -> Session:
    """A session with a bit of everything, other scripts included."""
    session = Session(root)
    session.prompt("Prüfe das 日本 😀")
    session.call("run_commands", {"commands": ["ls", "make"]}, "call_1")
    failed = item("make", "[Command exited with code 2]\nnein", "Command exited with code 2")
    session.result("call_1", [item("ls", "a.py"), failed])
    session.reply(
        {"type": "thinking", "thinking": "Hm."},
        "Ich sehe.",
        tool_use("call_2", "editor", {"path": "a.py", "old_text": "a", "new_text": "b"}),
        tool_use("call_3", "read_files", {"files": [{"path": "a.py", "start_line": 1}]}),
        metadata={"modelToolActivities": [{"toolCallId": "srv_1", "toolName": "web_search", "input": {}}]},
    )
    session.result("call_2", json.dumps(item("edit:a.py", "Edited a.py")))
    session.result("call_3", [item("a.py:1-EOF", "1 | b")])
    session.add(
        "user", [text(wrapped("Und dies?")), {"type": "image", "data": "aGVsbG8=", "mediaType": "image/png"}]
    )
    session.reply("Fertig.")
    return session


def by_message(record: Record) -> dict[int, list[Step]]:
    """The steps by the message in which they stand."""
    found: dict[int, list[Step]] = {}
    for step in record.steps:
        pointer = re.match(r"/messages/(\d+)", step.origin.pointer)
        if pointer:
            found.setdefault(int(pointer[1]), []).append(step)
    return found


# --- Cut files ---------------------------------------------------------------------------------------------


def ends(data: bytes) -> list[int]:
    """Where each message of a pretty-printed file ends, in bytes."""
    return [found.end() for found in re.finditer(rb"\n    \}", data)]


@pytest.mark.parametrize("tail", [b"", b"\0" * 700], ids=["cut", "cut and filled up with NUL bytes"])
def test_a_file_cut_at_any_byte_keeps_every_whole_message(tmp_path: Path, tail: bytes) -> None:
    session = small(tmp_path)
    session.manifest = None
    whole = by_message(session.read())
    data = session.file.read_bytes()
    stops = ends(data)
    results = {"call_1": 2, "call_2": 4, "call_3": 5}
    for cut in range(len(data) - 1):
        session.file.write_bytes(data[:cut] + tail)
        count = sum(stop <= cut for stop in stops)
        try:
            found = by_message(read(session.folder))
        except (ReadError, InputError) as error:
            assert count == 0, (cut, error)
            continue
        assert sorted(found) == [number for number in sorted(whole) if number < count], cut
        for number, steps in found.items():
            for now, before in zip(steps, whole[number], strict=True):
                assert (now.id, now.at, now.turn_id) == (before.id, before.at, before.turn_id), cut
                waits = results.get(now.id.partition("#")[0], -1) >= count
                assert now.outcome == ("unknown" if waits else before.outcome), cut
                assert waits or now.payload == before.payload, cut


def test_a_cut_file_says_what_was_read_of_it(tmp_path: Path) -> None:
    session = small(tmp_path).write()
    data = session.file.read_bytes()
    session.file.write_bytes(data[: ends(data)[3] + 9])
    fidelity = read(session.folder).session.fidelity
    assert not fidelity.whole
    assert [(cut.file, cut.messages, cut.size) for cut in fidelity.salvaged] == [
        (session.file.name, 4, ends(data)[3] + 9)
    ]


def test_the_old_tail_after_a_shorter_rewrite_costs_nothing(tmp_path: Path) -> None:
    """Cline's command line writes over the file and cuts it afterwards: between the two an old end stands there."""
    session = small(tmp_path).write()
    before = session.read()
    data = session.file.read_bytes()
    session.file.write_bytes(data + data[-300:])
    assert [step.id for step in read(session.folder).steps] == [step.id for step in before.steps]


EMPTY = {
    "empty": b"",
    "blank": b" \n",
    "NUL bytes": b"\0" * 4096,
    "null": b"null",
    "a number": b"0",
    "text": b'"messages"',
    "an array": b"[]",
    "an array of messages": b'[{"id":"a","role":"user","content":"x"}]',
    "an object": b"{}",
    "messages null": b'{"version":1,"messages":null}',
    "messages an object": b'{"version":1,"messages":{}}',
    "messages text": b'{"version":1,"messages":"x"}',
    "HTML": b"<!doctype html><p>messages",
    "UTF-16": '{"messages":[]}'.encode("utf-16"),
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    "an unfinished escape": b'{"version":1,"x":"\\u12',
}


@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY)
def test_what_is_no_messages_file_is_named_and_leaves_the_prompt(tmp_path: Path, data: bytes) -> None:
    """The manifest still knows what was asked: a messages file that says nothing takes that away from nobody."""
    session = Session(tmp_path).write()
    session.file.write_bytes(data)
    record = read(session.folder)
    assert [step.id for step in record.steps] == ["manifest#prompt"]
    assert not record.session.fidelity.whole or record.session.fidelity.notes


@pytest.mark.parametrize("data", EMPTY.values(), ids=EMPTY)
def test_what_is_no_messages_file_without_a_manifest_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    session = Session(tmp_path)
    session.manifest = None
    session.write().file.write_bytes(data)
    with pytest.raises(ReadError, match=re.escape(session.file.name)):
        read(session.folder)


# --- Any value in any field --------------------------------------------------------------------------------

VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "huge": 1e308,
    "40 digits": 10**40,
    "400 digits": 10**400,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "empty text": "",
    "text": "a/b ~1 #0",
    "superscript two": "²",
    "digits": "1796026000000",
    "a lone surrogate": "x\ud800y",
    "NUL": "a\0b",
    "escape": "\x1b[2J\u202e",
    "empty array": [],
    "arrays": [[[]], [None]],
    "mixed array": [1, None, "x", {"type": "text"}],
    "empty object": {},
    "object": {"type": "tool_use", "id": {"a": [1]}, "": 10**30},
    "list of a list as id": [{"toolCallId": [], "toolName": {}, "type": [], "text": []}],
    "deep": json.loads("[" * 300 + "]" * 300),
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but its root."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*at, key)
        yield from places(child, (*at, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at a place."""
    changed = copy.deepcopy(value)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = new
    return changed


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_in_any_field_of_a_messages_file_leaves_the_other_messages(
    tmp_path: Path, value: Any
) -> None:
    session = small(tmp_path)
    before = by_message(session.read())
    whole = session.document()
    broken: list[str] = []
    for place in places(whole):
        if place == ("messages",):
            continue
        session.file.write_bytes(pretty(put(whole, place, value)))
        try:
            record = read(session.folder)
            document(record)
        except Exception as error:
            broken.append(f"{place}: {type(error).__name__}: {error}")
            continue
        found = by_message(record)
        touched = place[1] if place[0] == "messages" else None
        for number, steps in before.items():
            told = {step.id for step in found.get(number, ())}
            if number != touched and told != {step.id for step in steps}:
                broken.append(f"{place}: message {number} reads {sorted(told)}")
    assert broken == []


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_in_any_field_is_archived_as_it_is_read(tmp_path: Path, value: Any) -> None:
    """Each broken session is one of many: a fault of one must not keep the others from being read."""
    root = tmp_path / "sessions"
    whole = small(root).document()
    written = []
    for number, place in enumerate(places(whole)):
        if place != ("messages",):
            session = Session(root, f"17960260{number:05d}_abcde").write()
            session.file.write_bytes(pretty(put(whole, place, value)))
            written.append((place, session))
    with archive(tmp_path) as kept:
        report = kept.sync([root])
        assert [(left.path, left.reason) for left in report.failed] == []
        for place, session in written:
            stored, fresh = document(kept.record(session.session_id)), document(read(session.folder))
            for name in ("segments", "actors", "turns", "steps"):
                assert stored[name] == fresh[name], place


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_in_any_field_of_a_manifest_leaves_the_conversation(tmp_path: Path, value: Any) -> None:
    session = small(tmp_path)
    assert session.manifest is not None
    point = {"ref": "abc", "createdAt": session.start + 1500, "runCount": 1, "kind": "commit"}
    session.manifest |= {"ended_at": "2026-11-30T08:10:52.668Z", "exit_code": 0}
    session.manifest["metadata"] |= {
        "title": "Title",
        "git": {"branch": "main"},
        "checkpoint": {"latest": point, "history": [point]},
        "usage": {"inputTokens": 1, "totalCost": 0.1},
        "fork": {"forkedFromSessionId": "1796025000000_zzzzz", "forkedAt": session.start},
        "importedFrom": {"tool": "codex", "sourceSessionId": "x", "importedAt": session.start},
        "autoApproveTools": {"run_commands": True},
        "terminal_marker": "x",
    }
    ids = [step.id for step in session.read().steps]
    whole = session.manifest
    broken = []
    for place in places(whole):
        session.manifest = put(whole, place, value)
        try:
            record = session.read()
            document(record)
        except Exception as error:
            broken.append(f"{place}: {type(error).__name__}: {error}")
            continue
        if [step.id for step in record.steps] != ids:
            broken.append(f"{place}: {[step.id for step in record.steps]}")
    assert broken == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["text", "tool_use", "tool_result", "call_1", "msg_00000001", "user", "assistant"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "id", "text", "content", "input", "role", "ts", "metadata", "query", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(SLOW, max_examples=150)
@given(data=st.data())
def test_random_values_in_random_places_never_crash(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    session = small(tmp_path_factory.mktemp("random"))
    whole = session.document()
    for _ in range(data.draw(st.integers(1, 4))):
        whole = put(
            whole,
            data.draw(st.sampled_from([p for p in places(whole) if p != ("messages",)])),
            data.draw(JSON),
        )
    session.write().file.write_bytes(pretty(whole))
    record = read(session.folder)
    document(record)
    ids = [step.id for step in record.steps]
    assert len(ids) == len(set(ids))


@settings(SLOW, max_examples=80)
@given(st.lists(JSON, max_size=5))
def test_random_messages_never_crash(tmp_path_factory: pytest.TempPathFactory, messages: list[Any]) -> None:
    session = Session(tmp_path_factory.mktemp("random"))
    session.messages = [*messages, session.prompt("Still here")]
    record = session.read()
    document(record)
    assert record.steps[-1].id.startswith("msg_00000000") or messages
    assert "Still here" in json.dumps(document(record)["steps"])


# --- Ids ---------------------------------------------------------------------------------------------------

IDS = [
    "",
    "a",
    "a#0",
    "a~2",
    "@0",
    "@1",
    "call_1",
    "a/a",
    "agent_1_x/a",
    "agent_1_x",
    "manifest",
    "root",
    "^1",
    "a#0^1",
    "../x",
]


@settings(SLOW, max_examples=120)
@given(
    lead=st.lists(st.sampled_from([None, *IDS]), min_size=1, max_size=5),
    calls=st.lists(st.sampled_from([None, *IDS]), max_size=4),
    child=st.lists(st.sampled_from([None, *IDS]), max_size=3),
)
def test_ids_are_unique_whatever_the_file_says(
    tmp_path_factory: pytest.TempPathFactory, lead: list[Any], calls: list[Any], child: list[Any]
) -> None:
    tmp_path = tmp_path_factory.mktemp("ids")
    session = Session(tmp_path / "sessions")

    def fill(conversation: Conversation, ids: list[Any]) -> None:
        for number, message_id in enumerate(ids):
            own = ... if message_id is None else message_id
            conversation.prompt(f"Prompt {number}", id=own)
            conversation.reply("Answer", id=own)

    fill(session, lead)
    for call in calls:
        session.reply({**tool_use(call or "", "run_commands", {"commands": ["a", "b"]})})
        session.result(call or "", [item("a", "1")])
    fill(session.child("agent_1_x"), child)
    record = session.read()
    for ids in (
        [step.id for step in record.steps],
        [turn.id for turn in record.turns],
        [call.key for call in record.calls],
    ):
        assert len(ids) == len(set(ids)), ids
    with archive(tmp_path) as kept:
        kept.sync([session.root])
        stored = kept.record(session.session_id)
    assert stored.steps == record.steps
    assert stored.turns == record.turns


# --- No text is lost ---------------------------------------------------------------------------------------


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value that is marked as one to find again."""
    if isinstance(value, str):
        yield from re.findall(r"<<\w+>>", value)
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


@settings(SLOW, max_examples=150)
@given(data=st.data())
def test_permuted_repeated_and_missing_results_lose_no_text(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    session = Session(tmp_path_factory.mktemp("results"))
    session.prompt("<<prompt>>")
    results: list[Any] = []
    for number in range(data.draw(st.integers(1, 3))):
        blocks, kinds = (
            [],
            data.draw(st.lists(st.sampled_from(["run", "read", "search", "mcp"]), min_size=1, max_size=3)),
        )
        for place, kind in enumerate(kinds):
            call = data.draw(st.sampled_from([f"call_{number}_{place}", "call_same"]))
            names = [f"<<{kind}_{number}_{place}_{entry}>>" for entry in range(data.draw(st.integers(1, 3)))]
            given_back = [item(name, f"<<out_{name[2:-2]}>>") for name in names]
            given_back = data.draw(st.lists(st.sampled_from(given_back), max_size=4))
            if kind == "mcp":
                blocks.append(tool_use(call, "lab__x", {"names": names}))
                results.append(tool_result(call, json.dumps({"content": [text(names[0] + "<<mcp_out>>")]})))
                continue
            tool, key = {
                "run": ("run_commands", "commands"),
                "read": ("read_files", "paths"),
                "search": ("search_codebase", "queries"),
            }[kind]
            blocks.append(tool_use(call, tool, {key: names}))
            results.append(tool_result(call, given_back, is_error=data.draw(st.booleans())))
        session.reply("<<said>>", *blocks)
        shown = data.draw(st.permutations(results))[: data.draw(st.integers(0, len(results)))]
        for result in shown:
            session.add("user", [result])
    record = session.read()
    told = set(strings(document(record)["steps"]))
    assert set(strings(session.messages)) - told == set()


UNTYPED: dict[str, Any] = {
    "an unknown block": {"type": "citation", "quote": "<<kept>>", "source": {"url": "<<url>>"}},
    "a block without a type": {"value": "<<kept>>"},
    "text that is an object": {"type": "text", "text": {"value": "<<kept>>", "annotations": []}},
    "text that is an array": {"type": "text", "text": ["<<kept>>", "<<more>>"]},
    "thinking that is an object": {"type": "thinking", "thinking": {"summary": "<<kept>>"}},
    "a string among the blocks": "<<kept>>",
    "a long value of the wrong type": {"type": "text", "text": ["x" * 200, "<<kept>>"]},
    "a tool name that is an object": {
        "type": "tool_use",
        "id": "c",
        "name": {"x": "<<kept>>"},
        "input": {"a": "<<in>>"},
    },
    "a result with an error as text": {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": "<<kept>>",
        "is_error": "yes",
    },
}


@pytest.mark.parametrize(
    "beside", ["fine", "half \ud83d", "inf"], ids=["alone", "beside half an emoji", "beside infinity"]
)
@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("block", UNTYPED.values(), ids=UNTYPED)
def test_what_is_not_understood_is_kept_raw(tmp_path: Path, role: str, beside: str, block: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    more = {"x": float("inf")} if beside == "inf" else {}
    session.add(role, [text(beside), block], **more)
    told = set(strings(document(session.read())["steps"]))
    assert set(strings(block)) - told == set()


@pytest.mark.parametrize(
    "content", [{"type": "custom", "value": "<<kept>>"}, {"type": "text", "text": "<<kept>>"}], ids=str
)
def test_content_that_is_one_block_is_kept(tmp_path: Path, content: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.add("assistant", content)
    assert "<<kept>>" in json.dumps(document(session.read())["steps"])


@pytest.mark.parametrize("role", ["system", "developer", "tool", "", None, 5], ids=repr)
def test_a_message_of_an_unknown_role_keeps_its_text(tmp_path: Path, role: Any) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.add(role, [text("<<kept>>")])
    record = session.read()
    assert "<<kept>>" in json.dumps(document(record)["steps"])
    assert len(record.turns) == 1


# --- Depth and size ----------------------------------------------------------------------------------------

DEPTHS = [100, 200, 300, 400, 450, 480, 490, 500, 600, 800, 900, 950, 980, 1000, 2000, 100_000]
DEEP = {
    "a tool's input": ("messages", 1, "content", 0, "input", "x"),
    "a tool's result": ("messages", 2, "content", 0, "content", 0, "result"),
    "a block's text": ("messages", 3, "content", 1, "text"),
    "metadata": ("messages", 3, "metadata", "x"),
    "a whole block": ("messages", 3, "content", 4),
    "the document's head": ("x",),
    "the time": ("messages", 3, "ts"),
}


@pytest.mark.parametrize("place", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("kind", ["[]", "{}"], ids=["arrays", "objects"])
def test_deep_values_cost_their_message_at_most(tmp_path: Path, place: tuple[Any, ...], kind: str) -> None:
    session = small(tmp_path / "sessions")
    session.messages[3]["content"].append({"type": "x"})
    session.messages[1]["content"][0]["input"]["x"] = None
    before = by_message(session.read())
    template = (
        pretty(put(session.document(), place[:-1], {**parent(session.document(), place), place[-1]: "@@"}))
        if isinstance(parent(session.document(), place), dict)
        else pretty(put(session.document(), place, "@@"))
    )
    touched = place[1] if place[0] == "messages" else None
    broken = []
    with archive(tmp_path) as kept:
        for depth in DEPTHS:
            nested = "[" * depth + "]" * depth if kind == "[]" else '{"a":' * depth + "1" + "}" * depth
            session.file.write_bytes(template.replace(b'"@@"', nested.encode()))
            try:
                record = read(session.folder)
                found = by_message(record)
                document(record)
                report = kept.ingest(str(session.folder))
            except Exception as error:
                broken.append(f"{depth}: {type(error).__name__}: {str(error)[:80]}")
                continue
            broken += [f"{depth}: {left.reason}" for left in report.failed]
            lost = [
                number
                for number, steps in before.items()
                if number != touched
                and [step.id for step in found.get(number, ())] != [step.id for step in steps]
            ]
            if lost:
                broken.append(f"{depth}: messages {lost} lost")
    assert broken == []


def parent(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        value = value[key]
    return value


@pytest.mark.parametrize("name", ["metadata", "prompt", "x"])
def test_deep_values_in_a_manifest_leave_the_conversation(tmp_path: Path, name: str) -> None:
    session = small(tmp_path / "sessions").write()
    ids = [step.id for step in read(session.folder).steps]
    assert session.manifest is not None
    template = pretty({**session.manifest, name: "@@"})
    broken = []
    for depth in DEPTHS:
        session.manifest_file.write_bytes(template.replace(b'"@@"', b"[" * depth + b"]" * depth))
        try:
            record = read(session.folder)
            document(record)
        except Exception as error:
            broken.append(f"{depth}: {type(error).__name__}: {str(error)[:80]}")
            continue
        if [step.id for step in record.steps] != ids:
            broken.append(f"{depth}: {[step.id for step in record.steps]}")
    assert broken == []


LINE = "x" * 10_000_000
HUGE: dict[str, tuple[str, Any, Any]] = {
    "an output": ("run_commands", {"commands": ["a"]}, [item("a", LINE)]),
    "a command": ("run_commands", {"commands": [f"echo {LINE}"]}, [item("?", "x")]),
    "a read": ("read_files", {"path": "a"}, [item("a", LINE)]),
    "an edit": ("editor", {"path": "a", "old_text": LINE, "new_text": LINE + "y"}, "ok"),
    "a patch": ("apply_patch", {"input": f"*** Begin Patch\n*** Add File: a\n+{LINE}\n*** End Patch"}, "ok"),
    "a patch of a million lines": (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Add File: a\n" + "+x\n" * 1_000_000},
        "ok",
    ),
    "an edit of many lines": (
        "editor",
        {"path": "a", "old_text": "a\n" * 300_000, "new_text": "b\n" * 300_000},
        "ok",
    ),
    "any other tool": ("lab__x", {"a": LINE}, LINE),
}


@pytest.mark.parametrize(("name", "value", "content"), HUGE.values(), ids=HUGE)
def test_ten_megabytes_on_one_line(tmp_path: Path, name: str, value: Any, content: Any) -> None:
    session = Session(tmp_path / "sessions")
    session.prompt("Do it")
    session.ran(name, value, content)
    session.write()
    with within(10), archive(tmp_path) as kept:
        record = read(session.folder)
        kept.sync([session.root])
        assert kept.record(session.session_id).steps == record.steps
    assert [step.outcome for step in tools(record)] == ["ok"]


def test_many_unknown_blocks_take_time_in_proportion(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.prompt("Do it")
    session.add(
        "assistant", [{"type": "citation", "quote": f"quote {number} " + "x" * 80} for number in range(8000)]
    )
    session.write()
    with within(5):
        record = read(session.folder)
    assert len(record.steps) == 8001


def test_many_results_in_another_order_take_time_in_proportion(tmp_path: Path) -> None:
    names = [f"echo {number}" for number in range(15_000)]
    session = Session(tmp_path)
    session.prompt("Do it")
    session.ran("run_commands", {"commands": names}, [item(f"~{name}", name) for name in names[::-1]])
    session.write()
    with within(5):
        record = read(session.folder)
    assert len(record.steps) == 15_001
