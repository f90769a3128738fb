"""Routes through a network whose edge costs are uncertain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy import sparse
from sklearn.base import BaseEstimator

from whence._core import RouteCosts
from whence.checks import whole
from whence.errors import InputError
from whence.problems.base import DecisionProblem, Routes, check_outcomes, check_samples, cost_unit_of
from whence.problems.linear import Polytope
from whence.problems.plan_text import PlanEditor, ShownPlans, check_feasible, network_editor, route_map
from whence.problems.route_sets import Network, RouteSet
from whence.problems.routes import RouteNetwork, read_route, route_from_plain, stops
from whence.risk import Risk, known_tail, tail_flow
from whence.util.aliases import Floats
from whence.util.json import to_plain
from whence.util.linear_program import check_time

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
    """Return edges of a route of least CVaR, by depth-first branch and bound over partial routes."""
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
    """Return CVaR of `costs` and the distribution of the envelope that attains it."""
    order = np.argsort(-costs, kind="stable")
    distribution = np.empty_like(w)
    distribution[order] = tail_flow(w[order], tail) / tail
    return float(distribution @ costs), distribution


# Up to here every route of an acyclic graph is listed once for CVaR; beyond, partial routes are searched.
LISTED_ROUTES = 20_000


class ShortestPath(BaseEstimator, DecisionProblem, Network):  # type: ignore[misc]
    """Cheapest route from one node to another, in expectation or in the tail.

    A plan is a list of nodes. A list of edges ``[(u, v), ...]`` or a 0/1 array with one entry per edge is accepted
    wherever a plan is. Routes visit no node twice.

    Expected cost is minimised by dynamic programming on an acyclic graph, by Dijkstra or Bellman-Ford otherwise; CVaR
    exactly by bounds from its risk envelope. Costs may be negative as long as no cycle has a negative weighted mean.

    Parameters
    ----------
    graph : networkx.DiGraph
        The network. Columns of Y are the edges in the order of ``graph.edges``, which groups edges by their tail and
        need not be the order in which they were added. Do not change the graph afterwards.
    source, target : hashable
        First and last node of every route.
    cost_unit : str
        Unit of the costs, such as "min", as texts and charts show it; "" for none.

    Examples
    --------
    >>> import networkx as nx
    >>> from whence.risk import CVaR, Expectation
    >>> graph = nx.DiGraph([("home", "bridge"), ("home", "tunnel"), ("bridge", "work"), ("tunnel", "work")])
    >>> problem = ShortestPath(graph, "home", "work")
    >>> list(problem.parts())
    ['home -> bridge', 'home -> tunnel', 'bridge -> work', 'tunnel -> work']
    >>> Y = np.array([[5.0, 1.0, 5.0, 1.0], [5.0, 9.0, 5.0, 9.0]])
    >>> problem.solve(Y, np.array([0.6, 0.4]), Expectation())
    ['home', 'tunnel', 'work']
    >>> problem.solve(Y, np.array([0.6, 0.4]), CVaR(0.5))
    ['home', 'bridge', 'work']
    >>> problem.check(["home", "work"])
    'The route does not exist: there is no edge home -> work.'
    """

    def __init__(self, graph: Any, source: Hashable, target: Hashable, cost_unit: str = "") -> None:
        self.graph = graph
        self.source = source
        self.target = target
        self.cost_unit = cost_unit
        cost_unit_of(self)
        self._network()

    @classmethod
    def grid(cls, width: int) -> ShortestPath:
        """Return routes over a square grid, right and down, from its first corner to the opposite one.

        Parameters
        ----------
        width : int
            Nodes per side, at least 2. Nodes are ``(row, column)``; there are ``2 * width * (width - 1)`` edges.

        Examples
        --------
        >>> len(ShortestPath.grid(4).parts())
        24
        """
        whole(2, wanted="an int of at least 2").check("width", width, "ShortestPath.grid")
        graph = nx.DiGraph()
        for row in range(width):
            for column in range(width):
                if column + 1 < width:
                    graph.add_edge((row, column), (row, column + 1))
                if row + 1 < width:
                    graph.add_edge((row, column), (row + 1, column))
        return cls(graph, (0, 0), (int(width) - 1, int(width) - 1))

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> list[Any]:
        """Return nodes of a route that minimises `risk` of its cost when row i of `Y` has weight ``weights[i]``."""
        network = self._network()
        y, w = check_samples(Y, weights, len(network.edges), "ShortestPath.solve")
        tail = known_tail(risk, "ShortestPath.solve")
        if tail is None:
            route = network.cheapest(w @ y)
        else:
            listed = network.listing(LISTED_ROUTES)
            route = safest_route(network, y, w, tail) if listed is None else safest_of(listed, y, w, tail)
        return self._nodes(network, route)

    def least_costs(self, Y: Floats, risk: Risk) -> RouteCosts | None:
        """Return the costs of cheapest routes, under expected cost and in a graph without cycles."""
        routes = self.structure(Y) if known_tail(risk, "ShortestPath") is None else None
        return None if routes is None else RouteCosts(np.ascontiguousarray(self.cost_rows(Y)), routes.network())

    def outcome_columns(self) -> int:
        return len(self._network().edges)

    def costs(self, decision: Any, Y: Floats) -> Floats:
        total: Floats = self.cost_rows(Y)[:, self._route(decision)].sum(axis=1)
        return total

    def linear_costs(self, decision: Any) -> tuple[Floats, float]:
        """Return the edges of a route as 0 and 1, whose costs add up to its own, and no constant."""
        return self.vector(decision), 0.0

    def cost_rows(self, Y: Floats) -> Floats:
        """Cost of every edge, one row per row of `Y`: a route costs their product with its :meth:`vector`."""
        return check_outcomes(Y, self.outcome_columns(), "ShortestPath")

    def polytope(self) -> Polytope:
        """Return the unit flows from source to target, whose corners are the routes of an acyclic graph.

        Refused where routes can run into a cycle: flows around it are no part of a route.
        """
        network = self._network()
        if not network.acyclic:
            raise InputError(
                "method='dual' needs a graph without cycles between source and target, where unit flows are routes: "
                "use 'iterative'."
            )
        arcs = [(u, e, v) for u, leaving in enumerate(network.successors) for e, v in leaving]
        tails, used, heads = np.array(arcs).T
        shape = (len(network.nodes), len(network.edges))
        leaving, entering = (sparse.csr_array((np.ones(used.size), (at, used)), shape=shape) for at in (tails, heads))
        supply = np.zeros(shape[0])
        supply[network.source], supply[network.target] = 1.0, -1.0
        # Without cycles no edge can carry more than the whole flow: a bound of 1 would only add multipliers.
        upper = np.zeros(shape[1])
        upper[used] = np.inf
        return Polytope(
            A_ub=sparse.csr_array((0, shape[1])),
            b_ub=np.zeros(0),
            A_eq=sparse.csr_array(leaving - entering),
            b_eq=supply,
            lower=np.zeros(shape[1]),
            upper=upper,
            integrality=np.zeros(shape[1], dtype=np.bool_),
        )

    def polytope_of_plans(self) -> Polytope:
        """Return the flows in which every edge is taken or not."""
        return RouteSet(self).polytope()

    def structure(self, Y: Floats) -> Routes | None:
        """Return all routes, where no edge leads into a cycle."""
        network = self._network()
        if not network.acyclic:
            return None
        arcs = np.array(network.backwards, dtype=np.int32)
        return Routes(arcs, len(network.nodes), network.source, network.target, Y)

    def plans(self, limit: int) -> list[list[Any]] | None:
        return RouteSet(self).plans(limit)

    def check(self, decision: Any) -> str | None:
        """Return None where `decision` is a route of the graph, otherwise one sentence, with the missing hop named."""
        route = read_route(self._network(), decision)
        return route if isinstance(route, str) else None

    def vector(self, decision: Any) -> Floats:
        """Return `decision` as a 0/1 array, one entry per edge in the order of ``graph.edges``."""
        chosen = np.zeros(len(self._network().edges))
        chosen[self._route(decision)] = 1.0
        return chosen

    def parts(self, outcomes: Sequence[str] = ()) -> list[str]:
        """Return names of the edges, ``"u -> v"``."""
        return [f"{u} -> {v}" for u, v in self._network().edges]

    def describe(self, decision: Any, outcomes: Sequence[str] = ()) -> str:
        return " → ".join(map(str, self.nodes(decision)))

    def to_plain(self, plan: Any) -> Any:
        """Return the nodes of the route as a list; those that are tuples as lists.

        Examples
        --------
        >>> ShortestPath.grid(2).to_plain([((0, 0), (0, 1)), ((0, 1), (1, 1))])
        [[0, 0], [0, 1], [1, 1]]
        """
        return to_plain(self.nodes(plan))

    def from_plain(self, value: Any, outcomes: Sequence[str] = ()) -> list[Any]:
        """Return the nodes of the route that `value`, as read from JSON, stands for.

        It is a list of nodes, a list of edges, a list with 0 or 1 per edge, or a dict from the names of edges to 0 or
        1; a list stands for a node that is a tuple, and a string for the node whose ``str`` it is.

        Examples
        --------
        >>> ShortestPath.grid(2).from_plain([[0, 0], "(0, 1)", [1, 1]])
        [(0, 0), (0, 1), (1, 1)]
        """
        if isinstance(value, Mapping):
            return self.nodes(super().from_plain(value))
        route = route_from_plain(self.graph.nodes, value)
        check_feasible(self, route)
        return self.nodes(route)

    def plain_from_text(self, text: str, number: Callable[[str], float]) -> list[str]:
        """Return the stops of a route: ``"A > B > C"``, or with commas between them."""
        return stops(text)

    def plain_from_cells(self, cells: pd.DataFrame, number: Callable[[str], float]) -> Any:
        """Return the stops of a route, one per row, or 0 or 1 by the names of the edges."""
        return cells.iloc[:, 0].tolist() if cells.shape[1] == 1 else super().plain_from_cells(cells, number)

    def shown(self, decision: Any, alternative: Any, outcomes: Sequence[str] = ()) -> ShownPlans:
        """Return both routes as lists of nodes, with their map where the places of the nodes are known."""
        first, second = self.nodes(decision), self.nodes(alternative)
        return ShownPlans("route", first, second, map=route_map(self.graph, first, second))

    def editor(self, Y: Floats, outcomes: Sequence[str], plans: Sequence[Any]) -> PlanEditor:
        return network_editor(self.graph, self.source, self.target)

    def nodes(self, plan: Any) -> list[Any]:
        """Return the nodes of a route, in whatever form it is given."""
        return self._nodes(self._network(), self._route(plan))

    def _nodes(self, network: RouteNetwork, route: list[int]) -> list[Any]:
        return [network.nodes[network.source], *(network.edges[e][1] for e in route)]

    def _route(self, decision: Any) -> list[int]:
        route = read_route(self._network(), decision)
        if isinstance(route, str):
            raise InputError(f"The 'decision' argument of ShortestPath must be a route of the graph. {route}")
        return route

    def _network(self) -> RouteNetwork:
        """Return the graph as the solvers see it, read again where `set_params` has changed it."""
        derived = self.__dict__.get("_derived")
        if derived is None or derived[0] is not self.graph or derived[1:3] != (self.source, self.target):
            derived = (self.graph, self.source, self.target, RouteNetwork(self.graph, self.source, self.target))
            self._derived = derived
        return derived[3]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_derived", None)
        return state
