"""Questions about a forecast, over HTTP and on the page: when would it reach a value?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect
from sklearn.ensemble import GradientBoostingRegressor
from tests.web.browser import PATIENCE, opened
from tests.web.live import Live, running, strange_scene
from tests.web.test_page_access import violations
from tests.web.test_questions import waited

import whence as wh
from whence.web.scenes import Scene


def ice_cream() -> Scene:
    """Two outcomes that small boosted trees forecast."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": rng.uniform(5, 35, 120).round(1), "rain": rng.exponential(2, 120).round(1)})
    X["day"] = rng.choice(["Mon", "Sat", "Sun"], 120)
    base = 30 + 2 * X["heat"] - 3 * X["rain"] + 25 * (X["day"] == "Sat")
    Y = pd.DataFrame({"cones": base.round(1), "cups": (60 - 0.4 * base + rng.normal(0, 2, 120)).round(1)})
    weights = wh.ForecastWeights(GradientBoostingRegressor(n_estimators=12, random_state=0), residuals="in-sample")
    policy = wh.Policy(wh.Newsvendor([1, 1], [3, 2]), weights).fit(X, Y)
    return Scene("ice", "How many cones?", "", policy, X.iloc[3], policy.decide(X.iloc[4]))


@pytest.fixture(scope="module")
def ice() -> Iterator[Live]:
    """A server with a scene that forecasts, and one that does not."""
    with running([ice_cream(), strange_scene()]) as live:
        live.wait_for_workers()
        yield live


def asked(client: httpx.Client, scene: str = "ice", **question: Any) -> httpx.Response:
    context = client.get(f"/api/scenes/{scene}").json()["context"]
    return client.post(f"/api/scenes/{scene}/forecasts", json={"context": context, **question})


def test_the_answer_is_the_ensembles_own(ice: Live) -> None:
    """The page gets the sentences, the changes and the certificate; report and data can be taken away and read."""
    scene: Scene = ice.app.state.scenes["ice"]
    ensemble = wh.Ensemble.of(scene.policy, "cones")
    with ice.client() as client:
        shown = client.get("/api/scenes/ice").json()
        low, high = (float(f(ensemble.predict(scene.policy.X_))) for f in (np.min, np.max))
        assert shown["forecasts"][0] == {"outcome": "cones", "low": pytest.approx(low), "high": pytest.approx(high)}
        assert client.get("/api/scenes/strange").json()["forecasts"] == []
        for limits in ({"at_least": 90.0}, {"at_most": 48.0, "fixed": ["day"]}, {"between": [60.0, 63.0]}):
            posted = asked(client, outcome="cones", **limits)
            assert posted.status_code == 202, posted.text
            told = waited(client, posted.json()["job"])
            assert (told["question"], told["kind"], told["state"]) == ("forecast", None, "done")
            why = ensemble.explain(scene.today, **limits)
            assert told["result"]["sentence"].split("\n")[0] == why.text.split("\n")[0]
            answer = told["result"]["answer"]
            assert answer["distance"] == why.distance
            assert answer["controls"] == scene.context_of(why.context)
            assert [name for name, _ in answer["shown"]["certificate"]][:2] == ["status", "asked for"]
            at = f"/api/answers/{told['job']}"
            taken = wh.Crossing.from_json(client.get(f"{at}/answer.json").text)
            assert taken.verify(ensemble)
            assert taken.text.split("\n")[0] == why.text.split("\n")[0]
            report = client.get(f"{at}/report.html")
            assert report.headers["content-disposition"] == 'attachment; filename="whence-ice-forecast.html"'
            assert "proved lower bound" in report.text
        none = waited(client, asked(client, outcome="cones", at_least=90.0, fixed=["heat", "day"]).json()["job"])
        assert none["result"]["answer"]["controls"] is None
        assert "in the way: " in none["result"]["sentence"]


def test_what_cannot_be_asked_is_refused_at_once(ice: Live) -> None:
    """A sentence each, before anything is queued."""
    with ice.client() as client:
        for question, told in (
            ({"at_least": 5.0}, "'outcome' must be one of 'cones', 'cups'. Got None instead."),
            ({"outcome": "cones"}, "Give one of 'at_most', 'at_least' and 'between'. Got none of them."),
            ({"outcome": "cones", "between": [5.0, 3.0]}, "'between' must be a pair low <= high of numbers"),
            ({"outcome": "cones", "between": [5.0]}, "'between"),
            ({"outcome": "cones", "at_least": 5.0, "fixed": ["snow"]}, "snow"),
            ({"outcome": "cones", "at_least": 5.0, "plan": [1, 2]}, "plan"),
        ):
            refused = asked(client, **question)
            assert refused.status_code == 422, question
            assert told in refused.json()["detail"]
        refused = asked(client, "strange", at_least=5.0)
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith("This scene has no forecast to ask about")


def linked(url: str, wanted: dict[str, Any]) -> str:
    """A link that asks about a forecast."""
    return f"{url}/#{urlencode({'scene': 'ice', 'more': 'forecast', 'forecast': json.dumps(wanted)})}"


def fill(page: Page, kind: str, *values: str) -> None:
    """What the forecast should be; asked for."""
    page.locator("#forecast-outcome").select_option("cones")
    page.locator("#forecast-kind").select_option(kind)
    for field, value in zip(("#forecast-value", "#forecast-upper"), values, strict=False):
        page.locator(field).fill(value)
    page.get_by_role("button", name="Find out").click()


def test_the_card_on_the_page(browser: Browser, ice: Live) -> None:
    """Asked with a lock, answered with a certificate, taken as the context, outdated by it, and kept in the link."""
    watched = opened(browser, ice.url, scene="ice", width=390, has_touch=True, reduced_motion="reduce")
    page = watched.page
    card = page.locator("[data-other=forecast]")
    expect(card).to_contain_text("Forecasts for the past lie between")
    fill(page, "at_least", "")
    expect(card).to_contain_text("Give the forecast a number to reach.")
    fill(page, "between", "90", "80")
    expect(card).to_contain_text("The first number must not be above the second.")
    page.get_by_role("button", name="day cannot change").click()
    with page.expect_request("**/forecasts") as sent:
        fill(page, "at_least", "80")
    assert sent.value.post_data_json["fixed"] == ["day"]
    expect(card.locator(".badge")).to_contain_text("Proved nearest", timeout=8 * PATIENCE)
    expect(card.locator(".verdict")).to_contain_text("The forecast of cones would be at least 80 if")
    card.locator(".certificate summary").click()
    expect(card.locator(".certificate")).to_contain_text("Computed once more from the fitted model before")
    with page.expect_download() as taken:
        card.get_by_role("link", name="Report (HTML)").click()
    assert taken.value.suggested_filename == "whence-ice-forecast.html"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    card.get_by_role("button", name="Set the controls to").click()
    expect(card).to_contain_class("stale")
    page.get_by_role("button", name="Find out").click()
    expect(card.locator(".badge")).to_contain_text("Holds already", timeout=8 * PATIENCE)
    expect(page).to_have_url(re.compile("forecast="))
    watched.assert_quiet()
    page.context.close()


def test_a_link_asks_again_and_other_scenes_have_no_card(browser: Browser, ice: Live) -> None:
    """What a link asked of the forecast is asked again; where nothing is forecast there is no such card."""
    watched = opened(browser, ice.url, scene="strange")
    page = watched.page
    expect(page.locator("[data-other=forecast]")).to_be_hidden()
    page.goto(linked(ice.url, {"outcome": "cups", "between": [30, 31.5]}))
    verdict = page.locator("[data-other=forecast] .verdict")
    expect(verdict).to_contain_text("The forecast of cups would be between 30 and 31.5", timeout=8 * PATIENCE)
    expect(page.locator("#forecast-kind")).to_have_value("between")
    expect(page.locator("#forecast-upper")).to_have_value("31.5")
    page.goto(linked(ice.url, {"outcome": "tea", "at_most": 3}))
    expect(page.locator("#link-note")).to_contain_text("what is asked of a forecast")
    watched.assert_quiet()
    page.context.close()


def test_axe_finds_nothing_in_the_card(browser: Browser, ice: Live) -> None:
    """Form, answer and outdated answer, at every width and in all colours."""
    watched = opened(browser, ice.url, scene="ice", reduced_motion="reduce")
    page = watched.page
    fill(page, "between", "80", "85")
    card = page.locator("[data-other=forecast]")
    expect(card.locator(".downloads")).to_be_visible(timeout=8 * PATIENCE)
    card.locator(".certificate summary").click()
    found = violations(page, "forecast answered")
    card.get_by_role("button", name="Set the controls to").click()
    expect(card).to_contain_class("stale")
    assert found + violations(page, "forecast outdated") == []
    page.context.close()
