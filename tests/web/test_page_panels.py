"""Every panel of the page, used as a person would."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.web.browser import Watched, asked, eventually, opened
from tests.web.live import running

import whence as wh
from whence.web.scenes import Scene


@pytest.fixture
def bakery(browser: Browser, examples: str) -> Any:
    """The bakery's page; nothing may go wrong on it."""
    watched = opened(browser, examples, scene="bakery")
    yield watched
    watched.assert_quiet()
    watched.page.context.close()


@pytest.fixture
def city(browser: Browser, examples: str) -> Any:
    """The courier's page; nothing may go wrong on it."""
    watched = opened(browser, examples, scene="city")
    yield watched
    watched.assert_quiet()
    watched.page.context.close()


def feature(page: Page, name: str) -> Locator:
    return page.locator(f"[data-feature={name}]")


def decided(page: Page, scene: str, context: dict[str, Any]) -> str:
    """What the server decides in a context, in words."""
    origin = re.match(r"http://[^/]+", page.url)
    assert origin is not None
    answer = page.request.post(f"{origin.group()}/api/scenes/{scene}/decide", data={"context": context})
    return str(answer.json()["text"])


def test_plan_follows_every_control(bakery: Watched) -> None:
    """Select, slider, number field and switch each change the context, and the decision shown is the server's."""
    page = bakery.page
    text = page.locator(".plan-card.d .plan-text")
    context: dict[str, Any] = {"weekday": "Thursday", "temperature": 7.0, "rain": False, "promotion": False}
    expect(text).to_have_text(decided(page, "bakery", context))

    feature(page, "weekday").get_by_label("weekday", exact=True).select_option("Sunday")
    context["weekday"] = "Sunday"
    expect(text).to_have_text(decided(page, "bakery", context))

    feature(page, "temperature").get_by_label("temperature", exact=True).fill("21.5")
    context["temperature"] = 21.5
    expect(text).to_have_text(decided(page, "bakery", context))

    slider = feature(page, "temperature").get_by_label("temperature, slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowLeft")
    moved = float(feature(page, "temperature").get_by_label("temperature", exact=True).input_value())
    assert moved < 21.5
    context["temperature"] = moved
    expect(text).to_have_text(decided(page, "bakery", context))

    switch = page.get_by_role("switch", name="promotion")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "true")
    context["promotion"] = True
    expect(text).to_have_text(decided(page, "bakery", context))


def test_dragging_the_slider_sets_the_number(bakery: Watched) -> None:
    """A drag across the slider ends at its warm end and is written into the number field."""
    page = bakery.page
    box = feature(page, "temperature").get_by_label("temperature, slider").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 20, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    field = feature(page, "temperature").get_by_label("temperature", exact=True)
    assert float(field.input_value()) > 24


def test_past_observations_and_reset(bakery: Watched) -> None:
    """Any past observation can be loaded by its number, a wrong number is explained, and reset goes back."""
    page = bakery.page
    number = page.get_by_label("Past observation", exact=True)
    number.fill("13")
    page.get_by_role("button", name="Load", exact=True).click()
    expect(page.locator(".observation [role=status]")).to_have_text("Observation 13 (2024-01-13) is loaded.")
    weekday = feature(page, "weekday").get_by_label("weekday", exact=True)
    expect(weekday).to_have_value("Saturday")

    number.fill("501")
    page.locator(".observation").evaluate("form => form.noValidate = true")
    number.press("Enter")
    expect(page.locator(".observation [role=status]")).to_have_text("Past observations are numbered from 1 to 500.")
    expect(weekday).to_have_value("Saturday")

    page.get_by_role("button", name="Reset the context, locks and limits").click()
    expect(weekday).to_have_value("Thursday")
    expect(feature(page, "temperature").get_by_label("temperature", exact=True)).to_have_value("7")


def test_locks_and_limits_bind_the_explanation(bakery: Watched) -> None:
    """A locked weekday stays, and a limited temperature keeps to its limits, in the question and in the answer."""
    page = bakery.page
    feature(page, "weekday").get_by_role("button", name="weekday cannot change").click()
    feature(page, "temperature").get_by_role("button", name="Limit temperature").click()
    page.get_by_label("temperature: explanation may go to").fill("20")
    with page.expect_request(lambda request: request.url.endswith("/explanations")) as sent:
        page.get_by_role("button", name="Why not mine?").click()
    question = sent.value.post_data_json
    assert question["fixed"] == ["weekday"]
    assert question["bounds"] == {"temperature": [None, 20]}
    verdict = page.locator("[data-kind=relative] .answer")
    expect(verdict).to_be_visible()
    assert "weekday were" not in verdict.inner_text().split("Without")[0]


def test_limits_that_exclude_each_other_are_not_asked(bakery: Watched) -> None:
    """From 20 to 10 is refused beside the fields, and the question cannot be asked."""
    page = bakery.page
    feature(page, "temperature").get_by_role("button", name="Limit temperature").click()
    page.get_by_label("temperature: explanation may go from").fill("20")
    page.get_by_label("temperature: explanation may go to").fill("10")
    expect(feature(page, "temperature").get_by_text("must not exceed")).to_be_visible()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
    assert bakery.posts("/explanations") == 0


def test_categories_can_be_limited(city: Watched) -> None:
    """A period that is ticked off does not come up as the explanation."""
    page = city.page
    feature(page, "period").get_by_role("button", name="Limit period").click()
    feature(page, "period").get_by_role("checkbox", name="morning peak").uncheck()
    asked(page)
    assert "morning peak" not in page.locator("[data-kind=relative] .answer").inner_text().split("Without")[0]


def test_quantities_are_typed_and_dragged_within_the_budget(bakery: Watched) -> None:
    """Typing shows the budget at once; too much is explained on the spot and never sent on; dragging mends it."""
    page = bakery.page
    rolls = page.get_by_label("Your plan: rolls", exact=True)
    expect(page.locator(".budget-text")).to_contain_text("of 560")
    expect(page.locator(".plan-card.a .cost b")).not_to_be_empty()
    checks = bakery.posts("/check")
    rolls.fill("400")
    expect(page.locator(".budget-text")).to_contain_text("too many")
    expect(page.locator(".plan-card.a .reason")).to_contain_text("more than the 560 there is room for")
    ask = page.get_by_role("button", name="Why not mine?")
    expect(ask).to_be_disabled()
    expect(page.locator("#ask-note")).to_contain_text("cannot be carried out")
    assert bakery.posts("/check") == checks
    assert bakery.posts("/explanations") == 0

    drag = page.get_by_label("Your plan: rolls, drag")
    box = drag.bounding_box()
    assert box is not None
    start = drag.evaluate("range => (range.value / range.max)") * (box["width"] - 18) + 9
    page.mouse.move(box["x"] + start, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert 100 < float(rolls.input_value()) < 300
    expect(page.locator(".plan-card.a .reason")).to_be_hidden()
    expect(ask).to_be_enabled()

    rolls.fill("")
    expect(rolls).to_have_attribute("aria-invalid", "true")


def test_route_is_drawn_along_real_streets(city: Watched) -> None:
    """Only places with a street to them are offered; undo takes a step back; the finished route is the plan."""
    page = city.page
    scene = page.request.get(f"{city.origin}/api/scenes/city").json()
    edges = {(edge["from"], edge["to"]) for edge in scene["plan"]["edges"]}
    page.get_by_role("button", name="Draw your route").click()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
    route = ["Depot"]
    for place in ("North Gate", "Station", "Opera"):
        offered = set(page.eval_on_selector_all(".stop.offered", "all => all.map(g => JSON.parse(g.dataset.node))"))
        assert offered == {head for tail, head in edges if tail == route[-1] and head not in route}
        page.locator(f".stop.offered[data-node='\"{place}\"']").click()
        route.append(place)
    expect(page.locator(".drawing-status")).to_contain_text("You are at Opera.")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator(".drawing-status")).to_contain_text("You are at Station.")
    # Far away: joined by the shortest way along streets.
    page.locator("[data-place='\"Gasworks\"']").click()
    page.get_by_role("button", name="Finish the shortest way").click()
    expect(page.locator(".drawing-bar")).to_be_hidden()
    text = page.locator(".plan-card.a .plan-text")
    expect(text).to_contain_text("Depot → North Gate → Station")
    places = text.inner_text().split(" → ")
    assert places[-1] == "Hospital"
    assert "Gasworks" in places
    assert set(pairwise(places)) <= edges


def test_nothing_moves_when_the_quality_is_told(browser: Browser, examples: str) -> None:
    """How good the policy is comes late, and the plans stay where they are when it does."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    held: list[Route] = []
    page.route("**/quality", lambda route: held.append(route))
    page.goto(f"{examples}/#scene=city")
    expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
    eventually(page, lambda: held)
    quality, plans = page.locator("#quality"), page.locator("#plan-panel")
    expect(quality).to_be_hidden()
    before = plans.bounding_box()
    held[0].continue_()
    expect(quality).to_be_visible()
    after = plans.bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == before["y"]
    page.context.close()


def test_dead_end_is_explained_while_drawing(city: Watched) -> None:
    """A route that has closed itself in says so and offers undo."""
    page = city.page
    page.get_by_role("button", name="Draw your route").click()
    for place in ("Market Square", "Town Hall", "Station", "North Gate"):
        page.locator(f".stop.offered[data-node='\"{place}\"']").click()
    expect(page.locator(".drawing-status")).to_contain_text("No street leads on from North Gate")
    expect(page.get_by_role("button", name="Finish the shortest way")).to_be_disabled()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator(".drawing-status")).to_contain_text("You are at Station.")
    page.get_by_role("button", name="Stop drawing").click()
    expect(page.locator(".plan-card.a .plan-text")).to_contain_text("Ring South-West")


def test_plan_of_another_context_is_taken(city: Watched) -> None:
    """The decision of a past observation, or of the controls as they are, becomes the planner's plan."""
    page = city.page
    past = page.request.get(f"{city.origin}/api/scenes/city/observations/9").json()
    page.get_by_text("Take the plan of another context").click()
    page.get_by_label("observation", exact=True).fill("9")
    page.get_by_role("button", name="Take", exact=True).click()
    text = page.locator(".plan-card.a .plan-text")
    expect(text).to_have_text(decided(page, "city", past["context"]))
    page.get_by_role("button", name="Plan for the controls as they are").click()
    expect(text).to_have_text(page.locator(".plan-card.d .plan-text").inner_text())
    asked(page)
    expect(page.locator("[data-kind=relative] .badge")).to_contain_text("Holds already")


def test_colours_are_chosen_and_kept(bakery: Watched) -> None:
    """The toggle goes through automatic, light and dark, and a reload keeps the choice."""
    page = bakery.page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Colours: auto").click()
    page.get_by_role("button", name="Colours: light").click()
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert page.evaluate(background) == dark


def test_everything_has_a_name(city: Watched) -> None:
    """Every control says what it is to a screen reader, and results are announced."""
    page = city.page
    asked(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, summary, a[href], [role=button]")]
          .filter(node => node.offsetParent !== null)
          .filter(node => !(node.getAttribute("aria-label") || node.labels?.length || node.textContent.trim()))
          .map(node => node.outerHTML)"""
    )
    assert nameless == []
    for kind in ("relative", "absolute"):
        verdict = page.locator(f"[data-kind={kind}] .verdict").inner_text()
        expect(page.locator("#announcer[aria-live=polite]")).to_contain_text(verdict)
    assert page.locator("svg[role=img]:not([aria-label]):not(:has(> title))").count() == 0


def test_speaking_observation_is_loaded(city: Watched) -> None:
    """A past observation among those that speak is put on the controls by a click on its name."""
    page = city.page
    with page.expect_response("**/decide"):
        page.get_by_label("rain", exact=True).fill("4")
    row = page.locator(".speakers tbody tr").nth(3)
    expect(page.locator(".plan-card.d")).not_to_contain_class("busy")
    number = int(row.get_by_role("button").inner_text())
    row.get_by_role("button").click()
    context = page.request.get(f"{city.origin}/api/scenes/city/observations/{number}").json()["context"]
    expect(page.get_by_label("rain", exact=True)).to_have_value(f"{context['rain']:g}")
    expect(page.get_by_label("period", exact=True)).to_have_value(context["period"])


def test_other_problems_are_a_table(browser: Browser) -> None:
    """A plan with many parts is a table to type in; what only the problem knows of it is explained by the server."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"load": rng.random(40)})
    Y = pd.DataFrame(1 + rng.random((40, 30)) * X["load"].to_numpy()[:, None], columns=[f"line {j}" for j in range(30)])
    problem = wh.LinearProblem(A_eq=np.ones((1, 30)), b_eq=[6.0], bounds=(0, 4))
    policy = wh.Policy(problem, wh.KNNWeights(k=5)).fit(X, Y)
    plan = policy.decide(X.iloc[0])
    with running([Scene("lines", "Why not mine?", "", policy, X.iloc[0], plan)]) as live:
        watched = opened(browser, live.url)
        page = watched.page
        assert page.locator(".as-table .q-row[data-part]").count() == 30
        taken = int(np.argmax(plan))
        field = page.get_by_label(f"Your plan: line {taken}", exact=True)
        expect(field).to_have_value(f"{plan[taken]:g}")
        field.fill("5")
        expect(page.locator(".plan-card.a .reason")).to_contain_text(f"line {taken} must be at most 4, not 5.")
        field.fill("1")
        expect(page.locator(".plan-card.a .reason")).not_to_contain_text("at most 4")
        expect(page.locator(".plan-card.a .reason")).to_be_visible()
        assert watched.posts("/check") == 2
        expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
        field.fill(f"{plan[taken]:g}")
        expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
        watched.assert_quiet()
        page.context.close()
