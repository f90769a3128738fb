"""What the search's Python does around the core, each part by itself."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor
from tests.cases import Case, OneOf, cases
from tests.core.forest_cells import ForestScene, scenes
from tests.search.test_knn import ask, random_case

from whence import Expectation, ForestWeights, Policy
from whence._core import AxisKind
from whence.question import Question, Space
from whence.search import criteria, driver
from whence.search.forest import ForestFrontier, explain
from whence.search.grid import grid_of, leaf_means
from whence.search.knn import NeighbourFrontier
from whence.search.knn_axes import Layout
from whence.search.knn_seeds import Seeds
from whence.search.proposals import past_cells

Floats = np.ndarray[Any, np.dtype[np.float64]]


# ---- grid and criteria ---------------------------------------------------------------------------------


def test_a_cut_is_the_last_float32_at_or_below_its_threshold() -> None:
    """Trees compare float32 values with double thresholds: a value at the cut goes left, the next one goes right."""
    checked = 0
    for scene, _ in scenes(12):
        start = scene.kept.face_start
        for tree in scene.policy.weights_.trees:
            for column, threshold in zip(tree.feature, tree.threshold, strict=True):
                if column < 0:
                    continue
                cuts = scene.kept.cut[start[column] : start[column + 1]]
                above = np.nextafter(cuts, np.float32(np.inf))
                at = np.flatnonzero((cuts.astype(float) <= threshold) & (above.astype(float) > threshold))
                assert at.size == 1
                checked += 1
    assert checked > 100


def test_a_threshold_that_rounds_up_to_the_next_float32_is_cut_below_it() -> None:
    """Values of the float32 above such a threshold go right, as in the tree."""
    threshold = float(np.nextafter(np.float32(0.3), np.float32(1.0))) - 1e-12
    assert float(np.float32(threshold)) > threshold
    tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = threshold
    tree.tree_.__setstate__(state)
    policy = Policy(OneOf(), ForestWeights.of(tree), Expectation()).fit(np.array([[0.0], [1.0]]), np.eye(2))
    question = Case(0, policy, policy.schema_.row(np.array([0.0])), 0, 1).question()
    kept = grid_of(question)
    assert kept is not None
    assert kept.cut.tolist() == [float(np.nextafter(np.float32(threshold), np.float32(-1.0)))]


def test_past_contexts_at_a_cut_lie_below_it() -> None:
    """A past context whose value is the threshold itself goes left, in the tree and in its cell."""
    X = np.array([[0.25], [0.5], [0.75]])
    tree = DecisionTreeRegressor(max_depth=1).fit(X, [0.0, 0.0, 1.0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = 0.5
    tree.tree_.__setstate__(state)
    policy = Policy(OneOf(), ForestWeights.of(tree), Expectation()).fit(X, np.eye(3)[:, :2])
    question = Case(0, policy, policy.schema_.row(X[0]), 0, 1).question()
    kept = grid_of(question)
    assert kept is not None
    cells = past_cells(kept, policy.weights_)
    assert cells.tolist() == [[0], [0], [1]]
    leaves = [kept.grid.leaves_at(row).item() for row in cells]
    assert leaves[0] == leaves[1] != leaves[2]
    assert policy.weights_at(X[1]) == pytest.approx(policy.weights_at(X[0]))


def test_costs_that_differ_by_more_than_rounding_stay_apart() -> None:
    """Thresholds closer than a thousand times the rounding allowance, but farther than it, are still two."""
    costs = np.array([1.0, 1.0 + 1e-10, 2.0, 2.0 + 1e-14])
    etas, rank = criteria._distinct(costs)
    assert etas.tolist() == [1.0, 1.0 + 1e-10, 2.0]
    assert rank.tolist() == [0, 1, 2, 2]


def test_leaf_means_are_those_of_the_members() -> None:
    """The mean over every leaf's samples, divided by the number of trees."""
    for scene, rng in scenes(8):
        values = rng.normal(size=len(scene.policy.Y_))
        assert leaf_means(scene.kept, values) == pytest.approx(scene.members @ values / scene.grid.trees, abs=1e-12)


# ---- the forest's frontier -----------------------------------------------------------------------------


def _frontier(scene: ForestScene) -> ForestFrontier:
    frontier = ForestFrontier(scene.question, scene.kept)
    frontier.cut(scene.question.decision)
    return frontier


def _candidate(frontier: ForestFrontier) -> Floats | None:
    for _ in range(1000):
        point = frontier.advance(1000, np.inf)
        if point is not None or frontier.bound == np.inf:
            return point
        frontier.propose(np.inf)
    raise AssertionError("the search does not end")


def test_weights_and_room_around_a_candidate() -> None:
    """The frontier's weights are the policy's there, and stay so to the end of the room, but not beyond it."""
    rooms = 0
    for scene in (ForestScene(seed, "cc", plain=True, depth=4) for seed in range(24)):
        frontier = _frontier(scene)
        point = _candidate(frontier)
        if point is None:
            continue
        question = scene.question

        def weights(at: Floats, question: Question = question) -> Floats:
            rows = at[None, question.inputs.coordinate] * question.inputs.scale + question.inputs.offset
            return np.asarray(question.weights.weights(rows)[0])

        assert frontier.weights(point) == pytest.approx(weights(point), abs=1e-12)
        low, high = frontier.room(point) or (point, point)
        for corner in itertools.product(*zip(low, high, strict=True)):
            assert weights(np.array(corner)) == pytest.approx(weights(point), abs=1e-12)
        for q in range(len(point)):
            start, step = question.space.start[q], np.zeros(len(point))
            for end, sign in ((low, -1.0), (high, 1.0)):
                # Towards the far side of what moved the room ends where the weights, or the bounds, do.
                if (end[q] - start) * sign > 0.0 and end[q] != point[q]:
                    step[q] = sign * 1e-6
                    beyond = point.copy()
                    beyond[q] = end[q] + step[q]
                    outside = not question.space.lower[q] <= beyond[q] <= question.space.upper[q]
                    cells = scene.kept.cut[scene.kept.face_start[q] : scene.kept.face_start[q + 1]].astype(float)
                    inputs = question.inputs
                    ends = (cells - inputs.offset[q]) / inputs.scale[q]
                    assert outside or np.abs(ends - end[q]).min() < 1e-5
                    rooms += 1
    assert rooms > 10


# ---- the loop ------------------------------------------------------------------------------------------


class _Line:
    """A frontier whose contexts are the numbers 1, 2, ... on a line: some satisfy the cuts, one was proposed."""

    def __init__(self, candidate: float, proposal: float) -> None:
        self.at, self.proposal = candidate, proposal
        self.nodes, self.bound, self.asked = 0, 0.0, 0

    def cut(self, rival: Floats) -> None:
        self.asked += 1

    def exclude(self, point: Floats) -> None:
        raise AssertionError

    def advance(self, nodes: int, cutoff: float) -> Floats | None:
        self.nodes += 1
        self.bound = min(0.05 * self.nodes, self.at, cutoff)
        return np.array([self.at]) if self.bound >= self.at and self.at < cutoff else None

    def propose(self, cutoff: float) -> Floats | None:
        return np.array([self.proposal]) if self.proposal < cutoff else None

    def weights(self, point: Floats) -> Floats:
        return np.ones(1)

    def room(self, point: Floats) -> None:
        return None


@pytest.mark.parametrize(("candidate", "proposal", "expected"), [(0.95, 1.0, 0.95), (2.0, 1.0, 1.0), (0.3, 1.0, 0.3)])
def test_a_proposal_is_the_answer_only_once_nothing_nearer_is_left(
    candidate: float, proposal: float, expected: float
) -> None:
    """The loop goes on until the bound reaches the proposal itself, and then the proposal is what it returns."""
    question = cases(0, 1)[0].question()
    space = Space(np.zeros(1), np.zeros(1), np.full(1, 9.0), (None,), np.ones(1), np.full(1, -1))
    answer = driver.run(replace(question, space=space, kind="relative"), _Line(candidate, proposal))
    assert answer.status == "optimal"
    assert answer.point is not None
    assert (answer.point.tolist(), answer.distance, answer.bound) == ([expected], expected, expected)


def test_what_is_said_of_a_proposal_is_its_own_distance() -> None:
    """Stopped by a node limit, the answer is the proposal at its distance and the bound reached so far."""
    question = cases(0, 1)[0].question(node_limit=5)
    space = Space(np.zeros(1), np.zeros(1), np.full(1, 9.0), (None,), np.ones(1), np.full(1, -1))
    answer = driver.run(replace(question, space=space, kind="relative"), _Line(3.0, 1.0))
    assert (answer.status, answer.distance, answer.nodes) == ("time_limit", 1.0, 5)
    assert answer.bound == pytest.approx(0.25)


# ---- neighbours ----------------------------------------------------------------------------------------


def test_axes_measure_what_coordinates_do() -> None:
    """Distances to past contexts and to the start are the same along axes and coordinates, category or not."""
    categories = 0
    for seed in range(60):
        question, _ = random_case(seed, ["ck", "kk", "dkf", "cob"][seed % 4])
        points = question.weights.points_  # type: ignore[union-attr]
        layout = Layout.of(question.space, points, 1, 1e-6)
        axes, rng = layout.axes, np.random.default_rng(seed)
        for _ in range(10):
            at = np.array(
                [
                    float(rng.integers(axis.upper + 1)) if axis.kind is AxisKind.CATEGORY
                    else rng.choice(axis.levels) if axis.kind is AxisKind.DISCRETE
                    else rng.uniform(axis.lower, axis.upper)
                    for axis in axes.each
                ]
            )  # fmt: skip
            context = layout.to_coordinates(at)
            apart = np.abs(axes.points - at)
            whole = np.array([axis.kind is AxisKind.CATEGORY for axis in axes.each], dtype=bool)
            along = axes.base + np.where(whole, apart > 0.0, apart).sum(axis=1)
            assert along == pytest.approx(np.abs(points - context).sum(axis=1), abs=1e-12)
            assert layout.to_axes(context) == pytest.approx(at, abs=1e-12)
            far = Seeds(axes, None)._distance(at[None, :])  # type: ignore[arg-type]
            assert far == pytest.approx([question.space.distance(context)], abs=1e-12)
            categories += int(whole.sum())
    assert categories > 200


def test_seeds_are_allowed() -> None:
    """Past contexts moved to where contexts are allowed: a category that is not becomes the cheapest one."""
    moved = 0
    for seed in range(60):
        question, _ = random_case(seed, ["k", "ck", "kk", "dk"][seed % 4])
        layout = Layout.of(question.space, question.weights.points_, 1, 1e-6)  # type: ignore[union-attr]
        axes = layout.axes
        seeds = Seeds(axes, None)  # type: ignore[arg-type]
        rows = seeds._allowed(axes.points)
        for row, past in zip(rows, axes.points, strict=True):
            assert question.space.allows(layout.to_coordinates(row)).all()
            for j, axis in enumerate(axes.each):
                if axis.kind is AxisKind.CATEGORY:
                    assert row[j] == (past[j] if past[j] <= axis.upper else 0.0)
                    moved += past[j] > axis.upper
    assert moved > 10


def _line_question(**limits: Any) -> Question:
    """Two past contexts on a line: beyond the middle the alternative is better than the decision."""
    points, costs = np.array([[0.1], [0.9]]), np.array([1.0, 0.0])
    space = Space(np.array([0.2]), np.zeros(1), np.ones(1), (None,), np.ones(1), np.full(1, -1))
    return ask(points, space, 1, costs, [np.array([0.5, 0.5])], Expectation(), **limits)


def test_a_new_cut_takes_the_candidate_back() -> None:
    """A candidate that a new rival beats is not handed out again."""
    question = _line_question()
    frontier = NeighbourFrontier(question)
    frontier.cut(question.decision)
    point = frontier.advance(1000, np.inf)
    assert point == pytest.approx([0.5], abs=1e-5)
    frontier.cut(np.array([0.5, -1.0]))
    while (again := frontier.advance(1000, np.inf)) is None and frontier.bound < np.inf:
        frontier.propose(np.inf)
    assert again is None


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_of_neighbours_never_exceeds_the_answer(seed: int) -> None:
    """Whatever ball is being searched, and however small the slices, the bound is below the distance of the answer."""
    question, _ = random_case(seed + 300)
    frontier = NeighbourFrontier(question)
    frontier.cut(question.decision)
    bounds = [0.0]
    while (point := frontier.advance(1, np.inf)) is None and frontier.bound < np.inf:
        frontier.propose(np.inf)
        bounds.append(frontier.bound)
    assert bounds == sorted(bounds)
    if point is not None:
        assert max(bounds) <= question.space.distance(point) + 1e-9


def test_forest_answers_do_not_depend_on_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strong bound from the first box on, with two buckets a column or twelve, gives the plain answer."""
    from whence.search import forest, shares

    monkeypatch.setattr(forest, "STALLED", 0)
    for buckets in (2, 12):
        monkeypatch.setattr(shares, "BUCKETS", buckets)
        for seed in range(12):
            question = cases(seed, 1)[0].question()
            with monkeypatch.context() as plain:
                plain.setattr(forest, "STRONG_FROM", (10**9, 10**9))
                expected = explain(question).distance
            monkeypatch.setattr(forest, "STRONG_FROM", (0, 0))
            assert explain(cases(seed, 1)[0].question()).distance == pytest.approx(expected, abs=1e-9)
