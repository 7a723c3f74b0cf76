"""Asks for pages of an archive inside one process; prints weight, CPU of the first time and of the next ones."""

from __future__ import annotations

import json
import os
import sys
import time

from starlette.testclient import TestClient

from backstory import Archive
from backstory.web.app import create_app

SPENT = {
    "usage": "/usage?since=all",
    "usage by day of 90": "/usage?since=90d",
    "usage by session": "/usage?since=all&by=session",
    "usage by tool": "/usage?since=all&by=tool",
    "memory": "/memory",
    "memory, a query": "/memory?q=error",
    "a conversation": "/memory?conversation={newest}",
    "setup": "/setup",
}


def sessions() -> dict[str, str]:
    """The list, search, and the tabs of the newest session."""
    with Archive() as archive:
        newest = archive.resolve("last")
        steps = archive.listed(newest).session.totals.steps
    own = f"/s/{newest}"
    return {
        "list": "/",
        "search": "/search?q=error",
        "session": own,
        "its middle": f"{own}?at={steps // 2}",
        "its problems": f"{own}?show=problems",
        "changes": f"{own}/changes",
        "cost": f"{own}/cost",
        "facts": f"{own}/facts",
    }


def spent() -> dict[str, str]:
    """Usage, and the memory once everything is learned."""
    with Archive() as archive:
        archive.memory.learn("default")
        newest = archive.resolve("last")
    return {name: address.format(newest=newest) for name, address in SPENT.items()}


def main(which: str, repeat: int) -> None:
    client = TestClient(create_app(), base_url="http://127.0.0.1:8737")
    client.get("/help")  # what every page needs is loaded once
    pages = spent() if which == "spent" else sessions()
    found = []
    for name, address in pages.items():
        took, weight = [], 0
        for _ in range(repeat + 1):
            began = time.process_time()
            weight = len(client.get(address).content)
            took.append(time.process_time() - began)
        found.append((name, weight, took[0], took[1:]))
    print(json.dumps(found))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main(sys.argv[1], int(sys.argv[2]))
