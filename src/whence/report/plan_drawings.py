"""The two plans of a report: as they are computed with, and which parts of them are worth drawing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.problems.plan_text import Point, RouteMap
from whence.report.document import Map, Plans, tupled
from whence.util.json import to_plain

#: Most parts of a plan that are drawn as bars; those on which the plans differ most come first.
DRAWN = 24


def plan_of(plans: Plans, name: str) -> Any:
    """Return the plan of that name: quantities as an array, a route as a list of nodes, anything else as it is."""
    plan = getattr(plans, name)
    return None if plan is None else in_form(plan, plans.form)


def in_form(plan: Any, form: str) -> Any:
    """Return a plan in plain values as it is computed with."""
    if form == "quantities":
        # A single number that is no list is a plan of its own kind.
        return plan if isinstance(plan, int | float) else np.array(plan, dtype=np.float64)
    return [tupled(node) for node in plan] if form == "route" else plan


def most_different(plans: Plans, most: int = DRAWN) -> tuple[NDArray[np.int64], int]:
    """Return which quantities to draw, and how many are left out: not those that are 0 in both plans.

    None at all where the plans are not quantities.
    """
    if plans.form != "quantities":
        return np.zeros(0, dtype=np.int64), 0
    first, second = plan_of(plans, "decision"), plan_of(plans, "alternative")
    used = np.flatnonzero((np.abs(first) > 1e-9) | (np.abs(second) > 1e-9))
    shown = np.sort(used[np.argsort(-np.abs(first - second)[used], kind="stable")][:most])
    return shown, int(used.size - shown.size)


def map_of(city: RouteMap) -> Map:
    """Return a network and two routes, as the report has them."""
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
    """Return both routes in a sentence or two; the second one is called `other`."""
    shared = len(set(city.decision) & set(city.alternative))
    said = (
        f"From {city.name(city.source)} to {city.name(city.target)}: {len(city.decision)} stretches in the decision, "
        f"{len(city.alternative)} in {other}, {shared or 'none'} of them shared."
    )
    along = [" – ".join(streets_along(city, route)) for route in (city.decision, city.alternative)]
    return f"{said} The decision follows {along[0]}; {other} follows {along[1]}." if all(along) else said


def streets_along(city: Map, route: list[int]) -> list[str]:
    """Return the names of the streets of a route, each once, in their order."""
    return list(dict.fromkeys(city.streets[edge] for edge in route if city.streets[edge]))


Box = tuple[float, float, float, float]

#: Width of a letter in a label, for leaving enough room.
LETTER = 6.2


class Label(NamedTuple):
    """A name on the map: its text, where it begins, and whether it is one of the two ends."""

    text: str
    x: float
    y: float
    end: bool


def placed(city: Map, width: float) -> tuple[list[Point], float]:
    """Where the nodes go on the page, and its height: the same scale both ways, unless the map is very flat or tall."""
    xs, ys = np.array(city.x, dtype=np.float64), np.array(city.y, dtype=np.float64)
    border = 26.0
    wide, tall = float(np.ptp(xs)) or 1.0, float(np.ptp(ys)) or 1.0
    across = (width - 2 * border) / wide
    inner = min(max(tall * across, 140.0), 400.0)
    along = inner / tall
    if tall * across > 400.0:
        across = along
    shift = (width - wide * across) / 2
    place = zip((shift + (xs - xs.min()) * across).tolist(), (border + (ys.max() - ys) * along).tolist(), strict=True)
    return list(place), inner + 2 * border


def visited(city: Map) -> set[int]:
    """Return the nodes on either route."""
    return {node for edge in city.decision + city.alternative for node in city.edges[edge]}


def labels(place: list[Point], city: Map, size: Point) -> list[Label]:
    """Return names of the nodes on the routes where there is room for them; those of the two ends in any case."""
    taken = [_around(point, 4.0) for point in place] if len(place) <= 200 else []
    hops = [city.edges[edge] for edge in city.decision + city.alternative]
    lines = [_around(p, 2.0) for start, end in hops for p in _along(place[start], place[end])]
    ends = [city.source, city.target]
    drawn = []
    for node in [*ends, *sorted(visited(city) - set(ends), key=city.name)]:
        name = city.name(node)
        boxes = _spots(place[node], LETTER * len(name))
        inside = [box for box in boxes if box[0] >= 0 and box[2] <= size[0] and box[1] >= 0 and box[3] <= size[1]]
        free = [box for box in inside if not any(_overlap(box, other) for other in taken)]
        # A name across a route can still be read, one across another name cannot.
        best = [box for box in free if not any(_overlap(box, other) for other in lines)] or free
        if not best and node not in ends:
            continue
        box = (best or inside or boxes)[0]
        taken.append(box)
        drawn.append(Label(name, max(box[0], 0.0), box[3] - 3, node in ends))
    return drawn


def _spots(point: Point, wide: float) -> list[Box]:
    """Where a name of that width may stand beside a point."""
    x, y = point
    spots = [(x + 9, y + 4), (x - 9 - wide, y + 4), (x - wide / 2, y - 10), (x - wide / 2, y + 18)]
    spots += [(x + 6, y - 8), (x + 6, y + 15), (x - 6 - wide, y - 8), (x - 6 - wide, y + 15)]
    return [(left, base - 10, left + wide, base + 3) for left, base in spots]


def _along(start: Point, end: Point) -> list[Point]:
    """Return points between two places, a few pixels apart, without the places themselves."""
    count = max(int(math.dist(start, end) / 6.0), 1)
    return [(x, y) for x, y in np.linspace(start, end, count + 1)[1:-1].tolist()]


def _around(point: Point, radius: float) -> Box:
    return point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
