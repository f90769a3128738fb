"""Neighbours that must be near, or agree: held against every context, every set, and one program per set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene

from whence._core import NeighbourProgress
from whence.risk import CVaR

RADII = (0.1, 0.2, 0.35, 0.5, 0.8)


@pytest.mark.parametrize("seed", seeds(15, 60))
def test_the_candidate_is_the_nearest_context_with_near_neighbours(seed: int) -> None:
    """With discrete and category axes only: the best of all contexts there are, or none."""
    how = {"risk": CVaR(0.5)} if seed % 2 else {"confidence": float(seed % 3)}
    shape = "ddkd"[: 1 + seed % 4]
    widest = RADII[seed % 5] * len(shape)
    scene = Scene(seed, shape, n=10, k=1 + seed % 6, rivals=2, widest=widest, **how)  # type: ignore[arg-type]
    every = itertools.product(*(scene.allowed(j, axis.lower, axis.upper) for j, axis in enumerate(scene.axes)))
    standing = [scene.far(context) for context in map(np.array, every) if scene.is_explanation(context)]
    while (progress := scene.search.advance(1, 50.0)) is NeighbourProgress.SPENT:
        pass
    if standing:
        assert progress is NeighbourProgress.CANDIDATE
        assert scene.far(scene.search.candidate) == pytest.approx(min(standing), abs=1e-12)
    else:
        assert progress is NeighbourProgress.EXHAUSTED
        assert scene.search.bound == np.inf


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_only_contexts_with_near_neighbours_stand(seed: int) -> None:
    """A whole batch of contexts is judged as the definition does; nothing stands where no neighbour can be near."""
    scene = Scene(seed, "ccd", n=12, k=1 + seed % 4, widest=0.5)
    contexts = np.array(list(scene.contexts(np.zeros(3), np.ones(3))))
    assert scene.search.standing(contexts).tolist() == [scene.is_explanation(context) for context in contexts]
    assert not Scene(seed, "ccd", n=12, k=4, widest=1e-6).search.standing(contexts).any()
