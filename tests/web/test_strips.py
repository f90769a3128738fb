"""Verdict strips over HTTP and under the controls of the page."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests.web.browser import eventually, opened

CONTEXT = {"weekday": "Thursday", "temperature": 7, "rain": False, "promotion": False}


def test_strips_of_a_context(client: httpx.Client) -> None:
    """Every feature has a strip, in its order; the stretch of today's value is the decision's."""
    asked = {"context": CONTEXT, "plan": [319, 105, 93, 43]}
    told = client.post("/api/v1/scenes/bakery/strips", json=asked).raise_for_status().json()
    assert [strip["feature"] for strip in told["strips"]] == list(CONTEXT)
    weekday, temperature = told["strips"][:2]
    assert not weekday["ordered"]
    assert temperature["exact"]
    assert next(one for one in weekday["stretches"] if one["begin"] == "Thursday")["verdict"] == "decision"
    assert temperature["stretches"][0]["begin"] < 7 < temperature["stretches"][-1]["end"]


@pytest.mark.parametrize("plan", [None, [1e9, 0, 0, 0], "nonsense"])
def test_strips_without_a_plan(client: httpx.Client, plan: object) -> None:
    """Without a plan, or with one that cannot be carried out, only other plans are compared."""
    asked = {"context": CONTEXT, "plan": plan}
    told = client.post("/api/v1/scenes/bakery/strips", json=asked).raise_for_status().json()
    verdicts = {one["verdict"] for strip in told["strips"] for one in strip["stretches"]}
    assert "alternative" not in verdicts


def test_strips_in_the_context_of_another_decision(client: httpx.Client) -> None:
    """A plan that is given as the decision takes its place."""
    asked = {"context": CONTEXT, "decision": [0, 0, 0, 0], "patient": True}
    told = client.post("/api/v1/scenes/bakery/strips", json=asked).raise_for_status().json()
    assert {one["verdict"] for strip in told["strips"] for one in strip["stretches"]} == {"another"}
    assert client.post("/api/v1/scenes/bakery/strips", json={"context": {}}).status_code == 422


def test_strips_follow_the_controls(browser: Browser, examples: str) -> None:
    """Under every control stands its strip; moved, the others change with it, and a choice on it is taken."""
    watched = opened(browser, examples, scene="bakery")
    page = watched.page
    expect(page.locator(".feature .strip:visible")).to_have_count(4)
    strip = page.locator("[data-feature=temperature] .strip")
    expect(strip).to_have_attribute(
        "aria-label", "Along temperature: the decision is best, from 18.35 °C on another plan is best."
    )
    assert strip.locator(".turn").inner_text() == "18.4"
    page.locator("[data-feature=weekday] .choice", has_text="Saturday").click()
    expect(page.get_by_label("weekday", exact=True)).to_have_value("Saturday")
    expect(strip).not_to_have_attribute(
        "aria-label", "Along temperature: the decision is best, from 18.35 °C on another plan is best."
    )
    eventually(page, lambda: watched.posts("/strips") >= 2)
    watched.assert_quiet()
    page.context.close()


def test_choices_are_named_in_full_and_in_line(browser: Browser, examples: str) -> None:
    """Below a strip of choices no name is cut off, and all stand at one height."""
    days, periods = ["Mon(day)?", "Tue(sday)?"], ["night", "morning peak"]
    for scene, feature, named in (("bakery", "weekday", days), ("city", "period", periods)):
        for width in (390, 1280):
            page = opened(browser, examples, scene=scene, width=width).page
            names = page.locator(f"[data-feature={feature}] .choice-name")
            expect(names.first).to_have_text(re.compile(named[0]))
            seen = names.evaluate_all(
                """all => all.map(one => [one.innerText.replace(/\\s+/g, " "), one.getBoundingClientRect().top,
                    one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight])"""
            )
            # Short where the machine's letters are too wide for the name in full.
            assert all(re.fullmatch(name, text) for name, (text, *_) in zip(named, seen, strict=False))
            tops = [top for _, top, *_ in seen]
            assert max(tops) - min(tops) < 1
            assert max(cut for *_, across, down in seen for cut in (across, down)) <= 1
            page.context.close()


def test_marks_sit_where_the_value_is(browser: Browser, examples: str) -> None:
    """The turn on the strip stands under the thumb of a slider that is moved there."""
    watched = opened(browser, examples, scene="bakery")
    page = watched.page
    stretch = page.locator("[data-feature=temperature] .stretch").nth(1)
    places: list[Any] = []
    # A strip that is still hidden, or just drawn again, has no place yet.
    eventually(page, lambda: places.append(stretch.bounding_box()) or places[-1] is not None)
    turn = places[-1]
    page.get_by_label("temperature", exact=True).fill("18.35")
    slider = page.locator("[data-feature=temperature] input[type=range]")
    box, at = slider.bounding_box(), float(slider.input_value())
    low, high = (float(slider.get_attribute(name) or "nan") for name in ("min", "max"))
    assert box
    assert turn
    middle = box["x"] + 8.5 + (box["width"] - 17) * (at - low) / (high - low)
    assert turn["x"] == pytest.approx(middle, abs=1.5)
    page.context.close()
