"""Where the nodes and the names of a map go, on a page or on a chart."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from whence.problems.route_map import Point
from whence.report.model import Map

__all__ = ["LETTER", "Label", "labels", "placed", "visited"]

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
    margin = 26.0
    wide, tall = float(np.ptp(xs)) or 1.0, float(np.ptp(ys)) or 1.0
    across = (width - 2 * margin) / wide
    inner = min(max(tall * across, 140.0), 400.0)
    along = inner / tall
    if tall * across > 400.0:
        across = along
    shift = (width - wide * across) / 2
    place = zip((shift + (xs - xs.min()) * across).tolist(), (margin + (ys.max() - ys) * along).tolist(), strict=True)
    return list(place), inner + 2 * margin


def visited(city: Map) -> set[int]:
    """The nodes on either route."""
    return {node for edge in city.decision + city.alternative for node in city.edges[edge]}


def labels(place: list[Point], city: Map, size: Point) -> list[Label]:
    """Names of the nodes on the routes where there is room for them; those of the two ends in any case."""
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


def _along(start: Point, end: Point, step: float = 6.0) -> list[Point]:
    """Points between two places, a few pixels apart, without the places themselves."""
    count = max(int(math.hypot(end[0] - start[0], end[1] - start[1]) / step), 1)
    return [
        (start[0] + (end[0] - start[0]) * i / count, start[1] + (end[1] - start[1]) * i / count)
        for i in range(1, count)
    ]


def _around(point: Point, radius: float) -> Box:
    return point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
