"""W_max bounds every weight from above, four ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests import cases
from tests.forests import paper_forest

from whence.errors import InputError
from whence.milp import w_max
from whence.weights import ForestWeights, KNNWeights

WAYS = ("sample", "path", "mean", "unit")


def fitted(seed: int) -> tuple[ForestWeights, np.ndarray]:
    """A forest on random contexts, and contexts that it has not seen."""
    rng = np.random.default_rng(seed)
    points = rng.random((30, 3))
    forest = paper_forest(n_trees=7, max_depth=int(rng.integers(1, 5)), random_state=seed)
    return forest.fit(points, rng.normal(size=(30, 2))), np.vstack((points, rng.random((300, 3)) * 1.4 - 0.2))


@pytest.mark.parametrize("how", WAYS)
def test_no_weight_exceeds_its_bound(how: str) -> None:
    """At contexts old and new, no observation weighs more than its bound."""
    for seed in range(25):
        forest, contexts = fitted(seed)
        assert (forest.weights(contexts) <= w_max(forest, how) + 1e-12).all()


@pytest.mark.parametrize("how", WAYS)
def test_bounds_hold_for_forests_of_all_shapes(how: str) -> None:
    """Frozen, single and unequal trees too: no past context gives an observation more than its bound."""
    for seed in range(40):
        policy = cases.policy(seed, weights="frozen" if seed % 2 else "forest")
        rows = np.array([policy.weights_at(context) for _, context in policy.X_.iterrows()])
        assert (rows <= w_max(policy.weights_, how) + 1e-12).all()


def test_the_bound_of_a_sample_is_reached_at_its_own_context() -> None:
    """The default bound cannot be improved."""
    forest, contexts = fitted(3)
    assert np.allclose(np.diag(forest.weights(contexts[:30])), w_max(forest))


def test_the_ways_are_ordered() -> None:
    """Own weight, longest path, mean of maxima, one: each bound is at least as tight as the next."""
    for seed in range(10):
        bounds = [w_max(fitted(seed)[0], how).max() for how in WAYS]
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(bounds))


def test_neighbours_weigh_one_over_k() -> None:
    """A neighbour never weighs more than 1/k, except by the naive bound."""
    knn = KNNWeights(k=4).fit(np.arange(10.0)[:, None])
    assert set(w_max(knn).tolist()) == {0.25}
    assert set(w_max(knn, "unit").tolist()) == {1.0}


def test_an_unknown_way_is_refused() -> None:
    """The message names the parameter and what came."""
    with pytest.raises(InputError, match=r"The 'w_max' parameter must be .* Got 'best' instead"):
        w_max(fitted(0)[0], "best")
