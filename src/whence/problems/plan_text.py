"""The forms that plans have outside of their problem: what is drawn, and what may be edited.

:class:`~whence.problems.base.DecisionProblem` makes them of a plan of quantities, one number per part. A problem with
another kind of plan overrides the methods that do not fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import numpy as np

from whence.errors import InfeasiblePlanError, InputError
from whence.util.aliases import Floats
from whence.util.json import finite, quoted, to_plain

if TYPE_CHECKING:
    from whence.problems.base import DecisionProblem


@dataclass(frozen=True)
class ShownPlans:
    """Two plans in a form that can be drawn: quantities as arrays, routes as lists of nodes, anything else as it is."""

    #: What a plan is; "other" is shown by its text.
    form: Literal["quantities", "route", "other"]
    decision: Any
    alternative: Any
    #: For quantities, the name of each of them.
    parts: list[str] = field(default_factory=list)
    #: For routes, their map where it is known.
    map: RouteMap | None = None


@dataclass(frozen=True)
class PlanEditor:
    """What somebody needs who wants to see a plan and change it."""

    #: Bars, a network, or a table of numbers. A table without parts holds plans that only the problem can read.
    form: Literal["quantities", "route", "table"]
    #: Name of every quantity, the least and the largest value that it may have, and whether it must be a whole number.
    parts: list[str] = field(default_factory=list)
    lower: list[float | None] = field(default_factory=list)
    upper: list[float | None] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    #: A sensible end of the axis of every quantity.
    scale: list[float] = field(default_factory=list)
    #: The most that all quantities may add up to.
    budget: float | None = None
    #: Of a network: ``id``, ``label``, ``x`` and ``y`` of every node, ``from``, ``to`` and ``name`` of every edge.
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    #: Where routes begin and end.
    source: Any = None
    target: Any = None
    #: Whether the positions of the nodes are the data's own, not a layout made up here.
    drawn: bool = False


@dataclass(frozen=True)
class QuantityLimits:
    """What the quantities of a plan may be, all of them or each; None where there is no limit."""

    lower: Any = None
    upper: Any = None
    #: Which quantities must be whole numbers.
    whole: Any = False
    #: The most that all quantities may add up to.
    budget: float | None = None
    #: Values that an axis should hold besides those of the plans at hand, such as the largest demands.
    reach: Floats | None = None


def check_feasible(problem: DecisionProblem, plan: Any) -> None:
    """Raise an InfeasiblePlanError with the problem's own sentence where `plan` cannot be carried out."""
    try:
        reason = problem.check(plan)
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error)
    if reason:
        raise InfeasiblePlanError(reason)


def finite_quantity(entry: Any, name: str) -> float:
    """Return a number from plain data, finite."""
    number = finite(entry)
    if number is None:
        raise InputError(f"The plan's quantity of {quoted(name)} must be a finite number. Got {quoted(entry)} instead.")
    return number


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
    """Return two routes, as lists of nodes, on the map of `graph`; None where the places of its nodes are not known."""
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
