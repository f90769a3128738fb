"""What was observed in the paper's synthetic experiments: contexts, outcomes, and where the next context comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from whence import CVaR, DecisionProblem, Expectation, Newsvendor, Shipment, ShortestPath
from whence.errors import InputError
from whence.risk import Risk

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class History:
    """Past contexts, what came of them, and how new contexts arise.

    Attributes
    ----------
    problem : DecisionProblem
        What is decided.
    risk : Risk
        What is minimised.
    X, Y : ndarray of shape (n, features), (n, outcomes)
        Past contexts and outcomes, row by row.
    next_contexts : callable
        Given a generator and a number, as many new contexts, drawn independently of each other.
    """

    problem: DecisionProblem
    risk: Risk
    X: Floats
    Y: Floats
    next_contexts: Callable[[np.random.Generator, int], Floats]


def newsvendor(n: int, rng: np.random.Generator, *, products: int = 20, most: float = np.inf) -> History:
    """Demands with a spread that the context drives.

    Two standard normal features; the demand for a product of the first half is normal with mean 3 and standard
    deviation ``exp(x_1)``, truncated at 0, that for one of the second half likewise with ``exp(x_2)``. Product j costs
    j a unit left over and 10 j a unit short; at most 5 units a product can be ordered in total.

    Parameters
    ----------
    n : int
        Observations.
    rng : numpy.random.Generator
        Source of randomness.
    products : int
        Number of products, at least 2.
    most : float
        Largest demand possible. The paper names none; its public code truncates at 100.
    """
    _at_least("products", products, 2)
    if not most > 0:
        raise InputError(f"The 'most' parameter of newsvendor must be a positive number. Got {most!r} instead.")

    def contexts(source: np.random.Generator, count: int) -> Floats:
        return source.standard_normal((count, 2))

    X = contexts(rng, n)
    driver = (np.arange(1, products + 1) > products / 2).astype(np.intp)
    spread = np.exp(X[:, driver])
    Y = stats.truncnorm.rvs(-3.0 / spread, (most - 3.0) / spread, loc=3.0, scale=spread, random_state=rng)
    holding = np.arange(1.0, products + 1.0)
    return History(Newsvendor(holding, 10.0 * holding, budget=5.0 * products), Expectation(), X, Y, contexts)


# The process of Bertsimas and Kallus (2020, EC.6): covariance of the innovations, two autoregressive and two
# moving-average matrices, mean and swing of the demand at twelve locations.
_COVARIANCE = np.array([[1.0, 0.5, 0.0], [0.5, 1.2, 0.5], [0.0, 0.5, 0.8]])
_PHI_1 = np.array([[0.5, -0.9, 0.0], [1.1, -0.7, 0.0], [0.0, 0.0, 0.5]])
_PHI_2 = np.array([[0.0, -0.5, 0.0], [-0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
_THETA_1 = np.array([[0.4, 0.8, 0.0], [-1.1, -0.3, 0.0], [0.0, 0.0, 0.0]])
_THETA_2 = np.array([[0.0, 0.8, 0.0], [-1.1, 0.0, 0.0], [0.0, 0.0, 0.0]])
_LEVEL = 2.5 * np.tile([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], (4, 1))
_SWING = 7.5 * np.array(
    [
        [0.0, -1, -1], [-1, 0, -1], [-1, -1, 0], [0, -1, 1], [-1, 0, 1], [-1, 1, 0],
        [0, 1, -1], [1, 0, -1], [1, -1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0],
    ]
)  # fmt: skip


def shipment(n: int, rng: np.random.Generator) -> History:
    """Demands at twelve locations that follow an ARMA(2,2) process from a zero start.

    A new context is one step of the process beyond the history; several are independent draws of that one step.

    Parameters
    ----------
    n : int
        Observations.
    rng : numpy.random.Generator
        Source of randomness.
    """
    root = np.linalg.cholesky(_COVARIANCE)
    # Two rows of zeros stand for the time before the history.
    X, U = np.zeros((n + 2, 3)), np.zeros((n + 2, 3))
    U[2:] = rng.standard_normal((n, 3)) @ root.T

    def drift(t: int) -> Floats:
        drifted: Floats = _PHI_1 @ X[t - 1] + _PHI_2 @ X[t - 2] + _THETA_1 @ U[t - 1] + _THETA_2 @ U[t - 2]
        return drifted

    for t in range(2, n + 2):
        X[t] = drift(t) + U[t]
    past = X[2:]
    delta, epsilon = rng.standard_normal((2, n, len(_LEVEL)))
    demand = past @ _LEVEL.T + _LEVEL.sum(axis=1) * delta / 4.0 + (past @ _SWING.T) * epsilon
    onwards = drift(n + 2)

    def contexts(source: np.random.Generator, count: int) -> Floats:
        step: Floats = onwards + source.standard_normal((count, 3)) @ root.T
        return step

    return History(Shipment(), Expectation(), past, np.maximum(0.0, demand), contexts)


def shortest_path(n: int, rng: np.random.Generator, *, features: int = 4, width: int = 8) -> History:
    """Edge costs of a square grid, each driven by about half of the features and by noise.

    Features are uniform on [0.5, 1.5]; an edge costs the sum of the features that drive it, divided by the number of
    features, plus uniform noise on [0, 1]. Which features drive which edge is drawn anew for every history.

    Parameters
    ----------
    n : int
        Observations.
    rng : numpy.random.Generator
        Source of randomness.
    features : int
        Dimension of a context.
    width : int
        Nodes a side of the grid.
    """
    _at_least("features", features, 1)
    problem = ShortestPath.grid(width)
    edges = 2 * width * (width - 1)

    def contexts(source: np.random.Generator, count: int) -> Floats:
        return source.uniform(0.5, 1.5, (count, features))

    influence = rng.integers(0, 2, (features, edges))
    X = contexts(rng, n)
    Y = X @ influence / features + rng.uniform(0.0, 1.0, (n, edges))
    return History(problem, Expectation(), X, Y, contexts)


def cvar_shortest_path(
    n: int, rng: np.random.Generator, *, features: int = 4, width: int = 4, alpha: float = 0.8
) -> History:
    """The same grid, smaller, with the CVaR of the route's cost in place of its mean.

    Parameters
    ----------
    n : int
        Observations.
    rng : numpy.random.Generator
        Source of randomness.
    features, width : int
        Dimension of a context, nodes a side.
    alpha : float
        Level of the CVaR.
    """
    mean = shortest_path(n, rng, features=features, width=width)
    return History(mean.problem, CVaR(alpha), mean.X, mean.Y, mean.next_contexts)


#: The four synthetic experiments by name.
PROBLEMS: dict[str, Callable[..., History]] = {
    "newsvendor": newsvendor,
    "shipment": shipment,
    "shortest_path": shortest_path,
    "cvar_shortest_path": cvar_shortest_path,
}


def _at_least(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"The {name!r} parameter must be an int of at least {least}. Got {value!r} instead.")
