"""Forms of the app in tests: what a page holds, sent as a browser sends it."""

from __future__ import annotations

import re
from html import unescape

from conftest import HOST
from httpx import Response
from starlette.testclient import TestClient


def token_of(client: TestClient) -> str:
    """The token of this run."""
    found = re.search(r'<meta name="token" content="([^"]+)">', client.get("/help").text)
    assert found is not None
    return found[1]


def send(client: TestClient, address: str, **form: str) -> Response:
    """Send a form with its token from a page of the app; the answer is the page to which it leads."""
    answer = client.post(address, data={"token": token_of(client), **form}, headers={"origin": HOST})
    assert answer.history, answer.text
    assert answer.history[0].status_code == 303
    return answer


def forms(page: str, address: str) -> list[dict[str, str]]:
    """The hidden fields of each form of a page that leads to an address."""
    found = []
    for form in re.findall(rf'<form[^>]*action="{re.escape(address)}"[^>]*>(.*?)</form>', page, re.DOTALL):
        fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form)
        found.append({name: unescape(value) for name, value in fields})
    return found


def text_of(page: str) -> str:
    """What a page says, without its tags, in single blanks."""
    main = page[page.index("<main") : page.index("</main>")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())
