"""Small random questions, and their answers by enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from whence.explain.question import InputMap, Limits, Question
from whence.explain.space import Space
from whence.features import Continuous, Discrete, Schema
from whence.risk import CVaR, Expectation
from whence.weights import ForestWeights, KNNWeights

TOLERANCE = 1e-6


@dataclass
class Case:
    """A question, with the sample costs of every plan there is."""

    question: Question
    plans: np.ndarray


def table(rng: np.random.Generator, n: int, kinds: str) -> pd.DataFrame:
    """Random contexts; `kinds` has one letter a feature: number, integer levels, category, binary."""
    columns: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        if kind == "c":
            columns[f"x{j}"] = rng.normal(size=n).round(3)
        elif kind == "d":
            columns[f"x{j}"] = rng.integers(0, 4, size=n)
        elif kind == "k":
            columns[f"x{j}"] = rng.choice(["red", "green", "blue"], size=n)
        else:
            columns[f"x{j}"] = rng.integers(0, 2, size=n)
    return pd.DataFrame(columns)


def fresh(rng: np.random.Generator, X: pd.DataFrame, kinds: str) -> pd.Series:
    """A context whose numbers may lie outside the training range, and whose categories have been seen."""
    row = {name: X[name].iloc[rng.integers(len(X))] for name in X}
    row.update({f"x{j}": round(float(rng.normal()), 3) for j, kind in enumerate(kinds) if kind == "c"})
    return pd.Series(row, dtype=object)


def schema_of(rng: np.random.Generator, X: pd.DataFrame, kinds: str) -> Schema:
    """A schema with, now and then, a feature that may only grow, may not change or has a weight."""
    schema = Schema.infer(X)
    overrides = {}
    for j, kind in enumerate(kinds):
        if rng.random() < 0.4 and kind in "cd":
            how = {"change": rng.choice(["free", "increase", "decrease", "fixed"]), "weight": float(rng.integers(1, 4))}
            overrides[f"x{j}"] = Continuous(**how) if kind == "c" else Discrete(range(4), **how)
    return Schema.infer(X, **overrides).fit(X) if overrides else schema.fit(X)


def case(
    seed: int,
    *,
    weights: str = "forest",
    kind: str = "relative",
    alpha: float | None = None,
    kinds: str = "cc",
    n: int = 14,
    trees: int = 4,
    depth: int = 2,
    k: int = 3,
    n_plans: int = 4,
    **options: Any,
) -> Case:
    """A random question whose plans are a list."""
    rng = np.random.default_rng(seed)
    X = table(rng, n, kinds)
    schema = schema_of(rng, X, kinds)
    points = schema.encode(X)
    slopes = rng.normal(size=(n_plans, points.shape[1]))
    costs = (5.0 + 3.0 * slopes @ (points - points.mean(axis=0)).T + rng.normal(size=(n_plans, n))).round(2)
    start = schema.row(fresh(rng, X, kinds))
    if weights == "forest":
        fitted: Any = ForestWeights(n_trees=trees, max_depth=depth, random_state=seed).fit(points, costs.T)
    else:
        fitted = KNNWeights(k=k).fit(points)
    return assemble(schema.space(start), fitted, costs, kind, Expectation() if alpha is None else CVaR(alpha), options)


def assemble(space: Space, fitted: Any, costs: np.ndarray, kind: str, risk: Any, options: dict[str, Any]) -> Case:
    """A question in which the best plan at the start is to be explained against the last of the others."""
    at_start = [risk.of(c, fitted.at(space.start)) for c in costs]
    best = int(np.argmin(at_start))
    alternative = costs[[i for i in range(len(costs)) if i != best][-1]]
    tau = TOLERANCE * float(np.abs(alternative).max())

    def better(w: np.ndarray) -> np.ndarray | None:
        values = [risk.of(c, w) for c in costs]
        least = int(np.argmin(values))
        return costs[least] if values[least] < risk.of(alternative, w) - tau else None

    d = space.start.size
    inputs = InputMap(np.arange(d), np.ones(d), np.zeros(d))
    question = Question(
        space, fitted, inputs, alternative, costs[best], risk, kind, tau, 1e-6, better, Limits(), options
    )
    return Case(question, costs)


def nearest(question: Question) -> float:
    """Distance of the nearest explanation of a forest question, over every cell; infinite where there is none."""
    points = grid(question)
    distances = np.abs(points - question.space.start) @ question.space.weight
    order = np.argsort(distances, kind="stable")
    inputs = question.inputs
    weights = all_weights(question.weights, points[order][:, inputs.coordinate] * inputs.scale + inputs.offset)
    verdicts: dict[bytes, bool] = {}
    for distance, w in zip(distances[order], weights, strict=True):
        key = w.tobytes()
        if key not in verdicts:
            verdicts[key] = question.holds(w) if question.kind == "relative" else question.better(w) is None
        if verdicts[key]:
            return float(distance)
    return np.inf


def grid(question: Question) -> np.ndarray:
    """At least one nearest point of every cell of the forest that the space allows."""
    space, inputs = question.space, question.inputs
    choices: list[list[tuple[float, ...]]] = []
    for g in dict.fromkeys(space.group.tolist()):
        members = np.flatnonzero(space.group == g)
        if g >= 0:
            rows = [tuple(row) for row in np.eye(members.size) / 2]
            allowed = [np.append(space.levels[j], space.start[j]) for j in members]
            choices.append([r for r in rows if all(v in a for v, a in zip(r, allowed, strict=True))])
            continue
        for j in members:
            choices.append([(float(v),) for v in values(question, int(j), inputs)])
    order = [np.flatnonzero(space.group == g) for g in dict.fromkeys(space.group.tolist()) if g >= 0]
    numbers = [np.array([j]) for j in np.flatnonzero(space.group < 0)]
    firsts = list(dict.fromkeys(space.group.tolist()))
    slots: list[np.ndarray] = []
    grouped = iter(order)
    for g in firsts:
        slots += numbers if g < 0 else [next(grouped)]
    points = np.empty((int(np.prod([len(c) for c in choices])), space.start.size))
    for r, chosen in enumerate(product(*choices)):
        for slot, value in zip(slots, chosen, strict=True):
            points[r, slot] = value
    return points


def values(question: Question, j: int, inputs: InputMap) -> np.ndarray:
    """Allowed values of a numeric coordinate, both sides of every threshold among them."""
    space = question.space
    if space.levels[j] is not None:
        return np.unique(np.append(space.levels[j], space.start[j]))
    found = [space.lower[j], space.upper[j]]
    for c in np.flatnonzero(inputs.coordinate == j):
        for tree in question.weights.trees:
            for threshold in tree.threshold[tree.feature == c]:
                below = np.float32(threshold)
                if below > threshold:
                    below = np.nextafter(below, np.float32(-np.inf))
                for side in (below, np.nextafter(below, np.float32(np.inf))):
                    found.append((float(side) - inputs.offset[c]) / inputs.scale[c])
    found = [v for v in found if space.lower[j] <= v <= space.upper[j]]
    return np.unique([*found, space.start[j]])


def all_weights(forest: ForestWeights, rows: np.ndarray) -> np.ndarray:
    """Weights of a forest at many points, by scikit-learn's own `apply`."""
    seen = rows.astype(np.float32)
    total = np.zeros((len(rows), forest.n_samples_))
    for t, tree in enumerate(forest.trees):
        member = np.zeros((tree.node_count, forest.n_samples_))
        node_of = np.repeat(np.arange(tree.node_count), forest.members_.size[t])
        member[node_of, forest.members_.order[t]] = 1.0
        member /= np.maximum(member.sum(axis=1, keepdims=True), 1.0)
        total += member[tree.apply(seen)]
    return total / len(forest.trees)


def nearest_by_neighbours(question: Question) -> float:
    """Distance of the nearest explanation of a neighbour question, over every segment and every set of neighbours."""
    space, points, k = question.space, question.weights.points_, int(question.weights.k)
    verdict = {}
    for chosen in combinations(range(len(points)), k):
        w = np.zeros(len(points))
        w[list(chosen)] = 1.0 / k
        verdict[chosen] = question.holds(w) if question.kind == "relative" else question.better(w) is None
    boxes = sorted(segments(question), key=lambda box: reach(space, *box))
    best = np.inf
    for low, high in boxes:
        if reach(space, low, high) >= best:
            break
        middle = (low + high) / 2
        sign = np.where(middle >= points, 1.0, -1.0)
        least = np.abs(np.clip(points, low, high) - points).sum(axis=1)
        most = np.maximum(np.abs(points - low), np.abs(points - high)).sum(axis=1)
        for chosen, good in verdict.items():
            inside = np.isin(np.arange(len(points)), chosen)
            if good and least[inside].max() <= most[~inside].min() and most[~inside].min() >= least[inside].max():
                best = min(best, closest(question, low, high, sign, inside))
    return best


def reach(space: Space, low: np.ndarray, high: np.ndarray) -> float:
    """Distance of the start from a box."""
    return float(np.abs(np.clip(space.start, low, high) - space.start) @ space.weight)


def segments(question: Question) -> list[tuple[np.ndarray, np.ndarray]]:
    """Boxes that cover the space, with no sample's coordinate and no start inside."""
    space, points = question.space, question.weights.points_
    slots: list[tuple[np.ndarray, list[tuple[Any, Any]]]] = []
    for g in dict.fromkeys(space.group.tolist()):
        members = np.flatnonzero(space.group == g)
        if g >= 0:
            rows = list(np.eye(members.size) / 2)
            allowed = [np.append(space.levels[j], space.start[j]) for j in members]
            rows = [r for r in rows if all(v in a for v, a in zip(r, allowed, strict=True))]
            slots.append((members, [(r, r) for r in rows]))
            continue
        for j in members:
            start, lower, upper = space.start[j], space.lower[j], space.upper[j]
            if space.levels[j] is not None:
                slots.append((np.array([j]), [(v, v) for v in np.append(space.levels[j], start)]))
                continue
            marks = np.concatenate((points[:, j], [lower, upper, start]))
            marks = np.unique(marks[(marks >= lower) & (marks <= upper)])
            slots.append((np.array([j]), [*pairwise(marks), (start, start), (lower, lower)]))
    found = []
    for chosen in product(*(options for _, options in slots)):
        low, high = space.start.copy(), space.start.copy()
        for (at, _), (first, last) in zip(slots, chosen, strict=True):
            low[at], high[at] = first, last
        found.append((low, high))
    return found


def closest(question: Question, low: np.ndarray, high: np.ndarray, sign: np.ndarray, inside: np.ndarray) -> float:
    """Distance to the nearest point of a box whose neighbours are those `inside`, by a linear program."""
    space, points = question.space, question.weights.points_
    d = space.start.size
    constant = -(sign * points).sum(axis=1)
    # Variables: the point and a radius.
    within = np.column_stack((sign[inside], -np.ones(inside.sum())))
    beyond = np.column_stack((-sign[~inside], np.ones((~inside).sum())))
    away = np.where((low + high) / 2 >= space.start, 1.0, -1.0) * space.weight
    found = linprog(
        np.append(away, 0.0),
        A_ub=np.vstack((within, beyond)),
        b_ub=np.concatenate((-constant[inside], constant[~inside] - question.separation)),
        bounds=[*zip(low, high, strict=True), (0, None)],
    )
    return float(found.fun - away[:d] @ space.start) if found.status == 0 else np.inf
