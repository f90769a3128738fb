"""The part of a directed graph that routes from source to target can use, and its cheapest routes."""

from __future__ import annotations

import heapq
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from whence.errors import InputError, InputTypeError, argument_error, parameter_error
from whence.problems.plan_text import finite_quantity
from whence.util.aliases import Floats
from whence.util.json import quoted, some

# Bellman-Ford takes an improvement below this share of the largest edge cost for rounding, not for a negative cycle.
ROUNDING = 1e-12


class RouteNetwork:
    """Source-to-target routes of a directed graph, with nodes and edges as integers.

    Edge numbers follow ``graph.edges``. Routes visit no node twice, so edges into the source, out of the target, from
    a node to itself, or between nodes that no route passes are left out of `successors`. The graph is read once, here.
    """

    def __init__(self, graph: Any, source: Hashable, target: Hashable) -> None:
        _check_graph(graph, source, target)
        self.nodes: list[Any] = list(graph.nodes)
        self.node_number: dict[Any, int] = {node: i for i, node in enumerate(self.nodes)}
        self.edges: list[tuple[Any, Any]] = list(graph.edges)
        self.edge_number: dict[tuple[Any, Any], int] = {edge: e for e, edge in enumerate(self.edges)}
        self.head: list[int] = [self.node_number[v] for _, v in self.edges]
        self.source: int = self.node_number[source]
        self.target: int = self.node_number[target]
        useful = _useful(graph, source, target)
        self.successors: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        self._predecessors: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for e, (tail, head) in enumerate(self.edges):
            if useful.has_edge(tail, head):
                u, v = self.node_number[tail], self.node_number[head]
                self.successors[u].append((e, v))
                self._predecessors[v].append((e, u))
        self._used = np.array([e for arcs in self.successors for e, _ in arcs])
        self.acyclic: bool = nx.is_directed_acyclic_graph(useful)
        order = [self.node_number[node] for node in nx.topological_sort(useful)][::-1] if self.acyclic else []
        # Flat, in the order in which dynamic programming needs the arcs: nested loops take twice as long.
        self.backwards = [(u, e, v) for u in order for e, v in self.successors[u]]
        self._listing: sp.csr_matrix | None = None

    def cheapest(self, costs: Floats) -> list[int]:
        """Return edges of the route with the smallest sum of `costs`, one cost per edge.

        Among equally cheap continuations the edge that comes first in ``graph.edges`` is taken on an acyclic graph.
        """
        return self.follow(self.to_target(costs)[1])

    def follow(self, next_edge: list[int]) -> list[int]:
        """Return edges of the route that leaves each node by its entry in `next_edge`."""
        node, route = self.source, []
        while node != self.target:
            route.append(next_edge[node])
            node = self.head[route[-1]]
        return route

    def to_target(self, costs: Floats) -> tuple[list[float], list[int]]:
        """Return the smallest cost from every node to the target, and the edge by which to leave (-1: none).

        Dynamic programming on an acyclic graph, Dijkstra on costs that are nowhere negative, Bellman-Ford otherwise,
        which refuses a cycle of negative cost.
        """
        if self.acyclic:
            return self._dynamic_programming(costs.tolist())
        used = costs[self._used]
        if used.min() >= 0.0:
            return self._dijkstra(costs.tolist())
        return self._bellman_ford(costs.tolist(), ROUNDING * float(np.abs(used).max()))

    def count(self) -> int:
        """Return the number of routes of an acyclic graph."""
        routes = [0] * len(self.nodes)
        routes[self.target] = 1
        for u, _, v in self.backwards:
            routes[u] += routes[v]
        return routes[self.source]

    def routes(self) -> Iterator[list[int]]:
        """Yield every route of an acyclic graph, as edges, in lexicographic order of `successors`."""
        route: list[int] = []
        stack = [iter(self.successors[self.source])]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                if route:
                    route.pop()
                continue
            route.append(step[0])
            if step[1] == self.target:
                yield list(route)
                route.pop()
            else:
                stack.append(iter(self.successors[step[1]]))

    def listing(self, limit: int) -> sp.csr_matrix | None:
        """Return every route as a row of a 0/1 matrix by edges; None for a cyclic graph or more routes than `limit`."""
        if self._listing is None and self.acyclic and self.count() <= limit:
            routes = list(self.routes())
            ends = np.cumsum([0, *(len(route) for route in routes)])
            edges = np.concatenate([np.asarray(route, dtype=np.int32) for route in routes])
            self._listing = sp.csr_matrix((np.ones(edges.size), edges, ends), shape=(len(routes), len(self.edges)))
        return self._listing

    def _start(self) -> tuple[list[float], list[int]]:
        """Return distances and edges as `to_target` returns them, before any edge was looked at."""
        distance = [float("inf")] * len(self.nodes)
        distance[self.target] = 0.0
        return distance, [-1] * len(self.nodes)

    def _dynamic_programming(self, costs: list[float]) -> tuple[list[float], list[int]]:
        distance, next_edge = self._start()
        for u, e, v in self.backwards:
            through = costs[e] + distance[v]
            if through < distance[u]:
                distance[u] = through
                next_edge[u] = e
        return distance, next_edge

    def _dijkstra(self, costs: list[float]) -> tuple[list[float], list[int]]:
        distance, next_edge = self._start()
        heap = [(0.0, self.target)]
        while heap:
            reached, v = heapq.heappop(heap)
            if reached > distance[v]:
                continue
            for e, u in self._predecessors[v]:
                through = costs[e] + reached
                if through < distance[u]:
                    distance[u], next_edge[u] = through, e
                    heapq.heappush(heap, (through, u))
        return distance, next_edge

    def _bellman_ford(self, costs: list[float], rounding: float) -> tuple[list[float], list[int]]:
        distance, next_edge = self._start()
        sweeps, improved = 0, True
        while improved:
            improved = False
            for u, arcs in enumerate(self.successors):
                for e, v in arcs:
                    if costs[e] + distance[v] < distance[u] - rounding:
                        distance[u], next_edge[u], improved = costs[e] + distance[v], e, True
            sweeps += 1
            if sweeps >= len(self.nodes):
                self._refuse_cycle(next_edge, costs)
        return distance, next_edge

    def _refuse_cycle(self, next_edge: list[int], costs: list[float]) -> None:
        """Raise where `next_edge` runs in a circle, which it does only around a negative cycle."""
        chosen = nx.DiGraph((node, self.head[e]) for node, e in enumerate(next_edge) if e >= 0)
        with suppress(nx.NetworkXNoCycle):
            cycle = [node for node, _ in nx.find_cycle(chosen)]
            names = " -> ".join(str(self.nodes[node]) for node in [*cycle, cycle[0]])
            got = f"{sum(costs[next_edge[node]] for node in cycle):g} on {names}"
            raise argument_error("ShortestPath", "Y", "give every cycle a weighted mean cost of at least 0", got)


def _check_graph(graph: Any, source: Hashable, target: Hashable) -> None:
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise parameter_error("ShortestPath", "graph", "be a networkx DiGraph", type(graph).__name__, InputTypeError)
    for name, node in (("source", source), ("target", target)):
        if node not in graph:
            raise parameter_error("ShortestPath", name, "be a node of the graph", repr(node))
    if source == target:
        raise parameter_error("ShortestPath", "target", "differ from 'source'", f"{target!r} for both")


def _useful(graph: Any, source: Hashable, target: Hashable) -> nx.DiGraph:
    """Return the edges that some route may take."""
    useful = nx.DiGraph((u, v) for u, v in graph.edges if u != v and v != source and u != target)
    useful.add_nodes_from((source, target))
    reached = nx.descendants(useful, source)
    if target not in reached:
        raise parameter_error("ShortestPath", "graph", f"have a path from {source} to {target}", "a graph without one")
    between = (reached | {source}) & (nx.ancestors(useful, target) | {target})
    return useful.subgraph(between).copy()


_ARROW = re.compile(r"\s*(?:->|→|>)\s*")

# A solver's 0/1 values may be this far from 0 or 1.
INTEGRALITY = 1e-6


def read_route(network: RouteNetwork, plan: Any) -> list[int] | str:
    """Return edge numbers of `plan`, or one sentence that says why it is no route from source to target.

    A sequence that holds a node of the graph is read as nodes, any other sequence of pairs as edges, and a numeric
    array with one entry per edge, all of them 0 or 1, as an edge vector.
    """
    if isinstance(plan, str | bytes) or not isinstance(plan, Iterable):
        return f"A route must be a list of nodes, a list of edges or a 0/1 edge vector, not {plan!r}."
    if not isinstance(plan, list | tuple):
        array = np.asarray(plan if hasattr(plan, "__array__") else list(plan))
        if array.ndim == 1 and array.dtype.kind in "biuf" and _looks_like_vector(network, array):
            return _read_vector(network, array)
        plan = array.tolist()
    entries = [_hashable(entry) for entry in plan]
    if not entries:
        return "The route is empty."
    if any(_is_node(network, entry) for entry in entries):
        return _read_nodes(network, entries)
    if all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
        return _read_edges(network, entries)
    if all(isinstance(entry, bool | int | float | np.number) for entry in entries):
        numbers = np.asarray(entries, dtype=np.float64)
        if _looks_like_vector(network, numbers):
            return _read_vector(network, numbers)
    return _read_nodes(network, entries)


def _looks_like_vector(network: RouteNetwork, numbers: Any) -> bool:
    if numbers.size == len(network.edges):
        return _is_binary(numbers) or not any(_is_node(network, entry) for entry in numbers.tolist())
    return _is_binary(numbers) and not all(_is_node(network, entry) for entry in numbers.tolist())


def _is_binary(numbers: Any) -> bool:
    values = numbers.astype(np.float64)
    return bool((np.minimum(np.abs(values), np.abs(values - 1.0)) <= INTEGRALITY).all())


def _read_vector(network: RouteNetwork, numbers: Any) -> list[int] | str:
    if numbers.size != len(network.edges):
        return f"An edge vector must have {len(network.edges)} entries, not {numbers.size}."
    if not _is_binary(numbers):
        return "An edge vector must hold nothing but 0 and 1."
    chosen = np.flatnonzero(numbers.astype(np.float64) > 0.5).tolist()
    leaving: dict[Any, int] = {}
    for e in chosen:
        tail = network.edges[e][0]
        if tail in leaving:
            return f"The edge vector is not one path: two of its edges leave {tail}."
        leaving[tail] = e
    node, target = network.nodes[network.source], network.nodes[network.target]
    route: list[int] = []
    while node != target and len(route) <= len(chosen):
        if node not in leaving:
            return f"The edge vector is not one path to {target}: none of its edges leaves {node}."
        route.append(leaving[node])
        node = network.edges[route[-1]][1]
    if len(route) > len(chosen):
        return f"The edge vector is not one path to {target}: its edges run in a circle through {node}."
    stray = sorted(set(chosen) - set(route))
    if stray:
        edge = _arrow(network.edges[stray[0]])
        return f"The edge vector is not one path: the edge {edge} is not on the way to {target}."
    return route


def _read_edges(network: RouteNetwork, edges: list[Any]) -> list[int] | str:
    for edge, following in pairwise(edges):
        if edge[1] != following[0]:
            return f"The edges of the route do not join up: {_arrow(edge)} is followed by {_arrow(following)}."
    return _read_nodes(network, [edges[0][0], *(edge[1] for edge in edges)])


def _read_nodes(network: RouteNetwork, nodes: list[Any]) -> list[int] | str:
    for node in nodes:
        if not _is_node(network, node):
            return f"The route does not exist: {node!r} is not a node of the graph."
    route = []
    for hop in pairwise(nodes):
        if hop not in network.edge_number:
            return f"The route does not exist: there is no edge {_arrow(hop)}."
        route.append(network.edge_number[hop])
    source, target = network.nodes[network.source], network.nodes[network.target]
    if nodes[0] != source:
        return f"The route must start at {source}, not at {nodes[0]}."
    if nodes[-1] != target:
        return f"The route must end at {target}, not at {nodes[-1]}."
    seen: set[Any] = set()
    for node in nodes:
        if node in seen:
            return f"The route must visit no node twice, but visits {node} again."
        seen.add(node)
    return route


def _arrow(edge: Any) -> str:
    return f"{edge[0]} -> {edge[1]}"


def _is_node(network: RouteNetwork, entry: Any) -> bool:
    try:
        return entry in network.node_number
    except TypeError:
        return False


def _hashable(entry: Any) -> Any:
    """Return lists and arrays as tuples: routes that went through JSON or numpy still name their nodes."""
    if isinstance(entry, np.ndarray):
        entry = entry.tolist()
    return tuple(_hashable(part) for part in entry) if isinstance(entry, list | tuple) else entry


# ---- as JSON and as text -----------------------------------------------------------------------------------


def route_from_plain(nodes: Iterable[Any], value: Any) -> Any:
    """Return what :func:`read_route` takes, from a list of nodes, a list of edges, or a list with 0 or 1 per edge.

    A list stands for a node that is a tuple, and a string for the node whose ``str`` it is.
    """
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        raise InputError(f"The route must be a list of nodes or of edges. Got {quoted(value)} instead.")
    names, entries = NodeNames(nodes), list(value)
    if entries and not any(names.find(entry) for entry in entries):
        if all(isinstance(entry, list | tuple) and len(entry) == 2 for entry in entries):
            return [tuple(names.node(end) for end in pair) for pair in entries]
        if all(isinstance(entry, int | float) for entry in entries):
            return np.array([finite_quantity(float(entry), "an edge") for entry in entries])
    return [names.node(entry) for entry in entries]


def stops(text: str) -> list[str]:
    """Return the stops of a route: between arrows or, where there is no arrow, between commas."""
    return [stop.strip() for stop in (_ARROW.split(text) if _ARROW.search(text) else text.split(","))]


class NodeNames:
    """The nodes of a graph, to be found by what JSON can say of them."""

    def __init__(self, nodes: Iterable[Any]) -> None:
        self._exact: dict[Any, Any] = {}
        self._written: dict[str, list[Any]] = {}
        for node in nodes:
            self._exact[_key(node)] = node
            self._written.setdefault(str(node), []).append(node)

    def find(self, entry: Any) -> tuple[Any] | None:
        """Return the node that `entry` stands for, in a tuple (a node may be anything, also None), or None."""
        key = _key(entry)
        try:
            if key in self._exact:
                return (self._exact[key],)
        except TypeError:
            return None
        written = self._written.get(entry, []) if isinstance(entry, str) else []
        if len(written) > 1:
            raise InputError(f"The route must name its nodes unambiguously. Got {quoted(entry)}, which fits several.")
        return (written[0],) if written else None

    def node(self, entry: Any) -> Any:
        found = self.find(entry)
        if found is None:
            known = some(list(self._written))
            raise InputError(f"The route must name nodes among {known}. Got {quoted(entry)} instead.")
        return found[0]


def _key(node: Any) -> Any:
    """Return a node with tuples for lists, and True apart from 1, which is another node."""
    if isinstance(node, list | tuple):
        return tuple(_key(part) for part in node)
    return (bool, node) if isinstance(node, bool) else node
