"""A stand-in for the memory server: two tools over stdio, with the names that the rule speaks of."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}
    for name in ("recall", "open")
]


def answer(method: str) -> dict[str, Any]:
    if method == "initialize":
        server = {"name": "backstory", "version": "0"}
        return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": server}
    return {"tools": TOOLS} if method == "tools/list" else {}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"])}
            print(json.dumps(reply), flush=True)
