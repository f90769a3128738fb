"""Routes of least CVaR, exactly, by bounds from the risk envelope.

CVaR is the largest mean cost among the distributions of its risk envelope (every sample at most ``weight / tail``).
The mean under any one of them is linear in the edges, so its edge costs bound the CVaR of every route from below; the
tail distribution of a route that was evaluated is the one for which the bound of that route is tight.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from whence.errors import InputError
from whence.problems._minimise import check_time
from whence.problems._routes import RouteNetwork
from whence.risk import tail_flow
from whence.util.aliases import Floats

__all__ = ["safest_of", "safest_route"]


# Distributions tried at the root, and how many of the best stay to bound partial routes.
ROOT_ROUNDS = 30
KEPT_BOUNDS = 12
# A listing is cut down to the routes still in question every this many evaluations.
ROUNDS_PER_CUT = 8


def safest_of(incidence: sp.csr_matrix, Y: Floats, weights: Floats, tail: float) -> list[int]:
    """Edges of the route of least CVaR, a row of `incidence` (0/1 by edge); the first of a tie in order of bounds."""
    y, w = _positive(Y, weights)
    lower = incidence @ (_mean(w, tail) @ y)
    best, safest, rounds = np.inf, list[int](), 0
    while lower.size:
        check_time()
        at = int(lower.argmin())
        if lower[at] >= best:
            break
        route = incidence.indices[incidence.indptr[at] : incidence.indptr[at + 1]]
        value, distribution = _tail(y[:, route].sum(axis=1), w, tail)
        if value < best:
            best, safest = value, route.tolist()
        np.maximum(lower, incidence @ (distribution @ y), out=lower)
        lower[at] = np.inf
        rounds += 1
        if rounds % ROUNDS_PER_CUT == 0:
            open_rows = np.flatnonzero(lower < best)
            incidence, lower = incidence[open_rows], lower[open_rows]
    return safest


def safest_route(network: RouteNetwork, Y: Floats, weights: Floats, tail: float) -> list[int]:
    """Edges of a route of least CVaR, by depth-first branch and bound over partial routes."""
    y, w = _positive(Y, weights)
    best, route, costs, remaining = _root(network, y, w, tail)
    if not remaining.size:
        return route
    path: list[int] = []
    on_path = [False] * len(network.nodes)
    on_path[network.source] = True
    stack = [_continuations(network, network.source, np.zeros(len(costs)), costs, remaining)]
    while stack:
        check_time()
        step = next(stack[-1], None)
        if step is None or step[0] >= best:
            stack.pop()
            if path:
                on_path[network.head[path.pop()]] = False
            continue
        _, edge, spent = step
        node = network.head[edge]
        if node == network.target:
            value, _ = _tail(y[:, [*path, edge]].sum(axis=1), w, tail)
            if value < best:
                best, route = value, [*path, edge]
        elif not on_path[node]:
            path.append(edge)
            on_path[node] = True
            stack.append(_continuations(network, node, spent, costs, remaining))
    return route


def _continuations(
    network: RouteNetwork, node: int, spent: Floats, costs: Floats, remaining: Floats
) -> Iterator[tuple[float, int, Floats]]:
    """(bound, edge, costs so far) of every way to go on from `node`, the most promising first."""
    steps = []
    for edge, head in network.successors[node]:
        reached = spent + costs[:, edge]
        steps.append((float((reached + remaining[:, head]).max()), edge, reached))
    steps.sort(key=lambda step: step[:2])
    return iter(steps)


def _root(network: RouteNetwork, y: Floats, w: Floats, tail: float) -> tuple[float, list[int], Floats, Floats]:
    """Best route seen and the strongest bounds: edge costs, and costs to the target, one row per distribution.

    Averages of the tail distributions met approach the envelope's best bound (Frank-Wolfe on a concave function). The
    bounds are empty where they prove the route optimal.
    """
    best, route = np.inf, list[int]()
    bounds: list[tuple[float, Floats, list[float]]] = []
    distribution = _mean(w, tail)
    for rounds in range(ROOT_ROUNDS):
        edge_costs = distribution @ y
        try:
            distance, next_edge = network.to_target(edge_costs)
        except InputError:
            # Only the mean must be free of negative cycles: without this distribution the bounds still hold.
            if rounds == 0:
                raise
            break
        bounds.append((distance[network.source], edge_costs, distance))
        candidate = network.follow(next_edge)
        value, tail_distribution = _tail(y[:, candidate].sum(axis=1), w, tail)
        if value < best:
            best, route = value, candidate
        if max(bound[0] for bound in bounds) >= best:
            return best, route, np.empty((0, 0)), np.empty((0, 0))
        distribution = distribution + (tail_distribution - distribution) * (2.0 / (rounds + 2.0))
    bounds.sort(key=lambda bound: -bound[0])
    kept = bounds[:KEPT_BOUNDS]
    return best, route, np.array([bound[1] for bound in kept]), np.array([bound[2] for bound in kept])


def _positive(Y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    support = np.flatnonzero(weights)
    return Y[support], weights[support]


def _mean(w: Floats, tail: float) -> Floats:
    """The distribution of the envelope that is proportional to the weights, whose sum may be off one by rounding."""
    return w / max(float(w.sum()), tail)


def _tail(costs: Floats, w: Floats, tail: float) -> tuple[float, Floats]:
    """CVaR of `costs` and the distribution of the envelope that attains it."""
    order = np.argsort(-costs, kind="stable")
    distribution = np.empty_like(w)
    distribution[order] = tail_flow(w[order], tail) / tail
    return float(distribution @ costs), distribution
