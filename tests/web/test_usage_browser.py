"""The Usage page in a real browser: widths, both schemes, axe, with the keyboard and without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Open = Callable[..., Page]

PLACES = (
    "/usage",
    "/usage?since=today",
    "/usage?since=2026-09-02&by=session&show=prompts",
    "/usage?since=all&by=tool",
    "/usage?since=2020-01-01&until=2020-01-07",
)


@pytest.fixture
def budgeted(samples: Any) -> None:
    """Budgets of which one is passed."""
    from backstory.ledger.budget import Budget, save

    with samples.archive() as archive:
        for period, dollars in (("day", 5), ("week", 25), ("month", 70)):
            save(archive.connection, Budget(period, "all", "", dollars * 1_000_000_000))  # type: ignore[arg-type]


@pytest.mark.usefixtures("budgeted")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 400])
def test_it_is_no_wider_than_its_window_and_axe_finds_nothing(
    address: str, visit: Open, axe: str, width: int, scheme: str
) -> None:
    page = visit(address + PLACES[0], width=width, scheme=scheme)
    for place in PLACES:
        page.goto(address + place)
        for fold in page.query_selector_all(".aside > summary"):
            fold.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")
        said = [
            f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"][:2]
        ]
        assert said == [], place


def test_the_table_takes_the_place_of_the_drawing_by_keyboard_and_without_scripts(
    address: str, visit: Open
) -> None:
    page = visit(f"{address}/usage", scripts=False)
    drawing, table = page.locator(".drawing"), page.locator(".days table")
    assert drawing.is_visible()
    assert not table.is_visible()
    page.locator(".days summary").focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    assert not drawing.is_visible()


def test_a_project_and_a_range_are_chosen_and_back_leads_back(address: str, visit: Open) -> None:
    page = visit(f"{address}/usage?by=session")
    page.get_by_role("link", name="90 days").click()
    page.get_by_label("Project").select_option("billing-worker")
    page.wait_for_url("**project=billing-worker*")
    assert "by=session" in page.url
    assert page.locator("nav[aria-label=Range] [aria-current]").inner_text() == "90 days"
    assert page.locator("nav[aria-label=By] [aria-current]").inner_text() == "Session"
    assert page.get_by_label("Project").input_value() == "billing-worker"
    page.go_back()
    assert "project" not in page.url
    page.go_back()
    assert page.locator("nav[aria-label=Range] [aria-current]").inner_text() == "Month"


def test_estimated_is_hatched_and_covered_lies_below_the_line(address: str, visit: Open) -> None:
    page = visit(f"{address}/usage")
    zero = page.locator(".plot .zero").bounding_box()
    assert zero is not None
    for name, below in (("rep", False), ("est", False), ("cov", True)):
        boxes = [one.bounding_box() for one in page.locator(f".plot .{name}").all()]
        assert boxes
        for box in filter(None, boxes):
            assert (box["y"] >= zero["y"]) is below
    fill = page.locator(".plot .est").first.evaluate("one => getComputedStyle(one).fill")
    assert "#hatch" in fill
    assert page.locator("pattern#hatch .stripe").count() == 1


def test_a_costly_prompt_opens_at_its_turn(address: str, visit: Open) -> None:
    page = visit(f"{address}/usage?since=all")
    page.locator("#prompts li a").first.click()
    page.wait_for_url("**#turn-3")
    assert page.locator("#turn-3 h2").first.is_visible()


@pytest.mark.parametrize("by", ["model", "project", "mode", "session", "actor"])
def test_every_kind_of_cost_is_seen_without_scrolling_from_1024_px_on(
    address: str, visit: Open, by: str
) -> None:
    page = visit(f"{address}/usage?since=all&by={by}")
    box = page.get_by_role("group", name=f"Where it went, by {by}")
    for width in (1024, 1150, 1280, 1400, 1401, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), width
    page.goto("about:blank")
