"""Reads what people write down as a route: nodes, edges, or a 0/1 vector of edges; also as JSON and as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from whence.errors import InputError
from whence.plain_values import quoted, some
from whence.problems._route_network import RouteNetwork
from whence.problems.plan_forms import finite_quantity

__all__ = ["NodeNames", "read_route", "route_from_plain", "stops"]

_ARROW = re.compile(r"\s*(?:->|→|>)\s*")

# A solver's 0/1 values may be this far from 0 or 1.
INTEGRALITY = 1e-6


def read_route(network: RouteNetwork, plan: Any) -> list[int] | str:
    """Edge numbers of `plan`, or one sentence that says why it is no route from source to target.

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
    """Lists and arrays as tuples: routes that went through JSON or numpy still name their nodes."""
    if isinstance(entry, np.ndarray):
        entry = entry.tolist()
    return tuple(_hashable(part) for part in entry) if isinstance(entry, list | tuple) else entry


# ---- as JSON and as text -----------------------------------------------------------------------------------


def route_from_plain(nodes: Iterable[Any], value: Any) -> Any:
    """What :func:`read_route` takes, from a list of nodes, a list of edges, or a list with 0 or 1 per edge.

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
    """The stops of a route: between arrows or, where there is no arrow, between commas."""
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
        """The node that `entry` stands for, in a tuple (a node may be anything, also None), or None."""
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
    """A node's value with lists for tuples, apart from True, which is not the node 1."""
    if isinstance(node, list | tuple):
        return tuple(_key(part) for part in node)
    return (bool, node) if isinstance(node, bool) else node
