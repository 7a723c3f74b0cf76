"""Searching in the app: what a hit says, which comes first, and its words in the opened session."""

from __future__ import annotations

import html
import re

from conftest import Home
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from starlette.testclient import TestClient

from backstory.store import search
from backstory.web.marking import Marker


def plain(markup: str) -> str:
    """What a person reads of markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_an_error_that_was_mended_comes_first_and_says_what_made_it_pass(client: TestClient) -> None:
    page = client.get("/search?q=ECONNREFUSED").text
    first = re.search(r'<li class="hit.*?</li>', page, re.DOTALL)
    assert first is not None
    assert (
        "failed before with Error: connect ECONNREFUSED 127.0.0.1:6379 , and this made it pass: compose.yaml +6"
        in plain(first[0])
    )
    assert "<mark>ECONNREFUSED</mark>" in first[0]


def test_a_misspelt_word_is_repaired_and_the_page_says_so(samples: Home, client: TestClient) -> None:
    page = client.get("/search?q=conection").text
    assert 'Nothing for "conection"; showing "connection".' in html.unescape(page)
    assert "<mark>connection</mark>" in page
    opened = re.search(r'<li class="hit[^>]*><a href="([^"#]+)', page)
    assert opened is not None
    links = re.findall(r'href="(/b/[^"]+)">Show', client.get(html.unescape(opened[1])).text)
    bodies = [client.get(html.unescape(link) + "&part=1").text for link in links]
    assert any("<mark>connection</mark>" in body for body in bodies)


def test_the_words_of_a_query_are_marked_in_the_opened_session(samples: Home, client: TestClient) -> None:
    own = f"/s/{samples.id('k3v9q')}"
    page = client.get(f"{own}?q=ECONNREFUSED").text
    assert page.count("<mark>ECONNREFUSED</mark>") >= 2
    assert "<mark>" not in client.get(own).text
    # A body that comes later has the same marks, and what it says besides stays as it is.
    links = re.findall(r'href="(/b/\d+\?q=[^"]+)">Show', client.get(f"{own}?q=redis").text)
    bodies = [client.get(html.unescape(link) + "&part=1").text for link in links]
    assert any("<mark>redis</mark>" in body for body in bodies)


@given(st.text(alphabet="ab<&>\"' amp;", max_size=30), st.sampled_from(["a", "amp", "mark", "b a"]))
def test_marks_change_nothing_but_the_marks(text: str, word: str) -> None:
    drawn = Markup("<p title='a amp'>{}</p><button>a amp</button>").format(text)
    found = Marker(search.pattern([word]))(drawn)
    assert found.replace("<mark>", "").replace("</mark>", "") == drawn
    assert found.endswith("<button>a amp</button>")
    assert Marker(None)(drawn) == drawn
