"""The map of a network: every place can be hit, however many there are, by mouse, finger, keys and by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect
from tests.web.browser import eventually, opened
from tests.web.live import running, until

import whence as wh
from paper.los_angeles import VARIABLE
from paper.page import los_angeles_scene
from whence.web.scenes import Scene

DATA = Path(os.environ.get(VARIABLE) or Path(__file__).resolve().parents[3] / "shared" / "uber")
NO_DATA = not (DATA / "travel_times.csv").is_file()
SIDE = 32


def grid_scene() -> Scene:
    """A town of 1,024 places on a grid."""
    rng = np.random.default_rng(7)
    problem = wh.ShortestPath.grid(SIDE)
    X = pd.DataFrame({"rain": np.arange(12.0)})
    Y = 1.0 + rng.random((12, len(problem.parts())))
    policy = wh.Policy(problem, wh.KNNWeights(k=3)).fit(X, Y)
    return Scene("grid", "Why not mine?", "", policy, X.iloc[3], policy.decide(X.iloc[9]))


@pytest.fixture(scope="module")
def grid() -> Iterator[str]:
    """Address of a page with that town."""
    with running([grid_scene()]) as live:
        yield live.url


def places(page: Page) -> dict[str, tuple[float, float]]:
    """Where every place in sight has its centre, by its id."""
    found: dict[str, tuple[float, float]] = page.evaluate(
        """() => {
          const frame = document.querySelector(".map-frame svg").getBoundingClientRect();
          return Object.fromEntries([...document.querySelectorAll(".map [data-place]")]
            .map(dot => [dot.dataset.place, dot.getBoundingClientRect()])
            .map(([id, box]) => [id, [box.x + box.width / 2, box.y + box.height / 2]])
            .filter(([, [x, y]]) => x > frame.left && x < frame.right && y > frame.top && y < frame.bottom)); }"""
    )
    return found


def middle(page: Page, place: str) -> tuple[float, float]:
    """Where a place has its centre now."""
    x, y = page.evaluate(
        """id => { const box = document.querySelector(`.map [data-place="${CSS.escape(id)}"]`).getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2]; }""",
        place,
    )
    return x, y


def missed(page: Page, tap: bool = False) -> list[tuple[str, ...]]:
    """The places in sight whose centre was clicked, and another place, or none, was hit."""
    page.locator(".map-frame svg").scroll_into_view_if_needed()
    page.evaluate(
        """() => { const svg = document.querySelector(".map-frame svg");
          window.hits = [];
          svg.onclick = () => window.hits.push(svg.dataset.near); }"""
    )
    press = page.touchscreen.tap if tap else page.mouse.click
    wrong = []
    for place in places(page):
        # What is asked on opening may arrive meanwhile, above the map: then it is pressed again where it is now.
        for _ in range(5):
            x, y = at = middle(page, place)
            press(x, y)
            if middle(page, place) == at:
                break
        hits = page.evaluate("window.hits.splice(0)")
        if hits[-1:] != [place]:
            wrong.append((place, *hits))
    return wrong


def zoom_of(page: Page) -> float:
    return float(page.locator(".map-frame svg").get_attribute("data-zoom") or 0)


@pytest.mark.long
def test_every_place_of_a_large_map_is_hit(browser: Browser, grid: str) -> None:
    """With 1,024 places, a click on the centre of each hits that place and no other."""
    watched = opened(browser, grid)
    page = watched.page
    assert page.locator(".map [data-place]").count() == SIDE * SIDE
    assert missed(page) == []
    watched.assert_quiet()
    page.context.close()


def test_every_place_is_hit_on_a_phone_after_zooming(browser: Browser, grid: str) -> None:
    """At 390 px, zoomed in by the button and moved by the arrow keys, a tap on a place in sight hits that place."""
    watched = opened(browser, grid, width=390, has_touch=True)
    page = watched.page
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").tap()
    assert zoom_of(page) > 4
    seen = set(places(page))
    assert 0 < len(seen) < SIDE * SIDE / 4
    assert missed(page, tap=True) == []
    page.locator(".map-frame").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    eventually(page, lambda: set(places(page)) - seen)
    assert missed(page, tap=True) == []
    watched.assert_quiet()
    page.context.close()


@pytest.mark.skipif(NO_DATA, reason="SKIPPED: Los Angeles; set WHENCE_UBER_DATA to the folder with its travel times.")
@pytest.mark.long
def test_every_place_of_los_angeles_is_hit_on_a_phone(browser: Browser) -> None:
    """At 390 px every census tract is hit by a tap on its centre, without zooming."""
    with running([los_angeles_scene(DATA)]) as live:
        watched = opened(browser, live.url, width=390, has_touch=True)
        page = watched.page
        assert page.locator(".map [data-place]").count() == 45
        assert missed(page, tap=True) == []
        watched.assert_quiet()
        page.context.close()


def test_nearest_place_is_the_next_stop(browser: Browser, grid: str) -> None:
    """While drawing, a click goes to the place it is nearest to, undo takes back the whole way there."""
    watched = opened(browser, grid)
    page = watched.page
    page.get_by_role("button", name="Draw your route").click()
    page.get_by_role("button", name="Show the whole map").click()
    status = page.locator(".drawing-status")
    for place in ("[0, 1]", "[5, 9]", "[17, 30]", "[31, 0]"):
        x, y = places(page)[place.replace(" ", "")]
        page.mouse.click(x + 3, y - 2)
        expect(status).to_contain_text(f"You are at ({place[1:-1]}).")
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(status).to_contain_text("You are at (0, 0).")
    x, y = places(page)["[0,0]"]
    page.mouse.click(x, y)
    expect(status).to_contain_text("You are at (0, 0) already.")
    watched.assert_quiet()
    page.context.close()


def test_wheel_drag_and_keys(browser: Browser, grid: str) -> None:
    """The wheel zooms around the mouse once the map is in use, a drag moves it and clicks nothing, keys do both."""
    watched = opened(browser, grid)
    page = watched.page
    x, y = places(page)["[16,16]"]
    page.mouse.move(x, y)
    page.mouse.wheel(0, 30)
    until(lambda: page.evaluate("window.scrollY >= 30"), 30.0)
    assert zoom_of(page) == 1, "the page scrolls under the wheel as long as the map is not in use"
    page.evaluate("window.scrollTo(0, 0)")
    eventually(page, lambda: places(page)["[16,16]"] == pytest.approx((x, y), abs=0.01))
    page.mouse.click(x, y)
    for _ in range(4):
        page.mouse.wheel(0, -200)
    expect(page.locator(".map-frame svg")).not_to_have_attribute("data-zoom", "1.000")

    def around_the_mouse() -> bool:
        # The mouse stands on a whole pixel: what is a part of a pixel beside it moves away as the map grows.
        grown, (left, top) = zoom_of(page), (int(x), int(y))
        expected = (left + (x - left) * grown, top + (y - top) * grown)
        return zoom_of(page) == grown and places(page)["[16,16]"] == pytest.approx(expected, abs=1.0)

    eventually(page, around_the_mouse)
    # All turns of the wheel have arrived when nothing grows any more.
    eventually(page, lambda: zoom_of(page) == (page.wait_for_timeout(100), zoom_of(page))[1])
    assert around_the_mouse()
    x, y = places(page)["[16,16]"]
    page.mouse.move(x, y)

    page.mouse.down()
    page.mouse.move(x + 40, y + 25, steps=5)
    page.mouse.up()
    eventually(page, lambda: places(page)["[16,16]"] == pytest.approx((x + 40, y + 25), abs=1.5))

    before = zoom_of(page)
    page.keyboard.press("-")
    eventually(page, lambda: 1 < zoom_of(page) < before)
    page.keyboard.press("+")
    eventually(page, lambda: zoom_of(page) == pytest.approx(before, rel=1e-3))
    page.keyboard.press("0")
    expect(page.locator(".map-frame svg")).to_have_attribute("data-zoom", "1.000")
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()
    watched.assert_quiet()
    page.context.close()


def test_two_fingers_pinch(browser: Browser, grid: str) -> None:
    """Two fingers that move apart make the map larger around where they are, and put no ring on a place."""
    watched = opened(browser, grid, width=390, has_touch=True)
    page = watched.page
    page.locator(".map-frame svg").scroll_into_view_if_needed()
    x, y = places(page)["[16,16]"]
    session = page.context.new_cdp_session(page)

    def touch(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}] if apart else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 20)
    for apart in (30, 45, 60, 80):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    eventually(page, lambda: zoom_of(page) == pytest.approx(4.0, rel=0.15))
    eventually(page, lambda: places(page)["[16,16]"] == pytest.approx((x, y), abs=3.0))
    assert page.locator(".map-frame svg").get_attribute("data-near") == ""
    watched.assert_quiet()
    page.context.close()


def test_place_is_found_by_its_name(browser: Browser, grid: str) -> None:
    """A name brings its place to the middle with a ring around it; while drawing, it is the next stop."""
    watched = opened(browser, grid)
    page = watched.page
    field = page.get_by_label("Find a place")
    field.fill("(20, 7")
    field.press("Enter")
    expect(page.locator(".map-frame svg")).to_have_attribute("data-near", "[20,7]")
    expect(page.locator(".near .label")).to_have_text("(20, 7)")
    assert zoom_of(page) > 1
    field.fill("Atlantis")
    field.press("Enter")
    expect(page.locator(".place-search [role=status]")).to_have_text("There is no place called “Atlantis”.")
    field.fill("(20")
    field.press("Enter")
    expect(page.locator(".place-search [role=status]")).to_have_text("32 places have that in their name: go on typing.")
    page.get_by_role("button", name="Draw your route").click()
    field.fill("(20, 7)")
    field.press("Enter")
    expect(page.locator(".drawing-status")).to_contain_text("You are at (20, 7).")
    watched.assert_quiet()
    page.context.close()


def test_detail_comes_with_zoom(browser: Browser, grid: str) -> None:
    """Seen as a whole, only the ends are named and places are small; nearer, places grow and get their names."""
    watched = opened(browser, grid)
    page = watched.page
    radius = "Math.min(...[...document.querySelectorAll('.map .node')].map(dot => Number(dot.getAttribute('r'))))"
    names, small = page.locator(".map .label").count(), page.evaluate(radius)
    assert names < 40
    page.get_by_label("Find a place").fill("(16, 16)")
    page.get_by_label("Find a place").press("Enter")
    for _ in range(2):
        page.get_by_role("button", name="Zoom in").click()
    texts = page.locator(".map text.rank2").all_text_contents()
    assert "(15, 16)" in texts
    assert len(texts) > 10
    assert page.evaluate(radius) > small
    watched.assert_quiet()
    page.context.close()
