"""The whole story from context to downloaded report, on a desk, on a phone, and without a mouse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.browser import asked, opened, take_pictures


@pytest.mark.parametrize(
    ("scene", "name", "then", "word"),
    [("bakery", "weekday", "Saturday", "Expected cost"), ("city", "period", "morning peak", "CVaR at 0.8")],
)
def test_from_context_to_report(
    browser: Browser, examples: str, tmp_path: Path, scene: str, name: str, then: str, word: str
) -> None:
    """Ask, read both answers, switch between today and then, download report and data, and come back by the link."""
    watched = opened(browser, examples, scene=scene)
    page = watched.page
    before = page.locator(".plan-card.d .cost b").inner_text()
    asked(page)
    expect(page.locator("[data-kind=relative] .verdict")).to_contain_text(f"{name} were {then}")
    # Of routes one is the best; quantities are as good as the best within a hundredth.
    best = (
        "No plan would have been better than yours"
        if scene == "city"
        else "Your plan would have been within 1 % of the best"
    )
    expect(page.locator("[data-kind=absolute] .verdict")).to_contain_text(best)
    expect(page.locator("[data-kind=relative] .badge")).to_contain_text("Proved nearest")
    expect(page.locator(f"[data-feature={name}]")).to_contain_class("changed")
    expect(page.locator(f"[data-feature={name}] .then-note b")).to_have_text(then)

    answer = _data(page, "relative", tmp_path)
    _switch(page, answer, before)
    page.locator("[data-kind=relative] .certificate summary").click()
    expect(page.locator("[data-kind=relative] .certificate")).to_contain_text("proved lower bound")
    expect(page.locator("[data-kind=relative] .certificate")).to_contain_text("optimal")

    with page.expect_download() as waiting:
        page.locator("[data-kind=relative]").get_by_role("link", name="Report (HTML)").click()
    report = tmp_path / "report.html"
    waiting.value.save_as(report)
    assert waiting.value.suggested_filename.endswith(".html")
    text = report.read_text(encoding="utf-8")
    assert f"{name} were {then}" in text
    assert word in text
    assert "http://" not in text.replace("http://www.w3.org", "")

    page.get_by_label("Scene").select_option("bakery" if scene == "city" else "city")
    expect(page.locator("#ask-note")).to_contain_text("The nearest context")
    expect(page.locator("[data-kind=relative]")).to_contain_text("Not asked yet.")
    watched.assert_quiet()
    page.context.close()


def test_numbers_are_those_of_the_sentence(browser: Browser, examples: str) -> None:
    """The value marked at a control and in the switch is the one that the answer names, rounded so that it holds."""
    watched = opened(browser, examples, scene="bakery")
    page = watched.page
    asked(page)
    page.locator("[data-kind=absolute]").get_by_role("button", name="Show it").click()
    shown = page.locator("[data-feature=temperature] .then-note b").inner_text()
    expect(page.locator("[data-kind=absolute] .verdict")).to_contain_text(f"temperature were {shown} rather than 7 °C")
    expect(page.locator(".stage-text")).to_contain_text(f"temperature {shown}")
    watched.assert_quiet()
    page.context.close()


def _data(page: Page, kind: str, folder: Path) -> dict[str, Any]:
    """The explanation as it is downloaded."""
    with page.expect_download() as waiting:
        page.locator(f"[data-kind={kind}]").get_by_role("link", name="Data (JSON)").click()
    path = folder / f"{kind}.json"
    waiting.value.save_as(path)
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    # What is shown first is where it turns.
    answer: dict[str, Any] = whole.get("nearest") or whole
    assert answer["status"] == "optimal"
    assert answer["distance"] == pytest.approx(answer["bound"])
    return answer


def _switch(page: Page, answer: dict[str, Any], before: str) -> None:
    """Plan, costs, distributions and weights are those of the context that is chosen."""
    steps = page.locator("#outcomes .step.d").get_attribute("d")
    speakers = page.locator(".speakers tbody").inner_text()
    page.get_by_role("radio", name="Then").click()
    costs = [page.locator(f".plan-card.{plan} .cost b").inner_text().split() for plan in "da"]
    assert [unit for _, unit in costs] == [answer["cost_unit"]] * 2
    shown = [float(cost) for cost, _ in costs]
    after = answer["cost_after"]
    expected = [after["decision"], after["alternative"]] if isinstance(after, dict) else after
    assert shown == pytest.approx(expected, rel=2e-3)
    assert shown[1] <= shown[0]
    expect(page.locator(".plan-card.t")).to_be_visible()
    expect(page.locator("#outcomes-stage")).to_have_text("then")
    assert page.locator("#outcomes .step.d").get_attribute("d") != steps
    assert page.locator(".speakers tbody").inner_text() != speakers
    page.get_by_role("radio", name="Today").click()
    expect(page.locator(".plan-card.d .cost b")).to_have_text(before)
    expect(page.locator(".plan-card.t")).to_be_hidden()
    page.get_by_role("button", name="Play from today to then").click()
    expect(page.locator("#outcomes-stage")).to_have_text("then")


def test_link_restores_everything(browser: Browser, examples: str) -> None:
    """Context, plan, locks, limits and what was asked come back when the address is opened elsewhere."""
    first = opened(browser, examples, scene="bakery")
    page = first.page
    page.get_by_label("weekday", exact=True).select_option("Friday")
    page.get_by_role("switch", name="rain").click()
    page.get_by_role("button", name="promotion cannot change").click()
    page.get_by_role("button", name="Limit temperature").click()
    page.get_by_label("temperature: explanation may go to").fill("24")
    page.get_by_label("Your plan: fruit cake", exact=True).fill("40")
    expect(page.locator(".plan-card.a .plan-text")).to_contain_text("fruit cake 40")
    asked(page)
    verdict = page.locator("[data-kind=relative] .verdict").inner_text()
    page.get_by_role("button", name="Copy link").click()
    link = page.url
    page.context.close()

    second = opened(browser, link.split("/#")[0])
    page = second.page
    page.goto(link)
    expect(page.locator("[data-kind=relative] .verdict")).to_have_text(verdict)
    expect(page.get_by_label("weekday", exact=True)).to_have_value("Friday")
    expect(page.get_by_role("switch", name="rain")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("button", name="promotion cannot change")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("temperature: explanation may go to")).to_have_value("24")
    expect(page.get_by_label("Your plan: fruit cake", exact=True)).to_have_value("40")
    page.reload()
    expect(page.locator("[data-kind=relative] .verdict")).to_have_text(verdict)
    second.assert_quiet()
    page.context.close()


def test_changes_make_an_answer_stale(browser: Browser, examples: str) -> None:
    """After the context has changed, the old answer is marked, no control is, and today is shown."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    asked(page)
    page.get_by_role("radio", name="Then").click()
    page.get_by_label("day", exact=True).select_option("Sunday")
    expect(page.locator("#ask-note")).to_contain_text("Something has changed since")
    expect(page.locator("#stage")).to_be_hidden()
    assert page.locator(".feature.changed").count() == 0
    expect(page).not_to_have_url(re.compile("asked="))
    watched.assert_quiet()
    page.context.close()


@pytest.mark.parametrize("scene", ["bakery", pytest.param("city", marks=pytest.mark.long)])
def test_phone_needs_no_sideways_scrolling(browser: Browser, examples: str, scene: str) -> None:
    """At 390 px nothing sticks out: while drawing or over budget, with answers, and in the context found."""
    watched = opened(browser, examples, scene=scene, width=390, has_touch=True)
    page = watched.page

    def assert_fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        outside = page.evaluate(
            """() => [...document.querySelectorAll("button, input, select, p, h1, h2, h3, svg, td, th")]
              .filter(node => node.offsetParent !== null || node.tagName === "svg")
              .map(node => [node.getBoundingClientRect(), node])
              .filter(([box, node]) => box.width > 1 && !node.closest(".hidden-label"))
              .filter(([box]) => box.right > 391 || box.left < -1)
              .map(([, node]) => node.outerHTML.slice(0, 80))"""
        )
        assert outside == []

    assert_fits()
    if scene == "city":
        page.get_by_role("button", name="Draw your route").tap()
        page.locator(".stop-button").first.tap()
        assert_fits()
        page.get_by_role("button", name="Stop drawing").tap()
    else:
        page.get_by_label("Your plan: rolls", exact=True).fill("999")
        expect(page.locator(".plan-card.a .reason")).to_be_visible()
        assert_fits()
        page.get_by_label("Your plan: rolls", exact=True).fill("300")
    page.get_by_text("Take the plan of another context").tap()
    asked(page)
    page.get_by_role("radio", name="Then").tap()
    for summary in page.locator(".certificate summary").all():
        summary.tap()
    assert_fits()
    watched.assert_quiet()
    page.context.close()


def _tab_to(page: Page, text: str, most: int = 90) -> None:
    """Press Tab until the element with that name has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        name = page.evaluate(
            """() => { const node = document.activeElement;
              return node.getAttribute("aria-label") || node.labels?.[0]?.textContent || node.textContent; }"""
        )
        if name.strip().startswith(text):
            return
    raise AssertionError(f"Tab never reaches {text!r}.")


def test_keyboard_alone_is_enough(browser: Browser, examples: str) -> None:
    """Context, route, question and switch between the contexts, without touching the mouse."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    _tab_to(page, "Skip to the plans")
    _tab_to(page, "period")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("period", exact=True)).to_have_value("evening peak")
    page.keyboard.press("ArrowUp")
    _tab_to(page, "day cannot change")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="day cannot change")).to_have_attribute("aria-pressed", "true")
    _tab_to(page, "Draw your route")
    page.keyboard.press("Enter")
    _to_next_place(page, "Go to Tannery")
    for place in ("West Bridge", "Boatyard", "Ring South-West", "Ring South"):
        _to_next_place(page, f"Go to {place}")
    page.keyboard.press("Backspace")
    expect(page.locator(".drawing-status")).to_contain_text("You are at Ring South-West.")
    for place in ("Ring South", "Ring South-East", "Hospital"):
        _to_next_place(page, f"Go to {place}")
    expect(page.locator(".plan-card.a .plan-text")).to_contain_text("Ring South-East → Hospital")
    expect(page.get_by_role("button", name="Draw your route")).to_be_focused()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
    _tab_to(page, "Why not mine?")
    page.keyboard.press("Enter")
    expect(page.locator("[data-kind=relative] .verdict")).to_contain_text("period were morning peak")
    expect(page.locator("[data-kind=absolute] .verdict")).to_be_visible()
    _tab_to(page, "Today")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#outcomes-stage")).to_have_text("then")
    watched.assert_quiet()
    page.context.close()


def _to_next_place(page: Page, name: str) -> None:
    """Among the places offered on the map, of which the first has the focus, walk on to one and take it."""
    for _ in range(6):
        if str(page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")).startswith(f"{name} along"):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name!r} is not offered.")


@pytest.mark.long
def test_pictures_of_the_documentation(browser: Browser, examples: str, tmp_path: Path) -> None:
    """The helper that takes the documentation's pictures still finds everything it shows."""
    for path in take_pictures(browser, examples, tmp_path):
        assert path.stat().st_size > 20_000
