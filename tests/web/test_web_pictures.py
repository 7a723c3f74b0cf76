"""The pictures of the README, made of the sample sessions: `BACKSTORY_PICTURES=docs/pictures` writes them there."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from conftest import NOW, ROOT, Home, Open, told

from backstory.ledger.budget import Budget, Period, save

PICTURES = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 1440, 900
BUDGETS: tuple[tuple[Period, int], ...] = (("month", 60), ("day", 5))
SHOWN = ("list", "session", "session-dark", "changes", "usage", "memory")
HEAVIEST = 220_000
"""Bytes of a picture: a README is read over slow lines too."""


def size(picture: bytes) -> tuple[int, int]:
    """Width and height of a PNG."""
    assert picture.startswith(b"\x89PNG")
    wide, high = struct.unpack(">II", picture[16:24])
    return wide, high


def test_pictures_are_made_of_the_samples(home: Home, visit: Open, tmp_path: Path) -> None:
    told(home)
    place = Path(os.environ.get("BACKSTORY_PICTURES", tmp_path / "pictures"))
    place.mkdir(parents=True, exist_ok=True)
    unseen = {"k3v9q", "p81zd", "2js90"}
    with home.archive() as archive:
        for listed in archive.sessions(limit=None):
            if listed.short_id not in unseen:
                archive.mark_seen(listed.session.id)
        archive.judge(archive.resolve("w0c4r"), verdict="good")
        archive.judge(archive.resolve("p81zd"), verdict="needs_work", note="Ties jump when the page changes.")
        archive.memory.learn("default")
        archive.memory.remember(
            "Deploys go out from main only, after the e2e run.", "default", project="api-gateway"
        )
        for period, dollars in BUDGETS:
            save(archive.connection, Budget(period, "all", "", dollars * 1_000_000_000))
        own = f"/s/{archive.resolve('k3v9q')}"
    with home.served() as where:
        addresses = ("/", own, own, f"{own}/changes", "/usage", "/memory?q=connect+ECONNREFUSED")
        for name, address in zip(SHOWN, addresses, strict=True):
            page = visit(
                "about:blank", scheme="dark" if "dark" in name else "light", width=WIDTH, height=HEIGHT
            )
            page.clock.set_fixed_time(NOW)
            page.goto(where + address)
            page.locator("#capture", has_text="up to date").wait_for()
            picture = page.screenshot(path=place / f"{name}.png", animations="disabled")
            page.close()
            assert size(picture) == (WIDTH, HEIGHT)
            # A page that did not come is one colour and packs to nothing.
            assert 50_000 < len(picture) < HEAVIEST


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_that_are_kept_have_the_size_of_a_window(name: str) -> None:
    picture = (PICTURES / f"{name}.png").read_bytes()
    assert size(picture) == (WIDTH, HEIGHT)
    assert len(picture) < HEAVIEST
