"""Plans met on the way to an absolute explanation: the rows that are kept, their mixture, and the search that asks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.core.forest_scene import Scene, scenes, sums_over_trees, tree_of_leaves

from whence import _core
from whence.search.forest_criteria import rival_row


def test_the_latest_rows_are_kept() -> None:
    """The oldest rows make room for new ones, and a number that made room has no row any more."""
    rivals = _core.Rivals(1_000_000)
    for number in range(rivals.capacity + 3):
        assert rivals.add(np.full(1_000_000, float(number))) == number
    assert rivals.capacity == 64
    assert rivals.row(2) is None
    assert rivals.row(-1) is None
    for number in (3, rivals.capacity + 2):
        row = rivals.row(number)
        assert row is not None
        assert row[0] == row[-1] == number


def test_a_row_of_another_size_is_refused() -> None:
    """One number a leaf."""
    with pytest.raises(ValueError, match="one number a leaf"):
        _core.Rivals(3).add(np.zeros(4))


def worths(scene: Scene, rows: list[np.ndarray], eta: int) -> list[np.ndarray]:
    """What every leaf is worth against each row, under one threshold of the alternative."""
    if isinstance(scene.criterion, _core.MeanCriterion):
        return rows
    tail = 1.0 - scene.question.claim.risk.alpha
    level = np.unique(scene.question.claim.alternative)[eta]
    excess = level + np.maximum(scene.question.claim.alternative - level, 0.0) / tail
    kept = scene.kept
    own = np.add.reduceat(excess[kept.samples.ravel()], kept.first) / (kept.size * kept.grid.trees)
    return [own + row for row in rows]


@pytest.mark.parametrize("tail", [False, True])
def test_the_mixture_bounds_best_and_never_too_much(tail: bool) -> None:
    """Its bound is at least that of every rival alone, and at most the least that any leaves do against all of them."""
    rng = np.random.default_rng(0)
    better = 0
    for scene in scenes(40, tail=tail):
        if len(scene.rivals) < 2:
            continue
        weights = scene.question.weights.weights(scene.question.weights.inputs_)
        for box in scene.random_boxes(rng, 4):
            opened = _core.OpenBox(box, scene.criterion, scene.tau)
            eta = int(rng.integers(scene.criterion.etas))
            mixture = _core.Mixture(scene.grid.leaves)
            mixture.mix(opened, scene.criterion, eta)
            assert mixture.weight.sum() == pytest.approx(1.0)
            assert (mixture.weight >= 0.0).all()
            leaves = set(opened.reach.leaves.tolist())
            if np.unique(scene.question.claim.alternative).size != scene.criterion.etas and tail:
                continue
            (mixed,) = worths(scene, [mixture.row], eta)
            bound = sums_over_trees(scene, mixed, leaves)
            assert bound >= mixture.alone.max() - 1e-9
            better += bound > mixture.alone.max() + 1e-9
            if tail:
                continue
            rows = [rival_row(scene.question, scene.kept, rival, weights[0]) for rival in scene.rivals]
            trees = tree_of_leaves(scene)
            choices = [[leaf for leaf in leaves if trees[leaf] == t] for t in range(scene.grid.trees)]
            if np.prod([float(len(c)) for c in choices]) > 3000:
                continue
            least = min(max(row[list(picked)].sum() for row in rows) for picked in itertools.product(*choices))
            assert bound <= least + 1e-9
    assert better >= 2


def test_an_absolute_search_hands_out_points_and_learns() -> None:
    """It hands out the nearest point of a box before it is split, and a plan answered there rules it out."""
    handed = 0
    for scene in scenes(30, first=500, tail=False):
        criterion = scene.new_criterion()
        search = _core.ForestSearch(scene.located, criterion, scene.tau)
        search.ask_in_boxes(eager=True)
        with pytest.raises(ValueError, match="No box waits"):
            search.answer(np.zeros(scene.grid.leaves))
        seen: list[tuple[int, ...]] = []
        for _ in range(60):
            reached, _ = search.advance(10**6, np.inf, sharp=True)
            if not reached:
                break
            cells = tuple(search.cells.tolist())
            assert cells not in seen
            seen.append(cells)
            # A plan that costs one less than the alternative everywhere.
            search.answer(np.full(scene.grid.leaves, 1.0 / scene.grid.trees))
        assert search.rivals_met == len(seen)
        # Such a plan rules out every context: nothing is handed out after the first box that knows it.
        assert len(seen) <= 1
        handed += len(seen)
    assert handed >= 10


def test_a_search_ends_when_its_seconds_are_over() -> None:
    """Without time one box is opened at a time, and many such slices lead where one long one does."""
    more = 0
    for scene in scenes(20, first=500):
        whole = _core.ForestSearch(scene.located, scene.new_criterion(), scene.tau)
        end = whole.advance(10**6, np.inf)
        search = _core.ForestSearch(scene.located, scene.new_criterion(), scene.tau)
        slices, found = 0, (False, 0.0)
        while not found[0] and found[1] < np.inf:
            before = search.examined
            found = search.advance(10**6, np.inf, seconds=0.0)
            assert search.examined <= before + 1
            slices += 1
        assert found == end
        assert search.examined == whole.examined
        more += slices > 2
    assert more >= 5
