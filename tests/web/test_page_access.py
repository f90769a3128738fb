"""The page for everybody: axe-core finds nothing in any state, at any width, in any colours; words are explained."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.blocks import DAY
from tests.web.browser import PATIENCE, ask_by_a_hair, ask_others, asked, opened

WIDTHS = (320, 390, 768, 1280) if DAY else (320, 1280)
#: Has the same style rules as 320: contrasts, which take most of the time, are the same there.
SAME_COLOURS = 390
#: Colours in which every state is looked at once more; what stands where is the same in all of them.
COLOURS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "dark", "forced_colors": "active"},
}
AXE = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN = """async contrasts => {
  const told = node => `${node.target.join(" ")} ${node.failureSummary}`;
  const { violations } = await axe.run(
    document, {resultTypes: ["violations"], rules: {"color-contrast": {enabled: contrasts}}});
  return violations.map(found => `${found.id}: ${found.nodes.slice(0, 3).map(told).join("; ")}`); }"""


#: Two frames after a change, and when whatever moves or fades has come to rest; what turns for ever does not.
SETTLED = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame(); await frame();
  const ends = moving => moving.effect.getComputedTiming().endTime !== Infinity;
  await Promise.all(document.getAnimations().filter(ends).map(moving => moving.finished.catch(() => {}))); }"""


def violations(page: Page, state: str) -> list[str]:
    """What axe-core finds in this state: at every width, and in all colours at one; nothing may stick out sideways."""
    found = []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        page.evaluate(SETTLED)
        found += [f"{state} at {width}: {what}" for what in page.evaluate(RUN, width != SAME_COLOURS)]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{state} at {width}: wider than the window")
    # By day last: so it goes on to the next state.
    for name in ("dark", "forced", "light"):
        page.emulate_media(**COLOURS[name])
        page.evaluate(SETTLED)
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is (name != "light")
        if name != "light":
            found += [f"{state}, {name}: {what}" for what in page.evaluate(RUN, True)]
    return found


def states_of_the_bakery(page: Page) -> Iterator[str]:
    """From the first sight to answers of every kind."""
    yield "start"
    page.get_by_label("temperature", exact=True).fill("60")
    page.get_by_label("Your plan: rolls", exact=True).fill("")
    expect(page.locator(".plan-card.a .reason")).to_be_visible()
    expect(page.locator(".plan-card.d .caution")).to_be_visible()
    yield "outside the history, a quantity missing"
    held: list[Route] = []
    page.route("**/decide", lambda route: held.append(route))
    page.get_by_label("temperature", exact=True).fill("7")
    expect(page.locator(".plan-card.d.busy")).to_be_visible()
    yield "being decided"
    held[-1].continue_()
    page.unroute("**/decide")
    expect(page.locator(".plan-card.d.busy")).to_have_count(0)
    page.get_by_label("Your plan: rolls", exact=True).fill("319")
    page.get_by_role("button", name="Limit temperature").click()
    page.get_by_role("button", name="Limit weekday").click()
    page.get_by_label("temperature: explanation may go to").fill("-3")
    page.get_by_label("temperature: explanation may go from").fill("5")
    yield "limits drawer"
    page.get_by_role("button", name="No limit for temperature").click()
    asked(page)
    page.get_by_role("radio", name="Then").click()
    for summary in page.locator(".certificate summary").all():
        summary.click()
    yield "explanation found, then"
    page.locator("[data-kind=relative] .badge .distance .term").click()
    expect(page.locator("#term-distance")).to_be_visible()
    yield "a word explained"
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Today").click()
    page.get_by_label("weekday", exact=True).select_option("Friday")
    expect(page.locator("#ask-note")).to_contain_text("Something has changed since")
    yield "answers to an older question"
    page.get_by_label("weekday", exact=True).select_option("Thursday")
    for name in ("weekday", "temperature", "rain", "promotion"):
        page.get_by_role("button", name=f"{name} cannot change").click()
    asked(page)
    expect(page.locator("[data-kind=relative] .badge")).to_contain_text("none exists")
    yield "none"
    page.get_by_role("button", name="Start from the decision").click()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
    asked(page)
    expect(page.locator("[data-kind=relative] .badge")).to_contain_text("Holds already")
    yield "already"
    ask_by_a_hair(page, page.url.split("/#")[0])
    page.locator(".conditions summary").click()
    yield "two answers, conditions"
    ask_others(page)
    page.locator(".since summary").click()
    page.locator(".way").first.get_by_role("button", name="Show").click()
    yield "other questions"
    page.get_by_role("radio", name="Today").click()
    page.get_by_label("weekday", exact=True).select_option("Friday")
    expect(page.locator(".other.stale")).to_have_count(4)
    yield "other questions, outdated"


def states_of_the_city(page: Page) -> Iterator[str]:
    """A map, drawing on it, and answers that did not come."""
    yield "map"
    page.get_by_label("Find a place").fill("Tannery")
    page.get_by_label("Find a place").press("Enter")
    page.get_by_role("button", name="Through it").click()
    expect(page.locator(".chip")).to_have_text(["through Tannery"])
    yield "wish for a route"
    page.get_by_role("button", name="What would change the plan?").click()
    expect(page.locator("[data-kind=relative] .successor")).to_be_visible(timeout=8 * PATIENCE)
    page.get_by_role("radio", name="Then").click()
    yield "plan that takes over"
    page.get_by_role("radio", name="Today").click()
    page.get_by_role("button", name="Draw your route").click()
    page.locator(".stop-button").first.click()
    yield "route drawing"
    page.get_by_role("button", name="Stop drawing").click()

    def late(route: Route) -> None:
        answer = route.fetch().json()
        for part in ("nearest", "result"):
            if answer.get(part):
                answer[part]["explanation"]["status"] = "time_limit"
        route.fulfill(json=answer)

    page.route(re.compile(r"/explanations/[^/]+\?wait"), late)
    asked(page)
    expect(page.locator("[data-kind=relative] .badge")).to_contain_text("Time is up")
    yield "time limit"
    page.route("**/explanations", lambda route: route.fulfill(status=500, body="oops"))
    page.get_by_role("button", name="Why not mine?").click()
    expect(page.locator("[data-kind=relative] .reason")).to_be_visible()
    yield "error"
    page.goto(f"{page.url.split('#')[0]}#scene=bakery&limits=%7B%22rain%22%3A%5B0%2C1%5D%7D")
    expect(page.locator("#link-note")).to_contain_text("the limit of rain")
    expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
    yield "link with bad limits"
    page.route("**/api/scenes", lambda route: route.fulfill(json=[]))
    page.reload()
    expect(page.locator(".empty")).to_contain_text("There is nothing to decide yet.")
    yield "empty scene"


@pytest.mark.parametrize(("scene", "states"), [("bakery", states_of_the_bakery), ("city", states_of_the_city)])
def test_axe_finds_nothing(browser: Browser, examples: str, scene: str, states: Any) -> None:
    """No state of the page has a violation, at 320, 390, 768 and 1280 px, by day, by night and in forced colours."""
    watched = opened(browser, examples, scene=scene, reduced_motion="reduce", **COLOURS["light"])
    found = [what for state in states(watched.page) for what in violations(watched.page, state)]
    assert found == []
    watched.page.context.close()


def test_words_are_explained_where_they_stand(browser: Browser, examples: str) -> None:
    """Distance, boxes and speaking each open a note beside the word, by keyboard and by finger, inside the window."""
    watched = opened(browser, examples, scene="city", width=390, has_touch=True)
    page = watched.page
    asked(page)
    word = page.locator("[data-kind=relative] .badge .distance .term")
    word.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#term-distance")).to_contain_text("How far the context found is from the one asked about.")
    _inside(page, "#term-distance")
    page.keyboard.press("Escape")
    expect(page.locator("#term-distance")).to_be_hidden()
    expect(word).to_be_focused()
    page.locator("#outcomes h3 .term", has_text="speak").tap()
    expect(page.locator("#term-speak")).to_contain_text("a weight")
    _inside(page, "#term-speak")
    page.locator("h2", has_text="What both plans cost").tap()
    expect(page.locator("#term-speak")).to_be_hidden()
    page.locator("[data-kind=relative] .certificate summary").tap()
    page.locator("[data-kind=relative] .certificate .term", has_text="boxes").tap()
    expect(page.locator("#term-boxes")).to_contain_text("rules out whole boxes")
    _inside(page, "#term-boxes")
    watched.assert_quiet()
    page.context.close()


def _inside(page: Page, selector: str) -> None:
    found = page.locator(selector).bounding_box()
    assert found is not None
    assert found["x"] >= 0
    assert found["x"] + found["width"] <= 390
    assert found["y"] >= 0
    assert found["y"] + found["height"] <= 844


def test_forced_colours_keep_bars_switches_and_sliders(browser: Browser, examples: str) -> None:
    """Where the system sets the colours, whatever is told by a background is still told apart from it."""
    watched = opened(browser, examples, scene="bakery", forced_colors="active", reduced_motion="reduce")
    page = watched.page
    asked(page)
    page.get_by_role("radio", name="Then").click()
    plain = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for selector in (".q-bar.d", ".q-bar.t", ".weight", ".budget-fill", ".segment[aria-checked=true]"):
        colour = page.locator(selector).first.evaluate("node => getComputedStyle(node).backgroundColor")
        assert colour != plain, selector
    for selector in (".q-bar.a", ".switch i", ".budget-track"):
        style = page.locator(selector).first.evaluate(
            "node => [getComputedStyle(node).borderTopStyle, getComputedStyle(node).borderTopColor]"
        )
        assert style[0] in ("solid", "dashed"), selector
        assert style[1] != plain, selector
    knob = page.locator(".switch i").first.evaluate("node => getComputedStyle(node, '::after').backgroundColor")
    assert knob != plain
    for selector in (".slider input", ".q-track input"):
        slider = page.locator(selector).first
        assert slider.evaluate("node => getComputedStyle(node).forcedColorAdjust") == "none"
    for selector in (".bar.d", ".step.a", ".mark.d path"):
        fill = page.locator(selector).first.evaluate(
            "node => [getComputedStyle(node).fill, getComputedStyle(node).stroke]"
        )
        assert {colour for colour in fill if colour != "none"} - {plain}, selector
    watched.assert_quiet()
    page.context.close()
