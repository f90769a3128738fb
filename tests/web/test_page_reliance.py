"""Both answers on the page: where it turns at once, where one may rely on it after that, and the rule, drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.forests import paper_forest
from tests.web.browser import asked, opened
from tests.web.live import Live, running
from tests.web.slow import SECONDS, slow_scene
from tests.web.test_reliance import foreign_scene

import whence as wh
from whence.project.sections import ExplainDefaults
from whence.web.scenes import Scene

WIDTHS = [390, 1280]


@pytest.fixture(scope="module")
def slow() -> Iterator[Live]:
    """A server whose workers take their time for every refit, also in simulated worlds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECONDS, "0.3")
        with running([slow_scene(), stable_scene()], workers=3) as server:
            server.wait_for_workers(3)
            yield server


def stable_scene() -> Scene:
    """The same scene in a project whose answers are judged by refits."""
    return replace(slow_scene(), id="stable", defaults=ExplainDefaults(refits="seed"))


def turns(page: Page, kind: str = "relative") -> Locator:
    return page.locator(f"[data-kind={kind}]")


def reliable(page: Page, kind: str = "relative") -> Locator:
    return page.locator(f"[data-reliable={kind}]")


@pytest.mark.parametrize("width", [WIDTHS[0], pytest.param(WIDTHS[1], marks=pytest.mark.long)])
def test_nearest_is_shown_at_once_and_the_reliable_one_follows(browser: Browser, slow: Live, width: int) -> None:
    """While worlds are simulated, the nearest answer can be read; then both cards tell proof, truth, gain and rule."""
    watched = opened(browser, slow.url, width=width, has_touch=width < 600)
    page = watched.page
    page.get_by_role("button", name="Why not mine?").click()
    if width == WIDTHS[0]:
        # The first question of all: no world is there yet.
        expect(turns(page).locator(".verdict")).to_be_visible()
        expect(turns(page)).to_have_attribute("aria-busy", "false")
        expect(reliable(page)).to_have_attribute("aria-busy", "true")
        expect(reliable(page).locator(".progress-text")).to_contain_text(
            re.compile(r"Asking in simulated world \d+ of 12, for .+What is a simulated world\?")
        )
        assert turns(page).locator(".downloads").count() == 0
    expect(reliable(page).locator(".verdict")).to_be_visible(timeout=120_000)
    expect(turns(page).locator("h4")).to_have_text("Where it turns")
    expect(reliable(page).locator("h4")).to_have_text("Where you may rely on it")
    hair = turns(page).locator(".agreement p").inner_text()
    found = re.match(r"This is where the policy turns; (\d+) % of such answers are true\.", hair)
    assert found, hair
    said = reliable(page).locator(".agreement.good p").inner_text()
    sure = re.match(r"You may rely on it: (\d+) % \((\d+) % to (\d+) %\) of such answers are true\.", said)
    assert sure, said
    share, low, high = map(int, sure.groups())
    assert int(found[1]) < 90 <= share
    assert low < share < high
    assert page.locator(".dot").count() == 0
    for card in (turns(page), reliable(page)):
        expect(card.locator(".badge")).to_contain_text("Proved nearest")
        expect(card.locator(".facts")).to_contain_text("than the decision there")
        expect(card.locator(".facts")).to_contain_text("The context found is ")
        expect(card.locator(".rule")).to_contain_text("Your plan is better whenever")
        assert card.locator(".range").count() >= 1
    distance = [
        float(card.locator(".badge .distance").inner_text().split()[1]) for card in (turns(page), reliable(page))
    ]
    assert distance[0] < distance[1]
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    if width > 600:
        # The one to rely on leads; the nearest, which turns by a hair, is a remark.
        expect(turns(page)).to_contain_class("remark")
        below = turns(page).bounding_box()
        above = reliable(page).bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] <= below["y"]
    watched.assert_quiet()
    page.context.close()


def test_refits_are_told_where_a_project_asks_for_them(browser: Browser, slow: Live) -> None:
    """Conditions, progress and both cards speak of refits, with a dot for each, and nothing is called reliable."""
    watched = opened(browser, slow.url, scene="stable")
    page = watched.page
    page.get_by_text("Conditions", exact=True).click()
    expect(page.get_by_label("refits must agree")).to_have_value("0.9")
    page.get_by_role("button", name="Why not mine?").click()
    expect(reliable(page).locator(".progress-text")).to_contain_text(
        re.compile(r"Making refit \d+ of 10, for .+What is a refit\?")
    )
    expect(reliable(page).locator("h4")).to_have_text("Where refits agree")
    expect(reliable(page).locator(".verdict")).to_be_visible(timeout=120_000)
    expect(reliable(page).locator("h4")).to_have_text("Where refits agree")
    hair = turns(page).locator(".agreement p").inner_text()
    found = re.match(r"It turns narrowly: only (\d+) of 20 refits agree\.", hair)
    assert found, hair
    assert turns(page).locator(".dot.yes").count() == int(found[1])
    assert turns(page).locator(".dot").count() == reliable(page).locator(".dot").count() == 20
    said = reliable(page).locator(".agreement.open p").inner_text()
    sure = re.match(r"It is stable, which is not to say true: (\d+) of 20 refits agree", said)
    assert sure, said
    assert reliable(page).locator(".dot.yes").count() == int(sure[1]) > int(found[1])
    watched.assert_quiet()
    page.context.close()


def test_either_answer_can_be_shown(browser: Browser, slow: Live) -> None:
    """The switch, the controls and the costs follow the card whose context is shown."""
    watched = opened(browser, slow.url)
    page = watched.page
    asked(page)
    shown = []
    for card in (turns(page), reliable(page)):
        card.get_by_role("button", name="Show it").click()
        expect(card).to_contain_class("selected")
        expect(card.get_by_role("button", name="Back to today")).to_be_focused()
        shown.append(page.locator("[data-feature=warmth] .then-note b").inner_text())
        expect(card.locator(".verdict")).to_contain_text(f"warmth were {shown[-1]}")
    assert shown[0] != shown[1]
    expect(turns(page)).not_to_contain_class("selected")
    watched.assert_quiet()
    page.context.close()


def test_rule_is_drawn_where_it_holds(browser: Browser, slow: Live) -> None:
    """The shaded part of a bar begins and ends where the conditions do, and the context found lies in it."""
    watched = opened(browser, slow.url)
    page = watched.page
    with page.expect_response(re.compile(r"/explanations/[^/?]+\?wait")):
        asked(page)
    href = turns(page).get_by_role("link", name="Data (JSON)").get_attribute("href")
    data = page.request.get(f"{slow.url}/{href}").json()
    for card, report in ((turns(page), data["nearest"]), (reliable(page), data)):
        card.locator(".rest summary").click()
        for condition in report["region"]["conditions"]:
            drawn = card.locator(".range", has_text=condition["text"])
            if condition.get("room") is None:
                assert set(drawn.locator("li.inside").all_inner_texts()) == set(condition["values"])
                continue
            line, inside, mark = (
                drawn.locator(name).bounding_box() for name in (".range-line", ".range-inside", ".range-mark.found")
            )
            assert line is not None
            assert inside is not None
            assert mark is not None
            low, high = condition["room"]
            begin = (condition.get("low", low) - low) / (high - low)
            end = (condition.get("high", high) - low) / (high - low)
            assert inside["x"] == pytest.approx(line["x"] + begin * line["width"], abs=1.5)
            assert inside["x"] + inside["width"] == pytest.approx(line["x"] + end * line["width"], abs=3.5)
            middle = mark["x"] + mark["width"] / 2
            assert inside["x"] - 1.5 <= middle <= inside["x"] + inside["width"] + 1.5
    watched.assert_quiet()
    page.context.close()


@pytest.mark.parametrize(
    ("scene", "left_open"),
    [
        ("slow", r"not known: there was no time to ask|There was time for \d+ of 12 worlds"),
        ("stable", "is not known: there was time for"),
    ],
)
def test_cancelling_in_between(browser: Browser, scene: str, left_open: str) -> None:
    """Stopped among worlds or refits, the nearest answer stays, with its downloads; how many there were is told."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECONDS, "0.5")
        with running([slow_scene(), stable_scene()], workers=3) as live:
            live.wait_for_workers(3)
            watched = opened(browser, live.url, scene=scene)
            page = watched.page
            page.get_by_role("button", name="Why not mine?").click()
            expect(turns(page).locator(".verdict")).to_be_visible()
            verdict = turns(page).locator(".verdict").inner_text()
            page.get_by_role("button", name="Cancel the search for what holds: Better than the decision").click()
            expect(reliable(page)).to_have_attribute("aria-busy", "false")
            expect(page.locator(".agreement.open").first).to_contain_text(re.compile(left_open))
            expect(turns(page).locator(".verdict")).to_have_text(verdict)
            expect(turns(page).get_by_role("link", name="Report (HTML)")).to_be_visible()
            page.get_by_role("button", name="Cancel the search for what holds: Best of all plans").click()
            expect(reliable(page, "absolute")).to_have_attribute("aria-busy", "false")
            watched.assert_quiet()
            page.context.close()


def test_where_there_was_no_time_for_worlds_more_is_offered(browser: Browser) -> None:
    """The project's own limit is asked with; too short for simulated worlds, one click gives all that is allowed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECONDS, "0.5")
        scene = replace(slow_scene(), defaults=ExplainDefaults(time_limit=1.5))
        with running([scene], workers=3, time_limit=240.0) as live:
            live.wait_for_workers(3)
            watched = opened(browser, live.url)
            page = watched.page
            expect(page.locator("#time-limit")).to_have_value("1.5")
            page.get_by_role("button", name="Why not mine?").click()
            again = page.get_by_role("button", name="Ask again, for up to 4 min")
            expect(again.first).to_be_visible(timeout=120_000)
            expect(page.locator(".agreement.open").first).to_contain_text(
                re.compile(r"there was no time to ask|There was time for \d+ of 12 worlds")
            )
            again.first.click()
            expect(page.locator("#time-limit")).to_have_value("240")
            expect(reliable(page).locator(".agreement.good")).to_be_visible(timeout=240_000)
            expect(again).to_have_count(0)
            watched.assert_quiet()
            page.context.close()


def test_conditions_are_asked_and_kept_in_the_link(browser: Browser, slow: Live) -> None:
    """A margin makes the answer cheaper by so much; without asking for truth there is one card; links keep both."""
    watched = opened(browser, slow.url)
    page = watched.page
    page.get_by_text("Conditions", exact=True).click()
    page.get_by_label("such answers must be true").select_option(label="not asked")
    page.get_by_label("cheaper by at least").select_option(label="20 %")
    expect(page.locator(".conditions summary")).to_have_text("Conditions (changed)")
    asked(page)
    expect(reliable(page)).to_be_hidden()
    expect(turns(page).locator("h4")).to_be_hidden()
    gain = re.search(r"\(([\d.]+) %\)", turns(page).locator(".facts").text_content() or "")
    assert gain
    assert float(gain[1]) >= 20.0
    verdict = turns(page).locator(".verdict").inner_text()
    # The address follows a moment later.
    expect(page).to_have_url(re.compile(r"asked=.*0\.2|0\.2.*asked="))
    other = opened(browser, slow.url)
    other.page.goto(page.url)
    expect(turns(other.page).locator(".verdict")).to_have_text(verdict)
    expect(other.page.get_by_label("cheaper by at least")).to_have_value("0.2")
    other.page.get_by_text("Conditions (changed)").click()
    other.page.get_by_label("cheaper by at least").select_option(label="any amount")
    expect(other.page.locator("#ask-note")).to_contain_text("Something has changed since")
    for one in (watched, other):
        one.assert_quiet()
        one.page.context.close()


def unreliable_scene() -> Scene:
    """Noise: whatever a forest finds, another one finds something else."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.random((60, 3)).round(2), columns=["a", "b", "c"])
    Y = pd.DataFrame({"sold": rng.uniform(0, 100, 60).round(1)})
    forest = paper_forest(n_trees=4, max_depth=6, random_state=1)
    policy = wh.Policy(wh.Newsvendor(holding=1, backorder=1), forest).fit(X, Y)
    today = X.iloc[0]
    plan = [float(policy.decide(today)[0]) + 25.0]
    return Scene("noise", "Why not more?", "", policy, today, plan)


def test_states_of_an_answer(browser: Browser) -> None:
    """Not reliable, already, none, and a forest that cannot be fitted again: each says what it is."""
    certain = slow_scene()
    scenes = [unreliable_scene(), replace(certain, id="certain"), foreign_scene()]
    with running(scenes, workers=3) as live:
        live.wait_for_workers(3)
        watched = opened(browser, live.url, scene="noise")
        page = watched.page
        asked(page)
        expect(reliable(page).locator("h4")).to_have_text(re.compile(r"Where \d+ % of such answers are true"))
        expect(reliable(page).locator(".agreement.open")).to_contain_text("90 % were asked for")
        page.get_by_label("Scene").select_option("certain")
        # The cost of the scene before is still there for a moment.
        expect(page).to_have_url(re.compile("scene=certain"))
        expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
        page.get_by_role("button", name="Start from the decision").click()
        expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
        asked(page)
        expect(turns(page).locator(".badge")).to_contain_text("Holds already")
        # It is the same context: how far to rely on it is told in its card, and there is no other.
        expect(turns(page).locator(".agreement")).to_contain_text("of such answers are true")
        expect(reliable(page)).to_be_hidden()
        for name in ("warmth", "day"):
            page.get_by_role("button", name=f"{name} cannot change").click()
        page.get_by_label("Your plan: ice", exact=True).fill("200")
        asked(page)
        expect(turns(page).locator(".badge")).to_contain_text("none exists")
        expect(reliable(page)).to_be_hidden()
        page.get_by_label("Scene").select_option("foreign")
        # The cost of the scene before is still there for a moment.
        expect(page).to_have_url(re.compile("scene=foreign"))
        expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
        asked(page)
        expect(reliable(page)).to_be_hidden()
        expect(turns(page)).to_contain_text("How far you can rely on it is not known")
        watched.assert_quiet()
        page.context.close()
