"""The two plans as a picture: a route on its map, quantities as bars, anything else as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.problems.shortest_path import ShortestPath
from whence.report.markup import Markup, join, tag
from whence.report.numbers import plain
from whence.report.svg import Bar, Point, RouteMap, bars, route_map

if TYPE_CHECKING:
    from whence.explain.explanation import Explanation

__all__ = ["picture", "positions"]

Floats = NDArray[np.float64]

#: Most parts of a plan that are drawn as bars; those on which the plans differ most come first.
DRAWN = 24


def picture(explanation: Explanation) -> Markup:
    """The decision and the alternative, drawn."""
    problem = explanation.problem
    if isinstance(problem, ShortestPath):
        place = positions(problem.graph)
        if place is not None:
            return _route(explanation, problem, place)
    elif problem is not None:
        drawn = _quantities(explanation)
        if drawn is not None:
            return drawn
    return tag(
        "div",
        *(
            tag("div", tag("b", heading), tag("p", text), class_=f"wh-plan wh-{plan}")
            for plan, heading, text in (
                ("d", "Decision", explanation.decision_text or str(explanation.decision)),
                ("a", "Your plan", explanation.alternative_text or str(explanation.alternative)),
            )
        ),
        class_="wh-columns",
    )


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


def _route(explanation: Explanation, problem: ShortestPath, place: dict[Any, Point]) -> Markup:
    graph = problem.graph
    edges = list(graph.edges)
    taken = [
        [edge for edge, chosen in zip(edges, problem.vector(plan), strict=True) if chosen > 0.5]
        for plan in (explanation.decision, explanation.alternative)
    ]
    streets = {(u, v): str(data["name"]) for u, v, data in graph.edges(data=True) if data.get("name")}
    city = RouteMap(place, edges, taken[0], taken[1], (problem.source, problem.target), streets)
    shared = len(set(taken[0]) & set(taken[1]))
    said = (
        f"From {problem.source} to {problem.target}: {len(taken[0])} stretches in the decision, {len(taken[1])} in "
        f"your plan, {shared or 'none'} of them shared."
    )
    along = [" – ".join(dict.fromkeys(streets[hop] for hop in route if hop in streets)) for route in taken]
    if all(along):
        said += f" The decision follows {along[0]}; your plan follows {along[1]}."
    return join(_legend("line"), tag("figure", route_map(city, said), tag("figcaption", said), class_="wh-map"))


def _quantities(explanation: Explanation) -> Markup | None:
    problem = explanation.problem
    assert problem is not None
    try:
        first, second = (problem.vector(plan) for plan in (explanation.decision, explanation.alternative))
    except (TypeError, ValueError):
        return None
    if first.shape != second.shape or not first.size:
        return None
    names = problem.parts(explanation.outcomes) or [f"z{i}" for i in range(first.size)]
    if len(names) != first.size:
        return None
    used = np.flatnonzero((np.abs(first) > 1e-9) | (np.abs(second) > 1e-9))
    if not used.size:
        return None
    shown = np.sort(used[np.argsort(-np.abs(first - second)[used], kind="stable")][:DRAWN])
    groups = [
        (
            str(names[j]),
            [Bar("d", "", float(first[j]), plain(first[j], 4)), _changed(float(first[j]), float(second[j]))],
        )
        for j in shown
    ]
    half = (len(groups) + 1) // 2 if len(groups) > 3 else len(groups)
    halves = [(groups[:half], groups[half:]), (groups[half:], groups[:half])]
    charts = [tag("figure", bars(part, "Quantities of both plans", other)) for part, other in halves if part]
    rest = used.size - shown.size
    note = tag("p", f"{rest} more parts, on which the plans differ less, are not drawn.") if rest else Markup("")
    return join(_legend("bar"), tag("div", *charts, class_="wh-columns"), note)


def _changed(first: float, second: float) -> Bar:
    """The alternative's bar, its number with the difference from the decision."""
    difference = second - first
    text = plain(second, 4)
    if abs(difference) > 1e-9:
        text += f" ({'+' if difference > 0 else '−'}{plain(abs(difference), 3)})"
    return Bar("a", "", second, text)


def _legend(shape: str) -> Markup:
    entries = (
        tag("span", tag("i", "", class_=f"wh-key wh-key-{shape} wh-{plan}"), text)
        for plan, text in (("d", "decision"), ("a", "your plan"))
    )
    return tag("p", *entries, class_="wh-legend")
