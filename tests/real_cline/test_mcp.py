"""Tools of an MCP server: kept with their name, what went in and what came out, and whether it failed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from . import mcp_server
from .conftest import Scene, Stage
from .model import Reply, Script, ToolCall
from .watching import step

pytestmark = pytest.mark.real_cline


@pytest.fixture(scope="module")
def scene(stage: Stage) -> Scene:
    server = {"command": sys.executable, "args": [str(Path(mcp_server.__file__))], "timeout": 60}
    settings = stage.cline.root / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
    settings.write_text(json.dumps({"mcpServers": {"shop": server}}))
    calls = (
        ToolCall("known", "shop__stock", {"ware": "widget"}),
        ToolCall("unknown", "shop__stock", {"ware": "gadget"}),
    )
    return stage.play("Count the stock", scripts=(Script([Reply("Asking.", calls=calls), Reply("Twelve.")]),))


def test_an_answer(scene: Scene) -> None:
    known = step(scene.record, "known#0")
    assert known["type"] == "other"
    assert known["payload"]["tool_name"] == "shop__stock"
    assert known["payload"]["raw"]["input"] == {"ware": "widget"}
    assert known["payload"]["raw"]["result"]["content"] == [{"type": "text", "text": "12 of widget"}]
    assert (known["outcome"], known["error"]) == ("ok", None)


def test_an_error_that_the_server_reports(scene: Scene) -> None:
    unknown = step(scene.record, "unknown#0")
    assert unknown["outcome"] == "failed"
    assert unknown["error"]["kind"] == "mcp"
    assert unknown["error"]["message"] == "no such ware: gadget"
    assert unknown["decision"] == "auto"
