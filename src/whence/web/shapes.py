"""How plans and features look to the page: controls for a context, a map or bars for a plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from whence.aliases import Floats
from whence.errors import InputError
from whence.features import Categorical, Continuous, Discrete, Schema
from whence.plain import to_plain
from whence.problems.base import DecisionProblem
from whence.problems.linear import LinearProblem
from whence.problems.newsvendor import Newsvendor
from whence.problems.shipment import Shipment
from whence.problems.shortest_path import ShortestPath
from whence.report.routes import positions
from whence.web.models import Edge, Feature, Node, PlanShape

__all__ = ["controls", "plan_shape"]


#: A continuous control has about so many steps.
STEPS = 100
#: Room above the largest quantity on record.
HEADROOM = 1.25
#: More parts than this are a table, not bars.
MOST_BARS = 24


def controls(
    schema: Schema, today: dict[str, Any], fixed: Collection[str] = (), X: pd.DataFrame | None = None
) -> list[Feature]:
    """One control a feature of a fitted schema, in its order; `fixed` ones cannot change, and `X` is the history."""
    shown = [_control(schema, name, today[name]) for name in schema.names]
    for one in shown:
        one.recorded = _recorded(schema, one.name, X)
        if one.name in fixed:
            one.change = "fixed"
    return shown


def _recorded(schema: Schema, name: str, X: pd.DataFrame | None) -> list[Any] | None:
    """What the history holds of a feature: its range, or the categories that occur."""
    feature = schema.kind(name)
    if not isinstance(feature, Categorical):
        return list(schema.training_range(name))
    if X is None:
        return None
    levels = list(feature.categories or schema.levels(name))
    if feature.columns is not None:
        held = [level for level, column in zip(levels, feature.columns, strict=True) if X[column].any()]
    else:
        occurring = set(X[name].unique())
        held = [level for level in levels if level in occurring]
    plain: list[Any] = to_plain(held)
    return plain


def _control(schema: Schema, name: str, today: Any) -> Feature:
    feature = schema.kind(name)
    kind = type(feature).__name__.lower()
    common: dict[str, Any] = {
        "name": name,
        "kind": kind,
        "unit": schema.unit(name),
        "change": feature.change,
        "weight": float(feature.weight),
    }
    if isinstance(feature, Categorical):
        return Feature(**common, values=to_plain(list(feature.categories or schema.levels(name))))
    if kind == "binary":
        return Feature(**common)
    low, high = schema.training_range(name)
    low, high = min(low, float(today)), max(high, float(today))
    if isinstance(feature, Continuous):
        return Feature(**common, low=low, high=high, step=handy_step(high - low))
    levels = schema.levels(name)
    if not levels and isinstance(feature, Discrete) and feature.step is not None:
        # Too many to choose from a list: a slider in whole steps.
        return Feature(**common, low=low, high=high, step=feature.step)
    return Feature(**common, low=low, high=high, values=sorted({*map(float, levels), float(today)}))


def handy_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that a hundred steps or somewhat more make up `span`.

    Examples
    --------
    >>> handy_step(37.0), handy_step(12.0), handy_step(600.0), handy_step(0.0)
    (0.2, 0.1, 5.0, 1.0)
    """
    if not 0 < span < math.inf:
        return 1.0
    lead, power = f"{span / STEPS:.6e}".split("e")
    return float(f"{max(step for step in (1, 2, 5) if step <= float(lead))}e{power}")


def plan_shape(problem: DecisionProblem, Y: Floats, outcomes: Sequence[str], plans: Sequence[Any]) -> PlanShape:
    """How plans of `problem` look, judged by some of them.

    Parameters
    ----------
    problem : DecisionProblem
        What is decided.
    Y : ndarray
        The outcomes on record, for sensible axes.
    outcomes : sequence of str
        Names of the columns of Y.
    plans : sequence of plans
        Some that axes must hold, at least one.
    """
    if isinstance(problem, ShortestPath):
        return _network(problem)
    try:
        vectors = np.array([problem.vector(plan) for plan in plans])
        flat = all(np.ndim(plan) == 1 and len(plan) == vectors.shape[1] for plan in plans)
    except (TypeError, ValueError):
        return PlanShape(type="table")
    size = vectors.shape[1]
    parts = problem.parts(outcomes) or [f"z{j}" for j in range(size)]
    if not flat or not size or len(parts) != size:
        return PlanShape(type="table")
    lower, upper, whole = _limits(problem, size)
    largest = np.maximum(np.abs(vectors).max(axis=0), np.abs(vectors).max() / 10)
    if len(parts) == Y.shape[1] and isinstance(problem, Newsvendor):
        largest = np.maximum(largest, Y.max(axis=0) / HEADROOM)
    return PlanShape(
        type="quantities" if size <= MOST_BARS else "table",
        parts=parts,
        budget=None if not isinstance(problem, Newsvendor) or problem.budget is None else float(problem.budget),
        lower=lower,
        upper=upper,
        scale=[float(f"{value:.2g}") if value > 0 else 1.0 for value in HEADROOM * largest],
        whole=whole,
    )


def _limits(problem: DecisionProblem, size: int) -> tuple[list[float | None], list[float | None], list[bool]]:
    """Least and largest allowed value of every part, and whether it must be whole, where the problem tells."""
    if isinstance(problem, Newsvendor | Shipment):
        return [0.0] * size, [None] * size, [False] * size
    if isinstance(problem, LinearProblem):
        try:
            space = problem.polytope()
        except InputError:
            return [None] * size, [None] * size, [False] * size
        lower, upper = (
            [float(value) if math.isfinite(value) else None for value in limits]
            for limits in (space.lower, space.upper)
        )
        return lower, upper, space.integrality.tolist()
    return [None] * size, [None] * size, [False] * size


def _network(problem: ShortestPath) -> PlanShape:
    graph = problem.graph
    place = positions(graph)
    drawn = place is not None
    if place is None:
        layout = nx.spring_layout(graph, seed=0)
        place = {node: (float(at[0]), float(at[1])) for node, at in layout.items()}
    nodes = [
        Node(id=to_plain(node), label=str(data.get("name", node)), x=place[node][0], y=place[node][1])
        for node, data in graph.nodes(data=True)
    ]
    edges = [
        Edge.model_validate({"from": to_plain(u), "to": to_plain(v), "name": str(data.get("name", ""))})
        for u, v, data in graph.edges(data=True)
    ]
    ends = to_plain(problem.source), to_plain(problem.target)
    return PlanShape(type="route", nodes=nodes, edges=edges, source=ends[0], target=ends[1], drawn=drawn)
