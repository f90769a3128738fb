"""A project of one's own, made from a real case: the answer is there on opening, beside the plans, in three lines."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.browser import PATIENCE, Server, eventually, opened
from tests.web.test_page_access import AXE, RUN, SETTLED

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Which colours are looked at, by the width of the window.
SCHEMES: dict[int, Literal["light", "dark"]] = {1280: "light", 768: "dark", 390: "dark"}
#: Servers of this module by their addresses.
SERVERS: dict[str, Server] = {}


@pytest.fixture(scope="module")
def bikes() -> Iterator[str]:
    """Address of `whence serve` with the bike-share project."""
    server = Server(str(EXAMPLES / "bike-share" / "whence.toml"), "--time-limit", "10").wait_for_workers()
    SERVERS[server.url] = server
    yield server.url
    server.stop()


@pytest.fixture(scope="module")
def kitchen() -> Iterator[str]:
    """Address of `whence serve` with the restaurant's project."""
    server = Server(str(EXAMPLES / "restaurant" / "whence.toml"), "--time-limit", "10").wait_for_workers()
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
    # Where there is no plan yet, no mark says that it is 0.
    expect(page.locator(".q-row.unset")).to_have_count(1)
    # Not asked by anybody, it is not part of the address.
    assert "asked=" not in page.url
    expect(page.locator("#quality summary")).to_be_visible()
    page.get_by_label("Your plan: bikes", exact=True).fill("150")
    expect(page.locator(".q-row.unset")).to_have_count(0)
    page.get_by_role("button", name="Why not mine?").click()
    card = page.locator("[data-kind=relative]")
    expect(card.locator(".verdict")).to_contain_text("Your plan would have been better", timeout=8 * PATIENCE)
    expect(first).to_be_hidden()
    # The answer to rely on may come to stand before the nearest one: what leads is what has to be in view.
    expect(page.locator(".explanation-card[aria-busy=true]")).to_have_count(0, timeout=8 * PATIENCE)
    lead = page.locator(".explanation-question .explanation-card:visible").first
    line = lead.locator(".costs-there").inner_text()
    assert all(word in line for word in ("your plan", "the decision", "the policy’s own plan")), line
    parts = (page.locator(".plan-card.d"), page.locator(".plan-card.a .cost"), lead.locator(".verdict"))
    assert inside(page, *parts, page.locator("[data-feature=hour]"), lead.locator(".costs-there"))
    assert inside(page, lead.locator(".agreement"))
    expect(lead.locator(".rest")).not_to_have_attribute("open", "")
    at = page.evaluate("scrollY")
    lead.get_by_role("button", name="Show it").click()
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
    # With a plan of one's own, both costs and the decision are read in full.
    page.get_by_label("Your plan: bikes", exact=True).fill("150")
    expect(page.locator(".dock-costs")).to_contain_text("Decision: bikes 194")
    cut = page.locator(".dock-costs > *").evaluate_all("all => all.map(one => one.scrollWidth - one.clientWidth)")
    assert max(cut) <= 1
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


def test_the_first_decision_and_the_first_answer_come_soon(browser: Browser, bikes: str) -> None:
    """From opening the page: a decision within 1 s, an answer within 3 s, by clock or processor."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    began, worked = time.monotonic(), SERVERS[bikes].processor_seconds()
    page.goto(bikes)
    taken = []
    for place in (".plan-card.d .cost b", ".opening .verdict"):
        expect(page.locator(place)).not_to_be_empty()
        taken.append(min(time.monotonic() - began, SERVERS[bikes].processor_seconds() - worked))
    assert taken[0] <= 1.0
    assert taken[1] <= 3.0
    page.close()


def test_whole_numbers_turn_between_two(browser: Browser, bikes: str) -> None:
    """The strip of the hour says between which two hours it turns, and the only project needs no choice of one."""
    watched = opened(browser, bikes, reduced_motion="reduce")
    page = watched.page
    expect(page.locator("[data-feature=hour] .turn")).to_have_text("6 | 7")
    # A number near an end stays within its strip.
    outside = page.evaluate("""[...document.querySelectorAll(".strip-line .turn")].filter((turn) => {
      const [box, line] = [turn, turn.closest(".strip-line")].map((node) => node.getBoundingClientRect());
      return box.left < line.left - 1 || box.right > line.right + 1; }).map((turn) => turn.textContent)""")
    assert outside == []
    expect(page.locator("[data-feature=hour] .strip")).to_have_attribute(
        "aria-label", re.compile("from 7 on the decision")
    )
    expect(page.locator("#scene")).to_be_hidden()
    watched.assert_quiet()
    page.context.close()


def test_other_questions_are_pictures_first(browser: Browser, kitchen: str) -> None:
    """Ways, facts and differences are drawn on the ranges of their features, before the words; axe finds nothing."""
    watched = opened(browser, kitchen, reduced_motion="reduce")
    page = watched.page
    page.locator("#subject").select_option("any relative")
    for name in ("front", "menu", "reasons"):
        page.locator(f"#ask-{name}").click()
    page.get_by_label("Before: past observation").fill("6")
    page.get_by_label("Before: past observation").press("Enter")
    for name in ("front", "menu", "reasons", "compare"):
        found = page.locator(f"[data-other={name}]")
        expect(found.locator(".downloads")).to_be_visible(timeout=8 * PATIENCE)
        drawn = found.locator(".multiple")
        assert drawn.count() >= 1
        expect(found.locator(".multiple .range-mark.was").first).to_be_attached()
    for name in ("reasons", "compare"):
        tops = [page.locator(f"[data-other={name}] {part}").first.bounding_box() for part in (".multiple", ".spoken")]
        assert tops[0]
        assert tops[1]
        assert tops[0]["y"] < tops[1]["y"]
    weekday = page.locator("[data-other=compare] li", has_text="weekday").locator(".multiple")
    expect(weekday.locator(".range-mark.was")).to_have_count(1)
    expect(weekday.locator("li.inside")).to_have_text("Sat")
    expect(page.locator("[data-other=menu] .relied")).to_contain_text("How often such answers are true is not known")
    expect(page.locator("[data-other=compare] .together")).to_contain_text("€")
    page.evaluate(AXE)
    for width, colours in SCHEMES.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours)
        page.evaluate(SETTLED)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert page.evaluate(RUN, True) == [], width
    page.locator("[data-other=compare] .term").click()
    expect(page.locator("#term-shapley")).to_contain_text("average over all orders")
    watched.assert_quiet()
    page.context.close()
