"""The page on a phone: what matters is within reach, nothing covers anything, and the map is there when needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.web.browser import asked, eventually, opened
from tests.web.live import running

import whence as wh
from whence.web.scenes import Scene

HEIGHT = 844

#: The narrowest phone, on which most does not fit, and a usual one.
WIDTHS = [320, pytest.param(390, marks=pytest.mark.long)]


def box(node: Locator) -> dict[str, float]:
    found = node.bounding_box()
    assert found is not None
    return dict(found)


def header(page: Page) -> float:
    return box(page.locator(".top"))["height"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scene", ["bakery", "city"])
def test_question_is_within_reach(browser: Browser, examples: str, scene: str, width: int) -> None:
    """The question is in sight wherever one is on the page, and asking brings the answers into sight."""
    watched = opened(browser, examples, scene=scene, width=width, has_touch=True)
    page = watched.page
    ask = page.get_by_role("button", name="Why not mine?")
    for share in (0, 0.5, 1):
        page.evaluate("share => window.scrollTo(0, share * document.documentElement.scrollHeight)", share)
        assert 0 < box(ask)["y"] < HEIGHT - box(ask)["height"]
    page.evaluate("window.scrollTo(0, 0)")
    ask.tap()
    expect(page.locator("[data-kind=relative] .verdict")).to_be_in_viewport()
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_today_and_then_stay_in_line(browser: Browser, examples: str, width: int) -> None:
    """The bar's words stand on one line each, beside and not on top of each other, also with two changes to tell."""
    watched = opened(browser, examples, scene="bakery", width=width, has_touch=True)
    page = watched.page
    asked(page)
    page.locator("[data-kind=absolute]").get_by_role("button", name="Show it").tap()
    words = page.locator(".stage-text")
    expect(words).to_contain_text("temperature")
    segments = [box(page.get_by_role("radio", name=name)) for name in ("Today", "Then")]
    assert all(segment["height"] < 40 for segment in segments)
    assert box(words)["width"] > width / 2
    parts = [*segments, box(page.get_by_role("button", name="Why not mine?")), box(words)]
    for i, one in enumerate(parts):
        for other in parts[i + 1 :]:
            apart = (
                one["x"] + one["width"] <= other["x"] + 1
                or other["x"] + other["width"] <= one["x"] + 1
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart, (one, other)
    watched.assert_quiet()
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_bar_covers_no_button_for_good(browser: Browser, examples: str, width: int) -> None:
    """Every button that gets the focus stands above the bar, and the end of the page is not under it."""
    watched = opened(browser, examples, scene="city", width=width, has_touch=True)
    page = watched.page
    asked(page)
    for name in ("Report (HTML)", "Data (JSON)"):
        for link in page.get_by_role("link", name=name).all():
            link.focus()
            eventually(page, lambda at=link: box(at)["y"] + box(at)["height"] <= box(page.locator("#dock"))["y"])
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    last = box(page.locator("#outcomes-panel"))
    assert last["y"] + last["height"] <= box(page.locator("#dock"))["y"]
    watched.assert_quiet()
    page.context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_drawing_shows_the_map(browser: Browser, examples: str, width: int) -> None:
    """The button to draw a route stands below the map: pressed, the map comes into sight, and the places to go to."""
    watched = opened(browser, examples, scene="city", width=width, has_touch=True)
    page = watched.page
    start = page.get_by_role("button", name="Draw your route")
    start.evaluate("node => node.scrollIntoView({block: 'start'})")
    start.tap()

    def in_sight() -> bool:
        shown = box(page.locator(".map-frame"))
        return shown["y"] >= header(page) and shown["y"] + shown["height"] <= HEIGHT

    eventually(page, in_sight)
    expect(page.locator(".stop-button").first).to_be_in_viewport()
    watched.assert_quiet()
    page.context.close()


def test_table_of_a_plan_names_its_columns(browser: Browser) -> None:
    """A plan of many parts is a table: on a phone too it says which number is the decision's and which is yours."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"load": rng.random(20)})
    Y = pd.DataFrame(1 + rng.random((20, 30)), columns=[f"line {j}" for j in range(30)])
    problem = wh.LinearProblem(A_eq=np.ones((1, 30)), b_eq=[6.0], bounds=(0, 4))
    policy = wh.Policy(problem, wh.KNNWeights(k=5)).fit(X, Y)
    with running([Scene("lines", "Why not mine?", "", policy, X.iloc[0], policy.decide(X.iloc[1]))]) as live:
        watched = opened(browser, live.url, width=390, has_touch=True)
        page = watched.page
        head, row = box(page.locator(".q-head .decided")), box(page.locator("[data-part='line 0'] .decided"))
        assert head["x"] + head["width"] == pytest.approx(row["x"] + row["width"], abs=1)
        expect(page.locator(".q-head .yours")).to_have_text("your plan")
        watched.assert_quiet()
        page.context.close()
