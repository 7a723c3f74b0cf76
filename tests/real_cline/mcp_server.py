"""A small MCP server over stdio: `stock` answers, and fails for a ware that it does not know."""

from __future__ import annotations

import json
import sys
from typing import Any

STOCK = {"widget": 12}

TOOL = {
    "name": "stock",
    "description": "How many of a ware are there.",
    "inputSchema": {
        "type": "object",
        "properties": {"ware": {"type": "string"}},
        "required": ["ware"],
    },
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2024-11-05"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        ware = params["arguments"]["ware"]
        known = ware in STOCK
        text = f"{STOCK[ware]} of {ware}" if known else f"no such ware: {ware}"
        return {"content": [{"type": "text", "text": text}], "isError": not known}
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
