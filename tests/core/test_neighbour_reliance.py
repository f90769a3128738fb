"""Neighbours that must be near, or agree: held against every context, every set, and one program per set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.blocks import seeds
from tests.core.neighbour_scene import Scene
from tests.core.test_neighbour_leaves import PATIENT, _cell, _nearest

from whence._core import BoxVerdict, NeighbourProgress
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


@pytest.mark.parametrize("shape", ["c", "cc", "ccc"])
def test_a_leaf_keeps_its_neighbours_near(shape: str) -> None:
    """In cells where distances are linear the best explanation is that of the best program with a radius, or none."""
    found = 0
    for seed in range(60):
        scene = Scene(seed, shape, n=6, k=1 + seed % 4, widest=RADII[seed % 5] + 0.1 * len(shape), confidence=seed % 2)
        low, high = _cell(scene)
        expected = _nearest(scene, low, high)
        outcome = scene.search.solve_box(low, high, 50.0, PATIENT)
        look = scene.search.examine(low, high, 50.0)
        if outcome is None:
            value = look.distance if look.verdict is BoxVerdict.FEASIBLE else np.inf
        else:
            assert outcome[1] == np.inf
            value = look.distance + outcome[0]
            stands = np.isinf(value) or scene.is_explanation(outcome[2], scene.separation)
            assert stands or _on_edge(scene, outcome)
        assert value == pytest.approx(expected, abs=1e-7)
        found += bool(np.isfinite(expected))
    assert found > 5


def _on_edge(scene: Scene, outcome: tuple[float, float, np.ndarray]) -> bool:
    """Whether the k-th neighbour lies on the radius, up to rounding."""
    return bool(np.sort(scene.distances(outcome[2]))[scene.k - 1] == pytest.approx(scene.widest, abs=1e-10))


@pytest.mark.parametrize("seed", seeds(8, 30))
def test_no_box_with_an_explanation_is_given_up(seed: int) -> None:
    """A box that is pruned holds none; the nearest context of one that is feasible is one."""
    scene = Scene(seed, ["cc", "ccd", "ckd", "gc"][seed % 4], n=12, k=1 + seed % 5, widest=RADII[seed % 5] + 0.3)
    for _ in range(15):
        low, high = scene.box()
        look = scene.search.examine(low, high, 50.0)
        standing = [context for context in scene.contexts(low, high, 60) if scene.is_explanation(context)]
        if look.verdict is BoxVerdict.PRUNED:
            assert not standing
        elif look.verdict is BoxVerdict.FEASIBLE:
            assert scene.is_explanation(look.nearest, scene.separation)


@pytest.mark.parametrize("confidence", [0.3, 1.0, 3.0])
def test_a_set_must_agree(confidence: float) -> None:
    """Every one of 8 over k sets is judged by its standard errors; no part of one that stands is hopeless."""
    verdicts = set()
    for k in range(1, 8):
        for seed in range(4):
            scene = Scene(10 * k + seed, "c", n=8, k=k, confidence=confidence)
            for members in itertools.combinations(range(8), k):
                expected = scene.holds(np.array(members))
                verdicts.add(expected)
                assert scene.search.satisfied(np.array(members)) == expected
                others = np.array([i for i in range(8) if i not in members], dtype=np.int64)
                for size in range(k + 1) if expected else ():
                    inside, rest = np.array(members[:size], dtype=np.int64), np.array(members[size:], dtype=np.int64)
                    assert not scene.search.hopeless(inside, np.concatenate([rest, others]))
    assert verdicts == {True, False}


@pytest.mark.parametrize("confidence", [0.3, 1.0, 3.0, 30.0])
def test_what_is_left_is_hopeless_only_where_every_set_is(confidence: float) -> None:
    """Some members decided, some left to choose from: against one rival the verdict is exact, ties included."""
    verdicts = set()
    for seed in range(40):
        scene = Scene(seed, "c", n=8, k=2 + seed % 5, tau=0.05, confidence=confidence)
        rng = np.random.default_rng(seed)
        for _ in range(12):
            members = rng.permutation(8)
            inside, rest = np.split(members[: int(rng.integers(scene.k, 9))], [int(rng.integers(0, scene.k + 1))])
            need = scene.k - inside.size
            sets = itertools.combinations(rest.tolist(), need) if need <= rest.size else ()
            expected = not any(scene.holds(np.array([*inside.tolist(), *others])) for others in sets)
            verdicts.add(expected)
            assert scene.search.hopeless(inside, rest) == expected
    assert verdicts == {True, False}


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_only_contexts_with_near_neighbours_stand(seed: int) -> None:
    """A whole batch of contexts is judged as the definition does; nothing stands where no neighbour can be near."""
    scene = Scene(seed, "ccd", n=12, k=1 + seed % 4, widest=0.5)
    contexts = np.array(list(scene.contexts(np.zeros(3), np.ones(3))))
    assert scene.search.standing(contexts).tolist() == [scene.is_explanation(context) for context in contexts]
    assert not Scene(seed, "ccd", n=12, k=4, widest=1e-6).search.standing(contexts).any()
