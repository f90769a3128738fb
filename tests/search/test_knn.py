"""The nearest-neighbour search against references that share no code with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.knn_reference import judge, nearest_by_vertices

from whence.explain.question import Answer, InputMap, Limits, Question
from whence.explain.space import Space
from whence.risk import CVaR, Expectation, Risk
from whence.search.knn import explain
from whence.weights import KNNWeights

Floats = NDArray[np.float64]

#: c continuous, o continuous with the start outside its bounds, d discrete, b binary, k category, f fixed.
SHAPES = [
    "c",
    "cc",
    "cb",
    "cd",
    "ck",
    "db",
    "bbbb",
    "kb",
    "dk",
    "ccb",
    "ckb",
    "cdd",
    "o",
    "oc",
    "ob",
    "cf",
    "ccf",
    "kk",
    "bbk",
]


def _numbers(rng: np.random.Generator, shape: Any, lattice: bool) -> Floats:
    return np.round(rng.random(shape) * 4) / 4 if lattice else rng.random(shape)


class _Coordinates:
    """Columns of past contexts and the space they span, feature by feature."""

    def __init__(self, rng: np.random.Generator, n: int, lattice: bool, weighted: bool) -> None:
        self.rng, self.n, self.lattice, self.weighted = rng, n, lattice, weighted
        self.columns: list[Floats] = []
        self.rows: list[tuple[float, float, float, Floats | None, float, int]] = []

    def add(self, kind: str, number: int) -> None:
        rng, n = self.rng, self.n
        weight = float(rng.uniform(0.3, 3.0)) if self.weighted else 1.0
        if kind == "k":
            levels = 3
            held, start = rng.integers(levels, size=n), int(rng.integers(levels))
            banned = int(rng.integers(levels)) if rng.random() < 0.3 else -1
            for level in range(levels):
                allowed = np.array([0.0]) if level == banned != start else np.array([0.0, 0.5])
                self.columns.append(0.5 * (held == level))
                self.rows.append((0.5 * (start == level), allowed[0], allowed[-1], allowed, weight, number))
            return
        if kind in "bd":
            values = np.array([0.0, 1.0]) if kind == "b" else np.array([0.0, 0.3, 0.55, 1.0])
            self.columns.append(rng.choice(values, n))
            start = float(rng.choice(values))
            self.rows.append((start, values[0], values[-1], values, weight, -1))
            return
        self.columns.append(_numbers(rng, n, self.lattice))
        start = float(_numbers(rng, 1, self.lattice)[0])
        low, high = 0.0, 1.0
        if kind == "f":
            low = high = start
        elif kind == "o":
            start, low, high = (0.1, 0.35, 0.9) if rng.random() < 0.5 else (0.95, 0.05, 0.6)
        elif rng.random() < 0.2:
            low = start
        self.rows.append((start, low, high, None, weight, -1))

    def space(self) -> tuple[Floats, Space]:
        start, low, high, levels, weight, group = zip(*self.rows, strict=True)
        space = Space(
            np.array(start),
            np.array(low),
            np.array(high),
            tuple(levels),
            np.array(weight),
            np.array(group, dtype=np.int64),
        )
        return np.column_stack(self.columns), space


def ask(
    points: Floats, space: Space, k: int, alternative: Floats, rivals: Sequence[Floats], risk: Risk,
    kind: Any = "relative", separation: float = 1e-6, **limits: Any,
) -> Question:  # fmt: skip
    """A question whose only plans are the alternative and the rivals; the first rival is the decision."""
    tau = 1e-6 * float(np.abs(alternative).max())

    def better(weights: Floats) -> Floats | None:
        cost = risk.of(alternative, weights)
        best = min(rivals, key=lambda rival: risk.of(rival, weights))
        return best if cost > risk.of(best, weights) + tau else None

    d = points.shape[1]
    return Question(
        space, KNNWeights(k).fit(points), InputMap(np.arange(d), np.ones(d), np.zeros(d)), alternative, rivals[0], risk,
        kind, tau, separation, better, Limits(**limits),
    )  # fmt: skip


def random_case(seed: int, shape: str | None = None, most: int = 8) -> tuple[Question, list[Floats]]:
    """A small question and the rivals the alternative must stand against."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)] if shape is None else shape
    n = int(rng.integers(3, most + 1))
    coordinates = _Coordinates(rng, n, lattice=rng.random() < 0.3, weighted=rng.random() < 0.4)
    for number, kind in enumerate(shape):
        coordinates.add(kind, number)
    points, space = coordinates.space()
    if rng.random() < 0.2:
        points[n // 2 :] = points[: n - n // 2]
    k = int(rng.choice([1, n - 1, int(rng.integers(1, n))]))
    risk: Risk = CVaR(float(rng.choice([0.3, 0.5, 0.8, 0.95]))) if rng.random() < 0.5 else Expectation()
    kind = "absolute" if rng.random() < 0.5 else "relative"
    alternative = rng.random(n) + rng.choice([-0.2, 0.0, 0.2])
    rivals = [rng.random(n) for _ in range(int(rng.integers(1, 5)))]
    separation = float(rng.choice([1e-6, 1e-6, 1e-3, 0.037]))
    question = ask(points, space, k, alternative, rivals, risk, kind, separation)
    return question, rivals if kind == "absolute" else rivals[:1]


def assert_stands(question: Question, answer: Answer, rivals: Sequence[Floats]) -> None:
    """The context is allowed, separates its neighbours, and the alternative stands there."""
    assert answer.point is not None
    assert isinstance(question.weights, KNNWeights)
    assert question.space.contains(answer.point)
    assert answer.distance == pytest.approx(question.space.distance(answer.point), abs=1e-12)
    distance = np.abs(question.weights.points_ - answer.point).sum(axis=1)
    order = np.argsort(distance)
    k = question.weights.k
    assert distance[order[k]] - distance[order[k - 1]] >= question.separation
    assert judge(question, rivals)(order[:k])


def assert_agrees(question: Question, rivals: Sequence[Floats], expected: float) -> None:
    """The search proves the reference's distance."""
    answer = explain(question)
    if expected == np.inf:
        assert answer.status == "none"
        assert answer.point is None
        assert answer.distance == answer.bound == np.inf
    else:
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(expected, abs=1e-6)
        assert answer.bound == pytest.approx(answer.distance, abs=1e-9)
        assert_stands(question, answer, rivals)


@pytest.mark.parametrize("block", range(60))
def test_agrees_with_every_vertex(block: int) -> None:
    """On small questions of every kind the distance is that of the best vertex of the arrangement."""
    for seed in range(20 * block, 20 * block + 20):
        question, rivals = random_case(seed)
        assert_agrees(question, rivals, nearest_by_vertices(question, rivals))
