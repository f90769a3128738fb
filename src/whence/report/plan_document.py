"""The two plans in a JSON document: quantities with their names, or routes with their map."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.plain_values import to_plain
from whence.report.material import Plans
from whence.report.reader import Entry
from whence.report.routes import RouteMap

__all__ = ["plans_from", "plans_to_plain", "scalar"]


def scalar(value: Any) -> Any:
    """A feature's value: a number, a truth value, a missing value, or its text as it is shown."""
    plain = to_plain(value)
    return plain if plain is None or isinstance(plain, bool | int | float) else str(value)


def plans_to_plain(plans: Plans) -> dict[str, Any]:
    """Both plans as plain JSON."""
    return {
        "form": plans.form,
        "parts": list(plans.parts),
        "decision": to_plain(plans.decision),
        "alternative": to_plain(plans.alternative),
        "map": None if plans.city is None else _map_to_plain(plans.city),
    }


def plans_from(entry: Entry) -> Plans:
    """The plans that :func:`plans_to_plain` wrote."""
    form = entry["form"].choice(("quantities", "route", "other"))
    given = entry["decision"], entry["alternative"]
    if form == "quantities":
        parts = entry["parts"].texts()
        vectors = [np.array(e.numbers(len(parts)), dtype=np.float64) for e in given]
        return Plans("quantities", vectors[0], vectors[1], parts)
    if form == "route":
        routes = [[_node(e) for e in plan.items()] for plan in given]
        return Plans("route", routes[0], routes[1], city=entry["map"].optional(_map_from))
    return Plans("other", *(e.value for e in given))


def _map_to_plain(city: RouteMap) -> dict[str, Any]:
    place = {node: i for i, node in enumerate(city.positions)}
    number = {edge: i for i, edge in enumerate(city.edges)}
    return {
        "nodes": [to_plain(node) for node in place],
        "x": [x for x, _ in city.positions.values()],
        "y": [y for _, y in city.positions.values()],
        "edges": [[place[u], place[v]] for u, v in city.edges],
        "streets": [city.streets.get(edge, "") for edge in city.edges],
        "decision": [number[edge] for edge in city.decision],
        "alternative": [number[edge] for edge in city.alternative],
        "source": place[city.ends[0]],
        "target": place[city.ends[1]],
    }


def _map_from(entry: Entry) -> RouteMap:
    nodes = [_node(e) for e in entry["nodes"].items()]
    if not nodes or len(set(nodes)) != len(nodes):
        raise entry["nodes"].error("a list of different nodes")
    xs, ys = (entry[axis].numbers(len(nodes)) for axis in ("x", "y"))
    last = len(nodes) - 1
    ends = [tuple(nodes[e.whole(0, last)] for e in pair.items(2)) for pair in entry["edges"].items()]
    edges = [(u, v) for u, v in ends]
    names = [e.text() for e in entry["streets"].items(len(edges))]
    routes = [[edges[e.whole(0, len(edges) - 1)] for e in entry[plan].items()] for plan in ("decision", "alternative")]
    return RouteMap(
        positions=dict(zip(nodes, zip(xs, ys, strict=True), strict=True)),
        edges=edges,
        decision=routes[0],
        alternative=routes[1],
        ends=(nodes[entry["source"].whole(0, last)], nodes[entry["target"].whole(0, last)]),
        streets={edge: name for edge, name in zip(edges, names, strict=True) if name},
    )


def _node(entry: Entry) -> Any:
    """A node: a scalar, or a tuple of nodes written as a list."""
    if isinstance(entry.value, list | tuple):
        return tuple(_node(part) for part in entry.items())
    return entry.scalar()
