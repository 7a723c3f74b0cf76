"""What every agent's folder must do, held against its own recordings; a new agent joins by its registry line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from growth import RECORDINGS

from backstory.errors import InputError, UnknownSession
from backstory.schema.reading import FileStat, KnownFile, SessionRef, TailReading
from backstory.schema.step import PAYLOADS
from backstory.sources import REGISTRY, load
from backstory.sources.base import Root, Source

SAMPLES = {"cline": sorted(RECORDINGS.glob("*/sessions"))}


@pytest.fixture(params=sorted(REGISTRY))
def source(request: pytest.FixtureRequest) -> Source:
    return load(request.param)


def refs(source: Source) -> Iterator[SessionRef]:
    for folder in SAMPLES[source.name]:
        yield from source.look(Root(folder, "test")).sessions


def remembered(stat: FileStat, tail: TailReading) -> KnownFile:
    """What a store would give back of a file."""
    return KnownFile(stat, tail.digests, tail.state, tail.state_at, tail.reader, tail.context)


def test_every_agent_has_recordings() -> None:
    assert set(SAMPLES) == set(REGISTRY)
    assert all(SAMPLES.values())


def test_listing_opens_no_file(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    assert list(refs(source))


def test_rows_are_unique_ordered_and_complete(source: Source) -> None:
    for ref in refs(source):
        reading = source.read(ref, {}, env={})
        ids: list[str] = []
        for file in reading.files:
            rows = list(file.rows)
            tail = file.tail()
            ids += [row.id for row in rows]
            places = [(row.msg, row.sub) for row in rows]
            assert len(places) == len(set(places)), ref.id
            turns = {turn.id for turn in tail.turns}
            for row in rows:
                assert isinstance(row.payload, PAYLOADS[row.type])
                assert row.turn_id is None or row.turn_id in turns
                assert row.pointer.startswith("/")
        assert len(ids) == len(set(ids)), ref.id


def test_an_unchanged_session_gives_no_file(source: Source) -> None:
    for ref in refs(source):
        first = source.read(ref, {}, env={})
        known = {}
        for file in first.files:
            list(file.rows)
            tail = file.tail()
            known[file.name] = remembered(file.stat, tail)
        assert source.read(ref, known, env={}).files == []


def test_going_on_gives_the_rows_of_the_end_only(source: Source) -> None:
    for ref in refs(source):
        whole: dict[str, dict[str, object]] = {}
        known = {}
        for file in source.read(ref, {}, env={}).files:
            whole[file.name] = {row.id: row for row in file.rows}
            tail = file.tail()
            known[file.name] = KnownFile(
                FileStat(0, 1, 0), tail.digests, tail.state, tail.state_at, tail.reader
            )
        for file in source.read(ref, known, env={}).files:
            for row in file.rows:
                assert row.msg >= file.since
                assert whole[file.name][row.id] == row


def test_a_session_is_found_by_folder_file_and_id(source: Source) -> None:
    for folder in SAMPLES[source.name][:5]:
        root = Root(folder, "test")
        for ref in source.look(root).sessions:
            assert source.locate(str(ref.folder), []).id == ref.id
            assert source.locate(ref.id, [root]).id == ref.id
            for name in ref.files:
                assert source.locate(str(ref.folder / name), []).id == ref.id


@pytest.mark.parametrize("item", ["..", "../../etc", "", " ", "a b", "~", "*", "a\0b", "nosuchsession"])
def test_what_is_no_session_is_refused(source: Source, item: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, UnknownSession)):
        source.locate(item, [Root(tmp_path, "test")])


def test_an_unknown_agent_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r'There is no agent "cursor"\. Known: cline\.'):
        load("cursor")


def test_a_recording_holds_no_path_of_a_machine() -> None:
    for folder in SAMPLES["cline"]:
        for path in folder.rglob("*.json"):
            assert "/root/" not in json.dumps(json.loads(path.read_text("utf-8"))), path
