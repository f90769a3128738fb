"""A date, an hour that goes round and an ordered level on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, expect
from tests.forests import paper_forest
from tests.web.browser import opened
from tests.web.live import running

import whence as wh
from whence.web.scenes import Scene


def scene() -> Scene:
    """A kiosk that is busy at the weekend and around midnight."""
    rng = np.random.default_rng(1)
    days = pd.date_range("2024-01-01", periods=200)
    X = pd.DataFrame({"date": days, "hour": np.arange(200) % 24})
    level = rng.integers(0, 3, 200)
    X["service"] = pd.Categorical.from_codes(level, ["none", "some", "full"], ordered=True)
    ice = (
        40 + 20 * np.cos((X["hour"] - 1) * np.pi / 12) + 25 * (days.day_of_week > 4) + 3 * level + rng.normal(0, 2, 200)
    )
    schema = wh.Schema({"hour": wh.Cyclic(24, unit="h")})
    policy = wh.Policy(wh.Newsvendor([1.0], [3.0]), paper_forest(20, random_state=0), schema=schema)
    policy.fit(X, pd.DataFrame({"ice": ice.round(1)}))
    today = pd.Series({"date": pd.Timestamp("2024-03-05"), "hour": 22, "service": "none"})
    return Scene("kiosk", "Why not more?", "", policy, today, alternative=[95.0])


def test_dates_are_chosen_limited_and_found(browser: Browser) -> None:
    """The control takes a date, a limit too, and the explanation names the day."""
    with running([scene()]) as live:
        watched = opened(browser, live.url)
        page = watched.page
        control = page.get_by_label("date", exact=True)
        expect(control).to_have_value("2024-03-05")
        expect(page.get_by_label("service", exact=True).locator("option")).to_have_text(["none", "some", "full"])
        page.get_by_role("button", name="Why not mine?").click()
        found = page.locator("[data-feature=date] .then-note b")
        expect(found).to_contain_text("2024")
        assert found.inner_text().split()[0] in ("Saturday", "Sunday")
        control.fill("2030-01-01")
        expect(page.locator(".plan-card.d .caution")).to_contain_text("lies outside the years of the history")
        control.fill("2024-03-06")
        page.get_by_role("button", name="Limit date").click()
        page.get_by_label("date: explanation may go from").fill("2024-06-01")
        page.get_by_role("button", name="Why not mine?").click()
        expect(found).to_contain_text("June 2024")
        watched.assert_quiet()
        page.context.close()
