"""A project of one's own, made from a real case: the answer is there on opening, beside the plans, in three lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.browser import PATIENCE, Server, eventually, opened

BIKES = Path(__file__).parents[2] / "examples" / "bike-share" / "whence.toml"


@pytest.fixture(scope="module")
def bikes() -> Iterator[str]:
    """Address of `whence serve` with the bike-share project."""
    server = Server(str(BIKES)).wait_for_workers()
    yield server.url
    server.stop()


def inside(page: Page, *parts: Locator) -> bool:
    """Whether all of it is in the window, without scrolling."""
    size = page.viewport_size
    assert size is not None
    boxes = [part.bounding_box() for part in parts]
    return all(box and box["y"] >= 0 and box["y"] + box["height"] <= size["height"] for box in boxes)


def test_it_answers_on_opening_and_beside_the_plans(browser: Browser, bikes: str) -> None:
    """What would change the plan is there by itself; then one's own question, in view with plans and context."""
    watched = opened(browser, bikes, reduced_motion="reduce")
    page = watched.page
    first = page.locator(".opening")
    expect(first.locator(".verdict")).to_contain_text(
        "Today's plan would no longer have been within 1 % of the best if"
    )
    expect(first.locator(".costs-there")).to_contain_text("Costs there")
    # Not asked by anybody, it is not part of the address.
    assert "asked=" not in page.url
    expect(page.locator("#quality summary")).to_be_visible()
    page.get_by_label("Your plan: bikes", exact=True).fill("150")
    page.get_by_role("button", name="Why not mine?").click()
    card = page.locator("[data-kind=relative]")
    expect(card.locator(".verdict")).to_contain_text("Your plan would have been better", timeout=8 * PATIENCE)
    expect(first).to_be_hidden()
    line = card.locator(".costs-there").inner_text()
    assert all(word in line for word in ("your plan", "the decision", "the policy’s own plan")), line
    parts = (page.locator(".plan-card.d"), page.locator(".plan-card.a .cost"), card.locator(".verdict"))
    assert inside(page, *parts, page.locator("[data-feature=hour]"), card.locator(".costs-there"))
    expect(card.locator(".rest")).not_to_have_attribute("open", "")
    at = page.evaluate("scrollY")
    card.get_by_role("button", name="Show it").click()
    expect(page.locator(".plan-card.t")).to_be_visible()
    assert inside(page, page.locator(".plan-card.t"), page.get_by_role("radio", name="Then"))
    assert page.evaluate("scrollY") == at
    watched.assert_quiet()
    page.context.close()


def test_on_a_phone_the_plan_comes_first(browser: Browser, bikes: str) -> None:
    """The decision and its cost stay in the bottom bar, and the plan stands before the controls."""
    watched = opened(browser, bikes, width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    expect(page.locator(".dock-costs")).to_contain_text("decision 165.6: bikes 194")
    places = [page.locator(name).bounding_box() for name in ("#plan-panel", "#explanation-panel", ".context-panel")]
    tops = [box["y"] for box in places if box]
    assert tops == sorted(tops)
    page.locator("[data-feature=hour]").scroll_into_view_if_needed()
    expect(page.locator(".dock-costs")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    watched.assert_quiet()
    page.context.close()


def test_moving_a_control_asks_again(browser: Browser, bikes: str) -> None:
    """As long as nothing else was asked, the answer by itself follows the controls."""
    watched = opened(browser, bikes, reduced_motion="reduce")
    page = watched.page
    expect(page.locator(".opening .verdict")).to_be_visible()
    page.get_by_label("hour", exact=True).fill("8")
    eventually(page, lambda: sum(method == "BY ITSELF" for method, _ in watched.calls) >= 2)
    expect(page.locator(".opening .verdict")).to_be_visible()
    watched.assert_quiet()
    page.context.close()
