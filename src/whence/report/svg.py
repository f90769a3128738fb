"""Small charts as inline SVG: bars, distributions and maps, narrow enough to be read on a phone.

Classes instead of colours, so that the page decides how they look by day, by night and on paper: ``wh-d`` is the
decision, ``wh-a`` the alternative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whence.aliases import Floats
from whence.report.layout import LETTER, labels, placed
from whence.report.markup import Markup, tag
from whence.report.numbers import plain, share
from whence.report.outcomes import Curve, masses
from whence.report.routes import Point, RouteMap

__all__ = ["Bar", "bars", "distribution", "route_map", "ticks"]


WIDTH = 360.0


@dataclass(frozen=True)
class Bar:
    """One bar: which plan it belongs to ("d" or "a"), its label, its length and the number beside it."""

    plan: str
    label: str
    length: float
    text: str


def bars(
    groups: Sequence[tuple[str, Sequence[Bar]]], title: str, beside: Sequence[tuple[str, Sequence[Bar]]] = ()
) -> Markup:
    """Horizontal bars in groups, from zero, each with its number; on one scale with the groups drawn `beside`."""
    every = [bar for _, group in [*groups, *beside] for bar in group]
    left = LETTER * max((len(bar.label) for bar in every), default=0) + 6
    right = LETTER * max((len(bar.text) for bar in every), default=0) + 10
    low = min(0.0, *(bar.length for bar in every))
    high = max(0.0, *(bar.length for bar in every))
    scale = (WIDTH - left - right) / ((high - low) or 1.0)
    zero = left - low * scale
    drawn: list[Markup] = []
    y = 0.0
    for heading, group in groups:
        if heading:
            drawn.append(tag("text", _fitting(heading, WIDTH), x=0, y=y + 13, class_="wh-head"))
            y += 20
        drawn.append(tag("line", x1=zero, x2=zero, y1=y - 2, y2=y + 19 * len(group) - 2, class_="wh-axis"))
        for bar in group:
            x, width = zero + min(0.0, bar.length) * scale, max(abs(bar.length) * scale, 1.0)
            drawn.append(tag("text", bar.label, x=0, y=y + 12, class_="wh-small"))
            drawn.append(tag("rect", x=x, y=y, width=width, height=15, rx=2, class_=f"wh-bar wh-{bar.plan}"))
            drawn.append(tag("text", bar.text, x=max(x + width, zero) + 5, y=y + 12, class_="wh-number"))
            y += 19
        y += 7
    return _svg(WIDTH, y, title, drawn)


def distribution(curves: Sequence[Curve], edges: Floats, highest: float, title: str, axis: str) -> Markup:
    """Weighted histograms over the bins `edges`, drawn as steps over each other on a common scale up to `highest`."""
    top, bottom, side = 20.0, 160.0, 10.0
    scale = (WIDTH - 2 * side) / (edges[-1] - edges[0])

    def at(cost: float) -> float:
        return float(side + (cost - edges[0]) * scale)

    drawn: list[Markup] = [
        tag("line", x1=side, x2=WIDTH - side, y1=top, y2=top, class_="wh-scale"),
        tag("text", f"{share(highest)} of the weight", x=WIDTH - side, y=top - 7, class_="wh-small wh-end-right"),
    ]
    for tick in ticks(float(edges[0]), float(edges[-1])):
        drawn.append(tag("line", x1=at(tick), x2=at(tick), y1=bottom, y2=bottom + 4, class_="wh-axis"))
        drawn.append(tag("text", plain(tick), x=at(tick), y=bottom + 16, class_="wh-small wh-mid"))
    for curve in curves:
        mass = masses(curve, edges)
        heights = bottom - (bottom - top) * mass / (highest or 1.0)
        steps = [f"M{at(edges[0]):.1f} {bottom:.1f}"]
        for first, last, height in zip(edges[:-1], edges[1:], heights, strict=True):
            steps.append(f"L{at(first):.1f} {height:.1f}L{at(last):.1f} {height:.1f}")
        steps.append(f"L{at(edges[-1]):.1f} {bottom:.1f}")
        drawn.append(tag("path", d="".join(steps), class_=f"wh-step wh-{curve.plan}"))
    for curve in curves:
        x = at(min(max(curve.mark, float(edges[0])), float(edges[-1])))
        drawn.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=f"wh-mark wh-{curve.plan}"))
        size = 5.0 if curve.plan == "d" else -5.0
        y = top if curve.plan == "d" else top + 12.0
        shape = f"{x - 5:.1f},{y - size / 2:.1f} {x + 5:.1f},{y - size / 2:.1f} {x:.1f},{y + size:.1f}"
        drawn.append(tag("polygon", points=shape, class_=f"wh-tip wh-{curve.plan}"))
    drawn.append(tag("line", x1=side, x2=WIDTH - side, y1=bottom, y2=bottom, class_="wh-axis"))
    drawn.append(tag("text", axis, x=WIDTH / 2, y=bottom + 32, class_="wh-small wh-mid"))
    return _svg(WIDTH, bottom + 38, title, drawn)


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between `low` and `high`.

    Examples
    --------
    >>> ticks(17.0, 62.0)
    [20.0, 30.0, 40.0, 50.0, 60.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [float(k * step) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def route_map(city: RouteMap, title: str) -> Markup:
    """The network in grey, the decision as a broad line and the alternative as a dashed one over it."""
    width = 400.0
    place, height = placed(city.positions, width)
    network = "".join(f"M{_xy(place[u])}L{_xy(place[v])}" for u, v in city.edges)
    drawn = [tag("path", d=network, class_="wh-street")]
    for plan, route in (("d", city.decision), ("a", city.alternative)):
        line = "".join(f"M{_xy(place[u])}L{_xy(place[v])}" for u, v in route)
        named = [city.streets[hop] for hop in route if city.streets.get(hop)]
        hint = tag("title", ", ".join(dict.fromkeys(named))) if named else Markup("")
        drawn.append(tag("path", hint, d=line, class_=f"wh-route wh-{plan}"))
    visited = {node for route in (city.decision, city.alternative) for hop in route for node in hop}
    radius = 2.5 if len(place) <= 60 else 1.2
    for node, (x, y) in place.items():
        end = node in city.ends
        if end or node in visited or len(place) <= 200:
            size = 6.0 if end else radius + (node in visited)
            drawn.append(tag("circle", cx=x, cy=y, r=size, class_="wh-end" if end else "wh-node"))
    for label in labels(place, city, (width, height)):
        text_class = "wh-label wh-strong" if label.end else "wh-label"
        drawn.append(tag("text", label.text, x=label.x, y=label.y, class_=text_class))
    return _svg(width, height, title, drawn)


def _fitting(text: str, width: float) -> str:
    """`text`, cut off with an ellipsis where it would be wider than `width`."""
    most = int(width / (1.25 * LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _xy(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _svg(width: float, height: float, title: str, drawn: Sequence[Markup]) -> Markup:
    box = f"0 0 {width:.0f} {max(height, 1.0):.0f}"
    return tag("svg", tag("title", title), *drawn, viewBox=box, role="img", class_="wh-chart")
