"""Routes through, using or avoiding places: a network with layers, one for what is still to be visited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import numpy as np
from scipy import sparse

from whence.errors import InputError, SolverError
from whence.problems.base import Routes
from whence.problems.plan_sets import PlanSet
from whence.problems.routes import NodeNames, stops
from whence.risk import Risk, known_tail
from whence.util.aliases import Floats
from whence.util.json import quoted, some, to_plain
from whence.util.linear_program import check_time
from whence.util.text import listed

if TYPE_CHECKING:
    from whence.problems.linear import Polytope
    from whence.problems.shortest_path import ShortestPath

How = Literal["through", "using", "avoiding"]
#: Places that a route may be asked to visit: every one doubles the network.
MOST_VISITS = 8
#: Simple routes of a network with cycles that are tried for one that visits all it has to.
TRIED_ROUTES = 20_000
#: Beginnings of routes of a network with cycles that are looked at to list all routes of a set.
TRIED_STEPS = 200_000


@dataclass(frozen=True)
class Asked:
    """One restriction: how, what was named, and the edges that it is about (any one of them, or none of them)."""

    how: How
    item: Any
    label: str
    edges: frozenset[int]


def restricted(routes: Any, how: How, items: Sequence[Any]) -> RouteSet:
    """The routes of a problem, or of a set, that also go through, use or avoid these nodes, edges and streets."""
    problem = routes.problem if isinstance(routes, RouteSet) else routes
    before = routes.asked if isinstance(routes, RouteSet) else ()
    if not items:
        raise InputError(f"{how!r} must be given at least one node, edge or street. Got none.")
    found = [_resolved(problem, how, item) for item in items]
    return RouteSet(problem, (*before, *(one for one in found if one is not None)))


class Network:
    """A problem whose plans are routes, or a set of them, of which some can be asked for."""

    def through(self, *places: Any) -> RouteSet:
        """The routes through these nodes or streets (the edges whose attribute ``name`` it is), as a set of plans.

        Examples
        --------
        >>> import whence as wh
        >>> wh.ShortestPath.grid(3).through((0, 1), (1, 2)).words
        'a route through (0, 1) and (1, 2)'
        """
        return restricted(self, "through", places)

    def using(self, *places: Any) -> RouteSet:
        """Return the routes that use these edges, or some edge of each of these streets, as a set of plans."""
        return restricted(self, "using", places)

    def avoiding(self, *places: Any) -> RouteSet:
        """Return the routes that avoid these nodes, edges and streets, as a set of plans."""
        return restricted(self, "avoiding", places)


class RouteSet(PlanSet, Network):
    """Routes that go through, use or avoid what was asked for.

    Examples
    --------
    >>> import whence as wh
    >>> grid = wh.ShortestPath.grid(3)
    >>> routes = grid.through((0, 2)).avoiding((1, 2))
    Traceback (most recent call last):
    ...
    whence.errors.InputError: No route from (0, 0) to (2, 2) goes through (0, 2), avoiding (1, 2).
    >>> routes = grid.through((0, 1)).avoiding((1, 1))
    >>> routes.words
    'a route through (0, 1), avoiding (1, 1)'
    >>> routes.plans(10)
    [[(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]]
    """

    problem: ShortestPath

    def __init__(self, problem: ShortestPath, asked: Sequence[Asked] = ()) -> None:
        super().__init__(problem)
        self.asked = tuple(asked)
        self._layered()

    @property
    def words(self) -> str:
        return f"a route {self._manner()}" if self.asked else "a route"

    def as_plain(self) -> dict[str, Any]:
        found: dict[str, list[Any]] = {}
        for one in self.asked:
            found.setdefault(one.how, []).append(to_plain(one.item))
        return found

    def refusal(self, decision: Any) -> str | None:
        taken = set(np.flatnonzero(self.problem.vector(decision)).tolist())
        for one in self.asked:
            if one.how == "avoiding" and taken & one.edges:
                return f"The route does not avoid {one.label}."
            if one.how != "avoiding" and not taken & one.edges:
                return f"The route does not go through {one.label}."
        return None

    def solve(self, Y: Floats, weights: Floats, risk: Risk) -> list[Any]:
        """Return nodes of the route of the set that minimises `risk` of its cost."""
        inner, edges = self._layered()
        y = self.problem.cost_rows(Y)
        route = [node for node, _ in inner.solve(y[:, edges], weights, risk)]
        if len(set(route)) == len(route):
            return route
        # Layers forget where a route has been: with cycles the cheapest way may come back to a node.
        if known_tail(risk, "RouteSet.solve") is not None:
            raise SolverError(
                f"The CVaR of {self.words} cannot be minimised on a graph with cycles where the best way would visit a "
                "node twice."
            )
        mean = np.asarray(weights, dtype=np.float64) @ y
        if mean.min(initial=0.0) < 0.0:
            raise SolverError(
                f"The cheapest of {self.words} cannot be found on a graph with cycles and negative costs."
            )
        found = next(self._routes_of(mean, self._visits()[1]), None)
        if found is None:
            raise SolverError(f"The cheapest of {self.words} was not among the {TRIED_ROUTES} cheapest routes.")
        return found

    def plans(self, limit: int) -> list[list[Any]] | None:
        inner, _ = self._layered()
        network = inner._network()
        if network.acyclic:
            if network.count() > limit:
                return None
            return [[node for node, _ in inner._nodes(network, route)] for route in network.routes()]
        return self._every_simple(limit)

    def polytope(self) -> Polytope:
        """Return what the edges of a route must satisfy, each of which is taken or not."""
        space, (visits, closed) = self.problem.polytope(), self._visits()
        upper = np.minimum(space.upper, 1.0)
        upper[sorted(closed)] = 0.0
        made = np.zeros((len(visits), space.variables))
        for row, edges in zip(made, visits, strict=True):
            row[sorted(edges)] = -1.0
        A_ub = sparse.vstack([space.A_ub, sparse.csr_array(made)], format="csr")
        b_ub = np.append(space.b_ub, -np.ones(len(visits)))
        return replace(space, upper=upper, A_ub=A_ub, b_ub=b_ub, integrality=np.ones(upper.size, dtype=bool))

    def structure(self, Y: Floats) -> Routes | None:
        """Return the routes of the layers; None where there are cycles."""
        inner, edges = self._layered()
        found = inner.structure(Y)
        if found is not None:
            found.arcs[:, 1] = edges[found.arcs[:, 1]]
        return found

    def _manner(self) -> str:
        by_how: dict[str, list[str]] = {}
        for one in self.asked:
            by_how.setdefault(one.how, []).append(one.label)
        return ", ".join(f"{how} {listed(labels)}" for how, labels in by_how.items())

    def _layered(self) -> tuple[ShortestPath, Any]:
        """The network with a layer for every part of what has been visited, and which edge each of its edges is."""
        known = self.__dict__.get("_inner")
        if known is None or known[0] is not self.problem._network():
            known = self._inner = (self.problem._network(), *self._build())
        return known[1], known[2]

    def _build(self) -> tuple[ShortestPath, Any]:
        from whence.problems.shortest_path import ShortestPath

        network = self.problem._network()
        visits, closed = self._visits()
        if len(visits) > MOST_VISITS:
            raise InputError(f"A set of routes can ask for at most {MOST_VISITS} places. Got {len(visits)} instead.")
        full = (1 << len(visits)) - 1
        graph = nx.DiGraph()
        start, end = (network.source, 0), (network.target, full)
        graph.add_nodes_from((start, end))
        number: dict[Any, int] = {}
        ahead = _ahead(network, visits, closed)
        marks = _marks(network, visits)
        open_nodes, seen = [start], {start}
        while open_nodes:
            check_time()
            u, mask = open_nodes.pop()
            for e, v in network.successors[u]:
                after = (v, mask | marks[e])
                # What is missing must still lie ahead: of 2 ** 8 layers most are left out.
                if e in closed or v not in ahead or full & ~after[1] & ~ahead[v]:
                    continue
                graph.add_edge((u, mask), after)
                number[(u, mask), after] = e
                if after not in seen:
                    seen.add(after)
                    open_nodes.append(after)
        if not nx.has_path(graph, start, end):
            raise self._empty()
        names = network.nodes
        told = nx.relabel_nodes(graph, {node: (names[node[0]], node[1]) for node in graph})
        edges = np.array(
            [number[(network.node_number[u[0]], u[1]), (network.node_number[v[0]], v[1])] for u, v in told.edges]
        )
        inner = ShortestPath(told, (names[network.source], 0), (names[network.target], full))
        if not inner._network().acyclic and visits:
            # A way through the layers may come back to a node: somebody has to find one that does not.
            way = [node for node, _ in nx.shortest_path(told, inner.source, inner.target)]
            if len(set(way)) < len(way) and next(islice(self._routes_of(None, closed), 1), None) is None:
                raise self._empty()
        return inner, edges

    def _empty(self) -> InputError:
        ends = f"{self.problem.source} to {self.problem.target}"
        return InputError(f"No route from {ends} goes {self._manner()}.", parameter="instead")

    def _every_simple(self, limit: int) -> list[list[Any]] | None:
        """Every simple route of the set in a network with cycles, those of the fewest edges first; None if too many."""
        network = self.problem._network()
        visits, closed = self._visits()
        full = (1 << len(visits)) - 1
        ahead, marks = _ahead(network, visits, closed), _marks(network, visits)
        found: list[list[int]] = []
        waiting: list[tuple[tuple[int, ...], int]] = [((network.source,), 0)]
        for _ in range(TRIED_STEPS):
            if not waiting:
                routes = sorted(found, key=lambda route: (len(route), route))
                return [[network.nodes[node] for node in route] for route in routes]
            check_time()
            route, mask = waiting.pop()
            for e, v in network.successors[route[-1]]:
                after = mask | marks[e]
                if e in closed or v in route or v not in ahead or full & ~after & ~ahead[v]:
                    continue
                if v != network.target:
                    waiting.append(((*route, v), after))
                elif after == full:
                    found.append([*route, v])
            if len(found) > limit:
                return None
        return None

    def _visits(self) -> tuple[list[frozenset[int]], frozenset[int]]:
        """Return, for each visit that has to be made, the edges that make it; and the edges that must not be used."""
        visits = [one.edges for one in self.asked if one.how != "avoiding"]
        return visits, frozenset[int]().union(*(one.edges for one in self.asked if one.how == "avoiding"))

    def _routes_of(self, mean: Floats | None, closed: frozenset[int]) -> Iterator[list[Any]]:
        """Simple routes of the set, the cheapest first, or those of the fewest edges where nothing is said of costs."""
        network = self.problem._network()
        graph = nx.DiGraph()
        for u, leaving in enumerate(network.successors):
            for e, v in leaving:
                if e not in closed:
                    graph.add_edge(network.nodes[u], network.nodes[v], weight=1.0 if mean is None else float(mean[e]))
        routes = nx.shortest_simple_paths(graph, self.problem.source, self.problem.target, weight="weight")
        for route in islice(routes, TRIED_ROUTES):
            check_time()
            if self.refusal(route) is None:
                yield route


def _marks(network: Any, visits: Sequence[frozenset[int]]) -> list[int]:
    """For every edge: as bits, the visits that it makes."""
    return [sum(1 << i for i, edges in enumerate(visits) if e in edges) for e in range(len(network.edges))]


def _ahead(network: Any, visits: Sequence[frozenset[int]], closed: frozenset[int]) -> dict[int, int]:
    """Of every node from which the target is reached: as bits, the visits that can still be made from there."""
    before: dict[int, list[tuple[int, int]]] = {}
    for u, leaving in enumerate(network.successors):
        for e, v in leaving:
            if e not in closed:
                before.setdefault(v, []).append((u, e))
    reached = _backwards(before, [network.target])
    found = dict.fromkeys(reached, 0)
    for i, edges in enumerate(visits):
        tails = [u for v, entering in before.items() for u, e in entering if e in edges and v in reached]
        for node in _backwards(before, tails) & reached:
            found[node] |= 1 << i
    return found


def _backwards(before: dict[int, list[tuple[int, int]]], nodes: Sequence[int]) -> set[int]:
    """Return all nodes from which one of these is reached."""
    waiting, seen = list(nodes), set(nodes)
    while waiting:
        for u, _ in before.get(waiting.pop(), ()):
            if u not in seen:
                seen.add(u)
                waiting.append(u)
    return seen


def _resolved(problem: ShortestPath, how: How, item: Any) -> Asked | None:
    """Return what `item` names; None where every route goes through it anyway."""
    network = problem._network()
    order = {"through": (_node, _street, _edge), "using": (_edge, _street, _node), "avoiding": (_node, _edge, _street)}
    for look in order[how]:
        found = look(problem, item)
        if found is None:
            continue
        named, label, edges = found
        if look is _node:
            number = network.node_number[named]
            if number in (network.source, network.target):
                if how == "avoiding":
                    raise InputError(f"Every route goes through {label}, so that none avoids it.", parameter=how)
                return None
        return Asked(how, named, label, frozenset(edges))
    streets = sorted({str(data["name"]) for *_, data in problem.graph.edges(data=True) if data.get("name")})
    known = some([*map(str, problem.graph.nodes), *streets])
    raise InputError(f"{how!r} must name nodes, edges or streets among {known}. Got {quoted(item)} instead.")


def _node(problem: ShortestPath, item: Any) -> tuple[Any, str, list[int]] | None:
    found = NodeNames(problem.graph.nodes).find(to_plain(item) if isinstance(item, tuple) else item)
    if found is None:
        return None
    node = found[0]
    edges = [e for e, ends in enumerate(problem._network().edges) if node in ends]
    label = problem.graph.nodes[node].get("name", node)
    return node, str(label), edges


def _edge(problem: ShortestPath, item: Any) -> tuple[Any, str, list[int]] | None:
    ends = stops(item) if isinstance(item, str) else item
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return None
    names = NodeNames(problem.graph.nodes)
    pair = [names.find(to_plain(end) if isinstance(end, tuple) else end) for end in ends]
    if pair[0] is None or pair[1] is None:
        return None
    edge = (pair[0][0], pair[1][0])
    number = problem._network().edge_number.get(edge)
    return None if number is None else (edge, f"{edge[0]} -> {edge[1]}", [number])


def _street(problem: ShortestPath, item: Any) -> tuple[Any, str, list[int]] | None:
    if not isinstance(item, str):
        return None
    wanted = item.strip().casefold()
    named = ((u, v, str(data.get("name", ""))) for u, v, data in problem.graph.edges(data=True))
    found = [(u, v, name) for u, v, name in named if name.casefold() == wanted]
    if not wanted or not found:
        return None
    name, number = found[0][2], problem._network().edge_number
    return name, name, [number[u, v] for u, v, _ in found]
