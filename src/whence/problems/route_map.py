"""Networks on a map: where their nodes are, the two routes of an explanation, and what the page draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np

from whence.plain_values import to_plain
from whence.problems.plan_forms import PlanEditor

__all__ = ["Point", "RouteMap", "network_editor", "positions", "route_map"]

Point = tuple[float, float]


@dataclass(frozen=True)
class RouteMap:
    """A network drawn on its map: where its nodes are (y upwards), its streets, and the two routes along them."""

    positions: dict[Any, Point]
    edges: list[tuple[Any, Any]]
    decision: list[tuple[Any, Any]]
    alternative: list[tuple[Any, Any]]
    ends: tuple[Any, Any]
    #: Names of the streets that have one.
    streets: dict[tuple[Any, Any], str] = field(default_factory=dict)


def route_map(graph: Any, decision: list[Any], alternative: list[Any]) -> RouteMap | None:
    """Two routes, as lists of nodes, on the map of `graph`; None where the places of its nodes are not known."""
    place = positions(graph)
    if place is None:
        return None
    edges = list(graph.edges)
    first, second = (
        [edge for edge in edges if edge in hops]
        for hops in (set(nx.utils.pairwise(n)) for n in (decision, alternative))
    )
    streets = {(u, v): str(data["name"]) for u, v, data in graph.edges(data=True) if data.get("name")}
    return RouteMap(place, edges, first, second, (decision[0], decision[-1]), streets)


def network_editor(graph: Any, source: Any, target: Any) -> PlanEditor:
    """The network of `graph` for somebody who looks for a route: drawn where its map is known, otherwise laid out."""
    place = positions(graph)
    drawn = place is not None
    if place is None:
        place = {node: (float(x), float(y)) for node, (x, y) in nx.spring_layout(graph, seed=0).items()}
    nodes = [
        {"id": to_plain(node), "label": str(data.get("name", node)), "x": place[node][0], "y": place[node][1]}
        for node, data in graph.nodes(data=True)
    ]
    edges = [
        {"from": to_plain(u), "to": to_plain(v), "name": str(data.get("name", ""))}
        for u, v, data in graph.edges(data=True)
    ]
    return PlanEditor("route", nodes=nodes, edges=edges, source=to_plain(source), target=to_plain(target), drawn=drawn)


def positions(graph: Any) -> dict[Any, Point] | None:
    """Where the nodes of a graph are, x to the right and y upwards, or None where that is not known of all of them.

    The node attribute ``pos`` counts; nodes that are pairs of whole numbers are taken as (row, column), rows downwards.
    """
    place: dict[Any, Point] = {}
    for node, data in graph.nodes(data=True):
        pos = data.get("pos")
        if pos is not None and len(pos) == 2 and np.isfinite(np.asarray(pos, dtype=np.float64)).all():
            place[node] = (float(pos[0]), float(pos[1]))
        elif isinstance(node, tuple) and len(node) == 2 and all(isinstance(i, int | np.integer) for i in node):
            place[node] = (float(node[1]), -float(node[0]))
        else:
            return None
    return place
