"""Two routes and the network that they run through, with the places of its nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.plain import to_plain
from whence.problems.shortest_path import ShortestPath
from whence.report.model import Map

__all__ = ["Point", "map_of", "positions", "routes_in_words"]

Point = tuple[float, float]


def map_of(problem: ShortestPath, decision: Any, alternative: Any) -> Map | None:
    """Both routes on the map of the problem's graph, or None where the places of its nodes are not known."""
    graph = problem.graph
    place = positions(graph)
    if place is None:
        return None
    number = {node: i for i, node in enumerate(place)}
    taken = [np.flatnonzero(problem.vector(plan) > 0.5).tolist() for plan in (decision, alternative)]
    return Map(
        nodes=[to_plain(node) for node in place],
        x=[x for x, _ in place.values()],
        y=[y for _, y in place.values()],
        edges=[[number[u], number[v]] for u, v in graph.edges],
        streets=[str(data.get("name") or "") for _, _, data in graph.edges(data=True)],
        decision=taken[0],
        alternative=taken[1],
        source=number[problem.source],
        target=number[problem.target],
    )


def routes_in_words(city: Map) -> str:
    """Both routes in a sentence or two."""
    shared = len(set(city.decision) & set(city.alternative))
    said = (
        f"From {city.name(city.source)} to {city.name(city.target)}: {len(city.decision)} stretches in the decision, "
        f"{len(city.alternative)} in your plan, {shared or 'none'} of them shared."
    )
    along = [" – ".join(streets_along(city, route)) for route in (city.decision, city.alternative)]
    return f"{said} The decision follows {along[0]}; your plan follows {along[1]}." if all(along) else said


def streets_along(city: Map, route: list[int]) -> list[str]:
    """The names of the streets of a route, each once, in their order."""
    return list(dict.fromkeys(city.streets[edge] for edge in route if city.streets[edge]))


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
