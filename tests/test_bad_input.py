"""Bad input costs the value it stands in, never the session: cuts, wrong values, wrong order, wrong ids."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hostile import JSON, SLOW, VALUES, by_message, document, faults, places, put, small
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import (
    ID,
    Conversation,
    Session,
    archive,
    environment,
    item,
    pretty,
    read,
    text,
    tool_use,
)

from backstory import read_session
from backstory.errors import InputError, ReadError

# --- Cut files ---------------------------------------------------------------------------------------------


def ends(data: bytes) -> list[int]:
    """Where each message of a pretty-printed file ends, in bytes."""
    return [found.end() for found in re.finditer(rb"\n    \}", data)]


@pytest.mark.parametrize(
    ("tail", "step"), [(b"", 1), (b"\0" * 700, 7)], ids=["cut", "cut and filled up with NUL bytes"]
)
def test_a_file_cut_at_any_byte_keeps_every_whole_message(tmp_path: Path, tail: bytes, step: int) -> None:
    session = small(tmp_path)
    session.manifest = None
    whole = by_message(session.read())
    data = session.file.read_bytes()
    stops = ends(data)
    results = {"call_1": 2, "call_2": 4, "call_3": 5, "call_4": 6}
    for cut in range(0, len(data) - 1, step):
        session.file.write_bytes(data[:cut] + tail)
        count = sum(stop <= cut for stop in stops)
        try:
            found = by_message(read(session.folder))
        except (ReadError, InputError):
            found = {}
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


@pytest.mark.parametrize(("turn", "value"), list(enumerate(VALUES.values())), ids=VALUES)
def test_any_value_in_any_field_is_archived_as_it_is_read(tmp_path: Path, turn: int, value: Any) -> None:
    """Each broken session is one of many: a fault of one must not keep the others from being read."""
    root = tmp_path / "sessions"
    whole = small(root).document()
    written = []
    for number, place in enumerate(places(whole)):
        if place != ("messages",) and number % 3 == turn % 3:
            session = Session(root, f"17960260{number:05d}_abcde").write()
            session.file.write_bytes(pretty(put(whole, place, value)))
            written.append((place, session))
    with archive(tmp_path) as kept:
        report = kept.sync([root])
        assert [(left.path, left.reason) for left in report.failed] == []
        for place, session in written:
            stored, fresh = document(kept.record(session.session_id)), document(read(session.folder))
            for step in stored["steps"]:
                # They all begin alike, so that the archive takes them for copies of the first.
                step["flags"] = [flag for flag in step["flags"] if flag != "copied"]
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
        session.write()
        broken += faults(place, session.folder, ids)
    assert broken == []


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_in_any_field_of_a_compaction_file_leaves_the_conversation(
    tmp_path: Path, value: Any
) -> None:
    session = small(tmp_path)
    ids = [step.id for step in session.read().steps]
    summary = {"kind": "compaction_summary", "displayRole": "system", "summary": "We tested."}
    whole = {
        "version": 1,
        "updated_at": "2026-11-30T08:10:52.668Z",
        "source_message_count": 3,
        "messages": [{"id": "c", "role": "user", "content": [text("x")], "metadata": summary}, "y"],
    }
    path = session.folder / f"{session.session_id}.compaction.json"
    path.write_bytes(pretty(whole))
    assert read(session.folder).session.compaction is not None
    broken = []
    for place in places(whole):
        path.write_bytes(pretty(put(whole, place, value)))
        broken += faults(place, session.folder, ids)
    assert broken == []


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_any_value_in_clines_settings_leaves_the_default(tmp_path: Path, value: Any) -> None:
    session = small(tmp_path / "sessions").write()
    env = environment(tmp_path)
    state = {
        "autoApprovalSettings": {"enabled": True, "actions": {"readFiles": True}},
        "toolAutoApprove": True,
    }
    for place in places(state):
        for file in ("globalState.json", "settings/global-settings.json"):
            path = tmp_path / ".cline" / "data" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(pretty(put(state, place, value)))
        for surface in ("cli", "vscode", value):
            assert session.manifest is not None
            session.manifest["source"] = surface
            document(read_session(session.write().folder, env=env))


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


@settings(SLOW, max_examples=200)
@given(seed=st.integers(0, 1_000_000))
def test_rotten_bytes_never_crash(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Bytes changed, lost, doubled and inserted, as by a failing disk or a careless script."""
    session = small(tmp_path_factory.mktemp("rotten")).write()
    rng = random.Random(seed)
    for path in (session.file, session.manifest_file):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(data))
            more = data[rng.randrange(len(data)) :][: rng.randrange(80)]
            data[at : at + rng.randrange(40)] = rng.choice([bytes([rng.randrange(256)]), b"", more])
        path.write_bytes(data)
    try:
        document(read(session.folder))
    except (ReadError, InputError) as error:
        assert ID in str(error)  # noqa: PT017


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
