"""Every change can be undone, with a button, a key or the browser's Back; what was asked by key leads to its answer."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect
from tests.web.browser import PATIENCE, eventually, opened


def changed_to(page: Page, value: str) -> None:
    """Set the temperature, and wait until that is a step of its own."""
    steps = page.evaluate("history.length")
    page.get_by_label("temperature", exact=True).fill(value)
    eventually(page, lambda: page.evaluate("history.length") > steps)


def test_back_undoes_the_last_change(browser: Browser, examples: str) -> None:
    """Back, Undo and Ctrl-Z go back a step, Redo goes forward, and a reload keeps what is there."""
    watched = opened(browser, examples, scene="bakery")
    page = watched.page
    temperature = page.get_by_label("temperature", exact=True)
    first = temperature.input_value()
    undo, redo = page.get_by_role("button", name="Undo the last change"), page.get_by_role("button", name="Redo")
    expect(undo).to_be_disabled()
    changed_to(page, "12")
    changed_to(page, "14")
    page.go_back()
    expect(temperature).to_have_value("12")
    undo.click()
    expect(temperature).to_have_value(first)
    expect(undo).to_be_disabled()
    redo.click()
    expect(temperature).to_have_value("12")
    page.locator("#title").click()
    page.keyboard.press("Control+Shift+z")
    expect(temperature).to_have_value("14")
    expect(redo).to_be_disabled()
    page.keyboard.press("Control+z")
    expect(temperature).to_have_value("12")
    page.reload()
    expect(temperature).to_have_value("12")
    watched.assert_quiet()
    page.context.close()


def test_enter_leads_to_the_answer(browser: Browser, examples: str) -> None:
    """Asked with Enter, the focus is on the answer once it is there; asked with the mouse, it stays."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    ask = page.get_by_role("button", name="Why not mine?")
    ask.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".explanation-card[aria-busy=true]")).to_have_count(0, timeout=8 * PATIENCE)
    expect(page.locator(".explanation-question .explanation-card").first).to_be_focused()
    watched.assert_quiet()
    page.context.close()


def test_enter_in_a_quantity_asks(browser: Browser, examples: str) -> None:
    """Enter in a field of the plan asks about the plan; other questions asked by key lead to their answer."""
    watched = opened(browser, examples, scene="bakery", reduced_motion="reduce")
    page = watched.page
    page.get_by_label("Your plan: rolls", exact=True).fill("300")
    page.keyboard.press("Enter")
    expect(page.locator("[data-kind=relative] .verdict")).to_be_visible(timeout=8 * PATIENCE)
    expect(page.locator(".explanation-card[aria-busy=true]")).to_have_count(0, timeout=8 * PATIENCE)
    expect(page.locator(".explanation-question .explanation-card").first).to_be_focused()
    page.locator("#ask-menu").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-other=menu] .downloads")).to_be_visible(timeout=8 * PATIENCE)
    expect(page.locator("[data-other=menu]")).to_be_focused()
    watched.assert_quiet()
    page.context.close()
