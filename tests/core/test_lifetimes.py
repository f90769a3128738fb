"""Objects of the core that others go on with after their makers are gone; a sanitizer sees what plain runs survive."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from tests.core.forest_scene import scenes

from whence import _core
from whence.search.forest_search import equal_shares
from whence.search.grid import locate


def test_a_criterion_forgets_the_rows_of_a_search_that_is_gone() -> None:
    """Plans that were met belong to the search: without it the criterion is about its own rivals again."""
    shown = 0
    for scene in scenes(20, first=500, tail=False):
        criterion, untouched = scene.new_criterion(), scene.new_criterion()
        search = _core.ForestSearch(scene.located, criterion, scene.tau)
        search.ask_in_boxes(eager=True)
        for _ in range(5):
            if not search.advance(10**6, np.inf)[0]:
                break
            search.answer(np.full(scene.grid.leaves, 1.0 / scene.grid.trees))
        search.meet(np.full(scene.grid.leaves, 2.0 / scene.grid.trees))
        search.show_latest(3)
        shown += criterion.rivals > untouched.rivals
        del search
        gc.collect()
        assert criterion.rivals == untouched.rivals
        for leaves in scene.leaves[:20]:
            assert criterion.excess(leaves).over == untouched.excess(leaves).over
    assert shown > 10


def test_a_search_keeps_the_shares_that_it_learns_from() -> None:
    """Shares know the cells of a question, maybe of another one about the same grid, which nobody else may hold."""
    for scene in scenes(10, tail=False):
        ends = []
        for held in (True, False):
            located = locate(scene.question, scene.kept)
            shares = equal_shares(scene.kept, located, 2.0)
            search = _core.ForestSearch(scene.located, scene.new_criterion(), scene.tau)
            before = sys.getrefcount(shares)
            search.advance(1, np.inf, shares)
            search.advance(1, np.inf, shares)
            assert sys.getrefcount(shares) == before + 1
            if not held:
                del shares, located
                gc.collect()
            ends.append(search.advance(10**6, np.inf))
        assert ends[0] == ends[1]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_costs_that_are_no_numbers_are_refused(wrong: float) -> None:
    """A comparison with NaN is always false: it would prove that there is no explanation."""
    scene = next(scenes(1, tail=False))
    row = np.zeros(scene.grid.leaves)
    row[-1] = wrong
    mean = _core.MeanCriterion(scene.grid.leaves)
    plans = _core.PlanList(scene.grid.leaves)
    search = _core.ForestSearch(scene.located, scene.new_criterion(), scene.tau)
    for give in (
        lambda: mean.add_rival(row),
        lambda: _core.ConfidentMeanCriterion(scene.grid.leaves, 1.0).add_rival(row),
        lambda: _core.MeanBreach(scene.grid.leaves, 1.0).add_rival(row),
        lambda: plans.add_plans(row[None]),
        lambda: plans.add_rivals(row[None]),
        lambda: search.meet(row),
        lambda: search.answer(row),
    ):
        with pytest.raises(ValueError, match="must be finite"):
            give()
    assert (mean.rivals, plans.rivals) == (0, 1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_thresholds_that_are_no_numbers_are_refused(wrong: float) -> None:
    """The same of the costs that plans are compared at under CVaR."""
    scene = next(scenes(1, tail=True))
    kept = scene.kept
    etas = np.array([0.0, wrong])
    rank = np.zeros(int(kept.samples.max()) + 1, dtype=np.int32)
    criterion = _core.TailCriterion(kept.leaf_samples, 0.5)
    with pytest.raises(ValueError, match="must be finite"):
        criterion.add_plan(etas, rank, True)
