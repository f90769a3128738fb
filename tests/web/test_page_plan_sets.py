"""Questions without a plan on the page: what would change the plan, and sets chosen on the map or by quantity."""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.browser import PATIENCE, fits, opened

LONG = 8 * PATIENCE
#: A wish for a route.
ROUTES = {"through": ["Tannery"], "avoiding": ["Bridge Street"]}


def card(page: Page, kind: str = "relative") -> Locator:
    return page.locator(f"[data-kind={kind}]")


def centre(page: Page, place: str) -> tuple[float, float]:
    """Where a place of the map is in the window."""
    page.locator(".map").evaluate("node => node.scrollIntoView({block: 'center'})")
    box = page.locator(f"[data-place='{json.dumps(place)}']").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_what_would_change_the_plan_is_the_first_question(browser: Browser, examples: str) -> None:
    """It needs no plan; the answer names the plan that takes over, draws it, and hands it over to be asked about."""
    watched = opened(browser, examples, scene="city", width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    first = page.locator(".question button").first
    expect(first).to_have_text("What would change the plan?")
    first.click()
    expect(card(page).locator(".verdict")).to_contain_text("no longer have been within 1 %", timeout=LONG)
    expect(card(page, "absolute")).to_be_hidden()
    # How far to rely on it is told of any question; a busy machine may not have the time for a world.
    expect(page.locator(".explanation-card .agreement").first).to_contain_text(
        re.compile("of such answers are true|no time to ask in simulated worlds"), timeout=LONG
    )
    expect(card(page).locator(".rule")).to_contain_text("The decision costs over 1 % more than the other plan whenever")
    taking = card(page).locator(".successor span").first.inner_text()
    expect(page.locator(".plan-card.a h3")).to_have_text("Your plan")
    card(page).get_by_role("button", name="Show it").click()
    expect(page.locator(".plan-card.a h3")).to_have_text("Plan that takes over")
    expect(page.locator(".plan-card.a .plan-text")).to_have_text(taking)
    expect(page.locator(".plan-card.t .plan-text")).to_have_text(taking)
    expect(page.locator("#plan .legend .entry.a")).to_have_text("plan that takes over")
    assert "Plan that takes over: " in (page.locator(".map svg").get_attribute("aria-label") or "")
    assert page.locator(".route.a").get_attribute("d") == page.locator(".route.t").get_attribute("d")
    expect(page.locator("#outcomes figure .hint").first).to_contain_text("the plan that takes over costs")
    assert fits(page)
    page.get_by_role("button", name="Make the plan that takes over my plan").click()
    # The answer is not about one's own plan and stays; the page is back at today, with another plan.
    expect(page.locator(".plan-card.a h3")).to_have_text("Your plan")
    expect(page.locator(".plan-card.a .plan-text")).to_have_text(taking)
    expect(card(page)).not_to_contain_class("stale")
    expect(page.locator("#ask")).to_be_enabled()
    watched.assert_quiet()
    page.context.close()


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_routes_are_chosen_by_clicking_places_and_streets(browser: Browser, examples: str, width: int) -> None:
    """A place and a street make a set, whose questions can then be asked."""
    watched = opened(browser, examples, scene="city", width=width, has_touch=width < 600, reduced_motion="reduce")
    page = watched.page
    expect(page.locator("#ask-set")).to_be_hidden()
    page.mouse.click(*centre(page, "Tannery"))
    expect(page.locator(".offers b")).to_have_text("Tannery")
    page.get_by_role("button", name="Through it").click()
    one, other = centre(page, "Old Bridge"), centre(page, "University")
    page.mouse.click((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
    expect(page.locator(".offers b")).to_have_text("Bridge Street")
    page.get_by_role("button", name="Avoiding it").click()
    expect(page.locator(".chip")).to_have_text(["through Tannery", "avoiding Bridge Street"])
    expect(page.locator(".place.wished")).to_have_count(1)
    assert page.locator(".street.shunned").get_attribute("d")
    expect(page.locator("#ask-set")).to_be_enabled()
    assert fits(page)
    watched.assert_quiet()
    page.context.close()


def test_a_link_asks_about_a_set_of_routes_again(browser: Browser, examples: str) -> None:
    """Both questions are asked about the routes chosen, and a link asks them once more."""
    watched = opened(browser, examples, scene="city", reduced_motion="reduce")
    page = watched.page
    page.goto(f"{examples}/#{urlencode({'scene': 'city', 'wish': json.dumps(ROUTES)})}")
    expect(page.locator(".chip")).to_have_text(["through Tannery", "avoiding Bridge Street"])
    # What the page asks by itself, when it is opened, may still be on its way.
    with page.expect_request(
        lambda one: one.url.endswith("/explanations") and "instead" in (one.post_data_json or {})
    ) as sent:
        page.locator("#ask-set").click()
    body = sent.value.post_data_json
    assert body["instead"] == ROUTES
    assert "plan" not in body
    assert body["rule"] and body["holds"] == 0.9  # noqa: PT018
    verdicts = []
    for kind in ("relative", "absolute"):
        expect(card(page, kind).locator(".verdict")).to_contain_text(
            "route through Tannery, avoiding Bridge Street", timeout=LONG
        )
        verdicts.append(card(page, kind).locator(".verdict").inner_text())
    expect(page).to_have_url(re.compile("about=set"))
    page.reload()
    for kind, verdict in zip(("relative", "absolute"), verdicts, strict=True):
        expect(card(page, kind).locator(".verdict")).to_have_text(verdict, timeout=LONG)
    expect(page.locator(".chip")).to_have_count(2)
    # Another set, another question: what was answered is about the old one.
    page.get_by_role("button", name="Do not ask for avoiding Bridge Street").click()
    expect(page.locator(".chip")).to_have_text(["through Tannery"])
    expect(card(page)).to_contain_class("stale")
    watched.assert_quiet()
    page.context.close()


def test_quantities_are_chosen_by_their_fields(browser: Browser, examples: str) -> None:
    """At least, or at most, the quantity in the field; what cannot be is refused with a sentence."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    field = page.get_by_label("Your plan: croissants", exact=True)
    field.fill("90")
    expect(page.locator(".offers b")).to_have_text("croissants")
    page.get_by_role("button", name="At least 90").click()
    expect(page.locator(".chip")).to_have_text(["at least 90 croissants"])
    page.locator("#ask-set").click()
    for kind in ("relative", "absolute"):
        expect(card(page, kind).locator(".verdict")).to_contain_text("at least 90 croissants", timeout=LONG)
    card(page).get_by_role("button", name="Show it").click()
    expect(page.locator(".plan-card.a h3")).to_have_text("Plan that takes over")
    assert float(field.input_value()) >= 90 - 1e-6
    page.locator(".segment", has_text="Today").click()
    assert fits(page)
    field.fill("50")
    page.get_by_role("button", name="At most 50").click()
    expect(page.locator(".chip")).to_have_count(2)
    watched.assert_quiet()
    page.locator("#ask-set").click()
    expect(card(page).locator(".reason")).to_contain_text("croissants", timeout=LONG)
    page.context.close()


def test_places_can_be_chosen_by_keyboard(browser: Browser, examples: str) -> None:
    """Who cannot click on the map finds a place by its name, and takes a wish back from its chip."""
    watched = opened(browser, examples, scene="city", reduced_motion="reduce")
    page = watched.page
    find = page.get_by_label("Find a place")
    find.fill("tanne")
    find.press("Enter")
    page.get_by_role("button", name="Avoiding it").press("Enter")
    expect(page.locator(".chip")).to_have_text(["avoiding Tannery"])
    page.get_by_role("button", name="Through it").press("Enter")
    expect(page.locator(".chip")).to_have_text(["through Tannery"])
    page.locator(".chip").press("Enter")
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator("#ask-set")).to_be_hidden()
    watched.assert_quiet()
    page.context.close()


def test_a_link_whose_wish_does_not_fit_is_not_asked(browser: Browser, examples: str) -> None:
    """A wish for a place that is not there is left out and named; nothing is asked about it."""
    watched = opened(browser, examples, scene="city", reduced_motion="reduce")
    page = watched.page
    page.goto(f'{examples}/#scene=city&about=set&asked=relative&wish={{"through":["Atlantis"]}}')
    expect(page.locator("#link-note")).to_contain_text("what is wished of a plan")
    expect(page.locator(".plan-card.a .cost b")).not_to_be_empty()
    assert watched.posts("/explanations") == 0
    expect(page.locator(".chip")).to_have_count(0)
    watched.assert_quiet()
    page.context.close()


def test_number_of_changes_is_a_slider(browser: Browser, examples: str) -> None:
    """At its right end any number of features may change and nothing is sent; left of it, the answer keeps to it."""
    watched = opened(browser, examples, scene="bakery", width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    slider = page.locator("#most-changes")
    said = page.locator(".most-changes output")
    expect(said).to_have_text("any")
    page.locator(".conditions summary").click()
    with page.expect_request(re.compile("/explanations$")) as sent:
        page.locator("#ask-any").click()
    assert "max_changes" not in sent.value.post_data_json
    expect(card(page).locator(".verdict")).to_be_visible(timeout=LONG)
    slider.fill("1")
    expect(said).to_have_text("1")
    expect(page.locator("#ask-note")).to_contain_text("Something has changed since")
    with page.expect_request(re.compile("/explanations$")) as sent:
        page.locator("#ask-any").click()
    assert sent.value.post_data_json["max_changes"] == 1
    expect(card(page).locator(".verdict")).to_be_visible(timeout=LONG)
    card(page).locator("summary", has_text="Certificate").click()
    expect(card(page).locator(".certificate")).to_contain_text("one change")
    assert fits(page)
    expect(page).to_have_url(re.compile("changes"))
    page.reload()
    expect(said).to_have_text("1")
    watched.assert_quiet()
    page.context.close()
