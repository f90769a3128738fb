"""Orders of several products by lines: against a linear program for every piece of every curve, and by drawing lots."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression

import whence as wh
from whence.claims.forecast_costs import BandPricing, Broken
from whence.milp.line_program import hull


class OrderCase:
    """A random question about two products, whose demand is forecast by a line each."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 1917])
        n, self.rng = int(rng.integers(5, 8)), rng
        unit, money = rng.choice([1.0, 1e-6, 1e6], 2)
        X = pd.DataFrame({f"x{j}": rng.random(n).round(2) * unit for j in range(int(rng.integers(1, 3)))})
        self.numbers = list(X.columns)
        schema = {name: wh.Continuous() for name in self.numbers}
        slopes = rng.normal(size=(len(self.numbers), 2)) * 4
        Y = 10 + X.to_numpy() / unit @ slopes + rng.normal(size=(n, 2))
        if rng.random() < 0.5:
            X["on"] = np.resize([False, True], n)
            Y += np.outer(X["on"], rng.normal(size=2))
        self.X, self.Y = X, Y.round(2) * money
        self.models = [LinearRegression().fit(X, column) for column in self.Y.T]
        self.residuals = self.Y - self.forecast(X)
        self.holding, self.backorder = rng.integers(1, 5, 2), rng.integers(1, 9, 2)
        self.budget = float(22 * money) if rng.random() < 0.3 else None
        problem = wh.Newsvendor(self.holding, self.backorder, budget=self.budget)
        weights = wh.ForecastWeights.of(self.models, residuals="in-sample")
        self.policy = wh.Policy(problem, weights, schema=wh.Schema(schema)).fit(X, self.Y)
        self.start = X.iloc[0].astype(object)
        self.decision = self.policy.decide(self.start)
        there = X.iloc[-1] if rng.random() < 0.7 else X.iloc[1]
        self.instead = np.maximum(0.0, self.policy.decide(there) + 0.3 * money * rng.normal(size=2))
        if self.budget is not None:
            self.instead *= min(1.0, self.budget / self.instead.sum())
        self.kind = "absolute" if rng.random() < 0.4 else "relative"
        self.tau = 1e-6 * float(np.abs(problem.costs(self.instead, self.Y)).max())

    def forecast(self, rows: pd.DataFrame) -> np.ndarray:
        return np.column_stack([model.predict(rows) for model in self.models])

    def cost(self, plan: np.ndarray, forecast: np.ndarray) -> float:
        over = plan - (forecast + self.residuals)
        return float((self.holding * np.maximum(over, 0) + self.backorder * np.maximum(-over, 0)).sum(axis=1).mean())

    def excess(self, forecast: np.ndarray) -> float:
        """By how much the alternative costs more than the decision, or than the best plan."""
        rival = self.decision
        if self.kind == "absolute":
            same = np.full(len(self.X), 1.0 / len(self.X))
            rival = self.policy.problem.solve(forecast + self.residuals, same, wh.Expectation())
        return self.cost(self.instead, forecast) - self.cost(rival, forecast) - self.tau

    def distances(self, rows: pd.DataFrame) -> np.ndarray:
        found = np.zeros(len(rows))
        for name in self.X.columns:
            span = 1.0 if name == "on" else float(np.ptp(self.X[name]))
            found += np.abs(rows[name].astype(float) - float(self.start[name])) / span
        return found

    def nearest(self) -> float:
        """The least of the linear programs for all choices of pieces; only where no budget bends the curves."""
        best = np.inf
        spans = np.array([float(np.ptp(self.X[name])) for name in self.numbers])
        least = self.X[self.numbers].min().to_numpy()
        for on in (False, True) if "on" in self.X else (None,):
            row = self.start.copy()
            paid = 0.0
            if on is not None:
                row["on"], paid = on, float(on != self.start["on"])
            rows = pd.DataFrame([row] * (1 + len(self.numbers))).reset_index(drop=True)
            for j, name in enumerate(self.numbers):
                rows.loc[j + 1, name] += spans[j]
            said = self.forecast(rows.astype(self.X.dtypes))
            slopes = (said[1:] - said[0]).T
            begin = (row[self.numbers].to_numpy(dtype=float) - least) / spans
            # How far each number may rise, and fall, as a share of its range.
            rooms = np.concatenate([1.0 - begin, begin])
            reach = slopes * (1.0 - begin), slopes * begin
            ends = (
                said[0] - np.maximum(reach[1], -reach[0]).clip(0).sum(axis=1),
                said[0] + np.maximum(reach[0], -reach[1]).clip(0).sum(axis=1),
            )
            pieces = [self._pieces(j, ends[0][j], ends[1][j]) for j in range(2)]
            for piece in itertools.product(*pieces):
                best = min(best, paid + self._least(piece, said[0], np.hstack([slopes, -slopes]), rooms))
        return best

    def _pieces(self, j: int, low: float, high: float) -> list[tuple[float, float]]:
        orders = [self.instead[j], self.decision[j], 0.0]
        corners = np.unique(np.concatenate([order - self.residuals[:, j] for order in orders]))
        at = [low, *corners[(corners > low) & (corners < high)], high]
        return list(itertools.pairwise(at)) if high > low else [(low, high)]

    def _least(self, piece: Any, here: np.ndarray, slopes: np.ndarray, rooms: np.ndarray) -> float:
        low, high = np.array(piece).T
        corner = {ends: self.excess(np.array(ends)) for ends in itertools.product(*piece)}
        if min(corner.values()) > 0:
            return np.inf
        first = corner[low[0], low[1]]
        rise = np.array(
            [
                (corner[high[0], low[1]] - first) / max(high[0] - low[0], 1e-300),
                (corner[low[0], high[1]] - first) / max(high[1] - low[1], 1e-300),
            ]
        )
        size = max(abs(value) for value in corner.values()) or 1.0
        rows = np.vstack([slopes / (1e-300 + np.abs(slopes).max()), -slopes / (1e-300 + np.abs(slopes).max())])
        limits = np.concatenate([high - here, here - low]) / (1e-300 + np.abs(slopes).max())
        rows = np.vstack([rows, rise @ slopes / size])
        limits = np.append(limits, (-first - rise @ (here - low)) / size)
        found = linprog(np.ones(rooms.size), A_ub=rows, b_ub=limits, bounds=[(0, max(0.0, r)) for r in rooms])
        return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize("tail", [1.0, 0.4])
def test_between_which_forecasts_an_order_is_good_enough(tail: float) -> None:
    """Orders of one product under CVaR: the bands hold the forecasts at which the order costs no more, no others."""
    rng, risk, same = np.random.default_rng(11), wh.CVaR(1.0 - tail), np.full(6, 1 / 6)
    bounded = 0
    for _ in range(60):
        residuals = np.sort(rng.normal(size=6).round(2)) * rng.choice([0.1, 1.0])

        def paid(order: float, forecast: float, residuals: np.ndarray = residuals) -> float:
            over = order - forecast - residuals
            return risk.of(np.where(over > 0.0, over, -3.0 * over), same)

        pricing = BandPricing(paid, None, 0.0, (residuals[0], residuals[-1]))
        order, other = rng.uniform(4.0, 8.0, 2).round(2)
        tau = float(rng.choice([0.0, 0.3]))
        found = pricing.bands(np.array([order, 1.0, 0.0]), np.array([other, 1.0, 0.0]), tau)
        forecasts = np.linspace(0.0, 12.0, 241)
        over = np.array([paid(order, at) - paid(other, at) - tau for at in forecasts])
        clear = np.abs(over) > 1e-9
        inside = np.any([(low <= forecasts) & (forecasts <= high) for low, high in found] or [over < -np.inf], axis=0)
        assert (inside == (over <= 0.0))[clear].all()
        bounded += 0 < inside.sum() < inside.size
    assert bounded > 20


def test_where_a_curve_is_at_most_a_limit() -> None:
    """Curves through whole numbers, whose corners often lie at the limit: inside the intervals and nowhere else."""
    rng = np.random.default_rng(5)
    x = np.arange(-60, 61) / 4.0
    for _ in range(300):
        at = np.sort(rng.choice(12, int(rng.integers(1, 5)), replace=False)).astype(float)
        curve = Broken(
            at, rng.integers(-3, 4, at.size).astype(float), float(rng.integers(-2, 3)), float(rng.integers(-2, 3))
        )
        limit = float(rng.integers(-3, 4))
        found = curve.at_most(limit)
        inside = np.any(
            [(low - 1e-9 <= x) & (x <= high + 1e-9) for low, high in found] or [np.zeros(x.size, bool)], axis=0
        )
        assert (inside == (curve(x) <= limit + 1e-9)).all()


def test_orders_of_several_products_by_lines() -> None:
    """What is found is as near as the least of all linear programs; no context drawn at random is nearer."""
    statuses = []
    for seed in range(30):
        case = OrderCase(seed)
        # With a budget, better plans become rivals one by one, which may take long.
        few = case.kind == "relative" or case.budget is None
        how = {} if few else {"time_limit": 0.5}
        why = case.policy.explain(case.start, instead=case.instead, kind=case.kind, **how)
        statuses.append(why.status)
        if few:
            assert why.status in ("optimal", "none", "already"), seed
            assert why.bound == pytest.approx(why.distance)
            wanted = 0.0 if case.excess(case.forecast(case.X.iloc[[0]])[0]) <= 0 else case.nearest()
            assert why.distance == pytest.approx(wanted, abs=3e-6, rel=1e-5), (seed, why.status)
        drawn = {name: case.rng.uniform(case.X[name].min(), case.X[name].max(), 80) for name in case.numbers}
        rows = pd.DataFrame(drawn)
        if "on" in case.X:
            rows["on"] = case.rng.random(80) < 0.5
        nearer = rows[case.distances(rows) < why.bound - 1e-5]
        if len(nearer):
            assert min(case.excess(one) for one in case.forecast(nearer[case.X.columns])) > 0, seed
    assert statuses.count("optimal") >= 10
    assert "none" in statuses


def test_a_search_that_is_stopped_says_how_far_it_came() -> None:
    """A limit on the programs, or a caller who says stop: a bound, and what was found if anything was."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 6))
    Y = 20 + X @ rng.normal(size=(6, 3)) * 8 + rng.normal(size=(200, 3))
    policy = wh.Policy(wh.Newsvendor([1, 2, 1], [3, 3, 5]), wh.ForecastWeights("linear")).fit(X, Y)
    more = policy.decide(X[1]) * [1.05, 1.0, 1.05]
    whole = policy.explain(X[0], instead=more)
    assert whole.status == "optimal"
    assert whole.cost_after.alternative <= whole.cost_after.decision + whole.tolerance + 1e-12
    stopped = policy.explain(X[0], instead=more, node_limit=2)
    assert stopped.status in ("time_limit", "optimal")
    assert stopped.bound <= whole.distance + 1e-9
    assert policy.explain(X[0], instead=more, on_progress=lambda progress: False).status == "interrupted"


def test_hulls_lie_below_their_curves_and_touch_them() -> None:
    """Lines below a random curve everywhere in a range, and equal to it at both ends."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        at = np.sort(rng.random(int(rng.integers(2, 60))))
        curve = Broken(at, rng.normal(size=at.size).cumsum(), float(rng.normal()), float(rng.normal()))
        low, high = np.sort(rng.uniform(-0.3, 1.3, 2))
        lines = np.array(list(hull(curve, low, high)))
        x = np.linspace(low, high, 200)
        below = (lines[:, :1] * x + lines[:, 1:]).max(axis=0)
        assert (below <= curve(x) + 1e-9).all()
        ends = np.array([low, high])
        np.testing.assert_allclose((lines[:, :1] * ends + lines[:, 1:]).max(axis=0), curve(ends), atol=1e-9)
