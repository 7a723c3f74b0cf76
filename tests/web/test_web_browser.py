"""What a person does in a real browser: opens, filters, searches, jumps, expands, judges, at each width and scheme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from conftest import Home, Open, told

if TYPE_CHECKING:
    from playwright.sync_api import Page

K3V9Q = "k3v9q"


def session_of(samples: Home, short: str = K3V9Q) -> str:
    return f"/s/{samples.id(short)}"


def places(samples: Home) -> dict[str, str]:
    own = session_of(samples)
    return {
        "list": "/",
        "session": own,
        "changes": f"{own}/changes",
        "cost": f"{own}/cost",
        "facts": f"{own}/facts",
        "search": "/search?q=ECONNREFUSED",
        "help": "/help",
        "long": session_of(samples, "t5d2k"),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 400])
def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(
    samples: Home, address: str, visit: Open, axe: str, width: int, scheme: str
) -> None:
    page = visit(address, width=width, scheme=scheme)
    for name, place in places(samples).items():
        page.goto(address + place)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if width == 1024:
            continue
        page.evaluate(axe)
        # Colours do not depend on the width.
        rules = "{}" if width > 400 else "{'color-contrast': {enabled: false}}"
        found = page.evaluate(f"axe.run({{resultTypes: ['violations'], rules: {rules}}})")
        said = [
            f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"][:2]
        ]
        assert said == [], name


def test_states_stand_in_one_column_down_the_page(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples))
    edges = page.evaluate(
        "[...document.querySelectorAll('.turn > ol > li > details > summary > .st, .turn > ol > li > .row > .st')]"
        ".map(one => Math.round(one.getBoundingClientRect().right))"
    )
    assert len(edges) > 10
    assert len(set(edges)) == 1


def test_25_steps_fit_a_window_of_900_px(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples))
    heights = page.evaluate(
        "[...document.querySelectorAll('summary.row')].filter(one => one.offsetParent)"
        ".map(one => one.getBoundingClientRect().height)"
    )
    assert max(heights) <= 36
    assert 25 * 30 <= 900


def test_a_search_opens_at_the_hit_and_finds_its_way_back(samples: Home, address: str, visit: Open) -> None:
    page = visit(address)
    page.keyboard.press("/")
    page.keyboard.type("ECONNREFUSED")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=ECONNREFUSED")
    hit = page.locator(".hit", has_text="npm test").locator("a")
    hit.click()
    page.wait_for_url("**/s/**")
    current = page.locator("li.s.cur")
    assert "ECONNREFUSED" in current.inner_text()
    assert current.evaluate("one => one.getBoundingClientRect().top") < 900
    assert "of 2 in this session" in page.locator(".findbar").inner_text()
    page.get_by_role("link", name="Previous hit").click()
    page.wait_for_url("**at=**")
    page.get_by_role("link", name=re.compile("Back to 7 hits")).click()
    page.wait_for_url("**/search?q=ECONNREFUSED**")
    assert page.locator(".find input").input_value() == "ECONNREFUSED"


def test_a_filter_is_in_the_address_and_a_pasted_address_gives_the_same_page(
    samples: Home, address: str, visit: Open
) -> None:
    page = visit(address)
    page.select_option("select[name=project]", "billing-worker")
    page.wait_for_url("**/?project=billing-worker")
    titles = page.locator(".c-title a").all_inner_texts()
    again = visit(page.url)
    assert again.locator(".c-title a").all_inner_texts() == titles
    page.get_by_role("link", name="clear").click()
    page.wait_for_url(address + "/")


def test_keys_go_from_step_to_step_and_from_prompt_to_prompt(
    samples: Home, address: str, visit: Open
) -> None:
    page = visit(address + session_of(samples))
    page.keyboard.press("j")
    page.keyboard.press("j")
    first = page.locator("li.s.cur").get_attribute("id")
    page.keyboard.press("k")
    page.keyboard.press("j")
    assert page.locator("li.s.cur").get_attribute("id") == first
    assert first is not None
    assert page.url.endswith("#" + quote(first))
    page.keyboard.press("]")
    assert "p-fail" in (page.locator("li.s.cur").get_attribute("class") or "")
    page.keyboard.press("n")
    assert page.url.endswith("#turn-2")
    page.keyboard.press("n")
    assert page.url.endswith("#turn-3")
    page.keyboard.press("p")
    assert page.url.endswith("#turn-2")
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0
    page.keyboard.press("h")
    page.wait_for_url("**/changes")
    page.keyboard.press("t")
    page.wait_for_url(address + session_of(samples))
    page.keyboard.press("x")
    page.wait_for_url("**show=problems")


IDLE_KEYS = ["j", "k", "n", "p", "]", "[", "O", "d", "c", "y", "l", "f", "x", "v", "0", "t"]
"""Keys that open nothing on a page that has no session's steps."""


@pytest.mark.parametrize("place", ["/", "/search?q=ECONNREFUSED", "/usage", "/help"])
def test_a_key_that_has_nothing_to_act_on_does_nothing(address: str, visit: Open, place: str) -> None:
    page = visit(address + place)
    for key in IDLE_KEYS:
        page.keyboard.press(key)
    assert page.url == address + place
    page.keyboard.press("g")
    page.keyboard.press("u")
    page.wait_for_url("**/usage")


def test_keys_copy_what_the_step_is_about(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    failed = page.locator("li.p-failing", has_text="npm test").last
    while page.locator("li.s.cur").count() == 0 or page.locator("li.s.cur").get_attribute(
        "id"
    ) != failed.get_attribute("id"):
        page.keyboard.press("]")

    def copied(key: str, begins: str) -> str:
        page.keyboard.press(key)
        for _ in range(100):
            text = str(page.evaluate("navigator.clipboard.readText()"))
            if text.startswith(begins):
                return text
            page.wait_for_timeout(50)
        raise AssertionError(f"nothing that begins with {begins} was copied")

    assert copied("c", "npm test") == "npm test"
    assert "ECONNREFUSED" in copied("y", "`npm test` (exit 1)")
    assert copied("l", address).endswith("#" + quote(str(failed.get_attribute("id"))))
    details = page.locator("li.s.cur > details")
    assert details.evaluate("one => one.open")
    page.keyboard.press("o")
    assert not details.evaluate("one => one.open")
    page.keyboard.press("O")
    assert details.evaluate("one => one.open")
    page.keyboard.press("h")
    page.wait_for_url("**/changes")
    page.keyboard.press("d")
    page.wait_for_url("**diff=unified")
    page.keyboard.press("$")
    page.wait_for_url("**/cost")
    page.keyboard.press("i")
    page.wait_for_url("**/facts")


def test_the_current_step_stands_below_the_sticky_block(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples, "t5d2k"))
    for _ in range(30):
        page.keyboard.press("j")
    for _ in range(12):
        page.keyboard.press("k")
    top, bottom = page.evaluate(
        "(() => { const one = document.querySelector('.cur').getBoundingClientRect();"
        " return [one.top - document.getElementById('sticky').getBoundingClientRect().bottom, one.bottom]; })()"
    )
    assert top >= 0
    assert bottom <= 900


def test_a_body_comes_when_its_row_is_opened(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples))
    row = page.locator("li.k-run", has_text="npm run lint")
    assert row.locator(".out").count() == 0
    row.locator("summary").click()
    row.locator(".out").wait_for()
    assert "0 problems" in row.locator(".out").inner_text()
    link = page.get_by_role("link", name="Show all 231 lines")
    link.click()
    link.wait_for(state="detached")
    whole = page.locator("li.p-failing .out pre", has_text="ECONNREFUSED").inner_text()
    assert whole.count("\n") > 200


def test_the_strip_leads_to_a_step(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples))
    box = page.locator("#strip").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 27.5 / 30, box["y"] + 40)
    assert "Step 28: npm test, exit 1" in (page.locator("#strip").get_attribute("title") or "")
    page.mouse.click(box["x"] + box["width"] * 27.5 / 30, box["y"] + 40)
    assert "exit 1" in page.locator("li.s.cur").inner_text()


def test_a_long_session_goes_on_where_its_page_ends(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + session_of(samples, "t5d2k"))
    before = page.locator("li.s").count()
    for _ in range(20):
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_timeout(150)
        if not page.locator("[data-edge=later]").count():
            break
    assert page.locator("[data-edge=later]").count() == 0
    assert page.locator("li.s").count() > before
    numbers = page.evaluate(
        "[...document.querySelectorAll('li.s[data-n]')].map(one => +one.dataset.n).filter(Boolean)"
    )
    assert numbers == sorted(set(numbers))


def test_every_changed_line_is_there_at_400_px(samples: Home, address: str, visit: Open) -> None:
    wide = visit(address + session_of(samples) + "/changes")
    narrow = visit(address + session_of(samples) + "/changes", width=400)

    def shown(page: Page) -> list[str]:
        return page.evaluate(  # type: ignore[no-any-return]
            "[...document.querySelectorAll('.tc.ad, .tc.de, tr.ad td:last-child, tr.de td:last-child')]"
            ".filter(one => one.offsetParent && one.getBoundingClientRect().height > 0).map(one => one.innerText)"
        )

    assert len(shown(wide)) > 20
    assert sorted(shown(narrow)) == sorted(shown(wide))
    page = visit(address + session_of(samples), width=400)
    assert page.get_by_text("Not executed. You wrote: “Not yet, I want to read it first.”").is_visible()


def test_pages_work_without_scripts(samples: Home, address: str, visit: Open) -> None:
    page = visit(address, scripts=False)
    page.select_option("select[name=project]", "api-gateway")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**project=api-gateway**")
    page.locator(".c-title a, .card a").first.click()
    page.locator("li.k-run summary", has_text="npm run lint").click()
    page.locator("li.k-run", has_text="npm run lint").get_by_role("link", name="Show").click()
    page.wait_for_url("**/b/*")
    assert "0 problems" in page.locator("main").inner_text()
    assert page.get_by_role("button", name="Copy output").count() == 0


def test_a_verdict_is_given_taken_back_and_noted(home: Home, visit: Open) -> None:
    told(home)
    with home.served() as where:
        own = session_of(home, "rg62z")
        page = visit(where + own)
        page.keyboard.press("v")
        page.keyboard.press("1")
        page.locator(".verdict [value=good][aria-pressed=true]").wait_for()
        page.get_by_role("button", name="Bad").first.click()
        page.locator(".verdict [value=bad][aria-pressed=true]").wait_for()
        page.locator("summary", has_text="Note").first.click()
        page.locator(".note textarea").fill("Ask again <b>tomorrow</b>")
        page.locator(".note").get_by_role("button", name="Save").click()
        page.locator(".head > .noted").wait_for()
        assert page.locator(".head > .noted").inner_text() == "Ask again <b>tomorrow</b>"
        page.locator(".turn").hover()
        page.locator(".tverdict summary").click()
        page.locator(".tverdict [value=needs_work]").click()
        page.locator(".tverdict .v-needs_work").wait_for()
        page.goto(where + "/?verdict=bad")
        assert page.locator(".c-title .badge").all_inner_texts() == ["Bad"]
        page.goto(where + own)
        page.get_by_role("button", name="Bad").first.click()
        page.locator(".verdict [value=bad][aria-pressed=false]").wait_for()
        with home.archive() as archive:
            said = archive.judgements(home.id("rg62z"))
        assert said[None].verdict is None
        assert said[None].note == "Ask again <b>tomorrow</b>"
        assert [one.verdict for turn, one in said.items() if turn] == ["needs_work"]


def test_u_leads_back_to_the_list_at_the_same_row(samples: Home, address: str, visit: Open) -> None:
    page = visit(address + "/?project=billing-worker")
    page.keyboard.press("j")
    page.keyboard.press("j")
    row = page.locator("tr.cur").get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/**")
    page.keyboard.press("u")
    page.wait_for_url("**project=billing-worker**")
    assert page.locator("tr.cur").get_attribute("id") == row


def test_colours_have_contrast_by_the_sheet_s_own_variables() -> None:
    from backstory.web.sheet import STATIC

    sheet = (STATIC / "base.css").read_text("utf-8")
    pairs = {
        name: (light, dark)
        for name, light, dark in re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", sheet)
    }
    texts = ("ink", "ink2", "ink3", "accent", "fail", "deny", "live", "agent", "add", "del")
    grounds = ("bg", "surface", "sunken")
    own = [("fail", "failbg"), ("deny", "denybg"), ("live", "livebg"), ("agent", "agentbg"), ("add", "addbg")]
    own += [("del", "delbg"), ("ink", "mark"), ("ink3", "sel"), ("accent", "sel"), ("onfail", "failfill")]
    own += [
        ("ink", "addword"),
        ("ink", "delword"),
        ("ink3", "addbg"),
        ("ink3", "delbg"),
        ("surface", "accent"),
    ]
    for text, ground in [*((a, b) for a in texts for b in grounds), *own]:
        for scheme in (0, 1):
            assert contrast(pairs[text][scheme], pairs[ground][scheme]) >= 4.5, (text, ground, scheme)
    for ground in ("bg", "surface"):
        for scheme in (0, 1):
            assert contrast(pairs["edge"][scheme], pairs[ground][scheme]) >= 3


def contrast(one: str, other: str) -> float:
    """The ratio of two colours as WCAG defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_sheet_and_the_script_stay_small() -> None:
    from backstory.web.sheet import script, sheet

    assert len(sheet().encode()) < 40_000
    assert len(script().encode()) < 20_000
