"""The page where things are hard: long searches, several tabs, a busy server, one that goes away, and strange names."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, Page, Route, TimeoutError, expect
from tests.web.browser import STRANGE, Server, asked, opened, write_project


# For the session: where parallel processes take tests from each other, a module begins more than once.
@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`whence serve` with a project whose names are markup and whose questions are hard."""
    started = Server(str(write_project(tmp_path_factory.mktemp("project")))).wait_for_workers()
    yield started
    started.stop()


@pytest.fixture
def project(server: Server) -> str:
    """Where that project is."""
    return server.url


def _ask_hard_question(page: Page) -> None:
    """Ask for a minute about more than the plan of the busiest day: far from the decision."""
    page.get_by_text("Take the plan of another context").click()
    page.get_by_label("observation", exact=True).fill("17")
    page.get_by_role("button", name="Take", exact=True).click()
    for part in ("apples", "<i>pears</i>", "plums"):
        field = page.get_by_label(f"Your plan: {part}", exact=True)
        expect(field).not_to_have_value("")
        field.fill(str(round(float(field.input_value()) * 1.15, 2)))
    page.get_by_text("Conditions", exact=True).click()
    page.get_by_label("search for at most").select_option("60")
    page.get_by_role("button", name="Why not mine?").click()


def test_long_search_tells_its_progress_and_stops(browser: Browser, project: str) -> None:
    """Boxes, best and bound are shown while it searches; cancelled, the best found so far stays."""
    watched = opened(browser, project)
    page = watched.page
    _ask_hard_question(page)
    card = page.locator("[data-kind=relative]")
    expect(card.locator(".progress-text")).to_have_text(
        re.compile(r"boxes searched in .* s: best at distance .*, none nearer than "), timeout=60_000
    )
    assert card.get_attribute("aria-busy") == "true"
    page.get_by_role("button", name="Cancel the search: Better than the decision").click()
    expect(card.locator(".badge")).to_contain_text("Stopped: best so far")
    expect(card.locator(".spoken")).to_contain_text("none nearer than")
    expect(page.locator(".feature.changed").first).to_be_visible()
    with suppress(TimeoutError):  # the other search may have ended by itself meanwhile
        page.get_by_role("button", name="Cancel the search: Best of all plans").click(timeout=3_000)
    expect(page.locator("[data-kind=absolute]")).to_have_attribute("aria-busy", "false")
    watched.assert_quiet()
    page.context.close()


def test_closed_tab_takes_its_searches_along(browser: Browser, project: str) -> None:
    """A tab that is closed while it searches leaves nothing behind that the next question would have to wait for."""
    watched = opened(browser, project)
    page = watched.page
    other = page.context.new_page()
    other.goto(project)
    _ask_hard_question(page)
    expect(page.locator("[data-kind=relative] .progress-text")).to_contain_text("searched in", timeout=60_000)

    def busy() -> int:
        health = other.request.get(f"{project}/api/health").json()
        return int(health["queued"] + health["running"])

    assert busy() >= 1
    page.close(run_before_unload=True)
    for _ in range(100):
        if not busy():
            break
        other.wait_for_timeout(100)
    assert busy() == 0
    other.context.close()


@pytest.mark.long
def test_page_works_in_a_folder_of_another_server(browser: Browser, examples: str) -> None:
    """Behind a proxy that gives it a folder, the page asks for nothing outside of that folder."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    outside: list[str] = []

    def forward(route: Route) -> None:
        url = route.request.url
        if not url.startswith(f"{examples}/plans/"):
            outside.append(url)
            route.abort()
        else:
            route.fulfill(response=route.fetch(url=url.replace("/plans/", "/", 1)))

    page.route("**/*", forward)
    page.goto(f"{examples}/plans/#scene=city")
    asked(page)
    with page.expect_download() as waiting:
        page.locator("[data-kind=relative]").get_by_role("link", name="Data (JSON)").click()
    assert waiting.value.url.startswith(f"{examples}/plans/api/explanations/")
    assert outside == []
    page.context.close()


def test_names_are_never_run(browser: Browser, project: str) -> None:
    """Features, categories and parts that look like markup are written as they are, and nothing runs."""
    watched = opened(browser, project)
    page = watched.page
    expect(page.locator("h1")).to_have_text(f"Why not more {STRANGE}?")
    expect(page.locator(".feature-name").first).to_have_text(STRANGE)
    page.get_by_label(STRANGE, exact=True).fill("0.5")
    page.get_by_role("button", name=f"{STRANGE} cannot change").click()
    page.get_by_label("shop", exact=True).select_option("<b>north</b>")
    expect(page.locator(".q-row label", has_text="<i>pears</i>")).to_be_visible()
    expect(page.locator(".speakers .told").first).to_contain_text(STRANGE)
    page.get_by_text("Take the plan of another context").click()
    page.get_by_role("button", name="Plan for the controls as they are").click()
    asked(page)
    assert page.locator('main script, main b:has-text("north"), main i:has-text("pears")').count() == 0
    page.wait_for_url(re.compile(r"asked="))  # the address follows the page a moment later
    page.reload()
    expect(page.get_by_role("button", name=f"{STRANGE} cannot change")).to_have_attribute("aria-pressed", "true")
    watched.assert_quiet()
    page.context.close()


def test_stepper_walks_through_the_values(browser: Browser, project: str) -> None:
    """A discrete feature goes up and down its own values and stops at both ends."""
    watched = opened(browser, project)
    page = watched.page
    less, more = (page.get_by_role("button", name=f"level: one {word}") for word in ("less", "more"))
    field = page.get_by_label("level", exact=True)
    field.select_option("1")
    expect(less).to_be_disabled()
    for value in ("2", "3", "4"):
        more.click()
        expect(field).to_have_value(value)
    expect(more).to_be_disabled()
    page.context.close()


def test_tabs_do_not_mix(browser: Browser, examples: str) -> None:
    """Two tabs of one browser with different questions at the same time each get their own answers."""
    first = opened(browser, examples, scene="bakery")
    page = first.page
    other = page.context.new_page()
    other.goto(f"{examples}/#scene=city")
    expect(other.get_by_role("button", name="Why not mine?")).to_be_enabled()
    expect(page.get_by_role("button", name="Why not mine?")).to_be_enabled()
    other.get_by_role("button", name="Why not mine?").click()
    page.get_by_role("button", name="Why not mine?").click()
    expect(other.locator("[data-kind=relative] .verdict")).to_contain_text("period were morning peak")
    expect(page.locator("[data-kind=relative] .verdict")).to_contain_text("weekday were Saturday")
    expect(page.locator("[data-kind=absolute] .verdict")).to_be_visible()
    expect(other.locator("[data-kind=absolute] .verdict")).to_be_visible()
    page.get_by_role("radio", name="Then").click()
    expect(other.get_by_role("radio", name="Today")).to_have_attribute("aria-checked", "true")
    first.assert_quiet()
    page.context.close()


def test_busy_server_is_asked_again(browser: Browser, examples: str) -> None:
    """Where all searches are taken (429), the page says so, waits as it was told, and then gets its answer."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    refused: list[str] = []

    def refuse(route: Route) -> None:
        if len(refused) < 2:
            refused.append(route.request.url)
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"detail": "Too many searches are waiting."})
        else:
            route.fallback()

    page.route("**/explanations", refuse)
    page.get_by_role("button", name="Why not mine?").click()
    expect(page.locator("[data-kind=relative] .progress-text")).to_contain_text("All searches are busy")
    for kind in ("relative", "absolute"):
        expect(page.locator(f"[data-kind={kind}] .verdict")).to_be_visible()
    assert len(refused) == 2
    page.context.close()


def test_failed_answers_are_told(browser: Browser, examples: str) -> None:
    """An answer that is no answer becomes a sentence in its place, and the page goes on."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    page.route("**/explanations", lambda route: route.fulfill(status=500, body="oops"))
    page.get_by_role("button", name="Why not mine?").click()
    expect(page.locator("[data-kind=relative] .reason")).to_contain_text("The server answered with an error (500).")
    page.unroute("**/explanations")
    page.route("**/decide", lambda route: route.fulfill(status=422, json={"detail": "The rain is too strong."}))
    page.get_by_label("rain", exact=True).fill("3")
    expect(page.locator(".plan-card.d .plan-text")).to_have_text("The rain is too strong.")
    page.unroute("**/decide")
    page.get_by_label("rain", exact=True).fill("2")
    expect(page.locator(".plan-card.d .plan-text")).to_contain_text("Depot")
    asked(page)
    page.context.close()


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("scene=city&plan={", "Part of the link could not be read."),
        ("scene=nowhere", "There is no scene called “nowhere” here."),
    ],
)
def test_broken_links_still_open(browser: Browser, examples: str, link: str, said: str) -> None:
    """A link that cannot be read, or leads nowhere, opens the page with a note."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    page.goto(f"{examples}/#{link}")
    expect(page.locator("#link-note")).to_have_text(said)
    expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
    watched.assert_quiet()
    page.context.close()


def test_impossible_plan_in_a_link_is_explained(browser: Browser, examples: str) -> None:
    """A route with a hop that is no street is shown with the reason, and cannot be asked about."""
    watched = opened(browser, examples, scene="city")
    page = watched.page
    page.goto(f'{examples}/#scene=city&plan=["Depot","Hospital"]')
    expect(page.locator(".plan-card.a .reason")).to_contain_text("No street leads from Depot to Hospital.")
    expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
    page.goto(f'{examples}/#scene=city&plan=["Depot",7]')
    expect(page.locator(".plan-card.a .reason")).to_contain_text("There is no place called 7 in this network.")
    assert watched.posts("/explanations") == 0
    watched.assert_quiet()
    page.context.close()


def test_server_goes_and_comes_back(browser: Browser, server: Server) -> None:
    """Killed: a banner says so and settings are kept; started again at the same place: the page recovers by itself."""
    watched = opened(browser, server.url)
    page = watched.page
    server.stop(signal.SIGKILL)
    page.get_by_label("level", exact=True).select_option("4")
    expect(page.locator("#banner")).to_contain_text("The server does not answer.")
    expect(page.get_by_role("button", name="Why not mine?")).to_be_disabled()
    server.start_again()
    expect(page.locator("#banner")).to_contain_text("The server answers again.")
    expect(page.get_by_label("level", exact=True)).to_have_value("4")
    expect(page.locator(".plan-card.d .plan-text")).to_contain_text("apples")
    page.get_by_role("button", name="Start from the decision").click()
    asked(page)
    assert all("ERR_CONNECTION" in complaint for complaint in watched.complaints), watched.complaints
    page.context.close()
