"""The part of a directed graph that routes from source to target can use, and its cheapest routes."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from whence.aliases import Floats
from whence.errors import InputTypeError, argument_error, parameter_error

__all__ = ["RouteNetwork"]


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
        """Edges of the route with the smallest sum of `costs`, one cost per edge.

        Among equally cheap continuations the edge that comes first in ``graph.edges`` is taken on an acyclic graph.
        """
        return self.follow(self.to_target(costs)[1])

    def follow(self, next_edge: list[int]) -> list[int]:
        """Edges of the route that leaves each node by its entry in `next_edge`."""
        node, route = self.source, []
        while node != self.target:
            route.append(next_edge[node])
            node = self.head[route[-1]]
        return route

    def to_target(self, costs: Floats) -> tuple[list[float], list[int]]:
        """Smallest cost from every node to the target, and the edge by which to leave (-1: none).

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
        """Number of routes of an acyclic graph."""
        routes = [0] * len(self.nodes)
        routes[self.target] = 1
        for u, _, v in self.backwards:
            routes[u] += routes[v]
        return routes[self.source]

    def routes(self) -> Iterator[list[int]]:
        """Every route of an acyclic graph, as edges, in lexicographic order of `successors`."""
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
        """Every route as a row of a 0/1 matrix by edges; None for a cyclic graph or more routes than `limit`."""
        if self._listing is None and self.acyclic and self.count() <= limit:
            routes = list(self.routes())
            ends = np.cumsum([0, *(len(route) for route in routes)])
            edges = np.concatenate([np.asarray(route, dtype=np.int32) for route in routes])
            self._listing = sp.csr_matrix((np.ones(edges.size), edges, ends), shape=(len(routes), len(self.edges)))
        return self._listing

    def _start(self) -> tuple[list[float], list[int]]:
        """Distances and edges as `to_target` returns them, before any edge was looked at."""
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
    """The edges that some route may take."""
    useful = nx.DiGraph((u, v) for u, v in graph.edges if u != v and v != source and u != target)
    useful.add_nodes_from((source, target))
    reached = nx.descendants(useful, source)
    if target not in reached:
        raise parameter_error("ShortestPath", "graph", f"have a path from {source} to {target}", "a graph without one")
    between = (reached | {source}) & (nx.ancestors(useful, target) | {target})
    return useful.subgraph(between).copy()
