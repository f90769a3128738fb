"""Worlds whose true costs are known, for ``world.py``: contexts, what follows them, and what is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

import whence as wh
from whence.util.aliases import Floats
from whence.worlds.calibration import excess_there

Draw = Callable[[np.random.Generator, Floats], Floats]


@dataclass(frozen=True)
class World:
    """What is decided, how contexts arise, and what follows them: one outcome for every row."""

    problem: Any
    risk: Any
    contexts: Callable[[np.random.Generator, int], Floats]
    outcomes: Draw
    weights: Callable[[int], Any] = lambda seed: wh.ForestWeights(random_state=seed)
    #: Where noise is the same for both plans whatever they are: the mean outcomes in some contexts, which tell exactly
    #: which plan costs less. Draws would toss a coin where both cost the same.
    mean: Callable[[Floats], Floats] | None = None

    def history(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Past contexts and outcomes."""
        X = self.contexts(rng, n)
        return X, self.outcomes(rng, X)

    def excess(self, why: Any, count: int = 4000) -> float:
        """By how much the alternative really costs more than the decision in the context found, less the tolerance."""
        at = np.asarray(why.context, dtype=np.float64)[None, :]
        return self._excess(why, at, np.random.default_rng(5), count) - why.tolerance

    def _excess(self, why: Any, at: Floats, rng: np.random.Generator, count: int) -> float:
        """By how much the alternative costs more than the decision in a context, which is a row of its own."""
        drawn = self.outcomes(rng, np.repeat(at, count, axis=0)) if self.mean is None else self.mean(at)
        even = np.full(len(drawn), 1.0 / len(drawn))
        mine, decided = (
            self.risk.of(np.asarray(self.problem.costs(plan, drawn)), even) for plan in (why.alternative, why.decision)
        )
        return float(mine - decided)

    def truth(self, why: Any, count: int = 4000) -> bool:
        """Whether the explanation is true as it is asked: better by its margin, or so near to the best plan."""
        at = np.repeat(np.asarray(why.context, dtype=np.float64)[None, :], count, axis=0)
        drawn = self.outcomes(np.random.default_rng(5), at)
        return excess_there(why, self.problem, self.risk, drawn, np.full(count, 1.0 / count)) <= why.tolerance

    def has_true(self, why: Any, count: int = 400) -> bool:
        """Whether the alternative really costs less than the decision somewhere: in one of so many new contexts.

        The one in which it looks best is looked at again with other draws.
        """
        rng = np.random.default_rng(6)
        least = min(self.contexts(rng, count), key=lambda at: self._excess(why, at[None, :], rng, 200))
        return self._excess(why, least[None, :], rng, 4000) < 0.0

    def above_best(self, why: Any, count: int = 4000) -> float:
        """By which share the alternative really costs more than the best plan in the context found."""
        at = np.repeat(np.asarray(why.context, dtype=np.float64)[None, :], count, axis=0)
        drawn, even = self.outcomes(np.random.default_rng(5), at), np.full(count, 1.0 / count)
        plans = why.alternative, self.problem.solve(drawn, even, self.risk)
        mine, least = (float(self.risk.of(np.asarray(self.problem.costs(plan, drawn)), even)) for plan in plans)
        return (mine - least) / least


def _uniform(d: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: rng.random((n, d))


def linear(rng: np.random.Generator, d: int, noise: float, products: int = 4, useful: int | None = None) -> World:
    """Demands whose means are linear in some of the features, with normal noise."""
    slopes = 16.0 * rng.normal(size=(d, products)) / np.sqrt(useful or d)
    if useful is not None:
        slopes[useful:] = 0.0

    def outcomes(source: np.random.Generator, X: Floats) -> Floats:
        return np.maximum(60.0 + (X - 0.5) @ slopes * 2.0 + noise * source.normal(size=(len(X), products)), 0.0)

    return World(wh.Newsvendor(np.ones(products), np.full(products, 3.0)), wh.Expectation(), _uniform(d), outcomes)


def bent(rng: np.random.Generator, d: int, noise: float, products: int = 3) -> World:
    """Demands with waves and steps in the features, whose spread depends on one of them."""
    waves, steps = rng.normal(size=(d, products)), 12.0 * rng.normal(size=(d, products))
    at, phase = rng.uniform(0.3, 0.7, d), rng.uniform(0.0, 2.0, d)

    def outcomes(source: np.random.Generator, X: Floats) -> Floats:
        mean = 60.0 + 12.0 * np.sin(3.0 * X + phase) @ waves / np.sqrt(d) + (at < X) @ steps / np.sqrt(d)
        return np.maximum(mean + noise * (0.4 + 1.2 * X[:, :1]) * source.normal(size=(len(X), products)), 0.0)

    return World(wh.Newsvendor(np.ones(products), np.full(products, 4.0)), wh.Expectation(), _uniform(d), outcomes)


def paper_newsvendor(rng: np.random.Generator) -> World:
    """The paper's newsvendor: the context drives the spread."""
    holding = np.arange(1.0, 21.0)
    driver = (np.arange(1, 21) > 10).astype(np.intp)

    def outcomes(source: np.random.Generator, X: Floats) -> Floats:
        spread = np.exp(X[:, driver])
        return np.asarray(stats.truncnorm.rvs(-3.0 / spread, np.inf, loc=3.0, scale=spread, random_state=source))

    return World(
        wh.Newsvendor(holding, 10.0 * holding, budget=100.0),
        wh.Expectation(),
        lambda source, n: source.standard_normal((n, 2)),
        outcomes,
    )


def path(rng: np.random.Generator, features: int, width: int, risk: Any = None) -> World:
    """The paper's grid: about half of the features drive each edge."""
    influence = rng.integers(0, 2, (features, 2 * width * (width - 1)))

    def outcomes(source: np.random.Generator, X: Floats) -> Floats:
        return X @ influence / features + source.uniform(0.0, 1.0, (len(X), influence.shape[1]))

    # All paths through a grid have as many edges, and the same noise on each.
    return World(
        wh.ShortestPath.grid(width),
        risk or wh.Expectation(),
        lambda source, n: source.uniform(0.5, 1.5, (n, features)),
        outcomes,
        mean=lambda X: X @ influence / features + 0.5,
    )


def shipment(rng: np.random.Generator) -> World:
    """The paper's shipment, with contexts that are drawn independently from about its process."""
    from paper.histories import _COVARIANCE, _LEVEL, _SWING

    root = 1.6 * np.linalg.cholesky(_COVARIANCE)

    def outcomes(source: np.random.Generator, X: Floats) -> Floats:
        delta, epsilon = source.standard_normal((2, len(X), len(_LEVEL)))
        return np.maximum(0.0, X @ _LEVEL.T + _LEVEL.sum(axis=1) * delta / 4.0 + (X @ _SWING.T) * epsilon)

    return World(wh.Shipment(), wh.Expectation(), lambda source, n: source.standard_normal((n, 3)) @ root.T, outcomes)


def _with(world: World, weights: Callable[[int], Any]) -> World:
    return replace(world, weights=weights)


#: By name: observations, and a world from a generator.
CLASSES: dict[str, tuple[int, Callable[[np.random.Generator], World]]] = {
    "paper newsvendor, n=200, d=2": (200, paper_newsvendor),
    "linear, n=100, d=3": (100, lambda rng: linear(rng, 3, 8.0)),
    "linear, n=300, d=6": (300, lambda rng: linear(rng, 6, 8.0)),
    "linear, low noise, n=300, d=6": (300, lambda rng: linear(rng, 6, 3.0)),
    "linear, high noise, n=500, d=4": (500, lambda rng: linear(rng, 4, 20.0)),
    "linear, 12 spurious of 15, n=500": (500, lambda rng: linear(rng, 15, 8.0, useful=3)),
    "linear, n=1500, d=6": (1500, lambda rng: linear(rng, 6, 8.0)),
    "linear, n=3000, d=4": (3000, lambda rng: linear(rng, 4, 8.0)),
    "bent, uneven spread, n=400, d=3": (400, lambda rng: bent(rng, 3, 8.0)),
    "bent, uneven spread, n=1000, d=8": (1000, lambda rng: bent(rng, 8, 8.0)),
    "path 5x5, n=300, d=4": (300, lambda rng: path(rng, 4, 5)),
    "path 5x5, n=1000, d=10": (1000, lambda rng: path(rng, 10, 5)),
    "CVaR path 4x4, n=300, d=4": (300, lambda rng: path(rng, 4, 4, wh.CVaR(0.8))),
    "shipment, n=300, d=3": (300, shipment),
    "neighbours, linear, n=300, d=3": (300, lambda rng: _with(linear(rng, 3, 8.0), lambda seed: wh.KNNWeights(k=20))),
    "decision forest, bent, n=300, d=3": (
        300,
        lambda rng: _with(bent(rng, 3, 8.0), lambda seed: wh.DecisionForest(random_state=seed)),
    ),
    "neighbours, CVaR path 4x4, n=300, d=4": (
        300,
        lambda rng: _with(path(rng, 4, 4, wh.CVaR(0.8)), lambda seed: wh.KNNWeights(k=20)),
    ),
}
