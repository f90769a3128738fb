"""What a person waits for on the page: the first decision, the first answer, and the strips under the controls.

    python benchmarks/page.py [--times 5] [--project examples/bike-share]

Starts ``whence serve`` with a project and opens its page in Chromium, each time in a new window: from opening to the
decision, and to the answer that comes by itself. Then the strips of a forest of 100 trees on 3,000 rows, ten features
and one product or three, for both risks. Each is told by the clock (what people wait, on a machine that does nothing
else) and by processor time, which others do not change: that of the server and its workers, or of this process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, expect
from tests.web.browser import Server, chromium

import whence as wh
from whence.search.verdict_strips import strips

ROOT = Path(__file__).resolve().parents[1]
#: What is waited for, where it stands on the page, and the seconds that are promised.
AWAITED = (("first decision", ".plan-card.d .cost b", 1.0), ("first answer", ".opening .verdict", 3.0))
ROWS, FEATURES, STRIPS = 3_000, 10, 0.2


def told(what: str, clock: list[float], processor: list[float], promised: float) -> None:
    """Print the medians, and the slowest."""
    by_clock, by_processor = statistics.median(clock), statistics.median(processor)
    print(f"{what:34}{by_clock:8.3f}{max(clock):10.3f}{by_processor:12.3f}{promised:10g}")


def opened(browser: Browser, server: Server) -> list[tuple[float, float]]:
    """Open the page once: seconds until each thing is there, by the clock and by the server's processor time."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    began, worked = time.perf_counter(), server.processor_seconds()
    page.goto(server.url)
    found = []
    for _, place, _ in AWAITED:
        expect(page.locator(place)).not_to_be_empty(timeout=120_000)
        found.append((time.perf_counter() - began, server.processor_seconds() - worked))
    page.context.close()
    return found


def drawn(times: int, products: int, risk: wh.Risk) -> tuple[list[float], list[float]]:
    """Work out the strips of as many contexts, each with a plan of one's own."""
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, FEATURES))
    Y = 50 + 40 * X[:, :products] + rng.normal(0, 8, (ROWS, products))
    policy = wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(random_state=0), risk).fit(X, Y)
    clock, processor = [], []
    for row in X[: times + 1]:
        asked, plan = policy.schema_.row(row), np.full(products, 75.0)
        began, worked = time.perf_counter(), time.process_time()
        strips(policy, asked, plan)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    # The first one sets up what all share.
    return clock[1:], processor[1:]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--project", type=Path, default=ROOT / "examples" / "bike-share")
    given = parser.parse_args()
    print(f"{'seconds':34}{'clock':>8}{'slowest':>10}{'processor':>12}{'promised':>10}")
    server = Server(str(given.project)).wait_for_workers()
    try:
        with chromium() as browser:
            each = [opened(browser, server) for _ in range(given.times)]
    finally:
        server.stop()
    for place, (what, _, promised) in enumerate(AWAITED):
        told(what, [one[place][0] for one in each], [one[place][1] for one in each], promised)
    for products in (1, 3):
        for risk in (wh.Expectation(), wh.CVaR(0.8)):
            name = f"strips, {products} product{'s' * (products > 1)}, {risk.name}"
            told(name, *drawn(given.times, products, risk), STRIPS)


if __name__ == "__main__":
    main()
