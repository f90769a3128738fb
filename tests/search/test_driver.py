"""The loop that all native engines share, and the time limits that it keeps."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from tests.asking import asking, varied
from tests.cases import cases
from tests.forests import paper_forest

import whence as wh
from whence.features.space import Space
from whence.question import Limits, Question
from whence.search import driver
from whence.weights import InputMap

Floats = NDArray[np.float64]

RISKS = {"mean": wh.Expectation(), "cvar": wh.CVaR(0.8)}


def restaurant(rows: int = 500) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Seven products whose demand follows the weekday, the month and the weather: hard for absolute questions."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "weekday": rng.choice(list("ABCDEFG"), rows),
            "month": rng.choice(list("abcdefghijkl"), rows),
            "year": rng.choice([2013, 2014, 2015], rows),
            "holiday": rng.random(rows) < 0.05,
            "wind": rng.gamma(2.0, 1.5, rows),
            "clouds": rng.uniform(0, 8, rows),
            "rain": rng.exponential(2.0, rows),
            "temperature": rng.normal(12, 8, rows),
        }
    )
    day = X["weekday"].map(ord).to_numpy() - 65
    level = 20 + 4 * day + 0.5 * X["temperature"].to_numpy() - X["rain"].to_numpy()
    shares = rng.uniform(0.3, 1.5, 7)
    Y = np.maximum(0.0, np.round(level[:, None] * shares + rng.normal(0, 6, (rows, 7))))
    return X, pd.DataFrame(Y, columns=[f"dish {j}" for j in range(7)])


@cache
def policy(weights: str, risk: str, depth: int | None = 4) -> wh.Policy:
    """A policy of the restaurant, asked once, so that what is built on first use is there."""
    X, Y = restaurant()
    fitted = paper_forest(n_trees=100, max_depth=depth, random_state=0)
    chosen: Any = fitted if weights == "forest" else wh.KNNWeights(k=20)
    made = wh.Policy(wh.Newsvendor(1.0, 4.0), chosen, risk=RISKS[risk]).fit(X, Y)
    made.explain(X.iloc[0], instead=1.2 * made.decide(X.iloc[0]), kind="absolute", time_limit=1.0)
    return made


def spent(limit: float, ask: Any) -> float:
    """Seconds that a question took beyond what its limit allows: the smaller one of the clock's and the processor's."""
    began, worked = time.perf_counter(), time.process_time()
    ask()
    seconds = min(time.perf_counter() - began, time.process_time() - worked)
    return seconds - limit - max(0.1 * limit, 0.2)


def assert_in_time(limit: float, ask: Any) -> None:
    """On a busy machine a question gets a second chance."""
    over = spent(limit, ask)
    assert over <= 0 or spent(limit, ask) <= 0, f"{over:.2f} s too late with a limit of {limit} s"


@pytest.mark.parametrize("limit", [0.2, 1.0])
@pytest.mark.parametrize("risk", ["mean", "cvar"])
@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_hard_absolute_questions_end_in_time(weights: str, risk: str, limit: float) -> None:
    """Plans with a fifth more of one dish, about which a continuum of better plans can be found: the limit holds."""
    asked, (X, _) = policy(weights, risk), restaurant()
    rows = ((11, 2), (60, 5), (150, 6))
    for row, dish in rows if limit < 1.0 else rows[1:2]:
        mine = asked.decide(X.iloc[row]).copy()
        mine[dish] *= 1.2
        assert_in_time(limit, lambda: asked.explain(X.iloc[row], instead=mine, kind="absolute", time_limit=limit))  # noqa: B023


@pytest.mark.parametrize(("weights", "risk"), [("forest", "mean"), ("neighbours", "cvar")])
def test_three_seconds_are_three_seconds(weights: str, risk: str) -> None:
    """A longer limit holds too, when slices have grown and cuts have piled up."""
    asked, (X, _) = policy(weights, risk), restaurant()
    mine = asked.decide(X.iloc[60]).copy()
    mine[4] *= 1.2
    assert_in_time(3.0, lambda: asked.explain(X.iloc[60], instead=mine, kind="absolute", time_limit=3.0))


@pytest.mark.parametrize("limit", [0.2, 1.0])
@pytest.mark.parametrize("weights", ["forest", "neighbours"])
def test_hard_relative_questions_end_in_time(weights: str, limit: float) -> None:
    """A plan that is hardly ever better, in a forest without a depth limit or among neighbours."""
    asked, (X, _) = policy(weights, "mean", None), restaurant()
    mine = asked.decide(X.iloc[60]) * 0.85
    assert_in_time(limit, lambda: asked.explain(X.iloc[60], instead=mine, time_limit=limit))


def test_the_question_without_restrictions_ends_in_time() -> None:
    """Where nothing may change but the wind, the second question without restrictions has what the first one left."""
    asked, (X, _) = policy("forest", "mean"), restaurant()
    mine = asked.decide(X.iloc[60]).copy()
    mine[4] *= 1.2
    fixed = [name for name in X.columns if name != "wind"]
    why = asked.explain(X.iloc[60], instead=mine, kind="absolute", fixed=fixed, time_limit=5.0)
    assert why.status == "none"
    assert why.unrestricted is not None
    for limit in (0.2, 1.0):
        assert_in_time(
            limit,
            lambda: asked.explain(X.iloc[60], instead=mine, kind="absolute", fixed=fixed, time_limit=limit),  # noqa: B023
        )


class Slow(wh.Newsvendor):
    """A newsvendor that takes a third of a second to solve, and cannot be interrupted."""

    def solve(self, Y: Floats, weights: Floats, risk: Any) -> Floats:
        """Work, then solve."""
        ends = time.process_time() + 0.3
        while time.process_time() < ends:
            pass
        return super().solve(Y, weights, risk)


@pytest.mark.parametrize("engine", ["search", "milp"])
def test_a_solve_that_cannot_be_interrupted_is_not_begun_too_late(engine: str) -> None:
    """The time of a solve is set aside once it is known: neither the search nor the last check begins one too late."""
    X, Y = restaurant(60)
    asked = wh.Policy(Slow(1.0, 4.0), paper_forest(n_trees=5, max_depth=3, random_state=0)).fit(X, Y)
    mine = asked.decide(X.iloc[3]) * np.array([1.3, 1, 1, 1, 1, 1, 1])
    for limit in (1.0, 2.0):
        assert_in_time(limit, lambda: asked.explain(X.iloc[3], mine, kind="absolute", engine=engine, time_limit=limit))  # noqa: B023


class Counting:
    """A frontier that often has to look for a proposal first, as the search of a large forest does."""

    bound = 0.0
    memory = 0

    def __init__(self) -> None:
        self.nodes = 0
        self.asked: list[int] = []

    def cut(self, rival: Floats) -> None:
        """Nothing to cut."""

    def exclude(self, point: Floats) -> None:
        """Nothing to exclude."""

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        """Nine slices of ten examine nothing; a box takes a hundredth of a second."""
        assert nodes <= 40, "more boxes than the time of those examined allows for"
        self.asked.append(nodes)
        if len(self.asked) % 10 == 0:
            self.nodes += nodes
            time.sleep(0.01 * nodes)
        return None

    def propose(self, cutoff: float) -> Floats | None:
        """Nothing to propose."""
        return None

    def weights(self, point: Floats) -> Floats:
        """Never asked."""
        raise AssertionError

    def cell(self, point: Floats) -> None:
        """Never asked."""


def question(**limits: Any) -> Question:
    """A question that nothing answers: one feature, two past observations."""
    one = np.ones(1)
    return asking(
        space=Space(0.0 * one, 0.0 * one, one, (None,), one, np.array([-1])),
        weights=wh.KNNWeights(1).fit(np.array([[0.0], [1.0]])),
        inputs=InputMap(np.zeros(1, dtype=np.int64), one, 0.0 * one),
        alternative=np.array([1.0, 0.0]),
        decision=np.array([0.0, 1.0]),
        risk=wh.Expectation(),
        kind="relative",
        tau=0.0,
        separation=1e-6,
        better=lambda weights: None,
        limits=Limits(**limits),
    )


def test_slices_that_examine_no_box_do_not_make_later_ones_longer() -> None:
    """How many boxes a slice may have follows from the time that boxes really took."""
    frontier = Counting()
    assert driver.run(question(time_limit=1.0), frontier).status == "time_limit"
    assert max(frontier.asked) <= 8


def test_a_node_limit_is_kept_to_the_box() -> None:
    """The last slice has no more boxes than are left."""
    frontier = Counting()
    driver.run(question(node_limit=23, time_limit=20.0), frontier)
    assert frontier.nodes == 23


class _Line:
    """A frontier whose contexts are the numbers 1, 2, ... on a line: some satisfy the cuts, one was proposed."""

    memory = 0

    def __init__(self, candidate: float, proposal: float) -> None:
        self.at, self.proposal = candidate, proposal
        self.nodes, self.bound, self.asked = 0, 0.0, 0

    def cut(self, rival: Floats) -> None:
        self.asked += 1

    def exclude(self, point: Floats) -> None:
        raise AssertionError

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        self.nodes += 1
        self.bound = min(0.05 * self.nodes, self.at, cutoff)
        return np.array([self.at]) if self.bound >= self.at and self.at < cutoff else None

    def propose(self, cutoff: float) -> Floats | None:
        return np.array([self.proposal]) if self.proposal < cutoff else None

    def weights(self, point: Floats) -> Floats:
        return np.ones(1)

    def cell(self, point: Floats) -> None:
        return None


@pytest.mark.parametrize(("candidate", "proposal", "expected"), [(0.95, 1.0, 0.95), (2.0, 1.0, 1.0), (0.3, 1.0, 0.3)])
def test_a_proposal_is_the_answer_only_once_nothing_nearer_is_left(
    candidate: float, proposal: float, expected: float
) -> None:
    """The loop goes on until the bound reaches the proposal itself, and then the proposal is what it returns."""
    question = cases(0, 1)[0].question()
    space = Space(np.zeros(1), np.zeros(1), np.full(1, 9.0), (None,), np.ones(1), np.full(1, -1))
    answer = driver.run(varied(question, space=space, kind="relative"), _Line(candidate, proposal))
    assert answer.status == "optimal"
    assert answer.point is not None
    assert (answer.point.tolist(), answer.distance, answer.bound) == ([expected], expected, expected)


def test_what_is_said_of_a_proposal_is_its_own_distance() -> None:
    """Stopped by a node limit, the answer is the proposal at its distance and the bound reached so far."""
    question = cases(0, 1)[0].question(node_limit=5)
    space = Space(np.zeros(1), np.zeros(1), np.full(1, 9.0), (None,), np.ones(1), np.full(1, -1))
    answer = driver.run(varied(question, space=space, kind="relative"), _Line(3.0, 1.0))
    assert (answer.status, answer.distance, answer.nodes) == ("time_limit", 1.0, 5)
    assert answer.bound == pytest.approx(0.25)
