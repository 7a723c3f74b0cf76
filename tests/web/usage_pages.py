"""The Usage page as a test sees it: a home with samples, and a page read back as tables, lists and sentences."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from zoneinfo import ZoneInfo

from starlette.testclient import TestClient

from backstory import Archive, demo
from backstory.web.app import create_app

NOW = 1_796_042_116_000
"""30 November 2026, 12:35:16 UTC, 13:35:16 in Berlin."""
HOST = "http://127.0.0.1:8737"
BERLIN = ZoneInfo("Europe/Berlin")
VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})


class Place:
    """A home: Cline's folder, an archive, and the app over it."""

    def __init__(self, path: Path, now: int = NOW) -> None:
        self.path, self.now = path, now

    @property
    def env(self) -> dict[str, str]:
        home = str(self.path)
        return {
            "HOME": home,
            "USERPROFILE": home,
            "BACKSTORY_HOME": str(self.path / "backstory"),
            "CLINE_DIR": str(self.path / "cline"),
        }

    def archive(self) -> Archive:
        return Archive(env=self.env, now=lambda: self.now)

    def told(self) -> Place:
        """Fill it with the samples."""
        data = self.path / "cline" / "data"
        demo.load(data / "sessions", self.now)
        demo.settings(data)
        with self.archive() as archive:
            archive.sync()
        return self

    def get(self, **query: str) -> Page:
        """The page for a query."""
        app = create_app(env=self.env, now=lambda: self.now, tz=BERLIN)
        answer = TestClient(app, base_url=HOST).get("/usage", params=query)
        assert answer.status_code == 200
        return Page(answer.text)


class Node:
    """An element."""

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.inside: list[Node | str] = []

    @property
    def text(self) -> str:
        """What it says, in one line."""
        return " ".join(self._words().split())

    def _words(self) -> str:
        parts = [part if isinstance(part, str) else part._words() for part in self.inside]
        space = " " if self.name in ("small", "dt", "dd", "span", "p", "td", "th", "li") else ""
        return f"{space}{''.join(parts)}{space}"

    def all(self, name: str, **attributes: str) -> list[Node]:
        """The elements of a name inside it, with such attributes; `class_` names one class of several."""
        wanted = attributes.pop("class_", None)
        found = []
        for part in self.inside:
            if isinstance(part, str):
                continue
            own = part.attributes
            if (
                part.name == name
                and (wanted is None or wanted in own.get("class", "").split())
                and all(own.get(key) == value for key, value in attributes.items())
            ):
                found.append(part)
            if wanted is not None:
                attributes_again: dict[str, str] = {**attributes, "class_": wanted}
                found += part.all(name, **attributes_again)
            else:
                found += part.all(name, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.top = Node("", {})
        self.open = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


class Page:
    """A page of the app."""

    def __init__(self, html: str) -> None:
        self.html = html
        reader = _Reader()
        reader.feed(html)
        (self.main,) = reader.top.all("main")

    @property
    def text(self) -> str:
        return self.main.text

    def section(self, title: str) -> Node:
        """The panel with such a heading."""
        found = [one for one in self.main.all("section") if any(h.text == title for h in one.all("h2"))]
        assert len(found) == 1, title
        return found[0]

    @property
    def titles(self) -> list[str]:
        return [one.text for one in self.main.all("h2")]

    @property
    def tiles(self) -> dict[str, tuple[str, str]]:
        """The four figures: name to amount and sentence."""
        (box,) = self.main.all("dl", class_="tiles")
        found = {}
        for tile in box.all("div"):
            amount, words = (one.text for one in tile.all("dd"))
            found[tile.all("dt")[0].text.removeprefix("?").strip()] = (amount, words)
        return found

    def rows(self, title: str) -> list[dict[str, str]]:
        """The rows of a panel's table, by the heads of its columns; the total is the last."""
        (table,) = self.section(title).all("table")
        lines = [
            [cell for cell in row.inside if isinstance(cell, Node) and cell.name in ("th", "td")]
            for row in table.all("tr")
        ]
        heads = [cell.text for cell in lines[0]]
        return [dict(zip(heads, (cell.text for cell in line), strict=True)) for line in lines[1:]]

    def links(self) -> list[str]:
        return [link.attributes["href"] for link in self.main.all("a")]

    @property
    def choices(self) -> dict[str, str]:
        """The ranges and tabs: name to address."""
        return {
            link.text: link.attributes["href"]
            for group in self.main.all("nav", class_="group")
            for link in group.all("a")
        }


def squeezed(text: str) -> str:
    """Text without blanks before marks, which markup between them leaves."""
    return re.sub(r"\s+([.,:;])", r"\1", text)


Get = Callable[..., Page]
