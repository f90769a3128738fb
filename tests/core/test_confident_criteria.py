"""Criteria with confidence: what they say at a cell, and bounds over random boxes held against every cell of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.core.forest_cells import Floats, ForestScene, scenes

from whence import _core
from whence.risk import CVaR
from whence.search.forest_search import add_plan, add_rival, criterion_of
from whence.search.grid import leaf_means

KAPPAS = (0.5, 1.5, 4.0)
#: Thresholds that suit equally well: see ConfidentTailCriterion.
SAME = 1e-12


def values(scene: ForestScene, plan: int) -> Floats:
    """What every tree says about the risk of a plan at every cell: its terms of the sum over trees."""
    costs = scene.policy.Y_[:, plan]
    members = scene.members[scene.leaves]
    if not isinstance(scene.risk, CVaR):
        return np.asarray(members @ costs / scene.grid.trees)
    etas, tail = np.unique(costs), 1.0 - scene.risk.alpha
    above = scene.weights @ (costs[:, None] > etas)
    eta = etas[(above <= tail + SAME).argmax(axis=1)]
    over = np.maximum(costs - eta[:, None], 0.0)
    return np.asarray((eta[:, None] + np.einsum("ctn,cn->ct", members, over) / tail) / scene.grid.trees)


def excess(scene: ForestScene, rival: int, kappa: float) -> Floats:
    """Difference plus kappa standard errors at every cell."""
    own = scene.grid.trees * (values(scene, 0) - values(scene, 1 + rival))
    return np.asarray(own.mean(axis=1) + kappa * own.std(axis=1, ddof=1) / np.sqrt(scene.grid.trees))


def confident(scene: ForestScene, kappa: float) -> _core.Criterion:
    """The scene's criterion with confidence."""
    criterion = criterion_of(scene.question.claiming(kappa=kappa), scene.kept)
    for rival in range(1, 1 + scene.rivals):
        add_rival(criterion, scene.question, scene.kept, np.ascontiguousarray(scene.policy.Y_[:, rival]))
    return criterion


def breach(scene: ForestScene, kappa: float, best: bool = False) -> _core.Criterion:
    """Where the criterion against the first rival is broken; where it is also the `best` of them, if that is asked."""
    costs = [np.ascontiguousarray(plan) for plan in scene.policy.Y_.T]
    kept = scene.kept
    others = costs[2:] if best else []
    if not isinstance(scene.risk, CVaR):
        mean = _core.MeanBreach(kept.leaves, kappa)
        mean.add_rival(leaf_means(kept, costs[0] - costs[1]))
        for other in others:
            mean.add_rival(leaf_means(kept, other - costs[1]))
        return mean
    tail = 1.0 - scene.risk.alpha
    found = _core.TailBreach(kept.leaf_samples, tail, kappa)
    add_plan(found, scene.question, kept, costs[1])
    add_plan(found, scene.question, kept, costs[0])
    for other in others:
        shared = _core.TailCriterion(kept.leaf_samples, tail)
        add_plan(shared, scene.question, kept, other)
        found.share_plan(shared, 0)
    return found


def broken(scene: ForestScene, kappa: float, best: bool = False) -> Floats:
    """By how much the criterion against the first rival is kept at every cell, or that rival dearer than another."""
    over = -excess(scene, 0, kappa)
    for other in range(2, 1 + scene.rivals) if best else ():
        over = np.maximum(over, (values(scene, 1) - values(scene, other)).sum(axis=1))
    return over


def asked(count: int) -> Iterator[tuple[ForestScene, np.random.Generator, float]]:
    """Scenes of both risks, and a kappa for each."""
    for i, (scene, rng) in enumerate(scenes(count)):
        yield scene, rng, KAPPAS[i % len(KAPPAS)]


def test_at_a_cell() -> None:
    """The excess is the definition's, against the worst rival; a breach is its negative."""
    for scene, _, kappa in asked(24):
        criterion, breached, among = confident(scene, kappa), breach(scene, kappa), breach(scene, kappa, best=True)
        best = broken(scene, kappa, best=True)
        over = np.array([excess(scene, r, kappa) for r in range(scene.rivals)])
        for i in range(0, len(scene.cells), 7):
            found = criterion.excess(scene.leaves[i])
            assert found.over == pytest.approx(over[:, i].max(), abs=1e-10)
            assert over[found.worst, i] == pytest.approx(over[:, i].max(), abs=1e-10)
            assert breached.excess(scene.leaves[i]).over == pytest.approx(-over[0, i], abs=1e-10)
            assert among.excess(scene.leaves[i]).over == pytest.approx(best[i], abs=1e-10)


@pytest.mark.parametrize("kind", ["confident", "breach", "best"])
def test_bounds_over_boxes(kind: str) -> None:
    """A box is given up only where no cell of it holds, and no leaf is dropped that such a cell has."""
    seen = np.zeros(3, dtype=np.int64)
    for scene, rng, kappa in asked(40):
        over = np.max([excess(scene, r, kappa) for r in range(scene.rivals)], axis=0)
        criterion, tau = confident(scene, kappa), scene.tau
        if kind != "confident":
            criterion, tau = breach(scene, kappa, kind == "best"), -scene.tau
            over = broken(scene, kappa, kind == "best")
        seen += scene.bounded(criterion, tau, over <= tau - 1e-9, rng)
    assert seen.min() > 15


def test_one_tree_does_not_disagree_with_itself() -> None:
    """With a single tree the criterion is that without confidence."""
    for seed in range(6):
        scene = ForestScene(seed, alpha=(None, 0.5)[seed % 2], trees=1)
        criterion = confident(scene, 3.0)
        for leaves in scene.leaves[::5]:
            assert criterion.excess(leaves).over == pytest.approx(scene.criterion.excess(leaves).over, abs=1e-12)


def test_refusals() -> None:
    """A kappa that is negative or no number; rows of rivals for a CVaR, of which the spread is not known."""
    for kappa in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="kappa"):
            _core.ConfidentMeanCriterion(5, kappa)
        with pytest.raises(ValueError, match="kappa"):
            _core.MeanBreach(5, kappa)
    scene = ForestScene(0, alpha=0.5)
    criterion = confident(scene, 1.0)
    search = _core.ForestSearch(scene.located, criterion, scene.tau)
    search.meet(np.zeros(scene.kept.leaves))
    with pytest.raises(ValueError, match="table"):
        search.show_latest(1)


def test_a_shared_table_must_be_about_the_same_samples() -> None:
    """Plans of a criterion with another tail, or of another forest, are refused."""
    scene, other = ForestScene(0, alpha=0.5), ForestScene(1, alpha=0.5, trees=3)
    assert isinstance(scene.criterion, _core.TailCriterion)
    assert isinstance(other.criterion, _core.TailCriterion)
    with pytest.raises(ValueError, match="same samples"):
        scene.criterion.share_plan(other.criterion, 0)
    with pytest.raises(ValueError, match="same samples"):
        scene.criterion.share_plan(ForestScene(0, alpha=0.3).criterion, 0)
    with pytest.raises(IndexError):
        scene.criterion.share_plan(scene.criterion, 7)
