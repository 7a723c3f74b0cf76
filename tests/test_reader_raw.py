"""Nothing is dropped: what is not understood is kept raw, and no order of results loses a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import SLOW, document, strings
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Session, item, text, tool_result, tool_use


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
