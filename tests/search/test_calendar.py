"""Hours that go round, ordered levels and dates: both engines against brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests import date_cases
from tests.calendar_cases import KINDS, calendar_case, disagreement
from tests.context_cases import TooMany

import whence as wh

EACH, DATES = 4, 24


@pytest.mark.parametrize("kinds", KINDS)
def test_search_against_brute_force(kinds: str) -> None:
    """The nearest context by the definition of the distance, alone and with rows, tables, steps, gaps, few changes."""
    looked = 0
    for seed in range(EACH):
        case = calendar_case(seed, kinds)
        try:
            # The search knows relations or a limit on changes, one at a time.
            wrong = disagreement(case)
        except TooMany:
            continue
        assert not wrong, (kinds, seed, wrong)
        looked += 1
    assert looked >= EACH // 3


@pytest.mark.parametrize("kinds", ["c", "o", "co", "cr", "ct", "cs", "cf", "of"])
def test_search_and_integer_program_agree(kinds: str) -> None:
    """The integer program knows of no parts: it takes a circle as it is."""
    for seed in range(3):
        case = calendar_case(1000 + seed, kinds)
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert found.status == solved.status, (kinds, seed)
        assert found.distance == pytest.approx(solved.distance, rel=2e-6, abs=2e-6), (kinds, seed)


def test_dates_against_every_day() -> None:
    """Parts move together to a day that exists, in the years of the history or in the range that is given."""
    for seed in range(DATES):
        wrong = date_cases.disagreement(date_cases.date_case(seed))
        assert not wrong, (seed, wrong)


def test_dates_among_neighbours_against_every_day() -> None:
    """The same for weekdays, holidays, years and days of the month where weights are those of neighbours."""
    for seed in range(DATES // 4):
        wrong = date_cases.disagreement(date_cases.date_case(seed, neighbours=True))
        assert not wrong, (seed, wrong)


def test_dates_by_the_integer_program() -> None:
    """The same answers by the other engine."""
    for seed in range(100, 106):
        case = date_cases.date_case(seed)
        found, solved = case.explain(), case.explain(engine="milp", time_limit=20.0)
        assert (found.status, found.distance) == (solved.status, pytest.approx(solved.distance, rel=2e-6, abs=2e-6)), (
            seed
        )


@pytest.mark.parametrize("whole", [False, True])
def test_a_cycle_that_never_ends_is_a_line(whole: bool) -> None:
    """With a period far beyond the history, answers are those of a plain number, bit for bit."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {"a": rng.integers(0, 30, 60) if whole else rng.normal(0, 9, 60).round(2), "b": rng.normal(size=60)}
    )
    Y = np.column_stack([20 + X["a"], 15 + 3 * np.abs(X["b"])])
    line = wh.Discrete(step=1, scale=7) if whole else wh.Continuous(scale=7)
    policies = [
        wh.Policy(wh.Newsvendor(1, 3), wh.ForestWeights(20, random_state=0), schema=wh.Schema({"a": kind})).fit(X, Y)
        for kind in (line, wh.Cyclic(1e6, -1e3, scale=7))
    ]
    for i in range(8):
        plan = policies[0].decide(X.iloc[(i + 17) % 60])
        plain, turned = (policy.explain(X.iloc[i], instead=plan) for policy in policies)
        assert (plain.status, plain.distance, plain.nodes) == (turned.status, turned.distance, turned.nodes)
        assert plain.context is None or plain.context.equals(turned.context)
