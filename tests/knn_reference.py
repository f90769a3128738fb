"""Independent references for nearest-neighbour explanations: every vertex of an arrangement, and an integer program.

Neither shares code with the search. Both take a question and answer its nearest distance, infinite for none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from whence.question import Question
from whence.risk import CVaR, Expectation
from whence.weights import KNNWeights
from whence.weights.plausibility import Nearby

Floats = NDArray[np.float64]

#: Allowance on the separation: vertices lie exactly on it.
SLACK = 1e-9
#: Rounding of a distance.
TINY = 1e-12


def risk_over(costs: Floats, risk: Any) -> float:
    """Risk of equally likely costs."""
    if isinstance(risk, Expectation):
        return float(np.mean(costs))
    assert isinstance(risk, CVaR)
    left = (1.0 - risk.alpha) * len(costs)
    total, tail = 0.0, left
    for cost in sorted(costs, reverse=True):
        share = min(1.0, left)
        total += share * cost
        left -= share
    return total / tail


def judge(
    question: Question, rivals: Sequence[Floats], mass: Floats | None = None
) -> Callable[[NDArray[np.int64]], bool]:
    """Whether the alternative stands against all rivals when these observations speak, alike or by their mass."""

    def holds(members: NDArray[np.int64]) -> bool:
        if mass is not None:
            cost = np.average(question.claim.alternative[members], weights=mass[members])
            return all(
                cost <= np.average(rival[members], weights=mass[members]) + question.claim.tau for rival in rivals
            )
        cost = risk_over(question.claim.alternative[members], question.claim.risk)
        if any(cost > risk_over(rival[members], question.claim.risk) + question.claim.tau for rival in rivals):
            return False
        # By standard errors, the decision counts, and of all others the best plan there.
        best = min(rivals, key=lambda rival: risk_over(rival[members], question.claim.risk))
        return all(_doubtful(question, members, rival) <= question.claim.tau for rival in (rivals[0], best))

    return holds


def _doubtful(question: Question, members: NDArray[np.int64], rival: Floats) -> float:
    """By how much the alternative loses to a rival over these observations, with as many standard errors as asked."""
    if question.claim.kappa == 0.0 or len(members) == 1:
        return -np.inf
    mine, others = (_said(costs[members], question.claim.risk) for costs in (question.claim.alternative, rival))
    gaps = [a - b for a, b in zip(mine, others, strict=True)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / (len(gaps) - 1)
    return mean + question.claim.kappa * float(np.sqrt(variance / len(gaps)))


def _said(costs: Floats, risk: Any) -> list[float]:
    """What each of some observations says of the risk; of a tail, from where it begins for all of them."""
    if isinstance(risk, Expectation):
        return [float(cost) for cost in costs]
    tail, k = 1.0 - risk.alpha, len(costs)
    begins = next(float(cost) for i, cost in enumerate(sorted(costs)) if k - 1 - i <= tail * k + TINY * k)
    return [begins + max(float(cost) - begins, 0.0) / tail for cost in costs]


# ---- every vertex of the arrangement ------------------------------------------------------------


def _choices(question: Question) -> tuple[list[int], Iterator[Floats]]:
    """Continuous coordinates, and every way to fill the others."""
    space = question.space
    grouped = [np.flatnonzero(space.group == g) for g in np.unique(space.group[space.group >= 0])]
    moves = (space.lower < space.upper) | (space.lower != space.start)
    free = [j for j in range(len(space.start)) if space.group[j] < 0 and space.levels[j] is None and moves[j]]
    discrete = [j for j in range(len(space.start)) if space.group[j] < 0 and space.levels[j] is not None]
    parts: list[tuple[list[int], list[Floats]]] = []
    for j in discrete:
        levels = space.levels[j]
        assert levels is not None
        inside = [v for v in levels if space.lower[j] <= v <= space.upper[j] or v == space.start[j]]
        parts.append(([j], [np.array([v]) for v in inside]))
    for members in grouped:
        rows = [0.5 * row for row in np.eye(len(members))]
        parts.append((list(members), rows))

    def fill() -> Iterator[Floats]:
        for combination in itertools.product(*(rows for _, rows in parts)):
            point = space.start.copy()
            for (where, _), values in zip(parts, combination, strict=True):
                point[where] = values
            if space.allows(point).all() and (space.rules is None or space.rules.keeps(point)):
                yield point

    return free, fill()


def _cells(question: Question, j: int) -> list[tuple[float, float]]:
    """Intervals of a continuous coordinate between past contexts and the start, and the start itself."""
    space = question.space
    start, low, high = float(space.start[j]), float(space.lower[j]), float(space.upper[j])
    if low > high:
        return [(start, start)]
    assert isinstance(question.weights, KNNWeights)
    marks = np.unique(np.concatenate([question.weights.points_[:, j], [start, low, high]]))
    marks = marks[(marks >= low) & (marks <= high)]
    cells = [(float(a), float(b)) for a, b in itertools.pairwise(marks)] or [(low, low)]
    return cells if low <= start <= high else [*cells, (start, start)]


def _vertices(
    here: Floats, slope: Floats, lows: Floats, highs: Floats, separation: float, widest: float = np.inf
) -> Floats:
    """Corners of the cell, and where lines of equal distance (up to the separation) meet them or each other.

    Where only contexts within some distance of their neighbours count, so do the lines at that distance.
    """
    c = len(lows)
    n = len(here)
    rows = [(np.eye(c)[j], side[j]) for j in range(c) for side in (lows, highs)]
    first, second = np.array([(a, b) for a in range(n) for b in range(n) if a != b]).T
    normals = np.vstack([np.array([r for r, _ in rows]), slope[first] - slope[second]])
    limits = np.concatenate([[v for _, v in rows], here[second] - here[first] - separation])
    if np.isfinite(widest):
        normals, limits = np.vstack([normals, slope]), np.concatenate([limits, widest - here])
    keep = np.abs(normals).sum(axis=1) > 0
    lines = np.unique(np.column_stack([normals[keep], limits[keep]]), axis=0)
    normals, limits = lines[:, :c], lines[:, c]
    if c == 1:
        return (limits / normals[:, 0])[:, None]
    i, j = np.triu_indices(len(limits), 1)
    det = normals[i, 0] * normals[j, 1] - normals[i, 1] * normals[j, 0]
    ok = np.abs(det) > 1e-9
    i, j, det = i[ok], j[ok], det[ok]
    x = (limits[i] * normals[j, 1] - limits[j] * normals[i, 1]) / det
    y = (normals[i, 0] * limits[j] - normals[j, 0] * limits[i]) / det
    return np.column_stack([x, y])


def _moved(question: Question, j: int, values: Floats) -> Floats:
    """Return the distance of values of a coordinate from the start."""
    return np.abs(values - question.space.start[j]) * question.space.weight[j]


def nearest_by_vertices(question: Question, rivals: Sequence[Floats], mass: Floats | None = None) -> float:
    """Nearest distance by checking every vertex; at most two continuous coordinates."""
    space, estimator = question.space, question.weights
    assert isinstance(estimator, KNNWeights)
    points, k = estimator.points_, estimator.k
    widest = question.space.plausibility.widest if isinstance(question.space.plausibility, Nearby) else np.inf
    holds = judge(question, rivals, mass)
    known: dict[bytes, bool] = {}
    free, fillings = _choices(question)
    best = np.inf
    for filled in fillings:
        rest = [j for j in range(len(space.start)) if j not in free]
        base = np.abs(points[:, rest] - filled[rest]).sum(axis=1)
        least = float(sum(_moved(question, j, filled[[j]]).item() for j in rest))
        for cell in itertools.product(*(_cells(question, j) for j in free)):
            lows, highs = np.array([a for a, _ in cell]), np.array([b for _, b in cell])
            if not free:
                candidates = np.empty((1, 0))
            else:
                sign = np.where(points[:, free] <= lows, 1.0, -1.0)
                here = base - (sign * points[:, free]).sum(axis=1)
                candidates = _vertices(here, sign, lows, highs, question.settings.separation, widest)
                candidates = candidates[((candidates >= lows - 1e-12) & (candidates <= highs + 1e-12)).all(axis=1)]
            extra = np.full(len(candidates), least)
            for place, j in enumerate(free):
                extra += _moved(question, j, candidates[:, place])
            candidates, extra = candidates[extra < best], extra[extra < best]
            if not len(extra):
                continue
            distance = base + np.abs(candidates[:, None, :] - points[None, :, free]).sum(axis=2)
            order = np.argsort(distance, axis=1)
            ranked = np.take_along_axis(distance, order, axis=1)
            clear = ranked[:, k] - ranked[:, k - 1] >= question.settings.separation - SLACK
            clear &= ranked[:, k - 1] <= widest + TINY
            for at in np.argsort(extra):
                if clear[at] and extra[at] < best:
                    members = np.sort(order[at, :k])
                    key = members.tobytes()
                    if key not in known:
                        known[key] = holds(members)
                    if known[key]:
                        best = float(extra[at])
                        break
    return best


# ---- the integer program ------------------------------------------------------------------------


def nearest_by_milp(question: Question, rivals: Sequence[Floats]) -> float:
    """Nearest distance by an integer program over continuous coordinates; expected cost only.

    Variables: context x, changes e, memberships s, radius r, and for each past context and coordinate the
    absolute difference t with a binary for its sign. The binaries found are fixed and the rest solved again.
    """
    space, estimator = question.space, question.weights
    assert isinstance(estimator, KNNWeights)
    assert isinstance(question.claim.risk, Expectation)
    points, k = estimator.points_, estimator.k
    n, d = points.shape
    x, e, s, r = np.arange(d), d + np.arange(d), 2 * d + np.arange(n), 2 * d + n
    t = r + 1 + np.arange(n * d).reshape(n, d)
    b = t[-1, -1] + 1 + np.arange(n * d).reshape(n, d)
    total = int(b[-1, -1]) + 1
    low, high = np.full(total, 0.0), np.full(total, np.inf)
    low[x], high[x] = np.minimum(space.lower, space.start), np.maximum(space.upper, space.start)
    high[s] = 1.0
    high[b] = 1.0
    big = np.maximum(np.abs(points - low[x]), np.abs(points - high[x]))
    reach = float(big.sum(axis=1).max()) + question.settings.separation
    high[r] = reach
    rows: list[tuple[dict[int, float], float]] = []
    for j in range(d):
        rows.append(({x[j]: 1.0, e[j]: -1.0}, space.start[j]))
        rows.append(({x[j]: -1.0, e[j]: -1.0}, -space.start[j]))
    for i in range(n):
        for j in range(d):
            p = float(points[i, j])
            rows.append(({x[j]: 1.0, t[i, j]: -1.0}, p))
            rows.append(({x[j]: -1.0, t[i, j]: -1.0}, -p))
            rows.append(({t[i, j]: 1.0, x[j]: -1.0, b[i, j]: 2.0 * big[i, j]}, -p + 2.0 * big[i, j]))
            rows.append(({t[i, j]: 1.0, x[j]: 1.0, b[i, j]: -2.0 * big[i, j]}, p))
        total_distance = {int(c): 1.0 for c in t[i]}
        rows.append(({**total_distance, r: -1.0, s[i]: 2 * reach}, 2 * reach))
        rows.append(({**dict.fromkeys(total_distance, -1.0), r: 1.0, s[i]: -2 * reach}, -question.settings.separation))
    for rival in rivals:
        rows.append(({int(s[i]): question.claim.alternative[i] - rival[i] for i in range(n)}, k * question.claim.tau))
    matrix = np.zeros((len(rows) + 1, total))
    for at, (row, _) in enumerate(rows):
        for column, value in row.items():
            matrix[at, column] = value
    matrix[-1, s] = 1.0
    upper = np.array([limit for _, limit in rows] + [k])
    lower = np.concatenate([np.full(len(rows), -np.inf), [k]])
    cost = np.zeros(total)
    cost[e] = space.weight
    integrality = np.zeros(total)
    integrality[s] = integrality[b] = 1
    result = milp(
        cost, integrality=integrality, bounds=Bounds(low, high), constraints=LinearConstraint(matrix, lower, upper)
    )
    if result.x is None:
        assert result.status == 2, result.message
        return np.inf
    low[s] = high[s] = np.round(result.x[s])
    low[b] = high[b] = np.round(result.x[b])
    again = milp(cost, bounds=Bounds(low, high), constraints=LinearConstraint(matrix, lower, upper))
    return float(again.fun if again.x is not None else result.fun)
