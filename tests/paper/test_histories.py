"""The synthetic experiments follow the distributions that the paper states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from paper.histories import cvar_shortest_path, newsvendor, shipment, shortest_path
from whence.errors import InputError
from whence.problems.newsvendor import Newsvendor
from whence.risk import CVaR, Expectation


def test_newsvendor_sizes_and_costs() -> None:
    """Twenty products by default, product j at holding cost j and backorder cost 10 j, within five units a product."""
    history = newsvendor(30, np.random.default_rng(0))
    problem = history.problem
    assert isinstance(problem, Newsvendor)
    assert history.X.shape == (30, 2)
    assert history.Y.shape == (30, 20)
    assert np.array_equal(np.asarray(problem.holding), np.arange(1, 21))
    assert np.array_equal(np.asarray(problem.backorder), 10 * np.arange(1, 21))
    assert problem.budget == 100
    assert isinstance(history.risk, Expectation)
    assert newsvendor(5, np.random.default_rng(0), products=5).Y.shape == (5, 5)


def test_newsvendor_demands_are_truncated_normal() -> None:
    """Through the stated distribution function, demands become uniform; each half follows its own feature."""
    history = newsvendor(4000, np.random.default_rng(1), products=4)
    spread = np.exp(history.X[:, [0, 0, 1, 1]])
    level = stats.truncnorm.cdf(history.Y, -3 / spread, np.inf, loc=3, scale=spread)
    assert history.Y.min() >= 0
    for product in range(4):
        assert stats.kstest(level[:, product], "uniform").pvalue > 1e-3
    swapped = np.exp(history.X[:, [1, 1, 0, 0]])
    assert stats.kstest(stats.truncnorm.cdf(history.Y, -3 / swapped, np.inf, 3, swapped)[:, 0], "uniform").pvalue < 1e-6


def test_newsvendor_demands_can_have_a_ceiling() -> None:
    """With `most`, no demand exceeds it, as in the public code."""
    assert newsvendor(2000, np.random.default_rng(2)).Y.max() > 10
    assert newsvendor(2000, np.random.default_rng(2), most=10.0).Y.max() <= 10


def test_shipment_contexts_follow_the_process() -> None:
    """Innovations recovered from the contexts by the ARMA recursion have the stated covariance."""
    phi1 = np.array([[0.5, -0.9, 0], [1.1, -0.7, 0], [0, 0, 0.5]])
    phi2 = np.array([[0, -0.5, 0], [-0.5, 0, 0], [0, 0, 0]])
    theta1 = np.array([[0.4, 0.8, 0], [-1.1, -0.3, 0], [0, 0, 0]])
    theta2 = np.array([[0, 0.8, 0], [-1.1, 0, 0], [0, 0, 0]])
    # The moving-average part is not invertible: over many short histories, errors do not pile up.
    starts = [shipment(12, np.random.default_rng(seed)).X for seed in range(1500)]
    innovations = []
    for path in starts:
        past, shock = np.zeros((2, 3)), np.zeros((2, 3))
        for x in path:
            u = x - phi1 @ past[0] - phi2 @ past[1] - theta1 @ shock[0] - theta2 @ shock[1]
            past, shock = np.stack([x, past[0]]), np.stack([u, shock[0]])
            innovations.append(u)
    covariance = np.cov(np.array(innovations).T)
    assert np.allclose(covariance, [[1, 0.5, 0], [0.5, 1.2, 0.5], [0, 0.5, 0.8]], atol=0.05)


def test_shipment_demand_depends_on_the_context() -> None:
    """Given the contexts, demand has the stated mean (where it is never cut at 0) and is never negative."""
    history = shipment(40_000, np.random.default_rng(4))
    assert history.Y.shape == (40_000, 12)
    assert history.Y.min() == 0
    # Location 1: mean 2.5 (.8, .1, .1) x, standard deviation from 2.5 / 4 and 7.5 |x_2 + x_3|.
    mean = 2.5 * history.X @ [0.8, 0.1, 0.1]
    spread = np.hypot(2.5 / 4, 7.5 * (history.X[:, 1] + history.X[:, 2]))
    expected = mean * stats.norm.cdf(mean / spread) + spread * stats.norm.pdf(mean / spread)
    assert abs((history.Y[:, 0] - expected).mean()) < 4 * history.Y[:, 0].std() / 200


def test_shipment_contexts_continue_the_history() -> None:
    """New contexts are independent draws of the one step after the history: a common mean, the innovations' spread."""
    history = shipment(50, np.random.default_rng(5))
    drawn = history.next_contexts(np.random.default_rng(6), 20_000)
    assert np.allclose(np.cov(drawn.T), [[1, 0.5, 0], [0.5, 1.2, 0.5], [0, 0.5, 0.8]], atol=0.05)
    assert np.abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.03
    # The third component is an autoregression by itself, which shows that the step starts from the last context.
    assert abs(drawn[:, 2].mean() - 0.5 * history.X[-1, 2]) < 0.03


def test_path_costs_are_features_and_noise() -> None:
    """A regression of the edge costs on the features finds 0 or 1 / d, about half of each, and noise of mean 1/2."""
    history = shortest_path(3000, np.random.default_rng(7))
    assert history.X.shape == (3000, 4)
    assert history.Y.shape == (3000, 112)
    assert history.X.min() >= 0.5
    assert history.X.max() <= 1.5
    design = np.column_stack([np.ones(3000), history.X])
    found = np.linalg.lstsq(design, history.Y, rcond=None)[0]
    influence = 4 * found[1:]
    assert np.abs(influence - np.round(influence)).max() < 0.35
    assert set(np.round(influence).ravel()) == {0.0, 1.0}
    assert abs(np.round(influence).mean() - 0.5) < 0.1
    noise = history.Y - design[:, 1:] @ np.round(influence) / 4
    assert -1e-9 <= noise.min() < noise.max() <= 1 + 1e-9
    assert abs(noise.mean() - 0.5) < 0.01


def test_every_path_history_has_its_own_influence() -> None:
    """Which features drive which edge is drawn for every history."""
    first, second = (shortest_path(3000, np.random.default_rng(seed), width=2) for seed in (0, 1))
    slopes = [np.linalg.lstsq(h.X - 1, h.Y - h.Y.mean(axis=0), rcond=None)[0] for h in (first, second)]
    assert not np.array_equal(np.round(4 * slopes[0]), np.round(4 * slopes[1]))


def test_cvar_path_is_the_smaller_grid() -> None:
    """CVaR at 0.8 on a grid of width 4 by default; dimension, width and level can be chosen."""
    history = cvar_shortest_path(20, np.random.default_rng(8))
    assert history.Y.shape == (20, 24)
    assert isinstance(history.risk, CVaR)
    assert history.risk.alpha == 0.8
    other = cvar_shortest_path(20, np.random.default_rng(8), features=9, width=3, alpha=0.5)
    assert (other.X.shape, other.Y.shape) == ((20, 9), (20, 12))


@pytest.mark.parametrize(
    ("draw", "sizes", "message"),
    [
        (newsvendor, {"products": 1}, "'products' parameter must be an int of at least 2. Got 1"),
        (newsvendor, {"most": 0.0}, "'most' parameter of newsvendor must be a positive number"),
        (shortest_path, {"features": 0}, "'features' parameter must be an int of at least 1. Got 0"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(draw: object, sizes: dict[str, float], message: str) -> None:
    """The error names the size and what came."""
    with pytest.raises(InputError, match=message):
        draw(10, np.random.default_rng(0), **sizes)  # type: ignore[operator]
