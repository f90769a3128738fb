"""Two routes and the network that they run through, with the places of its nodes."""

from __future__ import annotations

from whence.plain_values import to_plain
from whence.problems.route_map import RouteMap
from whence.report.model import Map

__all__ = ["map_of", "routes_in_words"]


def map_of(city: RouteMap) -> Map:
    """A network and two routes, as the report has them."""
    place = {node: i for i, node in enumerate(city.positions)}
    number = {edge: i for i, edge in enumerate(city.edges)}
    return Map(
        nodes=[to_plain(node) for node in place],
        x=[x for x, _ in city.positions.values()],
        y=[y for _, y in city.positions.values()],
        edges=[[place[u], place[v]] for u, v in city.edges],
        streets=[city.streets.get(edge, "") for edge in city.edges],
        decision=[number[edge] for edge in city.decision],
        alternative=[number[edge] for edge in city.alternative],
        source=place[city.ends[0]],
        target=place[city.ends[1]],
    )


def routes_in_words(city: Map, other: str = "your plan") -> str:
    """Both routes in a sentence or two; the second one is called `other`."""
    shared = len(set(city.decision) & set(city.alternative))
    said = (
        f"From {city.name(city.source)} to {city.name(city.target)}: {len(city.decision)} stretches in the decision, "
        f"{len(city.alternative)} in {other}, {shared or 'none'} of them shared."
    )
    along = [" – ".join(streets_along(city, route)) for route in (city.decision, city.alternative)]
    return f"{said} The decision follows {along[0]}; {other} follows {along[1]}." if all(along) else said


def streets_along(city: Map, route: list[int]) -> list[str]:
    """The names of the streets of a route, each once, in their order."""
    return list(dict.fromkeys(city.streets[edge] for edge in route if city.streets[edge]))
