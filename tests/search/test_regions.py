"""Regions: every cell of the box is good, and none of its faces can move by a cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.asking import varied
from tests.blocks import seeds
from tests.cases import cases
from tests.oracle import estimator_rows
from tests.search.holding import all_cells, excess
from tests.search.test_confidence import scaled

from whence.claims.sets import Plans
from whence.explain.build_question import any_plan
from whence.features.space import Space
from whence.question import Limits, Question
from whence.search.forest_search import explain
from whence.search.grid import grid_of
from whence.search.regions import Region, region

BLOCKS, SEEDS, EACH = 24, 30, 3


def cells_of(question: Question, points: np.ndarray) -> np.ndarray:
    """Cells of points, in the columns of the forest."""
    kept = grid_of(question)
    assert kept is not None
    order = question.inputs.coordinate
    return np.stack([kept.cells_of(c, points[:, q], question.inputs) for c, q in enumerate(order)], axis=1)


def assert_maximal(question: Question, found: Region, cells: np.ndarray, good: np.ndarray) -> None:
    """Next to every face that could move there is a bad cell, whatever the other columns of the region are."""
    group = question.space.group[question.inputs.coordinate]
    within = (cells >= found.low) & (cells <= found.high)
    for c in np.flatnonzero(group < 0):
        beside = np.delete(within, c, axis=1).all(axis=1)
        above, below = beside & (cells[:, c] > found.high[c]), beside & (cells[:, c] < found.low[c])
        if above.any():
            assert not good[above & (cells[:, c] == cells[above, c].min())].all()
        if below.any():
            assert not good[below & (cells[:, c] == cells[below, c].max())].all()
    for g in np.unique(group[group >= 0]):
        beside = within[:, group != g].all(axis=1)
        for c in np.flatnonzero((group == g) & (found.high == 0)):
            slab = beside & (cells[:, c] > 0)
            assert not slab.any() or not good[slab].all()


def random_points(rng: np.random.Generator, space: Space, found: Region, count: int) -> np.ndarray:
    """Allowed contexts of a region, drawn at random."""
    points = rng.uniform(found.lower, found.upper, (count, space.start.size))
    for j in range(space.start.size):
        levels = space.levels[j]
        if space.group[j] < 0 and levels is not None:
            own = levels[(levels >= found.lower[j]) & (levels <= found.upper[j])]
            points[:, j] = rng.choice(own, count)
        allowed = (points[:, j] >= space.lower[j]) & (points[:, j] <= space.upper[j])
        if space.group[j] < 0:
            points[~allowed, j] = (
                space.start[j] if found.lower[j] <= space.start[j] <= found.upper[j] else found.lower[j]
            )
    for g in np.unique(space.group[space.group >= 0]):
        members = np.flatnonzero(space.group == g)
        on = rng.choice(members[found.categories[members]], count)
        points[:, members] = np.where(members == on[:, None], 0.5, 0.0)
    return points


@pytest.mark.parametrize("block", seeds(6, BLOCKS))
def test_all_cells_are_good_and_no_more_fit(block: int) -> None:
    """Both risks, with and without confidence: the box holds its point and good cells only, and is maximal."""
    grown = looked = 0
    for seed in range(SEEDS * block, SEEDS * (block + 1)):
        for i, case in enumerate(cases(seed, EACH)):
            question = scaled(varied(case.question(), kind="relative"), (1.0, 1e9, 1e-9)[(seed + i) % 3])
            kappa = (0.0, 1.0, 0.7, 2.0)[(seed + i) % 4]
            answer = explain(varied(question, kappa=kappa))
            if answer.point is None:
                continue
            looked += 1
            at = all_cells(question)
            over = excess(question, at, kappa)
            hair = 1e-10 * float(np.abs(question.claim.alternative).max() + np.abs(question.claim.decision).max())
            if (np.abs(over - question.claim.tau) <= hair).any():
                continue
            good = over <= question.claim.tau
            found = region(question.claiming(kappa=kappa), answer.point)
            assert found is not None
            assert found.maximal
            cells = cells_of(question, at.points)
            assert found.contains(answer.point[None, :]).all()
            own = ((cells >= found.low) & (cells <= found.high)).all(axis=1)
            assert good[own].all()
            assert_maximal(question, found, cells, good)
            grown += own.sum() > 1
    assert looked > SEEDS
    assert grown > 10


@pytest.mark.parametrize("block", seeds(2, 5))
def test_random_points_satisfy_the_criterion(block: int) -> None:
    """A thousand contexts of each region, by the fitted estimator itself."""
    looked = 0
    for seed in range(5000 + 12 * block, 5000 + 12 * (block + 1)):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="relative")
            answer = explain(question)
            if answer.point is None:
                continue
            found = region(question, answer.point)
            assert found is not None
            points = random_points(np.random.default_rng(seed), question.space, found, 1000)
            weights = question.weights.weights(estimator_rows(question, points))
            assert found.contains(points).all()
            assert all(question.claim.is_satisfied(w) for w in weights)
            looked += 1
    assert looked > 3


def test_what_is_proved_when_time_is_up_is_true() -> None:
    """With a limit on boxes the region is smaller, but all of it is good."""
    short = 0
    for seed in range(60):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="relative")
            answer = explain(question)
            if answer.point is None:
                continue
            found = region(varied(question, limits=Limits(node_limit=1)), answer.point)
            assert found is not None
            at = all_cells(question)
            over = excess(question, at, 0.0)
            assert (over[found.contains(at.points)] <= question.claim.tau + 1e-9).all()
            assert found.contains(answer.point[None, :]).all()
            short += not found.maximal
    assert short > 0


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("block", seeds(2, 8))
def test_absolute_regions(block: int, many: bool) -> None:
    """No plan beats the alternative in any cell of a region, and next to each face one does.

    Where there are too many cells to look at, a search for any better plan covers them all.
    """
    looks = {"region_looks": 0} if many else {}
    looked = 0
    for seed in range(7000 + 25 * block, 7000 + 25 * (block + 1)):
        for case in cases(seed, 1):
            question = varied(case.question(), kind="absolute", **looks)
            answer = explain(question)
            if answer.point is None:
                continue
            at = all_cells(question)
            over = np.max([excess(question, at, 0.0, plan) for plan in case.policy.Y_.T], axis=0)
            hair = 1e-10 * float(np.abs(case.policy.Y_).max())
            if (np.abs(over - question.claim.tau) <= hair).any():
                continue
            looked += 1
            policy = case.policy
            found = region(question, answer.point, anything=any_plan(policy.problem, policy.Y_, policy.risk_))
            assert found is not None
            cells = cells_of(question, at.points)
            own = ((cells >= found.low) & (cells <= found.high)).all(axis=1)
            assert found.contains(answer.point[None, :]).all()
            assert found.proved
            assert (over[own] <= question.claim.tau).all()
            assert_maximal(question, found, cells, over <= question.claim.tau)
    assert looked > 8


@pytest.mark.parametrize("block", seeds(1, 4))
def test_absolute_regions_with_confidence(block: int) -> None:
    """The alternative stands against the best plan of every cell by its standard errors, and next to each face not.

    There are too many cells to look at: a search by every plan covers them all.
    """
    looked = grown = refuted = 0
    for seed in range(9000 + 60 * block, 9000 + 60 * (block + 1)):
        case, kappa = cases(seed, 1)[0].but(within=(0.0, 0.1, 0.4)[seed % 3]), (0.4, 1.5)[seed % 2]
        unit = (1.0, 1e9, 1e-9)[seed // 2 % 3]
        costs = unit * np.ascontiguousarray(case.policy.Y_.T)
        plans = (1.0 + case.within) * costs
        question = varied(naming_the_best(scaled(case.question(), unit), plans), region_looks=0)
        answer = explain(varied(question, kappa=kappa))
        if answer.point is None:
            continue
        at = all_cells(question)
        plain, over = (np.array([excess(question, at, k, plan) for plan in plans]) for k in (0.0, kappa))
        hair = 1e-10 * float(np.abs(plans).max())
        if (np.abs(over - question.claim.tau) <= hair).any():
            continue
        looked += 1
        anything = Plans(best=question.claim.better, every=lambda _, costs=costs: costs)
        found = region(question.claiming(kappa=kappa), answer.point, anything=anything)
        assert found is not None
        assert found.proved
        cells = cells_of(question, at.points)
        own = ((cells >= found.low) & (cells <= found.high)).all(axis=1)
        assert found.contains(answer.point[None, :]).all()
        # Of plans that are equally good, any one may be the best.
        best = plain >= plain.max(axis=0) - hair
        assert (np.where(best, over, np.inf).min(axis=0)[own] <= question.claim.tau).all()
        assert_maximal(question, found, cells, over.max(axis=0) <= question.claim.tau)
        grown += own.sum() > 1
        refuted += found.plans > 1
    assert min(looked, grown, refuted) > 5


def naming_the_best(question: Question, plans: np.ndarray) -> Question:
    """The question whose `better` names the best of all plans at any weights."""

    def better(weights: np.ndarray) -> np.ndarray:
        return np.asarray(plans[int(np.argmin([question.claim.risk.of(plan, weights) for plan in plans]))])

    return varied(question, kind="absolute", better=better)


@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_a_plan_that_is_never_dearer_is_better_everywhere(kappa: float) -> None:
    """A plan against itself, or without standard errors against a dearer one: all that is allowed, at once."""
    for seed in range(40):
        question = varied(cases(seed, 1)[0].question(), kind="relative")
        dearer = question.claim.alternative + (
            0.0 if kappa else np.random.default_rng(seed).random(question.claim.decision.size)
        )
        asked = varied(question, decision=dearer, kappa=kappa)
        found = region(asked.claiming(kappa=kappa), asked.space.start)
        assert found is not None
        assert found.full.all()
        assert (found.nodes, found.plans, found.proved, found.maximal) == (0, 1, True, True)
        at = all_cells(question)
        assert (excess(question, at, kappa, dearer) <= question.claim.tau + 1e-9).all()
        assert found.contains(at.points).all()
