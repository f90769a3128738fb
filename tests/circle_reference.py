"""Nearest explanations among neighbours where numbers go round, by brute force: every vertex of the lines that matter.

Written from the definitions alone. Along a circle the distance from a past context turns there and opposite of it, and
the distance from the start does so too: between all these it is linear.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.asking import varied
from tests.knn_reference import SLACK, TINY, _choices, _vertices, judge
from tests.search.test_neighbour_search import random_case

from whence.engines import engine_named
from whence.question import Question
from whence.weights import KNNWeights
from whence.weights.plausibility import Nearby

Floats = NDArray[np.float64]

#: Shapes of random cases with a number that may go round.
SHAPES = ["c", "cc", "cb", "cd", "ck", "d", "dd", "db", "o", "oc", "cf", "ccb"]


def round_gap(x: Floats, y: Floats | float, period: float | None) -> Floats:
    """How far numbers are apart, the short way round where there is a period."""
    straight = np.abs(x - y)
    if period is None:
        return straight
    return np.min([straight, np.abs(x - y + period), np.abs(x - y - period)], axis=0)


def _marks(question: Question, points: Floats, j: int, period: float | None) -> list[tuple[float, float]]:
    space = question.space
    start, low, high = float(space.start[j]), float(space.lower[j]), float(space.upper[j])
    if low > high:
        return [(start, start)]
    turns = np.append(points[:, j], start)
    if period is not None:
        turns = np.concatenate([turns, turns - period / 2, turns + period / 2])
    marks = np.unique(np.concatenate([turns, [low, high]]))
    marks = marks[(marks >= low) & (marks <= high)]
    cells = [(float(a), float(b)) for a, b in itertools.pairwise(marks)] or [(low, low)]
    return cells if low <= start <= high else [*cells, (start, start)]


def nearest_round(question: Question, rivals: Sequence[Floats], circles: Mapping[int, float]) -> float:
    """Nearest distance by checking every vertex; at most two continuous coordinates."""
    space, estimator = question.space, question.weights
    assert isinstance(estimator, KNNWeights)
    points, k, d = estimator.points_, estimator.k, len(space.start)
    widest = question.space.plausibility.widest if isinstance(question.space.plausibility, Nearby) else np.inf
    holds = judge(question, rivals)

    def far(contexts: Floats) -> Floats:
        gaps = [round_gap(contexts[:, None, j], points[None, :, j], circles.get(j)) for j in range(d)]
        return np.sum(gaps, axis=0)

    def away(contexts: Floats) -> Floats:
        gaps = [space.weight[j] * round_gap(contexts[:, j], space.start[j], circles.get(j)) for j in range(d)]
        return np.sum(gaps, axis=0)

    free, fillings = _choices(question)
    best = np.inf
    for filled in fillings:
        for cell in itertools.product(*(_marks(question, points, j, circles.get(j)) for j in free)):
            lows, highs = np.array([a for a, _ in cell]), np.array([b for _, b in cell])
            contexts = np.tile(filled, (1, 1))
            if free:
                corners = np.tile(filled, (1 + len(free), 1))
                corners[:, free] = lows
                for i, j in enumerate(free):
                    corners[1 + i, j] = highs[i]
                values = far(corners)
                width = np.where(highs > lows, highs - lows, 1.0)
                slope = ((values[1:] - values[0]) / width[:, None]).T
                here = values[0] - slope @ lows
                found = _vertices(here, slope, lows, highs, question.settings.separation, widest)
                found = found[((found >= lows - 1e-12) & (found <= highs + 1e-12)).all(axis=1)]
                contexts = np.tile(filled, (len(found), 1))
                contexts[:, free] = found
            extra = away(contexts)
            contexts, extra = contexts[extra < best], extra[extra < best]
            if not len(extra):
                continue
            distance = far(contexts)
            order = np.argsort(distance, axis=1)
            ranked = np.take_along_axis(distance, order, axis=1)
            clear = ranked[:, k] - ranked[:, k - 1] >= question.settings.separation - SLACK
            clear &= ranked[:, k - 1] <= widest + TINY
            for at in np.argsort(extra):
                if clear[at] and extra[at] < best and holds(np.sort(order[at, :k])):
                    best = float(extra[at])
                    break
    return best


def circle_case(seed: int) -> tuple[Question, list[Any], dict[int, float]]:
    question, rivals = random_case(seed, shape=SHAPES[seed % len(SHAPES)], most=6)
    rng = np.random.default_rng([seed, 7])
    space, before = question.space, question.weights
    assert isinstance(before, KNNWeights)
    numbers = [j for j in range(len(space.start)) if space.group[j] < 0 and (space.levels[j] is None or j == 0)]
    round_ones = [j for j in numbers if rng.random() < 0.7] or numbers[:1]
    circles = {j: float(rng.choice([1.0, 1.04, 1.25, 1.6])) for j in round_ones}
    weights = KNNWeights(before.k)
    weights.take_circles(circles)
    weights.fit(before.points_)
    plausible = None
    if rng.random() < 0.25:
        plausible = Nearby(before.points_, int(before.k), float(rng.choice([0.3, 0.6, 1.0])), circles)
    space = varied(space, circles=circles)
    return varied(question, weights=weights, space=space, plausibility=plausible), rivals, circles


def circle_disagreement(seed: int, engine: str = "search") -> str:
    """What is wrong with the answer to the question of `seed`; empty where nothing is."""
    question, rivals, circles = circle_case(seed)
    expected = nearest_round(question, rivals, circles)
    answer = engine_named(engine).answer(question)
    if expected == np.inf or answer.point is None:
        same = expected == np.inf and answer.status == "none"
        return "" if same else f"{answer.status} at {answer.distance!r}, brute force {expected!r}"
    if answer.status != "optimal" or abs(answer.distance - expected) > 1e-6:
        return f"{answer.status} at {answer.distance!r}, brute force {expected!r}"
    weights = question.weights
    assert isinstance(weights, KNNWeights)
    gaps = [round_gap(weights.points_[:, j], answer.point[j], circles.get(j)) for j in range(len(answer.point))]
    distance = np.sum(gaps, axis=0)
    order = np.argsort(distance)
    clear = distance[order[weights.k]] - distance[order[weights.k - 1]] >= question.settings.separation - 1e-9
    stands = question.space.contains(answer.point) and judge(question, rivals)(order[: weights.k])
    return "" if clear and stands else f"{answer.point} is no explanation"
