"""Two routes and the network that they run through, with the places of its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whence.problems.shortest_path import ShortestPath

__all__ = ["Point", "RouteMap", "positions", "route_map_of"]

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

    @property
    def said(self) -> str:
        """Both routes in a sentence or two."""
        shared = len(set(self.decision) & set(self.alternative))
        said = (
            f"From {self.ends[0]} to {self.ends[1]}: {len(self.decision)} stretches in the decision, "
            f"{len(self.alternative)} in your plan, {shared or 'none'} of them shared."
        )
        along = [
            " – ".join(dict.fromkeys(self.streets[hop] for hop in route if hop in self.streets))
            for route in (self.decision, self.alternative)
        ]
        return f"{said} The decision follows {along[0]}; your plan follows {along[1]}." if all(along) else said


def route_map_of(problem: ShortestPath, decision: Any, alternative: Any) -> RouteMap | None:
    """Both routes on the map of the problem's graph, or None where the places of its nodes are not known."""
    graph = problem.graph
    place = positions(graph)
    if place is None:
        return None
    edges = list(graph.edges)
    first, second = (
        [edge for edge, chosen in zip(edges, problem.vector(plan), strict=True) if chosen > 0.5]
        for plan in (decision, alternative)
    )
    streets = {(u, v): str(data["name"]) for u, v, data in graph.edges(data=True) if data.get("name")}
    return RouteMap(place, edges, first, second, (problem.source, problem.target), streets)


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
