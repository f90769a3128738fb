"""A report in a real browser: on a phone, on a screen and on paper, by day and by night."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser
from tests.web.browser import chromium

import whence as wh
from whence.examples import bakery, city
from whence.project import Project

EXAMPLES = Path(__file__).parents[2] / "examples"

Make = Callable[..., wh.Explanation]

# Texts of charts that reach out of their picture, and elements wider than the page.
CUT_OFF = """() => [...document.querySelectorAll('svg text')].filter(text => {
    const own = text.getBoundingClientRect(), chart = text.ownerSVGElement.getBoundingClientRect();
    return own.width && (own.left < chart.left - 2 || own.right > chart.right + 2
        || own.top < chart.top - 2 || own.bottom > chart.bottom + 2);
}).map(text => text.textContent)"""
WIDTH = "() => document.documentElement.scrollWidth"
# Tables of which a part can be seen only by scrolling sideways.
SCROLLED = """() => [...document.querySelectorAll('.wh-scroll')].filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent)"""
# Numbers below a strip that reach into each other.
OVERLAPS = """() => [...document.querySelectorAll('.wh-strips svg')].flatMap(strip => {
    const texts = [...strip.querySelectorAll('text.wh-small')];
    const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()]);
    const over = (a, b) => a.left < b.right && b.left < a.right;
    return boxes.flatMap(([one, a], i) =>
        boxes.slice(i + 1).filter(([, b]) => over(a, b)).map(([other]) => `${one} ${other}`));
})"""
# Chips whose text reaches out of its frame.
BURST = """() => [...document.querySelectorAll('rect.wh-inside[rx="9"]')].filter(frame => {
    let text = frame.nextElementSibling;
    while (text.tagName !== 'text') text = text.nextElementSibling;
    return text.getBoundingClientRect().right > frame.getBoundingClientRect().right - 3;
}).map(frame => frame.parentElement.textContent)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as window:
        yield window


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of the built-in examples, written once."""
    folder = tmp_path_factory.mktemp("reports")
    written = {}
    for module in (bakery, city):
        example = module.load(n=120)
        why = example.policy.fit(example.X, example.Y).explain(example.today, example.alternative)
        written[example.name] = folder / f"{example.name}.html"
        why.to_html(written[example.name], title=example.title, question=example.question)
    return written


def crowded(make: Make) -> wh.Explanation:
    """Thirty changes, and names that are long."""
    names = [f"measured at noon in the old town, number {i}" for i in range(30)]
    initial = pd.Series(dict.fromkeys(names, 1000000.123456), dtype=object)
    history = pd.DataFrame({name: [float(i) for i in range(30)] for name in names})
    products = [f"a product with a name that nobody would want to read twice WWWWWW, number {i}" for i in range(2)]
    return make(
        [(name, 1000000.123456, 2000000.654321, 0.5) for name in names],
        initial=initial,
        history=history,
        kinds=dict.fromkeys(names, "continuous"),
        units=dict.fromkeys(names, "kilowatt hours"),
        problem=wh.Newsvendor(holding=1.0, backorder=2.0, names=products),
    )


@pytest.mark.parametrize("width", [390, 1100])
def test_answers_to_other_questions_are_read_without_scrolling(browser: Browser, tmp_path: Path, width: int) -> None:
    """Tables of a front, a menu, reasons and a comparison fit, and so do the chips of a rule."""
    example = bakery.load(n=300)
    policy, today = example.policy.fit(example.X, example.Y), {**example.today.to_dict(), "weekday": "Wednesday"}
    mine = policy.decide({**today, "temperature": 20.0, "rain": True})
    answers = (
        policy.front(today, mine, kind="absolute"),
        policy.menu(today, mine),
        policy.reasons(today, mine),
        policy.compare({**today, "weekday": "Saturday", "temperature": 20.0, "promotion": True}, today),
        policy.explain(today, mine),
    )
    page = browser.new_page(viewport={"width": width, "height": 800})
    for number, answer in enumerate(answers):
        path = tmp_path / f"{number}.html"
        answer.to_html(path)
        page.goto(path.as_uri())
        assert page.evaluate(WIDTH) == width
        assert page.evaluate(BURST) == []
        if number < 4:
            assert page.evaluate(SCROLLED) == []
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_tables_and_strips_of_days_fit(browser: Browser, tmp_path: Path, width: int) -> None:
    """A report about days has no table that is wider than the screen, and numbers below its strips stand apart."""
    days = pd.date_range("2024-02-05", periods=200)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"Date": days, "Promotion": rng.choice([0, 10, 20], 200), "Temp (F)": rng.uniform(30, 90, 200).round()},
        index=days.strftime("%m/%d/%Y"),
    ).assign(**{name: rng.uniform(2, 3, 200).round(2) for name in ("Price", "Price next door", "Price of flour")})
    rolls = 200 + 60 * (days.day_of_week > 4) + 3 * X["Promotion"].to_numpy() + rng.normal(0, 8, 200)
    Y = pd.DataFrame({"rolls": rolls})
    schema = wh.Schema({"Date": wh.Date(parts=("weekday", "month")), "Temp (F)": wh.Continuous(unit="F")})
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(50, random_state=0), schema=schema).fit(X, Y)
    why = policy.explain(X.iloc[100], policy.decide(X.iloc[5]) + 25, time_limit=20)
    assert why.context is not None
    why.to_html(tmp_path / "why.html", policy=policy)
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "why.html").as_uri())
    assert page.evaluate(SCROLLED) == []
    assert page.evaluate(WIDTH) == width
    assert "Temp (F) (F)" not in page.content()
    assert page.evaluate(OVERLAPS) == []
    page.close()


@pytest.mark.parametrize("name", ["bakery", "city", "crowded"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_reports_fit_the_screen(
    browser: Browser, reports: dict[str, Path], make: Make, tmp_path: Path, name: str, width: int, scheme: Any
) -> None:
    """Nothing makes the page wider than the screen, no text of a chart is cut off, and nothing else is loaded."""
    path = reports.get(name, tmp_path / "crowded.html")
    if name == "crowded":
        crowded(make).to_html(path)
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate(WIDTH) == width
    assert page.evaluate(CUT_OFF) == []
    assert asked == [path.as_uri()]
    assert complaints == []
    dark = page.evaluate("getComputedStyle(document.querySelector('.whence')).backgroundColor")
    assert dark == ("rgb(20, 24, 28)" if scheme == "dark" else "rgb(255, 255, 255)")
    page.close()


def test_on_paper_the_versions_are_told(browser: Browser, reports: dict[str, Path]) -> None:
    """What is folded away on the screen is printed, on white."""
    page = browser.new_page(viewport={"width": 700, "height": 900}, color_scheme="dark")
    page.goto(reports["bakery"].as_uri())
    height = "() => document.querySelector('details:not(.wh-all)').getBoundingClientRect().height"
    folded = page.evaluate(height)
    page.emulate_media(media="print")
    assert page.evaluate(height) > 5 * folded
    assert page.evaluate("getComputedStyle(document.querySelector('.whence')).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


#: What fits on a page of A4 within its margins, in pixels of 1/96 inch.
PAPER = {"width": 688, "height": 1009}


#: How many lines the text of each takes.
LINES = """all => all.map(one => {
  const text = document.createRange();
  text.selectNodeContents(one);
  return text.getClientRects().length; })"""


@pytest.mark.parametrize("case", ["bike-share", "restaurant", "bakery", "city"])
def test_one_page_for_a_manager(browser: Browser, reports: dict[str, Path], tmp_path: Path, case: str) -> None:
    """On paper the answer, what changes, costs, plans and strips take one page; proof and data stand behind it."""
    path = reports.get(case)
    if path is None:
        path = tmp_path / f"{case}.html"
        policy = Project.load(EXAMPLES / case / "whence.toml").fitted()
        plan = policy.decide(policy.X_.iloc[5])
        why = policy.explain(policy.X_.iloc[-1], plan, max_changes=4, time_limit=20)
        assert why.context is not None
        why.to_html(path, title="Why not my plan?", question="How many are needed tomorrow.", policy=policy)
    page = browser.new_page(viewport=PAPER)
    page.goto(path.as_uri())
    page.emulate_media(media="print")
    end = page.locator(".wh-behind").evaluate("one => one.getBoundingClientRect().bottom")
    assert end <= PAPER["height"]
    behind = page.locator(".wh-behind ~ section h2").all_inner_texts()
    assert {"All values of the context", "How sure this is"} <= set(behind)
    assert page.locator(".wh-paper").is_visible()
    # What a row is called is read in one line, and the table beside it still fits.
    assert set(page.locator(".wh-many td:first-child").evaluate_all(LINES)) <= {1}
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    page.emulate_media(media="screen")
    assert not page.locator(".wh-paper").is_visible()
    page.close()
