"""What the page says of a context and a plan while they change: nothing is kept, dropped or decided without a word."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.browser import Watched, asked, opened
from tests.web.live import running, until

import whence as wh
from whence.web.scenes import Scene


@pytest.fixture
def bakery(browser: Browser, examples: str) -> Any:
    """The bakery's page; nothing may go wrong on it."""
    watched = opened(browser, examples, scene="bakery")
    yield watched
    watched.assert_quiet()
    watched.page.context.close()


def feature(page: Page, name: str) -> Locator:
    return page.locator(f"[data-feature={name}]")


def bar(page: Page, part: str) -> float:
    """How long the decision's bar is, as a share of its axis."""
    share: float = page.locator(f"[data-part='{part}'] .q-bar.d").evaluate("bar => parseFloat(bar.style.width)")
    return share


def test_slip_of_the_hand_does_not_squeeze_the_bars(bakery: Watched) -> None:
    """9999 is cut off on its axis instead of squeezing all others, and mended, everything is as before."""
    page = bakery.page
    rolls = page.get_by_label("Your plan: rolls", exact=True)
    before, typed = bar(page, "rolls"), rolls.input_value()
    rolls.fill("9999")
    expect(page.locator(".plan-card.a .reason")).to_be_visible()
    assert bar(page, "rolls") > before / 4
    expect(page.locator("[data-part=rolls] .q-bar.a")).to_contain_class("cut")
    rolls.fill(typed)
    expect(page.locator(".plan-card.a .reason")).to_be_hidden()
    expect(page.locator("[data-part=rolls] .q-bar.a")).not_to_contain_class("cut")
    assert bar(page, "rolls") == pytest.approx(before)


def test_axis_stays_under_the_hand_that_drags(bakery: Watched) -> None:
    """While a bar is dragged to its end and back its axis stays; let go, it makes room again."""
    page = bakery.page
    drag = page.get_by_label("Your plan: rolls, drag")
    box, most = drag.bounding_box(), drag.get_attribute("max")
    assert box is not None
    start = drag.evaluate("range => (range.value / range.max)") * (box["width"] - 18) + 9
    page.mouse.move(box["x"] + start, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 30, box["y"] + box["height"] / 2, steps=4)
    assert drag.get_attribute("max") == most
    page.mouse.up()
    expect(drag).not_to_have_attribute("max", str(most))


def test_emptied_quantity_is_asked_for(bakery: Watched) -> None:
    """An emptied quantity has no value any more: the page says what is missing, and asks nothing until it is there."""
    page = bakery.page
    rolls, ask = page.get_by_label("Your plan: rolls", exact=True), page.get_by_role("button", name="Why not mine?")
    rolls.fill("")
    expect(page.locator(".plan-card.a .reason")).to_contain_text("rolls needs a number.")
    expect(rolls).to_have_attribute("aria-invalid", "true")
    expect(ask).to_be_disabled()
    page.get_by_label("weekday", exact=True).select_option("Friday")
    expect(rolls).to_have_value("")
    # The address follows a little later.
    address = "new URLSearchParams(location.hash.slice(1)).get('plan')"
    until(lambda: json.loads(page.evaluate(address))[0] is None, 30.0)
    rolls.fill("300")
    expect(page.locator(".plan-card.a .reason")).to_be_hidden()
    expect(ask).to_be_enabled()


def test_emptied_number_of_the_context_is_asked_for(bakery: Watched) -> None:
    """Without a temperature nothing is decided, and the page says so beside the field, the plan and the question."""
    page = bakery.page
    field = page.get_by_label("temperature", exact=True)
    field.fill("")
    for place in (
        feature(page, "temperature").locator(".caution"),
        page.locator(".plan-card.d .plan-text"),
        page.locator("#ask-note"),
    ):
        expect(place).to_have_text("temperature needs a number.")
    expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
    field.fill("12")
    expect(page.locator(".plan-card.d .plan-text")).to_contain_text("rolls")
    expect(feature(page, "temperature").locator(".caution")).to_be_hidden()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()


def test_closed_drawer_keeps_the_limit(bakery: Watched) -> None:
    """The drawer closes, the limit stays: told in a line, sent with the question, taken back by a button of its own."""
    page = bakery.page
    opener = feature(page, "temperature").get_by_role("button", name="Limit temperature")
    opener.click()
    page.get_by_label("temperature: explanation may go to").fill("20")
    opener.click()
    expect(page.get_by_label("temperature: explanation may go to")).to_be_hidden()
    expect(feature(page, "temperature").locator(".limit-told")).to_have_text("May go to 20 °C only.")
    with page.expect_request(lambda request: request.url.endswith("/explanations")) as sent:
        page.get_by_role("button", name="Why not mine?").click()
    assert sent.value.post_data_json["bounds"] == {"temperature": [None, 20]}
    opener.click()
    page.get_by_role("button", name="No limit for temperature").click()
    opener.click()
    expect(feature(page, "temperature").locator(".limit-told")).to_be_hidden()
    expect(page.locator("#ask-note")).to_contain_text("Something has changed since")


def test_controls_show_the_context_found(bakery: Watched) -> None:
    """In "then" the controls stand where the sentence says, in "today" where they stood; changes go on from there."""
    page = bakery.page
    asked(page)
    page.locator("[data-kind=absolute]").get_by_role("button", name="Show it").click()
    told = feature(page, "temperature").locator(".then-note b").inner_text()
    field, weekday = page.get_by_label("temperature", exact=True), page.get_by_label("weekday", exact=True)
    expect(weekday).to_have_value("Saturday")
    assert told == f"{field.input_value()} °C"
    expect(page.locator("#context-hint")).to_contain_text("Shown is the context found.")
    page.get_by_role("radio", name="Today").click()
    expect(weekday).to_have_value("Thursday")
    expect(field).to_have_value("7")
    page.get_by_role("radio", name="Then").click()
    page.get_by_role("switch", name="rain").click()
    expect(page.locator("#ask-note")).to_contain_text("Something has changed since")
    expect(weekday).to_have_value("Saturday")
    expect(page.get_by_role("switch", name="rain")).to_have_attribute("aria-checked", "true")


def test_story_says_what_it_no_longer_tells(bakery: Watched) -> None:
    """The scene's text tells of its start: whatever is shown instead is named below it, and reset takes that back."""
    page = bakery.page
    note = page.locator("#question-note")
    expect(note).to_be_hidden()
    page.get_by_label("weekday", exact=True).select_option("Friday")
    page.get_by_label("temperature", exact=True).fill("9")
    expect(note).to_have_text(
        "This is no longer the example as described. "
        "Now weekday is Friday (was Thursday) and temperature is 9 °C (was 7 °C)."
    )
    page.get_by_role("button", name="Reset the context, locks and limits").click()
    expect(note).to_be_hidden()
    page.get_by_role("button", name="Start from the decision").click()
    expect(note).to_have_text("This is no longer the example as described. Your plan is another one.")


def test_context_outside_the_history_is_pointed_out(bakery: Watched) -> None:
    """A temperature that no past day had is decided with a word, beside the control and beside the decision."""
    page = bakery.page
    page.get_by_label("temperature", exact=True).fill("60")
    expect(feature(page, "temperature").locator(".caution")).to_contain_text(
        "60 °C lies outside the history, which has"
    )
    expect(page.locator(".plan-card.d .caution")).to_contain_text(
        "temperature 60 °C lies outside the history, which has"
    )
    page.get_by_label("temperature", exact=True).fill("10")
    expect(page.locator(".plan-card.d .caution")).to_be_hidden()


def test_category_and_switch_outside_the_history(browser: Browser) -> None:
    """A category that never occurred and a switch that was never on are pointed out as well; today's too."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"shop": ["north", "south"] * 10, "sale": [False] * 20, "load": np.arange(20.0)})
    schema = wh.Schema({"shop": wh.Categorical(["north", "south", "east"]), "sale": wh.Binary()})
    policy = wh.Policy(wh.Newsvendor(holding=[1.0], backorder=[2.0]), wh.KNNWeights(k=3), schema=schema)
    policy.fit(X, pd.DataFrame({"bread": 10 * rng.random(20)}))
    today = X.iloc[0].copy()
    today["load"] = 25.0
    with running([Scene("shop", "Why?", "", policy, today)]) as live:
        watched = opened(browser, live.url)
        page = watched.page
        caution = page.locator(".plan-card.d .caution")
        expect(caution).to_have_text("load 25 lies outside the history, which has 0 to 19.")
        page.get_by_label("load", exact=True).fill("5")
        page.get_by_label("shop", exact=True).select_option("east")
        page.get_by_role("switch", name="sale").click()
        expect(caution).to_have_text("shop east is not in the history. sale was never on in the history.")
        watched.assert_quiet()
        page.context.close()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"limits": {"rain": [0, 1]}}, "the limit of rain"),
        ({"limits": {"temperature": ["warm", None]}}, "the limit of temperature"),
        ({"limits": {"weekday": ["Someday"], "temperature": [0, 20]}}, "the limit of weekday"),
        ({"context": {"weekday": "Someday", "temperature": 9}}, "the value of weekday"),
        ({"context": {"temperature": True, "moon": 1}}, "the value of temperature and the value of moon"),
        ({"locks": ["moon"]}, "the lock of moon"),
    ],
)
def test_link_that_does_not_fit_is_read_as_far_as_it_does(
    browser: Browser, examples: str, parts: dict[str, Any], said: str
) -> None:
    """What a link asks for that the scene does not have is left out and named; the rest holds, and the page works."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    page.goto(
        f"{examples}/#scene=bakery&" + "&".join(f"{name}={quote(json.dumps(part))}" for name, part in parts.items())
    )
    expect(page.locator("#link-note")).to_have_text(
        f"Part of the link does not fit this scene and was left out: {said}."
    )
    expect(page.locator(".plan-card.d .plan-text")).to_contain_text("rolls")
    expect(page.locator("h1")).to_have_text("Why not bake as on a warm Saturday?")
    if "temperature" in parts.get("limits", {}) and "weekday" in said:
        expect(feature(page, "temperature").locator(".limit-told")).to_have_text("May go from 0 to 20 °C only.")
    page.get_by_label("temperature", exact=True).fill("11")
    expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
    watched.assert_quiet()
    page.context.close()


def test_observations_are_counted_from_one(browser: Browser, examples: str) -> None:
    """The first past observation is number 1 in every scene: to load, to take a plan of, among those that speak."""
    for scene in ("bakery", "city"):
        watched = opened(browser, examples, scene=scene)
        page = watched.page
        last = page.request.get(f"{examples}/api/scenes/{scene}").json()["observations"]
        for field in (page.locator("#observation"), page.locator("#take-row")):
            assert [field.get_attribute(name) for name in ("min", "max")] == ["1", str(last)]
        page.locator("#observation").fill("1")
        page.get_by_role("button", name="Load", exact=True).click()
        expect(page.locator(".observation [role=status]")).to_contain_text("Observation 1 ")
        first = page.request.get(f"{examples}/api/scenes/{scene}/observations/1").json()
        assert first["label"] == ("2024-01-01" if scene == "bakery" else "1")
        page.wait_for_function(
            "told => new URLSearchParams(location.hash.slice(1)).get('context') === told",
            arg=json.dumps(first["context"], separators=(",", ":")).replace(".0,", ",").replace(".0}", "}"),
        )
        watched.assert_quiet()
        page.context.close()
