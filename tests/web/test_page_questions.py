"""Other questions on the page: answers side by side, few changes, the facts that settle it, and since when."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.web.browser import PATIENCE, fits, opened

LONG = 8 * PATIENCE


def other(page: Page, name: str) -> Locator:
    return page.locator(f"[data-other={name}]")


def test_answers_side_by_side(browser: Browser, examples: str) -> None:
    """A card per way that would do, nearest first; each is shown on the whole page, and taken as the context."""
    watched = opened(browser, examples, scene="bakery", width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    page.locator("#subject").select_option("any relative")
    with page.expect_request(re.compile("/menus$")) as sent:
        page.locator("#ask-menu").click()
    assert sent.value.post_data_json["instead"] == "any"
    ways = other(page, "menu").locator(".way")
    expect(ways.first).to_be_visible(timeout=LONG)
    assert ways.count() > 1
    distances = [
        float(text)
        for text in ways.locator(".badge .distance").evaluate_all("n => n.map(x => x.innerText.split(' ').at(-1))")
    ]
    assert distances == sorted(distances)
    expect(other(page, "menu")).to_contain_text("Proved: no other")
    second = ways.nth(1)
    name = second.locator("h4").inner_text()
    second.get_by_role("button", name="Show").click()
    expect(page.locator(".feature.changed .feature-name").first).to_have_text(name.split(" and ")[0])
    expect(page.locator(".plan-card.a h3")).to_have_text("Plan that takes over")
    expect(ways.nth(1)).to_contain_class("selected")
    assert fits(page)
    ways.nth(1).get_by_role("button", name="Back to today").click()
    expect(page.locator(".plan-card.a h3")).to_have_text("Your plan")
    to = ways.first.locator(".changes .to").first.inner_text()
    ways.first.get_by_role("button", name="Set the controls to").click()
    expect(other(page, "menu")).to_contain_class("stale")
    expect(other(page, "menu")).to_contain_text("Something has changed since")
    assert to
    watched.assert_quiet()
    page.context.close()


def test_distance_by_the_number_of_changes(browser: Browser, examples: str) -> None:
    """Next to the slider: a chart with a point per number of changes, which sets the slider."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    expect(other(page, "front")).to_be_hidden()
    page.locator("#subject").select_option("mine absolute")
    page.locator("#ask-front").click()
    rows = other(page, "front").locator(".front-rows > li")
    expect(rows).to_have_count(2, timeout=LONG)
    expect(rows.first).to_contain_text("With one change: nothing would do (proved).")
    expect(rows.nth(1)).to_contain_text("With 2 changes or more")
    expect(other(page, "front").locator(".front-dot.proved")).to_have_count(1)
    label = other(page, "front").locator("svg").first.get_attribute("aria-label") or ""
    assert "proved nearest" in (label or other(page, "front").locator(".front-chart").get_attribute("aria-label") or "")
    rows.nth(1).get_by_role("button", name="Show it: the context").click()
    expect(page.locator(".feature.changed")).to_have_count(2)
    page.locator(".conditions summary").click()
    page.locator("#most-changes").fill("1")
    # The chart is about any number of changes: it is not outdated by the slider.
    expect(other(page, "front")).not_to_contain_class("stale")
    rows.nth(1).get_by_role("button", name="Set the slider").click()
    expect(page.locator(".most-changes output")).to_have_text("any")
    assert fits(page)
    watched.assert_quiet()
    page.context.close()


def test_facts_that_settle_it(browser: Browser, examples: str) -> None:
    """As long as these facts stay; for each, what would do without it. By keyboard."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    expect(page.locator("#ask-reasons")).to_be_enabled()
    page.locator("#ask-reasons").press("Enter")
    found = other(page, "reasons")
    expect(found.locator(".verdict")).to_contain_text("As long as", timeout=LONG)
    expect(found).to_contain_text("About your plan, better than the decision.")
    facts = found.locator(".fact-list > li")
    assert facts.count() >= 1
    expect(facts.first).to_contain_text("Without it, this would do:")
    facts.first.get_by_role("button", name="Show").press("Enter")
    expect(page.locator(".stage.then")).to_be_visible()
    expect(page.locator(".plan-card.a h3")).to_have_text("Your plan")
    # It is taken away as any other answer.
    with page.expect_download() as taken:
        found.get_by_role("link", name="Data (JSON)").click()
    assert taken.value.suggested_filename == "whence-bakery-reasons.json"
    assert fits(page)
    watched.assert_quiet()
    page.context.close()


def test_since_another_day(browser: Browser, examples: str) -> None:
    """A past observation, or values set by hand: the sentence, and a bar per feature in money; a link asks it again."""
    watched = opened(browser, examples, scene="bakery", width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    found = other(page, "compare")
    page.get_by_label("Before: past observation").fill("9999")
    found.get_by_role("button", name="Compare", exact=True).click()
    expect(found).to_contain_text("Past observations are numbered from 1 to")
    page.get_by_label("Before: past observation").fill("3")
    page.get_by_label("Before: past observation").press("Enter")
    rows = found.locator(".shares li")
    expect(rows.first).to_be_visible(timeout=LONG)
    expect(found.locator(".shares .together")).to_contain_text("€")
    expect(found.locator(".verdict")).to_contain_text(re.compile("has gained|has changed by"))
    found.locator("summary").click()
    page.get_by_label("weekday, before").select_option("Saturday")
    found.locator("#ask-compare").click()
    expect(rows.filter(has_text="Saturday → Thursday")).to_have_count(1, timeout=LONG)
    assert fits(page)
    # The address follows a moment later; that of the comparison before was of another day.
    expect(page).to_have_url(re.compile("more=compare.*before=.*Saturday"))
    page.reload()
    expect(rows.filter(has_text="Saturday → Thursday")).to_have_count(1, timeout=LONG)
    expect(page.get_by_label("weekday, before")).to_have_value("Saturday")
    # Another context, another comparison; another plan of one's own is none.
    page.get_by_label("Your plan: rolls", exact=True).fill("300")
    expect(found).not_to_contain_class("stale")
    page.get_by_label("weekday", exact=True).select_option("Friday")
    expect(found).to_contain_class("stale")
    watched.assert_quiet()
    page.context.close()


def test_what_cannot_be_asked_or_answered_is_said(browser: Browser, examples: str) -> None:
    """Without a plan, after a failure, and while it is cancelled: one sentence each."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    page.get_by_label("Your plan: rolls", exact=True).fill("")
    expect(page.locator("#ask-menu")).to_be_disabled()
    expect(other(page, "menu")).to_contain_text("Your plan is not complete.")
    page.locator("#subject").select_option("any relative")
    expect(page.locator("#ask-menu")).to_be_enabled()
    watched.assert_quiet()

    page.route("**/reasons", lambda route: route.fulfill(status=500, body="oops"))
    page.locator("#ask-reasons").click()
    expect(other(page, "reasons").locator(".reason")).to_contain_text("The server answered with an error (500).")

    def forever(route: Route) -> None:
        answer = route.fetch().json()
        state = "cancelled" if answer["state"] == "cancelled" or cancelled else "running"
        route.fulfill(json={**answer, "state": state, "result": None})

    cancelled: list[bool] = []
    page.route(re.compile(r"/answers/[^/]+\?wait"), forever)
    page.locator("#ask-menu").click()
    expect(other(page, "menu").locator(".progress-text")).to_contain_text("so far")
    page.on("request", lambda request: cancelled.append(True) if request.method == "DELETE" else None)
    other(page, "menu").get_by_role("button", name="Cancel: What else would do?").click()
    expect(other(page, "menu")).to_contain_text("Stopped before anything was found.")
    page.context.close()


def test_a_set_can_be_asked_about_and_a_link_asks_again(browser: Browser, examples: str) -> None:
    """Plans with so many croissants: their menu, and the same one from the link."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    page.get_by_label("Your plan: croissants", exact=True).fill("90")
    page.get_by_role("button", name="At least 90").click()
    page.locator("#subject").select_option("set absolute")
    with page.expect_request(re.compile("/menus$")) as sent:
        page.locator("#ask-menu").click()
    assert sent.value.post_data_json["instead"] == {"at_least": {"croissants": 90}}
    assert sent.value.post_data_json["kind"] == "absolute"
    verdict = other(page, "menu").locator(".verdict")
    expect(verdict).to_be_visible(timeout=LONG)
    expect(other(page, "menu")).to_contain_text("About a plan with at least 90 croissants, best of all plans.")
    said = other(page, "menu").locator(".spoken").all_inner_texts()
    expect(page).to_have_url(re.compile("more=menu"))
    page.reload()
    expect(verdict).to_be_visible(timeout=LONG)
    assert other(page, "menu").locator(".spoken").all_inner_texts() == said
    expect(page.locator("#subject")).to_have_value("set absolute")
    watched.assert_quiet()
    page.context.close()
