"""Asks for pages of an archive inside one process; prints weight, CPU of the first time and of the next ones."""

from __future__ import annotations

import json
import os
import sys
import time

from starlette.testclient import TestClient

from backstory import Archive
from backstory.web.app import create_app


def main(repeat: int) -> None:
    client = TestClient(create_app(), base_url="http://127.0.0.1:8737")
    client.get("/help")  # what every page needs is loaded once
    with Archive() as archive:
        newest = archive.resolve("last")
        steps = archive.listed(newest).session.totals.steps
    own = f"/s/{newest}"
    pages = {
        "list": "/",
        "search": "/search?q=error",
        "session": own,
        "its middle": f"{own}?at={steps // 2}",
        "its problems": f"{own}?show=problems",
        "changes": f"{own}/changes",
        "cost": f"{own}/cost",
        "facts": f"{own}/facts",
    }
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
    main(int(sys.argv[1]))
