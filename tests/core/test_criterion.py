"""The criteria of expected cost and of CVaR: at a cell, and their bounds over a box."""

from __future__ import annotations

import numpy as np
import pytest
from tests.core.forest_scene import Scene, scenes, sums_over_trees, tree_of_leaves

from whence import _core
from whence.search import forest_criteria as criteria
from whence.search.grid import leaf_means
from whence.settings import SearchSettings


def opened(scene: Scene, box: _core.Box) -> _core.OpenBox:
    """The box as the search opens it."""
    return _core.OpenBox(box, scene.criterion, scene.tau)


@pytest.mark.parametrize("tail", [False, True])
def test_the_excess_at_a_cell_is_the_risk_measures_own(tail: bool) -> None:
    """What the leaves say at a cell is what the risk measure says of the weights there, and so is the worst rival."""
    for scene in scenes(25, tail=tail):
        for leaves, excess in zip(scene.leaves, scene.excess, strict=True):
            said = scene.criterion.excess(leaves)
            assert said.over == pytest.approx(excess, abs=1e-9)
            assert 0 <= said.worst < len(scene.rivals)


@pytest.mark.parametrize("tail", [False, True])
def test_a_box_is_given_up_only_where_nothing_in_it_holds(tail: bool) -> None:
    """Neither the box nor a leaf is ruled out by the bound where a cell of it satisfies the criterion."""
    rng = np.random.default_rng(1)
    out = dropped = 0
    for scene in scenes(60, 100, tail=tail):
        for box in scene.random_boxes(rng, 6):
            holding = scene.surely & scene.inside(box)
            open_ = opened(scene, box)
            before = set(open_.reach.leaves.tolist())
            possible = open_.bound(scene.criterion, scene.tau)
            assert possible or not holding.any()
            out += not possible
            if possible:
                left = set(open_.reach.leaves.tolist())
                assert set(scene.leaves[holding].ravel().tolist()) <= left
                dropped += len(before - left)
                again = open_.bound_again(scene.criterion, scene.tau)
                assert again or not holding.any()
                if again:
                    assert set(scene.leaves[holding].ravel().tolist()) <= set(open_.reach.leaves.tolist())
    assert out >= 20
    assert dropped >= 100


def test_the_bound_of_expected_costs_is_the_sum_of_the_least_values() -> None:
    """Slack, best leaves and gains follow from the leaves in reach, one rival after the other, the worst one first."""
    rng = np.random.default_rng(2)
    several = 0
    for scene in scenes(60, 200, tail=False):
        values = [leaf_means(scene.kept, scene.question.claim.alternative - rival) for rival in scene.rivals]
        trees = tree_of_leaves(scene)
        for box in scene.random_boxes(rng, 6):
            open_ = opened(scene, box)
            worst = values[open_.worst]
            assert sum(worst[open_.here]) == pytest.approx(max(sum(v[open_.here]) for v in values))
            reach = set(open_.reach.leaves.tolist())
            least = sums_over_trees(scene, worst, reach)
            if not open_.bound(scene.criterion, scene.tau):
                several += least <= scene.tau
                continue
            assert open_.slack == pytest.approx(scene.tau - least, abs=1e-12)
            for t, leaf in enumerate(open_.best.tolist()):
                assert trees[leaf] == t
                assert worst[leaf] == min(worst[i] for i in reach if trees[i] == t)
                assert open_.gains[t] == worst[open_.here[t]] - worst[leaf]
    assert several >= 1, "a second rival must rule out a box now and then"


def direct_value(scene: Scene, costs: np.ndarray, leaf: int, eta: float) -> float:
    """(eta + mean excess over eta / tail) / trees of a leaf, by the definition."""
    first, size = scene.kept.first[leaf], scene.kept.size[leaf]
    own = costs[scene.kept.samples.ravel()[first : first + size]]
    tail = 1.0 - scene.question.claim.risk.alpha
    return float(eta + np.maximum(own - eta, 0.0).mean() / tail) / scene.grid.trees


@pytest.mark.parametrize("limit", [SearchSettings.tail_table, 0])
def test_values_and_counts_of_a_leaf_follow_their_definitions(limit: int) -> None:
    """With and without a stored table, for the alternative and for rivals."""
    for scene in scenes(12, 300, tail=True):
        criterion = scene.new_criterion(tail_table=limit)
        assert isinstance(criterion, _core.TailCriterion)
        for plan, costs in enumerate([scene.question.claim.alternative, *scene.rivals]):
            etas = criteria.distinct(costs)[0]
            for leaf in range(scene.grid.leaves):
                first, size = scene.kept.first[leaf], scene.kept.size[leaf]
                own = costs[scene.kept.samples.ravel()[first : first + size]]
                for k, eta in enumerate(etas.tolist()):
                    assert criterion.value(plan, leaf, k) == pytest.approx(
                        direct_value(scene, costs, leaf, eta), abs=1e-9
                    )
                    assert criterion.share_above(plan, leaf, k) == pytest.approx((own > eta + 1e-9).mean())


def test_bounds_do_not_depend_on_whether_tables_are_stored() -> None:
    """Without a table the rows are computed when they are needed, and the bound is the same but for rounding."""
    rng = np.random.default_rng(3)
    for scene in scenes(25, 400, tail=True):
        computed = scene.new_criterion(tail_table=0)
        for box in scene.random_boxes(rng, 4):
            one, other = opened(scene, box), _core.OpenBox(box, computed, scene.tau)
            assert one.bound(scene.criterion, scene.tau) == other.bound(computed, scene.tau)
            assert one.slack == pytest.approx(other.slack, abs=1e-9)


def test_an_eta_stays_possible_wherever_a_cell_holds_under_it() -> None:
    """Every cell of the box that holds does so under one of the etas that the bound leaves."""
    rng = np.random.default_rng(4)
    narrowed = 0
    for scene in scenes(50, 500, tail=True):
        criterion = scene.criterion
        assert isinstance(criterion, _core.TailCriterion)
        for box in scene.random_boxes(rng, 4):
            holding = np.flatnonzero(scene.surely & scene.inside(box))
            open_ = opened(scene, box)
            if not open_.bound(criterion, scene.tau):
                continue
            first, last = open_.etas
            assert first <= open_.eta <= last
            narrowed += last - first + 1 < criterion.etas
            for cell in holding.tolist():
                sums = [sum(criterion.value(0, leaf, k) for leaf in scene.leaves[cell]) for k in range(first, last + 1)]
                own = min(
                    sum(criterion.value(0, leaf, k) for leaf in scene.leaves[cell]) for k in range(criterion.etas)
                )
                assert min(sums) <= own + scene.tau + 1e-9 + (-scene.excess[cell] if scene.excess[cell] < 0 else 0.0)
    assert narrowed >= 20


def test_quantiles_hold_the_beginning_of_every_tail_in_the_box() -> None:
    """At every cell of a box some eta of the range attains the alternative's CVaR."""
    rng = np.random.default_rng(5)
    narrowed = 0
    for scene in scenes(50, 600, tail=True):
        criterion = scene.criterion
        assert isinstance(criterion, _core.TailCriterion)
        for box in scene.random_boxes(rng, 4):
            first, last = opened(scene, box).quantiles(criterion)
            narrowed += last - first + 1 < criterion.etas
            for cell in np.flatnonzero(scene.inside(box))[:40].tolist():
                values = [
                    sum(criterion.value(0, leaf, k) for leaf in scene.leaves[cell]) for k in range(criterion.etas)
                ]
                assert min(values[first : last + 1]) <= min(values) + 1e-9
    assert narrowed >= 50
